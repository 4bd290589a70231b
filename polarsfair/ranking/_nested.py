"""Nested lists: one row per user, in which `item` is a list, and so is what belongs to an item.

They are unnested at the door, lazily, into one row per user and item. An empty list leaves a row
without an item, so that its user is not lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polarsfair._engine.columns import (
    Column,
    as_column,
    check_columns,
    key_of,
    schema_of,
    shown,
)
from polarsfair._engine.faults import Fault, checked_rows
from polarsfair._engine.rows import Role
from polarsfair._engine.slices import hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ITEM, _ORDER = hidden("nested item"), hidden("nested order")
_SIZE = pl.col(_ITEM).list.len().fill_null(0)


class Unnested(NamedTuple):
    """A frame whose `lists` are columns to explode, and the columns of `item` and roles in it."""

    frame: pl.LazyFrame
    item: pl.Expr
    roles: Mapping[str, Role]
    lists: tuple[str, ...] = ()
    checked: pl.Expr = pl.col(_ITEM)

    def opened(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Return a row per user and item of a frame that has the lists."""
        if not self.lists:
            return frame
        return frame.with_columns(self.checked).explode(*self.lists, empty_as_null=True)

    def lengths(self, frame: pl.LazyFrame) -> pl.LazyFrame | None:
        """Add the number of known items; None if only single items tell what counts."""
        dtype = frame.collect_schema()[_ITEM] if self.lists else None
        given = self.roles["rank"].into is not None if "rank" in self.roles else False
        if not isinstance(dtype, pl.List) or dtype.inner.is_float():
            return None
        if given and _ORDER not in self.lists:
            return None
        # Reads nothing but the items, which takes less than to unnest them once more.
        known = pl.col(_ITEM).list.agg(pl.element().count()).fill_null(0)
        return frame.with_columns(n_rec=known.cast(pl.Int64)).drop(self.lists)


def unnested(frame: pl.LazyFrame, item: pl.Expr, roles: Mapping[str, Role]) -> Unnested:
    """Prepare lists to be unnested if `item` is a list, else return the frame as it is.

    If neither a score nor a rank is given, the order of a list is its rank.
    """
    dtype = schema_of(frame, {"item": item})["item"]
    if not _is_list(dtype):
        return Unnested(frame, item, roles)
    given = {role: one for role, one in roles.items() if one.into is not None}
    columns = {role: as_column(one.into, shown(role)) for role, one in given.items()}
    check_columns(frame, {shown(role): [column] for role, column in columns.items()})
    dtypes = schema_of(frame, columns)
    _check_list(Column("item", item, dtype), key_of, dtype)
    for role, column in columns.items():
        _check_list(Column(shown(role), column, dtypes[role]), given[role].read, dtype)
    names = _names(given)
    lists = {names[role]: _as_list(columns[role], dtypes[role]) for role in reversed(names)}
    order = {}
    if "rank" in roles and not {"rank", "score"} & set(given):
        order = {_ORDER: pl.int_ranges(1, _SIZE + 1, dtype=pl.Int64)}
    rows = frame.with_columns(_as_list(item, dtype).alias(_ITEM), **lists)
    rows = rows.with_columns(**order)
    read = {role: Role(pl.col(names[role]), one.read) for role, one in given.items()}
    read |= {"rank": Role(pl.col(_ORDER), roles["rank"].read)} if order else {}
    return Unnested(
        rows, pl.col(_ITEM), {**roles, **read}, (_ITEM, *lists, *order), _of_equal_length(names)
    )


def _is_list(dtype: object) -> bool:
    return isinstance(dtype, (pl.List, pl.Array))


def _as_list(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    return column.arr.to_list() if isinstance(dtype, pl.Array) else column


def _names(given: Mapping[str, Role]) -> dict[str, str]:
    """Name the column of every role inside; roles of the same column share it."""
    intos = [one.into for one in given.values()]
    firsts = [
        next(i for i, other in enumerate(intos) if other is into or _same_name(other, into))
        for into in intos
    ]
    return {role: hidden("nested", first) for role, first in zip(given, firsts, strict=True)}


def _same_name(one: object, other: object) -> bool:
    return isinstance(one, str) and isinstance(other, str) and one == other


def _check_list(column: Column, read: Callable[[Column], pl.Expr], items: pl.DataType) -> None:
    """Raise if a column beside lists of items is not made of lists, of the same length."""
    role, dtype = column.role, column.dtype
    inner: Any = getattr(dtype, "inner", None)
    if not isinstance(dtype, (pl.List, pl.Array)):
        msg = (
            f"`{role}` is {dtype}, one value for a whole list of items: pass lists of the same"
            f" length, such as `{role}=<a column of dtype pl.List>`, or one row per user and item"
        )
        raise TypeError(msg)
    if isinstance(dtype, pl.Array) and isinstance(items, pl.Array) and dtype.size != items.size:
        raise ValueError(_unequal(role))
    try:
        read(Column(role, column.expression, inner))
    except TypeError:
        what = "ids" if role == "item" else "numbers"
        msg = (
            f"`{role}` holds lists of {inner}, not of {what}: cast it, such as"
            f" `{role}={column.text}.cast(pl.List(pl.{'Int64' if what == 'ids' else 'Float64'}))`"
        )
        raise TypeError(msg) from None


def _unequal(role: str) -> str:
    return (
        f"`{role}` and `item` are lists of different lengths in a row: every item of a list needs"
        f" its own `{role}`, which may be null"
    )


def _of_equal_length(names: Mapping[str, str]) -> pl.Expr:
    """Return the items, or raise where a list beside them has another length."""
    roles = {name: role for role, name in reversed(list(names.items()))}
    faults = [
        Fault(pl.col(name).list.len().fill_null(0) != _SIZE, _unequal(shown(role)))
        for name, role in roles.items()
    ]
    return checked_rows(pl.col(_ITEM), faults).alias(_ITEM)
