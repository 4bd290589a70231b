"""Rows: the caller's roles resolved against a frame, and counted into a table.

Everything below the `group_by` runs on the streaming engine over flat keys; whatever needs more
(structs, Boolean meaning, faults) is done afterwards, on the small table. What a worker of a
cluster does is exactly this: rows in, a table out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polarsfair._engine.columns import (
    BAD_WEIGHT,
    Column,
    binary_of,
    exactly,
    key_of,
    number_of,
    resolve_columns,
    weight_columns,
)
from polarsfair._engine.faults import (
    Fault,
    bad_weight_fault,
    binary_fault,
    raise_faults,
    weight_faults,
)
from polarsfair._engine.groups import (
    UNSURE,
    class_names,
    group_parts,
    per_class,
    probabilities,
    unsure_fault,
    with_expected,
    with_group,
)
from polarsfair._engine.slices import distinct_names, hidden, hidden_slices, summed

if TYPE_CHECKING:
    from polarsfair._typing import IntoColumn, IntoGroup

WEIGHTED_SUMS: Mapping[str, pl.Expr] = {name: pl.col(name).sum() for name in ("n", "w", "w2")}
"""The sums of a counting tally: rows, weights, squared weights."""

ONE = pl.lit(1, dtype=pl.Int64)
# `pl.len()` is UInt32 and stops at 2**32 rows per cell; a sum of Int64 ones does not.


class Role(NamedTuple):
    """A column of the caller and how it is read; one that is not given is left out."""

    into: IntoColumn | None
    read: Callable[[Column], pl.Expr]


def key(into: IntoColumn | None) -> Role:
    """Read a column as a key: plain, and without NaN."""
    return Role(into, key_of)


def number(into: IntoColumn | None) -> Role:
    """Read a column as numbers."""
    return Role(into, number_of)


def binary(into: IntoColumn | None) -> Role:
    """Read a column as 0 and 1."""
    return Role(into, binary_of)


@dataclass(frozen=True)
class Rows:
    """A caller's rows, with slices, parts of the group and roles as plain columns.

    Attributes
    ----------
    frame
        The columns below, one per role under its name, ``n`` (one), and with a weight ``w``,
        ``w2`` and whether it is bad.
    slices
        The caller's names of the slices, with their hidden names in `frame`.
    parts
        The hidden names of the parts of the group.
    columns
        The roles that were given, as they were resolved; ``weight`` among them.
    """

    frame: pl.LazyFrame
    slices: Mapping[str, str]
    parts: tuple[str, ...]
    columns: Mapping[str, Column]

    @classmethod
    def of(
        cls,
        frame: pl.LazyFrame,
        by: Sequence[pl.Expr],
        *,
        group: IntoGroup | None = None,
        weight: IntoColumn | None = None,
        more: Mapping[str, pl.Expr] | None = None,
        **roles: Role,
    ) -> Rows:
        """Resolve slices, group, weight and roles; `more` are columns that are resolved already."""
        slices = hidden_slices(distinct_names(by, "slices"))
        parts = group_parts(frame, group)
        given = {name: role.into for name, role in roles.items() if role.into is not None}
        given |= {} if weight is None else {"weight": weight}
        named_by = dict(zip(slices.values(), by, strict=True))
        resolved = resolve_columns(frame, named_by, parts, given)
        weights = weight_columns(resolved["weight"]) if weight is not None else {}
        keys = {name: key_of(resolved[name]) for name in (*named_by, *parts)}
        read = {name: roles[name].read(resolved[name]) for name in given if name in roles}
        one = _one_per_row(resolved.values())
        named = _named(frame, {**keys, **read, "n": one, **weights, **(more or {})})
        return cls(named, slices, tuple(parts), {name: resolved[name] for name in given})

    @property
    def keys(self) -> list[str]:
        """The hidden columns of slices and group, by which all lines are counted."""
        return [*self.slices.values(), *self.parts]

    @property
    def weighted(self) -> bool:
        """Whether a weight was given."""
        return "weight" in self.columns

    @property
    def sums(self) -> list[str]:
        """The sums that every table has: rows, and with a weight those of weights."""
        return ["n", "w", "w2"] if self.weighted else ["n"]

    @property
    def bad(self) -> list[str]:
        """The column that counts bad weights, if there are weights."""
        return [BAD_WEIGHT] if self.weighted else []

    def faults(self, *, squares: bool = True) -> list[Fault]:
        """Return the faults of the weights; without `squares`, if the table does not sum them."""
        if not self.weighted:
            return []
        column = self.columns["weight"]
        return weight_faults(column) if squares else [bad_weight_fault(column)]

    def count(
        self,
        lines: pl.LazyFrame,
        cells: Sequence[str] = (),
        sums: Sequence[str] = (),
        *,
        faults: Sequence[Fault] = (),
        bad: Sequence[str] = (),
    ) -> pl.LazyFrame:
        """Sum lines into the table; `bad` are columns that count faulty rows."""
        own = [*self.sums, *sums]
        counted = summed(lines, [*self.keys, *cells], [*own, *bad, *self.bad])
        return self.table(counted, cells, own, [*faults, *self.faults()])

    def table(
        self,
        lines: pl.LazyFrame,
        cells: Sequence[str | pl.Expr],
        sums: Sequence[str],
        faults: Sequence[Fault] = (),
    ) -> pl.LazyFrame:
        """Return counted lines as the caller sees them: slices, group, cells, then sums."""
        table = with_group(raise_faults(lines, faults, sums), self.parts)
        slices = [pl.col(name).alias(shown) for shown, name in self.slices.items()]
        return table.select(*slices, *["group"] * bool(self.parts), *cells, *sums)


def _one_per_row(columns: Iterable[Column]) -> pl.Expr:
    """Return the number one; as long as the frame, if all columns are expressions of the caller.

    Beside a literal, an expression that leaves rows out would go unnoticed.
    """
    expressions = [column.expression for column in columns]
    roots = [root for expression in expressions for root in expression.meta.root_names()]
    if not roots or any(expression.meta.is_column() for expression in expressions):
        return ONE
    return pl.when(exactly(roots[0]).is_null()).then(ONE).otherwise(ONE)


def _named(frame: pl.LazyFrame, columns: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Select columns, each as long as the frame even if all of them are literals."""
    if any(column.meta.root_names() for column in columns.values()):
        return frame.select(**columns)
    return frame.with_columns(**columns).select(list(columns))


def count_cells(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None,
    cells: Mapping[str, Role],
    weight: IntoColumn | None,
    exploded: str | None = None,
    faults: Sequence[Fault] = (),
) -> pl.LazyFrame:
    """Count rows per slice, group and cells, with weights if they are given; `faults` are of cells.

    A cell named by `exploded` is a list: a row counts once for each of its distinct members, and
    the columns ``rows`` and ``row_w`` count the rows themselves.
    """
    more = probabilities(frame, group) if isinstance(group, Mapping) else {}
    plain = None if isinstance(group, Mapping) else group
    rows = Rows.of(frame, by, group=plain, weight=weight, more=more, **cells)
    given = {name: pl.col(name) for name in cells if name in rows.columns}
    for name in given:
        if cells[name].read is binary_of:
            given[name] = pl.col(name).cast(pl.Boolean)
            faults = [*faults, binary_fault(rows.columns[name])]
    lines, sums = rows.frame, rows.sums
    if exploded is not None:
        lines, sums = _exploded(lines, exploded, sums)
    if isinstance(group, Mapping):
        lines, sums = _expected(rows, lines, list(given), sums, group, faults)
        return rows.table(lines, ["group", *given.values()], sums)
    lines = summed(lines, [*rows.keys, *given], [*sums, *rows.bad])
    table = rows.table(lines, list(given.values()), sums, [*faults, *rows.faults()])
    # Groups that lack different parts are all the one unknown group.
    return summed(table, [*rows.slices, "group", *given], sums) if len(rows.parts) > 1 else table


def _expected(
    rows: Rows,
    lines: pl.LazyFrame,
    cells: list[str],
    sums: list[str],
    group: Mapping[Any, IntoColumn],
    faults: Sequence[Fault],
) -> tuple[pl.LazyFrame, list[str]]:
    """Count expected rows per class of a group that is known as probabilities."""
    lines, parts = with_expected(lines, sums, len(group))
    table = summed(lines, [*rows.keys, *cells], [*parts, UNSURE, *rows.bad])
    # Products with a probability are floats, which no square can overflow.
    weights = rows.faults(squares=False)
    table = raise_faults(table, [*faults, *weights, unsure_fault()], parts)
    values = list(dict.fromkeys([*sums[:1], "w", "w2", *sums[1:]]))
    return per_class(table, class_names(group), values), values


def _exploded(rows: pl.LazyFrame, cell: str, sums: list[str]) -> tuple[pl.LazyFrame, list[str]]:
    """Make a row of every member of a list, and count the row itself at the first.

    An empty list keeps a row (``rows`` 1, ``n`` 0); an unknown one counts as unknown.
    """
    known, first = hidden("known"), hidden("first")
    weight = pl.col("w" if "w" in sums else "n")
    listed = pl.col(cell).list.drop_nulls().list.unique()
    is_first = pl.col(cell).list.eval(pl.int_range(pl.len()) == 0)
    marked = rows.with_columns(listed.alias(cell), pl.col(cell).is_not_null().alias(known))
    opened = marked.with_columns(is_first.alias(first)).explode(cell, first, empty_as_null=True)
    own, empty = pl.col(first).fill_null(value=True), pl.col(known) & pl.col(cell).is_null()
    kept = {name: pl.when(empty).then(0).otherwise(name) for name in sums}
    counted = pl.col(known) & own
    opened = opened.with_columns(
        rows=counted.cast(pl.Int64), row_w=pl.when(counted).then(weight).otherwise(0)
    )
    return opened.with_columns(**kept), [*sums, "rows", "row_w"]
