"""A line per slice and group, with every value and the facts of its precision: read lazily."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._audit._evidence.counted import attribute, of_all_groups
from polarsfair._audit._evidence.drawn import are_drawn, with_draws
from polarsfair._audit._evidence.precision import DRAWN, drawn_of
from polarsfair._audit._evidence.units import UNIT, with_unit_spread
from polarsfair._audit.attributes import KNOWN, SET, group_text, rolled_up
from polarsfair._audit.values import columns_of_values, known_values
from polarsfair._engine.read import read, rest_of
from polarsfair._engine.reference import GROUP, Everyone
from polarsfair._engine.request import keys_of
from polarsfair._engine.slices import aggregated, hidden, joined
from polarsfair._engine.tables import at_every_k

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._audit._evidence.counted import Part
    from polarsfair._audit._evidence.question import Question

ROWS = hidden("rows")
"""How many rows (or users) a group has, with or without what a metric reads."""

TEXT = hidden("group text")


def of_rest(name: str) -> str:
    """Name the column that holds a fact of all other groups."""
    return hidden("rest", name)


def of_everyone(name: str) -> str:
    """Name the column that holds a value of all known groups."""
    return hidden("everyone", name)


def named_sets(question: Question) -> list[tuple[str, ...]]:
    """Return the attribute sets by the names of their columns."""
    return [tuple(attribute(i) for i in one) for one in question.sets]


def wide_lines(part: Part, slices: Sequence[str], question: Question) -> pl.LazyFrame:
    """Return a line per slice, key and group of every attribute set, in the order of the result."""
    attributes = [attribute(i) for i in range(len(question.attributes))]
    sets = named_sets(question)
    rolled = rolled_up(part.table, part.tally, slices, attributes, sets).cache()
    keys = [*slices, SET, KNOWN, *attributes]
    lines = _read(part, rolled, keys, slices, attributes, question)
    rows = aggregated(rolled, keys, {ROWS: pl.col(part.tally.size).sum()})
    lines = joined(lines, rows, keys, how="left")
    lines = lines.with_columns(_text(lines, attributes, question).alias(TEXT))
    lines = at_every_k(lines, part.values, part.everything)
    result_keys = [name for name in keys_of(part.everything) if name in lines.collect_schema()]
    return lines.sort(*slices, *result_keys, SET, KNOWN, *attributes)


def _read(
    part: Part,
    rolled: pl.LazyFrame,
    keys: Sequence[str],
    slices: Sequence[str],
    attributes: Sequence[str],
    question: Question,
) -> pl.LazyFrame:
    """Read the values of every group, of everyone beside it, and of all groups together."""
    plain = replace(part, values=tuple(m for m in part.values if not of_all_groups(m)))
    together = [metric for metric in part.values if of_all_groups(metric)]
    result_keys = list(part.values[0].result_keys)
    everyone = isinstance(question.ref, Everyone)
    numbered = rolled
    if (everyone and plain.values) or together:
        numbered = _with_numbers(rolled, attributes).cache()
    if plain.values:
        lines = known_values(rolled, plain.values, keys, [*part.counts.values()])
        lines = with_draws(
            lines, rolled, part.tally, plain.values, keys, question,
            slices=len(slices) + 1, asked=part.asked,
        )  # fmt: skip
        if part.by_unit is not None:
            units = rolled_up(
                part.by_unit, part.tally, [*slices, UNIT], attributes, named_sets(question)
            )
            lines = with_unit_spread(lines, units, plain.values, keys)
        if everyone:
            lines = _beside_everyone(lines, numbered, plain, slices, attributes, question)
    else:
        lines = rolled.select(keys).unique()
    if together:
        table = numbered.drop(KNOWN, *attributes)
        found = read(table, together, [*slices, SET], counts=True)
        lines = joined(lines, found, [*slices, SET, *result_keys], how="left")
    return lines


def _text(lines: pl.LazyFrame, attributes: Sequence[str], question: Question) -> pl.Expr:
    if not question.attributes:
        return pl.lit(None, pl.String)
    return group_text(attributes, lines.collect_schema())


def _with_numbers(rolled: pl.LazyFrame, attributes: Sequence[str]) -> pl.LazyFrame:
    """Number the known groups of every set in the column `GROUP`; null is the unknown group."""
    keys = [SET, *attributes]
    known = rolled.filter(pl.col(KNOWN) & (pl.col(SET) > 0)).select(keys).unique()
    numbers = known.sort(keys).with_row_index(GROUP).with_columns(pl.col(GROUP).cast(pl.Int64))
    marked = numbers.with_columns(pl.lit(value=True).alias(KNOWN))
    return joined(rolled, marked, [KNOWN, *keys], how="left")


def _beside_everyone(
    lines: pl.LazyFrame,
    numbered: pl.LazyFrame,
    part: Part,
    slices: Sequence[str],
    attributes: Sequence[str],
    question: Question,
) -> pl.LazyFrame:
    """Add the facts of the rest, and the values of all known groups, to the line of every group."""
    within = [*slices, SET]
    known = numbered.filter(pl.col(GROUP).is_not_null())
    groups = known.select(SET, KNOWN, *attributes, GROUP).unique()
    lines = joined(lines, groups, [SET, KNOWN, *attributes], how="left")
    table = known.drop(KNOWN, *attributes)
    keys = list(part.values[0].result_keys)
    others = rest_of(table, part.tally, within).cache()
    rest = known_values(others, part.values, [*within, GROUP])
    rest = with_draws(
        rest, others, part.tally, part.values, [*within, GROUP], question, slices=len(within)
    )
    drawn = [
        drawn_of(m, fact) for m in are_drawn(part.values, part.tally, question) for fact in DRAWN
    ]
    facts = [name for metric in part.values for name in columns_of_values(metric)]
    rest = rest.rename({name: of_rest(name) for name in (*facts, *drawn)})
    everyone = read(table.drop(GROUP), part.values, within)
    everyone = everyone.rename({metric.name: of_everyone(metric.name) for metric in part.values})
    lines = joined(lines, rest, [*within, GROUP, *keys], how="left")
    return joined(lines, everyone, [*within, *keys], how="left").drop(GROUP)
