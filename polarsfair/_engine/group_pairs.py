"""Pairs of groups, own and other: with a reference, all pairs, overall, or the rest.

Rows of unknown group are on neither side. A group is compared with everyone, or with the rest,
where both sides have a value: a group alone in its slice is everyone, and there is no rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polarsfair._engine.faults import Fault, guarded
from polarsfair._engine.reference import (
    GROUP,
    OVERALL,
    REST,
    Everyone,
    is_group,
    mark_reference,
)
from polarsfair._engine.slices import aggregated, hidden, joined, over
from polarsfair._formula import clean, farthest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAIR = (hidden("own"), hidden("other"))
"""The columns that identify a pair: numbers of groups, -1 for everyone or the rest."""

SIDE = hidden("side")
"""0 in the lines of a pair's own group, 1 in those of the other."""

REFERENCE = hidden("is reference")
_OTHER_VALUE, _VALUE = hidden("other "), hidden("value ")
_SIZE, _KNOWN = hidden("size "), hidden("known ")
_OWN, _OTHER = (pl.col(name) for name in PAIR)
OTHER_GROUP = hidden("other group")
"""The other side's group, in the lines of `every_pair`."""


def other_of(name: str) -> str:
    """Name the column that holds the other side's value of the column `name`."""
    return _OTHER_VALUE + name


def enough(groups: pl.Expr) -> pl.Expr:
    """Return whether at least two groups have a value; a single group is not compared."""
    return groups > 1


@dataclass(frozen=True, eq=False)
class Comparison:
    """How the values of two groups become one number: the formula of a metric with bases.

    Attributes
    ----------
    pair
        ``(*own values, *other values) -> pl.Expr``: one group compared with another.
    over_pairs
        ``(*values) -> pl.Expr``: the largest magnitude over all pairs of groups, in closed form;
        None if there is no such form, and every pair is then a line.
    magnitude
        What "largest" means.
    limits
        How its limits follow from those of the values compared: those of their difference, of their
        ratio, or of the largest of their differences. None: they do not.
    """

    pair: Callable[..., pl.Expr]
    over_pairs: Callable[..., pl.Expr] | None = None
    magnitude: Callable[[pl.Expr], pl.Expr] = pl.Expr.abs
    limits: Literal["difference", "ratio", "largest"] | None = None

    def __call__(self, number: int, /, *own: str, ref: Any = None) -> pl.Expr:
        """Return the aggregation over the lines of one slice; `own` are the columns compared."""
        known = [pl.col(name) for name in known_columns(number, own)]
        # Of everyone and of the rest there is a value whenever a group has something beside it.
        several = True if isinstance(ref, Everyone) else enough(known[0].count())
        if ref is None and self.over_pairs is not None:
            return pl.when(several).then(self.over_pairs(*known))
        value, size = pl.col(_value(number)), pl.col(_size(number))
        return size.max() if ref is None else pl.when(several).then(farthest(value, size))

    def known_values(self, number: int, own: Sequence[str]) -> list[pl.Expr]:
        """Return the own values in the groups that have all of them, if there are several."""
        known = pl.all_horizontal(pl.col(name).is_not_null() for name in own)
        new = known_columns(number, own) if len(own) > 1 else []
        return [
            pl.when(known).then(pl.col(name)).alias(alias)
            for name, alias in zip(own, new, strict=False)
        ]

    def statistic(self, number: int, own: Sequence[str]) -> pl.Expr:
        """Return the statistic of every line, as a column: the formula reads it several times."""
        values = [pl.col(name) for name in known_columns(number, own)]
        others = [pl.col(other_of(name)) for name in own]
        return clean(self.pair(*values, *others)).alias(_value(number))

    def size(self, number: int) -> pl.Expr:
        """Return the magnitude of the statistic, as a column."""
        return self.magnitude(pl.col(_value(number))).alias(_size(number))


@dataclass(frozen=True, eq=False)
class Extreme:
    """The smallest or largest value of any group: compares it with nothing."""

    pick: Callable[[pl.Expr], pl.Expr]

    def __call__(self, number: int, own: str, /) -> pl.Expr:
        """Return the aggregation over the lines of one slice."""
        del number
        return self.pick(pl.col(own))


def _value(number: int) -> str:
    return f"{_VALUE}{number}"


STATISTIC = _value(0)
"""The statistic of a line of `with_statistic`."""


def _size(number: int) -> str:
    return f"{_SIZE}{number}"


def known_columns(number: int, own: Sequence[str]) -> list[str]:
    """Name the columns of `Comparison.known_values`; a single value needs no other name."""
    return list(own) if len(own) == 1 else [f"{_KNOWN}{number} {name}" for name in own]


# --- the values of two groups in one line -------------------------------------------------------


def beside_group(
    lines: pl.LazyFrame, columns: Sequence[str], keys: Sequence[str], ref: Any
) -> pl.LazyFrame:
    """Add the reference's values to the line of every other group."""
    marked = mark_reference(lines, ref, REFERENCE)
    values = [pl.col(c).filter(REFERENCE).first().alias(other_of(c)) for c in columns]
    if not keys:
        beside = marked.with_columns(values)
    else:
        found = marked.group_by(keys).agg(values)
        beside = marked.join(found, on=list(keys), how="left", nulls_equal=True)
    return beside.with_columns(
        pl.when(~pl.col(REFERENCE)).then(other_of(c)).alias(other_of(c)) for c in columns
    )


def every_pair(lines: pl.LazyFrame, columns: Sequence[str], keys: Sequence[str]) -> pl.LazyFrame:
    """Make a line of every ordered pair of groups, with the values of both."""
    names = {GROUP: OTHER_GROUP, **{name: other_of(name) for name in columns}}
    others = few_pairs(lines, keys, pl.len()).rename(names).select(*keys, *names.values())
    pairs = joined(lines, others, keys, how="left")
    # A group is not compared with itself, but its line keeps the slice in the result, as null.
    two = pl.col(GROUP) != pl.col(OTHER_GROUP)
    return pairs.with_columns(
        pl.when(two).then(pl.col(other_of(name))).alias(other_of(name)) for name in columns
    )


def with_statistic(
    lines: pl.LazyFrame, how: Comparison, own: Sequence[str], keys: Sequence[str], ref: Any
) -> pl.LazyFrame:
    """Add what the formula `how` reads to lines of the values of every group."""
    if ref is not None:
        lines = beside_group(lines, own, keys, ref)
    elif how.over_pairs is None:
        lines = every_pair(lines, own, keys)
    lines = lines.with_columns(how.known_values(0, own))
    if ref is None and how.over_pairs is not None:
        return lines
    return lines.with_columns(how.statistic(0, own)).with_columns(how.size(0))


def of_the_rest(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return, for every group, the lines of all others under its own name: groups x lines."""
    groups = table.select(*keys, GROUP).unique()
    others = few_pairs(table, keys, pl.len()).rename({GROUP: OTHER_GROUP})
    paired = joined(groups, others, keys, how="left")
    return paired.filter(pl.col(GROUP) != pl.col(OTHER_GROUP)).drop(OTHER_GROUP)


def sums_of_the_rest(
    table: pl.LazyFrame, keys: Sequence[str], cells: Sequence[str], sums: Sequence[str]
) -> pl.LazyFrame:
    """Return, for every group, the sums of all others under its own name: groups x cells.

    The others of a group are those before it and those after it, in any order. Adding these two
    is exact; subtracting a group from the total would lose digits. A sum that is null in all of
    them stays null.
    """
    within, lines_of = [*keys, *cells], hidden("lines")
    known = {name: hidden("known", name) for name in sums}
    own = aggregated(
        table.with_columns(pl.lit(1, pl.Int64).alias(lines_of)),
        [*within, GROUP],
        {name: pl.col(name).sum() for name in (*sums, lines_of)}
        | {mark: pl.col(name).count().cast(pl.Int64) for name, mark in known.items()},
    )
    own = few_pairs(own, keys, _distinct(cells), "with the rest").cache()
    grid = own.select(*keys, GROUP).unique()
    grid = joined(grid, own.select(within).unique(), keys) if cells else grid
    lines = joined(grid, own, [*within, GROUP], how="left").sort(GROUP)
    value = pl.col(*sums, lines_of, *known.values()).fill_null(0)
    before = value.cum_sum().shift(1, fill_value=0)
    after = value.cum_sum(reverse=True).shift(-1, fill_value=0)
    rest = lines.with_columns(over(before + after, within)).filter(pl.col(lines_of) > 0)
    return rest.select(
        *within, GROUP, *(pl.when(pl.col(m) > 0).then(n).alias(n) for n, m in known.items())
    )


MOST_PAIRS = 50_000_000
"""Lines of pairs of groups up to which they are made: some gigabytes."""

_IN_PAIRS = "in pairs"


def few_pairs(
    lines: pl.LazyFrame,
    keys: Sequence[str],
    each: pl.Expr,
    how: str = _IN_PAIRS,
    most: int = MOST_PAIRS,
) -> pl.LazyFrame:
    """Return the lines, or raise if comparing takes too many: `each` for every group of a slice.

    All slices together are what has to fit into memory.
    """
    pairs, groups = hidden("pairs"), hidden("groups")
    number = pl.col(GROUP).n_unique().cast(pl.Float64)
    per_slice = aggregated(lines, keys, {groups: number, pairs: number * each.cast(pl.Float64)})
    facts = {groups: pl.col(groups).max(), pairs: pl.col(pairs).sum()}
    fewer = "pass a group as `ref=...`, " if how == _IN_PAIRS else ""
    message = (
        pl.lit("the comparison of ")
        + pl.col(groups).cast(pl.Int64).cast(pl.String)
        + pl.lit(f" groups {how} needs ")
        + pl.col(pairs).cast(pl.Int64).cast(pl.String)
        + pl.lit(
            f" lines, and the limit is {most:,}: {fewer}leave out small groups, or use coarser"
            " groups or bins"
        )
    )
    return guarded(lines, [], facts, [Fault(pl.col(pairs) > most, message)], of=per_slice)


def _distinct(cells: Sequence[str]) -> pl.Expr:
    """Return the number of distinct cells."""
    return pl.struct(cells).n_unique() if cells else pl.lit(1)


# --- the lines of two groups, for what a single value cannot express ----------------------------


def pair_sides(
    lines: pl.LazyFrame,
    keys: Sequence[str],
    ref: Any,
    cells: Sequence[str],
    sums: Sequence[str],
    *,
    ordered: bool = False,
    most: int = MOST_PAIRS,
) -> pl.LazyFrame:
    """Return for every pair of groups the sums of both per cell: `SIDE` 0 is its own, 1 the other.

    Without a reference all pairs (`ordered`: in both directions), else every other group with
    the reference, or every group with everyone or with the rest. More than `most` lines are
    refused.
    """
    total = {name: pl.col(name).sum() for name in sums}
    known = lines.filter(pl.col(GROUP).is_not_null()).group_by(*keys, GROUP, *cells).agg(**total)
    each, how = _side_lines(known, ref, cells, ordered=ordered)
    known = few_pairs(known, keys, each, how, most).cache()
    groups = known.select(*keys, GROUP).unique()
    groups = groups.with_columns(over(pl.int_range(pl.len()), keys).alias(PAIR[0])).cache()
    if isinstance(ref, Everyone):
        sides = _with_everyone(known, groups, keys, ref, cells, sums)
    else:
        own = joined(known, groups, [*keys, GROUP])
        other = own.rename({PAIR[0]: PAIR[1]})
        pairs = _pairs(groups, keys, ref, ordered=ordered)
        sides = [joined(pairs, own, [*keys, PAIR[0]]), joined(pairs, other, [*keys, PAIR[1]])]
    kept = [*keys, *PAIR, *cells, *sums]
    return pl.concat(side.select(*kept, pl.lit(i).alias(SIDE)) for i, side in enumerate(sides))


def _side_lines(
    known: pl.LazyFrame, ref: Any, cells: Sequence[str], *, ordered: bool
) -> tuple[pl.Expr, str]:
    """Return the number of lines that every group is compared with, and what they are."""
    if ref is None:
        return pl.len() * (2 if ordered else 1), _IN_PAIRS
    if isinstance(ref, Everyone):
        return _distinct(cells), "with the rest" if ref is REST else "with everyone"
    is_ref = is_group(known.collect_schema()[GROUP], ref).fill_null(value=False)
    return is_ref.sum(), "with a reference"


def _with_everyone(
    known: pl.LazyFrame,
    groups: pl.LazyFrame,
    keys: Sequence[str],
    ref: Everyone,
    cells: Sequence[str],
    sums: Sequence[str],
) -> list[pl.LazyFrame]:
    """Return the sums of every group, and those of everyone or of the rest: groups x cells."""
    if ref is OVERALL:
        total = {name: pl.col(name).sum() for name in sums}
        other = joined(groups, aggregated(known, [*keys, *cells], total), keys)
    else:
        groups = groups.filter(over(pl.len(), keys) > 1)
        rest = sums_of_the_rest(known, keys, cells, sums)
        other = joined(rest, groups, [*keys, GROUP])
    own = joined(known, groups, [*keys, GROUP])
    return [side.with_columns(pl.lit(-1, pl.Int64).alias(PAIR[1])) for side in (own, other)]


def _pairs(groups: pl.LazyFrame, keys: Sequence[str], ref: Any, *, ordered: bool) -> pl.LazyFrame:
    if ref is None:
        others = groups.select(*keys, _OWN.alias(PAIR[1]))
        beside = joined(groups.select(*keys, PAIR[0]), others, keys)
        return beside.filter(_OWN != _OTHER if ordered else _OWN < _OTHER)
    marked = mark_reference(groups, ref, REFERENCE)
    others = marked.filter(REFERENCE).select(*keys, _OWN.alias(PAIR[1]))
    return joined(marked.filter(~pl.col(REFERENCE)).select(*keys, PAIR[0]), others, keys)
