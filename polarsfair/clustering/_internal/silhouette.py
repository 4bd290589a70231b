"""The silhouette: how much closer a row is to its own cluster than to the next one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import lazy_or_eager
from polarsfair._engine.metric import define
from polarsfair._engine.slices import hidden, joined, map_slices, over
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.all_pairs import (
    QUADRATIC,
    check_metric,
    few_rows,
    pair_values,
)
from polarsfair.clustering._internal.categories import category_rows
from polarsfair.clustering._internal.distance_sums import (
    lines_with_pairs,
    lines_with_volumes,
    pair_sums,
    squared_rows,
    volumes,
)
from polarsfair.clustering._internal.points import (
    CLUSTER,
    DISTANCE,
    OWN,
    ROW,
    SIZE,
    WEIGHT,
    Points,
    features_of,
    few_enough,
    frequency_moments,
    moments,
    points_of,
)
from polarsfair.clustering._types import ClusteringFrame, ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoGroup, IntoSlices

__all__ = ["silhouette", "silhouette_by_cluster", "silhouette_samples", "silhouettes"]

SILHOUETTE = pl.col("silhouette")
_INSIDE, _OUTSIDE = hidden("inside"), hidden("outside")


def silhouette_lines(points: Points, metric: str) -> pl.LazyFrame:
    """Return the lines of the table with the sum of silhouettes, null if there is one cluster."""
    if metric in QUADRATIC:
        lines = lines_with_pairs(points, metric)
    else:
        lines, centres, measured = lines_with_volumes(points, metric)
        rows = measured.known.with_row_index(ROW)
        values = _linear_silhouettes(measured, rows, centres, metric)
        weighed = WEIGHT * SILHOUETTE if points.rows.weighted else SILHOUETTE
        sums = values.group_by(points.keys).agg(silhouette=weighed.sum())
        lines = joined(lines, sums, points.keys, how="left")
    there = CLUSTER.filter(CLUSTER.is_not_null() & (points.size > 0)).n_unique()
    several = over(there, points.slices) > 1
    return lines.with_columns(silhouette=pl.when(several & CLUSTER.is_not_null()).then(SILHOUETTE))


def _linear_silhouettes(
    points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame, metric: str
) -> pl.LazyFrame:
    """Compute the silhouette of every numbered row, in a second pass over the rows."""
    centres = few_enough(centres)
    if metric == "hamming":
        return _row_silhouettes(points, category_rows(points, rows, centres))
    pairs = squared_rows(points, rows, centres, cosine=metric == "cosine")
    return _row_silhouettes(points, pairs)


def _row_silhouettes(points: Points, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Compute the silhouette of every row from its distances to every cluster.

    The rows are in order, so that a sorted `group_by` holds one row at a time; a hash of all of
    them would not fit in memory.
    """
    kept, own, distance = [*points.keys, *points.weights], pl.col(OWN), pl.col(DISTANCE)
    values = {
        _INSIDE: pl.when(own).then(distance).max(),
        SIZE: pl.when(own).then(pl.col(SIZE)).max(),
        _OUTSIDE: pl.when(~own).then(distance).min(),
    }
    first = [pl.col(name).first() for name in kept]
    found = pairs.set_sorted(ROW).group_by(ROW).agg(*first, **values)
    size, outside = pl.col(SIZE), pl.col(_OUTSIDE)
    value = silhouette_of(pl.col(_INSIDE) * size / (size - 1), outside, size)
    return found.select(ROW, *kept, silhouette=pl.when(size.is_not_null()).then(value))


def silhouette_of(inside: pl.Expr, outside: pl.Expr, size: pl.Expr) -> pl.Expr:
    """Compute the silhouette from the mean distances of a row to its own and the next cluster."""
    larger = pl.max_horizontal(inside, outside)
    value = pl.when((size > 1) & (larger > 0)).then((outside - inside) / larger).otherwise(0.0)
    return pl.when(outside.is_not_null()).then(value)


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

    The table of `volumes` with ``silhouette``, the sum of silhouettes, and ``group`` if given. A
    silhouette compares a row with the rows of all groups. The rows are read twice, so tables do
    not merge. ``metric`` is as in `volumes`: ``"euclidean"`` and ``"manhattan"`` use all pairs of
    rows, at most 50,000 rows per slice; ``"sqeuclidean"``, ``"cosine"`` and ``"hamming"`` are as
    exact at any size, in flat memory.

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
    """Count the table that the silhouettes of both families read."""
    check_metric(metric)
    points = points_of(rows, by, **roles, numeric=metric != "hamming")
    return points.table(silhouette_lines(points, metric))


def silhouette_sums(columns: Sequence[str]) -> dict[str, pl.Expr]:
    """Name the sums of the table; they do not merge."""
    return {**pair_sums(columns), "silhouette": SILHOUETTE.sum()}


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
    """Return the mean over the rows that have a silhouette."""
    return quotient(SILHOUETTE.sum(), WEIGHT.filter(SILHOUETTE.is_not_null()).sum())


_mean_of_rows = functools.partial(
    define,
    silhouettes,
    "quality",
    ("cluster", "features"),
    ideal=1.0,
    bounds=(-1.0, 1.0),
    better="higher",
)


@_mean_of_rows(of=ClusteringMetric)
def silhouette() -> pl.Expr:
    """Mean silhouette: how much closer rows are to their own cluster than to the next one.

    Formula: mean of (b - a) / max(a, b). a is the mean distance of a row to the other rows of its
    cluster, and b the smallest mean distance to another cluster. It is 0 for a row alone in its
    cluster, and if a = b = 0. Undefined with one cluster.

    Range -1 to 1; ideal 1; higher is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default) and ``"manhattan"`` use all pairs of rows, in flat memory, at most
        50,000 rows per slice. ``"sqeuclidean"``, ``"cosine"`` and ``"hamming"`` read any number of
        rows twice, and are as exact.

    Notes
    -----
    scikit-learn's ``silhouette_score`` has the same values for the same metric. It raises an error
    if there is one cluster, or a cluster per row (0 here). Spark's evaluator uses
    ``"sqeuclidean"`` by default, which moves values towards -1 and 1. The mean of
    `silhouette_by_cluster` gives small clusters the same weight as large ones. A weight is a
    frequency. Beyond 50,000 rows see also `silhouette_estimate`. Measures from points have no
    ``noise=``: leave noise out with an expression, as below, because rows without a cluster do not
    count.

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

    With rows of noise, here those of cluster -1:

    >>> noisy = pl.DataFrame({"c": [1, 1, 2, 2, -1], "x": [0.0, 1.0, 4.0, 6.0, 3.0]})
    >>> known = pl.when(pl.col("c") != -1).then("c")
    >>> round(noisy.pipe(clustering.silhouette, cluster=known, features=["x"]), 4)
    0.6537
    """
    return mean_silhouette()


def _known_clusters(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    del keys
    return table.filter(CLUSTER.is_not_null() & (WEIGHT > 0))


@_mean_of_rows(of=ClusteringFrame, view=_known_clusters, keys=("cluster",))
def silhouette_by_cluster() -> pl.Expr:
    """Mean silhouette of the rows of each cluster.

    A frame with a row per cluster; `silhouette` is their mean weighted by size. Look at clusters
    whose mean is below that of all rows.

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


@lazy_or_eager(flat=True)
def silhouette_samples(
    frame: pl.LazyFrame,
    *,
    cluster: IntoColumn,
    features: IntoFeatures,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    metric: str = "euclidean",
) -> pl.LazyFrame:
    """Add to every row its silhouette.

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
        The frame, rows in their order, with a column ``silhouette``. It is null for rows that lack
        their cluster or a feature or have weight 0, and if there is one cluster.

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
    if "silhouette" in frame.collect_schema().names():
        msg = 'the frame has a column "silhouette" already: drop or rename it'
        raise ValueError(msg)
    # Selectors choose among the caller's columns, not among ours.
    given, names = features_of(frame, features, numeric=metric != "hamming")
    columns = [column.alias(n) for column, n in zip(given.values(), names, strict=True)]
    # Both branches must read the same rows under the same numbers.
    numbered = frame.with_row_index(ROW).cache()
    points = points_of(
        numbered,
        columns_of(by),
        cluster=cluster,
        features=columns,
        weight=weight,
        numeric=metric != "hamming",
        keep=(ROW,),
    )
    values = (_by_pairs if metric in QUADRATIC else _by_clusters)(points, metric)
    return numbered.join(values, on=ROW, how="left", maintain_order="left").drop(ROW)


def _by_clusters(points: Points, metric: str) -> pl.LazyFrame:
    """Compute the silhouette of every row from its distances to the clusters."""
    _, centres, measured = lines_with_volumes(points, metric)
    values = _linear_silhouettes(measured, measured.known, centres, metric)
    there = WEIGHT > 0 if points.rows.weighted else pl.lit(value=True)
    return values.select(ROW, silhouette=pl.when(there).then(SILHOUETTE.fill_nan(None)))


def _by_pairs(points: Points, metric: str) -> pl.LazyFrame:
    """Compute the silhouette of every row from its distances to all rows."""
    lines, slices = frequency_moments(points), points.slices
    rows = few_rows(points, lines, f'`metric="{metric}"`', '`metric="sqeuclidean"`')

    def silhouettes_in(frame: pl.DataFrame) -> pl.DataFrame:
        found = pair_values(frame, metric).select(*slices, ROW, "silhouette")
        return found.with_columns(SILHOUETTE.fill_nan(None))

    values = {ROW: rows.collect_schema()[ROW], "silhouette": pl.Float64()}
    return map_slices(rows, slices, silhouettes_in, values).select(ROW, "silhouette")
