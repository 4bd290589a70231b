"""The lines of a table with what distances add, for every kind of distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair.clustering._external.contingency import whole
from polarsfair.clustering._internal.all_pairs import PAIRED, VALUES, pair_lines
from polarsfair.clustering._internal.distance_sums import (
    category_lines,
    category_volumes,
    spread_centres,
    squared_volumes,
    unit_points,
)
from polarsfair.clustering._internal.points import (
    WEIGHT,
    Points,
    centres_of,
    moment_sums,
    moments_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

METRICS = ("euclidean", "manhattan", "sqeuclidean", "cosine", "hamming")
QUADRATIC = ("euclidean", "manhattan")


def check_metric(metric: Any, allowed: Sequence[str] = METRICS) -> str:
    """Raise unless `metric` is the name of a distance that is known here."""
    if metric not in allowed:
        msg = f"`metric` is one of {', '.join(map(repr, allowed))}; got {metric!r}"
        raise ValueError(msg)
    return str(metric)


def counted_frequencies(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Stop where a weight is no whole number: rows are counted one by one here."""
    if not points.weighted or lines.collect_schema()["w"].is_integer():
        return lines
    return lines.with_columns(w=whole(WEIGHT).cast(pl.Float64))


def lines_with_volumes(points: Points, metric: str) -> tuple[pl.LazyFrame, pl.LazyFrame, Points]:
    """Give the table's lines with sums of distances, the clusters, and the points as measured."""
    if metric == "hamming":
        lines = counted_frequencies(points, category_lines(points)).cache()
        centres = centres_of(points, lines).cache()
        return _shared_out(points, lines, category_volumes(points, centres)), centres, points
    lines = counted_frequencies(points, moments_of(points)).cache()
    measured = unit_points(points) if metric == "cosine" else points
    own = moments_of(measured).cache() if metric == "cosine" else lines
    centres = spread_centres(measured, own, metric).cache()
    summed = squared_volumes(centres, points.slices, metric)
    return _shared_out(points, lines, summed), centres, measured


def _shared_out(points: Points, lines: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Give every line its share, by weight, of its cluster's sums."""
    keys = [*points.slices, "cluster"]
    sums = centres.select(*keys, "within", "volume", WEIGHT.alias("|all"))
    joined = lines.join(sums, on=keys, how="left", nulls_equal=True)
    weight = WEIGHT if points.weighted else pl.col("n")
    share = weight / pl.col("|all")
    return joined.with_columns(
        pl.col("within") * share,
        pl.col("volume") * share,
        *(pl.lit(None, pl.Float64).alias(name) for name in PAIRED),
    ).drop("|all")


def lines_with_pairs(points: Points, metric: str) -> pl.LazyFrame:
    """Give the table's lines with all that pairs of rows tell."""
    lines = counted_frequencies(points, moments_of(points)).cache()
    pairs = pair_lines(points, lines, metric)
    return lines.join(pairs, on=points.keys, how="left", nulls_equal=True)


def pair_sums(columns: Sequence[str]) -> dict[str, pl.Expr]:
    """Name the sums of the table; they do not merge."""
    return {**moment_sums(columns), **{name: pl.col(name).sum() for name in VALUES[:-1]}}
