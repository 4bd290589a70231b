"""Numbers at the edge of floats (10), and many clusters (14)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import polarsfair as pf
from polarsfair import clustering

DRAW = np.random.default_rng(7)
LABELS = DRAW.integers(0, 4, 200)
NEAR = DRAW.normal(size=(200, 3)) + LABELS[:, None] * 3

METRICS: dict[str, Any] = {
    "calinski_harabasz": clustering.calinski_harabasz,
    "davies_bouldin": clustering.davies_bouldin,
    "davies_bouldin of means": clustering.davies_bouldin.bind(dispersion="mean"),
    "silhouette": clustering.silhouette,
    "silhouette of squares": clustering.silhouette.bind(metric="sqeuclidean"),
    "xie_beni": clustering.xie_beni,
}
every_metric = pytest.mark.parametrize("name", METRICS)


def points(values: np.ndarray[Any, Any], labels: np.ndarray[Any, Any] = LABELS) -> pl.DataFrame:
    return pl.DataFrame({"c": labels, **{f"x{i}": column for i, column in enumerate(values.T)}})


def value(name: str, frame: pl.DataFrame | pl.LazyFrame) -> float:
    features = [one for one in frame.collect_schema().names() if one != "c"]
    found = pf.evaluate(frame, [METRICS[name]], cluster="c", features=features)
    table = found.collect() if isinstance(found, pl.LazyFrame) else found
    number = table.item()
    return math.nan if number is None else number


@every_metric
@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12, -1e12])
def test_10_an_offset_changes_nothing(name: str, offset: float) -> None:
    far = NEAR + offset
    back = far - offset  # exact: the same floats, shifted
    expected = value(name, points(back))
    assert value(name, points(far)) == pytest.approx(expected, rel=1e-6)
    assert value(name, points(far).lazy()) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["calinski_harabasz", "davies_bouldin", "xie_beni"])
def test_10_an_offset_changes_nothing_in_merged_tables(name: str) -> None:
    far = NEAR + 1e12
    frame, features = points(far), ["x0", "x1", "x2"]
    parts = [
        clustering.moments(part, cluster="c", features=features)
        for part in (frame[:30], frame[30:31], frame[31:])
    ]
    expected = value(name, points(far - 1e12))
    assert pf.measure(parts, [METRICS[name]]).item() == pytest.approx(expected, rel=1e-6)


@every_metric
@pytest.mark.parametrize("offset", [1e17, 1e18, 1e19])
def test_10_lost_spread_is_undefined(name: str, offset: float) -> None:
    far = NEAR + offset
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = value(name, points(far))
    # Floats that rounding left apart have the value of their own differences; else there is none.
    assert math.isnan(found) or found == pytest.approx(value(name, points(far - offset)), rel=1e-6)
    assert found not in (0, 1, math.inf)
    assert math.isnan(found) or offset < 1e19


@every_metric
@pytest.mark.parametrize("scale", [1e150, 1e200, 1e-150, 1e-200])
def test_10_scales_are_right_or_undefined(name: str, scale: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = value(name, points(NEAR * scale))
    assert math.isnan(found) or found == pytest.approx(value(name, points(NEAR)), rel=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e9, 1e12, 1e17, 1e19])
@pytest.mark.parametrize("power", [0, 332, 498, 664, -332, -498, -664])
def test_10_ball_hall_is_right_or_undefined(offset: float, power: int) -> None:
    """It grows with the square of the scale, which overflows or vanishes before the scale does."""
    far, scale = NEAR + offset, 2.0**power
    back = far - offset
    parts = [back[np.flatnonzero(c == LABELS)] for c in range(4)]
    spreads = [((part - part.mean(axis=0)) ** 2).sum(axis=1).mean() for part in parts]
    found = clustering.ball_hall(points(far * scale), cluster="c", features=["x0", "x1", "x2"])
    assert math.isnan(found) or found == pytest.approx(float(np.mean(spreads)) * scale**2, rel=1e-5)
    if offset < 1e13 and abs(power) < 400:
        assert not math.isnan(found)


def test_10_points_that_really_coincide_keep_their_values() -> None:
    exact = points(np.repeat([[0.0, 0.0], [3.0, 4.0]], 5, axis=0), np.repeat([0, 1], 5))
    assert value("davies_bouldin", exact) == 0
    assert value("silhouette", exact) == 1
    assert value("calinski_harabasz", exact) == math.inf
    assert value("xie_beni", exact) == 0
    assert clustering.ball_hall(exact, cluster="c", features=["x0", "x1"]) == 0


def test_14_many_clusters_take_linear_memory() -> None:
    size = 3_000
    draw = np.random.default_rng(1)
    frame = points(draw.normal(size=(2 * size, 1)), np.arange(2 * size) % size)
    found = value("davies_bouldin", frame)
    few = frame.filter(pl.col("c") < 300)
    means = few.group_by("c").agg(pl.col("x0").mean(), s=(pl.col("x0").var(ddof=0)).sqrt())
    m, s = means["x0"].to_numpy(), means["s"].to_numpy()
    gaps = abs(m[:, None] - m)
    np.fill_diagonal(gaps, np.inf)
    expected = ((s[:, None] + s) / gaps).max(axis=1).mean()
    assert value("davies_bouldin", few) == pytest.approx(expected)
    assert found > 0


def test_14_too_many_clusters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polarsfair.clustering._internal.cluster_pairs.MOST_CLUSTERS", 10)
    frame = points(DRAW.normal(size=(40, 1)), np.arange(40) % 20)
    for rows in (frame, frame.lazy()):
        with pytest.raises(ValueError, match=r"there are 20 clusters in a slice; the limit is 10"):
            value("davies_bouldin", rows)


OF_POINTS = [
    metric
    for metric in pf.metrics()
    if "features" in metric.roles and metric.family == "clustering"
]


@pytest.mark.parametrize("metric", OF_POINTS, ids=[m.name for m in OF_POINTS])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_10_features_that_are_not_finite_are_refused(
    metric: pf.Metric, weight: str | None, bad: float
) -> None:
    rows = pl.DataFrame({"c": [0, 0, 1, 1], "x": [0.0, 1.0, 5.0, bad], "w": [1, 2, 1, 3]})
    roles = {"cluster": "c", "features": "x"} | ({"weight": weight} if weight else {})
    given = {name: value for name, value in roles.items() if name in metric.tally.roles}
    with pytest.raises(ValueError, match="the feature 'x' holds NaN or an infinite value"):
        metric(rows, **given)


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame], ids=["eager", "lazy"])
@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("scale", [1.0, 1e80, 1e150, 1e200, 1e-80, 1e-150, 1e-200])
def test_10_bounds_of_estimates_hold_or_are_undefined(
    scale: float, features: int, make: Any
) -> None:
    """At 1e-200 the bounds of 0.487 were -0.025 to -0.025; at 1e200 NumPy failed."""
    near = NEAR[:, :features]
    names = [f"x{i}" for i in range(features)]
    exact = clustering.silhouette(points(near), cluster="c", features=names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = make(points(near * scale))
        found = clustering.silhouette_estimate(rows, cluster="c", features=names).lazy().collect()
    value, error, low, high = found.row(0)
    if value is None:
        assert scale != 1
        assert (error, low, high) == (None, None, None)
    else:
        assert low <= exact <= high


COUNTED_ONE_BY_ONE = [
    clustering.adjusted_rand, clustering.rand, clustering.jaccard, clustering.fowlkes_mallows,
    clustering.adjusted_mutual_information, clustering.silhouette, clustering.c_index,
]  # fmt: skip


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame], ids=["eager", "lazy"])
@pytest.mark.parametrize("metric", COUNTED_ONE_BY_ONE, ids=[m.name for m in COUNTED_ONE_BY_ONE])
def test_10_frequencies_of_more_than_64_bits_are_refused(metric: pf.Metric, make: Any) -> None:
    """Pairs of rows passed 128 bits, -0.281 for 0.25, and at 1e38 the words were Polars' own."""
    rows = pl.DataFrame(
        {"c": [1, 1, 2, 2, 2, 1], "y": [1, 1, 2, 2, 1, 1], "x": [0.0, 1, 5, 6, 9, 2]}
    )
    roles = {"cluster": "c", "label": "y", "features": "x"}
    given = {name: column for name, column in roles.items() if name in metric.tally.roles}

    def found(scale: float) -> float:
        weight = pl.Series([1, 2, 1, 1, 2, 1]) * scale
        table = pf.evaluate(make(rows.with_columns(w=weight)), [metric], weight="w", **given)
        number: float = table.lazy().collect().item()
        return number

    assert found(1e18) == pytest.approx(found(1e15))
    # The sum of all, 8e18 or 3.2e19, and not only that of a cell.
    assert found(1e18) == pytest.approx(found(1e12), rel=1e-4)
    for scale in (1e19, 1e30, 1e38, 1e200):
        with pytest.raises(ValueError, match=r"^the sum of `weight` does not fit in 64 bits, but"):
            found(scale)
    if "features" not in given:
        with pytest.raises(ValueError, match=r"^the sum of `weight` does not fit in 64 bits, but"):
            found(4e18)
