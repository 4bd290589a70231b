"""Case 3: tables of parts are merged right, or refused with the role that makes them right."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import fairness, ranking
from tests._samples import SAMPLES

RECS = pl.DataFrame(
    {
        "user": [1, 1, 2, 2],
        "item": ["a", "b", "a", "c"],
        "score": [0.9, 0.5, 0.8, 0.1],
        "day": [1, 1, 2, 2],
        "sex": ["F", "F", "M", "M"],
    }
)
ACTUAL = pl.DataFrame(
    {
        "user": [1, 1, 2, 2],
        "item": ["a", "b", "a", "c"],
        "click": [1, 0, 1, 1],
        "chance": [0.5, 0.25, 0.5, 0.25],
    }
)
ITEMS = pl.DataFrame({"item": ["a", "b", "c", "d"]})
ROLES: dict[str, Any] = {"user": "user", "item": "item", "score": "score"}
CLICKS = ROLES | {"relevance": "click", "predicted": "score"}
BOTH = pytest.mark.parametrize("make", [lambda f: f, pl.DataFrame.lazy], ids=["eager", "lazy"])
WEIGHED = [ranking.ctr_ips, ranking.ctr_snips, ranking.ctr_dr]
OF_ITEMS = [
    ranking.coverage, ranking.gini, ranking.aggregate_diversity, ranking.exposure_entropy
]  # fmt: skip


def parts(tally: pf.Tally, make: Any, actual: pl.DataFrame = ACTUAL, **given: Any) -> list[Any]:
    """Count the rows of every user apart."""
    own = [pl.col("user") == user for user in (1, 2)]
    truth = [make(actual.filter(here) if actual is ACTUAL else actual) for here in own]
    rows = [make(RECS.filter(here)) for here in own]
    return [tally(r, actual=a, **given) for r, a in zip(rows, truth, strict=True)]


def measured(tables: list[Any], metric: pf.Metric, **given: Any) -> pl.DataFrame:
    return pf.measure(tables, [metric], **given).lazy().collect()


@BOTH
@pytest.mark.parametrize("metric", WEIGHED, ids=[m.name for m in WEIGHED])
def test_3_clicks_without_propensity_are_not_added(metric: pf.Metric, make: Any) -> None:
    tables = parts(ranking.matches, make, **CLICKS)
    with pytest.raises(ValueError, match='count them with `propensity="<column>"`'):
        measured(tables, metric)
    # Nothing else in these tables depends on the items.
    assert measured(tables, ranking.ctr)["ctr"].item() == pytest.approx(3 / 4)


@BOTH
@pytest.mark.parametrize("metric", WEIGHED, ids=[m.name for m in WEIGHED])
def test_3_clicks_with_propensity_are_added(metric: pf.Metric, make: Any) -> None:
    roles = CLICKS | {"propensity": "chance"}
    whole = pf.evaluate(RECS, [metric], actual=ACTUAL, **roles)
    found = measured(parts(ranking.matches, make, **roles), metric)
    assert found.item() == pytest.approx(whole.item())


def test_3_parts_that_count_all_rows_of_actual_are_added() -> None:
    same_items = ACTUAL.with_columns(click=pl.col("click"))
    whole = pf.evaluate(RECS, [ranking.ctr_snips], actual=ACTUAL, **CLICKS)
    tables = parts(ranking.matches, lambda f: f, same_items, **CLICKS)
    assert measured(tables, ranking.ctr_snips).item() == pytest.approx(whole.item())


@BOTH
@pytest.mark.parametrize("metric", OF_ITEMS, ids=[m.name for m in OF_ITEMS])
def test_3_a_catalogue_of_parts_is_not_added(metric: pf.Metric, make: Any) -> None:
    by_slice = parts(ranking.exposure, make, by="day", **ROLES)
    with pytest.raises(ValueError, match=r"count them with `items=<frame>`"):
        measured(by_slice, metric, by="day")
    by_group = parts(ranking.exposure, make, group="sex", **ROLES)
    with pytest.raises(ValueError, match=r"count them with `items=<frame>`"):
        measured(by_group, pf.difference(metric))


@BOTH
@pytest.mark.parametrize("metric", OF_ITEMS, ids=[m.name for m in OF_ITEMS])
def test_3_a_catalogue_that_is_given_is_added(metric: pf.Metric, make: Any) -> None:
    whole = pf.evaluate(RECS, [metric], by="day", items=ITEMS, **ROLES)
    tables = parts(ranking.exposure, make, by="day", items=ITEMS, **ROLES)
    assert_frame_equal(measured(tables, metric, by="day"), whole)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(data=st.data(), sliced=st.booleans(), kept=st.booleans(), grouped=st.booleans())
def test_3_any_parts_are_added_right_or_refused(
    data: st.DataObject, sliced: bool, kept: bool, grouped: bool
) -> None:
    sample = SAMPLES["ranking.exposure"]
    rows, actual = data.draw(sample.rows), data.draw(sample.frames["actual"])
    metrics = [pf.difference(m) for m in OF_ITEMS] if grouped else OF_ITEMS
    roles = {name: role for name, role in sample.roles.items() if grouped or name != "group"}
    # With the slice in one of the frames, in both or in none.
    actual = actual if kept else actual.drop("d")
    by = "d" if sliced else None
    own = [pl.col("user") % 2 == part for part in (0, 1)]
    tables = [
        ranking.exposure(rows.filter(here), actual=actual.filter(here), by=by, **roles)
        for here in own
    ]
    whole = pf.evaluate(rows, metrics, actual=actual, by=by, **roles)
    try:
        found = pf.measure(tables, metrics, by=by)
    except ValueError as error:
        assert "count them with `items=<frame>`" in str(error)  # noqa: PT017
        assert sliced or grouped
    else:
        assert_frame_equal(found, whole)


def test_3_parts_of_one_table_are_the_right_number() -> None:
    # Half of the four items, where each part by itself has seen every item that it knows.
    assert pf.evaluate(RECS, [ranking.coverage], by="day", items=ITEMS, **ROLES).rows() == [
        (1, 0.5),
        (2, 0.5),
    ]


def test_3_tallies_say_what_parts_cannot_answer() -> None:
    exposure, matches = ranking.exposure, ranking.matches
    assert "add `items=<frame>`" in str(exposure.whole_only(ROLES))
    assert exposure.whole_only(ROLES | {"items": ITEMS}) is None
    assert 'add `propensity="<column>"`' in str(matches.whole_only(CLICKS))
    assert matches.whole_only(CLICKS | {"propensity": "chance"}) is None
    assert fairness.decisions.whole_only({"group": "sex", "pred": "p"}) is None


def test_3_tallies_say_which_rows_stay_together() -> None:
    assert fairness.decisions.together == ()
    assert ranking.lists.together == ranking.matches.together == ("user",)
    assert ranking.exposure.together == ("user",)
