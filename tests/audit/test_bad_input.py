"""What an audit refuses, with what it says, and what it takes: odd names, dtypes and few rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, cast

import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import clustering, fairness, ranking

ROWS = pl.DataFrame(
    {
        "sex": ["F", "M", "F", "M", None] * 20,
        "race": ["a", "b", "c", "d"] * 25,
        "hired": [1, 0, 0, 1] * 25,
        "fit": [1, 1, 0, 0] * 25,
        "w": [1.0, 0.0, 2.0, 0.5, 1.0] * 20,
        "p_f": [0.5, 1.0, 0.0, 0.25, 0.5] * 20,
    }
)
RATE = fairness.selection_rate
BY_SEX: dict[str, Any] = {"group": "sex", "pred": "hired"}


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({**BY_SEX, "confidence": 0.0}, ValueError, "between 0 and 1"),
        ({**BY_SEX, "confidence": 1}, ValueError, "between 0 and 1"),
        ({**BY_SEX, "confidence": float("nan")}, ValueError, "between 0 and 1"),
        ({**BY_SEX, "confidence": "0.9"}, ValueError, "between 0 and 1"),
        ({**BY_SEX, "draws": -1}, ValueError, "`draws` is a whole number"),
        ({**BY_SEX, "seed": 0.5}, ValueError, "`seed` is a whole number"),
        ({**BY_SEX, "min_n": -1}, ValueError, "`min_n` is a number of at least 0"),
        ({**BY_SEX, "min_share": 1.5}, ValueError, "at most 1"),
        ({**BY_SEX, "adjust": "bonferroni"}, ValueError, "'holm', 'bh', 'none'"),
        ({**BY_SEX, "intersections": "some"}, ValueError, "'none', 'pairs', 'all'"),
        ({"group": "sex", "label": "fit"}, TypeError, 'needs `pred="<column>"` or `score='),
        ({"group": "sex"}, TypeError, "`score="),
        ({"group": ["sex", "sex"], "pred": "hired"}, ValueError, "'sex'"),
        ({"group": [], "pred": "hired"}, ValueError, "`group` is empty"),
        ({"group": {"F": "p_f"}, "pred": "hired"}, TypeError, "most_likely"),
        ({"group": "ses", "pred": "hired"}, ColumnNotFoundError, "`group` names the column 'ses'"),
        ({**BY_SEX, "ref": {"race": "a"}}, ValueError, "names the attribute 'race'"),
        ({**BY_SEX, "ref": 3}, TypeError, "`ref=3` is int"),
        ({**BY_SEX, "ref": None}, ValueError, "leave it out"),
        ({"group": ["sex", "race"], "pred": "hired", "ref": "M"}, ValueError, "ref={'sex': 'M'}"),
        ({"pred": "hired", "ref": "M"}, ValueError, "there are none"),
        ({**BY_SEX, "by": pl.col("race").alias("value")}, ValueError, "'value'"),
        ({**BY_SEX, "metrics": fairness.stat_parity.bind(ref="M")}, ValueError, "`ref` bound"),
        ({**BY_SEX, "metrics": []}, ValueError, "`metrics` is empty"),
        ({**BY_SEX, "metrics": "f1"}, TypeError, "takes metric objects"),
        ({**BY_SEX, "wieght": "w"}, TypeError, "`wieght` is not a role"),
    ],
)
def test_is_refused_at_the_call(
    keywords: dict[str, Any], error: type[Exception], words: str
) -> None:
    for frame in (ROWS, ROWS.lazy()):
        with pytest.raises(error) as caught:
            pf.audit(frame, **keywords)
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({**BY_SEX, "ref": "X"}, "`ref='X'` is not among the groups, which are: F, M"),
        ({**BY_SEX, "weight": pl.col("w") - 1}, "`weight` holds a value"),
        (
            {"group": ["sex", "race"], "pred": "hired", "max_groups": 4},
            "the attributes ['sex', 'race'] have 12 groups together",
        ),
    ],
)
def test_is_refused_when_the_query_runs(keywords: dict[str, Any], words: str) -> None:
    rows = ROWS.with_columns(race=pl.col("race") + (pl.int_range(100) % 4).cast(pl.String))
    rows = rows.with_columns(race=pl.int_range(100) % 4)
    with pytest.raises(ValueError, match=r".") as caught:
        pf.audit(rows, **keywords)
    assert words in str(caught.value)
    lazy = pf.audit(rows.lazy(), **keywords)
    with pytest.raises(Exception, match=r".") as caught:
        lazy.collect()
    assert words in str(caught.value)


def test_weights_of_0_leave_nothing_defined() -> None:
    found = pf.audit(ROWS.with_columns(w=0.0), weight="w", metrics=RATE, **BY_SEX)
    groups = found.filter(pl.col("scope") == "group")
    assert groups["status"].to_list() == ["unknown_group", "undefined", "undefined"]
    assert found.filter(pl.col("scope") != "group")["status"].to_list() == ["undefined"] * 2
    numbers = found.select("value", "ci_low", "difference", "ratio", "p_value", "p_adjusted")
    assert numbers.null_count().row(0) == (found.height,) * 6


def test_one_group_is_compared_with_nothing() -> None:
    for ref in (pf.LARGEST, pf.BEST, pf.REST, pf.OVERALL, "F"):
        rows = ROWS.with_columns(sex=pl.lit("F"))
        found = pf.audit(rows, ref=ref, metrics=[RATE, fairness.stat_parity], **BY_SEX)
        assert found["scope"].to_list() == ["overall", "gap", "group", "gap"]
        assert found["status"].to_list() == ["ok", "undefined", "ok", "undefined"]
        assert found["p_value"].null_count() == 4
        assert found["difference_low"].null_count() == 4


@pytest.mark.parametrize("by", [None, "race"])
def test_an_empty_frame_has_everyone_or_no_slice(by: str | None) -> None:
    found = pf.audit(ROWS.clear(), by=by, metrics=[RATE, fairness.stat_parity], **BY_SEX)
    expected = [] if by else ["overall", "gap", "gap"]
    assert found["scope"].to_list() == expected
    assert found["status"].unique().to_list() == ["undefined"][: len(expected)]
    assert found.schema == pf.audit(ROWS, by=by, metrics=RATE, **BY_SEX).schema


def test_a_lazy_audit_runs_nothing_and_has_a_fixed_schema() -> None:
    def explode(_: pl.DataFrame) -> pl.DataFrame:
        msg = "executed"
        raise AssertionError(msg)

    trap = ROWS.lazy().map_batches(explode, schema=ROWS.schema)
    asked: dict[str, Any] = {"group": ["sex", "race"], "pred": "hired", "label": "fit"}
    others: list[dict[str, Any]] = [
        *({}, {"shrink": True}, {"ref": pf.OVERALL}),
        {"metrics": [fairness.f1]},
    ]
    for more in others:
        lazy = pf.audit(trap, **asked, **more)
        assert lazy.collect_schema() == pf.audit(ROWS, **asked, **more).schema


def test_attributes_may_have_any_name() -> None:
    names = ["group", "label", "^x$", "<b>", "n", "|set", "metric", "*"]
    for name in names:
        rows = ROWS.select(pl.col("sex").alias(name), "hired")
        found = pf.audit(rows, group=name, pred="hired")
        assert found.filter(pl.col("scope") == "group")["attribute"].unique().to_list() == [name]
    rows = ROWS.select(pl.col("sex").alias("group"), pl.col("race").alias("label"), "hired")
    both = pf.audit(rows, group=["group", "label"], pred="hired", min_n=5)
    assert both["attribute"].unique(maintain_order=True).to_list() == [
        *(None, "group", "label", "group & label")
    ]


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([1, 2]),
        pl.Series([True, False]),
        pl.Series([0.5, float("nan")]),
        pl.Series([Decimal("1.50"), Decimal("2.25")]),
        pl.Series(["x", "y"], dtype=pl.Categorical),
        pl.Series(["x", "y"], dtype=pl.Enum(["y", "x"])),
        pl.Series([dt.date(2024, 1, 1), dt.date(2025, 1, 1)]),
        pl.Series([dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None]),
        pl.Series([dt.timedelta(1), dt.timedelta(2)]),
        pl.Series([b"x", b"y"]),
        pl.Series([None, None]),
    ],
    ids=lambda series: str(series.dtype),
)
def test_attributes_of_any_plain_dtype(values: pl.Series) -> None:
    rows = pl.DataFrame({"a": pl.concat([values] * 50), "hired": [0, 1, 1, 1] * 25})
    found = pf.audit(rows, group="a", pred="hired").filter(pl.col("scope") == "group")
    theirs = pf.by_group(rows, RATE, group="a", pred="hired")
    assert found["value"].to_list() == theirs["value"].to_list()
    assert found["group"].null_count() == theirs["group"].null_count()
    values = values.fill_nan(None) if values.dtype.is_float() else values
    known = values.drop_nulls()
    if len(known):
        named = pf.audit(rows, group="a", pred="hired", ref=known[0])
        assert named.filter(pl.col("difference") == 0, pl.col("scope") == "group").height >= 1


def test_a_struct_is_no_attribute() -> None:
    rows = ROWS.with_columns(both=pl.struct("sex", "race"))
    with pytest.raises(TypeError, match="cannot be grouped by"):
        pf.audit(rows, group="both", pred="hired")


def test_tables_must_serve_the_metrics_and_have_the_attributes() -> None:
    table = fairness.decisions(ROWS, pred="hired", by="sex")
    with pytest.raises(ValueError, match="label"):
        pf.audit_table(table, group="sex", metrics=fairness.true_positive_rate)
    with pytest.raises(ValueError, match="has no column"):
        pf.audit_table(table, group="sex", metrics=fairness.auc)
    with pytest.raises(ColumnNotFoundError, match="race"):
        pf.audit_table(table, group="race")
    found = pf.audit_table(table, group="sex")
    assert found["metric"].unique().to_list() == ["selection_rate"]
    with pytest.raises(ValueError, match="no metric is named"):
        pf.audit_table(clustering.moments(ROWS, cluster="sex", features=["w"]))


def test_a_second_pass_has_no_roll_up() -> None:
    with pytest.raises(ValueError, match="second pass"):
        pf.audit(ROWS, group="sex", metrics=clustering.silhouette, cluster="race", features=["w"])
    found = pf.interval(ROWS, clustering.silhouette, cluster="race", features=["w"])
    assert found["method"].to_list() == ["none"]


def test_intervals_are_of_one_group() -> None:
    with pytest.raises(ValueError, match=r"pf\.audit"):
        pf.interval(ROWS, fairness.stat_parity, **BY_SEX)
    with pytest.raises(ValueError, match="`method` is"):
        pf.interval(ROWS, RATE, pred="hired", method=cast("Any", "bootstrap"))
    with pytest.raises(ValueError, match="'low'"):
        pf.interval(ROWS, RATE, pred="hired", by=pl.col("sex").alias("low"))
    found = pf.interval(ROWS, RATE, pred="hired", by=pl.col("sex").alias("ci_low"))
    assert found.columns == ["ci_low", "metric", "value", "low", "high", "method"]


def test_a_slice_without_lines_of_a_table_keeps_its_rows() -> None:
    rows = ROWS.with_columns(s=pl.when(pl.col("race") != "a").then(0.5))
    metrics = [RATE, fairness.auc]
    asked: dict[str, Any] = {"pred": "hired", "score": "s", "label": "fit", "by": "race"}
    found = pf.audit(rows, group="sex", metrics=metrics, **asked)
    assert found["metric"].unique(maintain_order=True).to_list() == ["selection_rate", "auc"]
    assert found.filter(pl.col("race") == "a", pl.col("metric") == "auc")[
        "status"
    ].unique().to_list() == [*("undefined", "unknown_group")]


def test_lists_are_audited_by_the_attributes_of_their_users() -> None:
    recs = pl.DataFrame({"u": [1, 1, 2, 3, 4], "i": [1, 2, 1, 2, 3], "s": [2.0, 1, 1, 1, 1]})
    actual = pl.DataFrame({"u": [1, 2, 3, 4], "i": [1, 2, 2, 3]})
    users = pl.DataFrame({"u": [1, 2, 3, 4], "sex": ["F", "F", "M", "M"], "old": [1, 0, 1, 0]})
    roles: dict[str, Any] = {
        "actual": actual,
        "users": users,
        "user": "u",
        "item": "i",
        "score": "s",
    }
    asked: dict[str, Any] = {"metrics": [ranking.recall, ranking.ndcg], "min_n": 0, "k": [1, 2]}
    found = pf.audit(recs, group=["sex", "old"], **asked, **roles)
    assert found.columns[:3] == ["metric", "k", "attribute"]
    groups = found.filter(pl.col("scope") == "group", pl.col("attribute") == "sex")
    theirs = pf.by_group(recs, asked["metrics"], group="sex", k=[1, 2], **roles)
    keys = ["metric", "k", "group"]
    columns = [*keys, "n", "value"]
    assert_frame_equal(groups.select(columns).sort(keys), theirs.select(columns).sort(keys))
    assert set(groups["method"]) <= {"mean", "none"}
