"""Labels before training: Clarify's list by hand, and labels that a group lacks."""

import math

import polars as pl
import pytest
from polars.exceptions import InvalidOperationError

import polarsfair as pf
from polarsfair import fairness

ROWS = pl.DataFrame(
    {
        "g": ["a"] * 4 + ["b"] * 6 + [None] * 3,
        "y": [1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1],
        "town": list("xxzzxxxzzzxxx"),
    }
)
LABELLED = {"group": "g", "label": "y"}
APART = [
    fairness.label_kl,
    fairness.label_js,
    fairness.label_lp,
    fairness.label_total_variation,
    fairness.label_ks,
]


def test_by_hand() -> None:
    p, q = (3 / 4, 1 / 4), (1 / 3, 2 / 3)
    pairs = list(zip(p, q, strict=True))
    kl = sum(x * math.log(x / y) for x, y in pairs)
    other = sum(y * math.log(y / x) for x, y in pairs)
    assert fairness.label_kl(ROWS, **LABELLED, ref="b") == pytest.approx(kl)
    assert fairness.label_kl(ROWS, **LABELLED, ref="a") == pytest.approx(other)
    assert fairness.label_kl(ROWS, **LABELLED) == pytest.approx(max(kl, other))
    js = sum(x * math.log(2 * x / (x + y)) + y * math.log(2 * y / (x + y)) for x, y in pairs) / 2
    assert fairness.label_js(ROWS, **LABELLED) == pytest.approx(js)
    assert fairness.label_lp(ROWS, **LABELLED) == pytest.approx(math.sqrt(2) * 5 / 12)
    assert fairness.label_lp(ROWS, **LABELLED, p=1) == pytest.approx(5 / 6)
    assert fairness.label_total_variation(ROWS, **LABELLED) == pytest.approx(5 / 12)
    assert fairness.label_ks(ROWS, **LABELLED) == pytest.approx(5 / 12)


def test_class_imbalance_is_group_minus_reference() -> None:
    assert fairness.class_imbalance(ROWS, group="g", ref="b") == pytest.approx(-0.2)
    assert fairness.class_imbalance(ROWS, group="g", ref="a") == pytest.approx(0.2)
    assert fairness.class_imbalance(ROWS, group="g") == pytest.approx(0.2)
    assert fairness.class_imbalance(ROWS, group="g", ref=pf.OVERALL) == pytest.approx(-6 / 14)


def test_labels_that_a_group_lacks() -> None:
    """Clarify drops such labels: a negative divergence, and half the total variation."""
    df = pl.DataFrame({"g": ["a", "a", "a", "b", "b", "b"], "y": ["u", "u", "v", "u", "w", "w"]})
    assert fairness.label_kl(df, **LABELLED, ref="b") == math.inf
    assert fairness.label_total_variation(df, **LABELLED) == pytest.approx(2 / 3)
    half = (2 / 3 * math.log(4 / 3) + 1 / 3 * math.log(2)) / 2
    rest = (1 / 3 * math.log(2 / 3) + 2 / 3 * math.log(2)) / 2
    assert fairness.label_js(df, **LABELLED) == pytest.approx(half + rest)
    assert fairness.label_ks(df, **LABELLED) == pytest.approx(2 / 3)
    never = pl.DataFrame({"g": ["a", "a", "b"], "y": [0, 1, 0]})
    assert fairness.label_kl(never, **LABELLED, ref="a") == pytest.approx(math.log(2))
    assert fairness.label_kl(never, **LABELLED, ref="b") == math.inf
    apart = pl.DataFrame({"g": ["a", "b"], "y": [0, 1]})
    assert fairness.label_js(apart, **LABELLED) == pytest.approx(math.log(2))
    assert fairness.label_lp(apart, **LABELLED) == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("ref", [None, "a", pf.OVERALL, pf.REST], ids=str)
def test_two_labels_are_the_difference_of_base_rates(ref: object) -> None:
    gap = fairness.difference(fairness.base_rate)(ROWS, **LABELLED, ref=ref)
    assert fairness.label_total_variation(ROWS, **LABELLED, ref=ref) == pytest.approx(abs(gap))


def test_conditional_demographic_disparity_by_hand() -> None:
    # In x: a has 2 of 4 accepted and 0 of 1 rejected; in z: 1 of 1 and 1 of 4.
    x, z = 0 - 2 / 4, 1 / 4 - 1
    of_a = (5 * x + 5 * z) / 10
    known = ROWS.filter(pl.col("g").is_not_null())
    asked = {**LABELLED, "strata": "town"}
    # Rows of unknown group are in no side.
    for rows in (known, ROWS):
        metric = fairness.conditional_demographic_disparity
        assert metric(rows, **asked) == pytest.approx(-of_a)
        assert metric(rows, **asked, ref="b") == pytest.approx(of_a)
        assert metric(rows, **asked, ref="a") == pytest.approx(-of_a)
        # Of the two, equally far from 0, the lower.
        assert metric(rows, **asked, ref=pf.OVERALL) == pytest.approx(of_a)
        assert metric(rows, **asked, ref=pf.REST) == pytest.approx(of_a)


def test_one_stratum_is_demographic_disparity() -> None:
    asked = {**LABELLED, "strata": pl.lit(1)}
    found = fairness.conditional_demographic_disparity(ROWS, **asked, ref="b")
    assert found == pytest.approx(1 / 5 - 3 / 5)


def test_the_farthest_of_several_groups_that_are_not_the_reference() -> None:
    """Shares of the rejected minus those of the accepted: a 1/2 - 1/4, b 1/2 - 0, c 0 - 3/4."""
    rows = pl.DataFrame({"g": list("aabbaccc"), "y": [0, 0, 0, 0, 1, 1, 1, 1]})
    asked = {**LABELLED, "strata": pl.lit(1)}
    values = {None: 3 / 4, pf.OVERALL: -3 / 4, "a": -3 / 4, "b": -3 / 4, "c": 1 / 2}
    for ref, value in values.items():
        found = fairness.conditional_demographic_disparity(rows, **asked, ref=ref)
        assert found == pytest.approx(value), ref


def test_a_reference_that_a_slice_lacks() -> None:
    rows = pl.DataFrame({"d": list("xxyyy"), "g": list("abbcc"), "y": [0, 1, 0, 1, 1]})
    asked = {**LABELLED, "strata": pl.lit(1), "by": "d"}
    found = fairness.conditional_demographic_disparity(rows, **asked, ref="a")
    assert found.rows() == [("x", -1.0), ("y", None)]
    with pytest.raises(ValueError, match="is not among the groups"):
        fairness.conditional_demographic_disparity(rows, **asked, ref="z")
    with pytest.raises(TypeError, match="`ref=1` is int"):
        fairness.conditional_demographic_disparity(rows.lazy(), **asked, ref=1)


def test_nothing_to_compare_is_undefined() -> None:
    one = ROWS.filter(pl.col("g") == "a")
    for metric in (*APART, fairness.class_imbalance):
        for ref in (None, pf.REST):
            assert math.isnan(metric(one, **LABELLED, ref=ref)), (metric, ref)
        assert metric(one, **LABELLED, ref=pf.OVERALL) == 0.0, metric
    disparity, asked = fairness.conditional_demographic_disparity, {**LABELLED, "strata": "town"}
    for ref in (None, "a", pf.REST):
        assert math.isnan(disparity(one, **asked, ref=ref)), ref
    # Everyone is compared with everyone: but in town z none is rejected, which counts as 0.
    assert disparity(one, **asked, ref=pf.OVERALL) == pytest.approx((2 * -1 + 2 * 0) / 4)


def test_one_table_serves_all() -> None:
    everything = [*APART, fairness.class_imbalance, fairness.multiclass_stat_parity]
    values = pf.evaluate(ROWS, everything, **LABELLED, pred="y", ref="b")
    alone = [metric(ROWS, **LABELLED, pred="y", ref="b") for metric in everything]
    assert list(values.row(0)) == pytest.approx(alone)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="`p` is the order of a norm"):
        fairness.label_lp(ROWS.lazy(), **LABELLED, p=0.5)
    with pytest.raises(TypeError, match="needs the role `strata`"):
        fairness.conditional_demographic_disparity(ROWS.lazy(), **LABELLED)
    with pytest.raises(TypeError, match="`label` is String"):
        fairness.conditional_demographic_disparity(
            ROWS.lazy(), group="g", label="town", strata="town"
        )
    odd = ROWS.with_columns(pl.col("y") * 2)
    with pytest.raises(ValueError, match="`label` holds a value other than 0 and 1"):
        fairness.conditional_demographic_disparity(odd, **LABELLED, strata="town")
    lazy = fairness.conditional_demographic_disparity(odd.lazy(), **LABELLED, strata="town")
    with pytest.raises(InvalidOperationError, match="`label` holds a value other than 0 and 1"):
        lazy.collect()
    with pytest.raises(ValueError, match="is not among the groups"):
        fairness.label_kl(ROWS, **LABELLED, ref="z")


def test_stored_tables_with_weights_need_no_predictions() -> None:
    df = pl.DataFrame({"g": ["a", "a", "b"], "y": ["x", "z", "x"], "w": [1, 3, 2]})
    roles = {"group": "g", "label": "y", "weight": "w"}
    tables = [fairness.classes(part, **roles) for part in (df[:1], df[1:])]
    for metric in (fairness.label_kl, fairness.label_lp, fairness.class_imbalance):
        assert pf.measure(tables, metric, ref="a").item() == metric(df, **roles, ref="a")


def test_the_norm_of_infinite_order_is_the_largest_difference() -> None:
    largest = fairness.label_ks(ROWS, **LABELLED)
    assert fairness.label_lp(ROWS, **LABELLED, p=math.inf) == largest


def test_groups_without_weight_take_no_part_in_strata() -> None:
    rows = pl.DataFrame(
        {"g": ["a", "a", "z"], "y": [0, 1, 1], "s": ["x"] * 3, "w": [1.0, 2.0, 0.0]}
    )
    roles = {"group": "g", "label": "y", "strata": "s", "weight": "w"}
    assert math.isnan(fairness.conditional_demographic_disparity(rows, **roles))
