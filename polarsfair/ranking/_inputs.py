"""The frames of this family: recommendations, ground truth, users and items.

A slice or a part of the group may be a column of any of them. `resolve` reads each frame as `Rows`:
columns under the names of their roles, ids of one dtype, and no rows without a user or an item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import TEXT, Column, as_column, is_number, shown
from polarsfair._engine.faults import Fault, counted
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.rows import Role, Rows
from polarsfair._engine.slices import hidden, hidden_slices
from polarsfair.ranking._keys import (
    ACTUAL,
    ITEMS,
    RECS,
    USERS,
    check_ids,
    check_not_swapped,
    id_columns,
    key_columns,
    parts_of,
    user_columns,
    user_names,
)
from polarsfair.ranking._nested import unnested

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser
    from polarsfair.ranking._nested import Unnested

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
        Its keys, `user`, ``item``, ``n``, and ``rank`` or ``score`` (an order, see `order_of`).
    actual
        Its keys, `user`, ``item``, ``n``, and ``relevance`` if it is given (0: not relevant).
    users
        One line per user with its keys, see `one_per_id`; None if the frame has no key.
    slices, parts
        All slices, and all parts of the group, whichever frame has them.
    lists, truths
        The recommendations and the ground truth once more, with a row of unknown item for every
        nested list, even if it is empty.
    lengths
        A line per nested list with its keys, `user` and ``n_rec``; None if items must be counted.
    nested
        The frames that have a list per row.
    user
        The columns that are a user together: ``user``, unless there are several.
    of_user
        Those of them that the frame of users has.
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
    lists: pl.LazyFrame
    truths: pl.LazyFrame
    lengths: pl.LazyFrame | None = None
    nested: tuple[str, ...] = ()
    user: tuple[str, ...] = ("user",)
    of_user: tuple[str, ...] = ("user",)
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
        return [*self.recs.keys, *self.user]

    @property
    def actual_keys(self) -> list[str]:
        """What identifies the relevant items of a user."""
        return [*self.actual.keys, *self.user]

    @property
    def keys(self) -> list[str]:
        """What identifies a list together with its relevant items."""
        return [*self.recs.keys, *self.of_actual, *self.user]

    @property
    def pair_keys(self) -> list[str]:
        """What a recommendation and a row of the ground truth have in common."""
        return [*self.both, *self.user, "item"]

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
    items: IntoFrame | None = None,
    user: IntoUser | None,
    item: IntoColumn | None,
    group: IntoGroup | None = None,
    rec_roles: Mapping[str, Role],
    actual_roles: Mapping[str, Role] | None = None,
) -> Inputs:
    """Resolve slices, group and roles against the frames.

    `rec_roles` are further columns of `recs`, `actual_roles` further columns of `actual`. The items
    of the catalogue `items` are only brought to the dtype of the others.
    """
    if actual is None or user is None or item is None:
        missing = [n for n, v in (("actual", actual), ("user", user), ("item", item)) if v is None]
        msg = f"ranked lists need `{missing[0]}`: pass `actual=<frame>, user=..., item=...`"
        raise TypeError(msg)
    given = {ACTUAL: actual, USERS: users, ITEMS: items}
    frames = {RECS: recs} | {n: as_lazy(one) for n, one in given.items() if one is not None}
    columns, items_of = user_columns(user), as_column(item, "item")
    check_ids(frames, columns, items_of)
    opened = _unnested(frames, items_of, {RECS: rec_roles, ACTUAL: actual_roles or {}})
    frames |= {name: one.opened(one.frame) for name, one in opened.items()}
    listed = {n: opened[n].item if n in opened else items_of for n in frames if n != USERS}
    ids = id_columns(frames, columns, listed)
    slices = hidden_slices(column.meta.output_name() for column in by)
    frames.pop(ITEMS, None)
    parts = parts_of(frames.values(), group)
    keys = key_columns(frames, dict(zip(slices.values(), by, strict=True)), parts)
    names = user_names(columns)
    of_users: dict[str, Any] = {"users": None}
    if keys.get(USERS):
        found = Rows.of(frames[USERS], (), more={**keys[USERS], **ids[USERS]})
        of_users = {"users": _keyed_by_user(_with_keys(found, slices, keys[USERS]), [*ids[USERS]])}
        of_users |= {"of_user": tuple(ids[USERS])}
    return Inputs(
        slices=slices,
        parts=tuple(parts),
        user=names,
        nested=tuple(name for name in opened if opened[name].lists),
        **of_users,
        **_recs(opened[RECS], ids[RECS], keys[RECS], slices, names),
        **_actual(opened[ACTUAL], ids[ACTUAL], keys[ACTUAL], slices, names),
    )


def _unnested(
    frames: Mapping[str, pl.LazyFrame], item: pl.Expr, roles: Mapping[str, Mapping[str, Role]]
) -> dict[str, Unnested]:
    """Find the lists of recommendations and of the ground truth."""
    columns = {
        name: {
            shown(role): as_column(one.into, shown(role))
            for role, one in of.items()
            if one.into is not None
        }
        for name, of in roles.items()
    }
    check_not_swapped(frames, columns)
    return {name: unnested(frames[name], item, of) for name, of in roles.items()}


def _rows(
    opened: Unnested,
    ids: Mapping[str, pl.Expr],
    keys: Mapping[str, pl.Expr],
    slices: Mapping[str, str],
) -> tuple[Rows, pl.LazyFrame]:
    """Resolve the roles of one frame, with those slices and parts of the group that it has.

    Returns the rows with an item each, and the rows with a list each, if the frame has lists.
    """
    frame, more = opened.frame, {**keys, **ids}
    if opened.lists:
        # Slices and users are those of the caller's rows, and are computed once for each.
        whole = {name: column for name, column in more.items() if name != "item"}
        frame = frame.select(*opened.lists, **whole)
        more = {**{name: pl.col(name) for name in whole}, "item": ids["item"]}
    roles = dict(opened.roles)
    rows = Rows.of(opened.opened(frame), (), group=None, weight=None, more=more, **roles)
    return _with_keys(rows, slices, keys), frame


def _with_keys(rows: Rows, slices: Mapping[str, str], keys: Mapping[str, pl.Expr]) -> Rows:
    own = {caller: name for caller, name in slices.items() if name in keys}
    parts = tuple(name for name in keys if name not in own.values())
    return replace(rows, slices=own, parts=parts)


def _recs(
    opened: Unnested,
    ids: Mapping[str, pl.Expr],
    keys: Mapping[str, pl.Expr],
    slices: Mapping[str, str],
    user: Sequence[str],
) -> dict[str, Any]:
    """Return the recommendations that have a user and an item, and those that have a user."""
    rows, frame = _rows(opened, ids, keys, slices)
    first, second, third = read_apart(rows.frame, user)
    found = {"recs": replace(rows, frame=first), "again": (second, third), "lists": third}
    if opened.lists:
        known = _third_spelling(user)
        found["lists"] = rows.frame.filter(known)
        lengths = opened.lengths(frame)
        found["lengths"] = None if lengths is None else lengths.filter(known)
    return found


def _actual(
    opened: Unnested,
    ids: Mapping[str, pl.Expr],
    keys: Mapping[str, pl.Expr],
    slices: Mapping[str, str],
    user: Sequence[str],
) -> dict[str, Any]:
    """Return the ground truth that has a user and an item, and all of it that has a user."""
    rows, frame = _rows(opened, ids, keys, slices)
    first = read_apart(rows.frame, user)[0]
    truths = frame.filter(_third_spelling(user)) if opened.lists else first
    return {"actual": replace(rows, frame=first), "truths": truths}


def _keyed_by_user(rows: Rows, user: Sequence[str]) -> Rows:
    return replace(rows, frame=one_per_id(rows.frame, user, rows.keys, REPEATED_USER))


def with_users(inputs: Inputs, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Add the slices and groups of `users`; a user who is there twice is a fault."""
    if inputs.users is None:
        return lines
    known = lines.join(inputs.users.frame, on=inputs.of_user, how="left")
    return known.with_columns(pl.col(REPEATED_USER).fill_null(0))


def one_per_id(
    frame: pl.LazyFrame, ids: str | Sequence[str], values: Iterable[str], repeated: str
) -> pl.LazyFrame:
    """Return one line per id with its `values`; the column `repeated` is 1 if it has several."""
    firsts = [pl.col(name).first() for name in values]
    several = (pl.col("n").sum() > 1).cast(pl.Int64).alias(repeated)
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in _listed(ids))
    return frame.filter(known).group_by(ids).agg(*firsts, several)


def _listed(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


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


def read_apart(
    rows: pl.LazyFrame, user: Sequence[str] = ("user",)
) -> tuple[pl.LazyFrame, pl.LazyFrame, pl.LazyFrame]:
    """Leave out rows without a user or an item, by one filter in three spellings.

    Polars finds equal parts of a plan, reads them once, and keeps their rows in memory. There are
    many recommendations: reading them three times takes longer, but does not keep them. Polars does
    not find that these filters are equal. They keep the same rows, because a comparison of null
    with itself is null.
    """
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in user)
    same = pl.all_horizontal(pl.col(name) == pl.col(name) for name in user)
    item = pl.col("item")
    return (
        rows.filter(known & item.is_not_null()),
        rows.filter(same & item.is_not_null()),
        rows.filter(known & (item == item)),
    )


def _third_spelling(user: Sequence[str]) -> pl.Expr:
    """Return whether a row has a user, in other words than `read_apart` has for two readings."""
    first, *others = (pl.col(name) for name in user)
    return pl.all_horizontal((first == first).is_not_null(), *(one.is_not_null() for one in others))
