"""The frames of this family: recommendations, ground truth, users and items.

A slice or a part of the group may be a column of any of them. `resolve` reads each frame as `Rows`:
columns under the names of their roles, ids of one dtype, and no rows without a user or an item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import ColumnNotFoundError

from polarsfair._engine.columns import (
    TEXT,
    Column,
    as_column,
    check_anywhere,
    check_columns,
    is_number,
    key_of,
    schema_of,
    shown,
)
from polarsfair._engine.faults import Fault, counted
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.groups import group_parts
from polarsfair._engine.rows import Role, Rows
from polarsfair._engine.slices import hidden, hidden_slices

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup

RECS, ACTUAL, USERS, ITEMS = "recs", "actual", "users", "items"
_LONG = (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128)

# --- faults that rows can have ------------------------------------------------------------------

BAD_RANK, SAME_RANK, BAD_GRADE = map(hidden, ("bad rank", "same rank", "bad grade"))
REPEATED_USER, REPEATED_ITEM = hidden("repeated user"), hidden("repeated item")
REPEATED_RECS, REPEATED_ACTUAL = hidden("repeated recs"), hidden("repeated actual")
BAD_FEATURE, BAD_POPULARITY = hidden("bad feature"), hidden("bad popularity")
BAD_PROPENSITY = hidden("bad propensity")


def _repeated(frame: str, id_: str) -> str:
    return (
        f"`{frame}` holds a `{id_}` more than once: pass one row for each, such as"
        f' `{frame}.unique("{id_}")`'
    )


FAULTS: Mapping[str, str] = {
    BAD_RANK: "`rank` holds a value that is not a whole number from 1 (or one of more than 64"
    " bits): the first rank is 1",
    SAME_RANK: "`rank` holds the same rank for several hits of one user: ranks in a list differ",
    BAD_GRADE: "`relevance` holds a grade above `max_grade`: pass the highest possible grade",
    REPEATED_USER: _repeated(USERS, "user"),
    REPEATED_RECS: 'a list holds an item more than once: remove repeats, or pass `repeats="once"`',
    REPEATED_ACTUAL: (
        'a user has an item in `actual` twice: remove repeats, or pass `repeats="once"`'
    ),
    REPEATED_ITEM: _repeated(ITEMS, "item"),
    BAD_FEATURE: "`features` holds an infinite value: make it null to leave the item out",
    BAD_POPULARITY: (
        "`popularity` holds a value that is not a number of at least 0 (negative, null, NaN):"
        ' fill them, such as `popularity=pl.col("...").fill_null(0)`'
    ),
    BAD_PROPENSITY: (
        "`propensity` holds a negative value: it is the probability that the pair was shown"
    ),
}
"""The columns that count faulty rows, with their messages."""


def mark_of(frame: pl.LazyFrame, name: str) -> pl.Expr:
    """Return a number per value, whose sum over distinct values tells different sets apart.

    It is the same in all processes, but not in all versions of Polars.
    """
    dtype = frame.collect_schema()[name]
    value = pl.col(name).cast(pl.String) if dtype in TEXT else pl.col(name)
    # Small enough for the sum over 2**27 values to fit in 64 bits.
    return (value.hash() % 2**36).cast(pl.Int64)


def fault_columns(columns: Collection[str]) -> list[str]:
    """List those columns that count faulty rows."""
    return [name for name in FAULTS if name in columns]


def faults_in(columns: Collection[str]) -> list[Fault]:
    """List the faults that were counted in any of the columns."""
    return [counted(name, FAULTS[name]) for name in fault_columns(columns)]


# --- the frames ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inputs:
    """Recommendations, ground truth and users, as every tally of this family reads them.

    Attributes
    ----------
    recs
        Its keys, ``user``, ``item``, ``n``, and ``rank`` or ``score`` (an order, see `order_of`).
    actual
        Its keys, ``user``, ``item``, ``n``, and ``relevance`` if it is given (0: not relevant).
    users
        One line per ``user`` with its keys, see `one_per_id`; None if the frame has no key.
    slices, parts
        All slices, and all parts of the group, whichever frame has them.
    again
        The recommendations in other spellings, see `read_apart`.
    refuses_repeats
        Whether a repeated pair of user and item is a fault.
    """

    recs: Rows
    actual: Rows
    users: Rows | None
    slices: Mapping[str, str]
    parts: tuple[str, ...]
    again: tuple[pl.LazyFrame, ...] = ()
    refuses_repeats: bool = False

    def reread(self, number: int) -> pl.LazyFrame:
        """Return the recommendations for their second or third reading."""
        return self.again[number - 2] if self.again else self.recs.frame

    @property
    def ranked(self) -> bool:
        """Whether ranks are given, instead of scores."""
        return "rank" in self.recs.columns

    @property
    def graded(self) -> bool:
        """Whether a relevance is given."""
        return "relevance" in self.actual.columns

    @property
    def both(self) -> list[str]:
        """The keys that recommendations and ground truth have in common."""
        return [name for name in self.recs.keys if name in self.actual.keys]

    @property
    def of_recs(self) -> list[str]:
        """The keys that only the recommendations have."""
        return [name for name in self.recs.keys if name not in self.actual.keys]

    @property
    def of_actual(self) -> list[str]:
        """The keys that only the ground truth has."""
        return [name for name in self.actual.keys if name not in self.recs.keys]

    @property
    def of_users(self) -> list[str]:
        """The keys that the frame of users has."""
        return [] if self.users is None else self.users.keys

    @property
    def all_keys(self) -> list[str]:
        """All slices and parts of the group, by which tables are counted."""
        return [*self.slices.values(), *self.parts]

    @property
    def rec_keys(self) -> list[str]:
        """What identifies a list of recommendations."""
        return [*self.recs.keys, "user"]

    @property
    def actual_keys(self) -> list[str]:
        """What identifies the relevant items of a user."""
        return [*self.actual.keys, "user"]

    @property
    def keys(self) -> list[str]:
        """What identifies a list together with its relevant items."""
        return [*self.recs.keys, *self.of_actual, "user"]

    @property
    def pair_keys(self) -> list[str]:
        """What a recommendation and a row of the ground truth have in common."""
        return [*self.both, "user", "item"]

    def rows(self, frame: pl.LazyFrame) -> Rows:
        """Return lines that have all slices and parts of the group as rows of them."""
        return replace(self.recs, frame=frame, slices=self.slices, parts=self.parts)

    def table(
        self,
        lines: pl.LazyFrame,
        cells: Sequence[str | pl.Expr],
        sums: Sequence[str],
        *faults: Fault,
    ) -> pl.LazyFrame:
        """Return counted lines as the caller sees them, or raise the faults counted in them."""
        counted_faults = faults_in(lines.collect_schema().names())
        return self.rows(lines).table(lines, cells, sums, [*counted_faults, *faults])


def resolve(
    recs: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    actual: IntoFrame | None,
    users: IntoFrame | None = None,
    user: IntoColumn | None,
    item: IntoColumn | None,
    group: IntoGroup | None = None,
    rec_roles: Mapping[str, Role],
    actual_roles: Mapping[str, Role] | None = None,
) -> Inputs:
    """Resolve slices, group and roles against the frames.

    `rec_roles` are further columns of `recs`, `actual_roles` further columns of `actual`.
    """
    if actual is None or user is None or item is None:
        missing = [n for n, v in (("actual", actual), ("user", user), ("item", item)) if v is None]
        msg = f"ranked lists need `{missing[0]}`: pass `actual=<frame>, user=..., item=...`"
        raise TypeError(msg)
    given = {ACTUAL: actual, USERS: users}
    frames = {RECS: recs} | {n: as_lazy(one) for n, one in given.items() if one is not None}
    ids = _id_columns(frames, {"user": as_column(user, "user"), "item": as_column(item, "item")})
    slices = hidden_slices(column.meta.output_name() for column in by)
    parts = parts_of(frames.values(), group)
    keys = _key_columns(frames, dict(zip(slices.values(), by, strict=True)), parts)
    roles: dict[str, Mapping[str, Role]] = {RECS: rec_roles, ACTUAL: actual_roles or {}}
    rows = {
        name: _rows(frame, ids[name], keys[name], slices, roles.get(name, {}))
        for name, frame in frames.items()
    }
    first, *again = read_apart(rows[RECS].frame)
    return Inputs(
        recs=replace(rows[RECS], frame=first),
        again=tuple(again),
        actual=replace(rows[ACTUAL], frame=read_apart(rows[ACTUAL].frame)[0]),
        users=_keyed_by_user(rows[USERS]) if keys.get(USERS) else None,
        slices=slices,
        parts=tuple(parts),
    )


def _rows(
    frame: pl.LazyFrame,
    ids: Mapping[str, pl.Expr],
    keys: Mapping[str, pl.Expr],
    slices: Mapping[str, str],
    roles: Mapping[str, Role],
) -> Rows:
    """Resolve the roles of one frame, with those slices and parts of the group that it has."""
    rows = Rows.of(frame, (), group=None, weight=None, more={**keys, **ids}, **roles)
    own = {caller: name for caller, name in slices.items() if name in keys}
    parts = tuple(name for name in keys if name not in own.values())
    return replace(rows, slices=own, parts=parts)


def _keyed_by_user(rows: Rows) -> Rows:
    return replace(rows, frame=one_per_id(rows.frame, "user", rows.keys, REPEATED_USER))


def with_users(inputs: Inputs, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Add the slices and groups of `users`; a user who is there twice is a fault."""
    if inputs.users is None:
        return lines
    known = lines.join(inputs.users.frame, on="user", how="left")
    return known.with_columns(pl.col(REPEATED_USER).fill_null(0))


def one_per_id(frame: pl.LazyFrame, id_: str, values: Iterable[str], repeated: str) -> pl.LazyFrame:
    """Return one line per id with its `values`; the column `repeated` is 1 if it has several."""
    firsts = [pl.col(name).first() for name in values]
    several = (pl.col("n").sum() > 1).cast(pl.Int64).alias(repeated)
    return frame.filter(pl.col(id_).is_not_null()).group_by(id_).agg(*firsts, several)


# --- keys that frames have in common ------------------------------------------------------------


def _aligned(
    frames: Mapping[str, pl.LazyFrame], owners: Sequence[str], role: str, column: pl.Expr
) -> dict[str, pl.Expr]:
    """Return a column of several frames as keys of one dtype.

    A column that is null throughout takes the dtype that the other frames have.
    """
    dtypes = {owner: schema_of(frames[owner], {role: column})[role] for owner in owners}
    check_same_dtype(role, dtypes)
    dtype = next((one for one in dtypes.values() if one != pl.Null), pl.Null())
    keys = {owner: key_of(Column(role, column, one)) for owner, one in dtypes.items()}
    return {o: key.cast(dtype) if dtypes[o] == pl.Null else key for o, key in keys.items()}


def _id_columns(
    frames: Mapping[str, pl.LazyFrame], ids: Mapping[str, pl.Expr]
) -> dict[str, dict[str, pl.Expr]]:
    """Return the ids of every frame; raise if a frame lacks one, or has it in another dtype."""
    found: dict[str, dict[str, pl.Expr]] = {name: {} for name in frames}
    for role, column in ids.items():
        owners = [name for name in frames if name != USERS or role == "user"]
        for name in owners:
            check_columns(frames[name], {role: [column]})
        for owner, key in _aligned(frames, owners, role, column).items():
            found[owner][role] = key
    return found


def check_same_dtype(role: str, dtypes: Mapping[str, pl.DataType]) -> None:
    """Raise if a column that frames are joined by has another dtype in one of them."""
    known = [(name, dtype) for name, dtype in dtypes.items() if dtype != pl.Null]
    for name, other in known[1:]:
        first, dtype = known[0]
        if other != dtype:
            msg = (
                f"`{role}` is {dtype} in `{first}` and {other} in `{name}`, so nothing would match:"
                f" cast one of them, such as `{name}.with_columns(pl.col(...).cast(pl.{dtype}))`"
            )
            raise TypeError(msg)


def _key_columns(
    frames: Mapping[str, pl.LazyFrame],
    slices: Mapping[str, pl.Expr],
    parts: Mapping[str, pl.Expr],
) -> dict[str, dict[str, pl.Expr]]:
    """Find which frames have each slice and part of the group: expressions by frame and name."""
    found: dict[str, dict[str, pl.Expr]] = {name: {} for name in frames}
    for keyword, wanted in (("by", slices), ("group", parts)):
        for name, column in wanted.items():
            owners = _owners_of(frames, column, keyword)
            for owner, key in _aligned(frames, owners, shown(name), column).items():
                found[owner][name] = key
    return found


def _owners_of(frames: Mapping[str, pl.LazyFrame], column: pl.Expr, keyword: str) -> list[str]:
    """List the frames that have every column which an expression reads."""
    have = {name: frame.collect_schema().names() for name, frame in frames.items()}
    roots = column.meta.root_names()
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


# --- roles --------------------------------------------------------------------------------------


def order_roles(score: IntoColumn | None, rank: IntoColumn | None) -> dict[str, Role]:
    """Return the roles that order a list; raise if both are given."""
    if score is not None and rank is not None:
        msg = "`score` and `rank` both set the order of a list: pass one of them"
        raise TypeError(msg)
    return {"score": Role(score, order_of), "rank": Role(rank, _rank_of)}


def check_ordered(inputs: Inputs) -> None:
    """Raise if lists have no order."""
    if not {"score", "rank"} & set(inputs.recs.columns):
        msg = 'the order of the lists is missing: add `score="<column>"` or `rank="<column>"`'
        raise TypeError(msg)


def order_of(column: Column) -> pl.Expr:
    """Return scores as an order: lower is better, and null and NaN come last.

    Polars orders NaN after every number and as equal to itself, so that one comparison of two
    columns suffices. 64-bit integers are not exact as floats and stay integers.
    """
    score, dtype = column.expression, column.dtype
    if dtype in _LONG:
        zero, last = (pl.lit(number, dtype=pl.Int128) for number in (0, 2**127 - 1))
        return (zero - score.cast(pl.Int128)).fill_null(last)
    if dtype == pl.Float32:
        return (-score).fill_null(float("nan"))
    if is_number(dtype):
        return (-score.cast(pl.Float64)).fill_null(float("nan"))
    msg = f"`score` is {dtype}, not a number: pass a numeric column, or ranks as `rank=`"
    raise TypeError(msg)


def _rank_of(column: Column) -> pl.Expr:
    if column.dtype.is_integer() or column.dtype == pl.Null:
        # A number beyond 64 bits becomes null, which is bad as well.
        return column.expression.cast(pl.Int64, strict=False)
    msg = (
        f"`rank` is {column.dtype}, not a whole number: cast it,"
        f" `rank={column.text}.cast(pl.Int64)`"
    )
    raise TypeError(msg)


def grade_of(column: Column) -> pl.Expr:
    """Return the relevance as a number, 0 if it is unknown or negative."""
    if not is_number(column.dtype):
        name = column.expression.meta.output_name()
        msg = (
            f"`relevance` is {column.dtype}, neither Boolean nor a number: write what is relevant"
            f' as an expression, such as `relevance=pl.col("{name}") == "yes"`'
        )
        raise TypeError(msg)
    return column.expression.cast(pl.Float64).fill_nan(None).fill_null(0.0).clip(0.0)


def read_apart(rows: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame, pl.LazyFrame]:
    """Leave out rows without a user or an item, by one filter in three spellings.

    Polars finds equal parts of a plan, reads them once, and keeps their rows in memory. There are
    many recommendations: reading them three times takes longer, but does not keep them. Polars does
    not find that these filters are equal. They keep the same rows, because a comparison of null
    with itself is null.
    """
    user, item = pl.col("user"), pl.col("item")
    return (
        rows.filter(user.is_not_null() & item.is_not_null()),
        rows.filter((user == user) & item.is_not_null()),
        rows.filter(user.is_not_null() & (item == item)),
    )
