"""Decision fairness worked by hand: the arithmetic stands in the comments.

Every frame is written as counts of (group, prediction, label), so that the numbers can be checked
with a pencil.
"""

import math
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import fairness

sqrt, ln, isnan = math.sqrt, math.log, math.isnan
GPL: dict[str, Any] = {"group": "g", "pred": "p", "label": "y"}
GP: dict[str, Any] = {"group": "g", "pred": "p"}


def rows(*cells: tuple[Any, ...], names: tuple[str, ...] = ("g", "p", "y")) -> pl.DataFrame:
    """A frame with every cell repeated as often as its last entry says."""
    columns = dict(zip(names, zip(*(cell[:-1] for cell in cells), strict=True), strict=True))
    times = pl.Series([cell[-1] for cell in cells])
    return pl.DataFrame(columns, strict=False).select(pl.all().repeat_by(times).explode())


def confusion(group: Any, tp: int, fn: int, fp: int, tn: int) -> list[tuple[Any, int, int, int]]:
    cells = [(group, 1, 1, tp), (group, 0, 1, fn), (group, 1, 0, fp), (group, 0, 0, tn)]
    return [cell for cell in cells if cell[-1]]


# Two groups, as in a textbook. Of M, 3 + 1 are selected (TP + FP) of 8; of F, 1 + 1 of 8.
TEXTBOOK = rows(*confusion("M", tp=3, fn=1, fp=1, tn=3), *confusion("F", tp=1, fn=2, fp=1, tn=4))


@pytest.mark.parametrize(
    ("rate", "of_m", "of_f", "of_all"),
    [
        (fairness.selection_rate, 4 / 8, 2 / 8, 6 / 16),
        (fairness.base_rate, 4 / 8, 3 / 8, 7 / 16),
        (fairness.true_positive_rate, 3 / 4, 1 / 3, 4 / 7),
        (fairness.false_positive_rate, 1 / 4, 1 / 5, 2 / 9),
        (fairness.true_negative_rate, 3 / 4, 4 / 5, 7 / 9),
        (fairness.false_negative_rate, 1 / 4, 2 / 3, 3 / 7),
        (fairness.precision, 3 / 4, 1 / 2, 4 / 6),
        (fairness.negative_predictive_value, 3 / 4, 4 / 6, 7 / 10),
        (fairness.false_discovery_rate, 1 / 4, 1 / 2, 2 / 6),
        (fairness.false_omission_rate, 1 / 4, 2 / 6, 3 / 10),
        (fairness.accuracy, 6 / 8, 5 / 8, 11 / 16),
        (fairness.balanced_accuracy, 3 / 4, 17 / 30, (4 / 7 + 7 / 9) / 2),  # (1/3 + 4/5) / 2
        (fairness.f1, 6 / 8, 2 / 5, 8 / 13),  # 2 TP / (2 TP + FP + FN)
        # (9 - 1) / sqrt(4 4 4 4), (4 - 2) / sqrt(2 3 5 6), (28 - 6) / sqrt(6 7 9 10)
        (fairness.mcc, 8 / 16, 2 / sqrt(180), 22 / sqrt(3780)),
        # 2 (9 - 1) / (4 4 + 4 4), 2 (4 - 2) / (2 5 + 3 6), 2 (28 - 6) / (6 9 + 7 10)
        (fairness.cohen_kappa, 16 / 32, 4 / 28, 44 / 124),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_textbook_rates(rate: Any, of_m: float, of_f: float, of_all: float) -> None:
    assert rate(TEXTBOOK, **GPL) == pytest.approx(of_all)  # a group given changes nothing
    by_group = rate(TEXTBOOK, **GPL, by=pl.col("g").alias("sex"))
    assert by_group.rows() == [("F", pytest.approx(of_f)), ("M", pytest.approx(of_m))]
    assert fairness.difference(rate)(TEXTBOOK, **GPL, ref="M") == pytest.approx(of_f - of_m)
    assert fairness.difference(rate)(TEXTBOOK, **GPL) == pytest.approx(abs(of_f - of_m))
    assert fairness.ratio(rate)(TEXTBOOK, **GPL, ref="F") == pytest.approx(of_m / of_f)
    low, high = sorted((of_m, of_f))
    assert fairness.ratio(rate)(TEXTBOOK, **GPL) == pytest.approx(low / high)
    assert fairness.group_min(rate)(TEXTBOOK, **GPL) == pytest.approx(low)
    assert fairness.group_max(rate)(TEXTBOOK, **GPL) == pytest.approx(high)


@pytest.mark.parametrize(
    ("metric", "against_m", "without_ref"),
    [
        (fairness.stat_parity, -1 / 4, 1 / 4),
        (fairness.disparate_impact, 1 / 2, 1 / 2),
        (fairness.four_fifths, 1 / 2, 1 / 2),
        (fairness.equal_opportunity, -5 / 12, 5 / 12),  # 1/3 - 3/4
        (fairness.predictive_equality, -1 / 20, 1 / 20),  # 1/5 - 1/4
        (fairness.average_odds, -7 / 30, 7 / 30),  # (-1/20 - 5/12) / 2
        (fairness.average_abs_odds, 7 / 30, 7 / 30),  # unsigned with ref too
        (fairness.equalized_odds, 5 / 12, 5 / 12),  # the larger of 5/12 and 1/20
        (fairness.fnr_difference, 5 / 12, 5 / 12),
        (fairness.tnr_difference, 1 / 20, 1 / 20),
        (fairness.for_difference, 1 / 12, 1 / 12),  # 2/6 - 1/4
        (fairness.fdr_difference, 1 / 4, 1 / 4),
        (fairness.predictive_parity, -1 / 4, 1 / 4),
        (fairness.npv_difference, -1 / 12, 1 / 12),
        (fairness.accuracy_difference, -1 / 8, 1 / 8),
        (fairness.treatment_equality, 1.0, 1.0),  # FN/FP: 2/1 - 1/1
        # pooled variance (7 * 3/16 + 7 * 1/4) / 14 = 7/32
        (fairness.cohen_d, -1 / 4 / sqrt(7 / 32), 1 / 4 / sqrt(7 / 32)),
        # pooled rate 3/8, variance 3/8 * 5/8 * (1/8 + 1/8)
        (fairness.z_test_difference, -1 / 4 / sqrt(15 / 256), 1 / 4 / sqrt(15 / 256)),
        # ln(1/2) over the root of (5/3) * (1/8 + 1/8)
        (fairness.z_test_ratio, -ln(2) / sqrt(5 / 12), ln(2) / sqrt(5 / 12)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_textbook_comparisons(metric: Any, against_m: float, without_ref: float) -> None:
    assert metric(TEXTBOOK, **GPL, ref="M") == pytest.approx(against_m)
    assert metric(TEXTBOOK, **GPL) == pytest.approx(without_ref)
    lazy = metric(TEXTBOOK.lazy(), **GPL, ref="M").collect()
    assert lazy.columns == [metric.name]
    assert lazy.item() == pytest.approx(against_m)


def test_ratio_against_the_other_group_is_inverted() -> None:
    assert fairness.disparate_impact(TEXTBOOK, **GPL, ref="F") == pytest.approx(2.0)
    assert fairness.four_fifths(TEXTBOOK, **GPL, ref="F") == pytest.approx(1 / 2)  # min(r, 1/r)


# three groups


def test_three_groups_the_farthest_is_reported_signed() -> None:
    # selection: a 2/4, b 1/4, c 4/4; against a: b -1/4, c +1/2
    frame = rows(("a", 1, 2), ("a", 0, 2), ("b", 1, 1), ("b", 0, 3), ("c", 1, 4), names=("g", "p"))
    assert fairness.stat_parity(frame, **GP, ref="a") == 0.5
    assert fairness.stat_parity(frame, **GP, ref="c") == -0.75
    assert fairness.stat_parity(frame, **GP) == 0.75
    # ratios to a: 1/2 and 2, equally far from 1; to b: 2 and 4
    assert fairness.disparate_impact(frame, **GP, ref="b") == 4.0
    assert fairness.disparate_impact(frame, **GP) == 0.25


def test_a_tie_is_the_lower_value() -> None:
    # selection: a 1/2, b 1/4, c 3/4: against a -1/4 and +1/4
    frame = rows(
        ("a", 1, 2),
        ("a", 0, 2),
        ("b", 1, 1),
        ("b", 0, 3),
        ("c", 1, 3),
        ("c", 0, 1),
        names=("g", "p"),
    )
    assert fairness.stat_parity(frame, **GP, ref="a") == -0.25
    # selection: a 1/2, b 1/4, c 4/4: ratios 1/2 and 2 are equally far from 1 by the logarithm
    frame = rows(("a", 1, 2), ("a", 0, 2), ("b", 1, 1), ("b", 0, 3), ("c", 1, 4), names=("g", "p"))
    assert fairness.disparate_impact(frame, **GP, ref="a") == 0.5


def test_a_group_without_a_value_takes_no_part() -> None:
    # c has no positive label, so no true positive rate: a 1/2 against b 1/1
    frame = rows(("a", 1, 1, 1), ("a", 0, 1, 1), ("b", 1, 1, 1), ("c", 1, 0, 5))
    assert fairness.equal_opportunity(frame, **GPL) == 0.5
    assert fairness.equal_opportunity(frame, **GPL, ref="b") == -0.5
    assert fairness.group_max(fairness.true_positive_rate)(frame, **GPL) == 1.0
    # an undefined reference leaves nothing to compare with
    assert isnan(fairness.equal_opportunity(frame, **GPL, ref="c"))
    # nor does one group with a value
    assert isnan(fairness.equal_opportunity(frame.filter(pl.col("g") != "b"), **GPL))
    assert isnan(fairness.equal_opportunity(frame.filter(pl.col("g") != "b"), **GPL, ref="a"))


def test_odds_need_both_rates_of_a_group() -> None:
    # c has a false positive rate of 1 only; a: TPR 1/2, FPR 0; b: TPR 1, FPR 0
    frame = rows(
        ("a", 1, 1, 1),
        ("a", 0, 1, 1),
        ("a", 0, 0, 1),
        ("b", 1, 1, 1),
        ("b", 0, 0, 1),
        ("c", 1, 0, 5),
    )
    assert fairness.average_odds(frame, **GPL, ref="b") == -0.25
    assert fairness.average_abs_odds(frame, **GPL) == 0.25
    assert fairness.equalized_odds(frame, **GPL) == 0.5
    assert fairness.predictive_equality(frame, **GPL) == 1.0


# degenerate frames


def test_one_class_only() -> None:
    # everyone is qualified: FPR, TNR are 0/0; a: TPR 1/2, b: 1/1
    frame = rows(("a", 1, 1, 1), ("a", 0, 1, 1), ("b", 1, 1, 2))
    assert isnan(fairness.false_positive_rate(frame, **GPL))
    assert isnan(fairness.predictive_equality(frame, **GPL))
    assert isnan(fairness.average_odds(frame, **GPL, ref="b"))
    assert isnan(fairness.equalized_odds(frame, **GPL, ref="b"))
    assert isnan(fairness.balanced_accuracy(frame, **GPL))
    assert fairness.equal_opportunity(frame, **GPL, ref="b") == -0.5
    assert fairness.base_rate(frame, **GPL) == 1.0


def test_nobody_selected() -> None:
    frame = rows(("a", 0, 1, 2), ("b", 0, 0, 2))
    assert fairness.stat_parity(frame, **GPL) == 0.0
    assert isnan(fairness.disparate_impact(frame, **GPL))  # 0/0
    assert isnan(fairness.disparate_impact(frame, **GPL, ref="b"))
    assert isnan(fairness.precision(frame, **GPL))
    assert fairness.f1(frame, **GPL) == 0.0  # 0 / (0 + 0 + 2)
    assert isnan(fairness.f1(frame.filter(pl.col("g") == "b"), **GPL))  # 0 / 0


def test_a_positive_number_over_0_is_infinite() -> None:
    # selection: a 1/2, b 0/2
    frame = rows(("a", 1, 1, 1), ("a", 0, 1, 1), ("b", 0, 0, 2))
    assert fairness.disparate_impact(frame, **GPL, ref="b") == math.inf
    assert fairness.disparate_impact(frame, **GPL, ref="a") == 0.0
    assert fairness.disparate_impact(frame, **GPL) == 0.0
    assert fairness.four_fifths(frame, **GPL, ref="b") == 0.0
    assert fairness.z_test_ratio(frame, **GPL, ref="b") == math.inf
    assert fairness.z_test_ratio(frame, **GPL, ref="a") == -math.inf
    # FN/FP: a 1/0 is infinite, b 0/0 undefined, c 1/1
    assert isnan(fairness.treatment_equality(frame, **GPL))
    frame = pl.concat([frame, rows(("c", 0, 1, 1), ("c", 1, 0, 1))])
    assert fairness.treatment_equality(frame, **GPL, ref="c") == math.inf
    assert fairness.treatment_equality(frame, **GPL, ref="a") == -math.inf
    assert fairness.treatment_equality(frame, **GPL) == math.inf


def test_two_infinite_values_have_no_difference() -> None:
    # FN/FP is 1/0 in both groups: inf - inf is undefined
    frame = rows(("a", 0, 1, 1), ("b", 0, 1, 1))
    assert isnan(fairness.treatment_equality(frame, **GPL, ref="a"))
    assert isnan(fairness.treatment_equality(frame, **GPL))


def test_effect_sizes_without_variance() -> None:
    # a is always selected, b never: the pooled variance is 0
    frame = rows(("a", 1, 2), ("b", 0, 2), names=("g", "p"))
    assert fairness.cohen_d(frame, **GP, ref="b") == math.inf
    assert fairness.cohen_d(frame, **GP, ref="a") == -math.inf
    assert fairness.z_test_difference(frame, **GP, ref="b") == pytest.approx(2.0)  # 1/sqrt(1/4)
    # equal rates without variance: 0/0
    frame = rows(("a", 1, 2), ("b", 1, 2), names=("g", "p"))
    for metric in (fairness.cohen_d, fairness.z_test_difference, fairness.z_test_ratio):
        assert isnan(metric(frame, **GP, ref="b"))
    # one row in each group: 0 degrees of freedom
    frame = rows(("a", 1, 1), ("b", 1, 1), names=("g", "p"))
    assert isnan(fairness.cohen_d(frame, **GP, ref="b"))


TALLIES = (fairness.decisions, fairness.classes)
EVERY = [metric for metric in pf.metrics() if metric.tally in TALLIES]


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_an_empty_frame_gives_nan_no_row_or_a_null_row(metric: Any) -> None:
    given = {**GPL, "score": "s"} if "score" in metric.roles else GPL
    empty = TEXTBOOK.clear().with_columns(s=pl.lit(0.5), day=pl.lit(1))
    if metric.keys:
        assert metric(empty, **given).is_empty()
    else:
        assert isnan(metric(empty, **given))
        assert pf.evaluate(empty, [metric], **given).rows() == [(None,)]
    sliced = metric(empty, **given, by="day")
    assert sliced.is_empty()
    assert sliced.columns == ["day", *metric.keys, metric.name]


# references that are not a group

# selection: a 1/4, b 2/2, c 0/2, and four of unknown group are not selected
KNOWN = rows(("a", 1, 1), ("a", 0, 3), ("b", 1, 2), ("c", 0, 2), (None, 0, 4), names=("g", "p"))


def test_overall_is_everyone_of_known_group() -> None:
    # of known group 3/8: a -1/8, b 5/8, c -3/8; ratios 2/3, 8/3, 0
    assert fairness.stat_parity(KNOWN, **GP, ref=pf.OVERALL) == 0.625
    assert fairness.disparate_impact(KNOWN, **GP, ref=pf.OVERALL) == 0.0
    assert fairness.stat_parity(KNOWN.filter(pl.col("g") != "b"), **GP, ref=pf.OVERALL) == (
        pytest.approx(-1 / 6)  # 1/6 of a and c: a +1/12, c -1/6
    )
    # the overall rate itself counts the unknown: 3 of 12
    assert fairness.selection_rate(KNOWN, **GP) == 0.25


def test_rest_is_everyone_else_of_known_group() -> None:
    # a: 1/4 - 2/4, b: 2/2 - 1/6, c: 0 - 3/6
    assert fairness.stat_parity(KNOWN, **GP, ref=pf.REST) == pytest.approx(5 / 6)
    # with two groups both see the other: -3/4 and 3/4, a tie
    two = KNOWN.filter(pl.col("g").is_null() | (pl.col("g") != "c"))
    assert fairness.stat_parity(two, **GP, ref=pf.REST) == -0.75
    # z of b against the rest, pooled over those two: p = 3/8
    z = (5 / 6) / sqrt(3 / 8 * 5 / 8 * (1 / 2 + 1 / 6))
    assert fairness.z_test_difference(KNOWN, **GP, ref=pf.REST) == pytest.approx(z)


def test_rows_of_unknown_group_are_on_neither_side() -> None:
    known = KNOWN.drop_nulls()
    for metric in (fairness.stat_parity, fairness.disparate_impact, fairness.cohen_d):
        for ref in (None, "a", pf.OVERALL, pf.REST):
            assert metric(KNOWN, **GP, ref=ref) == metric(known, **GP, ref=ref)


# intersections


def test_an_intersection_is_a_struct_and_a_null_part_is_unknown() -> None:
    frame = pl.DataFrame(
        {
            "sex": ["M", "M", "F", "F", "F", None],
            "race": ["w", "w", "w", "b", None, "b"],
            "p": [1, 1, 1, 0, 1, 1],
        }
    )
    # (M, w) 2/2, (F, w) 1/1, (F, b) 0/1; the last two rows are of unknown group
    both: dict[str, Any] = {"group": ["sex", "race"], "pred": "p"}
    assert fairness.stat_parity(frame, **both) == 1.0
    assert fairness.stat_parity(frame, **both, ref={"sex": "M", "race": "w"}) == -1.0
    assert fairness.stat_parity(frame, **both, ref={"race": "b", "sex": "F"}) == 1.0
    as_struct = {"group": pl.struct("sex", "race"), "pred": "p"}
    assert fairness.stat_parity(frame, **as_struct, ref={"sex": "M", "race": "w"}) == -1.0
    table = fairness.decisions(frame, **both)
    assert table.schema["group"] == pl.Struct({"sex": pl.String, "race": pl.String})
    assert table.filter(pl.col("group").is_null())["n"].sum() == 2
    assert fairness.selection_rate(frame, **both) == pytest.approx(5 / 6)


# nulls


def test_a_row_counts_where_its_columns_are_known() -> None:
    frame = pl.DataFrame({"p": [1, None, 0, 1], "y": [1, 1, None, 0]})
    roles = {"pred": "p", "label": "y"}
    assert fairness.selection_rate(frame, **roles) == pytest.approx(2 / 3)  # 1, 0, 1
    assert fairness.base_rate(frame, **roles) == pytest.approx(2 / 3)  # 1, 1, 0
    assert fairness.true_positive_rate(frame, **roles) == 1.0  # the first row alone
    assert fairness.false_positive_rate(frame, **roles) == 1.0  # the last row alone
    assert fairness.accuracy(frame, **roles) == 0.5
    assert isnan(fairness.negative_predictive_value(frame, **roles))  # its label is unknown
    # benefits of rows one and four: 1 and 2, mu = 3/2, GE(2) = ((1 + 4)/2 / (9/4) - 1)/2
    assert fairness.generalized_entropy(frame, **roles) == pytest.approx(1 / 18)


def test_null_predictions_leave_both_sides_of_a_comparison() -> None:
    frame = rows(("a", 1, 1), ("a", None, 9), ("b", 1, 1), ("b", 0, 1), names=("g", "p"))
    assert fairness.stat_parity(frame, **GP, ref="b") == 0.5  # 1/1 - 1/2
    # variance counts known rows: ((1 - 1) 0 + (2 - 1)/4) / 1
    assert fairness.cohen_d(frame, **GP, ref="b") == pytest.approx(1.0)


# weights


def test_an_integer_weight_is_a_repetition() -> None:
    once = TEXTBOOK.group_by("g", "p", "y").agg(times=pl.len().cast(pl.Int64))
    decisions = [m for m in EVERY if m.tally is fairness.decisions and not m.keys]
    assert len(decisions) > 30
    for ref in (None, "M"):
        more = {} if ref is None else {"ref": ref}
        repeated = pf.evaluate(TEXTBOOK, decisions, **GPL, **more)
        weighted = pf.evaluate(once, decisions, **GPL, weight="times", **more)
        assert_frame_equal(weighted, repeated, rel_tol=1e-12, abs_tol=1e-14)


def test_the_table_keeps_rows_weights_and_squares() -> None:
    frame = pl.DataFrame({"g": ["a", "a"], "p": [1, 1], "w": [2, 3], "f": [0.5, 1.5]})
    table = fairness.decisions(frame, **GP, weight="w")
    assert table.rows() == [("a", True, 2, 5, 13)]
    assert table.columns == ["group", "pred", "n", "w", "w2"]
    assert table.select("n", "w").dtypes == [pl.Int64, pl.Int64]
    table = fairness.decisions(frame, **GP, weight="f")
    assert table.rows() == [("a", True, 2, 2.0, 2.5)]
    assert fairness.decisions(frame, pred="p").rows() == [(True, 2)]


def test_zero_weights() -> None:
    # a: 1/1 by weight; b weighs nothing, so it has no rate
    frame = pl.DataFrame({"g": ["a", "a", "b"], "p": [1, 0, 1], "w": [2, 0, 0]})
    assert fairness.selection_rate(frame, pred="p", weight="w") == 1.0
    assert isnan(fairness.stat_parity(frame, **GP, weight="w"))
    assert isnan(fairness.theil(frame, pred="p", label="p", weight=pl.lit(0)))


def test_weighted_and_unweighted_tables_merge() -> None:
    plain = fairness.decisions(rows(("a", 1, 1), ("b", 0, 1), names=("g", "p")), **GP)
    heavy = pl.DataFrame({"g": ["a", "b"], "p": [0, 1], "w": [3, 1]})
    tables = [plain, fairness.decisions(heavy, **GP, weight="w")]
    # a: 1 of 1 + 3, b: 1 of 1 + 1
    assert pf.measure(tables, [fairness.stat_parity], ref="b").item() == -0.25


# slices


def test_null_is_a_slice_and_slices_are_sorted() -> None:
    frame = pl.DataFrame(
        {
            "g": ["a", "b"] * 3,
            "p": [1, 0, 1, 1, 0, 1],
            "day": ["tue", "tue", None, None, "mon", "mon"],
        }
    )
    result = fairness.stat_parity(frame, **GP, ref="b", by="day")
    assert result.rows() == [(None, 0.0), ("mon", -1.0), ("tue", 1.0)]
    lazy = fairness.stat_parity(frame.lazy(), **GP, ref="b", by="day")
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), result)


def test_slices_may_be_expressions_and_several() -> None:
    frame = TEXTBOOK.with_row_index("i")
    result = fairness.selection_rate(frame, pred="p", by=["g", (pl.col("y") == 1).alias("fit")])
    assert result.columns == ["g", "fit", "selection_rate"]
    # of F: 1/5 of the unfit, 1/3 of the fit; of M: 1/4 and 3/4
    assert result["selection_rate"].to_list() == pytest.approx([1 / 5, 1 / 3, 1 / 4, 3 / 4])


def test_tables_are_read_whole_or_by_their_slices() -> None:
    frame = rows(
        ("a", 1, "mon", 1), ("b", 0, "mon", 1), ("a", 0, "tue", 3), names=("g", "p", "day")
    )
    table = fairness.decisions(frame, **GP, by="day")
    by_day = pf.measure(table, [fairness.stat_parity], by="day", ref="b")
    assert by_day.rows() == [("mon", 1.0), ("tue", None)]
    assert pf.measure(table, [fairness.stat_parity], ref="b").item() == 0.25


# by_group


def test_by_group_shows_every_group() -> None:
    frame = rows(
        *confusion("M", tp=3, fn=1, fp=1, tn=3), *confusion("F", 1, 2, 1, 4), (None, 1, 0, 2)
    )
    rates = [fairness.selection_rate, fairness.true_positive_rate]
    shown = pf.by_group(frame, rates, **GPL, ref="M")
    columns = ["group", "metric", "n", "value", "ref", "difference", "ratio"]
    assert shown.columns == columns
    cells = {(row["group"], row["metric"]): row for row in shown.to_dicts()}
    assert len(cells) == len(shown) == 6
    of_f = cells["F", "selection_rate"]
    assert (of_f["n"], of_f["value"], of_f["difference"], of_f["ratio"]) == (8, 0.25, -0.25, 0.5)
    tpr = cells["F", "true_positive_rate"]
    assert tpr["n"] == 3  # the labelled positives
    assert tpr["difference"] == pytest.approx(-5 / 12)
    assert tpr["ratio"] == pytest.approx(4 / 9)
    unknown = cells[None, "selection_rate"]
    assert (unknown["n"], unknown["value"]) == (2, 1.0)
    assert (unknown["difference"], unknown["ratio"]) == (None, None)
    lazy = pf.by_group(frame.lazy(), rates, **GPL, ref="M")
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), shown)


def test_by_group_by_slice_and_against_everyone() -> None:
    frame = KNOWN.with_columns(day=pl.lit("mon"))
    shown = pf.by_group(frame, [fairness.selection_rate], **GP, ref=pf.OVERALL, by="day")
    assert shown.columns[0] == "day"
    found = dict(shown.select("group", "difference").rows())
    assert found == {"a": -0.125, "b": 0.625, "c": -0.375, None: None}
    rest = pf.by_group(frame, [fairness.selection_rate], **GP, ref=pf.REST)
    found = dict(rest.select("group", "difference").rows())
    assert found == {"a": -0.25, "b": pytest.approx(5 / 6), "c": -0.5, None: None}


def test_by_group_leaves_out_what_the_rate_cannot_use() -> None:
    frame = rows(("a", 1, 1), ("a", None, 3), ("b", 0, 2), names=("g", "p"))
    shown = pf.by_group(frame, [fairness.selection_rate], **GP)
    assert dict(shown.select("group", "n").rows()) == {"a": 1, "b": 2}


# individual fairness

# FN 3, FP 2, correct 11 of 16: benefits 0, 2, 1 with mean mu = 15/16
GE2 = 79 / 450  # ((11 + 2 * 4)/16 * (16/15)**2 - 1) / 2
THEIL = (11 * ln(16 / 15) + 4 * ln(32 / 15)) / 15  # mean of (b/mu) ln(b/mu)


def test_generalized_entropy_of_the_textbook() -> None:
    roles = {"pred": "p", "label": "y"}
    assert fairness.generalized_entropy(TEXTBOOK, **roles) == pytest.approx(GE2)
    assert fairness.generalized_entropy(TEXTBOOK, **roles, alpha=1) == pytest.approx(THEIL)
    assert fairness.theil(TEXTBOOK, **roles) == pytest.approx(THEIL)
    assert fairness.coefficient_of_variation(TEXTBOOK, **roles) == pytest.approx(sqrt(79) / 15)
    # three rows have benefit 0: infinite for alpha <= 0, and 0 to a positive power is 0
    assert fairness.generalized_entropy(TEXTBOOK, **roles, alpha=0) == math.inf
    assert fairness.generalized_entropy(TEXTBOOK, **roles, alpha=-1) == math.inf
    half = ((11 * sqrt(16 / 15) + 2 * sqrt(32 / 15)) / 16 - 1) / (0.5 * -0.5)
    assert fairness.generalized_entropy(TEXTBOOK, **roles, alpha=0.5) == pytest.approx(half)


def test_generalized_entropy_without_false_negatives() -> None:
    # benefits 1, 1, 1, 2: mu = 5/4
    frame = rows((1, 1, 2), (0, 0, 1), (1, 0, 1), names=("p", "y"))
    roles = {"pred": "p", "label": "y"}
    zero = -(3 * ln(4 / 5) + ln(8 / 5)) / 4
    assert fairness.generalized_entropy(frame, **roles, alpha=0) == pytest.approx(zero)
    minus = ((3 * 5 / 4 + 5 / 8) / 4 - 1) / 2
    assert fairness.generalized_entropy(frame, **roles, alpha=-1) == pytest.approx(minus)
    assert fairness.generalized_entropy(rows((1, 1, 4), names=("p", "y")), **roles) == 0.0
    # every row a false negative: mu = 0
    nothing = rows((0, 1, 4), names=("p", "y"))
    for alpha in (-1, 0, 1, 2):
        assert isnan(fairness.generalized_entropy(nothing, **roles, alpha=alpha))


def test_between_and_within_add_up() -> None:
    # mu of M 1, of F 7/8: between ((8 (16/15)**2 + 8 (14/15)**2)/16 - 1)/2 = 1/450
    assert fairness.generalized_entropy_between(TEXTBOOK, **GPL) == pytest.approx(1 / 450)
    assert fairness.generalized_entropy_within(TEXTBOOK, **GPL) == pytest.approx(78 / 450)
    between = (8 * 16 / 15 * ln(16 / 15) + 8 * 14 / 15 * ln(14 / 15)) / 16
    assert fairness.theil_between(TEXTBOOK, **GPL) == pytest.approx(between)
    assert fairness.theil_within(TEXTBOOK, **GPL) == pytest.approx(THEIL - between)


@pytest.mark.parametrize("alpha", [-1, 0, 0.5, 1, 2, 3])
@pytest.mark.parametrize("soft", [False, True])
def test_between_and_within_are_of_known_group(alpha: float, *, soft: bool) -> None:
    frame = rows(
        ("a", 1, 1, 2),
        ("a", 1, 0, 1),
        ("b", 0, 0, 3),
        ("b", 1, 0, 2),
        ("c", 1, 1, 1),
        (None, 1, 0, 7),
    ).with_columns(s=pl.col("p") * 0.8 + 0.1)
    roles = {"group": "g", "label": "y"} | ({"score": "s"} if soft else {"pred": "p"})
    parts = [fairness.generalized_entropy_between, fairness.generalized_entropy_within]
    total = fairness.generalized_entropy(frame.drop_nulls("g"), **roles, alpha=alpha)
    found = pf.evaluate(frame, parts, **roles, alpha=alpha).row(0)
    assert sum(found) == pytest.approx(total)
    assert all(part >= 0 for part in found)
    assert fairness.generalized_entropy(frame, **roles, alpha=alpha) != pytest.approx(total)


# soft predictions


def test_benefits_hold_several_alphas() -> None:
    # benefits 1 + s - y: 3/4, 5/4, 1: mu = 1
    frame = pl.DataFrame({"s": [0.75, 0.25, 1.0], "y": [1, 0, 1], "g": ["a", "a", "b"]})
    roles = {"score": "s", "label": "y"}
    two = (9 / 16 + 25 / 16 + 1 - 3) / 6
    one = (3 / 4 * ln(3 / 4) + 5 / 4 * ln(5 / 4)) / 3
    zero = -(ln(3 / 4) + ln(5 / 4)) / 3
    assert fairness.generalized_entropy(frame, **roles) == pytest.approx(two)
    assert fairness.theil(frame, **roles) == pytest.approx(one)
    assert fairness.coefficient_of_variation(frame, **roles) == pytest.approx(sqrt(2 * two))

    table = fairness.benefits(frame, **roles, group="g", alpha=[0, 1, 2])
    assert table["alpha"].unique().sort().to_list() == [0.0, 1.0, 2.0]
    assert table.group_by("alpha").agg(pl.col("n").sum())["n"].to_list() == [3, 3, 3]
    metrics = [
        fairness.generalized_entropy.bind(alpha=alpha).alias(f"ge{alpha}") for alpha in (0, 1, 2)
    ]
    assert pf.measure(table, metrics).row(0) == pytest.approx((zero, one, two))
    assert pf.evaluate(frame, metrics, **roles).row(0) == pytest.approx((zero, one, two))
    assert fairness.benefits(frame, **roles, alpha=[2, 2])["alpha"].to_list() == [2.0]
    halves = [fairness.benefits(frame[i:j], **roles, alpha=[0, 1, 2]) for i, j in ((0, 1), (1, 3))]
    assert pf.measure(halves, metrics).row(0) == pytest.approx((zero, one, two))


def test_hard_scores_are_decisions() -> None:
    hard = TEXTBOOK.with_columns(s=pl.col("p").cast(pl.Float64))
    for alpha in (-1, 0, 0.5, 1, 2, 3):
        soft = fairness.generalized_entropy(hard, score="s", label="y", alpha=alpha)
        assert soft == pytest.approx(
            fairness.generalized_entropy(hard, pred="p", label="y", alpha=alpha)
        )


# classes


def test_three_classes_two_groups() -> None:
    # a predicts 0 0 1 2, b predicts 0 1 1 1
    frame = pl.DataFrame({"g": list("aaaabbbb"), "p": [0, 0, 1, 2, 0, 1, 1, 1]})
    # half of |2/4 - 1/4| + |1/4 - 3/4| + |1/4 - 0|
    assert fairness.multiclass_stat_parity(frame, **GP) == 0.5
    shown = fairness.stat_parity_by_class(frame, **GP, ref="b")
    assert shown.rows() == [(0, 0.25), (1, -0.5), (2, 0.25)]
    shown = fairness.disparate_impact_by_class(frame, **GP, ref="b")
    assert shown.rows() == [(0, 2.0), (1, pytest.approx(1 / 3)), (2, math.inf)]
    shown = fairness.frequency_by_class(frame, **GP)
    assert shown.columns == ["group", "class", "frequency_by_class"]
    assert shown["frequency_by_class"].to_list() == [0.5, 0.25, 0.25, 0.25, 0.75, 0.0]


def test_precision_and_recall_by_class() -> None:
    # a: predicted 0 0 1, truly 0 1 1; b: predicted 1, truly 2
    frame = pl.DataFrame({"g": list("aaab"), "p": [0, 0, 1, 1], "y": [0, 1, 1, 2]})
    precision = fairness.precision_by_class(frame, **GPL)
    recall = fairness.recall_by_class(frame, **GPL)
    keys = [(g, c) for g in "ab" for c in (0, 1, 2)]
    assert precision.select("group", "class").rows() == keys
    assert precision["precision_by_class"].to_list() == [0.5, 1.0, None, None, 0.0, None]
    assert recall["recall_by_class"].to_list() == [1.0, 0.5, None, None, None, 0.0]


def test_classes_that_both_groups_have() -> None:
    # a: true 0 -> 0 0, true 1 -> 1; b: true 0 -> 0 1, true 2 -> 2: they share class 0
    frame = pl.DataFrame({"g": list("aaabbb"), "p": [0, 0, 1, 0, 1, 2], "y": [0, 0, 1, 0, 0, 2]})
    # half of |1 - 1/2| + |0 - 1/2|, over one class
    assert fairness.multiclass_equal_opportunity(frame, **GPL) == 0.5
    assert fairness.multiclass_average_odds(frame, **GPL) == 0.5
    assert fairness.multiclass_true_positive_difference(frame, **GPL) == 0.5
    # uniform: class 1 is (0 1 0) against thirds, class 2 thirds against (0 0 1): 4/3 each
    uniform = (1 + 4 / 3 + 4 / 3) / 6
    value = fairness.multiclass_equal_opportunity(frame, **GPL, unseen="uniform")
    assert value == pytest.approx(uniform)
    # no class in common leaves the pair out, and then nothing is left
    assert isnan(fairness.multiclass_equal_opportunity(frame.filter(pl.col("y") > 0), **GPL))


def test_pairs_of_groups_and_a_reference() -> None:
    # predictions: a all 0, b half 0 half 1, c all 1; distances ab 1/2, bc 1/2, ac 1
    frame = pl.DataFrame({"g": list("aabbcc"), "p": ["0", "0", "0", "1", "1", "1"]})
    assert fairness.multiclass_stat_parity(frame, **GP) == pytest.approx(2 / 3)
    assert fairness.multiclass_stat_parity(frame, **GP, reduce="max") == 1.0
    assert fairness.multiclass_stat_parity(frame, **GP, ref="b") == 0.5
    assert fairness.multiclass_stat_parity(frame, **GP, ref="a") == 0.75
    assert fairness.multiclass_stat_parity(frame, **GP, ref="a", reduce="max") == 1.0


def test_stored_tables_of_classes_are_measured() -> None:
    frame = pl.DataFrame({"g": list("aabbcc"), "p": ["0", "0", "0", "1", "1", "1"]})
    tables = [fairness.classes(frame[i : i + 3], **GP) for i in (0, 3)]
    metrics = [fairness.multiclass_stat_parity]
    assert pf.measure(tables, metrics).item() == pytest.approx(2 / 3)
    assert pf.measure(tables, metrics, ref="a").item() == 0.75
    shown = pf.measure(tables, [fairness.stat_parity_by_class], ref="a")
    assert shown.rows() == [("0", -1.0), ("1", 1.0)]  # c against a


def test_many_groups_give_one_value() -> None:
    # group i predicts class i: every pair is 1 apart, whatever the order of the groups
    frame = pl.DataFrame({"g": range(9), "p": range(9), "y": [0] * 9})
    for _ in range(5):
        assert fairness.multiclass_stat_parity(frame, **GP) == pytest.approx(1.0)
        assert fairness.multiclass_equal_opportunity(frame, **GPL) == pytest.approx(1.0)


def test_a_list_of_classes_counts_its_row_once_for_each() -> None:
    # a: {x, y}, {} -> x 1/2, y 1/2; b: {x, x}, {x} -> x 2/2
    frame = pl.DataFrame({"g": list("aabbb"), "p": [["x", "y"], [], ["x", "x"], ["x"], None]})
    shown = fairness.stat_parity_by_class(frame, **GP, ref="b")
    assert shown.rows() == [("x", -0.5), ("y", 0.5)]


def test_a_decisions_table_is_a_classes_table() -> None:
    table = fairness.decisions(TEXTBOOK, **GPL)
    metrics = [fairness.multiclass_equal_opportunity, fairness.multiclass_stat_parity]
    # K = 2: (|dTPR| + |dFPR|)/2 and |statistical parity|
    assert pf.measure(table, metrics).row(0) == pytest.approx((7 / 30, 1 / 4))
    with_both = pf.evaluate(TEXTBOOK, [*metrics, fairness.stat_parity], **GPL)
    assert with_both.row(0) == pytest.approx((7 / 30, 1 / 4, 1 / 4))
