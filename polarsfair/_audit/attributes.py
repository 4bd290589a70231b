"""Attributes and their intersections: every set of them is a roll-up of one table.

The table is counted with the attributes as slices, under hidden names. Its lines are repeated
for every set of attributes, those that a set leaves out are made null, and the lines are summed
once. The empty set is everyone. A row of unknown race still counts under sex.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from polarsfair._engine.faults import Fault, guarded
from polarsfair._engine.slices import aggregated, hidden

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._engine.tally import Tally

Intersections: TypeAlias = Literal["none", "pairs", "all"]
Sets: TypeAlias = "list[tuple[str, ...]]"

SET = hidden("set")
"""The number of an attribute set, in the order of the result; 0 is everyone."""

KNOWN = hidden("known group")
"""Whether all attributes of the set are known."""

_TEXT = " & "
"""Joins the names of attributes, and those of groups."""


def attribute_sets(names: Sequence[str], intersections: Intersections) -> Sets:
    """List the sets of attributes: none, single ones, and those that intersect."""
    most = {"none": 1, "pairs": 2, "all": len(names)}[intersections]
    sizes = range(min(most, len(names)) + 1)
    return [one for size in sizes for one in itertools.combinations(names, size)]


def set_names(sets: Sets) -> list[str | None]:
    """Name the sets as the column ``attribute`` does; everyone has no name."""
    return [_TEXT.join(one) or None for one in sets]


def rolled_up(
    table: pl.LazyFrame,
    tally: Tally,
    slices: Sequence[str],
    attributes: Sequence[str],
    sets: Sets,
) -> pl.LazyFrame:
    """Return the lines of every set of attributes, by slice, set and group.

    `attributes` are the columns of the table, of which `sets` are made; those that a set leaves out
    are null in its lines, and all of them where one is unknown.
    """
    if not attributes:
        everyone = {SET: pl.lit(0, pl.Int64), KNOWN: pl.lit(value=True)}
        return table.with_columns(**everyone)
    columns = table.collect_schema().names()
    sums = {name: how for name, how in tally.sums_of(columns).items() if name in columns}
    cells = [name for name in tally.cells if name in columns]
    inside = {name: hidden("in", name) for name in attributes}
    members = {inside[name]: [name in one for one in sets] for name in attributes}
    numbers = pl.LazyFrame({SET: range(len(sets)), **members}, schema_overrides={SET: pl.Int64})
    lines = table.join(numbers, how="cross")
    each = [~pl.col(mark) | pl.col(name).is_not_null() for name, mark in inside.items()]
    lines = lines.with_columns(pl.all_horizontal(pl.lit(value=True), *each).alias(KNOWN))
    kept = [
        pl.when(pl.col(mark) & pl.col(KNOWN)).then(pl.col(name)).alias(name)
        for name, mark in inside.items()
    ]
    keys = [*slices, SET, KNOWN, *attributes, *cells]
    return aggregated(lines.with_columns(kept), keys, sums)


def group_text(attributes: Sequence[str], dtypes: pl.Schema) -> pl.Expr:
    """Return the group of a line as text; null if it is unknown, and for everyone."""
    parts = [_text(pl.col(name), dtypes[name]) for name in attributes]
    text = pl.concat_str(parts, separator=_TEXT, ignore_nulls=True)
    return pl.when(pl.col(KNOWN) & (pl.col(SET) > 0)).then(text)


def _text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.Binary:
        return column.bin.encode("hex")
    return column.dt.to_string() if dtype == pl.Duration else column.cast(pl.String)


def few_groups(
    table: pl.LazyFrame,
    slices: Sequence[str],
    attributes: Sequence[str],
    most: int,
    names: Sequence[str],
) -> pl.LazyFrame:
    """Return the table, or raise if a slice has more joint groups than `most`.

    `names` are what the caller calls the attributes.
    """
    if not attributes:
        return table
    groups = hidden("groups")
    message = (
        pl.lit(f"the attributes {list(names)} have ")
        + pl.col(groups).cast(pl.String)
        + pl.lit(
            f" groups together, and the limit is `max_groups={most}`: bin them, such as"
            ' `group=pl.col("age") // 10 * 10`, or raise the limit'
        )
    )
    number = {groups: pl.struct(attributes).n_unique().cast(pl.Int64)}
    return guarded(table, slices, number, [Fault(pl.col(groups) > most, message)])
