"""The tally of the distances within clusters and to all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.tally import Tally
from polarsfair.clustering._internal.lines import (
    QUADRATIC,
    check_metric,
    lines_with_pairs,
    lines_with_volumes,
    pair_sums,
)
from polarsfair.clustering._internal.points import moments, points_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures

__all__ = ["volumes"]


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
