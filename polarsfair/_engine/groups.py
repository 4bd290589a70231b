"""Groups known only as probabilities: a row counts in every class by its chance of being in it.

Per class one column of sums beside the others, in the same pass; no row is multiplied. The small
table is then turned so that every class has lines of its own, and formulas need no change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.frames import as_column, check_columns, fault, schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOLERANCE = 1e-6
"""How far the probabilities of one row may add up from one; Float32 columns stay well within."""

UNSURE = "|unsure"
"""Counts the rows whose probabilities are none."""

_FLAT, _SQUARE = ("n", "rows"), ("w2",)


def probabilities(rows: pl.LazyFrame, group: Mapping[Any, str | pl.Expr]) -> dict[str, pl.Expr]:
    """Give the probability of each class as a flat Float64 column."""
    class_names(group)
    columns = {f"|p{i}": as_column(into, "group") for i, into in enumerate(group.values())}
    check_columns(rows, {"group": columns.values()})
    for name, dtype in schema_of(rows, columns).items():
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            msg = (
                f"`group` maps a class to {columns[name]}, which is {dtype}: give a column of"
                " probabilities for every class"
            )
            raise TypeError(msg)
    return {name: column.cast(pl.Float64) for name, column in columns.items()}


def class_names(group: Mapping[Any, str | pl.Expr]) -> pl.Series:
    """Give the classes of a mapping as the values of a group column."""
    if not group:
        msg = '`group` is empty: map classes to probabilities, `group={"a": "p_a", "b": "p_b"}`'
        raise ValueError(msg)
    kinds = {type(name) for name in group}
    if len(kinds) > 1 or None in group:
        msg = f"the classes of `group` are of several kinds, {list(group)}: name them all alike"
        raise TypeError(msg)
    return pl.Series("group", list(group))


def spread(
    rows: pl.LazyFrame, sums: Sequence[str], classes: int
) -> tuple[pl.LazyFrame, list[str], str]:
    """Give every class sums of its own: rows that may be in it, weights times probabilities.

    `sums` are the row's own: counts (n, rows), weights (w, row_w) and their squares (w2). Also
    gives the names of the new sums, and of the count of rows whose probabilities are none.
    """
    chances = [f"|p{i}" for i in range(classes)]
    weight = pl.col("w" if "w" in sums else "n").cast(pl.Float64)
    own = {name: pl.col(name) for name in sums} | {"w": weight}
    own["w2"] = weight * weight if "w2" in sums else weight
    parts = {
        f"{name}{chance}": _part(name, value, pl.col(chance))
        for name, value in own.items()
        for chance in chances
    }
    return rows.with_columns(**parts, **{UNSURE: _unsure(chances)}), list(parts), UNSURE


def _part(name: str, value: pl.Expr, chance: pl.Expr) -> pl.Expr:
    if name in _FLAT:
        return pl.when(chance > 0).then(value).otherwise(0)
    return value * chance * chance if name in _SQUARE else value * chance


def _unsure(chances: Sequence[str]) -> pl.Expr:
    inside = pl.all_horizontal(pl.col(chance).is_between(0, 1) for chance in chances)
    total = pl.sum_horizontal(pl.col(chance) for chance in chances)
    sound = inside & ((total - 1).abs() <= TOLERANCE)
    return (~sound).fill_null(value=True).cast(pl.Int64)


def unsure_fault() -> pl.Expr:
    """Stop where the classes' probabilities are none."""
    return fault(
        pl.col(UNSURE) > 0,
        "`group` maps classes to numbers that are not probabilities: in every row each must be"
        f" known and from 0 to 1, and all must add up to 1 within {TOLERANCE:g}; leave other rows"
        " out or divide by the sum of the columns",
    )


def per_class(table: pl.LazyFrame, classes: pl.Series, sums: Sequence[str]) -> pl.LazyFrame:
    """Give every class that may be in a cell a line of its own there."""
    lists = {name: pl.concat_list(f"{name}|p{i}" for i in range(len(classes))) for name in sums}
    lines = table.with_columns(pl.lit(classes).implode().alias("group"), **lists)
    possible = pl.max_horizontal(pl.col(name) for name in sums if name in _FLAT) > 0
    return lines.explode("group", *sums, empty_as_null=True).filter(possible)
