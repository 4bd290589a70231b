"""Chance without a generator: every row draws by a hash of its own key.

The draw of a row depends on its key and the seed alone, not on order, file or engine, so that a
lake is transformed lazily, in parallel, and the same way twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

SIDES = 2**32
"""How many outcomes a draw has: a chance is kept as a whole number of them."""

# The rounds of SplitMix64, each a permutation of all words. Its last shift is left out: it would
# change one of the upper bits, which are the only ones that are used.
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = 2**64


def draws(rows: pl.LazyFrame, key: object, seed: int) -> pl.Expr:
    """Give every row a whole number from 0 to `SIDES` - 1 that follows from its key."""
    parts = list(key) if isinstance(key, (list, tuple)) else [key]
    if not parts:
        msg = '`key` is empty: name the column that tells rows apart, such as `key="id"`'
        raise ValueError(msg)
    if not isinstance(seed, int):
        msg = f"`seed` is a whole number, got {seed!r}"
        raise TypeError(msg)
    columns = {f"|k{i}": as_column(part, "key") for i, part in enumerate(parts)}
    check_columns(rows, {"key": columns.values()})
    state = _word((seed + 1) * _STEP)
    for name, dtype in schema_of(rows, columns).items():
        state = _mixed(_as_word(columns[name], dtype) ^ state)
    return state // _word(_WORD // SIDES)


def _word(value: int) -> pl.Expr:
    return pl.lit(value % _WORD, dtype=pl.UInt64)


def _as_word(column: pl.Expr, dtype: Any) -> pl.Expr:
    """Give a key as 64 bits: whole numbers and times as they are, anything else hashed."""
    if dtype.is_temporal():
        column, dtype = column.to_physical(), pl.Int64()
    if dtype.is_integer() or dtype == pl.Boolean:
        word = column.cast(pl.UInt64, wrap_numerical=True)
    else:
        text = dtype in (pl.Categorical, pl.Enum)
        word = (column.cast(pl.String) if text else column).hash(seed=0)
    return word.fill_null(0)


def _mixed(word: pl.Expr) -> pl.Expr:
    word = word + _word(_STEP)
    word = (word ^ word // _word(2**30)) * _word(_FIRST)
    return (word ^ word // _word(2**27)) * _word(_SECOND)


def sides(chances: Sequence[float] | pl.Series) -> pl.Series:
    """Give chances as whole numbers of sides; 0 and 1 stay never and always."""
    exact = pl.Series(chances, dtype=pl.Float64) * SIDES
    return exact.round().clip(0, SIDES).cast(pl.UInt64)
