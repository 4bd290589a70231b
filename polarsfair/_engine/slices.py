"""Steps per slice that also work without slices, and the names of hidden columns."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

MARK = "|"
"""Begins the names of columns that no caller can have; slices that begin with it are refused."""


@functools.cache
def hidden(*parts: object) -> str:
    """Return the name of a column that no caller can have, such as ``hidden("base", 2)``."""
    return MARK + " ".join(map(str, parts))


SLICE, PART = hidden("by "), hidden("part ")


def distinct_names(columns: Sequence[pl.Expr], what: str) -> list[str]:
    """Return the names of columns; raise if two of them have the same name."""
    names = [column.meta.output_name() for column in columns]
    for name in names:
        if names.count(name) > 1:
            msg = f'two {what} are called {name!r}: rename one with `.alias("...")`'
            raise ValueError(msg)
    return names


def hidden_part(name: str) -> str:
    """Return the hidden name of one part of an intersection."""
    return PART + name


def n_of(name: str) -> str:
    """Name the hidden column that counts what the value `name` is a value of."""
    return hidden("n", name)


def shown_n(name: str) -> str:
    """Name the column that the caller sees beside the value `name`."""
    return f"{name}_n"


def hidden_slices(slices: Iterable[str]) -> dict[str, str]:
    """Return hidden names of slices, so that none is called like a column of a view."""
    return {name: SLICE + name for name in slices}


def joined(
    left: pl.LazyFrame,
    right: pl.LazyFrame,
    on: Sequence[str],
    how: Literal["inner", "left"] = "inner",
) -> pl.LazyFrame:
    """Join on keys, of which null is one; without keys, every line with every line."""
    if not on:
        return left.join(right, how="cross")
    return left.join(right, on=list(on), how=how, nulls_equal=True)


def over(value: pl.Expr, keys: Sequence[str]) -> pl.Expr:
    """Compute `value` per key and repeat it on every line; without keys, over all lines."""
    return value.over(list(keys)) if keys else value


def running(value: pl.Expr, keys: Sequence[str], by: str, *, descending: bool = False) -> pl.Expr:
    """Compute what depends on the order of lines, per key, in the order of `by`."""
    return value.over(list(keys) or None, order_by=by, descending=descending, nulls_last=True)


def aggregated(
    lines: pl.LazyFrame, keys: Sequence[str], values: Mapping[str, pl.Expr]
) -> pl.LazyFrame:
    """Aggregate lines per key; without keys, into one line."""
    return lines.group_by(list(keys)).agg(**values) if keys else lines.select(**values)


def summed(lines: pl.LazyFrame, keys: Sequence[str], values: Iterable[str]) -> pl.LazyFrame:
    """Sum the columns `values` per key; without keys, into one line."""
    return aggregated(lines, keys, {value: pl.col(value).sum() for value in values})


def every_slice(table: pl.LazyFrame, lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Add a line for each slice of `table` that has no line, so that its value is null."""
    return joined(table.select(*keys).unique(), lines, keys, how="left") if keys else lines


def map_slices(
    lines: pl.LazyFrame,
    keys: Sequence[str],
    function: Callable[[pl.DataFrame], pl.DataFrame],
    values: Mapping[str, pl.DataType | type[pl.DataType]],
) -> pl.LazyFrame:
    """Call a Python function with the lines of every slice.

    The result has the slices and `values`, which maps the other columns to their dtypes.
    """
    schema = lines.collect_schema()
    result = pl.Schema({**{name: schema[name] for name in keys}, **values})
    if keys:
        return lines.group_by(list(keys)).map_groups(function, schema=result)
    return lines.map_batches(
        function,
        schema=result,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )
