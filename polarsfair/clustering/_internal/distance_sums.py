"""Sums of distances that need no pairs: the mean distance to a cluster follows from a few sums.

The mean squared Euclidean distance of a row to a cluster is the squared distance to its mean plus
its variance. Cosine distances are half the squared distances of rows of length one. The tally of
`volumes` also has the distances that need all pairs of rows.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.slices import hidden, joined, over
from polarsfair._engine.tally import Tally
from polarsfair.clustering._internal.all_pairs import (
    PAIRED,
    QUADRATIC,
    VALUES,
    check_metric,
    pair_lines,
)
from polarsfair.clustering._internal.categories import category_lines, category_volumes
from polarsfair.clustering._internal.digits import means_of
from polarsfair.clustering._internal.points import (
    CLUSTER,
    DISTANCE,
    OTHER,
    OWN,
    ROW,
    SIZE,
    SPREAD,
    WEIGHT,
    Points,
    centres_of,
    counted_frequencies,
    frequency_moments,
    from_overall_means,
    moment_sums,
    moments,
    moments_of,
    points_of,
    unit_points,
    with_coarse,
    with_each,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures

__all__ = ["volumes"]

_GAP, _TOTAL, _ZEROS = hidden("gap"), hidden("total"), hidden("zeros")


def with_spread(centres: pl.LazyFrame, *, cosine: bool = False) -> pl.LazyFrame:
    """Add the sum of squares that distances from every cluster contain.

    For cosine distances it contains the number of rows of zeros, which is added too.
    """
    zeros = pl.lit(0.0)
    if cosine:
        means = means_of(centres.collect_schema().names())
        length = pl.sum_horizontal(pl.col(name) ** 2 for name in means)
        # The number of unit rows minus the sum of their squares: a whole number.
        zeros = (WEIGHT - pl.col("ssw") - WEIGHT * length).round()
    counted = centres.with_columns(zeros.alias(_ZEROS))
    return counted.with_columns((pl.col("ssw") + pl.col(_ZEROS)).alias(SPREAD))


def squared_volumes(
    centres: pl.LazyFrame, slices: Sequence[str], *, cosine: bool = False
) -> pl.LazyFrame:
    """Sum the distances within every cluster, and of its rows to all rows."""
    total = over(WEIGHT.sum(), slices)
    gaps = from_overall_means(centres.collect_schema().names(), slices)
    gap = pl.sum_horizontal(part * part for part in gaps)
    spread, zeros = pl.col(SPREAD), pl.col(_ZEROS)
    half = 0.5 if cosine else 1.0
    everything = over((spread + WEIGHT * pl.col(_GAP)).sum(), slices)
    volume = total * spread + WEIGHT * everything + total * WEIGHT * pl.col(_GAP)
    return centres.with_columns(gap.alias(_GAP)).with_columns(
        within=half * 2 * WEIGHT * spread - zeros, volume=half * volume - zeros
    )


def squared_rows(
    points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame, *, cosine: bool
) -> pl.LazyFrame:
    """Join every row, numbered by ``ROW``, with every cluster of its slice."""
    sides = centres.select(
        *points.slices,
        *points.means,
        *points.lows,
        CLUSTER.alias(OTHER),
        WEIGHT.alias(SIZE),
        (pl.col(SPREAD) / WEIGHT).alias(SPREAD),
    )
    # A power names the gap once; for a product Polars would keep the gaps of all features.
    # Added one by one, few columns of all pairs are in memory at a time; `sum_horizontal` would
    # hold all of them, and look for nulls.
    distance = functools.reduce(operator.add, [gap**2 for gap in points.gaps], pl.col(SPREAD))
    if cosine:
        # A row of zeros is as far from its own cluster as from any other.
        directed = pl.any_horizontal(pl.col(name) != 0 for name in points.columns)
        distance = pl.when(directed).then(distance).otherwise(0.0)
    own = (pl.col(OTHER) == CLUSTER).alias(OWN)
    return with_each(rows, sides, points.slices).select(
        ROW, *points.keys, *points.weights, SIZE, own, distance.alias(DISTANCE)
    )


def lines_with_volumes(points: Points, metric: str) -> tuple[pl.LazyFrame, pl.LazyFrame, Points]:
    """Return the lines of the table with sums of distances, the clusters, and the points measured.

    With cosine distances, the points measured are the rows at length one.
    """
    if metric == "hamming":
        lines = counted_frequencies(points, category_lines(points)).cache()
        centres = centres_of(points, lines).cache()
        return _shared_out(points, lines, category_volumes(points, centres)), centres, points
    cosine = metric == "cosine"
    lines = frequency_moments(points)
    measured = unit_points(points) if cosine else points
    own = moments_of(measured).cache() if cosine else lines
    centres = with_coarse(centres_of(measured, own), points.slices)
    centres = with_spread(centres, cosine=cosine).cache()
    summed = squared_volumes(centres, points.slices, cosine=cosine)
    return _shared_out(points, lines, summed), centres, measured


def _shared_out(points: Points, lines: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Add to every line its share, by weight, of the sums of its cluster."""
    keys = [*points.slices, "cluster"]
    sums = centres.select(*keys, "within", "volume", WEIGHT.alias(_TOTAL))
    share = points.size / pl.col(_TOTAL)
    unknown = [pl.lit(None, pl.Float64).alias(name) for name in PAIRED]
    lines = joined(lines, sums, keys, how="left")
    return lines.with_columns(pl.col("within", "volume") * share, *unknown).drop(_TOTAL)


def lines_with_pairs(points: Points, metric: str) -> pl.LazyFrame:
    """Return the lines of the table with all sums over pairs of rows."""
    lines = frequency_moments(points)
    return joined(lines, pair_lines(points, lines, metric), points.keys, how="left")


def pair_sums(columns: Sequence[str]) -> dict[str, pl.Expr]:
    """Name the sums of the table; they do not merge."""
    return {**moment_sums(columns), **{name: pl.col(name).sum() for name in VALUES[:-1]}}


def _count_volumes(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
    metric: str = "euclidean",
) -> pl.LazyFrame:
    """Count the distances within every cluster and of its rows to all rows.

    The table of `moments` with ``within`` and ``volume``. ``within`` is the sum of distances over
    all ordered pairs of rows of the cluster. ``volume`` is the sum over all pairs of a row of the
    cluster and any row. Over the pairs of ``volume``, ``squares`` sums the squared distance and
    ``gaps`` the distance of the two clusters' means. ``gap_squares`` sums its square, and ``cross``
    its product with the distance of the rows. Tables do not merge.

    ``metric`` is ``"euclidean"`` or ``"manhattan"``, which use all pairs of rows, at most 50,000
    rows per slice; or ``"sqeuclidean"``, ``"cosine"`` or ``"hamming"`` (the number of features that
    differ, of any type; without means). The last three follow from a few sums at any size, and
    leave the sums over pairs null.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2], "x": [0.0, 2.0, 5.0]})
    >>> table = clustering.volumes(df, cluster="c", features="x")
    >>> table.select("cluster", "n", "within", "volume").sort("cluster")
    shape: (2, 4)
    ┌─────────┬─────┬────────┬────────┐
    │ cluster ┆ n   ┆ within ┆ volume │
    │ ---     ┆ --- ┆ ---    ┆ ---    │
    │ i64     ┆ i64 ┆ f64    ┆ f64    │
    ╞═════════╪═════╪════════╪════════╡
    │ 1       ┆ 2   ┆ 4.0    ┆ 12.0   │
    │ 2       ┆ 1   ┆ 0.0    ┆ 8.0    │
    └─────────┴─────┴────────┴────────┘
    """
    check_metric(metric)
    numeric = metric != "hamming"
    points = points_of(rows, by, cluster=cluster, features=features, weight=weight, numeric=numeric)
    if metric in QUADRATIC:
        return points.table(lines_with_pairs(points, metric).drop("silhouette"))
    return points.table(lines_with_volumes(points, metric)[0])


volumes = Tally(
    name="clustering.volumes",
    count=_count_volumes,
    cells=("cluster",),
    sums=pair_sums,
    defaults={"w": pl.col("n")},
    contains=(moments,),
    mergeable=False,
    single=("metric",),
)
