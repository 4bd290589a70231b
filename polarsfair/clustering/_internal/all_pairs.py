"""What needs every pair of rows: NumPy and SciPy in blocks, in flat memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from polarsfair._engine.faults import Fault, guarded
from polarsfair._engine.slices import aggregated, joined, map_slices
from polarsfair.clustering._internal.points import (
    CLUSTER,
    FEATURE,
    Points,
    points_of,
    unit_points,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from polarsfair._typing import IntoColumn, IntoFeatures

    Floats: TypeAlias = NDArray[np.float64]
    Codes: TypeAlias = NDArray[np.int64]

LIMIT = 50_000
"""Rows per slice up to which all pairs are computed: two and a half thousand million distances."""

_BLOCK = 512
"""Rows and columns of a block of distances: two megabytes, which stay in the processor's cache."""

SCIPY: Mapping[str, Literal["euclidean", "cityblock", "sqeuclidean"]] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "sqeuclidean": "sqeuclidean",
}
"""Names of the distances that SciPy computes."""

METRICS = ("euclidean", "manhattan", "sqeuclidean", "cosine", "hamming")
QUADRATIC = ("euclidean", "manhattan")
SEARCHED = ("euclidean", "manhattan", "sqeuclidean", "cosine")


def check_metric(metric: object, allowed: Sequence[str] = METRICS) -> str:
    """Raise unless `metric` is the name of one of the `allowed` distances."""
    if metric not in allowed:
        msg = f"`metric` is one of {', '.join(map(repr, allowed))}; got {metric!r}"
        raise ValueError(msg)
    return str(metric)


def few_rows(points: Points, lines: pl.LazyFrame, what: str, instead: str) -> pl.LazyFrame:
    """Return the known rows, or raise before they are gathered if a slice has too many."""
    message = (
        f"{what} computes the distances of all pairs of rows, and there are more than {LIMIT:,}:"
        f" use {instead}, which is exact at any size, or `silhouette_estimate`"
    )
    many = Fault(pl.col("n") > LIMIT, message)
    known = lines.filter(CLUSTER.is_not_null())
    return guarded(points.known, points.slices, {"n": pl.col("n").sum()}, [many], of=known)


def arrays_of(frame: pl.DataFrame) -> tuple[Floats, Codes, Floats]:
    """Return features, numbers of the clusters and weights, sorted by cluster."""
    import numpy as np

    columns = [name for name in frame.columns if name.startswith(FEATURE)]
    values = np.ascontiguousarray(frame.select(columns).to_numpy(), dtype=np.float64)
    codes = frame["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1
    weights = frame["w"] if "w" in frame.columns else pl.repeat(1, frame.height, eager=True)
    return values, codes, weights.cast(pl.Float64).to_numpy()


def ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by cluster, without those of weight 0."""
    weighed = frame.filter(pl.col("w") > 0) if "w" in frame.columns else frame
    return weighed.sort("cluster")


def distances(left: Floats, right: Floats, metric: str) -> Floats:
    """Compute the distances of all rows of `left` to all of `right`, from differences."""
    import numpy as np
    from scipy.spatial.distance import cdist

    if metric != "cosine":
        return np.asarray(cdist(left, right, SCIPY[metric]), dtype=np.float64)
    apart = cdist(left, right, "sqeuclidean") / 2
    # A row of zeros has no direction: it is at distance 1 from every other row.
    apart[~left.any(axis=1)] = 1.0
    apart[:, ~right.any(axis=1)] = 1.0
    return np.asarray(apart, dtype=np.float64)


def blocks(values: Floats, metric: str) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield the distances of all pairs, each once, in blocks; a row is at distance 0 to itself."""
    import numpy as np

    ranges = [slice(i, min(i + _BLOCK, len(values))) for i in range(0, len(values), _BLOCK)]
    for number, rows in enumerate(ranges):
        for columns in ranges[number:]:
            apart = distances(values[rows], values[columns], metric)
            if rows == columns:
                np.fill_diagonal(apart, 0.0)
            yield rows, columns, apart


def sums_to_clusters(
    values: Floats, codes: Codes, weights: Floats, metric: str
) -> tuple[Floats, Floats]:
    """Sum for every row its distances to every cluster, and the squares of all its distances."""
    import numpy as np

    total = np.zeros((len(values), int(codes.max()) + 1))
    squares = np.zeros(len(values))
    unweighed = bool((weights == 1).all())
    for rows, columns, apart in blocks(values, metric):
        both = [(rows, columns, apart)] + ([(columns, rows, apart.T)] if rows != columns else [])
        for own, other, gaps in both:
            weighed = gaps if unweighed else gaps * weights[other]
            starts = _starts(codes[other])
            total[own, codes[other][starts]] += np.add.reduceat(weighed, starts, axis=1)
            squares[own] += np.einsum("ij,ij->i", weighed, gaps)
    return total, squares


def _starts(codes: Codes) -> NDArray[np.intp]:
    """Return the positions at which the clusters of a sorted block begin."""
    import numpy as np

    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))


def silhouettes_from(total: Floats, codes: Codes, weights: Floats) -> Floats:
    """Compute the silhouette of every row from its sums of distances; NaN with one cluster."""
    import numpy as np

    sizes = np.bincount(codes, weights=weights)
    rows = np.arange(len(codes))
    if len(sizes) < 2:
        return np.full(len(codes), np.nan)
    own = sizes[codes]
    inside = total[rows, codes] / np.maximum(own - 1, 1)
    means = total / sizes
    means[rows, codes] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(inside, outside)
    value = (outside - inside) / np.where(larger > 0, larger, 1)
    return np.where((own > 1) & (larger > 0), value, 0.0)


def centroid_gaps(
    values: Floats, codes: Codes, weights: Floats, metric: str
) -> tuple[Floats, Floats]:
    """Compute the distances between the means of the clusters, and the sizes of the clusters."""
    import numpy as np

    near = values.mean(axis=0)
    sizes = np.bincount(codes, weights=weights)
    sums = [np.bincount(codes, weights=weights * column) for column in (values - near).T]
    means = np.column_stack(sums) / sizes[:, None]
    return distances(means, means, metric), sizes.astype(np.float64)


PAIRED = ("squares", "cross", "gaps", "gap_squares")
"""Sums that only the distances of all pairs have."""

VALUES = ("within", "volume", *PAIRED, "silhouette")
"""What a row adds to the table."""


def pair_values(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Add to every row, sorted by cluster, the sums over all its pairs."""
    import numpy as np

    frame = ordered(frame)
    if frame.is_empty():
        return frame.with_columns(pl.lit(None, pl.Float64).alias(name) for name in VALUES)
    values, codes, weights = arrays_of(frame)
    total, squares = sums_to_clusters(values, codes, weights, metric)
    gaps, sizes = centroid_gaps(values, codes, weights, metric)
    found = {
        "within": total[np.arange(len(codes)), codes],
        "volume": total.sum(axis=1),
        "squares": squares,
        "cross": (total * gaps[codes]).sum(axis=1),
        "gaps": (gaps @ sizes)[codes],
        "gap_squares": ((gaps * gaps) @ sizes)[codes],
        "silhouette": silhouettes_from(total, codes, weights),
    }
    columns = [pl.Series(name, part).fill_nan(None) for name, part in found.items()]
    return frame.with_columns(columns)


def pair_lines(points: Points, lines: pl.LazyFrame, metric: str) -> pl.LazyFrame:
    """Sum the values of all pairs of rows per line of the table."""
    schema, keys = lines.collect_schema(), points.keys

    def summed(frame: pl.DataFrame) -> pl.DataFrame:
        values = pair_values(frame, metric)
        sums = [(points.weight * pl.col(name)).sum().alias(name) for name in VALUES]
        return values.group_by(keys).agg(sums).select(*keys, *VALUES)

    cells = {name: schema[name] for name in keys if name not in points.slices}
    rows = few_rows(points, lines, f'`metric="{metric}"`', '`metric="sqeuclidean"`')
    return map_slices(rows, points.slices, summed, {**cells, **dict.fromkeys(VALUES, pl.Float64)})


# --- searches among the pairs of a slice: Dunn's index and the C-index ---------------------------


def measured_points(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    cluster: IntoColumn | None,
    features: IntoFeatures | None,
    weight: IntoColumn | None,
    metric: str,
) -> tuple[Points, Points]:
    """Return the points, and the points between which distances are measured."""
    check_metric(metric, SEARCHED)
    points = points_of(frame, by, cluster=cluster, features=features, weight=weight)
    return points, unit_points(points) if metric == "cosine" else points


def searched_slices(
    points: Points,
    lines: pl.LazyFrame,
    rows: pl.LazyFrame,
    search: Callable[[pl.DataFrame], dict[str, float]],
    names: Sequence[str],
) -> pl.LazyFrame:
    """Return the table with one line per slice: its counts, and what `search` finds in its rows.

    The counts are rows, clusters, and pairs of rows within clusters.
    """
    keys = points.slices
    size = pl.when(CLUSTER.is_not_null()).then(points.size.cast(pl.Float64)).otherwise(0.0)
    counts = {
        "n": pl.when(CLUSTER.is_not_null()).then(pl.col("n")).otherwise(0).sum(),
        "clusters": (size > 0).sum().cast(pl.Int64),
        "pairs": (size * (size - 1) / 2).sum(),
    }

    def one_line(frame: pl.DataFrame) -> pl.DataFrame:
        found = search(frame)
        values = [pl.Series(name, [found[name]], pl.Float64).fill_nan(None) for name in names]
        return pl.DataFrame([*(frame[key].head(1) for key in keys), *values])

    found = map_slices(rows, keys, one_line, dict.fromkeys(names, pl.Float64))
    table = joined(aggregated(lines, keys, counts), found, keys, how="left")
    return points.rows.table(table, (), [*counts, *names])
