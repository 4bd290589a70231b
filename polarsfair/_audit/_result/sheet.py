"""The wide lines as arrays: whose line each is, and the references of groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polarsfair._audit._evidence.counted import attribute
from polarsfair._audit._evidence.precision import numbers_of
from polarsfair._audit._evidence.units import LINE, OTHERS, shared_of
from polarsfair._audit._evidence.wide import ROWS, TEXT
from polarsfair._audit.attributes import KNOWN, SET
from polarsfair._engine.reference import Everyone, equals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from polarsfair._audit._evidence.precision import Precision
    from polarsfair._audit._evidence.question import Question
    from polarsfair._audit.limits import Floats

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

MOST = 4_000_000
"""Pairs of groups that are compared at a time: some hundred megabytes."""


@dataclass(frozen=True)
class Sheet:
    """Wide lines, sorted by slice, key, attribute set and group.

    A *section* is one slice and key; a *block* is one attribute set of a section.
    """

    lines: pl.DataFrame
    keys: Sequence[str]
    question: Question

    @cached_property
    def section(self) -> Ints:
        """The number of every line's slice and key."""
        if not self.keys:
            return np.zeros(self.lines.height, dtype=np.int64)
        return self.lines.select(pl.struct(self.keys).rle_id())[:, 0].to_numpy().astype(np.int64)

    @cached_property
    def first(self) -> Ints:
        """The first line of every section."""
        return np.flatnonzero(np.diff(self.section, prepend=-1)).astype(np.int64)

    @cached_property
    def set(self) -> Ints:
        """The number of every line's attribute set."""
        return self.lines[SET].to_numpy().astype(np.int64)

    @cached_property
    def block(self) -> Ints:
        """The number of every line's block."""
        return self.section * len(self.question.sets) + self.set

    @property
    def blocks(self) -> int:
        """How many blocks there are, those of everyone included."""
        return len(self.first) * len(self.question.sets)

    @cached_property
    def is_group(self) -> Flags:
        """Whether a line is a known group, and not everyone."""
        return self.lines[KNOWN].to_numpy().astype(bool) & (self.set > 0)

    @cached_property
    def numbers(self) -> dict[str, Floats]:
        """The columns of numbers, NaN where they are null."""
        return numbers_of(self.lines)

    @cached_property
    def rows(self) -> Floats:
        """The number of rows of every line."""
        return np.nan_to_num(self.numbers[ROWS])

    @cached_property
    def share(self) -> Floats:
        """The share of every group among the rows of known group."""
        known = np.where(self.is_group, self.rows, 0.0)
        total = np.bincount(self.block, known, minlength=self.blocks)[self.block]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.is_group, self.rows / total, 1.0)

    def is_small(self, n: Floats) -> Flags:
        """Return whether lines have fewer than `n` or a smaller share than asked for."""
        return (n < self.question.min_n) | (self.share < self.question.min_share)

    def text(self, at: Ints) -> pl.Series:
        """Return the groups of some lines as text; null at -1."""
        places = pl.Series(at).replace(-1, None)
        return self.lines[TEXT].gather(places)

    # --- units ---------------------------------------------------------------------------------

    def correlation(self, of: Precision, own: Ints, other: Ints) -> Floats:
        """Return how much the values of two lines vary together, because they share units."""
        nothing = np.zeros(np.broadcast_shapes(own.shape, other.shape))
        name, many = shared_of(of.name), self.lines.height
        if name not in self.lines.columns or not many:
            return nothing
        pairs = self.lines.select(LINE, OTHERS, name).drop_nulls(OTHERS).explode(OTHERS, name)
        # Everyone of no rows is a line that no unit has, and has no number.
        numbers, place = self.lines[LINE], np.zeros(many, dtype=np.int64)
        place[numbers.drop_nulls().cast(pl.Int64).to_numpy()] = numbers.is_not_null().arg_true()
        if not pairs.height:
            return nothing
        key = place[pairs[LINE].to_numpy()] * many + place[pairs[OTHERS].to_numpy()]
        order, wanted = np.argsort(key), own * many + other
        at = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        shared = np.where(key[order][at] == wanted, pairs[name].to_numpy()[order][at], 0.0)
        # Without the factor of units less one, which cancels.
        spread = of.value * (1 - of.value) / of.size * (of.n - 1) / of.n
        with np.errstate(invalid="ignore", divide="ignore"):
            found = shared / np.sqrt(spread[own] * spread[other])
        return np.where(np.isfinite(found), np.clip(found, -1.0, 1.0), 0.0)

    # --- references -----------------------------------------------------------------------------

    @cached_property
    def largest(self) -> Ints:
        """The line of the largest group of every block, -1 if all are small."""
        return self.highest(self.rows, self.is_group & ~self.is_small(self.rows))

    def highest(self, value: Floats, among: Flags) -> Ints:
        """Return the first line of the highest value in every block, -1 if there is none."""
        found = np.full(self.blocks, -1, dtype=np.int64)
        at = np.flatnonzero(among)
        order = at[np.lexsort((at, -value[at], self.block[at]))]
        found[self.block[order[::-1]]] = order[::-1]
        return found

    @cached_property
    def named(self) -> Ints:
        """The line of the reference whose attributes the caller has named, -1 if it is absent."""
        found = np.full(self.blocks, -1, dtype=np.int64)
        sections = len(self.first)
        codes, wanted = {}, {}
        for i in range(len(self.question.attributes)):
            codes[i] = self._codes(attribute(i))
            wanted[i] = self._wanted(i, codes[i], sections)
        for number, members in enumerate(self.question.sets):
            if not members:
                continue
            here = self.is_group & (self.set == number)
            for i in members:
                here &= codes[i] == wanted[i][self.section]
            at = np.flatnonzero(here)
            found[self.block[at]] = at
        return found

    def _codes(self, name: str) -> Ints:
        """Number the values of an attribute; -1 is null."""
        column = self.lines[name]
        codes = column.to_physical() if column.dtype == pl.Categorical else column
        return codes.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()

    def _wanted(self, number: int, codes: Ints, sections: int) -> Ints:
        """Return the number of the reference's value of an attribute, per section."""
        wanted = np.full(sections, -2, dtype=np.int64)
        if number in self.question.explicit:
            name, value = attribute(number), self.question.explicit[number]
            is_value = equals(pl.col(name), self.lines.schema[name], value)
            at = np.flatnonzero(self.lines.select(is_value.fill_null(value=False))[:, 0].to_numpy())
            wanted[:] = codes[at[0]] if len(at) else -2
            return wanted
        single = self.question.sets.index((number,))
        largest = self.largest.reshape(sections, -1)[:, single]
        wanted[largest >= 0] = codes[largest[largest >= 0]]
        return wanted

    def reference(self, best: Floats, usable: Flags) -> Ints:
        """Return the line of the reference in every block; `best` are the values to choose by."""
        ref = self.question.ref
        if isinstance(ref, Everyone):
            return np.full(self.blocks, -1, dtype=np.int64)
        if self.question.explicit:
            return self.named
        return self.largest if ref.value == "largest" else self.highest(best, usable)

    # --- groups of one block, side by side --------------------------------------------------------

    def side_by_side(self, usable: Flags) -> Iterator[tuple[Ints, Ints]]:
        """Yield blocks with equally many usable groups, and their lines: a row per block."""
        at = np.flatnonzero(usable)
        blocks, starts, counts = np.unique(self.block[at], return_index=True, return_counts=True)
        for many in np.unique(counts):
            own = np.flatnonzero(counts == many)
            step = max(1, MOST // int(many * many))
            for start in range(0, len(own), step):
                some = own[start : start + step]
                yield blocks[some], at[starts[some, None] + np.arange(many)[None, :]]


def named_members(question: Question) -> list[Any]:
    """Return the names of the attribute sets, as the column ``attribute`` has them."""
    return [" & ".join(one) or None for one in question.named]
