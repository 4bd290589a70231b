"""The Euclidean silhouette of any number of rows: an estimate and limits that are certain.

From the moments of a cluster follow the mean squared distance M2 of a row to it, and a bound on the
mean fourth power M4; the mean distance then lies between M2^1.5 / M4^0.5 and M2^0.5. That bounds
the silhouette of every row. The estimate takes the silhouette with M2^0.5 for the mean distance,
of all rows, and corrects it by what a few rows, the probes, have as their exact silhouette.
"""

from __future__ import annotations

import functools
import itertools
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, overload

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair._engine.tally import check_distinct
from polarsfair._formula import quotient
from polarsfair.clustering._external.contingency import aggregated
from polarsfair.clustering._internal.points import (
    CLUSTER,
    FEATURE,
    MEAN,
    OTHER,
    ROW,
    SIZE,
    WEIGHT,
    Points,
    beside,
    centres_of,
    content_hash,
    counted_frequencies,
    few_enough,
    moments_of,
    points_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import ArrowStream, IntoColumn, IntoFeatures, IntoSlices

__all__ = ["silhouette_estimate"]


_SURE = 1e-12
"""What rounding may do to a limit."""


_ROUNDING = 1e-15
"""What rounding may do to a mean, relative to it."""


_NUMBERS = 256
"""Numbers a cluster by which its scatter is described: with up to 16 features, all of it."""


_COLUMNS = ("silhouette", "standard_error", "low", "high")


HASH, TIMES = "|hash", "|times"


@overload
def silhouette_estimate(
    frame: pl.LazyFrame,
    *,
    cluster: IntoColumn,
    features: IntoFeatures,
    weight: IntoColumn | None = ...,
    by: IntoSlices | None = ...,
    probes: int = ...,
    seed: int = ...,
) -> pl.LazyFrame: ...
@overload
def silhouette_estimate(
    frame: pl.DataFrame | ArrowStream,
    *,
    cluster: IntoColumn,
    features: IntoFeatures,
    weight: IntoColumn | None = ...,
    by: IntoSlices | None = ...,
    probes: int = ...,
    seed: int = ...,
) -> pl.DataFrame: ...
def silhouette_estimate(
    frame: pl.DataFrame | pl.LazyFrame | ArrowStream,
    *,
    cluster: IntoColumn,
    features: IntoFeatures,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    probes: int = 200,
    seed: int = 0,
) -> pl.DataFrame | pl.LazyFrame:
    """Estimate the Euclidean silhouette of any number of rows, with limits that are certain.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    cluster, features, weight
        The roles, as in `silhouette`.
    by
        Slices: column names or expressions.
    probes
        About how many rows a slice have their exact silhouette computed. Time grows with them,
        the standard error falls with their square root.
    seed
        Another one chooses other probes. They are chosen by what is in a row, not by where it
        stands, so that neither the order of rows nor their files change the result.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per slice: ``silhouette``, the estimate; its ``standard_error``; and ``low`` and
        ``high``, between which the exact value lies for certain.

    Notes
    -----
    The estimate is unbiased where rows differ from each other; it corrects an approximation of all
    rows by the probes' errors, so that a few hundred probes give three digits whatever the number
    of rows. Sampling rows as scikit-learn's ``sample_size`` does thins out the clusters too, and
    is biased. The limits narrow as features grow in number: some 0.01 apart at a hundred, 0.1 at a
    few; with more than sixteen they are a little wider than the moments allow, to spare memory. The
    rows are read five times, in flat memory.

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
    points = points_of(as_lazy(frame), keys, cluster=cluster, features=features, weight=weight)
    result = _estimated(points, probes, seed)
    return result if is_lazy(frame) else collect(result, frame, flat=True)


def _estimated(points: Points, probes: int, seed: int) -> pl.LazyFrame:
    keys = list(points.slices)
    lines = counted_frequencies(points, moments_of(points)).cache()
    weight = WEIGHT.cast(pl.Float64) if points.weighted else pl.lit(1.0)
    rows = points.known.with_columns(weight.alias(TIMES)).filter(pl.col(TIMES) > 0)
    clusters = few_enough(centres_of(points, lines))
    centres = _fourth_moments(points, rows, clusters).cache()
    limits = _limits(points, rows.with_row_index(ROW), centres)
    means = {name: _weighed_mean(pl.col(name)) for name in ("near", "low", "high")}
    everyone = aggregated(limits, keys, n=pl.col(TIMES).sum(), **means)
    chosen = _probes(points, rows, probes, seed).with_row_index(ROW).cache()
    close = _limits(points, chosen, centres).select(ROW, *keys, TIMES, "near")
    errors = close.join(_exact(points, rows, chosen, centres), on=ROW, how="left")
    found = _side_by_side(everyone, _corrected(errors, keys), keys)
    if keys:
        slices = lines.select(keys).unique()
        found = slices.join(found, on=keys, how="left", nulls_equal=True).sort(keys)
    return points.called(_shown(found, keys))


def _weighed_mean(value: pl.Expr) -> pl.Expr:
    """Give the mean over rows, each as often as it stands for."""
    times = pl.col(TIMES)
    return quotient((times * value).sum(), pl.when(value.is_not_null()).then(times).sum())


def _side_by_side(left: pl.LazyFrame, right: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    if not keys:
        return pl.concat([left, right], how="horizontal")
    return left.join(right, on=list(keys), how="left", nulls_equal=True)


def _shown(found: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Give the columns of the result."""
    covered = (1 - pl.col("|covered") / pl.col("n")).clip(0)
    return found.select(
        *keys,
        silhouette=(pl.col("near") + pl.col("|shift")).clip(pl.col("low"), pl.col("high")),
        standard_error=pl.col("|error") * covered.sqrt(),
        low=(pl.col("low") - _SURE).clip(-1, 1),
        high=(pl.col("high") + _SURE).clip(-1, 1),
    )


def _fourth_moments(points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Put beside the clusters higher moments, and their scatter by its widest directions."""
    keys, names = [*points.slices, "cluster"], points.features
    means = centres.select(*keys, *(MEAN + name for name in names))
    beside_means = rows.join(means, on=keys, how="inner", nulls_equal=True)
    gaps = [(pl.col(FEATURE + n) - pl.col(MEAN + n)).alias(FEATURE + n) for n in names]
    length = pl.sum_horizontal(pl.col(name) ** 2 for name in points.columns)
    pairs = list(combinations_with_replacement(points.columns, 2))
    sums = {"|fourth": pl.col("|q") ** 2}
    sums |= {f"third|{n}": pl.col("|q") * pl.col(FEATURE + n) for n in names}
    both = {f"both|{i}": pl.col(a) * pl.col(b) for i, (a, b) in enumerate(pairs)}
    table = (
        beside_means.select(*keys, TIMES, *gaps)
        .with_columns(length.alias("|q"))
        .group_by(keys)
        .agg(**{name: _weighed_mean(value) for name, value in (sums | both).items()})
    )
    ways = pl.concat_list(list(both)).map_batches(
        functools.partial(_widest_ways, width=len(names)),
        return_dtype=pl.List(pl.Float64),
        is_elementwise=True,
    )
    numbers = ["|rest", *itertools.chain(*_ways(names))]
    named = [pl.col("|ways").list.get(i).alias(name) for i, name in enumerate(numbers)]
    table = table.with_columns(ways.alias("|ways")).select(*keys, *sums, *named)
    return centres.join(table, on=keys, how="left", nulls_equal=True)


def _ways(names: Sequence[str]) -> list[list[str]]:
    """Name the columns that hold the directions of a cluster's scatter which are kept."""
    many = min(len(names), _NUMBERS // len(names))
    return [[f"way|{i}|{name}" for name in names] for i in range(many)]


def _widest_ways(scatter: pl.Series, *, width: int) -> pl.Series:
    """Give what is left and the widest directions of matrices, given as their upper triangles.

    With l the variance of the widest direction that is not kept, z'Sz is at most l z'z plus the
    squares of z's products with the others, each as long as the root of its variance less l.
    """
    import numpy as np

    full = np.zeros((len(scatter), width, width))
    rows, columns = np.triu_indices(width)
    values = np.array(scatter.to_list()).reshape(len(scatter), len(rows))
    full[:, rows, columns] = full[:, columns, rows] = values
    variances, directions = np.linalg.eigh(full)
    kept = len(_ways(["x"] * width))
    rest = np.maximum(variances[:, -kept - 1] if kept < width else 0 * variances[:, 0], 0)
    scale = np.sqrt(np.maximum(variances - rest[:, None], 0))
    ways = (directions * scale[:, None, :]).transpose(0, 2, 1)[:, ::-1][:, :kept]
    numbers = np.column_stack([rest, ways.reshape(len(scatter), kept * width)])
    return pl.Series(numbers.tolist(), dtype=pl.List(pl.Float64))


def _limits(points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Give for every numbered row the near silhouette and limits of the exact one."""
    names = points.features
    gaps = [pl.col(FEATURE + n) - pl.col(MEAN + n) for n in names]
    square = pl.sum_horizontal(gap * gap for gap in gaps)
    along = [_product(gaps, way) for way in _ways(names)]
    scatter = pl.sum_horizontal(pl.col("|rest") * square, *(part * part for part in along))
    pairs = beside(rows, _sides(points, centres), points.slices).select(
        ROW,
        *points.slices,
        TIMES,
        SIZE,
        (pl.col(OTHER) == CLUSTER).alias("|own"),
        *(pl.col(name) for name in ("|fourth", "|spread", "|slack")),
        square.alias("|square"),
        _product(gaps, [f"third|{name}" for name in names]).alias("|skew"),
        scatter.alias("|scatter"),
    )
    return _row_limits(points, pairs.with_columns(*_mean_limits()))


def _sides(points: Points, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Give what a row needs to know of every cluster."""
    means = [MEAN + name for name in points.features]
    return centres.select(
        *points.slices,
        *means,
        *(f"third|{name}" for name in points.features),
        *itertools.chain(*_ways(points.features)),
        "|fourth",
        "|rest",
        CLUSTER.alias(OTHER),
        WEIGHT.alias(SIZE),
        (pl.col("ssw") / WEIGHT).alias("|spread"),
        pl.sum_horizontal(_ROUNDING * pl.col(name).abs() for name in means).alias("|slack"),
    )


def _product(gaps: Sequence[pl.Expr], columns: Sequence[str]) -> pl.Expr:
    """Give the inner product of a row's distances from a mean with a vector of the cluster."""
    return pl.sum_horizontal(gap * pl.col(c) for gap, c in zip(gaps, columns, strict=True))


def _mean_limits() -> tuple[pl.Expr, pl.Expr]:
    """Bound the mean distance of a row to the rows of a cluster, from below and above."""
    square, spread = pl.col("|square"), pl.col("|spread")
    second = square + spread
    fourth = square * square + pl.col("|fourth") + 4 * pl.col("|scatter")
    fourth = fourth + 2 * square * spread - 4 * pl.col("|skew")
    fourth = pl.max_horizontal(fourth, second * second)
    by_fourth = pl.when(second > 0).then(second * (second / fourth).sqrt()).otherwise(0.0)
    high = second.sqrt()
    low = pl.min_horizontal(pl.max_horizontal(square.sqrt(), by_fourth), high)
    # Far from zero, means are rounded, and distances from them are as uncertain.
    slack = pl.when(second > 0).then(pl.col("|slack")).otherwise(0.0)
    return (low - slack).clip(0).alias("|low"), (high + slack).alias("|high")


def _row_limits(points: Points, pairs: pl.LazyFrame) -> pl.LazyFrame:
    own, low, high = pl.col("|own"), pl.col("|low"), pl.col("|high")
    found = (
        pairs.set_sorted(ROW)
        .group_by(ROW)
        .agg(
            *(pl.col(name).first() for name in (*points.slices, TIMES)),
            size=pl.when(own).then(pl.col(SIZE)).max(),
            own_low=pl.when(own).then(low).max(),
            own_high=pl.when(own).then(high).max(),
            other_low=pl.when(~own).then(low).min(),
            other_high=pl.when(~own).then(high).min(),
        )
    )
    size = pl.col("size")
    # Among the other rows of its own cluster, one fewer than the cluster has.
    inside_low = pl.col("own_low") * size / (size - 1)
    inside_high = pl.col("own_high") * (size / (size - 1)).sqrt()
    return found.with_columns(
        near=_silhouette(inside_high, pl.col("other_high"), size),
        low=_silhouette(inside_high, pl.col("other_low"), size),
        high=_silhouette(pl.min_horizontal(inside_low, inside_high), pl.col("other_high"), size),
    )


def _silhouette(inside: pl.Expr, outside: pl.Expr, size: pl.Expr) -> pl.Expr:
    larger = pl.max_horizontal(inside, outside)
    value = pl.when((size > 1) & (larger > 0)).then((outside - inside) / larger).otherwise(0.0)
    return pl.when(outside.is_not_null()).then(value)


def _probes(points: Points, rows: pl.LazyFrame, probes: int, seed: int) -> pl.LazyFrame:
    """Choose rows by their content: of every bucket of a hash, the rows of the smallest hash.

    ``TIMES`` counts the rows that are alike.
    """
    keys, columns = list(points.slices), ["cluster", *points.columns]
    mixed = content_hash(points.columns, seed, CLUSTER)
    hashed = rows.select(*keys, *columns, TIMES, mixed.alias(HASH))
    bucket = (pl.col(HASH) % probes).alias("|bucket")
    least = hashed.group_by(*keys, bucket).agg(pl.col(HASH).min()).select(*keys, HASH)
    kept = hashed.join(least, on=[*keys, HASH], how="semi", nulls_equal=True)
    return kept.group_by(*keys, *columns).agg(pl.col(TIMES).sum())


def _exact(
    points: Points, rows: pl.LazyFrame, chosen: pl.LazyFrame, centres: pl.LazyFrame
) -> pl.LazyFrame:
    """Give the exact silhouette of the probes: their distances to all rows, summed per cluster."""
    keys = list(points.slices)
    probes = chosen.select(
        ROW, *keys, CLUSTER.alias(OTHER), *(pl.col(n).alias(f"p{n}") for n in points.columns)
    )
    gaps = [pl.col(name) - pl.col(f"p{name}") for name in points.columns]
    apart = pl.col(TIMES) * pl.sum_horizontal(gap * gap for gap in gaps).sqrt()
    pairs = beside(rows, probes, keys).select(ROW, *keys, OTHER, "cluster", apart=apart)
    sums = pairs.group_by(ROW, *keys, OTHER, "cluster").agg(pl.col("apart").sum())
    sizes = centres.select(*keys, "cluster", WEIGHT.alias(SIZE))
    sums = sums.join(sizes, on=[*keys, "cluster"], how="left", nulls_equal=True)
    own, size = pl.col(OTHER) == CLUSTER, pl.col(SIZE)
    found = sums.group_by(ROW).agg(
        size=pl.when(own).then(size).max(),
        inside=pl.when(own).then(pl.col("apart") / (size - 1)).max(),
        outside=pl.when(~own).then(pl.col("apart") / size).min(),
    )
    exact = _silhouette(pl.col("inside"), pl.col("outside"), pl.col("size"))
    return found.select(ROW, exact=exact)


def _corrected(errors: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Give what the probes' errors correct, and the standard error of that."""
    error, times = pl.col("exact") - pl.col("near"), pl.col(TIMES)
    shift = (times * error).sum() / times.sum()
    squares = (times * times * (error - shift) ** 2).sum()
    many = error.count()
    spread = (squares * many / (many - 1)).sqrt() / times.sum()
    return aggregated(
        errors,
        keys,
        **{
            "|shift": pl.when(many > 0).then(shift),
            "|error": pl.when(many > 1).then(spread),
            "|covered": times.sum(),
        },
    )
