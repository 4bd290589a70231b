"""Where libraries differ, as options; a convention is a setting of these options.

An option that a caller passes wins over the convention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.slices import hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RELEVANT, RETRIEVED, RANKS, CUT = "n_rel", "retrieved", "k", "min(k, n_rel)"

CHOICES: Mapping[str, tuple[Any, ...]] = {
    "precision_by": (RETRIEVED, RANKS, CUT, RELEVANT),
    "recall_by": (RELEVANT, CUT),
    "map_by": (CUT, RELEVANT, RANKS, "hits", "min(n_rel, retrieved)"),
    "ideal_over": (RELEVANT, CUT, RANKS),
    "discount": ("log", "late_log", "reciprocal", "geometric"),
    "gain": ("binary", "linear", "exponential"),
    "average_over": ("relevant", "both", "all"),
    "empty": ("drop", 0, 1, "null"),
}
"""The values of each option, the default of the Jurity convention first."""

_USUAL: Mapping[str, Any] = {
    "precision_by": RANKS,
    "recall_by": RELEVANT,
    "map_by": RELEVANT,
    "ideal_over": CUT,
    "discount": "log",
    "average_over": "relevant",
    "empty": "drop",
}

CONVENTIONS: Mapping[str, Mapping[str, Any]] = {
    "jurity": {**_USUAL, "precision_by": RETRIEVED, "map_by": CUT, "ideal_over": RELEVANT},
    "rectools": {**_USUAL, "ideal_over": RANKS},
    "ranx": {**_USUAL, "empty": 0},
    "trec": {**_USUAL, "average_over": "both", "empty": 0},
    "replay": {**_USUAL, "map_by": CUT},
    "recommenders": {**_USUAL, "map_by": CUT, "average_over": "both"},
    "spark": {**_USUAL, "map_by": CUT, "average_over": "all", "empty": 0},
    "lenskit": {
        **_USUAL,
        "precision_by": RETRIEVED,
        "recall_by": CUT,
        "map_by": "min(n_rel, retrieved)",
        "discount": "late_log",
    },
}
"""Options by convention. The decorator of a metric lists conventions that treat it differently."""


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return an option that takes one of a few values; raise if it is another one."""
    if isinstance(value, list):
        msg = (
            f"these metrics need different values of `{name}`, {value}: evaluate them in separate"
            " calls"
        )
        raise ValueError(msg)
    if isinstance(value, bool) or value not in choices:
        msg = f"`{name}` is one of {', '.join(map(repr, choices))}: got {value!r}"
        raise ValueError(msg)
    return value


def setting(option: str, given: Any, convention: str) -> Any:
    """Return the value of an option: the caller's if given, otherwise the convention's."""
    usual = CONVENTIONS[one_of("convention", convention, list(CONVENTIONS))]
    return usual[option] if given is None else one_of(option, given, CHOICES[option])


def discounting(name: str, p: float) -> Callable[[pl.Expr], pl.Expr]:
    """Return a discount as a function of the rank."""
    if not 0 < p < 1:
        msg = f"`p`, the probability to look at the next rank, is between 0 and 1: got {p!r}"
        raise ValueError(msg)
    return {
        "log": lambda rank: 1 / (rank + 1).log(2),
        "late_log": lambda rank: 1 / rank.log(2).clip(1),
        "reciprocal": lambda rank: 1 / rank,
        "geometric": lambda rank: pl.lit(p).pow(rank - 1),
    }[name]


def discounts(name: str, p: float, last: int) -> list[float]:
    """List the discounts of the ranks from 1 to `last`."""
    rank = pl.int_range(1, last + 1, dtype=pl.Int64).cast(pl.Float64)
    return pl.select(discounting(name, p)(rank)).to_series().to_list()


def with_discount_sum(
    lines: pl.LazyFrame, name: str, ranks: pl.Expr, discount: str, p: float
) -> pl.LazyFrame:
    """Add a column with the sum of the discounts of the first `ranks` ranks, found by a join."""
    rank = hidden("ranks", name)
    lines = lines.with_columns(ranks.fill_null(0).cast(pl.Int64).alias(rank))
    last = pl.col(rank).max().fill_null(0)
    every = lines.select(pl.int_range(1, last + 1, dtype=pl.Int64).alias(rank))
    each = discounting(discount, p)(pl.col(rank).cast(pl.Float64))
    sums = every.with_columns(each.cum_sum().alias(name))
    return lines.join(sums, on=rank, how="left").with_columns(pl.col(name).fill_null(0.0))
