"""What needs every pair of rows: NumPy and SciPy in blocks, in flat memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from polarsfair._engine.legacy import (
    fault,
)
from polarsfair.clustering._internal.points import (
    CLUSTER,
    FEATURE,
    WEIGHT,
    Points,
    beside,
    counted_frequencies,
    moments_of,
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
"""Rows a slice up to which all pairs are looked at: two and a half thousand million distances."""


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


def check_metric(metric: Any, allowed: Sequence[str] = METRICS) -> str:
    """Raise unless `metric` is the name of a distance that is known here."""
    if metric not in allowed:
        msg = f"`metric` is one of {', '.join(map(repr, allowed))}; got {metric!r}"
        raise ValueError(msg)
    return str(metric)


def per_slice(
    points: Points,
    rows: pl.LazyFrame,
    function: Callable[[pl.DataFrame], pl.DataFrame],
    schema: dict[str, Any],
) -> pl.LazyFrame:
    """Call `function` with the known rows of every slice; `schema` is that of its result."""
    if points.slices:
        return rows.group_by(points.slices).map_groups(function, schema=pl.Schema(schema))
    return rows.map_batches(
        function,
        schema=pl.Schema(schema),
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )


def guarded(points: Points, lines: pl.LazyFrame, what: str, instead: str) -> pl.LazyFrame:
    """Give the known rows, or stop before they are gathered where a slice has too many."""
    message = (
        f"{what} looks at all pairs of rows, and there are more than {LIMIT:,}: use {instead},"
        " which is exact at any size, or `silhouette_estimate`"
    )
    known = lines.filter(CLUSTER.is_not_null())
    sizes = (
        known.group_by(points.slices).agg(size=pl.col("n").sum())
        if points.slices
        else (known.select(size=pl.col("n").sum()))
    )
    stop = fault(pl.col("size") > LIMIT, message)
    sizes = sizes.select(*points.slices, **{"|few": pl.coalesce(stop, pl.col("size"))})
    if points.slices:
        joined = points.known.join(sizes, on=points.slices, how="inner", nulls_equal=True)
    else:
        joined = points.known.join(sizes, how="cross")
    return joined.filter(pl.col("|few") >= 0).drop("|few")


def arrays_of(frame: pl.DataFrame) -> tuple[Floats, Codes, Floats]:
    """Give features, numbers of the clusters and weights, sorted by cluster."""
    import numpy as np

    columns = [name for name in frame.columns if name.startswith(FEATURE)]
    values = np.ascontiguousarray(frame.select(columns).to_numpy(), dtype=np.float64)
    codes = frame["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1
    weights = frame["w"] if "w" in frame.columns else pl.repeat(1, frame.height, eager=True)
    return values, codes, weights.cast(pl.Float64).to_numpy()


def ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by cluster, and leave out those that weigh nothing."""
    weighed = frame.filter(pl.col("w") > 0) if "w" in frame.columns else frame
    return weighed.sort("cluster")


def distances(left: Floats, right: Floats, metric: str) -> Floats:
    """Give the distances of all rows of `left` to all of `right`, from differences."""
    import numpy as np
    from scipy.spatial.distance import cdist

    if metric != "cosine":
        return np.asarray(cdist(left, right, SCIPY[metric]), dtype=np.float64)
    apart = cdist(left, right, "sqeuclidean") / 2
    # A row of zeros has no direction: it is at distance one from every other row.
    apart[~left.any(axis=1)] = 1.0
    apart[:, ~right.any(axis=1)] = 1.0
    return np.asarray(apart, dtype=np.float64)


def blocks(values: Floats, metric: str) -> Iterator[tuple[slice, slice, Floats]]:
    """Give the distances of all pairs, each once, in blocks; a row to itself is at distance 0."""
    import numpy as np

    places = [slice(i, min(i + _BLOCK, len(values))) for i in range(0, len(values), _BLOCK)]
    for number, rows in enumerate(places):
        for columns in places[number:]:
            apart = distances(values[rows], values[columns], metric)
            if rows == columns:
                np.fill_diagonal(apart, 0.0)
            yield rows, columns, apart


def sums_to_clusters(
    values: Floats, codes: Codes, weights: Floats, metric: str
) -> tuple[Floats, Floats]:
    """Give for every row the sum of its distances to every cluster, and of their squares."""
    import numpy as np

    total = np.zeros((len(values), int(codes.max()) + 1))
    squares = np.zeros(len(values))
    unweighed = bool((weights == 1).all())
    for rows, columns, apart in blocks(values, metric):
        once = [(rows, columns, apart)] + ([(columns, rows, apart.T)] if rows != columns else [])
        for own, other, gaps in once:
            weighed = gaps if unweighed else gaps * weights[other]
            starts = _starts(codes[other])
            total[own, codes[other][starts]] += np.add.reduceat(weighed, starts, axis=1)
            squares[own] += np.einsum("ij,ij->i", weighed, gaps)
    return total, squares


def _starts(codes: Codes) -> Any:
    """Say where the clusters of a sorted block begin."""
    import numpy as np

    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))


def silhouettes_from(total: Floats, codes: Codes, weights: Floats) -> Floats:
    """Give the silhouette of every row from its sums of distances; NaN with one cluster."""
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
    """Give the distances of the clusters' means from each other, and the clusters' sizes."""
    import numpy as np

    near = values.mean(axis=0)
    sizes = np.bincount(codes, weights=weights)
    sums = [np.bincount(codes, weights=weights * column) for column in (values - near).T]
    means = np.column_stack(sums) / sizes[:, None]
    return distances(means, means, metric), sizes.astype(np.float64)


PAIRED = ("squares", "cross", "gaps", "gap_squares")
"""Sums that only a look at all pairs gives."""


VALUES = ("within", "volume", *PAIRED, "silhouette")
"""What a row adds to the table."""


def pair_values(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Put beside every row, sorted by cluster, what all its pairs add up to."""
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
    """Sum up per line of the table what all pairs of rows tell of it."""
    schema = lines.collect_schema()
    weight = pl.col("w") if points.weighted else pl.lit(1.0)

    def summed(frame: pl.DataFrame) -> pl.DataFrame:
        values = pair_values(frame, metric)
        sums = [(weight * pl.col(name)).sum().alias(name) for name in VALUES]
        return values.group_by(points.keys).agg(sums).select(*points.keys, *VALUES)

    result = {key: schema[key] for key in points.keys} | dict.fromkeys(VALUES, pl.Float64())
    rows = guarded(points, lines, f'`metric="{metric}"`', '`metric="sqeuclidean"`')
    return per_slice(points, rows, summed, result)


def slice_lines(points: Points) -> tuple[pl.LazyFrame, pl.LazyFrame]:
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


def beside_slices(
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


def measured_points(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    cluster: IntoColumn | None,
    features: IntoFeatures | None,
    weight: IntoColumn | None,
    metric: str,
) -> tuple[Points, Points]:
    """Give the points, and the points as their distances are measured."""
    check_metric(metric, SEARCHED)
    points = points_of(rows, by, cluster=cluster, features=features, weight=weight)
    return points, unit_points(points) if metric == "cosine" else points
