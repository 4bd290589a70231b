"""Item 7 of trust, and the text scores of item 16: what `transform` does with other rows."""

import datetime as dt
import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from polars.exceptions import InvalidOperationError

from polarsfair.fairness.mitigation import DemographicParity, GroupThresholds, Mitigation

BOTH = pytest.mark.parametrize(
    "make", [pl.DataFrame.clone, pl.DataFrame.lazy], ids=["eager", "lazy"]
)
GROUPS = pytest.mark.parametrize("groups", [3, 30], ids=["by conditions", "by a join"])


def people(groups: int, size: int = 400) -> pl.DataFrame:
    """Every group has the same number of rows; the groups' rates differ."""
    number = pl.int_range(size)
    return pl.DataFrame({"id": range(size)}).with_columns(
        i=number % groups,
        y=number // groups % 2 == 0,
        p=number % 7 < 1 + number % groups % 5,
        s=(number * 37 % 1000) / 2500 + 0.6 * (number // groups % 2 == 0),
    )


def fit(frame: pl.DataFrame, group: Any = "g", *, scores: bool) -> Mitigation:
    if scores:
        goal = GroupThresholds("demographic_parity")
        return goal.fit(frame, label="y", score="s", group=group)
    return DemographicParity().fit(frame, label="y", pred="p", group=group)


TEXT = pl.col("i").cast(pl.String)
SORTED = TEXT.str.zfill(2)
"""Groups in the order of their numbers, on which the choice among equally good rates depends."""

DTYPES: dict[str, pl.Expr] = {
    "Int8": pl.col("i").cast(pl.Int8),
    "UInt64": pl.col("i").cast(pl.UInt64),
    "Int128": pl.col("i").cast(pl.Int128),
    "Float32": pl.col("i").cast(pl.Float32) / 2,
    "String": SORTED,
    "Categorical": SORTED.cast(pl.Categorical),
    "Enum": SORTED.cast(pl.Enum([f"{i:02}" for i in range(40)])),
    "Decimal": pl.col("i").cast(pl.Decimal(10, 2)),
    "Date": pl.col("i").cast(pl.Int32).cast(pl.Date),
    "Datetime": pl.col("i").cast(pl.Datetime("ns")),
    "Datetime of a zone": pl.col("i").cast(pl.Datetime("us", "Europe/Rome")),
    "Duration": pl.col("i").cast(pl.Duration("ns")),
    "Time": pl.col("i").cast(pl.Time),
    "Binary": SORTED.cast(pl.Binary),
}


@GROUPS
@pytest.mark.parametrize("scores", [False, True], ids=["flips", "thresholds"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_07_rows_out_are_rows_in(dtype: str, groups: int, scores: bool) -> None:
    frame = people(groups).with_columns(g=DTYPES[dtype])
    plain = fit(frame, "i", scores=scores).transform(frame, key="id")
    fair = fit(frame, scores=scores).transform(frame, key="id")
    assert fair["id"].equals(frame["id"])
    assert fair["fair_pred"].equals(plain["fair_pred"])
    lazy = fit(frame, scores=scores).transform(frame.lazy(), key="id").collect(engine="streaming")
    assert lazy.sort("id").equals(fair)


@GROUPS
@pytest.mark.parametrize("scores", [False, True], ids=["flips", "thresholds"])
def test_07_duplicates_nulls_and_intersections_keep_their_rows(groups: int, scores: bool) -> None:
    frame = people(groups).with_columns(g=TEXT.cast(pl.Categorical), h=pl.col("id") % 3 == 0)
    fair = fit(frame, ["g", "h"], scores=scores)
    holes = frame.with_columns(
        g=pl.when(pl.col("id") % 5 > 0).then("g"),
        h=pl.when(pl.col("id") % 4 > 0).then("h"),
        p=pl.when(pl.col("id") % 3 > 0).then("p"),
        s=pl.when(pl.col("id") % 3 > 0).then("s"),
    )
    rows = pl.concat([holes, holes, holes.head(7)])
    for key in ("id", ["id", "g"], "g", pl.lit(1)):
        found = fair.transform(rows, key=key, unknown="keep")
        assert found.drop("fair_pred").equals(rows)
    assert fair.transform(rows.clear(), key="id").is_empty()


@pytest.mark.parametrize("scores", [False, True], ids=["flips", "thresholds"])
def test_07_groups_that_fall_together_are_refused(scores: bool) -> None:
    """The groups "1" and "01" are both the integer 1: 4,000 rows became 8,000."""
    frame = people(30, 4000).with_columns(g=pl.lit("0") + TEXT)
    extra = people(30, 4000).with_columns(g=TEXT, y=~pl.col("y"), s=1 - pl.col("s"))
    fair = fit(pl.concat([frame, extra]), scores=scores)
    whole = people(30, 4000).with_columns(g="i", s=1 - pl.col("s"))
    with pytest.raises(TypeError, match=r"was String in `fit` and is Int64 here.*'0\d+' unchanged"):
        fair.transform(whole, key="id")
    with pytest.raises(TypeError, match=r"was String in `fit`"):
        fair.transform(whole.lazy(), key="id")
    # Text that is a number, and only one way to write it, is that number.
    exact = fit(extra, scores=scores).transform(whole, key="id")
    assert exact.height == 4000
    assert exact["fair_pred"].equals(
        fit(extra, scores=scores).transform(extra, key="id")["fair_pred"]
    )


def test_07_a_fraction_is_not_a_whole_number() -> None:
    """The group 0.7 was taken for 0."""
    frame = people(3).with_columns(g=pl.col("i") + 0.7)
    fair = fit(frame, scores=False)
    with pytest.raises(TypeError, match=r"Float64 in `fit` and is Int64 here.* 0.7 unchanged"):
        fair.transform(people(3), key="id", group="i", unknown="keep")
    assert fair.transform(frame, key="id").height == frame.height


@pytest.mark.parametrize(
    ("fitted", "here"),
    [
        (pl.col("i"), pl.col("i").cast(pl.Int32).cast(pl.Date)),
        (pl.col("i") + 200, (pl.col("i")).cast(pl.Int8)),
        (pl.col("i") % 2 == 0, TEXT),
        (DTYPES["Datetime"], DTYPES["Datetime of a zone"]),
        (DTYPES["Datetime"], DTYPES["Date"]),
        (DTYPES["Date"], DTYPES["Duration"]),
        (pl.col("i") / 10, (pl.col("i") / 10).cast(pl.Float32)),
    ],
)
def test_07_other_kinds_of_groups_are_refused(fitted: pl.Expr, here: pl.Expr) -> None:
    fair = fit(people(3), fitted, scores=False)
    with pytest.raises(TypeError, match=r"cannot hold .* unchanged: cast it"):
        fair.transform(people(3).lazy(), key="id", group=here)


@pytest.mark.parametrize(
    "other",
    [
        DTYPES["Int8"],
        DTYPES["UInt64"],
        DTYPES["Int128"],
        pl.col("i").cast(pl.Decimal(10, 0)),
        TEXT,
        TEXT.cast(pl.Enum(["0", "1", "2"])),
    ],
    ids=str,
)
def test_07_the_same_groups_in_another_dtype(other: pl.Expr) -> None:
    frame, whole = people(3), pl.col("i")
    expected = fit(frame, whole, scores=False).transform(frame, key="id")
    for fitted, here in ((whole, other), (other, whole)):
        fair = fit(frame, fitted, scores=False).transform(frame, key="id", group=here)
        assert fair.equals(expected)


def test_07_a_group_that_is_null_throughout() -> None:
    frame, nothing = people(3), pl.lit(None)
    fair = fit(frame, DTYPES["Date"], scores=False)
    kept = fair.transform(frame, key="id", group=nothing, unknown="keep")
    assert kept["fair_pred"].equals(frame["p"])
    with pytest.raises(ValueError, match="group is null or was absent in `fit`"):
        fair.transform(frame, key="id", group=nothing)


@pytest.mark.parametrize("bins", [1000, [0, 0.25, 0.5, 1]], ids=["equal", "edges"])
def test_07_scores_outside_the_bins_of_the_fit_are_refused(bins: Any) -> None:
    """Scores of 0 to 100, with thresholds between 0 and 1, would nearly all be selected."""
    frame = people(3)
    goal = GroupThresholds("demographic_parity", bins=bins)
    fair = goal.fit(frame, label="y", score="s", group="i")
    words = r"`score` holds a value outside the bins of `fit`, 0 to 1"
    for percent in (pl.col("s") * 100, -pl.col("s"), pl.lit(float("inf"))):
        with pytest.raises(ValueError, match=words):
            fair.transform(frame, key="id", score=percent)
        with pytest.raises(InvalidOperationError, match=words):
            fair.transform(frame.lazy(), key="id", score=percent).collect()
    for inside in (pl.lit(0.0), pl.lit(1.0), pl.lit(None), pl.lit(float("nan"))):
        assert fair.transform(frame, key="id", score=inside).height == frame.height


@pytest.mark.parametrize("bins", [1000, 7, [0, 0.25, 0.5, 1], [-3.5, 0.1, 40]], ids=str)
@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32], ids=str)
def test_07_fit_and_transform_refuse_the_same_scores(bins: Any, dtype: Any) -> None:
    frame = people(3).with_columns(pl.col("s").cast(dtype))
    goal = GroupThresholds("demographic_parity", bins=bins)
    fair = goal.fit(frame, label="y", score="s", group="i")
    ends = [0.0, 1.0, -3.5, 40.0, math.nextafter(1.0, 2.0), 1 + 1e-6, 40 + 1e-5]
    refused = []
    for score in [*ends, -1e-300, -1e-6, 2.0**31 / 1000, 1e300, math.inf, -math.inf]:
        given = pl.when(pl.col("id") == 0).then(pl.lit(score, dtype=dtype)).otherwise("s")
        calls: list[Callable[[], Any]] = [
            lambda given=given: goal.fit(frame, label="y", score=given, group="i"),
            lambda given=given: fair.transform(frame, key="id", score=given),
        ]
        refused.append([raises(call) for call in calls])
    assert all(fit == transform for fit, transform in refused)
    assert {fit for fit, _ in refused} == {True, False}


def raises(call: Callable[[], Any]) -> bool:
    """Return whether a score is refused; any other error is one."""
    try:
        call()
    except ValueError as error:
        if "`score` holds a value outside the bins" not in str(error):
            raise
        return True
    return False


def test_07_without_bins_any_score_is_compared() -> None:
    frame = people(3).with_columns(s=pl.col("s") * 10 - 3)
    fair = GroupThresholds("demographic_parity", bins=None).fit(
        frame, label="y", score="s", group="i"
    )
    assert fair.score_range is None
    high = fair.transform(frame, key="id", score=pl.lit(1e6))["fair_pred"]
    assert high.sum() >= fair.transform(frame, key="id")["fair_pred"].sum()


@BOTH
@pytest.mark.parametrize(
    "score", [pl.lit("0.5"), TEXT.cast(pl.Categorical), pl.lit(dt.date(2020, 1, 1))], ids=str
)
def test_16_a_score_that_is_not_a_number(make: Callable[[Any], Any], score: pl.Expr) -> None:
    fair = fit(people(3), "i", scores=True)
    with pytest.raises(TypeError, match=r"`score` is \w+, not a number: cast it"):
        fair.transform(make(people(3)), key="id", score=score)


@pytest.mark.parametrize("score", [pl.col("s").cast(pl.Decimal(10, 3)), pl.col("s") > 0.5], ids=str)
def test_16_scores_of_other_numbers(score: pl.Expr) -> None:
    frame = people(3)
    fair = GroupThresholds("demographic_parity").fit(frame, label="y", score=score, group="i")
    number = frame.with_columns(s=score.cast(pl.Float64))
    plain = GroupThresholds("demographic_parity").fit(number, label="y", score="s", group="i")
    assert fair.transform(frame, key="id")["fair_pred"].equals(
        plain.transform(number, key="id")["fair_pred"]
    )
