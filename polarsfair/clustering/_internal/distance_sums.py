"""Distances that need no pairs: the mean distance of a row to a cluster follows from a few sums.

For squared Euclidean distances it is the squared distance to the cluster's mean plus the cluster's
variance; cosine distances are half the squared distances of rows of length one; and for the number
of differing categories the shares of every category tell.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.tally import Tally
from polarsfair.clustering._external.contingency import within
from polarsfair.clustering._internal.all_pairs import (
    PAIRED,
    QUADRATIC,
    VALUES,
    check_metric,
    pair_lines,
)
from polarsfair.clustering._internal.categories import (
    category_lines,
    category_volumes,
)
from polarsfair.clustering._internal.points import (
    APART,
    CLUSTER,
    FEATURE,
    MEAN,
    OTHER,
    OWN,
    ROW,
    SIZE,
    SPREAD,
    WEIGHT,
    Points,
    beside,
    centres_of,
    counted_frequencies,
    means_of,
    moment_sums,
    moments,
    moments_of,
    overall_mean,
    points_of,
    unit_points,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures

__all__ = ["volumes"]


def unit_spread() -> pl.Expr:
    """Give the rows of zeros of a cluster of unit rows: a whole number, which survives rounding."""
    length = WEIGHT - pl.col("ssw") - WEIGHT * pl.col("|length")
    return length.round()


def spread_centres(points: Points, lines: pl.LazyFrame, metric: str) -> pl.LazyFrame:
    """Give the clusters with ``spread``, the sum of squares that the distances from them take.

    For cosine distances the rows of zeros belong to it; ``zeros`` counts them.
    """
    centres = centres_of(points, lines)
    if metric == "sqeuclidean":
        return centres.with_columns(pl.col("ssw").alias(SPREAD), zeros=pl.lit(0.0))
    means = [MEAN + name for name in points.features]
    length = pl.sum_horizontal(pl.col(name) ** 2 for name in means)
    counted = centres.with_columns(length.alias("|length")).with_columns(zeros=unit_spread())
    return counted.with_columns((pl.col("ssw") + pl.col("zeros")).alias(SPREAD))


def squared_volumes(centres: pl.LazyFrame, slices: Sequence[str], metric: str) -> pl.LazyFrame:
    """Give the sums of distances within every cluster, and of its rows to all rows."""
    means = means_of(centres.collect_schema().names())
    total = within(WEIGHT.sum(), slices)
    gaps = [pl.col(name) - overall_mean(name, slices) for name in means]
    gap = pl.sum_horizontal(part * part for part in gaps)
    spread, zeros = pl.col(SPREAD), pl.col("zeros")
    half = 1.0 if metric == "sqeuclidean" else 0.5
    everything = within((spread + WEIGHT * pl.col("|gap")).sum(), slices)
    volume = total * spread + WEIGHT * everything + total * WEIGHT * pl.col("|gap")
    return centres.with_columns(gap.alias("|gap")).with_columns(
        within=half * 2 * WEIGHT * spread - zeros, volume=half * volume - zeros
    )


def squared_rows(
    points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame, *, cosine: bool
) -> pl.LazyFrame:
    """Set every row, numbered by ``ROW``, beside every cluster of its slice."""
    means = [MEAN + name for name in points.features]
    sides = centres.select(
        *points.slices,
        *means,
        CLUSTER.alias(OTHER),
        WEIGHT.alias(SIZE),
        (pl.col(SPREAD) / WEIGHT).alias(SPREAD),
    )
    gaps = [pl.col(FEATURE + n) - pl.col(MEAN + n) for n in points.features]
    # A power names the gap once; of a product Polars would keep the gaps of all features.
    apart = _added([pl.col(SPREAD), *(gap**2 for gap in gaps)])
    if cosine:
        # A row of zeros is as far from its own cluster as from any other.
        apart = (
            pl.when(pl.any_horizontal(pl.col(n) != 0 for n in points.columns))
            .then(apart)
            .otherwise(0.0)
        )
    weight = ["w"] if points.weighted else []
    return beside(rows, sides, points.slices).select(
        ROW, *points.keys, *weight, SIZE, (pl.col(OTHER) == CLUSTER).alias(OWN), apart.alias(APART)
    )


def _added(parts: Sequence[pl.Expr]) -> pl.Expr:
    """Add what is never null, one by one, so that few columns of all pairs are held at a time.

    `sum_horizontal` would hold all of them, and look for nulls.
    """
    return functools.reduce(operator.add, parts)


def lines_with_volumes(points: Points, metric: str) -> tuple[pl.LazyFrame, pl.LazyFrame, Points]:
    """Give the table's lines with sums of distances, the clusters, and the points as measured."""
    if metric == "hamming":
        lines = counted_frequencies(points, category_lines(points)).cache()
        centres = centres_of(points, lines).cache()
        return _shared_out(points, lines, category_volumes(points, centres)), centres, points
    lines = counted_frequencies(points, moments_of(points)).cache()
    measured = unit_points(points) if metric == "cosine" else points
    own = moments_of(measured).cache() if metric == "cosine" else lines
    centres = spread_centres(measured, own, metric).cache()
    summed = squared_volumes(centres, points.slices, metric)
    return _shared_out(points, lines, summed), centres, measured


def _shared_out(points: Points, lines: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Give every line its share, by weight, of its cluster's sums."""
    keys = [*points.slices, "cluster"]
    sums = centres.select(*keys, "within", "volume", WEIGHT.alias("|all"))
    joined = lines.join(sums, on=keys, how="left", nulls_equal=True)
    weight = WEIGHT if points.weighted else pl.col("n")
    share = weight / pl.col("|all")
    return joined.with_columns(
        pl.col("within") * share,
        pl.col("volume") * share,
        *(pl.lit(None, pl.Float64).alias(name) for name in PAIRED),
    ).drop("|all")


def lines_with_pairs(points: Points, metric: str) -> pl.LazyFrame:
    """Give the table's lines with all that pairs of rows tell."""
    lines = counted_frequencies(points, moments_of(points)).cache()
    pairs = pair_lines(points, lines, metric)
    return lines.join(pairs, on=points.keys, how="left", nulls_equal=True)


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

    The table of `moments` with ``within``, the sum of distances over all ordered pairs of rows of
    the cluster, and ``volume``, the sum over all pairs of a row of the cluster and any row;
    further, over those pairs, sums of the squared distance (``squares``), of the distance of the
    two clusters' means (``gaps``), its square (``gap_squares``) and its product with the distance
    (``cross``). Tables do not add up.

    ``metric`` is ``"euclidean"`` or ``"manhattan"``, which look at all pairs of rows, at most
    50,000 rows a slice; or ``"sqeuclidean"``, ``"cosine"``, ``"hamming"`` (the number of features
    that differ, of any type; without means), which follow from a few sums at any size and leave
    the further columns empty.

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
