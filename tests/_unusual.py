"""Columns of every dtype, and the plain columns that they must be worth the same as."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl

DAY = dt.date(2020, 1, 1)
NOON = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
INTEGERS = [
    pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128,
    pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.UInt128,
]  # fmt: skip

Value = int | float | None
Made = Callable[[list[Value]], pl.Series]


def _of(dtype: Any, make: Callable[[Any], object]) -> Made:
    """Return a maker of columns: `make` turns every value that is not null."""

    def made(values: list[Value]) -> pl.Series:
        return pl.Series("", [None if v is None else make(v) for v in values], dtype=dtype)

    return made


def _whole(value: float) -> int:
    """Return a whole number in the order of the values, which have two binary places."""
    return int(value) if isinstance(value, int) else int(value * 4)


def _beyond(dtype: Any, start: int) -> Made:
    return _of(dtype, lambda value: start + _whole(value))


def _text(value: float) -> str:
    return f"{value:g}"


WORDS = ["0", "0.25", "0.5", "0.75", *map(str, range(1, 10))]
NUMBERS: dict[str, Made] = {
    **{str(dtype): _of(dtype, _whole) for dtype in INTEGERS},
    "Decimal(38, 0)": _of(pl.Decimal(38, 0), lambda v: Decimal(_whole(v))),
    "Decimal(10, 2)": _of(pl.Decimal(10, 2), lambda v: Decimal(str(v))),
    "Float32": _of(pl.Float32, float),
    "Float64": _of(pl.Float64, float),
}
"""Dtypes that every role of numbers and every key must take."""

OTHERS: dict[str, Made] = {
    "Float64 of NaN": lambda values: pl.Series(
        "", [float("nan") if v is None else float(v) for v in values], dtype=pl.Float64
    ),
    "Boolean": _of(pl.Boolean, bool),
    "UInt64 of 2**63": _beyond(pl.UInt64, 2**63),
    "Int128 of 2**100": _beyond(pl.Int128, 2**100),
    "Int64 of 2**53": _beyond(pl.Int64, 2**53),
    "Decimal of 2**100": _of(pl.Decimal(38, 0), lambda v: Decimal(2**100 + _whole(v))),
    "String": _of(pl.String, _text),
    "Categorical": _of(pl.Categorical, _text),
    "Enum": _of(pl.Enum(WORDS), _text),
    "Date": _of(pl.Date, lambda v: DAY + dt.timedelta(days=_whole(v))),
    "Datetime": _of(
        pl.Datetime("us", "Europe/Berlin"), lambda v: NOON + dt.timedelta(hours=_whole(v))
    ),
    "Duration": _of(pl.Duration("ms"), lambda v: dt.timedelta(seconds=_whole(v))),
    "Time": _of(pl.Time, lambda v: dt.time(_whole(v))),
    "Binary": _of(pl.Binary, lambda v: _text(v).encode()),
    "Null": _of(pl.Null, lambda _: None),
    "List": _of(pl.List(pl.Int64), lambda v: [_whole(v)]),
    "Array": _of(pl.Array(pl.Int64, 1), lambda v: [_whole(v)]),
    "Struct": _of(pl.Struct({"a": pl.Int64}), lambda v: {"a": _whole(v)}),
    "Object": _of(pl.Object, lambda v: (v,)),
}
DTYPES = NUMBERS | OTHERS


TEXTS = ("String", "Categorical", "Enum")
KEYS = {"g", "d", "c", "t", "user", "item", "maker"}
"""Columns that are compared for equality and nothing else, except for their order."""

SHIFTS = {name: 0 if name in NUMBERS else 1000 * place for place, name in enumerate(DTYPES)}
"""What keeps keys apart that are not equal, though they stand for the same values."""
SHIFTS |= {"Boolean": 0, "Float64 of NaN": 0, **dict.fromkeys(TEXTS, 0)}
SHIFTS["Decimal of 2**100"] = SHIFTS["Int128 of 2**100"]


def plain(name: str, values: list[Value], dtype: str) -> list[pl.Series]:
    """Return the plain columns that a column must be worth the same as, one of them.

    A key is worth an integer or a text in the same order. A number is worth a float; a date the
    number of it; text is never a number.
    """
    column = DTYPES[dtype](values)
    if column.dtype == pl.Null:
        return [column.cast(pl.Int64), column.cast(pl.Float64), column.cast(pl.String)]
    if dtype == "Boolean":
        values = [None if value is None else int(bool(value)) for value in values]
    if name in KEYS:
        return _plain_keys(values, dtype)
    if column.dtype.is_numeric() or dtype == "Boolean":
        # Numbers beyond 2**53 may be compared as they are, or as floats.
        order = [_of(pl.Int64, _whole)(values)] if " of 2**" in dtype else []
        return [column.cast(pl.Float64).fill_nan(None), *order]
    if column.dtype.is_temporal():
        return [column.to_physical().cast(pl.Float64)]
    # A feature may be an array, which is its members; in other roles it is refused, as text is.
    members = [column.arr.get(0).cast(pl.Float64)] if dtype == "Array" else []
    return [_of(pl.String, _text)(values), *members]


def _plain_keys(values: list[Value], dtype: str) -> list[pl.Series]:
    text = _of(pl.String, lambda v: f"{v + SHIFTS[dtype]:06}")(values)
    whole = _of(pl.Int64, lambda v: v + SHIFTS[dtype])(values)
    return [_of(pl.String, _text)(values)] if dtype in TEXTS else [whole, text]
