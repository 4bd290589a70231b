"""Limits from draws: of formulas that are neither a share nor know how much they vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polarsfair._audit._evidence.pairs import errors_of, in_pairs, pair_errors
from polarsfair._audit._evidence.precision import DRAWN, drawn_of
from polarsfair._audit.draws import DRAW, Plan, batches, copies
from polarsfair._engine.columns import exactly
from polarsfair._engine.metric import Spread
from polarsfair._engine.read import read
from polarsfair._engine.slices import hidden, joined
from polarsfair._engine.tally import Drawn
from polarsfair._formula import Share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._audit._evidence.counted import Asked
    from polarsfair._audit._evidence.question import Question
    from polarsfair._engine.metric import Metric
    from polarsfair._engine.tally import Tally

_BLOCK, _KEY = hidden("block"), hidden("key")
"""The number of a line's keys, for which replicates are evaluated."""


def are_drawn(metrics: Sequence[Metric], tally: Tally, question: Question) -> list[Metric]:
    """List the metrics whose limits need draws, and can be had from a table of this tally."""
    if not _drawable(tally, question):
        return []
    ruled = () if question.all_drawn else (Share, Spread)
    return [one for one in metrics if not isinstance(one.formula, ruled)]


def _drawable(tally: Tally, question: Question) -> bool:
    """Return whether lines hold rows that can be drawn: rows of one unit are not independent."""
    return tally.drawn is not None and question.draws > 0 and not question.unit


def with_draws(
    lines: pl.LazyFrame,
    table: pl.LazyFrame,
    tally: Tally,
    metrics: Sequence[Metric],
    keys: Sequence[str],
    question: Question,
    *,
    slices: int,
    asked: Sequence[Asked] = (),
) -> pl.LazyFrame:
    """Add limits and standard errors from draws to lines of values.

    The first so many of the `keys` are `slices`: the generator starts anew within each. Of `asked`
    comparisons those in pairs get the standard errors of all pairs.
    """
    needed = are_drawn(metrics, tally, question)
    pairs = in_pairs(asked) if _drawable(tally, question) else []
    compared = {name for one in pairs for name in one.values}
    chosen = [one for one in metrics if one in needed or one.name in compared]
    if not chosen:
        return lines
    schema, of_lines = table.collect_schema(), lines.collect_schema()
    on = [*keys, *chosen[0].result_keys]
    facts = [drawn_of(metric, fact) for metric in needed for fact in DRAWN]
    result = {
        **{name: schema.get(name, of_lines[name]) for name in on},
        **dict.fromkeys(facts, pl.Float64()),
        **{errors_of(one): pl.List(pl.Float64()) for one in pairs},
    }
    plan = _plan(schema, tally, chosen, keys, question, slices)

    def drawn(small: pl.DataFrame) -> pl.DataFrame:
        found = [_limits(one, plan, chosen, keys, question, pairs) for one in batches(small, plan)]
        # Values that have a rule of their own were drawn only for their pairs.
        columns = [pl.col(name).cast(dtype) for name, dtype in result.items()]
        return pl.concat(found, how="vertical_relaxed").select(columns)

    found = table.map_batches(
        drawn,
        schema=pl.Schema(result),
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )
    return joined(lines, found, on, how="left")


def _plan(
    schema: pl.Schema,
    tally: Tally,
    metrics: Sequence[Metric],
    keys: Sequence[str],
    question: Question,
    slices: int,
) -> Plan:
    """Return how the table is drawn: half a row in every cell that the metrics read."""
    names = schema.names()
    sums = [name for name in tally.sums_of(names) if name in names]
    cells = [name for name in names if name not in (*keys, *sums, *tally.defaults)]
    read_cells = {cell for metric in metrics for cell in metric.cells_read}
    drawn = tally.drawn or Drawn()
    full = {k: v for k, v in drawn.cells.items() if k in read_cells and k in cells}
    others = [name for name in sums if name not in ("n", "w", "w2")]
    return Plan(
        tuple(keys[:slices]),
        (*keys[slices:], *cells),
        full,
        question.draws,
        question.seed,
        tuple(others),
        drawn.whole,
    )


def _limits(
    lines: pl.DataFrame,
    plan: Plan,
    metrics: Sequence[Metric],
    keys: Sequence[str],
    question: Question,
    pairs: Sequence[Asked],
) -> pl.DataFrame:
    """Evaluate the replicates of some slices, and summarize them per key."""
    groups = lines.select(keys).unique(maintain_order=True).with_row_index(_KEY)
    numbered = joined(lines.lazy(), groups.lazy(), keys, how="left").collect()
    numbered = numbered.sort([*plan.slices, *plan.cells]).drop(keys[len(plan.slices) :])
    table = copies(numbered, plan).drop(plan.slices).lazy()
    values = read(table, metrics, [_KEY, DRAW]).collect()
    tail = (1 - question.confidence) / 2
    facts: list[pl.Expr] = []
    for metric in metrics:
        value = exactly(metric.name)
        finite = value.filter(value.is_finite())
        facts += [
            value.quantile(tail, "linear").alias(drawn_of(metric, "low")),
            value.quantile(1 - tail, "linear").alias(drawn_of(metric, "high")),
            finite.std().alias(drawn_of(metric, "error")),
        ]
    found = values.group_by(_KEY, *metrics[0].result_keys).agg(facts)
    result = groups.join(found, on=_KEY, how="inner")
    if pairs:
        block = groups.select(_KEY, pl.struct(plan.slices).rle_id().alias(_BLOCK))
        drawn = values.join(block, on=_KEY)
        on = [_KEY, *metrics[0].result_keys]
        result = result.join(_pair_errors(drawn, pairs, on), on=on, how="left", nulls_equal=True)
    return result.drop(_KEY)


def _pair_errors(drawn: pl.DataFrame, pairs: Sequence[Asked], on: Sequence[str]) -> pl.DataFrame:
    """Return, per line, the standard errors of every comparison with each line of its block."""
    _, *keys = on
    found = []
    for part in drawn.sort(*keys, *on[:1], DRAW).partition_by([_BLOCK, *keys], maintain_order=True):
        lines = part.select(on).unique(maintain_order=True)
        columns = {}
        for one in pairs:
            values = [
                part[name].fill_null(np.nan).to_numpy().reshape(lines.height, -1)
                for name in one.values
            ]
            columns[errors_of(one)] = pl.Series(
                pair_errors(one, values), dtype=pl.List(pl.Float64), strict=False
            )
        found.append(lines.with_columns(**columns))
    return pl.concat(found)
