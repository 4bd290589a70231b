"""Applying fitted rates to rows: a join with the small frame of rates, and a draw per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from polarsfair._engine.columns import (
    Column,
    as_column,
    binary_of,
    check_columns,
    key_of,
    schema_of,
    without_nan,
)
from polarsfair._engine.faults import binary_message
from polarsfair._engine.frames import FAULT
from polarsfair._engine.groups import group_parts
from polarsfair._engine.slices import shown
from polarsfair.fairness._mitigation.draws import draws, sides

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Unknown: TypeAlias = Literal["error", "keep"]

RESULT, CHANCE = "fair_pred", "|chance"
FEW = 16
"""Groups up to which conditions find a row's group sooner than a join, which moves all columns."""

MOST = 3
"""Thresholds that a group can have: as many as a share and two rates can tell apart."""


def transformed(
    rows: pl.LazyFrame,
    rates: pl.DataFrame,
    columns: Mapping[str, Any],
    key: object,
    unknown: Unknown,
    seed: int,
) -> pl.LazyFrame:
    """Add the fair decision to every row."""
    if unknown not in ("error", "keep"):
        msg = f'`unknown` is "error" or "keep", got {unknown!r}'
        raise ValueError(msg)
    keys = group_keys(rows, columns["group"])
    draw = draws(rows, key, seed) < pl.col(CHANCE)
    flips = "keep" in rates.columns
    column = _column(rows, columns, "pred" if flips else "score")
    chances = flip_sides(rates) if flips else threshold_sides(rates)
    chance = flip_chance(column) if flips else threshold_chance(column)
    known = under_keys(chances, schema_of(rows, keys))
    beside = with_chance(rows, keys, known, chance)
    absent = pl.col(CHANCE).is_null()
    faults = {_unknown_group(rates): absent} if unknown == "error" else {}
    fair = flipped(column, draw, faults) if flips else thresholded(column, draw, faults)
    return beside.with_columns(fair.alias(RESULT)).drop(CHANCE)


# --- looking a group up -------------------------------------------------------------------------


def group_keys(rows: pl.LazyFrame, group: Any) -> dict[str, pl.Expr]:
    """Give the group's parts as flat columns, under names that no frame has."""
    parts = group_parts(rows, group)
    dtypes = schema_of(rows, parts)
    return {name: key_of(Column(shown(name), part, dtypes[name])) for name, part in parts.items()}


def under_keys(chances: pl.DataFrame, keys: pl.Schema) -> pl.DataFrame:
    """Give the chances under the group's flat columns, in the dtypes that the rows have."""
    parts = {shown(name): name for name in group_parts(chances.lazy(), "group")}
    if set(parts.values()) != set(keys):
        here = [shown(name) for name in keys]
        msg = (
            f"`group` had the parts {list(parts)} in `fit` and has {here} here: pass the same ones"
        )
        raise ValueError(msg)
    whole = chances.schema["group"] != pl.Struct
    values = chances.select("group") if whole else chances["group"].struct.unnest()
    flat = values.rename(parts).cast(keys, strict=False)
    found = pl.concat([flat, chances.drop("group")], how="horizontal")
    return found.drop_nulls(list(keys))


Chance: TypeAlias = "Callable[[Callable[[str], pl.Expr]], pl.Expr]"
"""Gives the chance of a row from its group's numbers, which are asked for by name."""


def with_chance(
    rows: pl.LazyFrame, keys: Mapping[str, pl.Expr], known: pl.DataFrame, chance: Chance
) -> pl.LazyFrame:
    """Put the chance to be selected beside every row; null where the group is unknown."""
    if known.height <= FEW:
        return rows.with_columns(_by_conditions(keys, known, chance).alias(CHANCE))
    names = [name for name in known.columns if name not in keys]
    beside = rows.with_columns(**keys).join(
        known.lazy(), on=list(keys), how="left", maintain_order="left"
    )
    found = pl.when(pl.col(names[0]).is_not_null()).then(chance(pl.col))
    return beside.with_columns(found.alias(CHANCE)).drop(*keys, *names)


def _by_conditions(keys: Mapping[str, pl.Expr], known: pl.DataFrame, chance: Chance) -> pl.Expr:
    chosen = pl.lit(None, dtype=pl.UInt64)
    for line in known.iter_rows(named=True):
        here = pl.all_horizontal(
            column == _literal(line[name], known.schema[name]) for name, column in keys.items()
        )
        numbers = {n: pl.lit(v, known.schema[n]) for n, v in line.items() if n not in keys}
        chosen = pl.when(here).then(chance(numbers.__getitem__)).otherwise(chosen)
    return chosen


def _literal(value: object, dtype: pl.DataType) -> pl.Expr:
    return pl.lit(value) if dtype == pl.Categorical else pl.lit(value, dtype=dtype)


def _unknown_group(rates: pl.DataFrame) -> str:
    groups = rates["group"].unique(maintain_order=True).head(20).to_list()
    return (
        f"a row's group is null or was not there in `fit`, which saw {groups}: fit with all groups,"
        ' or leave such rows as they are with `unknown="keep"`'
    )


def stopping(value: pl.Expr, faults: Mapping[str, pl.Expr]) -> pl.Expr:
    """Stop at the first row with a fault, in words; on the row side, so in one column."""
    if not faults:
        return value
    said = pl.lit(None, dtype=pl.String)
    for message, bad in faults.items():
        said = pl.when(bad.fill_null(value=True)).then(pl.lit(FAULT + message)).otherwise(said)
    return pl.when(said.cast(pl.Int64).is_null()).then(value)


# --- decisions that are flipped -----------------------------------------------------------------


def flip_sides(rates: pl.DataFrame) -> pl.DataFrame:
    """Give the chances to keep and to turn as whole numbers, which are quicker to compare."""
    return rates.select("group", *(sides(rates[n]).alias(f"|{n}") for n in ("keep", "turn")))


def flip_chance(column: Column) -> Chance:
    """Say what a decision's chance is: to be kept, or to be turned."""
    yes, _ = _codes(column)
    return lambda number: pl.when(yes).then(number("|keep")).otherwise(number("|turn"))


def _codes(column: Column) -> tuple[pl.Expr, pl.Expr]:
    code = binary_of(column)
    whole = column.dtype not in (pl.Boolean, pl.Null)
    return (code == 1, code == 0) if whole else (code, ~code)


def flipped(column: Column, draw: pl.Expr, faults: Mapping[str, pl.Expr]) -> pl.Expr:
    """Decide anew by the draw; a decision of unknown group stays, an unknown one too."""
    yes, no = _codes(column)
    bad = {} if column.dtype in (pl.Boolean, pl.Null) else {binary_message(column): ~(yes | no)}
    bad = {message: fault.fill_null(value=False) for message, fault in bad.items()}
    fair = pl.when(yes.is_not_null()).then(pl.coalesce(draw, yes))
    dtype = pl.Boolean() if column.dtype == pl.Null else column.dtype
    # By way of a number: a Boolean cannot become a Decimal.
    whole = stopping(fair, {**faults, **bad}).cast(pl.UInt8)
    return whole.cast(dtype)


def _column(rows: pl.LazyFrame, columns: Mapping[str, Any], role: str) -> Column:
    expression = as_column(columns[role], role)
    check_columns(rows, {role: [expression]})
    return Column(role, expression, schema_of(rows, {role: expression})[role])


# --- scores with thresholds ---------------------------------------------------------------------


def threshold_sides(rates: pl.DataFrame) -> pl.DataFrame:
    """Give each group's thresholds side by side, with the chance that each adds."""
    chance = pl.when(pl.col("threshold").is_finite()).then("share").otherwise(0.0)
    so_far = rates.sort("group", "threshold").with_columns(
        total=chance.cum_sum().over("group"), place=pl.int_range(pl.len()).over("group")
    )
    # Rounding the running total, not its steps, lets all of it be exactly always.
    total = so_far.with_columns(sides(so_far["total"]).alias("total"))
    step = pl.col("total") - pl.col("total").shift(1, fill_value=0)
    steps = total.with_columns(step=step.over("group"))
    return steps.group_by("group", maintain_order=True).agg(
        pl.col(value).filter(pl.col("place") == place).first().alias(f"|{value}{place}")
        for place in range(MOST)
        for value in ("step", "threshold")
    )


def threshold_chance(column: Column) -> Chance:
    """Say what a score's chance is: each threshold that it reaches adds to it."""
    score = without_nan(column.expression, column.dtype)
    return lambda number: pl.sum_horizontal(
        pl.when(score >= number(f"|threshold{place}"))
        .then(number(f"|step{place}"))
        .otherwise(pl.lit(0, dtype=pl.UInt64))
        for place in range(MOST)
    )


def thresholded(column: Column, draw: pl.Expr, faults: Mapping[str, pl.Expr]) -> pl.Expr:
    """Decide by the draw; where group or score are unknown there is no decision."""
    score = without_nan(column.expression, column.dtype)
    return stopping(pl.when(score.is_not_null()).then(draw), faults)
