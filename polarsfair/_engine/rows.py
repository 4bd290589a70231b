"""Counting rows into cells: the row side that the tallies of labels and groups share.

Everything below the `group_by` here runs on the streaming engine over flat keys; whatever needs
more (structs, Boolean meaning, faults) is done afterwards, on the small table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import polars.selectors as cs

from polarsfair._engine.frames import (
    IntoColumn,
    IntoGroup,
    as_column,
    check_columns,
    fault,
    schema_of,
    without_nan,
)
from polarsfair._engine.groups import class_names, per_class, probabilities, spread, unsure_fault

WEIGHTED_SUMS: Mapping[str, pl.Expr] = {name: pl.col(name).sum() for name in ("n", "w", "w2")}
"""The sums of a counting tally: rows, weights, squared weights."""

ONE = pl.lit(1, dtype=pl.Int64)
# `pl.len()` is UInt32 and stops at 2**32 rows a cell; a sum of Int64 ones does not.


@dataclass(frozen=True)
class Column:
    """One role of the caller, resolved against the frame."""

    role: str
    expression: pl.Expr
    dtype: pl.DataType

    @property
    def text(self) -> str:
        """How the caller may have written it; a longer expression is not repeated."""
        meta = self.expression.meta
        return f'pl.col("{meta.output_name()}")' if meta.is_column() else "(...)"


def resolve_columns(
    rows: pl.LazyFrame, by: Sequence[pl.Expr], roles: Mapping[str, IntoColumn | None]
) -> dict[str, Column]:
    """Resolve slices and column roles against the frame; roles not given are left out."""
    wanted = {role: as_column(into, role) for role, into in roles.items() if into is not None}
    check_columns(rows, {"by": by, **{role: [column] for role, column in wanted.items()}})
    named = {column.meta.output_name(): column for column in by} | wanted
    schema = schema_of(rows, named)
    return {name: Column(name, column, schema[name]) for name, column in named.items()}


def group_parts(rows: pl.LazyFrame, group: IntoGroup | None) -> dict[str, pl.Expr]:
    """Split a group into flat parts: one, or one per attribute of an intersection."""
    if group is None:
        return {}
    if isinstance(group, (str, pl.Expr)):
        column = as_column(group, "group")
        check_columns(rows, {"group": [column]})
        dtype = schema_of(rows, {"group": column})["group"]
        if isinstance(dtype, pl.Struct):
            return {part.name: column.struct.field(part.name) for part in dtype.fields}
        return {"group": column}
    if isinstance(group, Mapping):
        msg = (
            "`group` as a mapping from classes to probabilities is for metrics of decisions,"
            " classes and clusters: for this table give a column, such as"
            " `group=fairness.most_likely({...})`"
        )
        raise TypeError(msg)
    if not isinstance(group, Sequence):
        msg = f"`group` takes a column, an expression or a list of them, got {group!r}"
        raise TypeError(msg)
    columns = [as_column(part, "group") for part in group]
    if not columns:
        msg = '`group` is empty: name at least one column, such as `group=["sex", "race"]`'
        raise ValueError(msg)
    check_columns(rows, {"group": columns})
    return _by_name(columns)


def _by_name(parts: Sequence[pl.Expr]) -> dict[str, pl.Expr]:
    names = [part.meta.output_name() for part in parts]
    for name in names:
        if names.count(name) > 1:
            msg = f'two parts of `group` are called {name!r}: rename one with `.alias("...")`'
            raise ValueError(msg)
    return dict(zip(names, parts, strict=True))


def count_cells(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None,
    cells: Mapping[str, IntoColumn | None],
    weight: IntoColumn | None,
    binary: bool = False,
    exploded: str | None = None,
) -> pl.LazyFrame:
    """Count rows per slice, group and cells, with weights where given.

    A cell named by `exploded` is a list: a row counts once for each of its distinct members, and
    the columns ``rows`` and ``row_w`` count the rows themselves.
    """
    chances = probabilities(rows, group) if isinstance(group, Mapping) else {}
    flat = {} if isinstance(group, Mapping) else group_parts(rows, group)
    parts = {f"|{name}": part for name, part in flat.items()}
    columns = resolve_columns(rows, by, {**parts, **cells, "weight": weight})
    weighed = columns.pop("weight", None)
    given = [columns[name] for name in cells if name in columns]
    codes = {column.role: binary_key(column) for column in given if binary}
    keys = {name: row_key(column) for name, column in columns.items() if name not in codes} | codes
    sums = {"n": ONE, **(weight_columns(weighed) if weighed else {})}
    named = _named(rows, {**keys, **sums, **chances})
    if exploded is not None:
        named, sums = _explode(named, exploded, sums)
    faults = [binary_fault(column) for column in given] if binary else []
    if isinstance(group, Mapping):
        table, values = _expected(named, list(keys), list(sums), group, weighed, faults)
    else:
        faults += [weight_fault(weighed)] if weighed else []
        values = [name for name in sums if name != "bad"]
        table = stopping(group_sum(named, list(keys), list(sums)), faults, values)
    if binary:
        table = table.with_columns(pl.col(column.role).cast(pl.Boolean) for column in given)
    kept = [column.meta.output_name() for column in by] + ["group"] * (group is not None)
    kept += [column.role for column in given]
    table = gather_group(table, list(parts)).select(*kept, *values)
    # Groups that lack different parts are all the one unknown group.
    return group_sum(table, kept, values) if len(parts) > 1 else table


def _named(rows: pl.LazyFrame, columns: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Select columns, each as long as the frame even where all of them are literals."""
    if any(column.meta.root_names() for column in columns.values()):
        return rows.select(**columns)
    return rows.with_columns(**columns).select(list(columns))


def _expected(
    rows: pl.LazyFrame,
    keys: list[str],
    sums: list[str],
    group: Mapping[Any, IntoColumn],
    weighed: Column | None,
    faults: list[pl.Expr],
) -> tuple[pl.LazyFrame, list[str]]:
    """Count expected rows per class of a group that is known as probabilities."""
    values = [name for name in sums if name != "bad"]
    rows, parts, unsure = spread(rows, values, len(group))
    table = group_sum(rows, keys, [*parts, unsure, *(name for name in sums if name == "bad")])
    # Products with a probability are floats, which no square can overflow.
    weights = [weight_fault(replace(weighed, dtype=pl.Float64()))] if weighed else []
    table = stopping(table, [*faults, *weights, unsure_fault()], parts)
    values = list(dict.fromkeys([*values[:1], "w", "w2", *values[1:]]))
    return per_class(table, class_names(group), values), values


def _explode(
    rows: pl.LazyFrame, cell: str, sums: dict[str, pl.Expr]
) -> tuple[pl.LazyFrame, dict[str, pl.Expr]]:
    """Give a row for every member of a list, the row itself counted at the first.

    An empty list keeps a row (``rows`` 1, ``n`` 0); an unknown one counts as unknown.
    """
    weight = pl.col("w" if "w" in sums else "n")
    listed = pl.col(cell).list.drop_nulls().list.unique()
    first = pl.col(cell).list.eval(pl.int_range(pl.len()) == 0)
    known = pl.col("|known")
    marked = rows.with_columns(listed.alias(cell), pl.col(cell).is_not_null().alias("|known"))
    opened = marked.with_columns(first.alias("|first")).explode(cell, "|first", empty_as_null=True)
    own, empty = pl.col("|first").fill_null(value=True), known & pl.col(cell).is_null()
    kept = {name: pl.when(empty).then(0).otherwise(name) for name in sums if name != "bad"}
    counted = known & own
    opened = opened.with_columns(
        rows=counted.cast(pl.Int64), row_w=pl.when(counted).then(weight).otherwise(0)
    )
    added = {"rows": pl.col("rows"), "row_w": pl.col("row_w")}
    return opened.with_columns(**kept), {**sums, **added}


def group_sum(rows: pl.LazyFrame, keys: Sequence[str], values: Sequence[str]) -> pl.LazyFrame:
    """Sum `values` per `keys`; without keys, one line."""
    sums = [pl.col(value).sum() for value in values]
    return rows.group_by(list(keys)).agg(sums) if keys else rows.select(sums)


def gather_group(table: pl.LazyFrame, parts: Sequence[str]) -> pl.LazyFrame:
    """Turn the flat parts of a group into one column; a null part makes it unknown."""
    if not parts:
        return table
    if len(parts) == 1 and parts[0] == "|group":
        return table.rename({"|group": "group"})
    known = pl.all_horizontal(pl.col(part).is_not_null() for part in parts)
    struct = pl.struct(pl.col(part).alias(part[1:]) for part in parts)
    return table.with_columns(group=pl.when(known).then(struct))


def row_key(column: Column) -> pl.Expr:
    """Give a column as a key of the `group_by`: plain, and without NaN."""
    listed = isinstance(column.dtype, pl.List) and not column.dtype.inner.is_nested()
    if (
        column.dtype.is_nested() and not (listed and column.role == "pred")
    ) or column.dtype == pl.Object:
        msg = (
            f"`{column.role.lstrip('|')}` is {column.dtype}, which cannot be a key:"
            " give a plain column or expression"
        )
        raise TypeError(msg)
    if isinstance(column.dtype, pl.List) and column.dtype.inner.is_float():
        return column.expression.list.eval(pl.element().fill_nan(None))
    return without_nan(column.expression, column.dtype)


def binary_key(column: Column) -> pl.Expr:
    """Give a 0/1 column as a cheap key: Booleans and integers as they are, floats mapped."""
    dtype, expression = column.dtype, column.expression
    if dtype in (pl.Boolean, pl.Null):
        return expression.cast(pl.Boolean)
    if dtype.is_integer():
        return expression
    if not dtype.is_numeric():
        raise TypeError(_not_binary(column))
    number = expression.cast(pl.Float64).fill_nan(None)
    # A plain cast to Boolean would turn 2 and 0.5 into True.
    code = pl.when(number == 0).then(0).when(number == 1).then(1).when(number.is_not_null()).then(2)
    return code.cast(pl.Int8)


def _not_binary(column: Column) -> str:
    name = column.expression.meta.output_name()
    text = column.dtype in (pl.String, pl.Categorical, pl.Enum)
    write = f'pl.col("{name}") == "yes"' if text else f'pl.col("{name}").is_not_null()'
    return (
        f"`{column.role}` is {column.dtype}, which cannot be read as 0 or 1: write what counts as"
        f" positive as an expression, such as `{column.role}={write}`"
    )


def binary_fault(column: Column) -> pl.Expr:
    """Stop where a 0/1 column holds something else."""
    value = pl.col(column.role)
    # A number beyond 64 bits is null after this cast, which `fault` takes for bad as well.
    bad = value.is_not_null() & ~value.cast(pl.Int64, strict=False).is_in([0, 1])
    return fault(bad, binary_message(column))


def binary_message(column: Column) -> str:
    """Say that a 0/1 column holds something else, and what to write."""
    name = column.expression.meta.output_name()
    # Classes such as 1 and 2 are told by name; only scores have a threshold.
    positive = "== 1" if column.dtype.is_integer() else "> 0.5"
    return (
        f"`{column.role}` holds a value other than 0 and 1: write what counts as positive as an"
        f' expression, such as `{column.role}=pl.col("{name}") {positive}`'
    )


def weight_columns(column: Column) -> dict[str, pl.Expr]:
    """Give the weight, its square and whether it is bad. Integers stay integers."""
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        msg = (
            f"`weight` is {column.dtype}, not a number: give a numeric column or cast it,"
            f" `weight={column.text}.cast(pl.Float64)`"
        )
        raise TypeError(msg)
    whole = column.dtype.is_integer() or column.dtype == pl.Boolean
    # An integer beyond 64 bits becomes null, which is bad as well.
    weight = column.expression.cast(pl.Int64 if whole else pl.Float64, strict=False)
    good = (weight >= 0) if whole else (weight >= 0) & weight.is_finite()
    # The square of a weight that is cut here passes 64 bits, for which `weight_fault` stops; sums
    # of such squares stay within 128 bits, whose wrapping could hide it.
    cut = weight.clip(upper_bound=2**32).cast(pl.Int128) if whole else weight
    square = cut * cut
    return {"w": weight, "w2": square, "bad": (~good).fill_null(value=True).cast(pl.Int64)}


def weight_fault(column: Column) -> pl.Expr:
    """Stop where a weight is no number of at least 0, or its squares pass 64 bits."""
    write = f"give `weight={column.text}.cast(pl.Float64)`"
    faults = [large_squares_fault(write)] if column.dtype.is_integer() else []
    return pl.coalesce(bad_weight_fault(column), *faults)


def large_squares_fault(write: str) -> pl.Expr:
    """Stop where sums of whole squares, made in 128 bits, pass 64; `write` says what to type."""
    beyond = pl.col("w2").cast(pl.Float64) > float(2**63 - 2**10)
    large = "the squares of the integer weights add up to more than 64 bits hold"
    return fault(beyond, f"{large}: {write}")


def bad_weight_fault(column: Column) -> pl.Expr:
    """Stop where a weight is no number of at least 0."""
    message = (
        "`weight` holds a value that is not a number of at least 0 (negative, null, NaN or"
        f" infinite): leave those rows out or fill them, `weight={column.text}.fill_null(0)`"
    )
    return fault(pl.col("bad") > 0, message)


def stopping(table: pl.LazyFrame, faults: Sequence[pl.Expr], sums: Sequence[str]) -> pl.LazyFrame:
    """Tie faults to every sum, so that no projection can prune them; whole sums become Int64."""
    if not faults:
        return table
    stop = pl.coalesce(*faults)
    whole = cs.by_name(*sums) & cs.integer()
    return table.with_columns(
        pl.coalesce(stop, pl.col(name)).alias(name) for name in sums
    ).with_columns(whole.cast(pl.Int64))
