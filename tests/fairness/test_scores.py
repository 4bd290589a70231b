"""Scores: worked by hand, against scikit-learn and scipy, what bins may hide, and bad input."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import InvalidOperationError
from polars.testing import assert_frame_equal
from scipy import stats
from sklearn import calibration as sk_calibration
from sklearn import metrics as sk

import polarsfair as pf
from polarsfair import fairness
from tests.test_plans import in_memory_below_group_by, scans

draw = np.random.default_rng(7)
SIZE = 1500
LABEL = draw.integers(0, 2, SIZE)
ROWS = pl.DataFrame(
    {
        "g": draw.choice(["a", "b", "c"], SIZE),
        "y": LABEL,
        "s": (draw.beta(2, 2, SIZE) + 0.15 * LABEL).clip(0, 1),
        "tied": (draw.beta(2, 2, SIZE) + 0.15 * LABEL).clip(0, 1).round(2),
        "w": draw.integers(0, 4, SIZE),
        "d": draw.integers(0, 3, SIZE),
    }
)
ROLES = {"score": "s", "label": "y"}
RANKING = ("auc", "average_precision", "ks")


def exact(metric: pf.Metric, frame: pl.DataFrame = ROWS, **roles: Any) -> float:
    value: float = metric(frame, **(ROLES | roles), bins=None)
    return value


# scikit-learn and scipy


@pytest.mark.parametrize("score", ["s", "tied"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(
    ("metric", "reference"),
    [
        (fairness.auc, sk.roc_auc_score),
        (fairness.average_precision, sk.average_precision_score),
        (fairness.brier, sk.brier_score_loss),
        (fairness.log_loss, sk.log_loss),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_equals_scikit_learn(
    metric: pf.Metric, reference: Callable[..., float], score: str, weight: str | None
) -> None:
    weights = None if weight is None else ROWS[weight].to_numpy()
    theirs = reference(ROWS["y"].to_numpy(), ROWS[score].to_numpy(), sample_weight=weights)
    assert exact(metric, score=score, weight=weight) == pytest.approx(theirs, abs=1e-12, rel=0)


@pytest.mark.parametrize("metric", [fairness.brier, fairness.log_loss], ids=lambda m: m.name)
def test_sums_are_exact_in_any_bins(metric: pf.Metric) -> None:
    assert metric(ROWS, **ROLES, bins=3) == pytest.approx(exact(metric), abs=1e-12, rel=0)


def test_ks_equals_scipy() -> None:
    sides = [ROWS.filter(pl.col("y") == label)["s"].to_numpy() for label in (1, 0)]
    assert exact(fairness.ks) == pytest.approx(stats.ks_2samp(*sides).statistic, abs=1e-12)


def test_sure_and_wrong_costs_what_it_costs_in_scikit_learn() -> None:
    df = pl.DataFrame({"s": [0.0, 1.0, 1.0], "y": [1, 1, 0]})
    theirs = sk.log_loss(df["y"].to_numpy(), df["s"].to_numpy())
    assert df.pipe(fairness.log_loss, **ROLES) == pytest.approx(theirs, rel=1e-12)
    assert exact(fairness.log_loss, df) == pytest.approx(theirs, rel=1e-12)


def test_roc_equals_scikit_learn() -> None:
    ours = fairness.roc(ROWS, score="tied", label="y", weight="w", bins=None)
    weighed = ROWS.filter(pl.col("w") > 0)
    label, score, weight = (weighed[name].to_numpy() for name in ("y", "tied", "w"))
    theirs = sk.roc_curve(label, score, sample_weight=weight, drop_intermediate=False)
    for column, expected in zip(("fpr", "tpr", "threshold"), theirs, strict=True):
        np.testing.assert_allclose(ours[column].to_numpy(), expected, atol=1e-12)


def test_precision_recall_equals_scikit_learn() -> None:
    ours = fairness.precision_recall(ROWS, **ROLES, bins=None)
    precision, recall, threshold = sk.precision_recall_curve(ROWS["y"], ROWS["s"])
    # There the thresholds rise, and a last point is added.
    np.testing.assert_allclose(ours["threshold"].to_numpy(), threshold[::-1])
    np.testing.assert_allclose(ours["precision"].to_numpy(), precision[-2::-1], atol=1e-12)
    np.testing.assert_allclose(ours["recall"].to_numpy(), recall[-2::-1], atol=1e-12)


def test_calibration_equals_scikit_learn() -> None:
    ours = fairness.calibration(ROWS, **ROLES, calibration_bins=20)
    share, mean = sk_calibration.calibration_curve(ROWS["y"], ROWS["s"], n_bins=20)
    np.testing.assert_allclose(ours["positive_rate"].to_numpy(), share, atol=1e-12)
    np.testing.assert_allclose(ours["mean_score"].to_numpy(), mean, atol=1e-12)
    assert ours["n"].sum() == SIZE
    gaps = (ours["mean_score"] - ours["positive_rate"]).abs() * ours["n"]
    error = fairness.expected_calibration_error(ROWS, **ROLES, calibration_bins=20)
    assert error == pytest.approx(gaps.sum() / SIZE)


# what bins may hide


@pytest.mark.parametrize("bins", [1, 2, 10, 50, 1000, [0.0, 0.3, 0.31, 0.9, 1.0]])
@pytest.mark.parametrize("score", ["s", "tied"])
@pytest.mark.parametrize("name", RANKING)
def test_bounds_hold_the_exact_value(name: str, score: str, bins: Any) -> None:
    metric, error = getattr(fairness, name), getattr(fairness, f"{name}_error")
    roles = {"score": score, "label": "y", "by": ["d", "g"]}
    binned, bound, truth = (
        one(ROWS, **roles, **options)[one.name]
        for one, options in (
            (metric, {"bins": bins}),
            (error, {"bins": bins}),
            (metric, {"bins": None}),
        )
    )
    assert ((binned - truth).abs() <= bound + 1e-12).all()
    assert (bound > 0).any()


@pytest.mark.parametrize("bins", [2, 10, 50])
@pytest.mark.parametrize("ref", [None, "a", pf.OVERALL, pf.REST], ids=str)
def test_bounds_hold_the_exact_area_between_curves(ref: Any, bins: int) -> None:
    roles = {**ROLES, "group": "g", "ref": ref}
    apart = fairness.abroca(ROWS, **roles, bins=bins) - fairness.abroca(ROWS, **roles, bins=None)
    assert abs(apart) <= fairness.abroca_error(ROWS, **roles, bins=bins)


@pytest.mark.parametrize("name", [*RANKING, "abroca"])
def test_exact_scores_leave_no_error(name: str) -> None:
    error = getattr(fairness, f"{name}_error")
    assert error(ROWS, **ROLES, group="g", bins=None) == 0


@pytest.mark.parametrize("bins", [3, 7, 10, 97, 1000, 4096])
def test_a_bin_begins_at_its_edge_to_the_last_bit(bins: int) -> None:
    edges = np.arange(bins + 1) / bins
    values = np.concatenate([edges, np.nextafter(edges, -1)[1:], np.nextafter(edges, 2)[:-1]])
    table = fairness.scores(
        pl.DataFrame({"s": values}), score="s", bins=bins, by=pl.col("s").alias("v")
    )
    assert ((table["low"] <= table["v"]) & (table["v"] <= table["high"])).all()
    inside = table.filter(pl.col("low") < pl.col("high"))
    assert (inside["v"] < inside["high"]).all()
    assert table.filter(pl.col("v") == 1)["low"].to_list() == [1.0]


@pytest.mark.parametrize("bins", [3, 10, 97, 1000, 4096, 10**6])
def test_single_precision_scores_fall_into_the_same_bins(bins: int) -> None:
    near = (np.arange(bins + 1) / bins)[:: max(1, bins // 500)].astype(np.float32)
    values = np.concatenate([near, np.nextafter(near, np.float32(-1)), [np.float32(1e-30)]])
    single = pl.DataFrame({"s": values[(values >= 0) & (values <= 1)]})
    assert single.schema["s"] == pl.Float32
    tables = [
        fairness.scores(frame, score="s", bins=bins, by=pl.col("s").cast(pl.Float64).alias("v"))
        for frame in (single, single.cast(pl.Float64))
    ]
    assert tables[0].sort("v").equals(tables[1].sort("v"))
    for outside in (-1e-30, 1.0000001, 3e38):
        with pytest.raises(ValueError, match="outside the bins"):
            fairness.scores(pl.DataFrame({"s": np.array([outside], "f4")}), score="s", bins=bins)


def test_a_score_outside_the_bins_that_weighs_nothing_is_one_all_the_same() -> None:
    df = pl.DataFrame({"s": [0.5, 1e300], "y": [0, 1], "w": [1, 0]})
    with pytest.raises(ValueError, match="outside the bins"):
        fairness.auc(df, **ROLES, weight="w")


def test_tables_of_different_bins_do_not_mix() -> None:
    # Every edge of 10 bins is one of 20.
    for other in (15, 20):
        tables = [fairness.scores(ROWS, **ROLES, bins=bins) for bins in (10, other)]
        with pytest.raises(ValueError, match="different bins"):
            pf.measure(tables, fairness.auc)
    fine = [fairness.scores(half, **ROLES, bins=10) for half in (ROWS[:700], ROWS[700:])]
    assert pf.measure(fine, fairness.auc).item() == fairness.auc(ROWS, **ROLES, bins=10)


# by hand


def test_auc_counts_ties_half() -> None:
    df = pl.DataFrame({"s": [0.5, 0.5, 0.9, 0.1], "y": [1, 0, 1, 0]})
    assert fairness.auc(df, **ROLES) == (0.5 + 1 + 1 + 1) / 4
    assert fairness.gini(df, **ROLES) == 0.75


def test_one_class_is_undefined() -> None:
    df = pl.DataFrame({"g": ["a", "a", "b", "b"], "s": [0.1, 0.2, 0.3, 0.4], "y": [1, 1, 0, 1]})
    values = pf.by_group(df, [fairness.auc, fairness.ks, fairness.gini], group="g", **ROLES)
    assert values.filter(pl.col("group") == "a")["value"].null_count() == 3
    assert math.isnan(fairness.abroca(df, group="g", **ROLES))
    assert math.isnan(pf.difference(fairness.auc)(df, group="g", **ROLES))


def test_curves_that_cross() -> None:
    # One curve rises at once to a half and then at the end, the other in the middle: triangles of
    # an eighth, crossing at (1/2, 1/2); both have an AUC of a half.
    rows = [("a", 3, 1), ("a", 2, 0), ("a", 2, 0), ("a", 1, 1), ("b", 2, 1), ("b", 2, 0)]
    df = pl.DataFrame(rows, schema=["g", "s", "y"], orient="row")
    roles = {"group": "g", **ROLES, "bins": None}
    assert pf.difference(fairness.auc)(df, **roles) == 0
    assert fairness.abroca(df, **roles) == pytest.approx(1 / 4)


def test_abroca_equals_a_fine_integration() -> None:
    at = np.linspace(0, 1, 200_001)
    curves = []
    for group in ("a", "b"):
        part = ROWS.filter(pl.col("g") == group)
        fpr, tpr, _ = sk.roc_curve(part["y"], part["s"])
        curves.append(np.interp(at, fpr, tpr))
    area = np.abs(curves[0] - curves[1]).mean()
    two = ROWS.filter(pl.col("g") != "c")
    ours = fairness.abroca(two, group="g", **ROLES, bins=None)
    assert ours == pytest.approx(area, abs=1e-4)


DECISIONS = [
    fairness.stat_parity,
    fairness.equalized_odds,
    fairness.f1,
    fairness.base_rate,
    fairness.generalized_entropy,
]


@pytest.mark.parametrize("bins", [None, 20])
@pytest.mark.parametrize("ref", [None, "a", pf.REST], ids=str)
def test_thresholds_equal_evaluating_each(bins: int | None, ref: Any) -> None:
    holes = ROWS.with_columns(
        pl.when(pl.col("w") > 0).then("s"), pl.when(pl.col("d") > 0).then("y")
    )
    roles = {"group": "g", "label": "y", "weight": "w", "by": "d", "ref": ref}
    at = [0.0, 0.25, 0.5, 0.95, 1.0]
    frame = fairness.thresholds(holes, DECISIONS, score="s", bins=bins, at=at, **roles)
    for threshold in at:
        alone = pf.evaluate(holes, DECISIONS, pred=pl.col("s") >= threshold, **roles)
        here = frame.filter(pl.col("threshold") == threshold).drop("threshold")
        assert here.equals(alone.select(here.columns)) or (
            here.select(pl.col(pl.Float64)) - alone.select(pl.col(pl.Float64))
        ).select(pl.all().abs().max() < 1e-12).row(0) == (True,) * len(DECISIONS)


def test_thresholds_from_a_stored_table() -> None:
    table = fairness.scores(ROWS, **ROLES, group="g", by="d")
    ours = fairness.thresholds(table, fairness.stat_parity, by="d")
    assert ours.equals(fairness.thresholds(ROWS, fairness.stat_parity, **ROLES, group="g", by="d"))
    lazy = fairness.thresholds(table.lazy(), fairness.stat_parity, by="d")
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect(engine="streaming").equals(ours)


# bad input, eager and lazy


BAD: dict[str, tuple[dict[str, Any], Callable[..., Any], str]] = {
    "outside the bins": ({"s": [0.5, 1.5], "y": [0, 1]}, fairness.auc, "outside the bins, 0 to 1"),
    "just above": ({"s": [0.5, 1.0004], "y": [0, 1]}, fairness.auc, "outside the bins, 0 to 1"),
    "above to the last bit": (
        {"s": [0.5, math.nextafter(1, 2)], "y": [0, 1]},
        fairness.auc,
        "outside the bins, 0 to 1",
    ),
    "above the edges": (
        {"s": [0.5, math.nextafter(1, 2)], "y": [0, 1]},
        lambda df, **roles: fairness.auc(df, **roles, bins=[0, 0.5, 1]),
        "outside the bins, 0 to 1",
    ),
    "below the bins": ({"s": [0.5, -1e-9], "y": [0, 1]}, fairness.auc, "outside the bins, 0 to 1"),
    "infinite": ({"s": [0.5, math.inf], "y": [0, 1]}, fairness.auc, "outside the bins, 0 to 1"),
    "label": ({"s": [0.5, 0.5], "y": [0, 2]}, fairness.auc, "`label` holds a value other than"),
    "weight": (
        {"s": [0.5, 0.5], "y": [0, 1], "w": [1, -1]},
        lambda df, **roles: fairness.auc(df, **roles, weight="w"),
        "`weight` holds a value",
    ),
    "no probability": (
        {"s": [0.5, 1.5], "y": [0, 1]},
        lambda df, **roles: fairness.brier(df, **roles, bins=None),
        "needs a probability",
    ),
    "no probability in edges": (
        {"s": [0.5, 1.5], "y": [0, 1]},
        lambda df, **roles: fairness.log_loss(df, **roles, bins=[-1, 2]),
        "needs a probability",
    ),
    "calibration across bins": (
        {"s": [1 / 7, 0.6], "y": [0, 1]},
        lambda df, **roles: fairness.expected_calibration_error(df, **roles, calibration_bins=7),
        "does not fall on the edges",
    ),
    "threshold in a bin": (
        {"s": [0.5, 0.6], "y": [0, 1]},
        lambda df, **roles: fairness.thresholds(df, fairness.f1, **roles, bins=10, at=[0.55]),
        "inside a bin",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows(name: str) -> None:
    columns, call, words = BAD[name]
    df = pl.DataFrame(columns)
    with pytest.raises(ValueError, match=words):
        call(df, **ROLES)
    lazy = call(df.lazy(), **ROLES)
    with pytest.raises(InvalidOperationError, match=words):
        lazy.collect()


def test_nan_scores_are_unknown() -> None:
    known = pl.DataFrame({"s": [0.2, 0.8, 0.4], "y": [0, 1, 1]})
    more = pl.concat([known, pl.DataFrame({"s": [math.nan, None], "y": [1, 0]})])
    for name in (*RANKING, "brier", "log_loss", "expected_calibration_error"):
        metric = getattr(fairness, name)
        assert metric(more, **ROLES) == metric(known, **ROLES)
    assert fairness.scores(more, **ROLES)["n"].sum() == 5


def test_any_number_may_rank() -> None:
    shifted = ROWS.with_columns(pl.col("s") * 30 - 7)
    assert exact(fairness.auc, shifted) == exact(fairness.auc)


@pytest.mark.parametrize(
    "bins", [0, -1, 2.5, [0.5], [0, 0], [1, 0], ["a", "b"], "ten", [0, math.nan]]
)
def test_bad_bins(bins: Any) -> None:
    with pytest.raises(ValueError, match="`bins` is a number of equal bins"):
        fairness.auc(ROWS.lazy(), **ROLES, bins=bins)


@pytest.mark.parametrize("at", [0.5, "half", ["half"], [math.nan]])
def test_bad_thresholds(at: Any) -> None:
    with pytest.raises(ValueError, match="`at` is a list of thresholds"):
        fairness.thresholds(ROWS.lazy(), fairness.f1, **ROLES, at=at)


@pytest.mark.parametrize("count", [0, 2.5, "ten"])
def test_bad_calibration_bins(count: Any) -> None:
    for call in (fairness.calibration, fairness.expected_calibration_error):
        with pytest.raises(ValueError, match="`calibration_bins` is a number of bins"):
            call(ROWS.lazy(), **ROLES, calibration_bins=count)


def test_two_kinds_of_bins_in_one_call() -> None:
    found = pf.evaluate(ROWS, [fairness.auc.bind(bins=10), fairness.ks], **ROLES)
    assert found["auc"].item() == fairness.auc(ROWS, **ROLES, bins=10)
    assert found["ks"].item() == fairness.ks(ROWS, **ROLES)


def test_bad_calls() -> None:
    with pytest.raises(TypeError, match="`score` is String, not a number"):
        fairness.auc(ROWS.lazy(), score="g", label="y")
    with pytest.raises(TypeError, match="needs the role `label`"):
        fairness.auc(ROWS.lazy(), score="s")
    with pytest.raises(TypeError, match="metrics of decisions"):
        fairness.thresholds(ROWS, fairness.auc, **ROLES)
    with pytest.raises(TypeError, match="the role `label` is needed"):
        fairness.roc(ROWS, score="s")
    with pytest.raises(ValueError, match=r"table of `fairness\.scores`"):
        fairness.roc(ROWS)
    with pytest.raises(ValueError, match="is not among the groups"):
        fairness.abroca(ROWS, **ROLES, group="g", ref="z")
    with pytest.raises(ValueError, match="two columns would be called"):
        fairness.roc(ROWS, **ROLES, by=pl.col("d").alias("fpr"))


# slices of any name


SLICED: dict[str, Callable[..., pl.DataFrame]] = {
    "metrics": lambda **more: pf.evaluate(
        ROWS, [fairness.auc, fairness.abroca, fairness.brier], **ROLES, group="g", **more
    ),
    "roc": lambda **more: fairness.roc(ROWS, **ROLES, group="g", bins=10, **more),
    "precision_recall": lambda **more: fairness.precision_recall(ROWS, **ROLES, bins=10, **more),
    "calibration": lambda **more: fairness.calibration(ROWS, **ROLES, group="g", **more),
    "thresholds": lambda **more: fairness.thresholds(
        ROWS, fairness.stat_parity, **ROLES, group="g", bins=10, at=[0.5], **more
    ),
    "outcomes": lambda **more: pf.evaluate(
        ROWS, [fairness.mean_difference, fairness.rmse_ratio], group="g", pred="s", **TIED, **more
    ),
    "weighted outcomes": lambda **more: fairness.rmse_ratio(
        ROWS, group="g", pred="s", **TIED, weight="w", **more
    ),
}
TIED = {"label": "tied"}
INNER = "bin log pos neg wide size total positives negatives pos_down calibration_bin stop rejected"
INNER += " area side sum pred_var sum_var pred_centre pred_1 product squares losses kept"


@pytest.mark.parametrize("name", SLICED)
def test_a_slice_may_be_called_like_a_column_made_on_the_way(name: str) -> None:
    plain = SLICED[name](by="d")
    for inner in INNER.split():
        renamed = SLICED[name](by=pl.col("d").alias(inner))
        assert_frame_equal(renamed.rename({inner: "d"}), plain)


@pytest.mark.parametrize("taken", ["low", "high", "s", "n", "w", "score", "label", "group"])
def test_a_slice_may_not_be_called_like_a_role_or_a_sum(taken: str) -> None:
    by = pl.col("d").alias(taken)
    for name in ("metrics", "roc", "calibration", "thresholds"):
        with pytest.raises(ValueError, match="slice cannot be named"):
            SLICED[name](by=by)


@pytest.mark.parametrize("taken", ["pred_mean", "pred_m2", "abs_error", "label", "predicted"])
def test_a_slice_may_not_be_called_like_a_moment(taken: str) -> None:
    with pytest.raises(ValueError, match="slice cannot be named"):
        SLICED["outcomes"](by=pl.col("d").alias(taken))


# where it runs


PLANS: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "bins": lambda lf: fairness.scores(lf, group="g", score="s", label="y", weight="w", by="d"),
    "edges": lambda lf: fairness.scores(lf, group="g", score="s", label="y", bins=[0, 0.5, 1]),
    "exact": lambda lf: fairness.scores(lf, group="g", score="s", label="y", bins=None),
    "thresholds": lambda lf: fairness.thresholds(
        lf, fairness.stat_parity, group="g", score="s", label="y"
    ),
    "roc": lambda lf: fairness.roc(lf, group="g", score="s", label="y"),
    "outcomes": lambda lf: fairness.outcomes(lf, group="g", pred="s", label="y"),
    "outcomes in bins": lambda lf: fairness.outcome_bins(lf, group="g", pred="s", label="y"),
    "strata": lambda lf: fairness.strata(lf, group="g", label="y", strata="d"),
    "every score metric": lambda lf: pf.evaluate(
        lf,
        [metric for metric in pf.metrics() if metric.tally is fairness.scores],
        **ROLES,
        group="g",
        by="d",
        ref="a",
    ),
    "every metric of outcomes": lambda lf: pf.evaluate(
        lf,
        [metric for metric in pf.metrics() if metric.tally is fairness.outcome_bins],
        group="g",
        pred="s",
        by="d",
        ref=pf.REST,
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_rows_stay_on_the_streaming_engine_and_are_read_once(name: str, tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    plan = PLANS[name](pl.scan_parquet(tmp_path / "rows.parquet"))
    assert in_memory_below_group_by(plan) == []
    assert scans(plan) == 1


def test_weighted_outcomes_read_the_rows_twice_and_hold_none(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    lake = pl.scan_parquet(tmp_path / "rows.parquet")
    plan = fairness.outcomes(lake, group="g", pred="s", label="y", weight="w", by="d")
    assert in_memory_below_group_by(plan) == []
    assert scans(plan) == 2


@pytest.mark.parametrize("weight", [1, 0.5])
def test_the_bound_of_the_average_precision_counts_a_single_negative(weight: float) -> None:
    """One negative in the bin, of weight 1 or less, which may be above all positives."""
    df = pl.DataFrame({"p": [0.9] * 6, "y": [0, 1, 1, 1, 1, 1], "w": [weight, *[1] * 5]})
    middle = 5 / (5 + weight)
    lowest = 1 - weight / 5 * math.log((5 + weight) / weight)
    assert middle - lowest > 1 - middle
    found = fairness.average_precision_error(df, score="p", label="y", weight="w", bins=1)
    assert found == pytest.approx(middle - lowest)
    # With the negative on top, the average precision of the scores is within the bound.
    worst = df.with_columns(p=pl.Series([0.9, 0.8, 0.7, 0.6, 0.5, 0.4]))
    exact = fairness.average_precision(worst, score="p", label="y", weight="w", bins=None)
    assert middle - found <= exact < middle


def test_calibration_leaves_out_rows_without_a_score_or_a_label() -> None:
    rows = pl.DataFrame({"s": [0.1, 0.9, None, 0.4], "y": [0, 1, 1, None]})
    found = fairness.calibration(rows, score="s", label="y", calibration_bins=2)
    assert found["n"].to_list() == [1, 1]
    assert found["positive_rate"].to_list() == [0.0, 1.0]
