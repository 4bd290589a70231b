"""Replicates of a table: each cell drawn anew, so that any formula's spread can be read off them.

A line of counts is drawn from a Gamma distribution whose mean is the count. That is the Bayesian
bootstrap of its rows (Rubin 1981), at a cost that depends on the cells alone: the numbers of a
billion rows are drawn as quickly as those of a hundred. Half a row is added to every cell of
decisions and labels, absent ones too, because a count of 0 would otherwise vary not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polarsfair._engine.slices import hidden, over

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DRAW = hidden("draw")
"""The number of a replicate: a slice like any other."""

MOST = 20_000_000
"""Lines times draws up to which replicates are made: below a gigabyte."""

FEWEST = 200
"""Draws below which percentiles say too little."""


@dataclass(frozen=True)
class Plan:
    """How a table is drawn.

    Attributes
    ----------
    slices
        Columns within which the generator starts anew: a slice is drawn as if it were alone.
    cells
        The other keys, the group among them, by which lines are sorted before they are drawn.
    full
        Cells of which every combination exists, with their values: absent ones are half a row.
    draws, seed
        How many replicates, and where the generator starts.
    sums
        Further sums of a line, which are drawn in proportion to its weight.
    whole
        Whether weights are rounded, because rows are counted one by one.
    """

    slices: tuple[str, ...]
    cells: tuple[str, ...]
    full: Mapping[str, tuple[object, ...]]
    draws: int
    seed: int
    sums: tuple[str, ...] = ()
    whole: bool = False


def affordable(lines: int, draws: int) -> int:
    """Return how many draws a table of so many lines can have; 0 if they would say too little."""
    fewer = min(draws, MOST // max(lines, 1))
    return fewer if fewer >= FEWEST else 0


_HALF, _SHAPE, _SCALE = hidden("half"), hidden("shape"), hidden("scale")
"""Half a row in the lines of cells that can be seen, absent or not; the Gamma distribution."""

_WEIGHTS = ("n", "w", "w2")


def replicated(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return the replicates of a table, numbered in the column `DRAW`; none of too many lines."""
    return pl.concat([copies(lines, plan) for lines in batches(table, plan)])


def batches(table: pl.DataFrame, plan: Plan) -> Iterator[pl.DataFrame]:
    """Yield the lines to draw, sorted: as many slices at a time as fit into memory."""
    lines = _with_gamma(_every_cell(table, plan), plan).sort([*plan.slices, *plan.cells])
    start, cost = 0, 0
    for piece in _pieces(lines, plan.slices):
        many = piece.stop - piece.start
        own = many * affordable(many, plan.draws)
        if cost and cost + own > MOST:
            yield lines[start : piece.start]
            start, cost = piece.start, 0
        cost += own
    yield lines[start:]


def copies(lines: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return the replicates of some slices, each drawn by a generator of its own."""
    shape, scale = lines[_SHAPE].to_numpy(), lines[_SCALE].to_numpy()
    drawn, places, numbers = [], [], []
    for piece in _pieces(lines, plan.slices):
        many = piece.stop - piece.start
        draws = affordable(many, plan.draws)
        generator = np.random.default_rng(plan.seed)
        own = generator.standard_gamma(shape[piece], (draws, many)) * scale[piece]
        drawn.append((np.rint(own) if plan.whole else own).reshape(-1))
        places.append(np.tile(np.arange(piece.start, piece.stop), draws))
        numbers.append(np.repeat(np.arange(draws, dtype=np.int64), many))
    count, at = np.concatenate(drawn), np.concatenate(places)
    weight = lines["w"].to_numpy()[at]
    share = np.divide(count, weight, out=np.zeros_like(count), where=weight > 0)
    sums = [pl.Series(n, lines[n].to_numpy()[at] * share, nan_to_null=True) for n in plan.sums]
    kept = lines.select(pl.exclude(*_WEIGHTS, *plan.sums, _HALF, _SHAPE, _SCALE))[at]
    number = pl.Series(DRAW, np.concatenate(numbers))
    return kept.with_columns(number, *(pl.Series(name, count) for name in _WEIGHTS), *sums)


def _every_cell(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return the lines with their weights, and those of absent cells of `plan.full`."""
    keys = [*plan.slices, *plan.cells]
    weights = {name: pl.col(name) if name in table.columns else "n" for name in ("w", "w2")}
    known = [pl.coalesce(one, "n").cast(pl.Float64).alias(name) for name, one in weights.items()]
    sums = [pl.col(name).cast(pl.Float64) for name in plan.sums]
    lines = table.select(*keys, pl.col("n").cast(pl.Float64), *known, *sums)
    lines = lines.with_columns(pl.lit(0.0).alias(_HALF))
    if not plan.full:
        return lines
    grid = lines.select(pl.exclude(*_WEIGHTS, *plan.sums, _HALF, *plan.full)).unique()
    for name, values in plan.full.items():
        one = pl.DataFrame({name: values}, schema={name: table.schema[name]})
        grid = grid.join(one, how="cross") if grid.width else one
    nothing = [pl.lit(0.0).alias(name) for name in (*_WEIGHTS, *plan.sums)]
    grid = grid.with_columns(*nothing, pl.lit(0.5).alias(_HALF)).select(lines.columns)
    added = pl.col(*_WEIGHTS, *plan.sums, _HALF).sum()
    return pl.concat([grid, lines]).group_by(keys).agg(added)


def _with_gamma(lines: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Add the shape and the scale of the weight that is drawn for every line."""
    others = (*_WEIGHTS, *plan.sums, _HALF, *plan.full)
    groups = [name for name in lines.columns if name not in others]
    typical = over(pl.col("w2").sum() / pl.col("w").sum(), groups)
    some = pl.col("w") > 0
    shape = pl.when(some).then(pl.col("w") * pl.col("w") / pl.col("w2")).otherwise(0.0)
    scale = pl.when(some).then(pl.col("w2") / pl.col("w")).otherwise(typical)
    return lines.with_columns(
        (shape + pl.col(_HALF)).alias(_SHAPE), scale.fill_nan(1.0).alias(_SCALE)
    )


def _pieces(lines: pl.DataFrame, slices: Sequence[str]) -> list[slice]:
    """Return where each slice begins and ends among the sorted lines."""
    if not slices or not lines.height:
        return [slice(0, lines.height)]
    number = lines.select(pl.struct(slices).rle_id())[:, 0].to_numpy()
    edges = [0, *(np.flatnonzero(np.diff(number.astype(np.int64))) + 1).tolist(), lines.height]
    return [slice(one, other) for one, other in pairwise(edges)]
