"""What libraries disagree on, as options; a convention is a setting of them.

Every option can be given by itself and wins over the convention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

RELEVANT, RETRIEVED, PLACES, CUT = "n_rel", "retrieved", "k", "min(k, n_rel)"

CHOICES: Mapping[str, tuple[Any, ...]] = {
    "precision_by": (RETRIEVED, PLACES, CUT, RELEVANT),
    "recall_by": (RELEVANT, CUT),
    "map_by": (CUT, RELEVANT, PLACES, "hits", "min(n_rel, retrieved)"),
    "ideal_over": (RELEVANT, CUT, PLACES),
    "discount": ("log", "late_log", "reciprocal", "geometric"),
    "gain": ("binary", "linear", "exponential"),
    "average_over": ("relevant", "both", "all"),
    "empty": ("drop", 0, 1, "null"),
}
"""The values of each option, the default of the Jurity convention first."""

_USUAL: Mapping[str, Any] = {
    "precision_by": PLACES,
    "recall_by": RELEVANT,
    "map_by": RELEVANT,
    "ideal_over": CUT,
    "discount": "log",
    "average_over": "relevant",
    "empty": "drop",
}

CONVENTIONS: Mapping[str, Mapping[str, Any]] = {
    "jurity": {
        **_USUAL,
        "precision_by": RETRIEVED,
        "map_by": CUT,
        "ideal_over": RELEVANT,
        "average_over": {"precision": "both", "map": "both"},
    },
    "rectools": {**_USUAL, "ideal_over": PLACES},
    "ranx": {**_USUAL, "empty": 0},
    "trec": {**_USUAL, "average_over": "both", "empty": 0},
    "replay": {**_USUAL, "map_by": CUT},
    "recommenders": {**_USUAL, "map_by": CUT, "average_over": {"ndcg": "relevant", "": "both"}},
    "spark": {**_USUAL, "map_by": CUT, "average_over": "all", "empty": 0},
    "lenskit": {
        **_USUAL,
        "precision_by": RETRIEVED,
        "recall_by": CUT,
        "map_by": "min(n_rel, retrieved)",
        "discount": "late_log",
        "average_over": {"precision": "both", "map": "both"},
    },
}
"""Options by convention; where metrics differ in one, by metric, with "" for all others."""


def setting(option: str, given: Any, convention: str, metric: str = "") -> Any:
    """Give an option's value: the caller's, else that of the convention."""
    if convention not in CONVENTIONS:
        msg = f"`convention` is one of {', '.join(map(repr, CONVENTIONS))}: got {convention!r}"
        raise ValueError(msg)
    if given is None:
        usual = CONVENTIONS[convention][option]
        if isinstance(usual, Mapping):
            return usual.get(metric, usual.get("", CHOICES[option][0]))
        return usual
    if isinstance(given, bool) or given not in CHOICES[option]:
        msg = f"`{option}` is one of {', '.join(map(repr, CHOICES[option]))}: got {given!r}"
        raise ValueError(msg)
    return given


def discounting(name: str, p: float) -> Callable[[pl.Expr], pl.Expr]:
    """Give a discount as a function of the rank."""
    if not 0 < p < 1:
        msg = f"`p`, the chance to look at the next place, lies between 0 and 1: got {p!r}"
        raise ValueError(msg)
    return {
        "log": lambda rank: 1 / (rank + 1).log(2),
        "late_log": lambda rank: 1 / rank.log(2).clip(1),
        "reciprocal": lambda rank: 1 / rank,
        "geometric": lambda rank: pl.lit(p).pow(rank - 1),
    }[name]


def discounts(name: str, p: float, last: int) -> list[float]:
    """List the discounts of the places from 1 to `last`."""
    rank = pl.int_range(1, last + 1, dtype=pl.Int64).cast(pl.Float64)
    return pl.select(discounting(name, p)(rank)).to_series().to_list()


def with_discount_sum(
    lines: pl.LazyFrame, name: str, places: pl.Expr, discount: str, p: float
) -> pl.LazyFrame:
    """Add a column: the discounts of the first `places` places together, looked up by a join."""
    key = f"{name}|places"
    lines = lines.with_columns(places.fill_null(0).cast(pl.Int64).alias(key))
    last = pl.col(key).max().fill_null(0)
    ranks = lines.select(pl.int_range(1, last + 1, dtype=pl.Int64).alias(key))
    each = discounting(discount, p)(pl.col(key).cast(pl.Float64))
    sums = ranks.with_columns(each.cum_sum().alias(name))
    return lines.join(sums, on=key, how="left").with_columns(pl.col(name).fill_null(0.0))
