"""Outcomes that are real numbers: by hand, against NumPy, what bins may hide, and bad input."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import InvalidOperationError

import polarsfair as pf
from polarsfair import fairness

draw = np.random.default_rng(11)
SIZE = 400
ROWS = pl.DataFrame(
    {
        "g": draw.choice(["a", "b", "c"], SIZE),
        "x": draw.normal(0, 1, SIZE).round(2),
        "y": draw.normal(0, 1, SIZE),
        "w": draw.integers(0, 4, SIZE),
        "d": draw.integers(0, 2, SIZE),
    }
)
ROLES = {"group": pl.col("g") == "a", "pred": "x", "label": "y", "ref": False}
EDGES = [-5.0, -1.0, -0.3, 0.0, 0.2, 0.6, 1.0, 5.0]


def kept(q: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of both sides at or above NumPy's quantile."""
    above = ROWS.filter(pl.col("x") >= np.quantile(ROWS["x"], q))
    return above.filter(pl.col("g") == "a"), above.filter(pl.col("g") != "a")


@pytest.mark.parametrize("q", [0, 0.1, 1 / 3, 0.5, 0.8])
def test_rows_kept_are_those_of_numpy(q: float) -> None:
    own, other = kept(q)
    sizes = [ROWS.filter((pl.col("g") == "a") == side).height for side in (True, False)]
    shares = own.height / sizes[0], other.height / sizes[1]
    roles = {**ROLES, "q": q}
    assert fairness.quantile_stat_parity(ROWS, **roles) == pytest.approx(shares[0] - shares[1])
    assert fairness.quantile_disparate_impact(ROWS, **roles) == pytest.approx(shares[0] / shares[1])
    means = [side["x"].to_numpy().mean() for side in (own, other)]
    assert fairness.mean_difference(ROWS, **roles) == pytest.approx(means[0] - means[1])
    assert fairness.mean_ratio(ROWS, **roles) == pytest.approx(means[0] / means[1])
    r = [np.corrcoef(side["x"], side["y"])[0, 1] for side in (own, other)]
    assert fairness.correlation_difference(ROWS, **roles) == pytest.approx(r[0] - r[1])
    e = [(side["x"] - side["y"]).to_numpy() for side in (own, other)]
    rmse = [math.sqrt((side**2).mean()) for side in e]
    assert fairness.rmse_ratio(ROWS, **roles) == pytest.approx(rmse[0] / rmse[1])
    mae = [abs(side).mean() for side in e]
    assert fairness.mae_ratio(ROWS, **roles) == pytest.approx(mae[0] / mae[1])


def test_weights_move_the_quantile() -> None:
    repeated = ROWS.select(pl.all().repeat_by("w")).explode(pl.all(), empty_as_null=False)
    for metric in (fairness.quantile_stat_parity, fairness.mean_difference.bind(q=0.7)):
        alone = metric(repeated, **ROLES)
        assert metric(ROWS, **ROLES, weight="w") == pytest.approx(alone)
        assert alone != pytest.approx(metric(ROWS, **ROLES))


@pytest.mark.parametrize("ref", [None, False, pf.OVERALL, pf.REST], ids=str)
@pytest.mark.parametrize("q", [0.25, 0.5, 0.8])
def test_bins_stay_within_their_bound(q: float, ref: Any) -> None:
    roles = {**ROLES, "ref": ref, "q": q}
    binned, exact = (
        abs(fairness.quantile_stat_parity(ROWS, **roles, bins=bins)) for bins in (EDGES, None)
    )
    bound = fairness.quantile_stat_parity_error(ROWS, **roles, bins=EDGES)
    assert 0 < abs(binned - exact) <= bound
    assert fairness.quantile_stat_parity_error(ROWS, **roles) == 0


def test_unknown_groups_count_in_the_quantile() -> None:
    df = pl.DataFrame({"g": ["a", "a", "b", "b", None, None], "x": [1, 2, 3, 4, 9, 9]})
    assert fairness.quantile_stat_parity(df, group="g", pred="x") == 0.5
    known = df.drop_nulls()
    assert fairness.quantile_stat_parity(known, group="g", pred="x") == 1.0


def test_moments_hold_far_from_zero() -> None:
    far = ROWS.with_columns(pl.col("x", "y") + 1e8)
    for weight in (None, "w"):
        for metric in (fairness.z_score_difference, fairness.correlation_difference):
            here = metric(ROWS, **ROLES, weight=weight)
            assert metric(far, **ROLES, weight=weight) == pytest.approx(here, rel=1e-6)
    roles = {"group": "g", "pred": "x", "label": "y"}
    halves = [fairness.outcomes(half, **roles) for half in (far[:90], far[90:])]
    merged = pf.measure(halves, fairness.correlation_difference, ref="a").item()
    whole = fairness.correlation_difference(far, **roles, ref="a")
    assert merged == pytest.approx(whole, rel=1e-6)


def test_by_group_counts_the_rows_that_could_be_used() -> None:
    rows = pl.DataFrame(
        {"g": list("aaabb"), "x": [1.0, None, 3.0, 4.0, math.nan], "y": [1.0, 2.0, None, 2.0, 3.0]}
    )
    found = pf.by_group(rows, fairness.jain_index, group="g", pred="x", label="y")
    assert found["n"].to_list() == [1, 1]


def test_infinite_predictions_are_infinite_or_undefined_never_zero() -> None:
    rows = pl.DataFrame(
        {
            "g": list("aabbcc"),
            "x": [math.inf, 1.0, 2.0, 3.0, math.inf, -math.inf],
            "y": [1.0, 2.0, 2.0, 5.0, 1.0, 1.0],
            "w": [2, 1, 1, 1, 3, 1],
        }
    )
    mean = fairness.mean_difference
    roles: dict[str, Any] = {"group": "g", "pred": "x", "label": "y"}
    twice = rows.select(pl.all().repeat_by("w").explode(empty_as_null=True))
    for frame, more in ((twice, {}), (rows, {"weight": "w"})):
        by_group = {g: frame.filter(pl.col("g").is_in([g, "b"])) for g in "ac"}
        assert mean(by_group["a"], **roles, **more, ref="b") == math.inf
        assert math.isnan(mean(by_group["c"], **roles, **more, ref="b"))
        assert math.isnan(fairness.z_score_difference(by_group["a"], **roles, **more, ref="b"))
        assert math.isnan(fairness.correlation_difference(by_group["a"], **roles, **more, ref="b"))
        halves = [fairness.outcomes(half, **roles, **more) for half in (frame[:1], frame[1:])]
        assert pf.measure(halves, mean, ref="b")["mean_difference"].to_list() == [math.inf]
    only = rows.with_columns(x=math.inf)
    for weight in (None, "w"):
        assert math.isnan(mean(only, **roles, weight=weight, ref="b"))
    # Nobody is there with weight 0, and a row below the quantile is not kept.
    gone = rows.filter(pl.col("g") != "c").with_columns(w=pl.Series([0, 1, 1, 1]))
    assert mean(gone, **roles, weight="w", ref="b") == -1.5
    low = rows.with_columns(x=pl.Series([-math.inf, 4.0, 2.0, 3.0, 0.0, 1.0]))
    assert mean(low.filter(pl.col("g") != "c"), **roles, q=0.5, ref="b") == 1.0


def test_levels_equal_a_loop() -> None:
    x, own = ROWS["x"].to_numpy(), (ROWS["g"] == "a").to_numpy()
    cuts = np.quantile(x, np.linspace(1, 0, 150))
    gaps = [abs((x[own] >= t).mean() - (x[~own] >= t).mean()) for t in cuts]
    roles = {name: ROLES[name] for name in ("group", "pred", "ref")}
    assert fairness.statistical_parity_auc(ROWS, **roles) == pytest.approx(np.mean(gaps))
    assert fairness.max_statistical_parity(ROWS, **roles) == pytest.approx(max(gaps))


def test_constant_predictions() -> None:
    df = ROWS.with_columns(x=pl.lit(0.1))
    for weight in (None, "w"):
        roles = {**ROLES, "weight": weight}
        assert math.isnan(fairness.correlation_difference(df, **roles))
        assert math.isnan(fairness.z_score_difference(df, **roles))
        assert fairness.mean_difference(df, **roles) == pytest.approx(0, abs=1e-15)
        assert fairness.quantile_disparate_impact(df, **roles) == 1
        assert fairness.no_disparate_impact_level(df, **roles) == 0.1


def test_success_rate_is_the_selection_rate_of_an_expression() -> None:
    above = pl.col("x") > pl.col("x").median()
    rates = pf.by_group(ROWS, fairness.selection_rate, group="g", pred=above)
    expected = (
        ROWS.group_by("g").agg(above_median=(pl.col("x") > ROWS["x"].median()).mean()).sort("g")
    )
    assert rates["value"].to_list() == expected["above_median"].to_list()


def test_a_table_without_bins_has_no_quantiles() -> None:
    table = fairness.outcomes(ROWS, group="g", pred="x")
    with pytest.raises(ValueError, match=r"fairness\.outcome_bins"):
        pf.measure(table, fairness.mean_difference, q=0.5)
    binned = fairness.outcome_bins(ROWS, group="g", pred="x")
    value = pf.measure(binned, fairness.mean_difference, q=0.5).item()
    assert value == pytest.approx(fairness.mean_difference(ROWS, group="g", pred="x", q=0.5))


@pytest.mark.parametrize("q", [-0.1, 1.1, "half", math.nan])
def test_bad_levels(q: Any) -> None:
    with pytest.raises(ValueError, match="`q` is a level from 0 to 1"):
        fairness.quantile_stat_parity(ROWS.lazy(), group="g", pred="x", q=q)


def test_bad_input() -> None:
    with pytest.raises(TypeError, match="`pred` is String, not a number"):
        fairness.mean_difference(ROWS.lazy(), group="g", pred="g")
    with pytest.raises(TypeError, match="needs the role `label`"):
        fairness.rmse_ratio(ROWS.lazy(), group="g", pred="x")
    with pytest.raises(ValueError, match="outside the bins, 0 to 1"):
        fairness.quantile_stat_parity(ROWS, group="g", pred="x", bins=10)
    lazy = fairness.quantile_stat_parity(ROWS.lazy(), group="g", pred="x", bins=10)
    with pytest.raises(InvalidOperationError, match="outside the bins, 0 to 1"):
        lazy.collect()
    with pytest.raises(ValueError, match="`levels` is a number of levels"):
        fairness.max_statistical_parity(ROWS, group="g", pred="x", levels=1)


@pytest.mark.parametrize("weight", [None, "w"], ids=["rows", "weights"])
def test_a_mean_that_is_rounding_of_its_sum_is_0(weight: str | None) -> None:
    """Predictions that cancel out: the ratio was -inf or about -1e14, from run to run."""
    number = pl.int_range(40_000)
    half = pl.DataFrame({"id": range(40_000)}).select(
        g=pl.lit("r"), v=(number * 0.7).sin() + 0.1, w=0.3 + (number % 7) / 10
    )
    other = half.with_columns(g=pl.lit("a"), v=pl.col("v") + 3)
    rows = pl.concat([half, half.with_columns(-pl.col("v")), other])
    asked = {"group": "g", "pred": "v", "weight": weight}
    for part in (rows, rows.reverse(), rows.sample(fraction=1.0, shuffle=True, seed=1)):
        assert fairness.mean_ratio(part, **asked, ref="r") == math.inf
        assert fairness.mean_ratio(part, **asked) == 0.0
        assert fairness.mean_ratio(part, **asked, ref="a") == 0.0
    tables = [fairness.outcomes(part, **asked) for part in (rows[:50_000], rows[50_000:])]
    assert pf.measure(tables, [fairness.mean_ratio], ref="r").item() == math.inf
    # A mean that is more than rounding stays.
    small = rows.with_columns(v=pl.col("v") + pl.when(pl.col("g") == "r").then(1e-8).otherwise(0.0))
    assert fairness.mean_ratio(small, **asked, ref="r") == pytest.approx(3.1e8, rel=0.02)
    assert fairness.mean_difference(rows, **asked, ref="r") == pytest.approx(3.1, rel=0.02)


def test_a_constant_has_no_correlation_and_no_spread() -> None:
    rows = pl.DataFrame(
        {"g": ["a"] * 3 + ["b"] * 3, "p": [0.1] * 3 + [0.2, 0.5, 0.9], "y": [1.0, 2.0, 4.0] * 2}
    )
    roles = {"group": "g", "pred": "p", "label": "y"}
    assert math.isnan(fairness.correlation_difference(rows, **roles))
    both = rows.with_columns(p=pl.lit(0.1), y=pl.lit(0.3))
    assert math.isnan(fairness.correlation_difference(both, **roles))


def test_rounding_is_no_spread_of_all_groups_together() -> None:
    """Among 100 constant groups, the spread of group 0 is rounding if it is below 1e-13."""
    rows = pl.DataFrame({"g": range(101)}).join(
        pl.DataFrame({"x": [0, 1, 0, 1], "y": [1, 2, 1, 2]}), how="cross"
    )
    varies = pl.col("x") * (pl.col("g") == 0)
    roles = {"group": "g", "label": "y", "ref": pf.OVERALL}
    for step, spread, known in ((1e-12, 7e-14, False), (1e-11, 7e-13, True)):
        pred = rows.select(step * varies).to_series()
        assert pred.std(ddof=0) == pytest.approx(spread, rel=0.01)
        found = fairness.correlation_difference(rows, pred=1 + step * varies, **roles)
        assert math.isnan(found) is not known
