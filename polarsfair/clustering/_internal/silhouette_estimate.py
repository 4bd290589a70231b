"""The Euclidean silhouette at any size: an estimate, and guaranteed lower and upper bounds.

The moments of a cluster determine the mean squared distance M2 of a row to it, and an upper bound
of the mean fourth power M4. The mean distance then lies between M2^1.5 / M4^0.5 and M2^0.5, which
bounds the silhouette of every row. The estimate first uses M2^0.5 as the mean distance of all rows.
It then corrects the result by the exact silhouettes of a few rows, the probes.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import lazy_or_eager
from polarsfair._engine.slices import aggregated, every_slice, hidden, joined
from polarsfair._engine.tally import check_distinct
from polarsfair._formula import quotient
from polarsfair.clustering._internal.points import (
    CLUSTER,
    DISTANCE,
    FEATURE,
    OTHER,
    OWN,
    ROW,
    SIZE,
    SPREAD,
    WEIGHT,
    Points,
    centres_of,
    content_hash,
    few_enough,
    frequency_moments,
    points_of,
    with_each,
)
from polarsfair.clustering._internal.silhouette import silhouette_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoSlices

__all__ = ["silhouette_estimate"]

_SURE = 1e-12
"""The largest effect of rounding on a bound."""

_ROUNDING = 1e-15
"""The largest effect of rounding on a mean, relative to it."""

_NUMBERS = 256
"""Floats kept per cluster to describe its scatter: with up to 16 features, all of it."""

_NARROW = 1e-60
"""Points closer together than this have fourth powers that vanish, and bounds that do not hold."""

_COLUMNS = ("silhouette", "standard_error", "low", "high")

_HASH, _TIMES, _EXACT = hidden("hash"), hidden("times"), hidden("exact")
_NEAR, _LOW, _HIGH = hidden("near"), hidden("low"), hidden("high")
_SQUARE, _FOURTH, _SCATTER, _SKEW = map(hidden, ("square", "fourth", "scatter", "skew"))
_SLACK, _REST, _COUNT = hidden("slack"), hidden("rest"), hidden("count")
_WIDTH = hidden("width")
_SHIFT, _ERROR, _COVERED = hidden("shift"), hidden("error"), hidden("covered")


@lazy_or_eager(flat=True)
def silhouette_estimate(
    frame: pl.LazyFrame,
    *,
    cluster: IntoColumn,
    features: IntoFeatures,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    probes: int = 200,
    seed: int = 0,
) -> pl.LazyFrame:
    """Estimate the Euclidean silhouette at any size, with guaranteed lower and upper bounds.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    cluster, features, weight
        The roles, as in `silhouette`.
    by
        Slices: column names or expressions.
    probes
        Approximate number of rows per slice whose exact silhouette is computed. Time grows with it;
        the standard error falls with its square root.
    seed
        Another seed chooses other probes. Probes are chosen by the content of rows, so neither the
        order of rows nor their files change the result.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row per slice: ``silhouette``, the estimate; its ``standard_error``; and ``low`` and
        ``high``, guaranteed bounds of the exact value.

    Notes
    -----
    The estimate is unbiased if all rows differ. It corrects an approximation over all rows by the
    errors at the probes, so a few hundred probes give three digits for any number of rows.
    scikit-learn's ``sample_size`` samples the rows of the clusters as well, and is biased. The
    bounds are about 0.1 apart with a few features and 0.01 with a hundred. With more than sixteen
    features they are slightly wider than the moments allow, to save memory. The rows are read five
    times, in flat memory.

    References
    ----------
    Rousseeuw (1987). Silhouettes: A Graphical Aid to the Interpretation and Validation of Cluster
    Analysis. Journal of Computational and Applied Mathematics 20, 53-65.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> found = clustering.silhouette_estimate(df, cluster="c", features=["x"])
    >>> low, high = found.select("low", "high").row(0)
    >>> low <= clustering.silhouette(df, cluster="c", features=["x"]) <= high
    True
    """
    if probes < 2:
        msg = f"`probes` is at least 2, got {probes}"
        raise ValueError(msg)
    keys = columns_of(by)
    check_distinct([*(column.meta.output_name() for column in keys), *_COLUMNS])
    points = points_of(frame, keys, cluster=cluster, features=features, weight=weight)
    return _estimated(points, probes, seed)


def _estimated(points: Points, probes: int, seed: int) -> pl.LazyFrame:
    keys, lines = points.slices, frequency_moments(points)
    times = points.weight.cast(pl.Float64).alias(_TIMES)
    rows = points.known.with_columns(times).filter(pl.col(_TIMES) > 0)
    clusters = few_enough(centres_of(points, lines))
    centres = _with_moments(points, rows, clusters).cache()
    bounds = _bounds(points, rows.with_row_index(ROW), centres)
    means = {name: _weighed_mean(pl.col(name)) for name in (_NEAR, _LOW, _HIGH)}
    sizes = {_COUNT: pl.col(_TIMES).sum(), _WIDTH: pl.col(_WIDTH).max()}
    all_rows = aggregated(bounds, keys, {**sizes, **means})
    chosen = _probes(points, rows, probes, seed).with_row_index(ROW).cache()
    close = _bounds(points, chosen, centres).select(ROW, *keys, _TIMES, _NEAR)
    errors = close.join(_exact(points, rows, chosen, centres), on=ROW, how="left")
    found = joined(all_rows, _correction(errors, keys), keys, how="left")
    found = _result(every_slice(lines, found, keys))
    return points.rows.table(found.sort(keys) if keys else found, (), _COLUMNS)


def _weighed_mean(value: pl.Expr) -> pl.Expr:
    """Return the mean over rows, weighed by the number of rows that each represents."""
    times = pl.col(_TIMES)
    return quotient((times * value).sum(), pl.when(value.is_not_null()).then(times).sum())


def _result(found: pl.LazyFrame) -> pl.LazyFrame:
    """Add the columns of the result."""
    low, high = pl.col(_LOW), pl.col(_HIGH)
    uncovered = (1 - pl.col(_COVERED) / pl.col(_COUNT)).clip(0)
    values = {
        "silhouette": (pl.col(_NEAR) + pl.col(_SHIFT)).clip(low, high),
        "standard_error": pl.col(_ERROR) * uncovered.sqrt(),
        "low": (low - _SURE).clip(-1, 1),
        "high": (high + _SURE).clip(-1, 1),
    }
    defined = (pl.col(_WIDTH) == 0) | (pl.col(_WIDTH) > _NARROW)
    return found.with_columns(
        pl.when(defined).then(value).fill_nan(None).alias(name) for name, value in values.items()
    )


def _with_moments(points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Add to the clusters higher moments, and their scatter by its widest directions."""
    keys, columns = [*points.slices, "cluster"], points.columns
    means = centres.select(*keys, *points.means, *points.lows)
    gaps = [gap.alias(name) for gap, name in zip(points.gaps, columns, strict=True)]
    square = pl.sum_horizontal(pl.col(name) ** 2 for name in columns).alias(_SQUARE)
    centred = joined(rows, means, keys).select(*keys, _TIMES, *gaps).with_columns(square)
    sums = {_FOURTH: pl.col(_SQUARE) ** 2}
    sums |= {_third(n): pl.col(_SQUARE) * pl.col(FEATURE + n) for n in points.features}
    pairs = enumerate(itertools.combinations_with_replacement(columns, 2))
    both = {hidden("product", i): pl.col(a) * pl.col(b) for i, (a, b) in pairs}
    values = {name: _weighed_mean(value) for name, value in (sums | both).items()}
    ways = pl.concat_list(list(both)).map_batches(
        functools.partial(_widest_ways, width=len(columns)),
        return_dtype=pl.List(pl.Float64),
        is_elementwise=True,
    )
    listed = hidden("ways")
    numbers = [_REST, *itertools.chain(*_ways(points.features))]
    named = [pl.col(listed).list.get(i).alias(name) for i, name in enumerate(numbers)]
    table = aggregated(centred, keys, values).with_columns(ways.alias(listed))
    return joined(centres, table.select(*keys, *sums, *named), keys, how="left")


def _third(name: str) -> str:
    return hidden("third", name)


def _ways(names: Sequence[str]) -> list[list[str]]:
    """Name the columns that hold the directions of a cluster's scatter which are kept."""
    many = min(len(names), _NUMBERS // len(names))
    return [[hidden("way", i, name) for name in names] for i in range(many)]


def _widest_ways(scatter: pl.Series, *, width: int) -> pl.Series:
    """Return the rest and the widest directions of matrices, given as their upper triangles.

    Let l be the variance of the widest direction that is not kept. Then z'Sz is at most l z'z plus
    the squares of z's products with the kept directions, each scaled to the root of its variance
    minus l.
    """
    import numpy as np

    full = np.zeros((len(scatter), width, width))
    rows, columns = np.triu_indices(width)
    values = np.array(scatter.to_list(), dtype=float).reshape(len(scatter), len(rows))
    # Squares beyond floats have no directions: what is computed from them is undefined.
    finite = np.isfinite(values).all(axis=1, keepdims=True)
    full[:, rows, columns] = full[:, columns, rows] = np.where(finite, values, 0)
    variances, directions = np.linalg.eigh(full)
    kept = len(_ways(["x"] * width))
    rest = np.maximum(variances[:, -kept - 1] if kept < width else 0 * variances[:, 0], 0)
    scale = np.sqrt(np.maximum(variances - rest[:, None], 0))
    ways = (directions * scale[:, None, :]).transpose(0, 2, 1)[:, ::-1][:, :kept]
    numbers = np.column_stack([rest, ways.reshape(len(scatter), kept * width)])
    numbers = np.where(finite, numbers, np.nan)
    return pl.Series(numbers.tolist(), dtype=pl.List(pl.Float64))


def _bounds(points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Compute for every numbered row the approximate silhouette and bounds of the exact one."""
    gaps = points.gaps
    square = pl.sum_horizontal(gap * gap for gap in gaps)
    along = [_product(gaps, way) for way in _ways(points.features)]
    scatter = pl.sum_horizontal(pl.col(_REST) * square, *(part * part for part in along))
    pairs = with_each(rows, _sides(points, centres), points.slices).select(
        ROW,
        *points.slices,
        _TIMES,
        SIZE,
        (pl.col(OTHER) == CLUSTER).alias(OWN),
        *(_FOURTH, SPREAD, _SLACK),
        square.alias(_SQUARE),
        pl.max_horizontal(gap.abs() for gap in gaps).alias(_WIDTH),
        _product(gaps, [_third(name) for name in points.features]).alias(_SKEW),
        scatter.alias(_SCATTER),
    )
    return _row_bounds(points, pairs.with_columns(*_mean_bounds()))


def _sides(points: Points, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Return what the bounds of a row need from every cluster."""
    slack = pl.sum_horizontal(_ROUNDING * pl.col(name).abs() for name in points.means)
    return centres.select(
        *points.slices,
        *points.means,
        *points.lows,
        *(_third(name) for name in points.features),
        *itertools.chain(*_ways(points.features)),
        *(_FOURTH, _REST),
        CLUSTER.alias(OTHER),
        WEIGHT.alias(SIZE),
        (pl.col("ssw") / WEIGHT).alias(SPREAD),
        slack.alias(_SLACK),
    )


def _product(gaps: Sequence[pl.Expr], columns: Sequence[str]) -> pl.Expr:
    """Return the inner product of a row's distances from a mean with a vector of the cluster."""
    return pl.sum_horizontal(gap * pl.col(c) for gap, c in zip(gaps, columns, strict=True))


def _mean_bounds() -> tuple[pl.Expr, pl.Expr]:
    """Bound the mean distance of a row to the rows of a cluster, from below and above."""
    square, spread = pl.col(_SQUARE), pl.col(SPREAD)
    second = square + spread
    fourth = square * square + pl.col(_FOURTH) + 4 * pl.col(_SCATTER)
    fourth = fourth + 2 * square * spread - 4 * pl.col(_SKEW)
    fourth = pl.max_horizontal(fourth, second * second)
    by_fourth = pl.when(second > 0).then(second * (second / fourth).sqrt()).otherwise(0.0)
    high = second.sqrt()
    low = pl.min_horizontal(pl.max_horizontal(square.sqrt(), by_fourth), high)
    # Far from zero, means are rounded, and distances from them are as uncertain.
    slack = pl.when(second > 0).then(pl.col(_SLACK)).otherwise(0.0)
    return (low - slack).clip(0).alias(_LOW), (high + slack).alias(_HIGH)


def _row_bounds(points: Points, pairs: pl.LazyFrame) -> pl.LazyFrame:
    own, low, high = pl.col(OWN), pl.col(_LOW), pl.col(_HIGH)
    own_low, own_high = hidden("own low"), hidden("own high")
    other_low, other_high = hidden("other low"), hidden("other high")
    values = {
        SIZE: pl.when(own).then(pl.col(SIZE)).max(),
        _WIDTH: pl.col(_WIDTH).max(),
        own_low: pl.when(own).then(low).max(),
        own_high: pl.when(own).then(high).max(),
        other_low: pl.when(~own).then(low).min(),
        other_high: pl.when(~own).then(high).min(),
    }
    first = [pl.col(name).first() for name in (*points.slices, _TIMES)]
    found = pairs.set_sorted(ROW).group_by(ROW).agg(*first, **values)
    size = pl.col(SIZE)
    # The row itself does not count among the rows of its own cluster.
    inside_low = pl.col(own_low) * size / (size - 1)
    inside_high = pl.col(own_high) * (size / (size - 1)).sqrt()
    inside_low, outside = pl.min_horizontal(inside_low, inside_high), pl.col(other_high)
    return found.with_columns(
        silhouette_of(inside_high, outside, size).alias(_NEAR),
        silhouette_of(inside_high, pl.col(other_low), size).alias(_LOW),
        silhouette_of(inside_low, outside, size).alias(_HIGH),
    )


def _probes(points: Points, rows: pl.LazyFrame, probes: int, seed: int) -> pl.LazyFrame:
    """Choose rows by their content: of every bucket of a hash, the rows of the smallest hash.

    ``_TIMES`` counts the rows that are equal.
    """
    keys, columns = points.slices, ["cluster", *points.columns]
    mixed = content_hash(points.columns, seed, CLUSTER)
    hashed = rows.select(*keys, *columns, _TIMES, mixed.alias(_HASH))
    bucket = (pl.col(_HASH) % probes).alias(hidden("bucket"))
    smallest = hashed.group_by(*keys, bucket).agg(pl.col(_HASH).min()).select(*keys, _HASH)
    kept = hashed.join(smallest, on=[*keys, _HASH], how="semi", nulls_equal=True)
    return kept.group_by(*keys, *columns).agg(pl.col(_TIMES).sum())


def _exact(
    points: Points, rows: pl.LazyFrame, chosen: pl.LazyFrame, centres: pl.LazyFrame
) -> pl.LazyFrame:
    """Compute the exact silhouette of the probes from their distances to all rows."""
    keys = points.slices
    probe = {name: hidden("probe", name) for name in points.columns}
    named = [pl.col(name).alias(to) for name, to in probe.items()]
    probes = chosen.select(ROW, *keys, CLUSTER.alias(OTHER), *named)
    gaps = [pl.col(name) - pl.col(to) for name, to in probe.items()]
    distance = pl.col(_TIMES) * pl.sum_horizontal(gap * gap for gap in gaps).sqrt()
    cells = [ROW, *keys, OTHER, "cluster"]
    pairs = joined(rows, probes, keys).select(*cells, distance.alias(DISTANCE))
    sizes = centres.select(*keys, "cluster", WEIGHT.alias(SIZE))
    sums = pairs.group_by(cells).agg(pl.col(DISTANCE).sum())
    own, size, total = pl.col(OTHER) == CLUSTER, pl.col(SIZE), pl.col(DISTANCE)
    inside, outside = hidden("inside"), hidden("outside")
    values = {
        SIZE: pl.when(own).then(size).max(),
        inside: pl.when(own).then(total / (size - 1)).max(),
        outside: pl.when(~own).then(total / size).min(),
    }
    found = aggregated(joined(sums, sizes, [*keys, "cluster"], how="left"), [ROW], values)
    exact = silhouette_of(pl.col(inside), pl.col(outside), size)
    return found.select(ROW, exact.alias(_EXACT))


def _correction(errors: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Compute the mean error of the probes, and its standard error."""
    error, times = pl.col(_EXACT) - pl.col(_NEAR), pl.col(_TIMES)
    shift = (times * error).sum() / times.sum()
    squares = (times * times * (error - shift) ** 2).sum()
    many = error.count()
    spread = (squares * many / (many - 1)).sqrt() / times.sum()
    values = {
        _SHIFT: pl.when(many > 0).then(shift),
        _ERROR: pl.when(many > 1).then(spread),
        _COVERED: times.sum(),
    }
    return aggregated(errors, keys, values)
