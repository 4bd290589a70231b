"""What is known of a list, by the names that formulas use, from either kind of table.

`Masks` reads the places of hits off a table of lists, `Numbers` the sums of a table of gains. Both
say the same of the first k places, so every metric is one formula.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import polars as pl

from polarsfair.ranking._lists.conventions import discounts, with_discount_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WORD = 64
K, N_REL, N_REC = pl.col("k|"), pl.col("n_rel"), pl.col("n_rec")


class Evidence(Protocol):
    """What formulas may ask of a list that is cut at k."""

    @property
    def ideals(self) -> Ideals:
        """The columns that the answers rest on."""
        ...

    def hits(self) -> pl.Expr:
        """Give the number of hits."""
        ...

    def top(self) -> pl.Expr:
        """Give the number of hits among the first n_rel places."""
        ...

    def first(self) -> pl.Expr:
        """Give the reciprocal of the first hit's rank, 0 without one."""
        ...

    def precisions(self) -> pl.Expr:
        """Add up the precision at the rank of every hit."""
        ...

    def stops(self) -> pl.Expr:
        """Give the expected reciprocal rank at which a reader stops."""
        ...

    def discounted(self, discount: str, p: float) -> pl.Expr:
        """Add up the discounts of the hits."""
        ...

    def persistence(self, p: float) -> pl.Expr:
        """Add up the chances that a reader gets to each hit, who goes on with chance `p`."""
        ...

    def ideal(self, places: pl.Expr, discount: str, p: float, *, cut: bool) -> pl.Expr:
        """Give what `discounted` is at best, with `places` hits on top."""
        ...


@dataclass(frozen=True)
class Ideals:
    """Sums of discounts that the values rest on: looked up, so they have to be there before."""

    wanted: dict[str, tuple[pl.Expr, str, float]] = field(default_factory=dict)

    def __call__(self, places: pl.Expr, discount: str, p: float) -> pl.Expr:
        """Give the discounts of the first `places` places together, as a column to be added."""
        name = f"ideal|{discount}|{p}|{places}"
        self.wanted[name] = (places, discount, p)
        return pl.col(name)

    def added_to(self, lines: pl.LazyFrame) -> pl.LazyFrame:
        """Add the columns that were asked for."""
        for name, sum_of in self.wanted.items():
            lines = with_discount_sum(lines, name, *sum_of)
        return lines


@dataclass(frozen=True)
class Masks:
    """Hits as bits; `names` are the mask columns, cut at k, and `last` the last place asked for."""

    names: Sequence[str]
    last: int
    ideals: Ideals = field(default_factory=Ideals)

    def _over_places(self, value: Callable[[int, pl.Expr], pl.Expr | float]) -> pl.Expr:
        """Add up `value(rank, hits so far)` over the ranks that hold a hit."""
        terms, before = [], pl.lit(0, dtype=pl.Int64)
        for number, name in enumerate(self.names):
            word = pl.col(name)
            for bit in range(min(WORD, self.last - number * WORD)):
                here = word & pl.lit(1 << bit, dtype=pl.UInt64)
                so_far = word & pl.lit((2 << bit) - 1, dtype=pl.UInt64)
                counted = before + so_far.bitwise_count_ones().cast(pl.Int64)
                found = value(number * WORD + bit + 1, counted)
                terms.append(pl.when(here != 0).then(found).otherwise(0.0))
            before = before + word.bitwise_count_ones().cast(pl.Int64)
        return pl.sum_horizontal(terms)

    def hits(self) -> pl.Expr:
        """Give the number of hits."""
        return pl.sum_horizontal(
            pl.col(name).bitwise_count_ones().cast(pl.Int64) for name in self.names
        )

    def top(self) -> pl.Expr:
        """Give the number of hits among the first n_rel places."""
        return self._over_places(lambda rank, _: pl.when(rank <= N_REL).then(1.0).otherwise(0.0))

    def first(self) -> pl.Expr:
        """Give the reciprocal of the first hit's rank, 0 without one."""
        ranks = (
            pl.when(pl.col(name) != 0).then(
                pl.col(name).bitwise_trailing_zeros().cast(pl.Int64) + (1 + number * WORD)
            )
            for number, name in enumerate(self.names)
        )
        return (1 / pl.coalesce(*ranks)).fill_null(0.0)

    def precisions(self) -> pl.Expr:
        """Add up the precision at the rank of every hit."""
        return self._over_places(lambda rank, so_far: so_far / rank)

    def stops(self) -> pl.Expr:
        """Give the expected reciprocal rank of a reader who stops at every second hit."""
        return self._over_places(lambda rank, so_far: pl.lit(0.5).pow(so_far) / rank)

    def discounted(self, discount: str, p: float) -> pl.Expr:
        """Add up the discounts of the hits."""
        each = discounts(discount, p, self.last)
        return self._over_places(lambda rank, _: pl.lit(each[rank - 1]))

    def persistence(self, p: float) -> pl.Expr:
        """Add up the chances that a reader gets to each hit."""
        return self.discounted("geometric", p)

    def ideal(self, places: pl.Expr, discount: str, p: float, *, cut: bool) -> pl.Expr:
        """Give what `discounted` is at best, with `places` hits on top."""
        del cut
        return self.ideals(places, discount, p)


@dataclass(frozen=True)
class Numbers:
    """Hits as sums that were made per user and k."""

    graded: bool
    ideals: Ideals = field(default_factory=Ideals)

    def hits(self) -> pl.Expr:
        """Give the (expected) number of hits."""
        return pl.col("hits")

    def top(self) -> pl.Expr:
        """Give the (expected) number of hits among the first n_rel places."""
        return pl.col("top")

    def first(self) -> pl.Expr:
        """Give the reciprocal of the first hit's rank, 0 without one."""
        return pl.col("first")

    def precisions(self) -> pl.Expr:
        """Add up the precision at the rank of every hit."""
        return pl.col("precisions")

    def stops(self) -> pl.Expr:
        """Give the expected reciprocal rank at which a reader stops."""
        return pl.col("stops")

    def discounted(self, discount: str, p: float) -> pl.Expr:
        """Add up the discounted gains: the table holds those of one discount at a time."""
        del discount, p
        return pl.col("gain")

    def persistence(self, p: float) -> pl.Expr:
        """Add up the chances that a reader gets to each hit."""
        del p
        return pl.col("persistence")

    def ideal(self, places: pl.Expr, discount: str, p: float, *, cut: bool) -> pl.Expr:
        """Give what `discounted` is at best: the highest gains on top."""
        if self.graded:
            return pl.col("ideal" if cut else "ideal_all")
        return self.ideals(places, discount, p)
