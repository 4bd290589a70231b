"""The two farthest rows of one cluster and the two nearest of two, without looking at all pairs.

Distances to the clusters' means bound the distances of rows from both sides: what cannot be
farther, or nearer, than a pair already found is not looked at.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.metric import define
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.all_pairs import (
    LIMIT,
    arrays_of,
    beside_slices,
    blocks,
    distances,
    measured_points,
    ordered,
    slice_lines,
)
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures
    from polarsfair.clustering._internal.all_pairs import Codes, Floats

__all__ = ["dunn", "extremes"]


_BLOCK = 1024


_SLACK = 1e-9
"""Bounds are widened by this much, so that rounding leaves no pair out."""


@dataclass
class _Search:
    """Counts the distances that were looked at, and stops when there are too many."""

    metric: str
    left: int = LIMIT * LIMIT

    def distances(self, left: Floats, right: Floats) -> Floats:
        self.left -= len(left) * len(right)
        if self.left < 0:
            msg = (
                f"`dunn` has more than {LIMIT * LIMIT:,} distances to look at, because these"
                " clusters overlap too much to leave pairs out: use `dunn_centroid`, or"
                ' `davies_bouldin`, or `silhouette` with `metric="sqeuclidean"`'
            )
            raise ValueError(msg)
        return distances(left, right, self.metric)


def extremes_of(frame: pl.DataFrame, *, metric: str) -> dict[str, float]:
    """Give the smallest distance between clusters and the largest within one."""
    frame = ordered(frame)
    nothing = {"separation": float("nan"), "diameter": float("nan")}
    if frame.is_empty():
        return nothing
    values, codes, weights = arrays_of(frame)
    if metric == "cosine" and not values.any(axis=1).all():
        return _among_all(values, codes, weights, metric)
    # Squares of Euclidean distances, and cosine distances, which are half the squares of those of
    # rows of length one, are in the order of the Euclidean ones.
    plain = metric if metric in ("euclidean", "manhattan") else "euclidean"
    search = _Search(plain)
    clusters = [_Cluster.of(values[codes == code], search) for code in range(codes.max() + 1)]
    found = {"separation": _separation(clusters, search), "diameter": _diameter(clusters, search)}
    if plain == metric:
        return found
    return {name: value**2 / (2 if metric == "cosine" else 1) for name, value in found.items()}


def _among_all(values: Floats, codes: Codes, weights: Floats, metric: str) -> dict[str, float]:
    """Look at all pairs: rows of zeros are no points of a space."""
    import numpy as np

    if len(values) > LIMIT:
        msg = (
            f"`dunn` looks at all pairs of more than {LIMIT:,} rows where some are all zeros: leave"
            ' those out, or use `silhouette` with `metric="cosine"`, which is exact at any size'
        )
        raise ValueError(msg)
    # A row of zeros that stands for several is at distance one from its likes.
    near, far = np.inf, float((weights[~values.any(axis=1)] > 1).any())
    for rows, columns, apart in blocks(values, metric):
        same = codes[rows][:, None] == codes[columns]
        far = max(far, float(np.where(same, apart, 0.0).max()))
        near = min(near, float(np.where(same, np.inf, apart).min()))
    return {"separation": near, "diameter": far}


@dataclass(frozen=True)
class _Cluster:
    """The rows of a cluster, farthest from its mean first, and how far they are."""

    values: Floats
    middle: Floats
    reach: Floats

    @classmethod
    def of(cls, values: Floats, search: _Search) -> _Cluster:
        middle = values.mean(axis=0, keepdims=True)
        reach = search.distances(values, middle)[:, 0]
        places = (-reach).argsort(kind="stable")
        return cls(values[places], middle, reach[places])

    @property
    def radius(self) -> float:
        return float(self.reach[0])


def _diameter(clusters: list[_Cluster], search: _Search) -> float:
    """Give the largest distance within a cluster: widest clusters first."""
    longest = 0.0
    for cluster in sorted(clusters, key=lambda one: -one.radius):
        if 2 * cluster.radius * (1 + _SLACK) < longest:
            break
        longest = max(longest, _longest_of(cluster, longest, search))
    return longest


def _longest_of(cluster: _Cluster, longest: float, search: _Search) -> float:
    """Give the longest distance of a cluster, or `longest` where none is longer."""
    values, reach = cluster.values, cluster.reach
    start = values[:1]
    for _ in range(2):
        sweep = search.distances(values, start)[:, 0]
        longest = max(longest, float(sweep.max()))
        start = values[sweep.argmax()][None]
    for i in range(0, len(values), _BLOCK):
        for j in range(i, len(values), _BLOCK):
            # Rows are sorted: those that follow are nearer to the mean still.
            if (reach[i] + reach[j]) * (1 + _SLACK) < longest:
                break
            apart = search.distances(values[i : i + _BLOCK], values[j : j + _BLOCK])
            longest = max(longest, float(apart.max()))
    return longest


def _separation(clusters: list[_Cluster], search: _Search) -> float:
    """Give the smallest distance between two clusters: nearest pairs of clusters first."""
    import numpy as np

    middles = np.concatenate([cluster.middle for cluster in clusters])
    apart = distances(middles, middles, search.metric)
    pairs = sorted(combinations(range(len(clusters)), 2), key=lambda pair: apart[pair])
    shortest = np.inf
    for one, other in pairs:
        bound = apart[one, other] - clusters[one].radius - clusters[other].radius
        if bound <= shortest * (1 + _SLACK):
            shortest = min(shortest, _shortest_of(clusters[one], clusters[other], shortest, search))
    return float(shortest)


def _shortest_of(one: _Cluster, other: _Cluster, shortest: float, search: _Search) -> float:
    """Give the shortest distance of two clusters, or `shortest` where none is shorter."""
    from_one = search.distances(one.values, other.middle)[:, 0]
    from_other = search.distances(other.values, one.middle)[:, 0]
    start = one.values[from_one.argmin()][None]
    nearest = search.distances(other.values, start)[:, 0]
    back = search.distances(one.values, other.values[nearest.argmin()][None])[:, 0]
    shortest = min(shortest, float(nearest.min()), float(back.min()))
    left, right = _facing(one, other, shortest, search.metric)
    limit = shortest * (1 + _SLACK)
    mine = one.values[left & (from_one - other.radius <= limit)]
    yours = other.values[right & (from_other - one.radius <= limit)]
    for i in range(0, len(mine), _BLOCK):
        for j in range(0, len(yours), _BLOCK):
            gaps = search.distances(mine[i : i + _BLOCK], yours[j : j + _BLOCK])
            shortest = min(shortest, float(gaps.min()))
    return shortest


def _facing(one: _Cluster, other: _Cluster, shortest: float, metric: str) -> tuple[Any, Any]:
    """Say which rows can be near the other cluster, along the line through the means."""
    import numpy as np

    line = (other.middle - one.middle)[0]
    length = float(np.linalg.norm(line))
    if metric != "euclidean" or length == 0:
        return np.ones(len(one.values), dtype=bool), np.ones(len(other.values), dtype=bool)
    along_one = (one.values - one.middle) @ line / length
    along_other = (other.values - one.middle) @ line / length
    limit = shortest + _SLACK * (shortest + length + one.radius + other.radius)
    return along_one >= along_other.min() - limit, along_other <= along_one.max() + limit


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
    points, measured = measured_points(rows, by, cluster, features, weight, metric)
    _, slices = slice_lines(points)
    search = functools.partial(extremes_of, metric=metric)
    return beside_slices(points, slices, measured.known, search, ("separation", "diameter"))


extremes = Tally(
    name="clustering.extremes",
    count=_count_extremes,
    cells=(),
    sums={n: pl.col(n).sum() for n in ("n", "clusters", "pairs", "separation", "diameter")},
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
