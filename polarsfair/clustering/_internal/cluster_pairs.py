"""What needs every pair of clusters: NumPy in blocks, in memory linear in the clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.faults import Fault, guarded
from polarsfair._engine.slices import hidden, map_slices
from polarsfair.clustering._internal.digits import (
    COARSE,
    VANISHED,
    low_of,
    means_of,
    restored,
    scaled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_CLUSTERS = 50_000
"""Clusters per slice up to which all pairs are compared."""

WIDTH, WORST, NEAREST = hidden("width"), hidden("worst"), hidden("nearest")

_BLOCK = 512
_FEW = VANISHED**0.5
_MEAN_ROUNDING, _WIDTH_ROUNDING = 1e-15, 1e-8
"""Gaps up to these shares of the means, and of the widths, are rounding errors of the means."""


def compared(
    lines: pl.LazyFrame,
    keys: Sequence[str],
    compare: Callable[[pl.DataFrame], dict[str, Floats]],
    names: Sequence[str],
) -> pl.LazyFrame:
    """Add to every cluster what `compare` computes from all pairs of clusters of its slice."""
    lines = lines.drop(*names, strict=False)
    values = {name: t for name, t in lines.collect_schema().items() if name not in keys}

    def with_found(frame: pl.DataFrame) -> pl.DataFrame:
        there = frame.filter(pl.col("w") > 0)
        found = [pl.Series(name, part) for name, part in compare(there).items()]
        empty = frame.filter(pl.col("w") <= 0)
        both = pl.concat([there.with_columns(found), empty], how="diagonal")
        return both.select(*keys, *values, *names)

    schema = {**values, **{name: pl.Float64() for name in names}}
    return map_slices(_few_clusters(lines, keys), keys, with_found, schema)


def _few_clusters(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return the lines, or raise if a slice has too many clusters to compare all pairs."""
    count = hidden("clusters")
    message = (
        pl.lit("this measure compares all pairs of clusters, and there are ")
        + pl.col(count).cast(pl.String)
        + pl.lit(
            f" clusters in a slice; the limit is {MOST_CLUSTERS:,}: leave out small clusters, or"
            " use `calinski_harabasz`, which takes any number of clusters"
        )
    )
    many = Fault(pl.col(count) > MOST_CLUSTERS, message)
    return guarded(lines, keys, {count: (pl.col("w") > 0).sum().cast(pl.Int64)}, [many])


@dataclass(frozen=True)
class _Clusters:
    """The means of clusters, each as two floats, and their widths, at a scale without overflow."""

    means: Floats
    lows: Floats
    widths: Floats
    power: int

    @classmethod
    def of(cls, frame: pl.DataFrame) -> _Clusters:
        import numpy as np

        names = means_of(frame.columns)
        means = frame.select(names).to_numpy().astype(np.float64)
        known = [low_of(name) for name in names if low_of(name) in frame.columns]
        lows = frame.select(known).to_numpy().astype(np.float64) if known else np.zeros_like(means)
        widths = frame[WIDTH].cast(pl.Float64).to_numpy().astype(np.float64)
        (means, lows, widths), power = scaled(means, lows, widths)
        return cls(means, lows, widths, power)

    def squared_gaps(self) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield the squared distances of all pairs of means, each once, in blocks."""
        import numpy as np

        size = len(self.means)
        ranges = [slice(i, min(i + _BLOCK, size)) for i in range(0, size, _BLOCK)]
        for number, own in enumerate(ranges):
            for other in ranges[number:]:
                slack = _WIDTH_ROUNDING * (self.widths[own, None] + self.widths[other])
                squares = np.zeros(slack.shape)
                for mean, low in zip(self.means.T, self.lows.T, strict=True):
                    gap = (mean[own, None] - mean[other]) + (low[own, None] - low[other])
                    large = np.maximum(abs(mean[own, None]), abs(mean[other]))
                    # An unknown width, which is NaN, excludes nothing.
                    noise = abs(gap) <= np.fmin(_MEAN_ROUNDING * large, slack)
                    squares += np.where(noise, 0.0, gap * gap)
                yield own, other, squares


def with_rivals(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Add to every cluster how it compares with the other clusters of its slice.

    ``WORST`` is the largest sum of two widths over the distance of the means, ``NEAREST`` the
    distance of the nearest mean.
    """
    return compared(lines, keys, _rivals, (WORST, NEAREST))


def _rivals(frame: pl.DataFrame) -> dict[str, Floats]:
    import numpy as np

    clusters = _Clusters.of(frame)
    widths, size = clusters.widths, len(clusters.means)
    worst, nearest = np.zeros(size), np.full(size, np.inf)
    for own, other, squares in clusters.squared_gaps():
        gaps = np.sqrt(squares)
        if own == other:
            np.fill_diagonal(gaps, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = (widths[own, None] + widths[other]) / gaps
        # Two clusters that are the same point have no ratio, and the largest is then NaN.
        for part, axis in ((own, 1), (other, 0)):
            worst[part] = np.maximum(worst[part], ratios.max(axis=axis))
            nearest[part] = np.minimum(nearest[part], gaps.min(axis=axis))
    if frame[COARSE].any() and bool((nearest == 0).any()):
        return {WORST: np.full(size, np.nan), NEAREST: np.full(size, np.nan)}
    near = restored(nearest, clusters.power)
    vanished = (np.ldexp(widths, -clusters.power) < _FEW) & (widths > 0) & (near < _FEW * 1e20)
    return {WORST: np.where(vanished & _squared(frame), np.nan, worst), NEAREST: near}


def _squared(frame: pl.DataFrame) -> bool:
    """Return whether widths are roots of sums of squares, which may have vanished."""
    return "reach" not in frame.columns


def with_gap_sums(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Add to every cluster sums over its pairs with other clusters, for squared distances."""
    return compared(lines, keys, _gap_sums, ("cross", "gaps", "gap_squares"))


def _gap_sums(frame: pl.DataFrame) -> dict[str, Floats]:
    """Sum the squared distance of two means, its square, and its product with that of the rows."""
    import numpy as np

    clusters = _Clusters.of(frame)
    w, ssw = (frame[name].cast(pl.Float64).to_numpy() for name in ("w", "ssw"))
    sums = {name: np.zeros(len(w)) for name in ("cross", "gaps", "gap_squares")}
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for own, other, scaled_squares in clusters.squared_gaps():
            gaps = np.ldexp(scaled_squares, -2 * clusters.power)
            sides = [(own, other, gaps)] + ([(other, own, gaps.T)] if own != other else [])
            for one, two, gap in sides:
                first, second = gap @ w[two], (gap * gap) @ w[two]
                sums["gaps"][one] += w[one] * first
                sums["gap_squares"][one] += w[one] * second
                sums["cross"][one] += ssw[one] * first + w[one] * (gap @ ssw[two] + second)
    return {name: np.where(np.isfinite(value), value, np.nan) for name, value in sums.items()}
