"""The silhouette of every row."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair.clustering._internal.all_pairs import guarded, pair_values, per_slice
from polarsfair.clustering._internal.distance_sums import ROW
from polarsfair.clustering._internal.lines import (
    QUADRATIC,
    check_metric,
    counted_frequencies,
    lines_with_volumes,
)
from polarsfair.clustering._internal.points import Points, features_of, moments_of, points_of
from polarsfair.clustering._internal.silhouette import linear_silhouettes

if TYPE_CHECKING:
    from polarsfair._typing import ArrowStream, IntoColumn, IntoFeatures, IntoSlices

__all__ = ["silhouette_samples"]


@overload
def silhouette_samples(
    frame: pl.LazyFrame,
    *,
    cluster: IntoColumn,
    features: IntoFeatures,
    weight: IntoColumn | None = ...,
    by: IntoSlices | None = ...,
    metric: str = ...,
) -> pl.LazyFrame: ...
@overload
def silhouette_samples(
    frame: pl.DataFrame | ArrowStream,
    *,
    cluster: IntoColumn,
    features: IntoFeatures,
    weight: IntoColumn | None = ...,
    by: IntoSlices | None = ...,
    metric: str = ...,
) -> pl.DataFrame: ...
def silhouette_samples(
    frame: pl.DataFrame | pl.LazyFrame | ArrowStream,
    *,
    cluster: IntoColumn,
    features: IntoFeatures,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    metric: str = "euclidean",
) -> pl.DataFrame | pl.LazyFrame:
    """Put beside every row its silhouette.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    cluster, features, weight
        The roles, as in `silhouette`.
    by
        Slices: each is a clustering of its own.
    metric
        As in `silhouette`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The frame, rows in their order, with a column ``silhouette``: null for rows that lack their
        cluster or a feature or weigh nothing, and where there is one cluster.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2], "x": [0.0, 2.0, 5.0]})
    >>> df.pipe(clustering.silhouette_samples, cluster="c", features="x")
    shape: (3, 3)
    ┌─────┬─────┬────────────┐
    │ c   ┆ x   ┆ silhouette │
    │ --- ┆ --- ┆ ---        │
    │ i64 ┆ f64 ┆ f64        │
    ╞═════╪═════╪════════════╡
    │ 1   ┆ 0.0 ┆ 0.6        │
    │ 1   ┆ 2.0 ┆ 0.333333   │
    │ 2   ┆ 5.0 ┆ 0.0        │
    └─────┴─────┴────────────┘
    """
    check_metric(metric)
    rows = as_lazy(frame)
    if "silhouette" in rows.collect_schema().names():
        msg = 'the frame has a column "silhouette" already: drop or rename it'
        raise ValueError(msg)
    # Selectors are to choose among the caller's columns, not among ours.
    given, names = features_of(rows, features, numeric=metric != "hamming")
    columns = [column.alias(n) for column, n in zip(given.values(), names, strict=True)]
    # Both branches must see the same rows under the same numbers.
    numbered = rows.with_row_index(ROW).cache()
    points = points_of(
        numbered,
        columns_of(by),
        cluster=cluster,
        features=columns,
        weight=weight,
        numeric=metric != "hamming",
        keep=(ROW,),
    )
    values = _quadratic(points, metric) if metric in QUADRATIC else _linear(points, metric)
    result = numbered.join(values, on=ROW, how="left", maintain_order="left").drop(ROW)
    return result if is_lazy(frame) else collect(result, frame, flat=True)


def _linear(points: Points, metric: str) -> pl.LazyFrame:
    _, centres, measured = lines_with_volumes(points, metric)
    values = linear_silhouettes(measured, measured.known, centres, metric)
    there = pl.col("w") > 0 if points.weighted else pl.lit(value=True)
    return values.select(ROW, pl.when(there).then(pl.col("silhouette")).alias("silhouette"))


def _quadratic(points: Points, metric: str) -> pl.LazyFrame:
    lines = counted_frequencies(points, moments_of(points)).cache()
    few = guarded(points, lines, f'`metric="{metric}"`', '`metric="sqeuclidean"`')
    schema = {ROW: few.collect_schema()[ROW], "silhouette": pl.Float64()}

    def called(frame: pl.DataFrame) -> pl.DataFrame:
        return pair_values(frame, metric).select(ROW, "silhouette")

    return per_slice(points, few, called, schema)
