"""Metrics of many tables in one call: equal to the calls apart, and read as often as they are."""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import ColumnNotFoundError
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import clustering, fairness, ranking
from tests._mixed import CALLS, EVERY, Mixed
from tests.test_plans import in_memory_below_group_by, scans

if TYPE_CHECKING:
    from pathlib import Path

KS = [1, 3, None]
WAYS = ("eager", "lazy", "streaming", "sliced", "several k")
Values = dict[tuple[Any, ...], list[Any]]


def evaluated(call: Mixed, metrics: list[pf.Metric], way: str) -> pl.DataFrame:
    """Evaluate some of the metrics of a call, with their counts."""
    more: dict[str, Any] = {"k": KS} if way == "several k" else {}
    by = None if way in ("eager", "lazy", "streaming") else "d"
    rows = call.rows if way == "eager" else call.rows.lazy()
    keywords = call.of(metrics, **more)
    found = pf.evaluate(rows, metrics, by=by, counts=True, **keywords).lazy()
    return found.collect(engine="streaming" if way == "streaming" else "auto")


def values(frame: pl.DataFrame, metric: pf.Metric) -> Values:
    """Give the value and the count of a metric, by the keys of the result."""
    keys = [name for name in frame.columns if name in ("d", *metric.keys, "k")]
    shown = frame.select(*keys, metric.name, f"{metric.name}_n").rows()
    found = {row[: len(keys)]: list(row[len(keys) :]) for row in shown}
    assert len(found) == frame.height
    return found


def equal(found: Values, alone: Values, *, repeated: bool) -> None:
    """Check that values are those of the call apart, null for keys that it has not."""
    nothing = [None, None]
    if repeated:  # a metric that takes no k has its value at every k
        assert {key[-1] for key in found} == {*KS}
        alone = {(*key, k): value for key, value in alone.items() for k in KS}
    assert set(alone) <= set(found)
    for key, (value, count) in found.items():
        expected, number = alone.get(key, nothing)
        assert count == number, key
        assert (value is None) == (expected is None), key
        if value is not None:
            assert math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-9), key


@functools.cache
def together(name: str, way: str) -> pl.DataFrame:
    return evaluated(CALLS[name], CALLS[name].metrics, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "metric"), EVERY, ids=[f"{n}-{m.name}" for n, m in EVERY])
def test_every_metric_is_what_it_is_in_its_own_call(name: str, metric: pf.Metric, way: str) -> None:
    alone = values(evaluated(CALLS[name], [metric], way), metric)
    found = together(name, way)
    repeated = "k" in found.columns and "k" not in metric.option_names
    equal(values(found, metric), alone, repeated=repeated)


def test_every_family_is_asked_of_many_tables() -> None:
    assert {metric.name for _, metric in EVERY} == {metric.name for metric in pf.metrics()}
    assert len(CALLS["people"].tables(CALLS["people"].metrics)) > 10
    assert len(CALLS["lists"].tables(CALLS["lists"].metrics)) > 7


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_subset_is_what_the_calls_apart_are(way: str, data: st.DataObject) -> None:
    call = CALLS[data.draw(st.sampled_from([*CALLS]))]
    every = st.lists(st.sampled_from(call.metrics), min_size=2, max_size=5, unique=True)
    metrics = data.draw(every)
    found = evaluated(call, metrics, way)
    for metric in metrics:
        alone = values(evaluated(call, [metric], way), metric)
        repeated = "k" in found.columns and "k" not in metric.option_names
        equal(values(found, metric), alone, repeated=repeated)
    counted = [name for metric in metrics for name in (metric.name, f"{metric.name}_n")]
    assert found.columns[-len(counted) :] == counted
    keys = found.columns[: -len(counted)]
    if keys:
        assert_frame_equal(found, found.sort(keys))


# --- options of which a table holds one value ----------------------------------------------------

TWO: dict[str, tuple[Any, Any]] = {
    "bins": (20, 40),
    "n_neighbors": (2, 3),
    "metric": ("euclidean", "manhattan"),
    "ties": ("item", "optimistic"),
    "repeats": ("once", "drop"),
    "plan": ("hits first", "window"),
    "max_grade": (3, 4),
}
"""Two values of every option that one table holds once."""

SINGLE = [
    (name, metric, option)
    for name, metric in EVERY
    for option in metric.tally.single
    if option in metric.option_names and option in metric.tally.option_names
]


@pytest.mark.parametrize(
    ("name", "metric", "option"), SINGLE, ids=[f"{m.name}-{o}" for _, m, o in SINGLE]
)
def test_two_values_of_an_option_make_two_tables(name: str, metric: pf.Metric, option: str) -> None:
    call = CALLS[name]
    metrics = [
        metric.bind(**{option: value}).alias(f"value {i}") for i, value in enumerate(TWO[option])
    ]
    assert len(call.tables(metrics)) == 2
    found = evaluated(call, metrics, "sliced")
    for one in metrics:
        equal(values(found, one), values(evaluated(call, [one], "sliced"), one), repeated=False)


# --- scans and plans -----------------------------------------------------------------------------


def laked(call: Mixed, directory: Path) -> Mixed:
    """Give the call over lakes, with more rows than there are."""
    frames: dict[str, Any] = {}
    for name, frame in {"rows": call.rows, **call.frames}.items():
        frame.write_parquet(directory / f"{name}.parquet")
        frames[name] = pl.scan_parquet(directory / f"{name}.parquet")
    return Mixed(call.metrics, frames.pop("rows"), frames, call.roles)


@pytest.mark.parametrize("by", [None, "d"])
@pytest.mark.parametrize("name", CALLS)
def test_rows_are_scanned_as_often_as_in_the_calls_apart(
    name: str, by: str | None, tmp_path: Path
) -> None:
    """A scan that two tables shared would keep its rows in memory for the slower one."""
    call = laked(CALLS[name], tmp_path)
    tables = call.tables(call.metrics)
    everything = pf.evaluate(call.rows, call.metrics, by=by, **call.of(call.metrics))
    apart = [pf.evaluate(call.rows, own, by=by, **call.of(own)) for own in tables]
    assert scans(everything.lazy()) == sum(scans(one.lazy()) for one in apart)


@pytest.mark.parametrize("by", [None, "d"])
@pytest.mark.parametrize("name", CALLS)
def test_mixed_calls_leave_the_streaming_engine_only_where_the_calls_apart_do(
    name: str, by: str | None, tmp_path: Path
) -> None:
    call = laked(CALLS[name], tmp_path)

    def left(metrics: list[pf.Metric]) -> list[str]:
        query = pf.evaluate(call.rows, metrics, by=by, **call.of(metrics))
        # Polars numbers its own columns.
        return [re.sub(r"TMP_PLAN_\d+", "", one) for one in in_memory_below_group_by(query.lazy())]

    apart = [left(own) for own in call.tables(call.metrics)]
    assert sorted(left(call.metrics)) == sorted(label for labels in apart for label in labels)
    assert [] in apart


@pytest.mark.parametrize(("first", "second"), [(3, 20), (20, 3)])
def test_equal_plans_of_one_tally_are_not_read_once(
    first: int, second: int, tmp_path: Path
) -> None:
    """Polars would find that both tables select the same columns of the same lake."""
    call = laked(CALLS["people"], tmp_path)
    metrics = [fairness.auc.bind(bins=first), fairness.ks.bind(bins=second)]
    query = pf.evaluate(call.rows, metrics, **call.of(metrics))
    assert scans(query.lazy()) == 2


def test_a_scan_that_is_shared_is_seen(tmp_path: Path) -> None:
    call = laked(CALLS["people"], tmp_path)
    rates = [fairness.selection_rate, fairness.stat_parity, fairness.class_imbalance]
    query = pf.evaluate(call.rows, rates, **call.of(rates))
    assert scans(query.lazy()) == 1


# --- k --------------------------------------------------------------------------------------------

RECS = pl.DataFrame(
    {
        "u": [1, 1, 1, 2, 2, 3],
        "i": [7, 8, 9, 7, 9, 8],
        "s": [0.9, 0.5, 0.4, 0.8, 0.3, 0.7],
        "d": ["x", "x", "x", "y", "y", "y"],
        "g": ["a", "b", "a", "a", "a", "b"],
    }
)
ACTUAL = pl.DataFrame({"u": [1, 2, 2, 4], "i": [8, 7, 9, 7], "d": ["x", "y", "y", "z"]})
RANKED: dict[str, Any] = {"actual": ACTUAL, "user": "u", "item": "i", "score": "s"}


def test_a_metric_without_k_is_repeated_at_every_k() -> None:
    metrics = [ranking.ndcg, ranking.mad, ranking.coverage.bind(k=2), ranking.map.bind(k=1)]
    found = pf.evaluate(RECS, metrics, **RANKED, group="g", k=[2, 3])
    assert found["k"].to_list() == [2, 3]
    assert found["mad"].n_unique() == found["coverage"].n_unique() == found["map"].n_unique() == 1
    assert found["mad"][0] == ranking.mad(RECS, group="g", user="u", item="i", score="s")
    assert found["map"][0] == ranking.map(RECS, **RANKED, k=1)


def test_a_slice_that_one_table_lacks_has_every_k_and_no_other() -> None:
    """After a join on slices alone, its k would be null, which is a whole list."""
    metrics = [ranking.mad, ranking.ndcg]
    found = pf.evaluate(RECS, metrics, **RANKED, group="g", by="d", k=[1, None])
    assert found.select("d", "k").rows() == [(d, k) for d in "xyz" for k in (None, 1)]
    last = found.filter(pl.col("d") == "z")
    assert last["mad"].to_list() == [None, None]
    assert last["ndcg"].to_list() == [0, 0]


def test_k_that_is_bound_everywhere_makes_no_key() -> None:
    found = pf.evaluate(RECS, [ranking.ndcg.bind(k=2), ranking.coverage.bind(k=1)], **RANKED)
    assert found.columns == ["ndcg", "coverage"]


def test_whole_lists_beside_a_shorter_k() -> None:
    """A table of lists kept only the ranks of the larger number among them."""
    whole = ranking.recall.bind(k=None).alias("whole")
    found = pf.evaluate(RECS, [ranking.recall, whole], **RANKED, k=1)
    assert found["whole"].item() == ranking.recall(RECS, **RANKED, k=None)
    assert found["recall"].item() == ranking.recall(RECS, **RANKED, k=1)


# --- groups that split lists ----------------------------------------------------------------------


@pytest.mark.parametrize("rate", [ranking.recall, ranking.coverage], ids=lambda m: m.name)
def test_a_rate_beside_its_difference_is_still_that_of_whole_lists(rate: pf.Metric) -> None:
    """The group is a column of the items' rows, so that its table holds parts of lists."""
    gap = pf.difference(rate)
    found = pf.evaluate(RECS, [gap, rate], **RANKED, group="g", k=1)
    assert found[rate.name].item() == rate(RECS, **RANKED, k=1)
    assert found[gap.name].item() == gap(RECS, **RANKED, group="g", k=1)
    assert rate(RECS, **RANKED, group="g", k=1) == rate(RECS, **RANKED, k=1)


def test_a_group_of_users_splits_no_list(tmp_path: Path) -> None:
    RECS.write_parquet(tmp_path / "recs.parquet")
    lake = pl.scan_parquet(tmp_path / "recs.parquet")
    users = pl.DataFrame({"u": [1, 2, 3, 4], "sex": ["F", "M", "F", "M"]})
    metrics = [pf.difference(ranking.recall), ranking.recall]
    alone = [pf.evaluate(lake, m, **RANKED, users=users, group="sex") for m in metrics]
    both = pf.evaluate(lake, metrics, **RANKED, users=users, group="sex")
    assert scans(both.lazy()) == scans(alone[0].lazy()) == scans(alone[1].lazy())
    assert both.lazy().collect().row(0) == tuple(one.lazy().collect().item() for one in alone)


# --- keys of the data -----------------------------------------------------------------------------


def test_keys_found_in_the_data_are_those_of_all_metrics() -> None:
    frame = pl.DataFrame({"c": [1, 1, 2, 2], "y": [0, 1, 1, 1], "x": [0.0, 1.0, 5.0, 6.0]})
    roles: dict[str, Any] = {"cluster": "c", "label": "y", "features": ["x"]}
    metrics = [clustering.silhouette_by_cluster, clustering.purity_by_cluster]
    found = pf.evaluate(frame, metrics, **roles)
    assert found.columns == ["cluster", "silhouette_by_cluster", "purity_by_cluster"]
    assert found["purity_by_cluster"].to_list() == [0.5, 1.0]
    with pytest.raises(ValueError, match=r"'silhouette_by_cluster': \['cluster'\], 'purity': \[\]"):
        pf.evaluate(frame.lazy(), [clustering.silhouette_by_cluster, clustering.purity], **roles)


def test_slices_of_two_dtypes_are_brought_together() -> None:
    """A table of two frames may hold a slice in the dtype of both."""
    from polarsfair._engine.tables import with_same_dtypes

    pairs: list[tuple[Any, Any, Any]] = [
        (pl.Int32(), pl.Int64(), pl.Int64()),
        (pl.Categorical(), pl.String(), pl.String()),
        (pl.Null(), pl.Date(), pl.Date()),
        (
            pl.Struct({"a": pl.Int8(), "b": pl.String()}),
            pl.Struct({"a": pl.Int64(), "b": pl.Enum(["x"])}),
            pl.Struct({"a": pl.Int64(), "b": pl.String()}),
        ),
    ]
    for one, other, both in pairs:
        parts = [pl.LazyFrame(schema={"d": dtype, "v": pl.Int8}) for dtype in (one, other)]
        for part in with_same_dtypes(parts, ["d"]):
            assert part.collect_schema() == {"d": both, "v": pl.Int8}


# --- frames of other libraries ------------------------------------------------------------------


def stream(frame: pl.DataFrame) -> Any:
    """Give a frame as a stream, which can be read only once."""
    table = pa.table(frame)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


def test_a_stream_is_read_once_for_all_tables() -> None:
    call = CALLS["people"]
    metrics: list[pf.Metric] = [fairness.stat_parity, fairness.auc, fairness.cluster_entropy]
    found = pf.evaluate(stream(call.rows), metrics, by="d", **call.of(metrics))
    assert isinstance(found, pl.DataFrame)
    assert_frame_equal(found, evaluated(call, metrics, "sliced").select(found.columns))
    rates = [fairness.selection_rate, fairness.auc]
    by_group = pf.by_group(stream(call.rows), rates, **call.of([*rates]))
    assert_frame_equal(by_group, pf.by_group(call.rows, rates, **call.of([*rates])))


def test_streams_of_further_frames_are_read_once_too() -> None:
    metrics = [ranking.ndcg, ranking.coverage]
    found = pf.evaluate(stream(RECS), metrics, **{**RANKED, "actual": stream(ACTUAL)}, by="d")
    assert_frame_equal(found, pf.evaluate(RECS, metrics, **RANKED, by="d"))


# --- by group -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ref", [None, "a", pf.OVERALL, pf.REST], ids=str)
@pytest.mark.parametrize("by", [None, "d"])
def test_by_group_is_that_of_the_calls_apart_in_the_order_of_the_call(
    by: str | None, ref: Any
) -> None:
    call = CALLS["people"]
    rows = call.rows.filter(pl.col("g").is_not_null(), pl.col("d").is_not_null())
    metrics: list[pf.Metric] = [fairness.selection_rate, fairness.auc, fairness.accuracy]
    metrics += [fairness.brier, clustering.purity, fairness.class_imbalance.bases[0]]
    keywords = {k: v for k, v in call.of(metrics).items() if k != "group"}
    found = pf.by_group(rows.lazy(), metrics, group="g", ref=ref, by=by, **keywords).collect()
    for metric in metrics:
        own = {k: v for k, v in call.of([metric]).items() if k != "group"}
        alone = pf.by_group(rows, metric, group="g", ref=ref, by=by, **own)
        assert_frame_equal(found.filter(pl.col("metric") == metric.name), alone)
    first = found.head(len(metrics))["metric"].to_list()
    assert first == [metric.name for metric in metrics]
    keys = [*([by] if by else []), "group"]
    assert_frame_equal(found, found.sort(keys, maintain_order=True))


def test_by_group_repeats_metrics_without_k_at_every_k() -> None:
    metrics = [ranking.coverage.bind(k=1), ranking.recall]
    found = pf.by_group(RECS, metrics, **RANKED, group="g", k=[1, 2])
    assert found.select("group", "metric", "k").rows() == [
        (group, metric, k)
        for group in (None, "a", "b")  # a user whom only the ground truth has is of no group
        for metric in ("coverage", "recall")
        for k in (1, 2)
    ]
    covered = found.filter(pl.col("metric") == "coverage", pl.col("group") == "a")
    assert covered["value"].n_unique() == 1


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pl.DataFrame.clone, pl.DataFrame.lazy], ids=["eager", "lazy"])
def test_an_error_of_one_table_names_its_metrics(make: Any) -> None:
    recs = make(RECS)
    with pytest.raises(TypeError, match="`auc`: outcomes are missing"):
        pf.evaluate(recs, [ranking.ndcg, ranking.auc], **RANKED)
    keywords = {**RANKED, "actual": ACTUAL.with_columns(only=pl.lit("x"))}
    with pytest.raises(ValueError, match="`coverage`, `gini`: 'only' exists only in `actual`"):
        pf.evaluate(recs, [ranking.ndcg, ranking.coverage, ranking.gini], by="only", **keywords)
    with pytest.raises(ColumnNotFoundError, match=r"^`score` names the column 'scor'"):
        pf.evaluate(recs, [ranking.ndcg, ranking.coverage], **{**RANKED, "score": "scor"})


@pytest.mark.parametrize("make", [pl.DataFrame.clone, pl.DataFrame.lazy], ids=["eager", "lazy"])
def test_two_columns_of_one_name_over_two_tables(make: Any) -> None:
    recs = make(RECS)
    with pytest.raises(ValueError, match=r"two columns would be called 'ndcg': rename one with"):
        pf.evaluate(recs, [ranking.ndcg, ranking.coverage.alias("ndcg")], **RANKED)
    metrics = [ranking.ndcg, ranking.coverage.alias("ndcg_n")]
    with pytest.raises(ValueError, match="two columns would be called 'ndcg_n'"):
        pf.evaluate(recs, metrics, **RANKED, counts=True)
    with pytest.raises(ValueError, match="two columns would be called 'k'"):
        pf.evaluate(recs, [ranking.ndcg, ranking.coverage.alias("k")], **RANKED, k=[1, 2])


def test_options_that_no_metric_takes_are_refused_whatever_the_tables() -> None:
    with pytest.raises(TypeError, match="`alpha` is not a role or an option of these metrics"):
        pf.evaluate(RECS, [ranking.ndcg, ranking.coverage], **RANKED, alpha=1)


# --- stored tables --------------------------------------------------------------------------------

PEOPLE = pl.DataFrame(
    {
        "g": ["a", "a", "b", "b"],
        "p": [0, 1, 1, 1],
        "y": [0, 1, 0, 1],
        "s": [0.1, 0.8, 0.6, 0.9],
        "d": ["x", "y", "x", "y"],
    }
)
GROUPED: dict[str, Any] = {"group": "g", "label": "y"}
DECIDED = fairness.decisions(PEOPLE, pred="p", **GROUPED, by="d")
SCORED = fairness.scores(PEOPLE, score="s", **GROUPED, by="d")
MEASURED: list[pf.Metric] = [fairness.stat_parity, fairness.auc, fairness.accuracy]


@pytest.mark.parametrize("by", [None, "d"])
@pytest.mark.parametrize("lazy", [False, True])
def test_a_mapping_measures_tables_of_several_tallies(by: str | None, *, lazy: bool) -> None:
    made: Any = pl.DataFrame.lazy if lazy else pl.DataFrame.clone
    tables = {fairness.scores: [made(SCORED), made(SCORED)], fairness.decisions: made(DECIDED)}
    found = pf.measure(tables, MEASURED, by=by, counts=True)
    assert isinstance(found, pl.LazyFrame) == lazy
    found = found.lazy().collect()
    keys = [] if by is None else [by]
    columns = [name for m in MEASURED for name in (m.name, f"{m.name}_n")]
    assert found.columns == [*keys, *columns]
    rates = pf.measure(DECIDED, [MEASURED[0], MEASURED[2]], by=by, counts=True)
    assert_frame_equal(found.select(rates.columns), rates)
    areas = pf.measure([SCORED, SCORED], fairness.auc, by=by, counts=True)
    assert_frame_equal(found.select(areas.columns), areas)


def test_a_table_serves_the_metrics_of_poorer_tallies_and_of_variants() -> None:
    both = {fairness.decisions: DECIDED, fairness.scores: SCORED}
    metrics: list[pf.Metric] = [fairness.label_kl, fairness.auc]
    found = pf.measure(both, metrics)
    assert found["label_kl"].item() == pf.measure(DECIDED, fairness.label_kl).item()
    roles = {k: v for k, v in RANKED.items() if k != "actual"}
    graded = ranking.gains(RECS, ACTUAL, **roles, k=2)
    shown = ranking.exposure(RECS, **roles, k=2)
    tables = {ranking.exposure: shown, ranking.gains: graded}
    ranked = pf.measure(tables, [ranking.ndcg, ranking.coverage], k=2)
    assert ranked["ndcg"].item() == pytest.approx(ranking.ndcg(RECS, **RANKED, k=2))


def test_bad_mappings() -> None:
    with pytest.raises(
        ValueError, match=r"`auc` reads a table of `fairness\.scores`, which is not"
    ):
        pf.measure({fairness.decisions: DECIDED}, MEASURED)
    with pytest.raises(ValueError, match=r"no metric reads the table of `fairness\.scores`"):
        pf.measure({fairness.decisions: DECIDED, fairness.scores: SCORED}, fairness.accuracy)
    for key in ("fairness.decisions", fairness.accuracy, None):
        bad: Any = {key: DECIDED}
        with pytest.raises(TypeError, match=r"is not a tally: pass the object, such as"):
            pf.measure(bad, fairness.accuracy)
    with pytest.raises(ValueError, match=r"which is not given: add `fairness\.decisions: <table>`"):
        pf.measure({}, fairness.accuracy)
    swapped = {fairness.decisions: SCORED, fairness.scores: DECIDED}
    with pytest.raises(ValueError, match=r"reads a table of `fairness\.\w+`, and this one has no"):
        pf.measure(swapped, MEASURED)
    with pytest.raises(TypeError, match="`alpha` is not a role or an option"):
        pf.measure({fairness.decisions: DECIDED}, fairness.accuracy, alpha=1)
    tables = {fairness.decisions: DECIDED, fairness.scores: SCORED.drop("d")}
    with pytest.raises(ColumnNotFoundError, match=r"`auc`: `by` names the column 'd'"):
        pf.measure(tables, MEASURED, by="d")


def test_a_list_stays_tables_of_one_tally() -> None:
    with pytest.raises(ValueError, match=r"reads a table of `fairness\.scores`"):
        pf.measure([DECIDED, SCORED], MEASURED)
