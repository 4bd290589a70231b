"""Parts that cannot be added (3): every part counts its own items."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import clustering, fairness, ranking

BOTH = pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame], ids=["eager", "lazy"])
RECS = pl.DataFrame(
    {
        "u": [1, 1, 2, 2, 3, 3],
        "i": [1, 2, 1, 2, 3, 4],
        "s": [0.9, 0.5, 0.8, 0.4, 0.2, 0.1],
        "day": ["mon"] * 4 + ["tue"] * 2,
    }
)
ACTUAL = pl.DataFrame({"u": [1, 1, 2, 3, 3], "i": [1, 2, 1, 3, 4], "c": [1, 0, 1, 1, 1]})
ITEMS = pl.DataFrame({"i": [1, 2, 3, 4, 5]})
MATCHED: dict[str, Any] = {"user": "u", "item": "i", "score": "s", "relevance": "c"}
SHOWN: dict[str, Any] = {"user": "u", "item": "i", "score": "s"}
PARTS = [pl.col("u") < 3, pl.col("u") == 3]


def value(found: Any) -> float:
    number = found.lazy().collect().item()
    return math.nan if number is None else number


def matches(make: Any, *, whole: bool = False, **roles: Any) -> list[Any]:
    """Count the users in two parts, with the part's own ground truth or the `whole` of it."""
    return [
        ranking.matches(
            make(RECS.filter(part)),
            make(ACTUAL if whole else ACTUAL.filter(part)),
            **MATCHED,
            **roles,
        )
        for part in PARTS
    ]


PROPENSITIES = pytest.mark.parametrize(
    "metric", [ranking.ctr_ips, ranking.ctr_snips, ranking.ctr_dr], ids=lambda metric: metric.name
)


@BOTH
@PROPENSITIES
def test_3_propensities_of_parts_are_refused(metric: pf.Metric, make: Any) -> None:
    words = "^'item_set' differs between tables .*count them with `propensity=\"<column>\"`"
    with pytest.raises(ValueError, match=words):
        value(pf.measure(matches(make), [metric]))
    stacked = pl.concat(matches(make))
    with pytest.raises(ValueError, match=words):
        value(pf.measure(stacked, [metric]))


@BOTH
@PROPENSITIES
def test_3_propensities_of_equal_items_or_of_a_column_merge(metric: pf.Metric, make: Any) -> None:
    one = metric(RECS, ACTUAL, **MATCHED)
    assert value(pf.measure(matches(make, whole=True), [metric])) == pytest.approx(one)
    given = {"propensity": pl.col("c") / 4 + 0.5}
    one = metric(RECS, ACTUAL, **MATCHED, **given)
    assert value(pf.measure(matches(make, **given), [metric])) == pytest.approx(one)


@BOTH
def test_3_what_reads_no_propensity_merges(make: Any) -> None:
    found = value(pf.measure(matches(make), [ranking.ctr]))
    assert found == pytest.approx(ranking.ctr(RECS, ACTUAL, **MATCHED))


def exposures(make: Any, **roles: Any) -> list[Any]:
    frames = [(make(RECS.filter(part)), make(ACTUAL.filter(part))) for part in PARTS]
    return [ranking.exposure(recs, actual, **SHOWN, **roles) for recs, actual in frames]


CATALOGUE = [
    metric
    for metric in pf.metrics()
    if metric.tally is ranking.exposure and metric.roles == ranking.coverage.roles
]


@BOTH
@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_3_parts_give_the_value_of_the_whole_or_an_error(metric: pf.Metric, make: Any) -> None:
    """By a slice that the recommendations alone have, coverage was 1.0 for 0.5."""
    whole = metric(RECS, ACTUAL, by="day", items=ITEMS, **SHOWN)
    parts = pf.measure(exposures(make, by="day", items=ITEMS), [metric], by="day")
    found = parts.lazy().collect()[metric.name].to_list()
    assert found == pytest.approx(whole[metric.name].to_list())
    # Without the catalogue some metrics read nothing of it; the others are refused.
    whole = metric(RECS, ACTUAL, by="day", **SHOWN)[metric.name].to_list()
    assert right_or_refused(exposures(make, by="day"), metric, whole)


def right_or_refused(parts: list[Any], metric: pf.Metric, whole: list[float]) -> bool:
    try:
        measured = pf.measure(parts, [metric], by="day")
        found = measured.lazy().collect()[metric.name].to_list()
    except ValueError as error:
        return "count them with `items=<frame>`" in str(error)
    return bool(found == pytest.approx(whole))


@BOTH
@pytest.mark.parametrize("metric", [ranking.coverage, ranking.gini], ids=["coverage", "gini"])
def test_3_catalogues_of_parts_are_refused(metric: pf.Metric, make: Any) -> None:
    words = "^these tables were counted without `items`.*: count them with `items=<frame>`$"
    with pytest.raises(ValueError, match=words):
        pf.measure(exposures(make, by="day"), [metric], by="day").lazy().collect()
    gap = pf.difference(metric)
    with pytest.raises(ValueError, match=words):
        value(pf.measure(exposures(make, group="day"), [gap]))
    merged = value(pf.measure(exposures(make, group="day", items=ITEMS), [gap]))
    assert merged == pytest.approx(gap(RECS, ACTUAL, group="day", items=ITEMS, **SHOWN))


def test_3_tallies_say_what_must_be_counted_together() -> None:
    for metric in pf.metrics():
        tally = metric.tally
        # The mean score is one of rows, not of lists.
        listed = tally.name.startswith("ranking.") and tally is not ranking.shown_scores
        assert tally.together == (("user",) if listed else ()), tally.name


def test_3_tallies_say_what_parts_cannot_answer() -> None:
    for tally in (ranking.matches, ranking.match_scores):
        assert "`propensity=" in str(tally.whole_only({"user": "u"}))
        assert tally.whole_only({"propensity": "q"}) is None
    assert "`items=" in str(ranking.exposure.whole_only({"items": None}))
    assert ranking.exposure.whole_only({"items": ITEMS}) is None
    for tally in (ranking.lists, fairness.decisions, clustering.moments):
        assert tally.whole_only({}) is None
    for metric in pf.metrics():
        if not metric.tally.mergeable:
            assert "second pass" in str(metric.tally.whole_only({}))
