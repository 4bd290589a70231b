"""Stored tables: which ones can be stacked, what their sums must be, and how they merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import SchemaError

from polarsfair._engine.columns import TEXT, exactly, is_whole
from polarsfair._engine.faults import Fault, infinite_fault, raise_faults
from polarsfair._engine.slices import aggregated, hidden, hidden_slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._engine.tally import Tally
    from polarsfair._typing import Sums

_TABLE = hidden("table")
"""Numbers the tables of a call, so that an error can name them."""

_LIMIT = float(2**63 - 2**10)
"""Sums beyond this, as floats, may have passed 64 bits."""

_WEIGHTS = ("w", "w2")
"""Sums that are null in a line without weights."""

_NULLS = ("group", "k")
"""Cells in which null is a value, the unknown group or the whole list: such lines have all sums."""


def stack(tables: Sequence[pl.LazyFrame], tally: Tally, by: Sequence[pl.Expr] = ()) -> pl.LazyFrame:
    """Stack tables of one tally into one frame, numbered, after checking that they fit."""
    if not tables:
        msg = "`measure` needs at least one table"
        raise ValueError(msg)
    schemas = [table.collect_schema() for table in tables]
    _check_columns(schemas, tally, [name for column in by for name in column.meta.root_names()])
    texts = _mixed_texts(schemas)
    numbered = [
        _with_plain_sums(table, schema, tally).with_columns(
            pl.lit(number).alias(_TABLE),
            *(exactly(name).cast(_as_strings(schema[name])) for name in texts if name in schema),
        )
        for number, (table, schema) in enumerate(zip(tables, schemas, strict=True), start=1)
    ]
    if len(numbered) == 1:
        return numbered[0]
    stacked = pl.concat(numbered, how="diagonal_relaxed")
    try:
        stacked.collect_schema()
    except SchemaError as error:
        reason = str(error).partition("\n")[0]
        msg = (
            f"these tables have columns of different dtypes; cast them to the same dtypes: {reason}"
        )
        raise SchemaError(msg) from None
    return stacked


def _mixed_texts(schemas: Sequence[pl.Schema]) -> list[str]:
    """List the columns that hold text in different ways: two Enums have no dtype in common."""
    dtypes: dict[str, pl.DataType] = {}
    mixed = []
    for schema in schemas:
        for name, dtype in schema.items():
            if dtypes.setdefault(name, dtype) != dtype and _as_strings(dtype) != dtype:
                mixed.append(name)
    return list(dict.fromkeys(mixed))


def _as_strings(dtype: Any) -> Any:
    """Return a dtype with every kind of text, also within an intersection, as strings."""
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _as_strings(field.dtype) for field in dtype.fields})
    return pl.String() if dtype in TEXT else dtype


def _check_columns(schemas: Sequence[pl.Schema], tally: Tally, slices: Sequence[str]) -> None:
    """Raise if tables were counted from other columns, or if their keys are of other kinds."""
    names = list(dict.fromkeys(name for schema in schemas for name in schema))
    sums = tally.sums_of(names)
    first: dict[str, tuple[int, pl.DataType]] = {}
    for number, schema in enumerate(schemas, start=1):
        counted = [n for n in sums if n not in tally.defaults]
        missing = [n for n in (*counted, *slices) if n in names and n not in schema]
        if missing:
            msg = (
                f"table {number} of {len(schemas)} has no column {', '.join(map(repr, missing))},"
                " which other tables have: count all tables with the same roles and slices, or"
                " measure each table separately"
            )
            raise SchemaError(msg)
        for name, dtype in schema.items():
            before, other = first.setdefault(name, (number, dtype))
            if kind_of(other) is None:
                first[name] = (number, dtype)
            elif kind_of(dtype) not in (None, kind_of(other)) and name not in sums:
                msg = (
                    f"{name!r} is {other} in table {before} and {dtype} in table {number}: cast"
                    " them to the same dtype, or measure each table separately"
                )
                raise SchemaError(msg)


def kind_of(dtype: Any) -> object:
    """Return what dtypes of equal values have in common; None, of a null column, fits all."""
    if dtype == pl.Null:
        return None
    if isinstance(dtype, pl.Struct):
        return {field.name: kind_of(field.dtype) for field in dtype.fields}
    if dtype in TEXT:
        return "text"
    if dtype.is_integer():
        return "integer"
    if dtype.is_float():
        return "float"
    zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    return str(dtype.base_type()), zone


def _with_plain_sums(table: pl.LazyFrame, schema: pl.Schema, tally: Tally) -> pl.LazyFrame:
    """Bring sums to Int64 or Float64: other integers wrap, and decimals divide in their own way."""
    plain = {}
    for name in tally.sums_of(schema.names()):
        dtype = schema.get(name)
        if dtype is None or dtype == pl.Null:
            continue
        if not dtype.is_numeric():
            msg = f"{name!r} of a table of `{tally.name}` is a number; here it is {dtype}"
            raise TypeError(msg)
        plain[name] = _plain(pl.col(name), dtype, count=name == tally.size)
    return table.with_columns(**plain) if plain else table


def _plain(column: pl.Expr, dtype: pl.DataType, *, count: bool) -> pl.Expr:
    value = column.cast(pl.Float64)
    if not is_whole(dtype):
        whole = pl.when(value == value.floor()).then(value).cast(pl.Int64, strict=False)
        return whole if count else value
    # What is beyond 64 bits becomes null, which is not a count.
    whole = column.cast(pl.Int64, strict=False)
    if count:
        return whole
    # Null weights are no weights, so those that do not fit stay too large, or negative.
    return pl.coalesce(whole, pl.when(value > 0).then(2**63 - 1).when(value < 0).then(-(2**63)))


def merge(
    table: pl.LazyFrame, tally: Tally, by: Sequence[pl.Expr], columns: Sequence[str]
) -> pl.LazyFrame:
    """Merge the lines of one cell, within the slices that are kept."""
    cells = [cell for cell in tally.cells if cell in columns]
    sums = {name: sum_ for name, sum_ in tally.sums_of(columns).items() if name in columns}
    lines = raise_faults(table, _line_faults(table, tally, list(sums), cells), list(sums))
    # Hidden, because Polars takes a name such as "^x$" for a pattern.
    shown = [column.meta.output_name() for column in by]
    slices = list(hidden_slices(shown).values())
    hiding = [column.alias(name) for column, name in zip(by, slices, strict=True)]
    named = tally.with_defaults(lines, stacked=True).select(*hiding, *cells, *sums)
    if tally.apart is not None:
        read = {name for column in by for name in column.meta.root_names()}
        dropped = set(columns) - read - {*tally.cells, *tally.sums_of(columns), *tally.defaults}
        kept = [*slices, *(cell for cell in cells if cell == "group")]
        held, fault = tally.apart(kept, bool(dropped))
        if {held, *fault.bad.meta.root_names()} <= {*slices, *cells, *sums}:
            named = raise_faults(named, [fault], [held])
    merged = _merged(named, tally, [*slices, *cells], sums).select(*slices, *cells, *sums)
    return merged.rename(dict(zip(slices, shown, strict=True))).cache()


def _merged(named: pl.LazyFrame, tally: Tally, keys: Sequence[str], sums: Sums) -> pl.LazyFrame:
    """Aggregate lines, or raise if a sum passes 64 bits or a fact differs."""
    schema = named.collect_schema()
    facts = [name for name, how in sums.items() if how.meta.eq(pl.col(name).max())]
    added = [name for name, how in sums.items() if how.meta.eq(pl.col(name).sum())]
    whole = [name for name in added if schema[name] == pl.Int64]
    totals = {_total(name): pl.col(name).cast(pl.Float64).sum() for name in whole}
    least = {_least(name): pl.col(name).min() for name in facts}
    merged = aggregated(named, keys, {**sums, **totals, **least})
    faults = [_overflow(name) for name in whole]
    faults += [infinite_fault('pl.col("w")')] if "w" in added and "w" not in whole else []
    faults += [_not_one(name, _SAME_FRAME) for name in facts if name not in tally.facts]
    merged = raise_faults(merged, faults, list(sums))
    for name, fact in tally.facts.items():
        if name in facts:
            # Tied to the sums that rest on the fact: metrics of other sums may be merged.
            held = [one for one in fact.sums if one in sums]
            merged = raise_faults(merged, [_not_one(name, fact.instead)], held)
    return merged


_SAME_FRAME = "it belongs to the frame that they were counted with, so count them with the same one"


def _not_one(name: str, instead: str) -> Fault:
    different = (pl.col(name) != pl.col(_least(name))).fill_null(value=False)
    return Fault(different, f"{name!r} differs between tables that would be merged: {instead}")


def _least(name: str) -> str:
    return hidden("least", name)


def _total(name: str) -> str:
    return hidden("total", name)


def _overflow(name: str) -> Fault:
    message = f"the sum of {name!r} does not fit in 64 bits"
    instead = f': `table.with_columns(pl.col("{name}").cast(pl.Float64))` holds more'
    # Formulas add up all cells; no formula of integers adds up squares.
    total = pl.col(_total(name)) if name == "w2" else pl.col(_total(name)).sum()
    return Fault(total > _LIMIT, message + instead * (name in _WEIGHTS))


def _line_faults(
    table: pl.LazyFrame, tally: Tally, sums: Sequence[str], cells: Sequence[str]
) -> list[Fault]:
    """Return the faults of lines that no counting can have made."""
    schema, size = table.collect_schema(), pl.col(tally.size)
    others = [name for name in sums if name != tally.size]
    signed = [name for name in others if schema[name].is_integer() or name in _WEIGHTS]
    # Cells in which null is no value, such as a score, explain sums that are null.
    known = [pl.col(cell).is_not_null() for cell in cells if cell not in _NULLS]
    filled = pl.all_horizontal(size > 0, *known)
    lacking = {n: filled & pl.col(n).is_null() for n in others if n not in tally.defaults}
    return [
        _impossible({tally.size: size.is_null() | (size < 0)}, "is not a count"),
        _impossible({name: _negative(name, schema) for name in signed}, "is negative or NaN"),
        _impossible(lacking, "is null although there are rows"),
    ]


def _negative(name: str, schema: pl.Schema) -> pl.Expr:
    column = pl.col(name)
    return (column < 0) | column.is_nan() if schema[name].is_float() else column < 0


def _impossible(bad: Mapping[str, pl.Expr], what: str) -> Fault:
    """Return the fault of columns that are bad in some lines; the first of them is named.

    One message serves all columns: with hundreds of features, one for each would take seconds.
    """
    name = pl.coalesce(
        pl.lit(None, pl.String), *(pl.when(b.any()).then(pl.lit(repr(n))) for n, b in bad.items())
    )
    lines = pl.any_horizontal(pl.lit(value=False), *bad.values()).fill_null(value=False)
    tables = pl.col(_TABLE).filter(lines).unique().sort().cast(pl.String).implode().list.join(", ")
    message = (
        name
        + pl.lit(f" {what} in ")
        + lines.sum().cast(pl.String)
        + pl.lit(" row(s), of table ")
        + tables.first()
        + pl.lit(": count the table again")
    )
    return Fault(lines.any(), message)
