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

from polarsfair._engine.slices import hidden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._audit.limits import Floats

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
    """

    slices: tuple[str, ...]
    cells: tuple[str, ...]
    full: Mapping[str, tuple[object, ...]]
    draws: int
    seed: int


def affordable(lines: int, draws: int) -> int:
    """Return how many draws a table of so many lines can have; 0 if they would say too little."""
    fewer = min(draws, MOST // max(lines, 1))
    return fewer if fewer >= FEWEST else 0


_HALF = hidden("half")
"""Half a row in the lines of cells that can be seen, absent or not; 0 in all others."""


def replicated(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return the replicates of a table, numbered in the column `DRAW`; none if too many lines."""
    lines = _every_cell(table, plan).sort([*plan.slices, *plan.cells])
    draws = affordable(lines.height, plan.draws)
    drawn = _drawn(lines, plan, draws)
    kept = lines.select(pl.exclude("n", "w", "w2", _HALF))
    repeated = pl.concat([kept] * draws) if draws else kept.clear()
    count = pl.Series(drawn.T.reshape(-1))
    number = pl.Series(np.repeat(np.arange(draws, dtype=np.int64), lines.height))
    return repeated.with_columns(number.alias(DRAW), *(count.alias(n) for n in ("n", "w", "w2")))


def _every_cell(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return the lines with their weights, and those of absent cells of `plan.full`."""
    keys = [*plan.slices, *plan.cells]
    weights = {name: pl.col(name) if name in table.columns else "n" for name in ("w", "w2")}
    known = [pl.coalesce(one, "n").cast(pl.Float64).alias(name) for name, one in weights.items()]
    lines = table.select(*keys, pl.col("n").cast(pl.Float64), *known)
    if not plan.full:
        return lines.with_columns(pl.lit(0.0).alias(_HALF))
    grid = lines.select(pl.exclude("n", "w", "w2", *plan.full)).unique()
    for name, values in plan.full.items():
        grid = grid.join(
            pl.DataFrame({name: values}, schema={name: table.schema[name]}), how="cross"
        )
    grid = grid.with_columns(n=pl.lit(0.0), w=pl.lit(0.0), w2=pl.lit(0.0))
    both = [
        grid.with_columns(pl.lit(0.5).alias(_HALF)),
        lines.with_columns(pl.lit(0.0).alias(_HALF)),
    ]
    stacked = pl.concat([one.select(*keys, "n", "w", "w2", _HALF) for one in both])
    return stacked.group_by(keys).agg(pl.col("n", "w", "w2", _HALF).sum())


def _drawn(lines: pl.DataFrame, plan: Plan, draws: int) -> Floats:
    """Draw the weight of every line: a row per line, a column per replicate."""
    groups = [name for name in lines.columns if name not in (*plan.full, "n", "w", "w2", _HALF)]
    per_group = pl.col("w2").sum() / pl.col("w").sum()
    typical = per_group.over(groups) if groups else per_group
    shapes = lines.select(
        shape=pl.when(pl.col("w2") > 0)
        .then(pl.col("w") * pl.col("w") / pl.col("w2"))
        .otherwise(0.0)
        + pl.col(_HALF),
        scale=pl.when(pl.col("w") > 0).then(pl.col("w2") / pl.col("w")).otherwise(typical),
    ).with_columns(pl.col("scale").fill_nan(1.0))
    shape, scale = shapes["shape"].to_numpy(), shapes["scale"].to_numpy()
    drawn = np.empty((lines.height, draws))
    for piece in _pieces(lines, plan.slices):
        generator = np.random.default_rng(plan.seed)
        size = (piece.stop - piece.start, draws)
        drawn[piece] = generator.standard_gamma(shape[piece, None], size) * scale[piece, None]
    return drawn


def _pieces(lines: pl.DataFrame, slices: Sequence[str]) -> list[slice]:
    """Return where each slice begins and ends among the sorted lines."""
    if not slices or not lines.height:
        return [slice(0, lines.height)]
    number = lines.select(pl.struct(slices).rle_id())[:, 0].to_numpy()
    edges = [0, *(np.flatnonzero(np.diff(number.astype(np.int64))) + 1).tolist(), lines.height]
    return [slice(one, other) for one, other in pairwise(edges)]
