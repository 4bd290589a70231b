"""Groups: a column, an intersection of several, or a probability per class.

A group of probabilities has one column of sums per class beside the others, in the same pass; no
row is multiplied. The small table is then turned so that every class has lines of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, schema_of
from polarsfair._engine.faults import fault

if TYPE_CHECKING:
    from polarsfair._typing import IntoGroup


def group_parts(rows: pl.LazyFrame, group: IntoGroup | None) -> dict[str, pl.Expr]:
    """Split a group into flat parts: one, or one per attribute of an intersection."""
    if group is None:
        return {}
    if isinstance(group, (str, pl.Expr)):
        column = as_column(group, "group")
        check_columns(rows, {"group": [column]})
        dtype = schema_of(rows, {"group": column})["group"]
        if isinstance(dtype, pl.Struct):
            return {part.name: column.struct.field(part.name) for part in dtype.fields}
        return {"group": column}
    if isinstance(group, Mapping):
        msg = (
            "`group` as a mapping from classes to probabilities is for metrics of decisions,"
            " classes and clusters: for this table give a column, such as"
            " `group=fairness.most_likely({...})`"
        )
        raise TypeError(msg)
    if not isinstance(group, Sequence):
        msg = f"`group` takes a column, an expression or a list of them, got {group!r}"
        raise TypeError(msg)
    columns = [as_column(part, "group") for part in group]
    if not columns:
        msg = '`group` is empty: name at least one column, such as `group=["sex", "race"]`'
        raise ValueError(msg)
    check_columns(rows, {"group": columns})
    return _by_name(columns)


def _by_name(parts: Sequence[pl.Expr]) -> dict[str, pl.Expr]:
    names = [part.meta.output_name() for part in parts]
    for name in names:
        if names.count(name) > 1:
            msg = f'two parts of `group` are called {name!r}: rename one with `.alias("...")`'
            raise ValueError(msg)
    return dict(zip(names, parts, strict=True))


def gather_group(table: pl.LazyFrame, parts: Sequence[str]) -> pl.LazyFrame:
    """Turn the flat parts of a group into one column; a null part makes it unknown."""
    if not parts:
        return table
    if len(parts) == 1 and parts[0] == "|group":
        return table.rename({"|group": "group"})
    known = pl.all_horizontal(pl.col(part).is_not_null() for part in parts)
    struct = pl.struct(pl.col(part).alias(part[1:]) for part in parts)
    return table.with_columns(group=pl.when(known).then(struct))


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
