"""Keys that frames have in common: users, items, slices and parts of the group.

A user may be several columns, such as a user and a day. Each stays a column of its own. Columns of
different dtypes are brought together if that is exact, so that equal values are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import ColumnNotFoundError

from polarsfair._engine.columns import (
    Column,
    check_anywhere,
    check_columns,
    columns_of,
    is_text,
    is_whole,
    key_of,
    schema_of,
    shown,
)
from polarsfair._engine.groups import group_parts
from polarsfair._engine.slices import hidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polarsfair._typing import IntoGroup, IntoUser

RECS, ACTUAL, USERS, ITEMS = "recs", "actual", "users", "items"

_NARROW = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


def user_columns(user: IntoUser | None) -> list[pl.Expr]:
    """Return the columns that are a user together."""
    columns = columns_of(user, "user")
    if not columns:
        msg = '`user` is an empty list: name at least one column, such as `user=["user", "day"]`'
        raise ValueError(msg)
    return columns


def user_names(columns: Sequence[pl.Expr]) -> tuple[str, ...]:
    """Return the names of the user's columns inside: ``user``, or a hidden one for each."""
    if len(columns) == 1:
        return ("user",)
    return tuple(hidden("user", number) for number in range(len(columns)))


# --- dtypes -------------------------------------------------------------------------------------


def key_dtype(role: str, dtypes: Mapping[str, pl.DataType]) -> pl.DataType:
    """Return the dtype in which a key of several frames is compared; raise if none is exact.

    A column that is null throughout takes the dtype that the other frames have.
    """
    known = {name: dtype for name, dtype in dtypes.items() if dtype != pl.Null}
    first, *others = known.items() or [("", pl.Null())]
    other = next(((name, dtype) for name, dtype in others if dtype != first[1]), None)
    if other is None:
        return first[1]
    if all(map(is_text, known.values())):
        return pl.String()
    common = _whole_dtype(list(known.values()))
    if common is None:
        msg = (
            f"`{role}` is {first[1]} in `{first[0]}` and {other[1]} in `{other[0]}`, so nothing"
            f" would match: cast one of them, such as"
            f" `{other[0]}.with_columns(pl.col(...).cast(pl.{first[1]}))`"
        )
        raise TypeError(msg)
    return common


def _whole_dtype(dtypes: Sequence[Any]) -> pl.DataType | None:
    """Return a dtype that holds every whole number of the others, None if there is not any."""
    if not all(map(is_whole, dtypes)):
        return None
    if all(dtype in _NARROW for dtype in dtypes):
        return pl.Int64()
    if all(dtype.is_unsigned_integer() for dtype in dtypes):
        return pl.UInt128() if pl.UInt128 in dtypes else pl.UInt64()
    return None if pl.UInt128 in dtypes else pl.Int128()


def aligned(
    frames: Mapping[str, pl.LazyFrame], columns: Mapping[str, pl.Expr], role: str
) -> dict[str, pl.Expr]:
    """Return a column of several frames, one expression for each, as keys of one dtype."""
    dtypes = {
        owner: schema_of(frames[owner], {role: column})[role] for owner, column in columns.items()
    }
    common = key_dtype(role, dtypes)
    keys = {owner: key_of(Column(role, columns[owner], one)) for owner, one in dtypes.items()}
    return {o: key if dtypes[o] == common else key.cast(common) for o, key in keys.items()}


# --- ids ----------------------------------------------------------------------------------------


def id_columns(
    frames: Mapping[str, pl.LazyFrame], user: Sequence[pl.Expr], items: Mapping[str, pl.Expr]
) -> dict[str, dict[str, pl.Expr]]:
    """Return the ids of every frame under their names inside, each of one dtype.

    `items` are the items' columns by frame. The frame of users has those of the user's columns
    that it can have.
    """
    found: dict[str, dict[str, pl.Expr]] = {name: {} for name in frames}
    for name, column in zip(user_names(user), user, strict=True):
        owners = [one for one in frames if one != ITEMS and _has(frames, one, column, user)]
        for owner, key in aligned(frames, dict.fromkeys(owners, column), "user").items():
            found[owner][name] = key
    for owner, key in aligned(frames, items, "item").items():
        found[owner]["item"] = key
    return found


def _has(
    frames: Mapping[str, pl.LazyFrame], name: str, column: pl.Expr, user: Sequence[pl.Expr]
) -> bool:
    """Return whether a frame has a part of the user: all frames do, but for that of users."""
    if name != USERS or len(user) == 1:
        return True
    return not _lacking(frames[name], column)


def check_ids(frames: Mapping[str, pl.LazyFrame], user: Sequence[pl.Expr], item: pl.Expr) -> None:
    """Raise if a frame lacks an id."""
    for name, frame in frames.items():
        if name != USERS:
            _check_id(frames, name, "item", item)
        if name == ITEMS:
            continue
        parts = user
        if name == USERS and not all(_lacking(frame, part) for part in user):
            parts = [part for part in user if not _lacking(frame, part)]
        for part in parts:
            _check_id(frames, name, "user", part)


def _check_id(frames: Mapping[str, pl.LazyFrame], name: str, role: str, column: pl.Expr) -> None:
    """Raise if a frame lacks the column of an id, which others may have."""
    import difflib

    lacking = _lacking(frames[name], column)
    others = [other for other in frames if lacking and not _lacking(frames[other], column)]
    if not others:
        check_columns(frames[name], {role: [column]})
        return
    have = frames[name].collect_schema().names()
    close = difflib.get_close_matches(lacking[0], have, n=1) or ["..."]
    swapped = f"; {_SWAPPED}" if name == RECS and ACTUAL in others else ""
    msg = (
        f"`{role}` names the column {lacking[0]!r}, which `{name}` does not have and `{others[0]}`"
        f' has: rename its column, `{name}.rename({{"{close[0]}": "{lacking[0]}"}})`; it has'
        f" {have}{swapped}"
    )
    raise ColumnNotFoundError(msg)


_SWAPPED = "recommendations come first: are the frames swapped?"


def check_not_swapped(
    frames: Mapping[str, pl.LazyFrame], roles: Mapping[str, Mapping[str, pl.Expr]]
) -> None:
    """Raise if `recs` lacks a column that `actual` has, or the other way round.

    `roles` are the columns that are read of each frame.
    """
    for name, other in ((RECS, ACTUAL), (ACTUAL, RECS)):
        for role, column in roles[name].items():
            lacking = _lacking(frames[name], column)
            if lacking and not _lacking(frames[other], column):
                msg = (
                    f"`{role}` names the column {lacking[0]!r}, which `{name}` does not have and"
                    f" `{other}` has: {_SWAPPED}"
                )
                raise ColumnNotFoundError(msg)


def _lacking(frame: pl.LazyFrame, column: pl.Expr) -> list[str]:
    """List the columns that an expression reads and the frame does not have."""
    have = frame.collect_schema()
    return [root for root in _roots(column) if root not in have]


def _roots(column: pl.Expr) -> list[str]:
    """List the columns that an expression reads.

    A name that Polars would take for a pattern is a selector, which has no root but its name.
    """
    roots = column.meta.root_names()
    selects = not roots and column.meta.has_multiple_outputs()
    return [column.meta.output_name()] if selects else roots


# --- slices and parts of the group --------------------------------------------------------------


def key_columns(
    frames: Mapping[str, pl.LazyFrame],
    slices: Mapping[str, pl.Expr],
    parts: Mapping[str, pl.Expr],
) -> dict[str, dict[str, pl.Expr]]:
    """Find which frames have each slice and part of the group: expressions by frame and name."""
    found: dict[str, dict[str, pl.Expr]] = {name: {} for name in frames}
    for keyword, wanted in (("by", slices), ("group", parts)):
        for name, column in wanted.items():
            owners = dict.fromkeys(_owners_of(frames, column, keyword), column)
            for owner, key in aligned(frames, owners, shown(name)).items():
                found[owner][name] = key
    return found


def _owners_of(frames: Mapping[str, pl.LazyFrame], column: pl.Expr, keyword: str) -> list[str]:
    """List the frames that have every column which an expression reads."""
    have = {name: frame.collect_schema().names() for name, frame in frames.items()}
    roots = _roots(column)
    owners = [name for name, names in have.items() if all(root in names for root in roots)]
    if not owners:
        check_anywhere(frames.values(), {keyword: column})
        msg = f"`{keyword}={column}` reads columns of different frames: pass one for each frame"
        raise ColumnNotFoundError(msg)
    if USERS in owners and len(owners) == 2 and roots:
        msg = (
            f"`{keyword}` names {roots}, which `users` and `{owners[0]}` both have:"
            " drop or rename it in one of them"
        )
        raise ValueError(msg)
    return [name for name in owners if name != USERS] or owners


def parts_of(frames: Iterable[pl.LazyFrame], group: IntoGroup | None) -> dict[str, pl.Expr]:
    """Split a group into parts, which may be columns of different frames."""
    every = {n: d for f in reversed(list(frames)) for n, d in f.collect_schema().items()}
    return group_parts(pl.LazyFrame(schema=every), group)
