"""Fourth powers of distances without pairs: one more pass, around the mean of all rows."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.tally import Tally
from polarsfair.clustering._internal.distance_sums import beside, overall_mean
from polarsfair.clustering._internal.lines import counted_frequencies
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

__all__ = ["scatter"]


def _count_scatter(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count the fourth powers of all distances, from the scatter of the features.

    The table of `moments` with ``squares``: over all ordered pairs of a row of the cluster and any
    row of the slice, the sum of the fourth power of their Euclidean distance, shared out among the
    clusters by their size. The rows are read twice, so that tables do not add up.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 2], "x": [0.0, 2.0]})
    >>> clustering.scatter(df, cluster="c", features="x").sort("cluster").select(
    ...     "cluster", "squares"
    ... )
    shape: (2, 2)
    ┌─────────┬─────────┐
    │ cluster ┆ squares │
    │ ---     ┆ ---     │
    │ i64     ┆ f64     │
    ╞═════════╪═════════╡
    │ 1       ┆ 16.0    │
    │ 2       ┆ 16.0    │
    └─────────┴─────────┘
    """
    points = points_of(rows, by, cluster=cluster, features=features, weight=weight)
    lines = counted_frequencies(points, moments_of(points)).cache()
    squares = _fourth_powers(points, lines)
    joined = (
        beside(lines, squares, points.slices)
        if not points.slices
        else lines.join(squares, on=list(points.slices), how="left", nulls_equal=True)
    )
    size = WEIGHT if points.weighted else pl.col("n")
    share = pl.when(pl.col("cluster").is_not_null()).then(size / pl.col("|all"))
    return points.table(joined.with_columns(pl.col("squares") * share).drop("|all"))


def _fourth_powers(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Give, per slice, the sum over ordered pairs of the fourth power of the distance.

    With z the centred rows and q = z'z it is 2 (n sum q^2 + (sum q)^2 + 2 |sum zz'|^2).
    """
    slices, names = list(points.slices), points.features
    means = [overall_mean(MEAN + name, slices).alias(MEAN + name) for name in names]
    centres = centres_of(points, lines).select(*slices, *means).unique()
    centred = [(pl.col(FEATURE + n) - pl.col(MEAN + n)).alias(FEATURE + n) for n in names]
    weight = WEIGHT.cast(pl.Float64) if points.weighted else pl.lit(1.0)
    rows = beside(points.known, centres, slices).select(*slices, *centred, **{"|w": weight})
    length = pl.sum_horizontal(pl.col(name) ** 2 for name in points.columns)
    pairs = list(combinations_with_replacement(points.columns, 2))
    sums = {"|all": pl.col("|w"), "|q": pl.col("|w") * pl.col("|length")}
    sums |= {"|qq": pl.col("|w") * pl.col("|length") ** 2}
    sums |= {f"{i}": pl.col("|w") * pl.col(a) * pl.col(b) for i, (a, b) in enumerate(pairs)}
    summed = {name: value.sum() for name, value in sums.items()}
    rows = rows.with_columns(length.alias("|length"))
    table = rows.group_by(slices).agg(**summed) if slices else rows.select(**summed)
    frobenius = pl.sum_horizontal(
        pl.col(f"{i}") ** 2 * (1 if a == b else 2) for i, (a, b) in enumerate(pairs)
    )
    power = pl.col("|all") * pl.col("|qq") + pl.col("|q") ** 2 + 2 * frobenius
    return table.select(*slices, "|all", squares=2 * power)


scatter = Tally(
    name="clustering.scatter",
    count=_count_scatter,
    cells=("cluster",),
    sums=lambda columns: {**moment_sums(columns), "squares": pl.col("squares").sum()},
    defaults={"w": pl.col("n")},
    contains=(moments,),
    mergeable=False,
)
