"""People, films and flowers: ours beside independent packages on real data, where it is at hand.

The files are small and are not part of the project. `POLARSFAIR_DATA` names their directory; unless
it is set, a directory `shared/data` beside the project is looked for.
"""

import math
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import fairlearn.metrics as fairlearn
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn import metrics as sklearn

import polarsfair as pf
from polarsfair import clustering, fairness, ranking

BESIDE = Path(__file__).parents[2] / "shared" / "data"
DATA = Path(os.environ.get("POLARSFAIR_DATA", BESIDE))

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the real data sets are not here: name them by POLARSFAIR_DATA"
)


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    decided = pl.read_parquet(DATA / "adult_tree_predictions.parquet")
    return pl.read_parquet(DATA / "adult.parquet").join(decided, on="row_id")


DECISIONS = {"pred": "pred", "label": "label"}
FIGURES = {
    fairness.stat_parity: fairlearn.demographic_parity_difference,
    fairness.disparate_impact: fairlearn.demographic_parity_ratio,
    fairness.equal_opportunity: fairlearn.equal_opportunity_difference,
    fairness.equalized_odds: fairlearn.equalized_odds_difference,
}


@pytest.mark.parametrize("weight", [None, "fnlwgt"])
@pytest.mark.parametrize("group", ["sex", "race"])
def test_incomes_beside_fairlearn(people: pl.DataFrame, group: str, weight: str | None) -> None:
    ours = pf.evaluate(people, list(FIGURES), group=group, weight=weight, **DECISIONS)
    for metric, theirs in FIGURES.items():
        expected = theirs(
            people["label"].to_numpy(),
            people["pred"].to_numpy(),
            sensitive_features=people[group].to_numpy(),
            sample_weight=None if weight is None else people[weight].to_numpy(),
        )
        assert ours[metric.name].item() == pytest.approx(expected, abs=1e-12), metric


def test_intersections_of_people_streamed_from_the_file(people: pl.DataFrame) -> None:
    rates = [fairness.selection_rate, fairness.true_positive_rate, fairness.false_positive_rate]
    roles = {"group": ["sex", "race"], "ref": {"sex": "Male", "race": "White"}, **DECISIONS}
    lake = pl.scan_parquet(DATA / "adult.parquet").join(
        pl.scan_parquet(DATA / "adult_tree_predictions.parquet"), on="row_id"
    )
    streamed = pf.by_group(lake, rates, by="workclass", **roles).collect(engine="streaming")
    assert_frame_equal(streamed, pf.by_group(people, rates, by="workclass", **roles))
    frame = fairlearn.MetricFrame(
        metrics={
            "selection_rate": fairlearn.selection_rate,
            "true_positive_rate": fairlearn.true_positive_rate,
            "false_positive_rate": fairlearn.false_positive_rate,
        },
        y_true=people["label"].to_numpy(),
        y_pred=people["pred"].to_numpy(),
        sensitive_features=people.select("sex", "race").to_pandas(),
    )
    ours = pf.by_group(people, rates, **roles)
    assert ours.height == 3 * frame.by_group.shape[0]
    for line in ours.iter_rows(named=True):
        theirs = frame.by_group.loc[tuple(line["group"].values()), line["metric"]]
        assert line["value"] == pytest.approx(theirs, abs=1e-12), line


def test_scores_of_people_beside_scikit_learn(people: pl.DataFrame) -> None:
    exact = [fairness.auc, fairness.average_precision, fairness.brier]
    ours = pf.evaluate(people, exact, score="score", label="label", by="sex", bins=None)
    assert ours["sex"].to_list() == ["Female", "Male"]
    for sex, *values in ours.iter_rows():
        label, score = people.filter(sex=sex).select("label", "score").to_numpy().T
        theirs = [
            sklearn.roc_auc_score(label, score),
            sklearn.average_precision_score(label, score),
            sklearn.brier_score_loss(label, score),
        ]
        assert values == pytest.approx(theirs, abs=1e-12)


def test_an_audit_by_days_is_the_whole(people: pl.DataFrame) -> None:
    metrics = [m for m in pf.metrics() if m.tally is fairness.decisions]
    parts = people.with_columns(day=pl.col("row_id") % 7).partition_by("day")
    tables = [fairness.decisions(part, group="race", **DECISIONS) for part in parts]
    assert_frame_equal(
        pf.measure(tables, metrics), pf.evaluate(people, metrics, group="race", **DECISIONS)
    )


def by_hand(recs: pl.DataFrame, actual: pl.DataFrame, k: int) -> dict[str, float]:
    """Walk the lists one by one: Jurity's reading of four metrics."""
    listed: dict[int, dict[int, int]] = defaultdict(dict)
    for user, item, rank in recs.select("user_id", "item_id", "rank").iter_rows():
        listed[user][rank] = item
    relevant: dict[int, set[int]] = defaultdict(set)
    for user, item in actual.filter(relevant=1).select("user_id", "item_id").iter_rows():
        relevant[user].add(item)
    found = defaultdict(list)
    for user, wanted in relevant.items():
        shown = [listed[user][rank] for rank in sorted(listed.get(user, {}))][:k]
        hits = [item in wanted for item in shown]
        gained = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits))
        found["ndcg"].append(gained / sum(1 / math.log2(p + 2) for p in range(len(wanted))))
        found["recall"].append(sum(hits) / len(wanted))
        if shown:
            precise = sum(sum(hits[: p + 1]) / (p + 1) for p, hit in enumerate(hits) if hit)
            found["precision"].append(sum(hits) / len(shown))
            found["map"].append(precise / min(k, len(wanted)))
    return {name: float(np.mean(values)) for name, values in found.items()}


@pytest.mark.parametrize("k", [5, 20])
def test_films_beside_a_plain_loop(k: int) -> None:
    recs = pl.read_parquet(DATA / "movietweetings100k_recs.parquet")
    actual = pl.read_parquet(DATA / "movietweetings100k_test.parquet")
    metrics = [ranking.precision, ranking.recall, ranking.map, ranking.ndcg]
    roles = {"user": "user_id", "item": "item_id", "rank": "rank", "relevance": "relevant"}
    ours = pf.evaluate(recs, metrics, actual=actual, by="model", k=k, **roles)
    assert ours["model"].to_list() == ["itemknn", "popularity"]
    for line in ours.iter_rows(named=True):
        theirs = by_hand(recs.filter(model=line.pop("model")), actual, k)
        assert line == pytest.approx(theirs, abs=1e-12)


AGREEMENTS: dict[pf.Metric, Any] = {
    clustering.adjusted_rand: sklearn.adjusted_rand_score,
    clustering.adjusted_mutual_information: sklearn.adjusted_mutual_info_score,
    clustering.fowlkes_mallows: sklearn.fowlkes_mallows_score,
    clustering.homogeneity: sklearn.homogeneity_score,
    clustering.v_measure: sklearn.v_measure_score,
}
SHAPES: dict[pf.Metric, Any] = {
    clustering.silhouette: sklearn.silhouette_score,
    clustering.silhouette.bind(metric="sqeuclidean"): lambda points, found: (
        sklearn.silhouette_score(points, found, metric="sqeuclidean")
    ),
    clustering.calinski_harabasz: sklearn.calinski_harabasz_score,
    clustering.davies_bouldin.bind(dispersion="mean"): sklearn.davies_bouldin_score,
}


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_clusters_beside_scikit_learn(name: str) -> None:
    rows = pl.read_parquet(DATA / f"{name}_clusters.parquet")
    features = [column for column in rows.columns if column not in ("row_id", "label", "cluster")]
    truth, found = rows["label"].to_numpy(), rows["cluster"].to_numpy()
    for metric, theirs in AGREEMENTS.items():
        ours = rows.pipe(metric, cluster="cluster", label="label")
        assert ours == pytest.approx(theirs(truth, found), abs=1e-9), metric
    for metric, theirs in SHAPES.items():
        ours = rows.pipe(metric, cluster="cluster", features=features)
        assert ours == pytest.approx(theirs(rows.select(features).to_numpy(), found)), metric
