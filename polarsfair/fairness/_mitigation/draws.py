"""Random draws without a generator: a row's draw is a hash of its key.

The draw of a row depends only on its key and the seed, not on order, file or engine. A lake can
therefore be transformed lazily and in parallel, and a second run returns the same decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, is_text, schema_of
from polarsfair._engine.slices import hidden

if TYPE_CHECKING:
    from collections.abc import Sequence

SIDES = 2**32
"""The number of outcomes of a draw: a probability is stored as a whole number of them."""

# The rounds of SplitMix64, each a permutation of all words. Its last shift is omitted: only the
# upper half of the bits is used, and the shift changes only one of these.
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = 2**64


def draws(rows: pl.LazyFrame, key: object, seed: int) -> pl.Expr:
    """Return a whole number from 0 to `SIDES` - 1 for every row, computed from its key."""
    parts = list(key) if isinstance(key, (list, tuple)) else [key]
    if not parts:
        msg = '`key` is empty: name the column that identifies a row, such as `key="id"`'
        raise ValueError(msg)
    if not isinstance(seed, int):
        msg = f"`seed` is a whole number, got {seed!r}"
        raise TypeError(msg)
    columns = {hidden("key", i): as_column(part, "key") for i, part in enumerate(parts)}
    check_columns(rows, {"key": columns.values()})
    state = _word((seed + 1) * _STEP)
    for name, dtype in schema_of(rows, columns).items():
        state = _mixed(_as_word(columns[name], dtype) ^ state)
    return state // _word(_WORD // SIDES)


def _word(value: int) -> pl.Expr:
    return pl.lit(value % _WORD, dtype=pl.UInt64)


def _as_word(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a key as 64 bits: whole numbers and times unchanged, anything else hashed."""
    if dtype == pl.Object:
        msg = "`key` is Object, whose hash differs between runs: pass a column of numbers or text"
        raise TypeError(msg)
    if dtype.is_temporal():
        column, dtype = column.to_physical(), pl.Int64()
    if dtype.is_integer() or dtype == pl.Boolean:
        word = column.cast(pl.UInt64, wrap_numerical=True)
    else:
        word = (column.cast(pl.String) if is_text(dtype) else column).hash(seed=0)
    return word.fill_null(0)


def _mixed(word: pl.Expr) -> pl.Expr:
    word = word + _word(_STEP)
    word = (word ^ word // _word(2**30)) * _word(_FIRST)
    return (word ^ word // _word(2**27)) * _word(_SECOND)


def sides(probabilities: Sequence[float] | pl.Series) -> pl.Series:
    """Return probabilities as whole numbers of outcomes; 0 stays never, and 1 always."""
    exact = pl.Series(probabilities, dtype=pl.Float64) * SIDES
    return exact.round().clip(0, SIDES).cast(pl.UInt64)
