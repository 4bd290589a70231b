"""What needs every pair of rows: NumPy and SciPy in blocks, in flat memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from polarsfair._engine.faults import Fault, guarded
from polarsfair._engine.slices import aggregated, joined, map_slices
from polarsfair.clustering._internal.digits import coarse_values, restored, scaled
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


_MOST_SUMS = 2**25
"""Sums of rows to clusters that are held at a time: a quarter of a gigabyte."""


def sums_to_clusters(
    values: Floats, codes: Codes, weights: Floats, metric: str
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Sum for every row its distances to every cluster, and the squares of all its distances.

    Yield some rows at a time, as many as fit; if all fit, every distance is computed once.
    """
    width = int(codes.max()) + 1
    step = max(_BLOCK, _MOST_SUMS // width)
    ranges = [slice(i, min(i + step, len(values))) for i in range(0, len(values), step)]
    for some in ranges:
        if len(ranges) == 1:
            pairs = _both_sides(blocks(values, metric))
        else:
            pairs = _one_side(values, some, metric)
        total, squares = _summed(pairs, (some, width), codes, weights)
        yield some, total, squares


def _both_sides(
    pairs: Iterator[tuple[slice, slice, Floats]],
) -> Iterator[tuple[slice, slice, Floats]]:
    for rows, columns, apart in pairs:
        yield rows, columns, apart
        if rows != columns:
            yield columns, rows, apart.T


def _one_side(values: Floats, some: slice, metric: str) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield the distances of some rows to all rows, in blocks."""
    for start in range(some.start, some.stop, _BLOCK):
        own = slice(start, min(start + _BLOCK, some.stop))
        for begin in range(0, len(values), _BLOCK):
            other = slice(begin, min(begin + _BLOCK, len(values)))
            yield own, other, distances(values[own], values[other], metric)


def _summed(
    pairs: Iterator[tuple[slice, slice, Floats]],
    shape: tuple[slice, int],
    codes: Codes,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Sum blocks of distances per cluster; `shape` is the rows, and the number of clusters."""
    import numpy as np

    some, width = shape
    total, squares = np.zeros((some.stop - some.start, width)), np.zeros(some.stop - some.start)
    unweighed = bool((weights == 1).all())
    for rows, other, gaps in pairs:
        own = slice(rows.start - some.start, rows.stop - some.start)
        weighed = gaps if unweighed else gaps * weights[other]
        starts = _starts(codes[other])
        total[own, codes[other][starts]] += np.add.reduceat(weighed, starts, axis=1)
        squares[own] += np.einsum("ij,ij->i", weighed, gaps)
    return total, squares


def _starts(codes: Codes) -> NDArray[np.intp]:
    """Return the positions at which the clusters of a sorted block begin."""
    import numpy as np

    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))


def silhouettes_from(
    total: Floats, codes: Codes, sizes: Floats, *, far: bool = False
) -> tuple[Floats, bool]:
    """Compute the silhouette of rows from their sums of distances; NaN with one cluster.

    Also return whether rounding may have made a row equal to all of its cluster: `far` is whether
    rows are far from zero.
    """
    import numpy as np

    rows = np.arange(len(codes))
    if len(sizes) < 2:
        return np.full(len(codes), np.nan), False
    own = sizes[codes]
    inside = total[rows, codes] / np.maximum(own - 1, 1)
    means = total / sizes
    means[rows, codes] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(inside, outside)
    value = (outside - inside) / np.where(larger > 0, larger, 1)
    lost = far and bool(((own > 1) & (inside == 0)).any())
    return np.where((own > 1) & (larger > 0), value, 0.0), lost


def cluster_means(values: Floats, codes: Codes, weights: Floats) -> tuple[Floats, Floats]:
    """Compute the means of the clusters minus that of all rows, and the sizes of the clusters."""
    import numpy as np

    near = values.mean(axis=0)
    sizes = np.bincount(codes, weights=weights).astype(np.float64)
    sums = [np.bincount(codes, weights=weights * column) for column in (values - near).T]
    return np.column_stack(sums) / sizes[:, None], sizes


PAIRED = ("squares", "cross", "gaps", "gap_squares")
"""Sums that only the distances of all pairs have."""

VALUES = ("within", "volume", *PAIRED, "silhouette")
"""What a row adds to the table."""


def pair_values(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Add to every row, sorted by cluster, the sums over all its pairs.

    They are NaN, not null, if they overflow or are lost to rounding: so are sums of them.
    """
    import numpy as np

    frame = ordered(frame)
    if frame.is_empty():
        return frame.with_columns(pl.lit(None, pl.Float64).alias(name) for name in VALUES)
    values, codes, weights = arrays_of(frame)
    far = coarse_values(values)
    (values,), power = scaled(values)
    found, lost = _pair_sums(values, codes, weights, metric, far=far)
    with np.errstate(over="ignore", under="ignore"):
        parts = {name: restored(part, _UNITS[name] * power) for name, part in found.items()}
    if far:
        # Distances that are all 0 may be those of rows that rounding made equal.
        parts |= {
            name: parts[name] + np.nan for name in ("within", "cross") if not parts[name].any()
        }
    parts |= {"silhouette": parts["silhouette"] + np.nan} if lost else {}
    return frame.with_columns(pl.Series(name, part) for name, part in parts.items())


_UNITS = {"squares": 2, "cross": 2, "gap_squares": 2, "silhouette": 0} | dict.fromkeys(
    ("within", "volume", "gaps"), 1
)
"""Powers of the unit of the features in which the sums are."""


def _pair_sums(
    values: Floats, codes: Codes, weights: Floats, metric: str, *, far: bool
) -> tuple[dict[str, Floats], bool]:
    """Compute the sums of all rows, and whether silhouettes are lost to rounding."""
    import numpy as np

    means, sizes = cluster_means(values, codes, weights)
    found, lost = {name: np.zeros(len(codes)) for name in VALUES}, False
    for some, total, squares in sums_to_clusters(values, codes, weights, metric):
        own = codes[some]
        silhouettes, equal = silhouettes_from(total, own, sizes, far=far)
        lost = lost or equal
        sums = {
            "within": total[np.arange(len(own)), own],
            "volume": total.sum(axis=1),
            "squares": squares,
            "silhouette": silhouettes,
        }
        for name, part in sums.items():
            found[name][some] = part
        _add_gaps(found, some, total, (means, own, sizes), metric)
    return found, lost


def _add_gaps(
    found: dict[str, Floats],
    some: slice,
    total: Floats,
    clusters: tuple[Floats, Codes, Floats],
    metric: str,
) -> None:
    """Add the sums over pairs of rows of the distances of their clusters' means."""
    import numpy as np

    means, codes, sizes = clusters
    # Rows are sorted by cluster, so that those of one cluster follow each other.
    starts = np.append(_starts(codes), len(codes))
    step = max(1, _MOST_SUMS // (8 * len(sizes)))
    for first in range(0, len(starts) - 1, step):
        begins = starts[first : first + step + 1]
        gaps = distances(means[codes[begins[:-1]]], means, metric)
        counts = np.diff(begins)
        rows = slice(some.start + int(begins[0]), some.start + int(begins[-1]))
        found["gaps"][rows] = np.repeat(gaps @ sizes, counts)
        found["gap_squares"][rows] = np.repeat((gaps * gaps) @ sizes, counts)
        for number, (begin, end) in enumerate(pairwise(begins.tolist())):
            found["cross"][some.start + begin : some.start + end] = total[begin:end] @ gaps[number]


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
