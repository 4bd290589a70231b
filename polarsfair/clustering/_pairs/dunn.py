"""Dunn's index: the two nearest rows of different clusters and the two farthest of one.

Distances to the means of clusters bound the distances of rows from both sides. Pairs that cannot be
farther apart, or closer, than a pair already found are skipped.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.all_pairs import (
    LIMIT,
    arrays_of,
    blocks,
    distances,
    measured_points,
    ordered,
    searched_slices,
)
from polarsfair.clustering._internal.digits import coarse_values, restored, scaled
from polarsfair.clustering._internal.points import frequency_moments, internal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from polarsfair._typing import IntoColumn, IntoFeatures
    from polarsfair.clustering._internal.all_pairs import Codes, Floats

__all__ = ["dunn", "extremes"]

_BLOCK = 1024


_CALL = 250
"""What a call costs at least, in distances: pairs of small clusters are many calls."""

_SLACK = 1e-9
"""Bounds are widened by this much, so that rounding excludes no pair."""


@dataclass
class _Search:
    """Counts the distances that were computed, and raises if there are too many."""

    metric: str
    left: int = LIMIT * LIMIT

    def distances(self, left: Floats, right: Floats) -> Floats:
        self.left -= max(len(left) * len(right), _CALL)
        if self.left < 0:
            msg = (
                f"`dunn` needs more than {LIMIT * LIMIT:,} distances, because these clusters"
                " overlap too much for pairs to be skipped: use `dunn_centroid`,"
                ' `davies_bouldin`, or `silhouette` with `metric="sqeuclidean"`'
            )
            raise ValueError(msg)
        return distances(left, right, self.metric)


def extremes_of(frame: pl.DataFrame, *, metric: str) -> dict[str, float]:
    """Find the smallest distance between clusters and the largest within one.

    Both are NaN if one is 0 in rows so far from zero that rounding may have made it 0.
    """
    import numpy as np

    frame = ordered(frame)
    if frame.is_empty():
        return {"separation": math.nan, "diameter": math.nan}
    values, codes, weights = arrays_of(frame)
    if metric == "cosine" and not values.any(axis=1).all():
        return _among_all(values, codes, weights, metric)
    far, ((values,), power) = coarse_values(values), scaled(values)
    # Squared Euclidean distances have the order of the Euclidean ones. So have cosine distances,
    # which are half the squared distances of rows of length one.
    plain = metric if metric in ("euclidean", "manhattan") else "euclidean"
    search = _Search(plain)
    clusters = [_Cluster.of(part, search) for part in _parts(values, codes)]
    both = restored(np.array([_separation(clusters, search), _diameter(clusters, search)]), power)
    if far and not both.all():
        both[:] = math.nan
    if plain != metric:
        with np.errstate(over="ignore", under="ignore"):
            both = both * both / (2 if metric == "cosine" else 1)
    return dict(zip(("separation", "diameter"), both.tolist(), strict=True))


def _parts(values: Floats, codes: Codes) -> list[Floats]:
    """Split rows, which are sorted by cluster, into clusters."""
    import numpy as np

    return np.split(values, np.flatnonzero(np.diff(codes)) + 1)


def _among_all(values: Floats, codes: Codes, weights: Floats, metric: str) -> dict[str, float]:
    """Compute all pairs: rows of zeros are not points of a space."""
    import numpy as np

    if len(values) > LIMIT:
        msg = (
            f"`dunn` needs all pairs of more than {LIMIT:,} rows, because some rows are all zeros:"
            ' leave those out, or use `silhouette` with `metric="cosine"`, which is exact at any'
            " size"
        )
        raise ValueError(msg)
    # A zero row of weight above 1 represents several rows, which are at distance 1 from each other.
    near, far = np.inf, float((weights[~values.any(axis=1)] > 1).any())
    for rows, columns, apart in blocks(values, metric):
        same = codes[rows][:, None] == codes[columns]
        far = max(far, float(np.where(same, apart, 0.0).max()))
        near = min(near, float(np.where(same, np.inf, apart).min()))
    return {"separation": near, "diameter": far}


@dataclass(frozen=True)
class _Cluster:
    """The rows of a cluster, farthest from its mean first, and their distances from it."""

    values: Floats
    middle: Floats
    reach: Floats

    @classmethod
    def of(cls, values: Floats, search: _Search) -> _Cluster:
        middle = values.mean(axis=0, keepdims=True)
        reach = search.distances(values, middle)[:, 0]
        order = (-reach).argsort(kind="stable")
        return cls(values[order], middle, reach[order])

    @property
    def radius(self) -> float:
        return float(self.reach[0])


def _diameter(clusters: list[_Cluster], search: _Search) -> float:
    """Find the largest distance within a cluster: widest clusters first."""
    longest = 0.0
    for cluster in sorted(clusters, key=lambda one: -one.radius):
        if 2 * cluster.radius * (1 + _SLACK) < longest:
            break
        longest = max(longest, _longest_of(cluster, longest, search))
    return longest


def _longest_of(cluster: _Cluster, longest: float, search: _Search) -> float:
    """Find the longest distance within a cluster, or return `longest` if it is longer."""
    values, reach = cluster.values, cluster.reach
    start = values[:1]
    for _ in range(2):
        sweep = search.distances(values, start)[:, 0]
        longest = max(longest, float(sweep.max()))
        start = values[sweep.argmax()][None]
    for i in range(0, len(values), _BLOCK):
        for j in range(i, len(values), _BLOCK):
            # Rows are sorted: those that follow are even closer to the mean.
            if (reach[i] + reach[j]) * (1 + _SLACK) < longest:
                break
            apart = search.distances(values[i : i + _BLOCK], values[j : j + _BLOCK])
            longest = max(longest, float(apart.max()))
    return longest


def _separation(clusters: list[_Cluster], search: _Search) -> float:
    """Find the smallest distance between two clusters: nearest pairs of clusters first."""
    import numpy as np

    shortest = np.inf
    # A first pass finds a short distance, so that the second one looks at few pairs.
    for first in (True, False):
        for start, apart, bounds in _between(clusters, search.metric):
            for place in _nearest_places(apart, bounds, shortest, first=first):
                own, other = start + place // apart.shape[1], place % apart.shape[1]
                if bounds.flat[place] <= shortest * (1 + _SLACK):
                    found = _shortest_of(clusters[own], clusters[other], shortest, search)
                    shortest = min(shortest, found)
    return float(shortest)


def _between(clusters: list[_Cluster], metric: str) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield the distances of some means to all later ones, and what rows are apart at least."""
    import numpy as np

    middles = np.concatenate([cluster.middle for cluster in clusters])
    radii = np.array([cluster.radius for cluster in clusters])
    for start in range(0, len(clusters), _BLOCK):
        some = slice(start, min(start + _BLOCK, len(clusters)))
        apart = distances(middles[some], middles, metric)
        apart[np.tri(apart.shape[0], apart.shape[1], k=start, dtype=bool)] = np.inf
        # Infinite features are refused elsewhere; here they must not warn.
        with np.errstate(invalid="ignore"):
            bounds = apart - radii[some, None] - radii
        yield start, apart, bounds


def _nearest_places(apart: Floats, bounds: Floats, shortest: float, *, first: bool) -> list[int]:
    """Return the places of pairs that can be closer than `shortest`, nearest means first."""
    import numpy as np

    if first:
        place = int(apart.argmin())
        return [place] if np.isfinite(apart.flat[place]) else []
    near = np.flatnonzero((bounds <= shortest * (1 + _SLACK)) & np.isfinite(apart))
    order: list[int] = near[apart.flat[near].argsort(kind="stable")].tolist()
    return order


def _shortest_of(own: _Cluster, other: _Cluster, shortest: float, search: _Search) -> float:
    """Find the shortest distance of two clusters, or return `shortest` if it is shorter."""
    from_own = search.distances(own.values, other.middle)[:, 0]
    from_other = search.distances(other.values, own.middle)[:, 0]
    start = own.values[from_own.argmin()][None]
    nearest = search.distances(other.values, start)[:, 0]
    back = search.distances(own.values, other.values[nearest.argmin()][None])[:, 0]
    shortest = min(shortest, float(nearest.min()), float(back.min()))
    left, right = _facing(own, other, shortest, search.metric)
    limit = shortest * (1 + _SLACK)
    near_own = own.values[left & (from_own - other.radius <= limit)]
    near_other = other.values[right & (from_other - own.radius <= limit)]
    for i in range(0, len(near_own), _BLOCK):
        for j in range(0, len(near_other), _BLOCK):
            gaps = search.distances(near_own[i : i + _BLOCK], near_other[j : j + _BLOCK])
            shortest = min(shortest, float(gaps.min()))
    return shortest


def _facing(
    own: _Cluster, other: _Cluster, shortest: float, metric: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of the rows that can be close to the other cluster.

    They are compared along the line through the two means.
    """
    import numpy as np

    line = (other.middle - own.middle)[0]
    length = float(np.linalg.norm(line))
    if metric != "euclidean" or length == 0:
        return np.ones(len(own.values), dtype=bool), np.ones(len(other.values), dtype=bool)
    along_own = (own.values - own.middle) @ line / length
    along_other = (other.values - own.middle) @ line / length
    limit = shortest + _SLACK * (shortest + length + own.radius + other.radius)
    return along_own >= along_other.min() - limit, along_other <= along_own.max() + limit


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

    The table has one row per slice: ``n`` rows, ``clusters``, ``pairs`` of rows within clusters,
    ``separation`` and ``diameter``. The search skips rows that cannot be among the extremes. If too
    many rows remain, it raises an error. ``metric`` is ``"euclidean"``, ``"manhattan"``,
    ``"sqeuclidean"`` or ``"cosine"``. Tables do not merge.

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
    search = functools.partial(extremes_of, metric=metric)
    found = ("separation", "diameter")
    return searched_slices(points, frequency_moments(points), measured.known, search, found)


extremes = Tally(
    name="clustering.extremes",
    count=_count_extremes,
    cells=(),
    sums={n: pl.col(n).sum() for n in ("n", "clusters", "pairs", "separation", "diameter")},
    defaults={},
    mergeable=False,
    single=("metric",),
)


@internal(extremes, bounds=(0.0, math.inf), better="higher")
def dunn() -> pl.Expr:
    """Smallest distance between clusters over the largest distance within one.

    Formula: the smallest distance of two rows of different clusters over the largest distance of
    two rows of one cluster. Undefined with one cluster, and if every row is a cluster.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default), ``"manhattan"``, ``"sqeuclidean"`` or ``"cosine"``.

    Notes
    -----
    Two pairs of rows decide the value, so one outlier can change it, and no sample can estimate it.
    The search skips rows that cannot be among the extremes. If more than 2,500 million distances
    remain, it raises an error: see `dunn_centroid`. The rows are held in memory.

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
