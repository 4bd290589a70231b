"""Applying fitted rates to rows: a join with the small frame of rates, and a draw per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl
from polars.exceptions import PolarsError

from polarsfair._engine.columns import (
    TEXT,
    Column,
    binary_of,
    key_of,
    number_of,
    resolve_columns,
    schema_of,
    shown,
)
from polarsfair._engine.faults import Fault, binary_message, checked_rows
from polarsfair._engine.groups import group_parts
from polarsfair._engine.slices import MARK, hidden
from polarsfair.fairness._mitigation.draws import draws, sides

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polarsfair._typing import IntoGroup

Unknown: TypeAlias = Literal["error", "keep"]

RESULT, PROBABILITY = "fair_pred", hidden("probability")
"""The default name of the fair decision; the column of the probability to be selected."""

_KEEP, _TURN = hidden("keep"), hidden("turn")
FEW = 16
"""Groups up to which conditions are faster than a join, which copies all columns."""

MOST = 3
"""Thresholds that a group can have: one for the sum of the shares and one for each of two rates."""


def transformed(
    rows: pl.LazyFrame,
    rates: pl.DataFrame,
    columns: Mapping[str, Any],
    key: object,
    unknown: Unknown,
    seed: int,
    score_range: tuple[float, float] | None = None,
    name: str = RESULT,
) -> pl.LazyFrame:
    """Add the fair decision to every row; scores outside `score_range` are refused."""
    check_name(rows, name)
    if unknown not in ("error", "keep"):
        msg = f'`unknown` is "error" or "keep", got {unknown!r}'
        raise ValueError(msg)
    keys = group_keys(rows, columns["group"])
    draw = draws(rows, key, seed) < pl.col(PROBABILITY)
    flips = "keep" in rates.columns
    role = "pred" if flips else "score"
    column = resolve_columns(rows, {}, {}, {role: columns[role]})[role]
    outcomes = flip_sides(rates) if flips else threshold_sides(rates)
    probability = flip_probability(column) if flips else threshold_probability(column)
    known = under_keys(outcomes, schema_of(rows, keys))
    lines = with_probability(rows, keys, known, probability)
    absent = pl.col(PROBABILITY).is_null()
    faults = {_unknown_group(rates): absent} if unknown == "error" else {}
    faults |= outside(column, score_range) if score_range else {}
    fair = flipped(column, draw, faults) if flips else thresholded(column, draw, faults)
    return lines.with_columns(fair.alias(name)).drop(PROBABILITY)


def check_name(rows: pl.LazyFrame, name: object) -> None:
    """Raise if a column cannot be added under this name."""
    if not isinstance(name, str):
        msg = f'`name` is the name of the new column, such as `name="{RESULT}"`; got {name!r}'
        raise TypeError(msg)
    if name.startswith(MARK):
        msg = f'`name` cannot begin with {MARK!r}: choose another, such as `name="{RESULT}"`'
        raise ValueError(msg)
    if name in rows.collect_schema():
        msg = (
            f"the frame already has a column {name!r}, which would be replaced: name the new"
            f' column, such as `name="{name}_2"`, or leave out the old one, `frame.drop({name!r})`'
        )
        raise ValueError(msg)


# --- looking up a group -------------------------------------------------------------------------


def group_keys(rows: pl.LazyFrame, group: IntoGroup) -> dict[str, pl.Expr]:
    """Return the group's parts as flat columns under hidden names; all text as strings."""
    parts = group_parts(rows, group)
    dtypes = schema_of(rows, parts)
    keys = {name: key_of(Column("group", part, dtypes[name])) for name, part in parts.items()}
    return {
        name: key.cast(pl.String) if dtypes[name] in TEXT else key for name, key in keys.items()
    }


def under_keys(outcomes: pl.DataFrame, keys: pl.Schema) -> pl.DataFrame:
    """Return the outcomes under the group's flat columns, in the dtypes of the rows."""
    parts = {shown(name): name for name in group_parts(outcomes.lazy(), "group")}
    if set(parts.values()) != set(keys):
        here = [shown(name) for name in keys]
        msg = (
            f"`group` had the parts {list(parts)} in `fit` and has {here} here: pass the same ones"
        )
        raise ValueError(msg)
    whole = outcomes.schema["group"] != pl.Struct
    values = outcomes.select("group") if whole else outcomes["group"].struct.unnest()
    flat = [exactly_cast(values[part], keys[name]).alias(name) for part, name in parts.items()]
    found = pl.concat([pl.DataFrame(flat), outcomes.drop("group")], how="horizontal")
    return found.drop_nulls(list(keys))


def exactly_cast(fitted: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return the fitted groups in the dtype of the rows, or raise if one would change."""
    plain = fitted.cast(pl.String) if fitted.dtype in TEXT else fitted
    if dtype == plain.dtype:
        return plain
    if dtype == pl.Null:
        # In a column that is null throughout there is no group to find.
        return pl.Series([None] * len(plain), dtype=pl.Null)
    cast = _cast_there_and_back(plain, dtype)
    changed = plain.filter(cast.is_null())
    if changed.len():
        msg = (
            f"`group` was {fitted.dtype} in `fit` and is {dtype} here, which cannot hold"
            f" {changed[0]!r} unchanged: cast it, such as"
            f' `group=pl.col("...").cast(pl.{fitted.dtype})`'
        )
        raise TypeError(msg)
    return cast


def _cast_there_and_back(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return values in another dtype; null if they are not the same after a cast back."""
    nothing = pl.Series([None] * len(values), dtype=dtype)
    if _kind_of_time(values.dtype) != _kind_of_time(dtype):
        return nothing
    try:
        cast = values.cast(dtype, strict=False)
        same = cast.cast(values.dtype, strict=False).eq_missing(values)
    except PolarsError:
        return nothing
    return pl.select(pl.when(same).then(cast)).to_series()


def _kind_of_time(dtype: pl.DataType) -> object:
    """Return what a time is: Polars casts the number 1, or UTC, to a date or a local time."""
    if not dtype.is_temporal():
        return None
    zoned = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    return dtype.base_type(), zoned


ProbabilityOf: TypeAlias = "Callable[[Callable[[str], pl.Expr]], pl.Expr]"
"""Returns the probability of a row from its group's numbers, which it gets by name."""


def with_probability(
    rows: pl.LazyFrame, keys: Mapping[str, pl.Expr], known: pl.DataFrame, probability: ProbabilityOf
) -> pl.LazyFrame:
    """Add the probability to be selected, in whole outcomes; null if the group is unknown."""
    if known.height <= FEW:
        return rows.with_columns(_by_conditions(keys, known, probability).alias(PROBABILITY))
    names = [name for name in known.columns if name not in keys]
    lines = rows.with_columns(**keys).join(
        known.lazy(), on=list(keys), how="left", maintain_order="left"
    )
    found = pl.when(pl.col(names[0]).is_not_null()).then(probability(pl.col))
    return lines.with_columns(found.alias(PROBABILITY)).drop(*keys, *names)


def _by_conditions(
    keys: Mapping[str, pl.Expr], known: pl.DataFrame, probability: ProbabilityOf
) -> pl.Expr:
    # Times are compared as whole numbers: Python's have no nanoseconds.
    times = [name for name in keys if known.schema[name].is_temporal()]
    plain = known.with_columns(pl.col(times).to_physical())
    columns = {n: key.to_physical() if n in times else key for n, key in keys.items()}
    chosen = pl.lit(None, dtype=pl.UInt64)
    for line in plain.iter_rows(named=True):
        here = pl.all_horizontal(
            column == pl.lit(line[name], dtype=plain.schema[name])
            for name, column in columns.items()
        )
        numbers = {n: pl.lit(v, plain.schema[n]) for n, v in line.items() if n not in keys}
        chosen = pl.when(here).then(probability(numbers.__getitem__)).otherwise(chosen)
    return chosen


def _unknown_group(rates: pl.DataFrame) -> str:
    groups = rates["group"].unique(maintain_order=True).head(20).to_list()
    return (
        f"a row's group is null or was absent in `fit`, which saw {groups}: fit with all groups,"
        ' or keep the decisions of such rows with `unknown="keep"`'
    )


def _faults(bad: Mapping[str, pl.Expr]) -> list[Fault]:
    return [Fault(rows, message) for message, rows in bad.items()]


# --- decisions that are flipped -----------------------------------------------------------------


def flip_sides(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the probabilities to keep and to turn as whole outcomes, which compare faster."""
    names = {"keep": _KEEP, "turn": _TURN}
    return rates.select("group", *(sides(rates[name]).alias(new) for name, new in names.items()))


def flip_probability(column: Column) -> ProbabilityOf:
    """Return the probability of a decision: to be kept, or to be turned."""
    yes, _ = _codes(column)
    return lambda number: pl.when(yes).then(number(_KEEP)).otherwise(number(_TURN))


def _codes(column: Column) -> tuple[pl.Expr, pl.Expr]:
    code = binary_of(column)
    whole = column.dtype not in (pl.Boolean, pl.Null)
    return (code == 1, code == 0) if whole else (code, ~code)


def flipped(column: Column, draw: pl.Expr, faults: Mapping[str, pl.Expr]) -> pl.Expr:
    """Decide by the draw; keep a decision of unknown group and an unknown decision."""
    yes, no = _codes(column)
    bad = {} if column.dtype in (pl.Boolean, pl.Null) else {binary_message(column): ~(yes | no)}
    bad = {message: fault.fill_null(value=False) for message, fault in bad.items()}
    fair = pl.when(yes.is_not_null()).then(pl.coalesce(draw, yes))
    dtype = pl.Boolean() if column.dtype == pl.Null else column.dtype
    # Cast to a number first, because a Boolean cannot be cast to a Decimal.
    whole = checked_rows(fair, _faults({**faults, **bad})).cast(pl.UInt8)
    return whole.cast(dtype)


# --- scores with thresholds ---------------------------------------------------------------------


def threshold_sides(rates: pl.DataFrame) -> pl.DataFrame:
    """Return each group's thresholds in one line, with the probability that each adds."""
    share = pl.when(pl.col("threshold").is_finite()).then("share").otherwise(0.0)
    so_far = rates.sort("group", "threshold").with_columns(
        total=share.cum_sum().over("group"), position=pl.int_range(pl.len()).over("group")
    )
    # The running total is rounded, not its steps, so that a total of 1 selects every row.
    total = so_far.with_columns(sides(so_far["total"]).alias("total"))
    step = pl.col("total") - pl.col("total").shift(1, fill_value=0)
    steps = total.with_columns(step=step.over("group"))
    return steps.group_by("group", maintain_order=True).agg(
        pl.col(value).filter(pl.col("position") == position).first().alias(hidden(value, position))
        for position in range(MOST)
        for value in ("step", "threshold")
    )


def threshold_probability(column: Column) -> ProbabilityOf:
    """Return the probability of a score: the sum over the thresholds that it reaches."""
    score = number_of(column)
    return lambda number: pl.sum_horizontal(
        pl.when(score >= number(hidden("threshold", position)))
        .then(number(hidden("step", position)))
        .otherwise(pl.lit(0, dtype=pl.UInt64))
        for position in range(MOST)
    )


def thresholded(column: Column, draw: pl.Expr, faults: Mapping[str, pl.Expr]) -> pl.Expr:
    """Decide by the draw; the decision is null if group or score is unknown."""
    return checked_rows(pl.when(number_of(column).is_not_null()).then(draw), _faults(faults))


def outside(column: Column, score_range: tuple[float, float]) -> dict[str, pl.Expr]:
    """Return the fault of a score outside the bins of the fit; an unknown one is not outside."""
    low, high = score_range
    message = (
        f"`score` holds a value outside the bins of `fit`, {low:g} to {high:g}, so that the fitted"
        f" thresholds do not apply: bring it to the scale of `fit`, `score={column.text} / ...`, or"
        " fit again with `GroupThresholds(bins=[...])`"
    )
    return {message: ~number_of(column).is_between(low, high).fill_null(value=True)}
