"""How far rows lie from the centre of their cluster: one more pass over the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.tally import Tally
from polarsfair.clustering._internal.points import (
    FEATURE,
    MEAN,
    WEIGHT,
    Points,
    centres_of,
    moment_sums,
    moments,
    moments_of,
    points_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures

__all__ = ["radii"]


def _count_radii(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count how far the rows of every cluster lie from its mean.

    The table of `moments` with two columns more: ``reach``, the sum of Euclidean distances to the
    mean, and ``radius``, the largest. The rows are read twice, so that tables do not add up.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2], "x": [0.0, 2.0, 5.0], "y": [1, 1, 0]})
    >>> table = clustering.radii(df, cluster="c", features=["x", "y"])
    >>> table.select("cluster", "n", "reach", "radius").sort("cluster")
    shape: (2, 4)
    ┌─────────┬─────┬───────┬────────┐
    │ cluster ┆ n   ┆ reach ┆ radius │
    │ ---     ┆ --- ┆ ---   ┆ ---    │
    │ i64     ┆ i64 ┆ f64   ┆ f64    │
    ╞═════════╪═════╪═══════╪════════╡
    │ 1       ┆ 2   ┆ 2.0   ┆ 1.0    │
    │ 2       ┆ 1   ┆ 0.0   ┆ 0.0    │
    └─────────┴─────┴───────┴────────┘
    """
    points = points_of(rows, by, cluster=cluster, features=features, weight=weight)
    lines = moments_of(points).cache()
    return points.table(_with_radii(points, lines))


def _with_radii(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    keys = points.keys
    centres = centres_of(points, lines).select(*keys, *(MEAN + name for name in points.features))
    gaps = [pl.col(FEATURE + name) - pl.col(MEAN + name) for name in points.features]
    gap = pl.sum_horizontal(part * part for part in gaps).sqrt()
    beside = points.known.join(centres, on=keys, how="inner", nulls_equal=True)
    weight = WEIGHT if points.weighted else pl.lit(1.0)
    far = beside.select(*keys, radius=pl.when(weight > 0).then(gap), reach=weight * gap)
    radii = far.group_by(keys).agg(pl.col("reach").sum(), pl.col("radius").max())
    return lines.join(radii, on=keys, how="left", nulls_equal=True)


radii = Tally(
    name="clustering.radii",
    count=_count_radii,
    cells=("cluster",),
    sums=lambda columns: {
        **moment_sums(columns),
        "reach": pl.col("reach").sum(),
        "radius": pl.col("radius").max(),
    },
    defaults={"w": pl.col("n")},
    contains=(moments,),
    mergeable=False,
)
