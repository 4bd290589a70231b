"""Measures of the nearest and the farthest pairs of rows: the C-index and Dunn's index."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.metric import define
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.all_pairs import guarded, per_slice
from polarsfair.clustering._internal.c_index import order_sums
from polarsfair.clustering._internal.distance_sums import beside, unit_points
from polarsfair.clustering._internal.dunn import extremes_of
from polarsfair.clustering._internal.lines import check_metric, counted_frequencies
from polarsfair.clustering._internal.points import CLUSTER, WEIGHT, Points, moments_of, points_of
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures

__all__ = ["c_index", "dunn", "extremes", "order"]

_METRICS = ("euclidean", "manhattan", "sqeuclidean", "cosine")


def _slice_lines(points: Points) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Give the clusters, and per slice their number, the rows, and the pairs within clusters."""
    lines = counted_frequencies(points, moments_of(points)).cache()
    weight = (WEIGHT if points.weighted else pl.col("n")).cast(pl.Float64)
    size = pl.when(CLUSTER.is_not_null()).then(weight).otherwise(0.0)
    sums = {
        "n": pl.when(CLUSTER.is_not_null()).then(pl.col("n")).otherwise(0).sum(),
        "clusters": (size > 0).sum().cast(pl.Int64),
        "pairs": (size * (size - 1) / 2).sum(),
    }
    slices = lines.group_by(points.slices).agg(**sums) if points.slices else lines.select(**sums)
    return lines, slices


def _beside_slices(
    points: Points,
    slices: pl.LazyFrame,
    rows: pl.LazyFrame,
    function: Callable[[pl.DataFrame], dict[str, float]],
    names: Sequence[str],
) -> pl.LazyFrame:
    """Put beside every slice the numbers that `function` makes of its rows."""
    keys = list(points.slices)
    schema = points.rows.collect_schema()
    result = {key: schema[key] for key in keys} | dict.fromkeys(names, pl.Float64())

    def called(frame: pl.DataFrame) -> pl.DataFrame:
        found = function(frame)
        values = [pl.Series(name, [found[name]], pl.Float64).fill_nan(None) for name in names]
        return pl.DataFrame([*(frame[key].head(1) for key in keys), *values])

    found = per_slice(points, rows, called, result)
    if not keys:
        return beside(slices, found, keys)
    return points.called(slices.join(found, on=keys, how="left", nulls_equal=True))


def _measured(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    cluster: IntoColumn | None,
    features: IntoFeatures | None,
    weight: IntoColumn | None,
    metric: str,
) -> tuple[Points, Points]:
    """Give the points, and the points as their distances are measured."""
    check_metric(metric, _METRICS)
    points = points_of(rows, by, cluster=cluster, features=features, weight=weight)
    return points, unit_points(points) if metric == "cosine" else points


def _count_extremes(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
    metric: str = "euclidean",
) -> pl.LazyFrame:
    """Find the two nearest rows of different clusters and the two farthest of one.

    The table has a line per slice: ``n`` rows, ``clusters``, ``pairs`` of rows within clusters,
    ``separation`` and ``diameter``. Rows that cannot be among the extremes are left out of the
    search; what remains may be all of them, and then it stops with an error. ``metric`` is
    ``"euclidean"``, ``"manhattan"``, ``"sqeuclidean"`` or ``"cosine"``. Tables do not add up.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> clustering.extremes(df, cluster="c", features="x")
    shape: (1, 5)
    ┌─────┬──────────┬───────┬────────────┬──────────┐
    │ n   ┆ clusters ┆ pairs ┆ separation ┆ diameter │
    │ --- ┆ ---      ┆ ---   ┆ ---        ┆ ---      │
    │ i64 ┆ i64      ┆ f64   ┆ f64        ┆ f64      │
    ╞═════╪══════════╪═══════╪════════════╪══════════╡
    │ 4   ┆ 2        ┆ 2.0   ┆ 3.0        ┆ 2.0      │
    └─────┴──────────┴───────┴────────────┴──────────┘
    """
    points, measured = _measured(rows, by, cluster, features, weight, metric)
    _, slices = _slice_lines(points)
    search = functools.partial(extremes_of, metric=metric)
    return _beside_slices(points, slices, measured.known, search, ("separation", "diameter"))


extremes = Tally(
    name="clustering.extremes",
    count=_count_extremes,
    cells=(),
    sums={n: pl.col(n).sum() for n in ("n", "clusters", "pairs", "separation", "diameter")},
    defaults={},
    mergeable=False,
    single=("metric",),
)


def _count_order(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
    metric: str = "euclidean",
) -> pl.LazyFrame:
    """Sum the distances within clusters, and as many of the smallest and of the largest.

    The table has a line per slice: ``n`` rows, ``clusters``, ``pairs`` of rows within clusters,
    ``inside``, the sum of their distances, and ``lowest`` and ``highest``, the sums of as many of
    the smallest and largest distances of all pairs of rows. At most 50,000 rows a slice, in flat
    memory. ``metric`` is ``"euclidean"``, ``"manhattan"``, ``"sqeuclidean"`` or ``"cosine"``.
    Tables do not add up.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> clustering.order(df, cluster="c", features="x").select("inside", "lowest", "highest")
    shape: (1, 3)
    ┌────────┬────────┬─────────┐
    │ inside ┆ lowest ┆ highest │
    │ ---    ┆ ---    ┆ ---     │
    │ f64    ┆ f64    ┆ f64     │
    ╞════════╪════════╪═════════╡
    │ 3.0    ┆ 3.0    ┆ 11.0    │
    └────────┴────────┴─────────┘
    """
    points, measured = _measured(rows, by, cluster, features, weight, metric)
    lines, slices = _slice_lines(points)
    few = guarded(measured, lines, "`c_index`", '`beta_cv` with `metric="sqeuclidean"`')
    search = functools.partial(order_sums, metric=metric)
    return _beside_slices(points, slices, few, search, ("inside", "lowest", "highest"))


order = Tally(
    name="clustering.order",
    count=_count_order,
    cells=(),
    sums={n: pl.col(n).sum() for n in ("n", "clusters", "pairs", "inside", "lowest", "highest")},
    defaults={},
    mergeable=False,
    single=("metric",),
)

_share = functools.partial(
    define, kind="quality", roles=("cluster", "features"), of=ClusteringMetric
)


@_share(extremes, bounds=(0.0, math.inf), better="higher")
def dunn() -> pl.Expr:
    """Smallest distance between clusters over the largest distance within one.

    Formula: the smallest distance of two rows of different clusters over the largest distance of
    two rows of one cluster. Undefined with one cluster and where every row is a cluster.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default), ``"manhattan"``, ``"sqeuclidean"`` or ``"cosine"``.

    Notes
    -----
    Two pairs of rows decide it, so that one outlier changes everything, and no sample can estimate
    it. The search leaves out rows that cannot be among the extremes; where it does not get below
    some thousand million distances it stops with an error: see `dunn_centroid`. The rows
    are held in memory.

    References
    ----------
    Dunn (1974). Well-Separated Clusters and Optimal Fuzzy Partitions. Journal of Cybernetics 4(1),
    95-104.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> df.pipe(clustering.dunn, cluster="c", features=["x"])
    1.5
    """
    several = (pl.col("clusters").first() > 1) & (pl.col("pairs").first() > 0)
    return pl.when(several).then(quotient(pl.col("separation").first(), pl.col("diameter").first()))


@_share(order, bounds=(0.0, 1.0), better="lower", ideal=0.0)
def c_index() -> pl.Expr:
    """Where the distances within clusters lie between the smallest and largest possible.

    Formula: (W - L) / (H - L), with W the sum of distances of the pairs of rows of one cluster, L
    and H the sums of as many of the smallest and of the largest distances of all pairs. Undefined
    with one cluster, where every row is a cluster, and where all distances are equal.

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default), ``"manhattan"``, ``"sqeuclidean"`` or ``"cosine"``; all look at
        all pairs of rows, at most 50,000 rows a slice.

    References
    ----------
    Hubert, Levin (1976). A General Statistical Framework for Assessing Categorical Clustering in
    Free Recall. Psychological Bulletin 83(6), 1072-1080.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 3.0, 4.0, 6.0]})
    >>> round(df.pipe(clustering.c_index, cluster="c", features=["x"]), 4)
    0.2857
    """
    inside, low, high = (pl.col(name).first() for name in ("inside", "lowest", "highest"))
    varies = (pl.col("pairs").first() > 0) & (high - low > 1e-12 * high)
    return pl.when(varies).then(quotient(inside - low, high - low).clip(0, 1))
