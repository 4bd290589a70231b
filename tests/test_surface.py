"""What a person meets at the door: other frames, free names of slices, groups of every dtype."""

import ast
import datetime as dt
import decimal
import inspect
import math
import pickle
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polarsfair as pf
import polarsfair.namespace
from polarsfair import _typing, clustering, fairness, ranking
from polarsfair._cli._typed import names

ROWS = pl.DataFrame(
    {
        "sex": ["F", "F", "F", "M", "M", "M", None],
        "city": ["A", "A", "B", "A", "B", "B", "A"],
        "hired": [0, 1, 0, 1, 1, 0, 1],
        "fit": [1, 1, 0, 1, 1, 1, 0],
        "score": [0.25, 0.5, 0.0, 1.0, 0.75, 0.5, 1.0],
        "w": [1.0, 0.5, 2.0, 1.0, 0.0, 3.0, 1.0],
    }
)
ROLES: dict[str, Any] = {"group": "sex", "pred": "hired", "label": "fit"}


# frames of other libraries


def test_frames_of_other_libraries_are_eager_frames() -> None:
    arrow, pandas = ROWS.to_arrow(), ROWS.to_pandas()
    for frame in (pandas, arrow, arrow.to_reader()):
        assert fairness.stat_parity(frame, **ROLES, ref="M") == pytest.approx(-1 / 3)
    sliced = fairness.stat_parity(pandas, **ROLES, by="city")
    assert_frame_equal(sliced, fairness.stat_parity(ROWS, **ROLES, by="city"))
    tables = [fairness.decisions(arrow, **ROLES).to_pandas(), fairness.decisions(ROWS, **ROLES)]
    assert pf.measure(tables, fairness.stat_parity).item() == pytest.approx(1 / 3)


def test_a_relation_of_duckdb_is_an_eager_frame() -> None:
    # In a process of its own: DuckDB's bindings end with a page about relations that they leak.
    code = """
import duckdb
from polarsfair import fairness
rows = duckdb.sql("SELECT unnest(['F', 'F', 'M']) AS sex, unnest([0, 1, 1]) AS hired")
print(fairness.stat_parity(rows, group="sex", pred="hired", ref="M"))
print(fairness.stat_parity(rows, group="sex", pred="hired", by="hired").height)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["-0.5", "2"]


@pytest.mark.parametrize("frame", [{"sex": ["F"]}, "lake.parquet", ROWS["sex"], None])
def test_what_is_no_frame_is_refused(frame: Any) -> None:
    with pytest.raises(TypeError, match=r"wrap the data in `pl.DataFrame"):
        fairness.stat_parity(frame, **ROLES)


# the opt-in namespace


def test_namespace_of_both_kinds_of_frame() -> None:
    value = fairness.stat_parity(ROWS, **ROLES)
    eager: Any = ROWS
    lazy: Any = ROWS.lazy()
    assert eager.fair.stat_parity(**ROLES) == value
    assert lazy.fair.stat_parity(**ROLES).collect().item() == value
    assert eager.fair.fairness.precision(**ROLES) == fairness.precision(ROWS, **ROLES)
    assert eager.fair.evaluate([fairness.stat_parity], **ROLES).item() == value
    table: Any = fairness.decisions(ROWS, **ROLES)
    assert table.fair.measure(fairness.stat_parity).item() == value
    assert {"stat_parity", "evaluate", "fairness"} <= set(dir(eager.fair))


def test_namespace_says_where_a_name_is() -> None:
    frame: Any = ROWS
    with pytest.raises(AttributeError) as shared:
        _ = frame.fair.precision
    assert "`fair.fairness.precision` or `fair.ranking.precision`" in str(shared.value)
    assert "fair.clustering.precision" not in str(shared.value)
    with pytest.raises(AttributeError, match=r"no metrics called 'stat_partiy'"):
        _ = frame.fair.stat_partiy


# slices may be called like the columns that formulas work with

INNER = ["tp", "selected", "size", "total", "benefit", "share", "one", "other", "odds"]
INNER += ["is_ref", "hits", "true", "predicted", "first", "known", "distance", "value", "bad_score"]


@pytest.mark.parametrize("name", INNER)
@pytest.mark.parametrize("ref", [None, "M", pf.REST], ids=str)
def test_a_slice_called_like_an_inner_column(name: str, ref: Any) -> None:
    rows = ROWS.rename({"city": name})
    listed = {"pred": pl.concat_list("hired", "fit")}
    soft = {"group": "sex", "score": "score", "label": "fit", "weight": "w"}
    asked: list[tuple[list[pf.Metric], dict[str, Any], dict[str, Any]]] = [
        ([fairness.stat_parity, fairness.cohen_d, fairness.theil_within], ROLES, {"ref": ref}),
        ([fairness.multiclass_average_odds], ROLES, {"ref": ref}),
        ([fairness.stat_parity_by_class], ROLES | listed, {"ref": ref}),
        ([fairness.precision_by_class], ROLES, {}),
        ([fairness.theil, fairness.generalized_entropy_between], soft, {}),
    ]
    for metrics, roles, options in asked:
        expected = pf.evaluate(ROWS, metrics, **roles, **options, by="city").rename({"city": name})
        found = pf.evaluate(rows, metrics, **roles, **options, by=name)
        assert_frame_equal(found, expected)
        lazy = pf.evaluate(rows.lazy(), metrics, **roles, **options, by=name)
        assert lazy.collect_schema() == expected.schema


def test_a_stored_slice_called_like_an_inner_column() -> None:
    table = fairness.decisions(ROWS, **ROLES, by=pl.col("city").alias("selected"))
    measured = pf.measure(table, fairness.selection_rate, by="selected")
    assert measured["selected"].to_list() == ["A", "B"]
    long = pf.by_group(
        ROWS, fairness.selection_rate, **ROLES, by=pl.col("city").alias("selection_rate")
    )
    assert long["selection_rate"].unique().sort().to_list() == ["A", "B"]


def test_slices_that_would_hide_a_column_are_refused() -> None:
    for frame in (ROWS, ROWS.lazy()):
        with pytest.raises(ValueError, match=r"two columns would be called 'class'"):
            fairness.stat_parity_by_class(frame, **ROLES, by=pl.col("city").alias("class"))
        with pytest.raises(ValueError, match=r"a slice cannot be named '\|group'"):
            fairness.stat_parity(frame, **ROLES, by=pl.col("city").alias("|group"))
        with pytest.raises(ValueError, match=r"two columns would be called 'selection_rate'"):
            pf.by_group(frame, [fairness.selection_rate, fairness.selection_rate], **ROLES)
        with pytest.raises(ValueError, match=r"two columns would be called 'group'"):
            pf.by_group(frame, fairness.selection_rate.alias("group"), **ROLES)


def test_an_expression_of_several_columns_is_refused() -> None:
    for keyword in ("by", "pred", "group"):
        several = {**ROLES, keyword: pl.col("hired", "fit")}
        with pytest.raises(TypeError, match=rf"`{keyword}`.*several columns"):
            fairness.stat_parity(ROWS, **several)


# groups of every dtype

UTC = dt.UTC
OLD, NEW, LOST = (
    dt.datetime(year, 1, 1, tzinfo=UTC).replace(tzinfo=None) for year in (2025, 2026, 1999)
)
GROUPS: dict[str, list[Any]] = {
    "text": ["a", "b"],
    "quoted": ['"] a', "b"],
    "whole": [1, 2],
    "float": [0.1, 0.2],
    "boolean": [False, True],
    "date": [dt.date(2025, 1, 1), dt.date(2026, 1, 1)],
    "moment": [OLD, NEW],
    "time": [dt.time(1), dt.time(2)],
    "duration": [dt.timedelta(days=1), dt.timedelta(days=2)],
    "decimal": [decimal.Decimal("1.10"), decimal.Decimal("2.20")],
    "bytes": [b"\xff", b"b"],
}
ABSENT: dict[str, Any] = {
    "text": "z",
    "quoted": '"] z',
    "whole": 9,
    "float": 9.5,
    "date": dt.date(1999, 1, 1),
    "moment": LOST,
    "time": dt.time(9),
    "duration": dt.timedelta(days=9),
    "decimal": decimal.Decimal("9.90"),
    "bytes": b"z",
}


def grouped(values: list[Any]) -> pl.DataFrame:
    first, second = values
    return ROWS.with_columns(sex=pl.Series([first] * 3 + [second] * 3 + [None]))


@pytest.mark.parametrize("kind", GROUPS)
def test_a_reference_of_every_dtype(kind: str) -> None:
    first, second = GROUPS[kind]
    rows = grouped([first, second])
    for metric in (fairness.stat_parity, fairness.multiclass_stat_parity):
        expected = metric(ROWS, **ROLES, ref="M")
        assert metric(rows, **ROLES, ref=second) == pytest.approx(expected)
        both = ROLES | {"group": ["sex", "city"]}
        reference = {"sex": second, "city": "B"}
        expected = metric(ROWS, **both, ref={"sex": "M", "city": "B"})
        assert metric(rows, **both, ref=reference) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ABSENT)
def test_an_absent_reference_of_every_dtype(kind: str) -> None:
    rows, ref = grouped(GROUPS[kind]), ABSENT[kind]
    with pytest.raises(ValueError, match=r"is not among the groups, which are: ") as error:
        fairness.stat_parity(rows, **ROLES, ref=ref)
    assert repr(ref) in str(error.value)
    assert "null" not in str(error.value)
    both = ROLES | {"group": ["sex", "city"]}
    with pytest.raises(ValueError, match=r"which are: \{'sex': "):
        fairness.stat_parity(rows, **both, ref={"sex": ref, "city": "B"})


def test_a_moment_is_found_in_any_time_zone_but_not_without_one() -> None:
    berlin = pl.col("sex").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    rows = grouped(GROUPS["moment"]).with_columns(berlin)
    here = NEW.replace(tzinfo=UTC)
    assert fairness.stat_parity(rows, **ROLES, ref=here) == pytest.approx(-1 / 3)
    for frame in (rows, rows.lazy()):
        with pytest.raises(TypeError, match=r"`ref=datetime"):
            fairness.stat_parity(frame, **ROLES, ref=NEW)


def test_parts_of_one_name_are_no_intersection() -> None:
    parts = [pl.col("score") > 0.3, pl.col("score") > 0.6]
    for frame in (ROWS, ROWS.lazy()):
        with pytest.raises(ValueError, match=r"two parts of `group` are called 'score'.*alias"):
            fairness.stat_parity(frame, group=parts, pred="hired")


# counts and tables


def test_rows_are_counted_without_any_role(tmp_path: Any) -> None:
    assert fairness.decisions(ROWS).rows() == [(7,)]
    ROWS.write_parquet(tmp_path / "rows.parquet")
    lake = pl.scan_parquet(tmp_path / "rows.parquet")
    assert fairness.decisions(lake).collect(engine="streaming").rows() == [(7,)]
    assert fairness.decisions(ROWS, group=pl.lit("all")).rows() == [("all", 7)]


def test_tables_that_count_in_32_bits_do_not_wrap() -> None:
    table = fairness.decisions(ROWS, **ROLES, by="city")
    narrow = table.with_columns(n=(pl.col("n") * 2_000_000_000).cast(pl.UInt32))
    metrics = [fairness.stat_parity, fairness.f1]
    assert_frame_equal(pf.measure(narrow, metrics), pf.measure(table, metrics))


def test_a_table_whose_columns_mean_something_else() -> None:
    table = fairness.decisions(ROWS, **ROLES)
    whole = table.with_columns(pl.col("pred").cast(pl.Int64))
    for frame in (whole, whole.lazy()):
        for metric in (fairness.stat_parity, fairness.theil):
            with pytest.raises(TypeError, match=r"'pred'.*Boolean.*Int64"):
                pf.measure(frame, metric)
    text = table.with_columns(pl.col("n").cast(pl.String))
    for frame in (text, text.lazy()):
        with pytest.raises(TypeError, match=r"'n'.*number.*String"):
            pf.measure(frame, fairness.stat_parity)


@pytest.mark.parametrize("value", [2**64 - 1, 2])
def test_a_prediction_beyond_64_bits(value: int) -> None:
    rows = ROWS.with_columns(hired=pl.Series([0, 1, 1, 0, 1, 1, value], dtype=pl.UInt64))
    with pytest.raises(ValueError, match=r"`pred` holds a value other than 0 and 1"):
        fairness.selection_rate(rows, pred="hired")


def test_messages_repeat_columns_as_they_are_typed() -> None:
    bad = ROWS.with_columns(w=-1.0)
    with pytest.raises(ValueError, match=r'`weight=pl.col\("w"\).fill_null\(0\)`'):
        fairness.selection_rate(bad, pred="hired", weight="w")
    with pytest.raises(ValueError, match=r"`weight=\(\.\.\.\).fill_null\(0\)`"):
        fairness.selection_rate(bad, pred="hired", weight=pl.col("w") * 2)
    with pytest.raises(TypeError, match=r"`difference` takes a metric.*'f1'"):
        pf.difference("f1")  # type: ignore[type-var]


def test_a_reference_without_usable_rows_is_undefined_not_unknown() -> None:
    no_pred = ROWS.with_columns(hired=pl.when(pl.col("sex") != "M").then("hired"))
    no_weight = ROLES | {"weight": pl.col("sex").eq_missing("F")}
    for metric in (fairness.stat_parity, fairness.multiclass_stat_parity):
        assert math.isnan(metric(no_pred, **ROLES, ref="M"))
        assert math.isnan(metric(ROWS, **no_weight, ref="M"))
    no_label = ROWS.with_columns(fit=pl.when(pl.col("sex") != "M").then("fit"))
    assert math.isnan(fairness.multiclass_equal_opportunity(no_label, **ROLES, ref="M"))
    assert math.isnan(fairness.label_ks(no_label, **ROLES, ref="M"))
    by_class = fairness.stat_parity_by_class(no_pred, **ROLES, ref="M", by="sex")
    assert by_class["stat_parity_by_class"].to_list() == [None] * by_class.height
    lost = no_pred.filter(pl.col("sex") == "M")
    assert fairness.stat_parity_by_class(lost, **ROLES, ref="M").is_empty()
    long = pf.by_group(no_pred, fairness.selection_rate, **ROLES, ref="M")
    assert long["difference"].to_list() == [None] * long.height


def test_tables_of_lists_add_up_with_and_without_weights() -> None:
    listed = ROLES | {"pred": pl.concat_list("hired", "fit")}
    whole = fairness.frequency_by_class(ROWS, **listed)
    parts = [fairness.classes(part, **listed) for part in (ROWS[:3], ROWS[3:])]
    assert_frame_equal(pf.measure(parts, fairness.frequency_by_class), whole)
    parts[0] = fairness.classes(ROWS[:3], **listed, weight=pl.lit(1))
    assert_frame_equal(pf.measure(parts, fairness.frequency_by_class), whole)
    # One class a row is a list of one.
    plain = fairness.classes(ROWS[3:], **ROLES)
    alone = fairness.classes(ROWS[:3], **(ROLES | {"pred": pl.concat_list("hired")}))
    expected = fairness.frequency_by_class(ROWS, **ROLES)
    assert_frame_equal(pf.measure([alone, plain], fairness.frequency_by_class), expected)


def test_nan_in_a_list_is_no_class() -> None:
    rows = pl.DataFrame({"g": ["a", "b", "b"], "p": [[1.0, math.nan], [1.0], [math.nan]]})
    found = fairness.frequency_by_class(rows, group="g", pred="p")
    assert found.rows() == [("a", 1.0, 1.0), ("b", 1.0, 0.5)]


def test_indices_of_an_order_beyond_floats_are_undefined_not_nan() -> None:
    rows = ROWS.with_columns(hired=1, fit=0)
    for roles in (ROLES, {"group": "sex", "score": "hired", "label": "fit"}):
        found = pf.evaluate(rows, [fairness.generalized_entropy], **roles, alpha=3000)
        assert found.item() is None


def test_zero_has_no_sign() -> None:
    rows = pl.DataFrame({"user": [1, 1, 2], "item": ["x", "y", "x"], "rank": [1, 2, 1]})
    roles: dict[str, Any] = {"user": "user", "item": "item", "rank": "rank"}
    none = ranking.exposure_entropy(rows.filter(user=2), **roles)
    assert (none, math.copysign(1, none)) == (0, 1)
    compared = pf.ratio(ranking.exposure_entropy)
    assert compared(rows, **roles, group="user", ref=2) == math.inf


def test_what_is_bound_wins_inside_comparisons_too() -> None:
    theils = [pf.difference(fairness.theil), pf.group_max(fairness.theil)]
    spread = pf.ratio(fairness.coefficient_of_variation)
    bound = pf.difference(fairness.generalized_entropy.bind(alpha=1))
    asked = [*theils, spread, bound]
    rows = ROWS.with_columns(fit=pl.Series([1, 1, 0, 0, 1, 0, 0]))
    for roles in (ROLES, {"group": "sex", "score": "hired", "label": "fit"}):
        plain = [metric(rows, **roles) for metric in asked]
        free = pf.difference(fairness.generalized_entropy).alias("free")
        mixed = pf.evaluate(rows, [*asked, free], **roles, alpha=3)
        assert mixed.row(0)[:-1] == pytest.approx(plain)
        assert mixed["free"].item() == free.bind(alpha=3)(rows, **roles)
        assert mixed["free"].item() != pytest.approx(plain[0])


def test_every_tally_is_offered_by_name() -> None:
    with pytest.raises(ValueError, match=r"fairness.benefits, .*fairness.decisions, "):
        names.tally("fairness.decision")


# what an editor sees


TYPED = {"fairness": "FairnessRoles", "ranking": "RankingRoles", "clustering": "ClusteringRoles"}


def typed_keywords(name: str) -> set[str]:
    """List the keys of a TypedDict, which exists for type checkers alone."""
    source = Path(_typing.__file__).read_text(encoding="utf-8")
    classes = {n.name: n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef)}
    own = {n.target.id for n in classes[name].body if isinstance(n, ast.AnnAssign)}
    bases = [base.id for base in classes[name].bases if base.id in classes]
    return own.union(*map(typed_keywords, bases))


@pytest.mark.parametrize("family", TYPED)
def test_the_types_name_every_role_and_option(family: str) -> None:
    """A keyword that the types leave out would be an error to a type checker, and no other is."""
    metrics = [metric for metric in pf.metrics() if metric.family == family]
    of_metrics = {name for metric in metrics for name in metric.option_names}
    of_metrics |= {role for metric in metrics for role in (*metric.all_roles, "group", "unit")}
    typed = typed_keywords(TYPED[family])
    assert of_metrics - {"actual", "k", "ref"} == typed - {"ref"}


def test_signatures_list_roles_and_options_with_defaults() -> None:
    parity = inspect.signature(fairness.stat_parity)
    assert str(parity) == "(frame, /, *, group, pred, weight=None, by=None, ref=None)"
    assert parity.parameters["group"].default is inspect.Parameter.empty
    entropy = inspect.signature(fairness.generalized_entropy.bind(alpha=1))
    assert entropy.parameters["alpha"].default == 1
    # Either of them is needed, so neither is by itself.
    assert entropy.parameters["pred"].default is entropy.parameters["score"].default is None
    assert list(inspect.signature(ranking.ndcg).parameters)[:2] == ["frame", "actual"]
    for metric in pf.metrics():
        names = set(inspect.signature(metric).parameters)
        assert {"frame", "by", *metric.roles, *metric.option_names} <= names


def test_a_metric_shows_its_roles_and_options() -> None:
    shown = "<Metric fairness.stat_parity(frame, /, *, group, pred, weight=None, by=None, ref='M')>"
    assert repr(fairness.stat_parity.bind(ref="M")) == shown


@pytest.mark.parametrize("metric", pf.metrics(), ids=lambda m: f"{m.family}.{m.name}")
def test_help_names_the_roles(metric: pf.Metric) -> None:
    page = pydoc.render_doc(metric, renderer=pydoc.plaintext)
    parameters = page.partition("Parameters\n")[2].partition("\n\n")[0]
    words = re.findall(r"^ *(\w+(?:, \w+)*)$", parameters, re.MULTILINE)
    named = {name for line in words for name in line.split(", ")}
    assert {*metric.roles, "by"} <= named


def test_methods_of_the_namespace_look_like_the_metric() -> None:
    method = ROWS.fair.stat_parity
    assert method.__doc__ == fairness.stat_parity.__doc__
    assert str(inspect.signature(method)) == "(*, group, pred, weight=None, by=None, ref=None)"
    assert method.__name__ == "stat_parity"


def test_public_metrics_and_tallies_pickle_by_family_and_name() -> None:
    """No move of a module may break a pickle: only public names are in it."""
    tallies = [v for f in (fairness, ranking, clustering) for v in vars(f).values()]
    found = [v for v in tallies if isinstance(v, pf.Tally)]
    assert len(found) > 25
    for thing in [*pf.metrics(), *found]:
        stored = pickle.dumps(thing)
        assert pickle.loads(stored) is thing
        assert set(re.findall(rb"polarsfair[.\w]*", stored)) == {
            f"polarsfair.{family(thing)}".encode()
        }


def family(thing: pf.Metric | pf.Tally) -> str:
    return thing.family if isinstance(thing, pf.Metric) else thing.name.partition(".")[0]


def test_bound_renamed_and_combined_metrics_pickle_by_public_names() -> None:
    plain = [
        fairness.generalized_entropy.bind(alpha=1),
        fairness.generalized_entropy.alias("ge").bind(alpha=1),
        fairness.difference(fairness.f1.alias("mine")),
        pf.ratio(ranking.ndcg.bind(k=3)).alias("gap").bind(ref="M"),
        pf.group_min(clustering.purity),
    ]
    for metric in plain:
        stored = pickle.dumps(metric)
        again = pickle.loads(stored)
        assert (again.name, again.options) == (metric.name, metric.options)
        assert [b.name for b in again.bases] == [b.name for b in metric.bases]
        assert [b.options for b in again.bases] == [b.options for b in metric.bases]
        assert not re.findall(rb"polarsfair[.\w]*\._", stored)
