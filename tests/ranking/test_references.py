"""Agreement with other libraries where definitions coincide, under their conventions.

scikit-learn is asked here; RecTools and ranx were asked once (RecTools cannot be installed beside
the versions of this project, ranx compiles for a minute) and their numbers are kept with the
frames.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import ndcg_score

from polarsfair import ranking

RECORDED = json.loads(
    (Path(__file__).parents[1] / "vectors" / "peers_ranking.json").read_text(encoding="utf-8")
)
RECS, ACTUAL = (pl.DataFrame(RECORDED[name]) for name in ("recs", "actual"))
ROLES: dict[str, Any] = {"user": "user", "item": "item", "score": "score", "relevance": "grade"}

RECTOOLS = {
    "precision": ranking.precision,
    "recall": ranking.recall,
    "f1": ranking.f1,
    "hit_rate": ranking.hit_rate,
    "map": ranking.map,
    "ndcg": ranking.ndcg,
    "mrr": ranking.mrr,
    "precision r": ranking.precision.bind(precision_by="min(k, n_rel)"),
    "map k": ranking.map.bind(map_by="k"),
    "ndcg achievable": ranking.ndcg.bind(ideal_over="min(k, n_rel)"),
}
RANX = {
    "precision": ranking.precision,
    "recall": ranking.recall,
    "f1": ranking.f1,
    "hit_rate": ranking.hit_rate,
    "map": ranking.map,
    "mrr": ranking.mrr,
    "ndcg": ranking.ndcg.bind(gain="linear"),
    "ndcg_burges": ranking.ndcg.bind(gain="exponential"),
    "r-precision": ranking.r_precision,
    "rbp.80": ranking.rbp.bind(p=0.80),
    "rbp.95": ranking.rbp.bind(p=0.95),
}


@pytest.mark.parametrize("k", [1, 3, 5, 10])
@pytest.mark.parametrize("name", RECTOOLS)
def test_rectools(name: str, k: int) -> None:
    expected = RECORDED["rectools 0.19.0"][str(k)][name]
    ranked = {**ROLES, "score": None, "rank": "rank"}
    for roles in (ROLES, ranked):
        value = RECTOOLS[name](RECS, ACTUAL, k=k, convention="rectools", **roles)
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", ["1", "3", "5", "10", "whole", "binary"])
def test_ranx(k: str) -> None:
    recorded = RECORDED["ranx 0.3.21"][k]
    assert len(recorded) > 3
    actual = ACTUAL.with_columns(grade=pl.lit(1)) if k == "binary" else ACTUAL
    for name, expected in recorded.items():
        cut = int(k) if k.isdigit() else None
        value = RANX[name](RECS, actual, k=cut, convention="ranx", **ROLES)
        assert value == pytest.approx(expected, rel=1e-12), name


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 3, 10, None])
@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_scikit_learn_ndcg(seed: int, k: int | None, gain: str) -> None:
    """Their tie-averaged NDCG of complete lists: every item is scored, and judged."""
    draw = np.random.default_rng(seed)
    users, items = 12, 9
    grades = draw.integers(0, 4, (users, items))
    grades[:, 0] += 1
    scores = draw.integers(0, 4, (users, items)).astype(float)
    user, item = np.divmod(np.arange(users * items), items)
    recs = pl.DataFrame({"user": user, "item": item, "score": scores.ravel()})
    actual = pl.DataFrame({"user": user, "item": item, "grade": grades.ravel()})
    value = ranking.ndcg(
        recs, actual, k=k, gain=gain, ties="expected", ideal_over="min(k, n_rel)", **ROLES
    )
    worth = grades if gain == "linear" else 2.0**grades - 1
    assert value == pytest.approx(ndcg_score(worth, scores, k=k), rel=1e-12)
