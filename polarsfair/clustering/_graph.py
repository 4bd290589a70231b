"""Measures of a clustering of vertices, from a list of edges."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, schema_of
from polarsfair._engine.faults import same_dtype
from polarsfair._engine.metric import define
from polarsfair._engine.rows import WEIGHTED_SUMS, count_cells, key
from polarsfair._engine.slices import over, summed
from polarsfair._engine.tally import Tally
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = ["edge_modularity", "edge_normalized_cut", "edges"]


def _count_edges(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    cluster: IntoColumn | None = None,
    other: IntoColumn | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count the edges of a graph per pair of clusters that they join.

    A row is an undirected edge, each pair of vertices once: ``cluster`` and ``other`` are the
    clusters of its two ends, in either order, ``weight`` its similarity. The table has the slices,
    ``group``, ``cluster``, ``other``, ``n`` edges, and with ``weight`` also ``w`` and ``w2``.

    Notes
    -----
    Leave out edges from a vertex to itself, because the table cannot distinguish them from other
    edges inside a cluster. A vertex without edges is in no row, and does not count.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> edges = pl.DataFrame({"a": [0, 0, 1], "b": [1, 2, 2]})
    >>> found = pl.DataFrame({"vertex": [0, 1, 2], "c": ["x", "x", "y"]})
    >>> ends = edges.join(found, left_on="a", right_on="vertex").join(
    ...     found, left_on="b", right_on="vertex", suffix="_b"
    ... )
    >>> clustering.edges(ends, cluster="c", other="c_b").sort("other")
    shape: (2, 3)
    ┌─────────┬───────┬─────┐
    │ cluster ┆ other ┆ n   │
    │ ---     ┆ ---   ┆ --- │
    │ str     ┆ str   ┆ i64 │
    ╞═════════╪═══════╪═════╡
    │ x       ┆ x     ┆ 1   │
    │ x       ┆ y     ┆ 2   │
    └─────────┴───────┴─────┘
    """
    if cluster is None or other is None:
        msg = '`clustering.edges` needs both ends: `cluster="<column>", other="<column>"`'
        raise TypeError(msg)
    ends = {"cluster": as_column(cluster, "cluster"), "other": as_column(other, "other")}
    check_columns(rows, {role: [column] for role, column in ends.items()})
    dtypes = schema_of(rows, ends)
    cast, faults = same_dtype(ends, dtypes)
    cells = {role: key(column) for role, column in cast.items()}
    return count_cells(rows, by, group=group, cells=cells, weight=weight, faults=faults)


edges = Tally(
    name="clustering.edges",
    count=_count_edges,
    cells=("group", "cluster", "other"),
    sums=WEIGHTED_SUMS,
)


def _volumes(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per cluster: the weight of edge ends in it, and of ends of edges inside it."""
    weight, cluster, other = pl.col("w"), pl.col("cluster"), pl.col("other")
    known = cluster.is_not_null() & other.is_not_null() & (weight > 0)
    counted = pl.when(known).then(weight).otherwise(0).cast(pl.Float64)
    # Every edge has two ends. Unknown ones keep a line for the slice, so that its value is null.
    ends = pl.concat(
        table.select(
            *keys,
            cluster=pl.when(known).then(end),
            volume=counted,
            inside=pl.when(cluster == other).then(counted).otherwise(0.0),
        )
        for end in (cluster, other)
    )
    lines = summed(ends, [*keys, "cluster"], ["volume", "inside"])
    return lines.with_columns(total=over(pl.col("volume").sum(), keys))


_of_edges = functools.partial(
    define,
    edges,
    "quality",
    ("cluster", "other"),
    of=ClusteringMetric,
    view=_volumes,
)
_VOLUME, _INSIDE, _TOTAL = pl.col("volume"), pl.col("inside"), pl.col("total")


@_of_edges(bounds=(-0.5, 1.0), better="higher")
def edge_modularity() -> pl.Expr:
    """Modularity: the share of edges inside clusters, minus the share expected from degrees.

    Formula: sum over clusters of W(C, C) / W - (vol(C) / W)^2. W is twice the weight of all edges,
    vol(C) the weight of edge ends in C, and W(C, C) twice the weight of edges inside C. Weights are
    similarities. It is 0 with one cluster. Undefined without edges.

    Range -0.5 to 1; no ideal; higher is better.

    References
    ----------
    Newman (2006). Modularity and Community Structure in Networks. PNAS 103(23), 8577-8582.

    Examples
    --------
    Two triangles, joined by one edge.

    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 1, 2, 2, 2, 1], "d": [1, 1, 1, 2, 2, 2, 2]})
    >>> round(df.pipe(clustering.edge_modularity, cluster="c", other="d"), 4)
    0.3571
    """
    share, degree = _INSIDE / _TOTAL, _VOLUME / _TOTAL
    value = share.sum() - (degree * degree).sum()
    return pl.when(_TOTAL.max() > 0).then(value.clip(-0.5, 1))


@_of_edges(bounds=(0.0, math.inf), ideal=0.0, better="lower")
def edge_normalized_cut() -> pl.Expr:
    """Sum over clusters of the share of edge ends that belong to edges leaving the cluster.

    Formula: sum over clusters of 1 - W(C, C) / vol(C), with W and vol as in `edge_modularity`. At
    most the number of clusters: compare only clusterings with equally many clusters. Undefined
    without edges.

    Range 0 to inf; ideal 0; lower is better.

    References
    ----------
    Shi, Malik (2000). Normalized Cuts and Image Segmentation. IEEE Transactions on Pattern Analysis
    and Machine Intelligence 22(8), 888-905.

    Examples
    --------
    Two triangles, joined by one edge.

    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 1, 2, 2, 2, 1], "d": [1, 1, 1, 2, 2, 2, 2]})
    >>> round(df.pipe(clustering.edge_normalized_cut, cluster="c", other="d"), 4)
    0.2857
    """
    outside = pl.when(_VOLUME > 0).then(1 - _INSIDE / _VOLUME)
    return pl.when(_TOTAL.max() > 0).then(outside.sum())
