"""The ledger: every row is counted once, under the first role that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import clustering, fairness, ranking
from tests.test_plans import in_memory_below_group_by, scans

if TYPE_CHECKING:
    from pathlib import Path

ROLES: dict[str, Any] = {"pred": "p", "label": "y", "weight": "w"}


def sample(rows: int = 600, seed: int = 0) -> pl.DataFrame:
    """Rows in which every column but the weight lacks a tenth of its values."""
    draw = np.random.default_rng(seed)

    def holes(values: Any) -> list[Any]:
        return [None if out else v for v, out in zip(values, draw.random(rows) < 0.1, strict=True)]

    return pl.DataFrame(
        {
            "sex": holes(draw.choice(["F", "M"], rows).tolist()),
            "race": holes(draw.choice(["a", "b", "c"], rows).tolist()),
            "day": draw.integers(0, 3, rows),
            "p": holes(draw.integers(0, 2, rows).tolist()),
            "y": holes(draw.integers(0, 2, rows).tolist()),
            "s": holes(draw.random(rows).tolist()),
            "w": draw.integers(0, 3, rows).astype(float),
        }
    )


ROWS = sample()


def expected(frame: pl.DataFrame, **roles: list[str]) -> dict[str | None, int]:
    """Count row by row."""
    found: dict[str | None, int] = {}
    for row in frame.iter_rows(named=True):
        lacking = [role for role, columns in roles.items() if any(row[c] is None for c in columns)]
        first = lacking[0] if lacking else None
        found[first] = found.get(first, 0) + 1
    return found


def counts(ledger: pl.DataFrame) -> dict[str | None, int]:
    return dict(ledger.select("left_out", "n").iter_rows())


def test_every_row_stands_under_the_first_role_it_lacks() -> None:
    found = pf.ledger(ROWS, group="sex", pred="p", label="y", score="s")
    wanted = expected(ROWS, group=["sex"], pred=["p"], label=["y"], score=["s"])
    assert counts(found) == wanted
    assert found["left_out"].to_list() == [None, "group", "pred", "label", "score"]
    assert found.schema == {"left_out": pl.String, "n": pl.Int64, "w": pl.Float64}


def test_the_order_is_that_of_the_call_after_the_group() -> None:
    found = pf.ledger(ROWS, score="s", label="y", group="sex")
    assert counts(found) == expected(ROWS, group=["sex"], score=["s"], label=["y"])
    assert found["left_out"].to_list() == [None, "group", "score", "label"]


def test_an_intersection_lacks_its_group_with_any_part() -> None:
    found = pf.ledger(ROWS, group=["sex", "race"], pred="p")
    assert counts(found) == expected(ROWS, group=["sex", "race"], pred=["p"])
    rates = pf.by_group(ROWS, fairness.selection_rate, group=["sex", "race"], pred="p")
    used = rates.filter(pl.col("group").is_not_null())["n"].sum()
    assert used == counts(found)[None]


@pytest.mark.parametrize(
    "by", [None, "day", ["day", pl.col("s").round().alias("^x$")]], ids=["none", "one", "two"]
)
def test_lines_add_up_to_the_rows(by: Any) -> None:
    found = pf.ledger(ROWS, group="sex", by=by, **ROLES)
    assert found["n"].sum() == ROWS.height
    assert found["w"].sum() == ROWS["w"].sum()
    plain = pf.ledger(ROWS, group="sex", by=by, pred="p")
    assert plain["w"].to_list() == plain["n"].to_list()


def test_a_slice_is_a_filter() -> None:
    whole = pf.ledger(ROWS, group="sex", by="day", **ROLES)
    for day in range(3):
        alone = pf.ledger(ROWS.filter(pl.col("day") == day), group="sex", **ROLES)
        assert_frame_equal(whole.filter(pl.col("day") == day).drop("day"), alone)


def test_lazy_is_eager_is_streaming(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    lake = pl.scan_parquet(tmp_path / "rows.parquet")
    eager = pf.ledger(ROWS, group=["sex", "race"], by="day", **ROLES)
    lazy = pf.ledger(lake, group=["sex", "race"], by="day", **ROLES)
    assert lazy.collect_schema() == eager.schema
    assert_frame_equal(lazy.collect(), eager)
    assert_frame_equal(lazy.collect(engine="streaming"), eager)
    assert in_memory_below_group_by(lazy) == []
    assert scans(lazy) == 1


@pytest.mark.parametrize(
    ("count", "roles"),
    [
        (fairness.decisions, ROLES),
        (fairness.classes, ROLES),
        (fairness.scores, {"score": "s", "label": "y", "weight": "w"}),
        (fairness.outcomes, {"pred": "s", "label": "y", "weight": "w"}),
        (clustering.contingency, {"cluster": "p", "label": "y"}),
        (clustering.edges, {"cluster": "p", "other": "y"}),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_stored_table_has_the_ledger_of_its_rows(count: pf.Tally, roles: dict[str, Any]) -> None:
    wanted = pf.ledger(ROWS, group=["sex", "race"], by="day", **roles)
    table = count(ROWS, by=["day", "sex", "race"], **roles)
    assert_frame_equal(pf.ledger_table(table, group=["sex", "race"], by="day"), wanted)
    days = ROWS.partition_by("day")
    parts = [count(one, by=["day", "sex", "race"], **roles) for one in days]
    for stored in (parts, pl.concat(parts), {count: parts}):
        assert_frame_equal(pf.ledger_table(stored, group=["sex", "race"], by="day"), wanted)
    own = count(ROWS, group=["sex", "race"], by="day", **roles)
    assert_frame_equal(pf.ledger_table(own, by="day"), wanted)
    lazy = pf.ledger_table([one.lazy() for one in parts], group=["sex", "race"], by="day")
    assert lazy.collect_schema() == wanted.schema
    assert_frame_equal(lazy.collect(), wanted)


def test_rows_of_several_classes_count_once() -> None:
    rows = pl.DataFrame(
        {
            "sex": ["F", "M", "M", None, "F", "M"],
            "p": [["a"], [], None, ["a", "b"], ["b", "b"], [None]],
            "y": ["a", None, None, "b", "b", "a"],
        }
    )
    roles: dict[str, Any] = {"group": "sex", "pred": "p", "label": "y"}
    wanted = pf.ledger(rows, **roles)
    assert counts(wanted) == {None: 3, "group": 1, "pred": 1, "label": 1}
    assert_frame_equal(pf.ledger_table(fairness.classes(rows, **roles)), wanted)


RECS = pl.DataFrame({"u": [1, 1, 2, 4, 5], "i": [1, 2, 1, 1, 2], "s": [0.5, 0.4, 0.3, 0.2, 0.1]})
ACTUAL = pl.DataFrame({"u": [1, 2, 3, 4], "i": [1, 9, 9, 1], "grade": [1, 1, 1, 0]})
USERS = pl.DataFrame({"u": [1, 2, 3, 4, 5], "sex": ["F", None, "M", "M", "M"]})


def test_users_of_lists() -> None:
    roles: dict[str, Any] = {"user": "u", "item": "i", "score": "s", "relevance": "grade"}
    found = pf.ledger(RECS, actual=ACTUAL, users=USERS, group="sex", **roles)
    # 1 is used, 2 has no group, 3 no recommendations, 4 nothing relevant, 5 is not in `actual`.
    assert counts(found) == {None: 1, "group": 1, "actual": 2, "recs": 1}
    assert found["left_out"].to_list() == [None, "group", "actual", "recs"]
    table = ranking.lists(RECS, ACTUAL, users=USERS, by="sex", **roles)
    assert_frame_equal(pf.ledger_table(table, group="sex"), found)
    lazy = pf.ledger(RECS, actual=ACTUAL.lazy(), users=USERS, group="sex", **roles)
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), found)


def test_nan_and_features() -> None:
    rows = pl.DataFrame(
        {
            "c": [1, None, 2, 3],
            "x": [0.0, 1.0, float("nan"), 4.0],
            "z": pl.Series(
                [[1.0, 2.0], [1.0, 1.0], [0.0, 0.0], [1.0, None]], dtype=pl.Array(float, 2)
            ),
        }
    )
    found = pf.ledger(rows, cluster="c", features=["x", "z"])
    assert counts(found) == {None: 1, "cluster": 1, "features": 2}
    assert counts(pf.ledger(rows, score="x")) == {None: 3, "score": 1}
    assert counts(pf.ledger(rows, group="x")) == {None: 3, "group": 1}


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["F", "M"]), pl.String], ids=str)
def test_groups_of_any_dtype(kind: Any) -> None:
    rows = ROWS.with_columns(pl.col("sex").cast(kind), pl.col("p").cast(pl.Decimal(10, 2)))
    wanted = pf.ledger(ROWS, group="sex", **ROLES)
    assert_frame_equal(pf.ledger(rows, group="sex", **ROLES), wanted)
    both = rows.with_columns(both=pl.struct("sex", "race"))
    parts = pf.ledger(rows, group=["sex", "race"], **ROLES)
    assert_frame_equal(pf.ledger(both, group="both", **ROLES), parts)


def test_slices_with_the_names_of_roles() -> None:
    rows = ROWS.rename({"sex": "group", "race": "label", "day": "pred"})
    found = pf.ledger(rows, group="group", pred="p", by=["label", "pred"])
    wanted = pf.ledger(ROWS, group="sex", pred="p", by=["race", "day"])
    assert_frame_equal(found, wanted.rename({"race": "label", "day": "pred"}))


def test_an_empty_frame_has_no_lines() -> None:
    empty = pf.ledger(ROWS.clear(), group="sex", by="day", **ROLES)
    assert empty.schema == pf.ledger(ROWS, group="sex", by="day", **ROLES).schema
    assert empty.height == 0
    table = fairness.decisions(ROWS.clear(), by=["day", "sex"], **ROLES)
    assert pf.ledger_table(table, group="sex", by="day").schema == empty.schema


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({}, TypeError, r"pass at least one role, such as `pf.ledger\(df, group="),
    ({"pred": "q"}, ColumnNotFoundError, "`pred` names the column 'q'"),
    ({"group": "sexx", "pred": "p"}, ColumnNotFoundError, "did you mean `group='sex'`"),
    ({"pred": "p", "ref": "M"}, TypeError, "`ref` is not a role"),
    ({"prediction": "p"}, TypeError, "write `pred=`"),
    ({"pred": "p", "by": pl.col("day").alias("n")}, ValueError, "cannot be named 'n' here"),
    ({"pred": "p", "by": pl.col("day").alias("left_out")}, ValueError, "'left_out' here"),
    ({"pred": "p", "by": ["day", "day"]}, ValueError, "two columns would be called 'day'"),
    ({"group": {"F": "s"}, "pred": "p"}, TypeError, "`group` as a mapping"),
    ({"pred": "p", "weight": -pl.col("w")}, ValueError, "`weight` holds a value that is not"),
    ({"user": []}, ValueError, "`user` is empty"),
]


@pytest.mark.parametrize(("keywords", "error", "message"), BAD, ids=[bad[-1] for bad in BAD])
def test_bad_input(keywords: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pf.ledger(ROWS, **keywords)


def test_bad_tables() -> None:
    table = fairness.decisions(ROWS, pred="p", by="sex")
    with pytest.raises(ColumnNotFoundError, match="`group` names the column 'race'"):
        pf.ledger_table(table, group="race")
    soft = fairness.benefits(ROWS, score="s", label="y", alpha=[0, 1])
    for other in (soft, ROWS, fairness.decisions(ROWS, group="sex").select("n")):
        with pytest.raises(ValueError, match="a table that counts every row once"):
            pf.ledger_table(other)
    with pytest.raises(ValueError, match="a ledger is that of one tally"):
        pf.ledger_table({fairness.decisions: table, fairness.classes: table})
    with pytest.raises(ValueError, match="at least one table"):
        pf.ledger_table([])
