"""Laws that every metric obeys, asked of all metrics of a tally at once.

Bounds; no dependence on row order; merged tables equal one table; a slice equals filtering; an
integer weight equals repetition; repeats are refused where they are; eager, lazy and streaming
agree. What a value is a value of is asked for where it obeys the same law. A new metric is asked
without anybody naming it here, and one whose tally has no sample fails.
"""

from __future__ import annotations

import math
import pickle
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polarsfair as pf
from tests._samples import SAMPLES, Sample, empty, ready

few = settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def metric_sets() -> dict[str, list[pf.Metric]]:
    """Group the metrics that can be asked in one call: same table, same keys."""
    sets: dict[str, list[pf.Metric]] = {}
    variants = (s.metric for metric in pf.metrics() for s in metric.variants)
    for metric in map(ready, [*pf.metrics(), *variants]):
        name = "-".join([metric.tally.name, *metric.result_keys])
        known = [one.name for one in sets.setdefault(name, [])]
        if metric.name not in known:
            sets[name].append(metric)
    return sets


SETS = metric_sets()
ASKED = {name: chosen for name, chosen in SETS.items() if chosen[0].tally.name in SAMPLES}
every_set = pytest.mark.parametrize("name", ASKED)
mergeable_sets = pytest.mark.parametrize("name", [n for n in ASKED if ASKED[n][0].tally.mergeable])
WEIGHTED = [name for name in ASKED if "weight" in ASKED[name][0].tally.roles]
weighted_sets = pytest.mark.parametrize("name", WEIGHTED)


def sample_of(name: str) -> Sample:
    return SAMPLES[ASKED[name][0].tally.name]


def options_of(name: str) -> list[dict[str, Any]]:
    takes_ref = any("ref" in metric.option_names for metric in ASKED[name])
    refs = [pf.OVERALL, pf.REST] if takes_ref and sample_of(name).refs else []
    return [{}, *({"ref": ref} for ref in refs)]


def draw(data: st.DataObject, name: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    sample = sample_of(name)
    frames = {role: data.draw(strategy) for role, strategy in sample.frames.items()}
    return data.draw(sample.rows), sample.roles | frames


def equal(left: pl.DataFrame, right: pl.DataFrame) -> None:
    assert_frame_equal(left, right, check_exact=False, rel_tol=1e-9, abs_tol=1e-9)


def test_every_tally_has_a_sample() -> None:
    assert {chosen[0].tally.name for chosen in SETS.values()} <= set(SAMPLES)


@every_set
@few
@given(data=st.data())
def test_values_lie_within_the_bounds(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    # A reference that no row has is an error, so one is asked for only where it is there.
    named = [{"ref": "a"}] if "g" in rows.columns and "a" in rows["g"] else []
    for options in [*options_of(name), *(named if len(options_of(name)) > 1 else [])]:
        values = pf.evaluate(rows, ASKED[name], **roles, by="d", **options)
        for metric in ASKED[name]:
            low, high = metric.bounds
            column = values[metric.name].drop_nulls()
            assert not column.is_nan().any(), metric
            assert column.is_between(low - 1e-9, high + 1e-9).all(), (metric, column.to_list())


@every_set
@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_row_order_does_not_matter(name: str, data: st.DataObject, seed: int) -> None:
    rows, roles = draw(data, name)
    mixed = {
        role: value.sample(fraction=1, shuffle=True, seed=seed)
        if isinstance(value, pl.DataFrame)
        else value
        for role, value in roles.items()
    }
    other = rows.sample(fraction=1, shuffle=True, seed=seed)
    for options in options_of(name):
        equal(
            pf.evaluate(rows, ASKED[name], **roles, by="d", counts=True, **options),
            pf.evaluate(other, ASKED[name], **mixed, by="d", counts=True, **options),
        )


def tally_options(metrics: list[pf.Metric]) -> dict[str, Any]:
    """Give the options under which one table serves all metrics of a set."""
    tally = metrics[0].tally
    asked: dict[str, Any] = {}
    for option in tally.option_names:
        values = [m.option(option) for m in metrics if not m.bases]
        distinct = [v for i, v in enumerate(values) if v not in values[:i]]
        if distinct:
            asked[option] = distinct[0] if len(distinct) == 1 else distinct
    return asked


@mergeable_sets
@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_merged_tables_equal_one_table(name: str, data: st.DataObject, seed: int) -> None:
    metrics, sample = ASKED[name], sample_of(name)
    rows, roles = draw(data, name)
    roles |= sample.merged
    key = pl.int_range(pl.len()) if sample.kept_whole is None else pl.col(sample.kept_whole)
    part = key.hash(seed) % 3

    def tables(by: str | None) -> list[pl.DataFrame]:
        parted = [
            {role: in_part(value, part == i, sample.kept_whole) for role, value in roles.items()}
            for i in range(3)
        ]
        options = tally_options(metrics)
        count = metrics[0].tally
        return [count(rows.filter(part == i), by=by, **parted[i], **options) for i in range(3)]

    sliced = tables("d")
    # A slice that both frames of lists have is part of a list's identity: leaving it out later
    # does not put the lists of one user together again.
    unsliced = sliced if sample.kept_whole is None else tables(None)
    for options in options_of(name):
        whole = pf.evaluate(rows, metrics, **roles, by="d", counts=True, **options)
        equal(pf.measure(sliced, metrics, by="d", counts=True, **options), whole)
        total = pf.evaluate(rows, metrics, **roles, counts=True, **options)
        stacked = pl.concat(unsliced, how="diagonal_relaxed")
        equal(pf.measure(stacked, metrics, counts=True, **options), total)


def in_part(value: Any, here: pl.Expr, column: str | None) -> Any:
    """Take the rows of one part from a frame that has the column that the parts go by."""
    parted = isinstance(value, pl.DataFrame) and column in value.columns
    return value.filter(here) if parted else value


@every_set
@few
@given(data=st.data())
def test_a_slice_equals_filtering(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    sliced = pf.evaluate(rows, ASKED[name], **roles, by="d", counts=True)
    assert sliced["d"].is_sorted()
    for value in [None, "x", "y"]:
        here = pl.col("d").eq_missing(pl.lit(value))
        kept = {
            role: given.filter(here)
            if isinstance(given, pl.DataFrame) and "d" in given.columns
            else given
            for role, given in roles.items()
        }
        part = rows.filter(here)
        if part.is_empty():
            continue
        alone = pf.evaluate(part, ASKED[name], **kept, counts=True)
        found = sliced.filter(here).drop("d")
        # Rows without a user are in no list, and a slice of them alone has no line.
        if not (found.is_empty() and sample_of(name).kept_whole):
            equal(found, alone)
        else:
            assert all(not value for line in alone.rows() for value in line)


def repeat(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(pl.all().repeat_by("w").explode()) if rows.height else rows


@weighted_sets
@few
@given(data=st.data())
def test_an_integer_weight_is_repetition(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    rows = rows.filter(pl.col("w") > 0)
    for options in options_of(name):
        equal(
            pf.evaluate(rows, ASKED[name], **roles, by="d", weight="w", **options),
            pf.evaluate(repeat(rows), ASKED[name], **roles, by="d", **options),
        )


@pytest.mark.parametrize("name", [n for n in WEIGHTED if ASKED[n][0].tally.mergeable])
@few
@given(data=st.data(), cut=st.integers(0, 40))
def test_tables_with_and_without_weights_add_up(name: str, data: st.DataObject, cut: int) -> None:
    rows, roles = draw(data, name)
    rows = rows.filter(pl.col("w") > 0)
    metrics, count = ASKED[name], ASKED[name][0].tally
    more = {**roles, **tally_options(metrics), "by": "d"}
    tables = [count(rows[:cut], weight="w", **more), count(repeat(rows[cut:]), **more)]
    whole = pf.evaluate(rows, metrics, **roles, by="d", weight="w")
    equal(pf.measure(tables, metrics, by="d"), whole)


LISTED = [name for name in ASKED if "repeats" in ASKED[name][0].tally.option_names]


def once(frame: Any) -> Any:
    """Leave out rows without a user or an item, and every repetition of a pair in its slice."""
    if not isinstance(frame, pl.DataFrame) or "user" not in frame.columns:
        return frame
    return frame.drop_nulls(["user", "item"]).unique(["d", "user", "item"], maintain_order=True)


@pytest.mark.parametrize("name", LISTED)
@few
@given(data=st.data())
def test_repeats_are_refused_where_they_are(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    rows, roles = once(rows), {role: once(value) for role, value in roles.items()}
    counted = {**roles, "by": "d", "counts": True}
    clean = pf.evaluate(rows, ASKED[name], **counted)
    equal(pf.evaluate(rows, ASKED[name], **counted, repeats="error"), clean)
    equal(pf.evaluate(rows, ASKED[name], **counted, repeats="drop"), clean)
    if not rows.is_empty():
        twice = pl.concat([rows, rows[:1]])
        with pytest.raises(ValueError, match="more than once"):
            pf.evaluate(twice, ASKED[name], **roles, by="d", repeats="error")


@every_set
@few
@given(data=st.data())
def test_eager_lazy_and_streaming_agree(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    for options in options_of(name):
        eager = pf.evaluate(rows, ASKED[name], **roles, by="d", counts=True, **options)
        lazy = pf.evaluate(rows.lazy(), ASKED[name], **roles, by="d", counts=True, **options)
        assert lazy.collect_schema() == eager.schema
        assert all(eager.schema[f"{metric.name}_n"] == pl.Int64 for metric in ASKED[name])
        equal(lazy.collect(engine="in-memory"), eager)
        equal(lazy.collect(engine="streaming"), eager)


@every_set
def test_an_empty_frame_has_no_value(name: str) -> None:
    sample = sample_of(name)
    rows = empty(sample.rows)
    roles = sample.roles | {role: empty(strategy) for role, strategy in sample.frames.items()}
    metrics = ASKED[name]
    assert pf.evaluate(rows, metrics, **roles, by="d").is_empty()
    total = pf.evaluate(rows, metrics, **roles)
    if not metrics[0].result_keys:
        assert total.height == 1
        assert all(value is None for value in total.row(0)), total
        assert math.isnan(metrics[0](rows, **roles))


def rates_of(name: str) -> list[pf.Metric]:
    """List the metrics of a set that groups can be compared by."""
    counted = "group" in sample_of(name).roles and "group" in ASKED[name][0].tally.cells
    return [metric for metric in ASKED[name] if counted and "group" not in metric.roles]


@pytest.mark.parametrize("name", [name for name in ASKED if rates_of(name)])
@few
@given(data=st.data())
def test_every_rate_can_be_compared_in_every_way(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    ways = (pf.difference, pf.ratio, pf.group_min, pf.group_max)
    compared = [way(rate) for way in ways for rate in rates_of(name)]
    for ref in (None, pf.OVERALL, pf.REST) if sample_of(name).refs else (None,):
        lazy = pf.evaluate(rows.lazy(), compared, **roles, by="d", ref=ref)
        found = lazy.collect()
        assert found.schema == lazy.collect_schema()
        for metric in compared:
            low, high = metric.bounds
            column = found[metric.name].drop_nulls()
            assert not column.is_nan().any(), metric
            assert column.is_between(low - 1e-9, high + 1e-9).all(), (metric, column.to_list())


@pytest.mark.parametrize("metric", pf.metrics(), ids=lambda m: f"{m.family}.{m.name}")
def test_metrics_are_pickled_by_reference(metric: pf.Metric) -> None:
    assert pickle.loads(pickle.dumps(metric)) is metric
    renamed = pickle.loads(pickle.dumps(metric.alias("other")))
    assert (renamed.name, renamed.formula) == ("other", metric.formula)
    if not metric.bases and "group" not in metric.roles and "group" in metric.tally.cells:
        combined = pickle.loads(pickle.dumps(pf.difference(metric)))
        assert combined.name == f"{metric.name}_difference"
        assert combined.bases[0] is metric


@pytest.mark.parametrize("metric", pf.metrics(), ids=lambda m: f"{m.family}.{m.name}")
def test_facts_are_consistent(metric: pf.Metric) -> None:
    for one in (metric, *metric.bases):
        check_facts(one)


def check_facts(metric: pf.Metric) -> None:
    low, high = metric.bounds
    assert low < high
    if metric.ideal is not None:
        assert low <= metric.ideal <= high
    if metric.fair is not None:
        assert low <= metric.fair[0] < metric.fair[1] <= high
        assert metric.ideal is not None
        assert metric.fair[0] <= metric.ideal <= metric.fair[1]
    if metric.better is None:
        assert metric.ideal is None, "a description has no ideal"
    if metric.ideal is None:
        assert metric.better != "ideal"


def test_the_catalogue_has_every_metric() -> None:
    catalogue = pf.catalog()
    assert catalogue.height == len(pf.metrics())
    assert catalogue["metric"].is_unique().all()
    assert catalogue.columns == [
        "metric", "family", "name", "tally", "roles", "options", "ideal", "lower", "upper",
        "better", "fair_low", "fair_high", "kind", "reference", "summary",
    ]  # fmt: skip
    complete = catalogue.select("tally", "kind", "reference", "summary", "lower", "upper")
    assert complete.null_count().sum_horizontal().item() == 0
