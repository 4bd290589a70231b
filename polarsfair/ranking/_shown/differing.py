"""Hamming distances within lists, from the number of items with each value of each feature.

Two of n items agree in a feature if they have the same value. A value that c items have makes
c (c - 1) ordered pairs agree, of n (n - 1), so that no pair is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import (
    Column,
    as_column,
    check_columns,
    is_number,
    key_of,
    opened_feature,
    schema_of,
)
from polarsfair._engine.slices import hidden, summed
from polarsfair.ranking._shown.recs import Shown, inside, item_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn

_CODE, _KNOWN = hidden("code"), hidden("known")


def members_of(
    items: pl.LazyFrame, features: Sequence[IntoColumn], *, numeric: bool
) -> list[pl.Expr]:
    """Return the features, and the members of those that are arrays; raise if there are none."""
    columns = [as_column(feature, "features") for feature in features]
    check_columns(items, {"features": columns})
    each: list[pl.Expr] = []
    for number, column in enumerate(columns):
        dtype = schema_of(items, {"features": column})["features"]
        opened = opened_feature(column.meta.output_name(), column, dtype)
        inner: Any = dtype.inner if isinstance(dtype, pl.Array) else dtype
        if numeric and not is_number(inner):
            msg = f"`features` holds {features[number]!s}, which is {dtype}: pass numeric columns"
            raise TypeError(msg)
        each += opened.values()
    if not each:
        msg = '`features` is empty: name at least one column of `items`, `features=["x", "y"]`'
        raise ValueError(msg)
    return each


def coded_features(
    found: Shown, items: pl.LazyFrame, item: IntoColumn | None, features: Sequence[pl.Expr]
) -> pl.LazyFrame:
    """Return one line per item, with a whole number for each feature that tells all values apart.

    The numbers of different features differ as well. An item with an unknown feature has none.
    """
    named = {hidden("feature", j): feature for j, feature in enumerate(features)}
    frame = item_frame(found.rows, items, item, named, "features")
    dtypes = schema_of(frame, {name: pl.col(name) for name in named})
    plain = {n: key_of(Column("features", pl.col(n), dtype)) for n, dtype in dtypes.items()}
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in named)
    # A column, because every code reads it, and features may be hundreds.
    frame = frame.with_columns(**plain).with_columns(known.alias(_KNOWN))
    codes = {
        hidden("code", j): pl.col(name).rank("dense").cast(pl.Int64) * len(features) + j
        for j, name in enumerate(named)
    }
    coded = {name: pl.when(_KNOWN).then(code) for name, code in codes.items()}
    return frame.with_columns(**coded).drop(list(named))


def differences_in_lists(
    found: Shown, catalogue: pl.LazyFrame, width: int, ks: Sequence[int | None]
) -> pl.LazyFrame:
    """Return a line per list with its mean Hamming distance within every k."""
    codes = [hidden("code", j) for j in range(width)]
    rows = found.rows.frame.join(catalogue.select("item", *codes), on="item", how="left")
    counts = {
        hidden("count", i): (pl.col(codes[0]).is_not_null() & inside(k)).cast(pl.Int64)
        for i, k in enumerate(ks)
    }
    rows = rows.select(*found.list_keys, *found.faults, *codes, **counts)
    index = [*found.list_keys, *found.faults, *counts]
    each = rows.unpivot(codes, index=index, value_name=_CODE)
    values = summed(each, [*found.list_keys, _CODE], [*counts, *found.faults])
    agreeing = {}
    for i, name in enumerate(counts):
        count = pl.col(name).cast(pl.Float64)
        agreeing[hidden("agreeing", i)] = count * (count - 1)
    names = [*counts, *agreeing, *found.faults]
    lists = summed(values.with_columns(**agreeing), found.list_keys, names)
    shares = {hidden("value", i): _mean_distance(i, width) for i in range(len(ks))}
    return lists.select(*found.keys, *found.faults, **shares)


def _mean_distance(number: int, width: int) -> pl.Expr:
    """Return the mean distance over all pairs of one list, null if it has no pair."""
    items = pl.col(hidden("count", number)).cast(pl.Float64) / width
    agreeing = pl.col(hidden("agreeing", number)) / (width * items * (items - 1))
    return pl.when(items > 1).then((1 - agreeing).clip(0.0, 1.0))
