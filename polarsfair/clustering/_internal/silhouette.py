"""The silhouette: how much nearer a row is to its own cluster than to the next one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair._engine.metric import define
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.all_pairs import (
    QUADRATIC,
    check_metric,
    guarded,
    pair_values,
    per_slice,
)
from polarsfair.clustering._internal.categories import (
    category_rows,
)
from polarsfair.clustering._internal.distance_sums import (
    lines_with_pairs,
    lines_with_volumes,
    pair_sums,
    squared_rows,
    volumes,
)
from polarsfair.clustering._internal.points import (
    APART,
    CLUSTER,
    OWN,
    ROW,
    SIZE,
    WEIGHT,
    Points,
    counted_frequencies,
    features_of,
    few_enough,
    moments,
    moments_of,
    points_of,
)
from polarsfair.clustering._types import ClusteringFrame, ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import ArrowStream, IntoColumn, IntoFeatures, IntoGroup, IntoSlices

__all__ = ["silhouette", "silhouette_by_cluster", "silhouette_samples", "silhouettes"]


def silhouette_lines(points: Points, metric: str) -> pl.LazyFrame:
    """Give the table's lines with the sum of silhouettes; null where there is one cluster."""
    if metric in QUADRATIC:
        lines = lines_with_pairs(points, metric)
    else:
        lines, centres, measured = lines_with_volumes(points, metric)
        rows = measured.known.with_row_index(ROW)
        values = linear_silhouettes(measured, rows, centres, metric)
        summed = (WEIGHT * pl.col("silhouette")) if points.weighted else pl.col("silhouette")
        sums = values.group_by(points.keys).agg(silhouette=summed.sum())
        lines = lines.join(sums, on=points.keys, how="left", nulls_equal=True)
    return _defined(points, lines)


def linear_silhouettes(
    points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame, metric: str
) -> pl.LazyFrame:
    """Give the silhouette of every numbered row, in a second pass."""
    centres = few_enough(centres)
    if metric == "hamming":
        pairs = category_rows(points, rows, centres)
    else:
        pairs = squared_rows(points, rows, centres, cosine=metric == "cosine")
    return row_silhouettes(points, pairs)


def row_silhouettes(points: Points, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Give the silhouette of every row from its distances to every cluster.

    The rows are in order, so that a sorted `group_by` holds one row at a time; a hash of all of
    them would not fit.
    """
    kept = [*points.keys, *(["w"] if points.weighted else [])]
    own = pl.col(OWN)
    found = (
        pairs.set_sorted(ROW)
        .group_by(ROW)
        .agg(
            *(pl.col(name).first() for name in kept),
            inside=pl.when(own).then(pl.col(APART)).max(),
            size=pl.when(own).then(pl.col(SIZE)).max(),
            outside=pl.when(~own).then(pl.col(APART)).min(),
        )
    )
    size, outside = pl.col("size"), pl.col("outside")
    inside = pl.col("inside") * size / (size - 1)
    larger = pl.max_horizontal(inside, outside)
    value = pl.when((size > 1) & (larger > 0)).then((outside - inside) / larger).otherwise(0.0)
    defined = outside.is_not_null() & size.is_not_null()
    return found.select(ROW, *kept, silhouette=pl.when(defined).then(value))


def _defined(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Leave the silhouette undefined where a slice has fewer than two clusters."""
    weight = WEIGHT if points.weighted else pl.col("n")
    there = CLUSTER.filter(CLUSTER.is_not_null() & (weight > 0)).n_unique()
    several = there.over(points.slices) > 1 if points.slices else there > 1
    value = pl.when(several & CLUSTER.is_not_null()).then(pl.col("silhouette"))
    return lines.with_columns(silhouette=value)


def _count_silhouettes(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
    metric: str = "euclidean",
) -> pl.LazyFrame:
    """Sum the silhouettes of the rows of every cluster.

    The table of `volumes` with ``silhouette``, the sum over the rows of the line, and ``group``
    where given: silhouettes are among the rows of all groups. The rows are read twice, so that
    tables do not add up. ``metric`` as in `volumes`: ``"euclidean"`` and ``"manhattan"`` look at
    all pairs of rows, at most 50,000 rows a slice; ``"sqeuclidean"``, ``"cosine"`` and
    ``"hamming"`` are as exact at any size, in flat memory.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2], "x": [0.0, 2.0, 5.0]})
    >>> table = clustering.silhouettes(df, cluster="c", features="x")
    >>> table.select("cluster", "n", "silhouette").sort("cluster")
    shape: (2, 3)
    ┌─────────┬─────┬────────────┐
    │ cluster ┆ n   ┆ silhouette │
    │ ---     ┆ --- ┆ ---        │
    │ i64     ┆ i64 ┆ f64        │
    ╞═════════╪═════╪════════════╡
    │ 1       ┆ 2   ┆ 0.933333   │
    │ 2       ┆ 1   ┆ 0.0        │
    └─────────┴─────┴────────────┘
    """
    roles = {"group": group, "cluster": cluster, "features": features, "weight": weight}
    return silhouette_table(rows, by, metric, **roles)


def silhouette_table(
    rows: pl.LazyFrame, by: Sequence[pl.Expr], metric: str, **roles: Any
) -> pl.LazyFrame:
    """Count what both families of silhouettes read."""
    check_metric(metric)
    points = points_of(rows, by, **roles, numeric=metric != "hamming")
    return points.table(silhouette_lines(points, metric))


def silhouette_sums(columns: Sequence[str]) -> dict[str, pl.Expr]:
    """Name the sums of the table; they do not merge."""
    return {**pair_sums(columns), "silhouette": pl.col("silhouette").sum()}


silhouettes = Tally(
    name="clustering.silhouettes",
    count=_count_silhouettes,
    cells=("group", "cluster"),
    sums=silhouette_sums,
    defaults={"w": pl.col("n")},
    contains=(moments, volumes),
    mergeable=False,
    single=("metric",),
)


def mean_silhouette() -> pl.Expr:
    """Give the mean over rows that have a silhouette."""
    value = pl.col("silhouette")
    return quotient(value.sum(), WEIGHT.filter(value.is_not_null()).sum())


_share = functools.partial(
    define,
    silhouettes,
    "quality",
    ("cluster", "features"),
    ideal=1.0,
    bounds=(-1.0, 1.0),
    better="higher",
)


@_share(of=ClusteringMetric)
def silhouette() -> pl.Expr:
    """Mean over rows of how much nearer the own cluster is than the next one.

    Formula: mean of (b - a) / max(a, b), with a the mean distance of a row to the other rows of its
    cluster and b the smallest mean distance to another cluster. 0 for a row alone in its cluster
    and where a = b = 0. Undefined with one cluster.

    Range -1 to 1; ideal 1; higher is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default) and ``"manhattan"`` look at all pairs of rows, in flat memory but
        at most 50,000 rows a slice. ``"sqeuclidean"``, ``"cosine"`` and ``"hamming"`` take two
        passes over any number of rows, and are as exact.

    Notes
    -----
    scikit-learn's ``silhouette_score`` has the same values for the same metric and raises where
    there is one cluster, or a cluster per row (0 here). Spark's evaluator has ``"sqeuclidean"`` by
    default, which pulls values towards -1 and 1. The mean of `silhouette_by_cluster` gives small
    clusters the same say as large ones. A weight is a frequency. Noise that should be clusters of
    one row each, or no rows at all, is said in ``cluster=``; beyond 50,000 rows see also
    `silhouette_estimate`.

    References
    ----------
    Rousseeuw (1987). Silhouettes: A Graphical Aid to the Interpretation and Validation of Cluster
    Analysis. Journal of Computational and Applied Mathematics 20, 53-65.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> round(df.pipe(clustering.silhouette, cluster="c", features=["x"]), 4)
    0.6537
    >>> round(df.pipe(clustering.silhouette, cluster="c", features=["x"], metric="sqeuclidean"), 4)
    0.8629
    """
    return mean_silhouette()


def _known_clusters(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    del keys
    return table.filter(CLUSTER.is_not_null() & (WEIGHT > 0))


@_share(of=ClusteringFrame, view=_known_clusters, keys=("cluster",))
def silhouette_by_cluster() -> pl.Expr:
    """Mean silhouette of the rows of each cluster.

    A frame with a row per cluster; `silhouette` is their mean weighted by size. A
    cluster whose mean lies below that of all rows is one to look at.

    Formula: mean of (b - a) / max(a, b) over the rows of the cluster, as in `silhouette`.

    Range -1 to 1; ideal 1; higher is better.

    Parameters
    ----------
    metric
        As in `silhouette`.

    References
    ----------
    Rousseeuw (1987). Silhouettes: A Graphical Aid to the Interpretation and Validation of Cluster
    Analysis. Journal of Computational and Applied Mathematics 20, 53-65.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> df.pipe(clustering.silhouette_by_cluster, cluster="c", features=["x"])
    shape: (2, 2)
    ┌─────────┬───────────────────────┐
    │ cluster ┆ silhouette_by_cluster │
    │ ---     ┆ ---                   │
    │ i64     ┆ f64                   │
    ╞═════════╪═══════════════════════╡
    │ 1       ┆ 0.775                 │
    │ 2       ┆ 0.532468              │
    └─────────┴───────────────────────┘
    """
    return mean_silhouette()


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
