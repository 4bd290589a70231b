"""Groups: a column, an intersection of several, or a probability per class.

If a group is known as probabilities, each class has its own sum columns, filled in the same pass.
The small table is then unpivoted to one line per class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import (
    as_column,
    check_columns,
    field_of,
    is_number,
    schema_of,
    shown,
)
from polarsfair._engine.faults import Fault, counted
from polarsfair._engine.slices import distinct_names, hidden, hidden_part

if TYPE_CHECKING:
    from polarsfair._typing import IntoGroup


_GROUP = hidden("group")


def group_parts(rows: pl.LazyFrame, group: IntoGroup | None) -> dict[str, pl.Expr]:
    """Split a group into flat parts under hidden names: one, or one per attribute."""
    if group is None:
        return {}
    if isinstance(group, (str, pl.Expr)):
        column = as_column(group, "group")
        check_columns(rows, {"group": [column]})
        dtype = schema_of(rows, {"group": column})["group"]
        if isinstance(dtype, pl.Struct):
            fields = [part.name for part in dtype.fields]
            return {hidden_part(name): field_of(column, fields, name) for name in fields}
        return {_GROUP: column}
    if isinstance(group, Mapping):
        msg = (
            "`group` as a mapping from classes to probabilities works only with decision, class and"
            " cluster metrics: here, pass a column, such as `group=fairness.most_likely({...})`"
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
    names = distinct_names(columns, "parts of `group`")
    return dict(zip(map(hidden_part, names), columns, strict=True))


def with_group(table: pl.LazyFrame, parts: Sequence[str]) -> pl.LazyFrame:
    """Turn the flat parts of a group into one column; a null part makes it unknown."""
    if not parts:
        return table
    if list(parts) == [_GROUP]:
        return table.rename({_GROUP: "group"})
    known = pl.all_horizontal(pl.col(part).is_not_null() for part in parts)
    struct = pl.struct(pl.col(part).alias(shown(part)) for part in parts)
    return table.with_columns(group=pl.when(known).then(struct))


# --- groups known as probabilities --------------------------------------------------------------

TOLERANCE = 1e-6
"""How far the probabilities of one row may add up from one; Float32 columns stay well within."""


UNSURE = hidden("unsure")
"""Counts the rows whose values are not probabilities."""


_FLAT, _SQUARE = ("n", "rows"), ("w2",)


def probabilities(rows: pl.LazyFrame, group: Mapping[Any, str | pl.Expr]) -> dict[str, pl.Expr]:
    """Return the probability of each class as a flat Float64 column."""
    class_names(group)
    columns = {_column(i): as_column(into, "group") for i, into in enumerate(group.values())}
    check_columns(rows, {"group": columns.values()})
    for name, dtype in schema_of(rows, columns).items():
        if not is_number(dtype):
            msg = (
                f"`group` maps a class to {columns[name]}, which is {dtype}: pass a column of"
                " probabilities for every class"
            )
            raise TypeError(msg)
    return {name: column.cast(pl.Float64) for name, column in columns.items()}


def class_names(group: Mapping[Any, str | pl.Expr]) -> pl.Series:
    """Return the classes of a mapping as the values of a group column."""
    if not group:
        msg = '`group` is empty: map classes to probabilities, `group={"a": "p_a", "b": "p_b"}`'
        raise ValueError(msg)
    kinds = {type(name) for name in group}
    if len(kinds) > 1 or None in group:
        msg = (
            f"the keys of `group` have different types, {list(group)}: use only strings or only"
            " numbers"
        )
        raise TypeError(msg)
    return pl.Series("group", list(group))


def with_expected(
    rows: pl.LazyFrame, sums: Sequence[str], classes: int
) -> tuple[pl.LazyFrame, list[str]]:
    """Add sums per class: rows that may be in it, weights times probabilities.

    `sums` are the row's own: counts (n, rows), weights (w, row_w) and their squares (w2). Also
    returns the names of the new sums.
    """
    columns = [_column(i) for i in range(classes)]
    weight = pl.col("w" if "w" in sums else "n").cast(pl.Float64)
    own = {name: pl.col(name) for name in sums} | {"w": weight}
    own["w2"] = weight * weight if "w2" in sums else weight
    parts = {
        hidden(name, i): _part(name, value, pl.col(probability))
        for name, value in own.items()
        for i, probability in enumerate(columns)
    }
    return rows.with_columns(**parts, **{UNSURE: _unsure(columns)}), list(parts)


def _column(number: int) -> str:
    return hidden("probability", number)


def _part(name: str, value: pl.Expr, probability: pl.Expr) -> pl.Expr:
    if name in _FLAT:
        return pl.when(probability > 0).then(value).otherwise(0)
    return value * probability * probability if name in _SQUARE else value * probability


def _unsure(columns: Sequence[str]) -> pl.Expr:
    inside = pl.all_horizontal(pl.col(probability).is_between(0, 1) for probability in columns)
    total = pl.sum_horizontal(pl.col(probability) for probability in columns)
    sound = inside & ((total - 1).abs() <= TOLERANCE)
    return (~sound).fill_null(value=True).cast(pl.Int64)


def unsure_fault() -> Fault:
    """Return the fault of a value in the group mapping that is not a probability."""
    return counted(
        UNSURE,
        "`group` maps classes to numbers that are not probabilities: in every row each must be"
        f" known and from 0 to 1, and all must add up to 1 within {TOLERANCE:g}; leave other rows"
        " out or divide by the sum of the columns",
    )


def per_class(table: pl.LazyFrame, classes: pl.Series, sums: Sequence[str]) -> pl.LazyFrame:
    """Make a line of every class that may be in a cell."""
    lists = {name: pl.concat_list(hidden(name, i) for i in range(len(classes))) for name in sums}
    lines = table.with_columns(pl.lit(classes).implode().alias("group"), **lists)
    possible = pl.max_horizontal(pl.col(name) for name in sums if name in _FLAT) > 0
    return lines.explode("group", *sums, empty_as_null=True).filter(possible)
