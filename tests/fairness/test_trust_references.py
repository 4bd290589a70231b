"""Item 9 of trust: with everyone or the rest, a group is compared if both sides have a value."""

import math
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import fairness
from polarsfair.fairness._clusters.silhouette import _silhouette

ROWS = pl.DataFrame(
    {
        "g": ["a"] * 6 + [None],
        "p": [0, 1, 0, 1, 1, 0, 1],
        "y": [0, 1, 1, 0, 1, 0, 1],
        "s": [0.1, 0.9, 0.4, 0.6, 0.7, 0.2, 0.5],
        "c": ["x", "y", "x", "z", "x", "y", "z"],
        "t": ["x", "y", "y", "z", "x", "x", "z"],
    }
)
CENTROIDS = pl.DataFrame({"s": [0.0, 1.0], "p": [0.5, 0.5]})
ROLES: dict[str, dict[str, Any]] = {
    "fairness.decisions": {"pred": "p", "label": "y"},
    "fairness.benefits": {"score": "s", "label": "y"},
    "fairness.classes": {"pred": "c", "label": "t"},
    "fairness.scores": {"score": "s", "label": "y"},
    "fairness.outcomes": {"pred": "s", "label": "y"},
    "fairness.outcome_bins": {"pred": "s", "label": "y"},
    "fairness.clusters": {"cluster": "c"},
    "fairness.strata": {"label": "y", "strata": "p"},
    "fairness.nearest": {"features": ["s", "p"], "centroids": CENTROIDS},
    "fairness.silhouettes": {"cluster": "c", "features": ["s", "p"]},
}
COMPARISONS = [
    metric
    for metric in pf.metrics()
    if metric.family == "fairness" and "ref" in metric.option_names and not metric.keys
]
OF_ALL_ROWS = {"quantile_stat_parity_error", "cluster_balance"}
"""Metrics whose value a reference does not change."""
WITH_A_LEVEL = {"no_disparate_impact_level": 0.9, "abroca_error": 0.0}
"""Values that are not the ideal: the highest prediction, and the error of exact scores."""


def compared(metric: pf.Metric, rows: pl.DataFrame, ref: object) -> float:
    options: dict[str, Any] = {"bins": None} if "bins" in metric.option_names else {}
    return metric(rows, group="g", **ROLES[metric.tally.name], ref=ref, **options)


@pytest.mark.parametrize("metric", COMPARISONS, ids=lambda metric: metric.name)
def test_09_a_group_alone_is_everyone_and_has_no_rest(metric: pf.Metric) -> None:
    known = ROWS.filter(pl.col("g").is_not_null())
    if metric.name in OF_ALL_ROWS:
        assert compared(metric, known, pf.REST) == compared(metric, known, None)
        return
    expected = WITH_A_LEVEL.get(metric.name, metric.ideal)
    assert compared(metric, known, pf.OVERALL) == pytest.approx(expected)
    assert math.isnan(compared(metric, known, pf.REST))
    assert math.isnan(compared(metric, known, None))
    # Rows of unknown group are on neither side.
    assert math.isnan(compared(metric, ROWS, pf.REST))


ODDS = pl.DataFrame(
    # Only "a" has both labels, so that only "a" has both rates; the rest has both together.
    {
        "g": ["a", "a", "a", "b", "b", "c"],
        "p": [1, 0, 1, 1, 0, 0],
        "y": [1, 1, 0, 1, 1, 0],
    }
)


@pytest.mark.parametrize("ref", [pf.OVERALL, pf.REST], ids=str)
def test_09_average_odds_is_what_by_group_shows(ref: Any) -> None:
    roles = {"group": "g", "pred": "p", "label": "y"}
    rates = [fairness.true_positive_rate, fairness.false_positive_rate]
    shown = pf.by_group(ODDS, rates, ref=ref, **roles).filter(pl.col("group") == "a")
    parts = shown["difference"].to_list()
    assert None not in parts
    assert fairness.average_odds(ODDS, ref=ref, **roles) == pytest.approx(sum(parts) / 2)
    assert fairness.average_abs_odds(ODDS, ref=ref, **roles) == pytest.approx(
        sum(map(abs, parts)) / 2
    )
    assert fairness.equalized_odds(ODDS, ref=ref, **roles) == pytest.approx(max(map(abs, parts)))


def test_09_the_only_roc_curve_is_compared_with_that_of_the_rest() -> None:
    # Only "a" has both labels, but "b" and "c" have them together.
    rows = pl.DataFrame(
        {
            "g": ["a", "a", "b", "c"],
            "s": [0.2, 0.8, 0.7, 0.3],
            "y": [0, 1, 0, 1],
        }
    )
    roles = {"group": "g", "score": "s", "label": "y", "bins": None}
    assert fairness.abroca(rows, ref=pf.REST, **roles) == 1.0
    assert fairness.abroca(rows, ref=pf.OVERALL, **roles) == pytest.approx(0.25)
    assert math.isnan(fairness.abroca(rows, **roles))
    assert math.isnan(fairness.abroca(rows, ref="b", **roles))


def test_09_the_rest_loses_no_digits() -> None:
    """The rest is added up, not subtracted from the total."""
    rows = pl.DataFrame(
        {"g": ["a", "b", "b", "c"], "c": [1, 1, 2, 2], "w": [1e17, 1.0, 3.0, 0.0]}
    ).filter(pl.col("w") > 0)
    roles = {"group": "g", "cluster": "c", "weight": "w"}
    found = fairness.cluster_total_variation(rows, ref=pf.REST, **roles)
    assert found == fairness.cluster_total_variation(rows, ref="a", **roles)
    labels = {"group": "g", "label": "c", "weight": "w"}
    assert fairness.label_total_variation(rows, ref=pf.REST, **labels) == found


def test_09_a_rest_without_silhouettes_has_no_weight() -> None:
    """Rows of unknown cluster have no silhouette; they are not silhouettes of 0."""
    rows = pl.DataFrame(
        {
            "g": ["a", "a", "b", "b", "b"],
            "c": [1, 1, 2, 2, None],
            "x": [0.0, 1.0, 8.0, 9.0, 3.0],
        }
    )
    roles = {"group": "g", "cluster": "c", "features": "x"}
    known = rows.drop_nulls("c")
    for ref in (pf.REST, "a"):
        found = fairness.silhouette_difference(rows, ref=ref, **roles)
        assert found == fairness.silhouette_difference(known, ref=ref, **roles)
    rest = fairness.difference(_silhouette)(rows, ref=pf.REST, **roles)
    assert abs(rest) == abs(fairness.difference(_silhouette)(rows, ref="a", **roles))


def test_09_cluster_shares_have_no_row_of_a_group_without_a_clustered_row() -> None:
    rows = pl.DataFrame({"g": ["a", "a", "b", "c"], "c": [1, 2, 2, None], "w": [1, 1, 1, 1]})
    shares = fairness.cluster_shares(rows, group="g", cluster="c")
    assert shares.select("cluster", "group").rows() == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert shares["ratio"].null_count() == 0
    light = rows.with_columns(w=pl.when(pl.col("g") == "b").then(0).otherwise(1))
    shares = fairness.cluster_shares(light, group="g", cluster="c", weight="w")
    assert shares.select("cluster", "group").rows() == [(1, "a"), (2, "a")]


APART = [fairness.abroca, fairness.label_js, fairness.label_total_variation]


@pytest.mark.parametrize("metric", APART, ids=lambda metric: metric.name)
def test_a_reference_is_not_compared_with_itself(metric: pf.Metric) -> None:
    """Of the reference alone there is no distance, rather than one of 0."""
    rows = pl.DataFrame({"g": ["a", "a", "b", "b"], "s": [0.1, 0.6, 0.4, 0.7], "y": [0, 1, 1, 1]})
    roles = {"group": "g", "label": "y", "ref": "a"}
    roles |= {"score": "s"} if metric is fairness.abroca else {}
    alone = rows.filter(pl.col("g") == "a")
    assert math.isnan(metric(alone, **roles))
    both = rows if metric is not fairness.abroca else rows.with_columns(y=pl.Series([0, 1, 1, 0]))
    assert metric(both, **roles) > 0
