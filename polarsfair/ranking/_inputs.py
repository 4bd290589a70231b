"""The frames of this family at the door: recommendations, ground truth, users and items.

A slice or group may be a column of any of them. What each frame says of a list is brought here into
one shape (`Inputs`): plain columns under the names of their roles, rows without a user or item
left out, ids of one dtype. Everything behind this module reads that shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import ColumnNotFoundError

from polarsfair._engine.columns import Column, as_column, check_anywhere, check_columns, schema_of
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.legacy import gather_group, group_parts, row_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup

RECS, ACTUAL, USERS = "recs", "actual", "users"
_LONG = (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128)
ONE = pl.lit(1, dtype=pl.Int64)
# `pl.len()` is UInt32 and stops at 2**32 rows a cell; a sum of Int64 ones does not.


@dataclass(frozen=True)
class Inputs:
    """Recommendations and ground truth as every plan reads them.

    Attributes
    ----------
    recs
        Keys, ``user``, ``item``, and ``score`` (as an order, see `order_key`) or ``rank``.
    actual
        Keys, ``user``, ``item``, and ``grade`` where there is a relevance (0: not relevant).
    users
        ``user``, its keys, and ``rows|``, how often the user is in the frame; None without keys.
    both, of_recs, of_actual, of_users
        The key columns (slices and parts of the group) by the frames that have them. Their names
        are no column's of a plan, see `key_columns`.
    slices, parts
        The same key columns by their use.
    again
        The same recommendations in other spellings, see `read_apart`.
    ranked, graded, refuses_repeats
        Whether ranks are given; whether a relevance is; whether a repeated pair is a fault.
    """

    recs: pl.LazyFrame
    actual: pl.LazyFrame
    users: pl.LazyFrame | None
    both: tuple[str, ...]
    of_recs: tuple[str, ...]
    of_actual: tuple[str, ...]
    of_users: tuple[str, ...]
    slices: tuple[str, ...]
    parts: tuple[str, ...]
    ranked: bool
    graded: bool
    refuses_repeats: bool = False
    again: tuple[pl.LazyFrame, ...] = ()

    def reread(self, number: int) -> pl.LazyFrame:
        """Give the recommendations for their second or third reading."""
        return self.again[number - 2] if self.again else self.recs

    @property
    def rec_keys(self) -> list[str]:
        """What makes a list of recommendations one list."""
        return [*self.both, *self.of_recs, "user"]

    @property
    def actual_keys(self) -> list[str]:
        """What makes the relevant items of a user one set."""
        return [*self.both, *self.of_actual, "user"]

    @property
    def keys(self) -> list[str]:
        """What makes a list, set beside its relevant items, one unit."""
        return [*self.both, *self.of_recs, *self.of_actual, "user"]

    @property
    def pair_keys(self) -> list[str]:
        """What a recommendation and a row of the ground truth have in common."""
        return [*self.both, "user", "item"]

    def finished(self, table: pl.LazyFrame, *columns: str | pl.Expr) -> pl.LazyFrame:
        """Give a table as callers see it: slices by their names, the group, then `columns`."""
        slices = [pl.col(name).alias(caller_name(name)) for name in self.slices]
        table = gather_group(table, self.parts)
        return table.select(*slices, *["group"] * bool(self.parts), *columns)


def resolve(
    recs: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    actual: IntoFrame | None,
    users: IntoFrame | None = None,
    user: IntoColumn | None,
    item: IntoColumn | None,
    group: IntoGroup | None = None,
    rec_roles: Mapping[str, IntoColumn | None],
    relevance: IntoColumn | None = None,
    actual_roles: Mapping[str, IntoColumn | None] | None = None,
) -> Inputs:
    """Resolve slices, group and roles against the frames.

    `rec_roles` are columns of `recs`, `actual_roles` further ones of `actual`, as they are.
    """
    if actual is None or user is None or item is None:
        missing = [n for n, v in (("actual", actual), ("user", user), ("item", item)) if v is None]
        msg = f"the ranked lists need `{missing[0]}`: give `actual=<frame>, user=..., item=...`"
        raise TypeError(msg)
    given = {ACTUAL: actual, USERS: users}
    frames = {RECS: recs} | {n: as_lazy(one) for n, one in given.items() if one is not None}
    ids = {"user": as_column(user, "user"), "item": as_column(item, "item")}
    ids_of = id_columns(frames, ids)
    keys = key_columns(frames, by, group)
    listed = frames[RECS].select(
        **keys[RECS], **ids_of[RECS], **_rec_columns(frames[RECS], rec_roles)
    )
    more = _rec_columns(frames[ACTUAL], actual_roles or {}) | _grades(frames[ACTUAL], relevance)
    truth = frames[ACTUAL].select(**keys[ACTUAL], **ids_of[ACTUAL], **more)
    first, *again = read_apart(listed)
    return Inputs(
        recs=first,
        again=tuple(again),
        actual=read_apart(truth)[0],
        users=keyed(frames[USERS], "user", ids_of[USERS]["user"], keys[USERS])
        if keys[USERS]
        else None,
        both=tuple(name for name in keys[RECS] if name in keys[ACTUAL]),
        of_recs=tuple(name for name in keys[RECS] if name not in keys[ACTUAL]),
        of_actual=tuple(name for name in keys[ACTUAL] if name not in keys[RECS]),
        of_users=tuple(keys[USERS]),
        slices=tuple(map(_slice_name, by)),
        parts=tuple(f"|{name}" for name in group_columns(frames, group)),
        ranked=rec_roles.get("rank") is not None,
        graded=relevance is not None,
    )


def id_columns(
    frames: Mapping[str, pl.LazyFrame], ids: Mapping[str, pl.Expr]
) -> dict[str, dict[str, pl.Expr]]:
    """Check that users and items are there, can be keys, and are of one dtype; give them."""
    found: dict[str, dict[str, pl.Expr]] = {name: {} for name in frames}
    for role, column in ids.items():
        owners = [name for name in frames if name != USERS or role == "user"]
        for name in owners:
            check_columns(frames[name], {role: [column]})
        for name, key in _alike(frames, owners, role, role, column).items():
            found[name][role] = key
    return found


def _alike(
    frames: Mapping[str, pl.LazyFrame], owners: Sequence[str], role: str, key: str, column: pl.Expr
) -> dict[str, pl.Expr]:
    """Give a column of several frames as keys of one dtype.

    In a frame without any known value it has no dtype of its own, and takes that of the others.
    """
    dtypes = {owner: schema_of(frames[owner], {key: column})[key] for owner in owners}
    same_dtype(role, dtypes)
    dtype = next((one for one in dtypes.values() if one != pl.Null), pl.Null())
    keys = {owner: row_key(Column(key, column, one)) for owner, one in dtypes.items()}
    return {o: key.cast(dtype) if dtypes[o] == pl.Null else key for o, key in keys.items()}


def same_dtype(role: str, dtypes: Mapping[str, pl.DataType]) -> None:
    """Raise when a column that frames are joined by has another dtype in one of them."""
    known = [(name, dtype) for name, dtype in dtypes.items() if dtype != pl.Null]
    for name, other in known[1:]:
        first, dtype = known[0]
        if other != dtype:
            msg = (
                f"`{role}` is {dtype} in `{first}` and {other} in `{name}`, so nothing would match:"
                f" cast one of them, such as `{name}.with_columns(pl.col(...).cast(pl.{dtype}))`"
            )
            raise TypeError(msg)


def key_columns(
    frames: Mapping[str, pl.LazyFrame], by: Sequence[pl.Expr], group: IntoGroup | None
) -> dict[str, dict[str, pl.Expr]]:
    """Find which frames have each slice and part of the group: expressions by frame and name.

    A slice is called ``by|day``, a part of the group ``|sex``, so that neither meets a column which
    a plan makes, such as ``place``.
    """
    wanted = {_slice_name(column): ("by", column) for column in by}
    wanted |= {f"|{name}": ("group", part) for name, part in group_columns(frames, group).items()}
    found: dict[str, dict[str, pl.Expr]] = {RECS: {}, ACTUAL: {}, USERS: {}}
    for name, (keyword, column) in wanted.items():
        owners = owners_of(frames, column, keyword)
        for owner, key in _alike(frames, owners, caller_name(name), name, column).items():
            found[owner][name] = key
    return found


def _slice_name(column: pl.Expr) -> str:
    return f"by|{column.meta.output_name()}"


def caller_name(key: str) -> str:
    """Give the name that the caller has for a key column."""
    return key.partition("|")[2]


def owners_of(frames: Mapping[str, pl.LazyFrame], column: pl.Expr, keyword: str) -> list[str]:
    """Name the frames that have every column which an expression reads."""
    have = {name: frame.collect_schema().names() for name, frame in frames.items()}
    roots = column.meta.root_names()
    owners = [name for name, names in have.items() if all(root in names for root in roots)]
    if not owners:
        check_anywhere(frames.values(), {keyword: column})
        msg = f"`{keyword}={column}` reads columns of different frames: give one for each frame"
        raise ColumnNotFoundError(msg)
    if USERS in owners and len(owners) == 2 and roots:
        msg = (
            f"`{keyword}` names {roots}, which `users` and `{owners[0]}` both have:"
            " drop or rename it in one of them"
        )
        raise ValueError(msg)
    return [name for name in owners if name != USERS] or owners


def group_columns(
    frames: Mapping[str, pl.LazyFrame], group: IntoGroup | None
) -> dict[str, pl.Expr]:
    """Split a group into flat parts: one, or one per attribute of an intersection."""
    # The parts may be columns of different frames: this one has all of them.
    every = {n: d for f in reversed(list(frames.values())) for n, d in f.collect_schema().items()}
    return group_parts(pl.LazyFrame(schema=every), group)


def keyed(
    frame: pl.LazyFrame, key: str, column: pl.Expr, values: Mapping[str, pl.Expr]
) -> pl.LazyFrame:
    """Give one line per id of a frame that is keyed by it; ``rows|`` above 1 is a fault."""
    named = frame.select(column.alias(key), **values).filter(pl.col(key).is_not_null())
    firsts = [pl.col(name).first() for name in values]
    return named.with_columns(ONE.alias("rows|")).group_by(key).agg(*firsts, pl.col("rows|").sum())


def repeated_key(frame: str, key: str) -> str:
    """Say that a frame holds an id more than once."""
    return (
        f"`{frame}` holds a `{key}` more than once: give a line for each,"
        f' such as `{frame}.unique("{key}")`'
    )


def order_key(score: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Give scores as an order: lower is better, and null and NaN come last.

    Polars orders NaN after every number and as equal to itself, so that one comparison of two
    columns says it all. 64-bit integers are not exact as floats and get an order of their own.
    """
    if dtype in _LONG:
        zero, last = (pl.lit(number, dtype=pl.Int128) for number in (0, 2**100))
        return (zero - score.cast(pl.Int128)).fill_null(last)
    if dtype == pl.Float32:
        return (-score).fill_null(float("nan"))
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return (-score.cast(pl.Float64)).fill_null(float("nan"))
    msg = f"`score` is {dtype}, not a number: give a numeric column, or the places as `rank=`"
    raise TypeError(msg)


def _rec_columns(recs: pl.LazyFrame, roles: Mapping[str, IntoColumn | None]) -> dict[str, pl.Expr]:
    """Give the columns of `recs` beside keys and ids: an order or a rank, others as they are."""
    given = {role: as_column(into, role) for role, into in roles.items() if into is not None}
    check_columns(recs, {role: [column] for role, column in given.items()})
    schema = schema_of(recs, given)
    if "score" in given and "rank" in given:
        msg = "`score` and `rank` both say the order of a list: give one of them"
        raise TypeError(msg)
    if "score" in given:
        given["score"] = order_key(given["score"], schema["score"])
    if "rank" in given:
        given["rank"] = _places(given["rank"], schema["rank"])
    return given


def _places(rank: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype.is_integer() or dtype == pl.Null:
        return rank.cast(pl.Int64)
    msg = f"`rank` is {dtype}, not a whole number: cast it, `rank={rank}.cast(pl.Int64)`"
    raise TypeError(msg)


def _grades(actual: pl.LazyFrame, relevance: IntoColumn | None) -> dict[str, pl.Expr]:
    """Give the relevance as a number, 0 where there is none."""
    if relevance is None:
        return {}
    column = as_column(relevance, "relevance")
    check_columns(actual, {"relevance": [column]})
    dtype = schema_of(actual, {"relevance": column})["relevance"]
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        name = column.meta.output_name()
        msg = (
            f"`relevance` is {dtype}, neither Boolean nor a number: write what is relevant as an"
            f' expression, such as `relevance=pl.col("{name}") == "yes"`'
        )
        raise TypeError(msg)
    grade = column.cast(pl.Float64).fill_nan(None).fill_null(0.0).clip(0.0)
    return {"grade": grade}


def read_apart(rows: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame, pl.LazyFrame]:
    """Leave out rows without a user or item, in three spellings of the same.

    Of plans that look alike Polars keeps the rows in memory, to read them once. Recommendations
    are many, and reading them again is cheaper than keeping them.
    """
    user, item = pl.col("user"), pl.col("item")
    return (
        rows.filter(user.is_not_null() & item.is_not_null()),
        rows.filter((user == user) & item.is_not_null()),
        rows.filter(user.is_not_null() & (item == item)),
    )
