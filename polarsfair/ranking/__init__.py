"""Quality, diversity and exposure of recommendations, and for whom."""

from polarsfair._compare import difference, group_max, group_min, ratio
from polarsfair.ranking._audiences import (
    exposure_kl,
    exposure_total_variation,
    mad,
    shown_scores,
)
from polarsfair.ranking._catalogue import (
    aggregate_diversity,
    average_popularity,
    coverage,
    exposure_entropy,
    gini,
    long_tail_share,
    novelty,
)
from polarsfair.ranking._diversity import (
    inter_list_diversity,
    intra_list_diversity,
    overlaps,
    spreads,
)
from polarsfair.ranking._exposure import exposure
from polarsfair.ranking._gains import gains
from polarsfair.ranking._item_groups import (
    awrf,
    exposure_parity,
    exposure_ratio,
    group_exposure,
    ndkl,
)
from polarsfair.ranking._lists import lists
from polarsfair.ranking._matches import match_scores, matches
from polarsfair.ranking._outcomes import (
    auc,
    ctr,
    ctr_dr,
    ctr_effective_size,
    ctr_ips,
    ctr_snips,
    mae_ratio,
    rmse_ratio,
)
from polarsfair.ranking._quality import (
    err,
    f1,
    hit_rate,
    map,  # noqa: A004 - the name that everybody knows it by
    mrr,
    ndcg,
    precision,
    r_precision,
    rbp,
    recall,
)
from polarsfair.ranking._reports import compare_conventions, per_user, support

__all__ = [
    "aggregate_diversity",
    "auc",
    "average_popularity",
    "awrf",
    "compare_conventions",
    "coverage",
    "ctr",
    "ctr_dr",
    "ctr_effective_size",
    "ctr_ips",
    "ctr_snips",
    "difference",
    "err",
    "exposure",
    "exposure_entropy",
    "exposure_kl",
    "exposure_parity",
    "exposure_ratio",
    "exposure_total_variation",
    "f1",
    "gains",
    "gini",
    "group_exposure",
    "group_max",
    "group_min",
    "hit_rate",
    "inter_list_diversity",
    "intra_list_diversity",
    "lists",
    "long_tail_share",
    "mad",
    "mae_ratio",
    "map",
    "match_scores",
    "matches",
    "mrr",
    "ndcg",
    "ndkl",
    "novelty",
    "overlaps",
    "per_user",
    "precision",
    "r_precision",
    "ratio",
    "rbp",
    "recall",
    "rmse_ratio",
    "shown_scores",
    "spreads",
    "support",
]
