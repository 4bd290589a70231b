"""How precisely values are known: from the facts of a table to limits and tests."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from polarsfair._audit import limits
from polarsfair._audit.limits import Limits
from polarsfair._audit.values import fact_of
from polarsfair._engine.metric import Spread
from polarsfair._engine.slices import hidden, n_of
from polarsfair._formula import Share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from polarsfair._audit.limits import Floats
    from polarsfair._engine.metric import Metric

DRAWN = {name: hidden("drawn", name) for name in ("low", "high", "error")}
"""Limits and standard errors from draws, of the value named after them."""


def drawn_of(metric: Metric, fact: str) -> str:
    """Name the column that holds a limit, or the standard error, of a value's draws."""
    return hidden(DRAWN[fact], metric.name)


@dataclass(frozen=True)
class Precision:
    """Values of one metric, and how precisely they are known.

    Attributes
    ----------
    name
        The name of the value.
    value, n
        The values, and what they are values of.
    numerator, denominator
        The parts of shares and means.
    size, degrees
        The effective size of values between 0 and 1, and the degrees of freedom of their spread.
    error
        The standard errors of all others.
    low, high, drawn_at
        Limits from draws, and their confidence.
    bounds
        The smallest and the largest possible value.
    method
        How the limits are made.
    """

    name: str
    value: Floats
    n: Floats
    numerator: Floats
    denominator: Floats
    size: Floats
    degrees: Floats
    error: Floats
    low: Floats
    high: Floats
    method: NDArray[Any]
    drawn_at: float
    bounds: tuple[float, float]

    def __getitem__(self, at: Any) -> Precision:
        """Return the values at some places, or reshaped, as an array would."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: one[at] for name, one in found.items() if isinstance(one, np.ndarray)}
        return Precision(**{**found, **arrays})

    def limits(self, confidence: Floats | float) -> Limits:
        """Return the limits of all values at a confidence, or at one for each of them."""
        q = limits.quantile(confidence, self.degrees)
        by_size = limits.wilson(self.value, self.size, q)
        by_error = self._within(limits.around(self.value, self.error, q))
        drawn = self._drawn(confidence)
        sized, has_error = ~np.isnan(self.size), ~np.isnan(self.error)
        kinds = [sized, ~np.isnan(self.low), has_error]
        low = np.select(kinds, [by_size.low, drawn.low, by_error.low], np.nan)
        high = np.select(kinds, [by_size.high, drawn.high, by_error.high], np.nan)
        return Limits(self.value, low, high)

    def _drawn(self, confidence: Floats | float) -> Limits:
        """Return the limits of draws, whose arms are scaled as those of a normal variable would."""
        scale = limits.quantile(confidence) / limits.quantile(self.drawn_at)
        low = self.value - scale * (self.value - self.low)
        high = self.value + scale * (self.high - self.value)
        return self._within(Limits(self.value, low, high))

    def _within(self, found: Limits) -> Limits:
        low, high = self.bounds
        return Limits(found.value, np.maximum(found.low, low), np.minimum(found.high, high))


def numbers_of(lines: pl.DataFrame) -> dict[str, Floats]:
    """Return all columns of numbers as arrays, NaN where they are null."""
    found = lines.select(cs.numeric().cast(pl.Float64).fill_null(np.nan))
    return {column.name: column.to_numpy() for column in found}


def precision_of(
    numbers: Mapping[str, Floats],
    metric: Metric,
    confidence: float,
    name: Callable[[str], str] = str,
    *,
    unit: bool = False,
) -> Precision:
    """Return the precision of a metric's values; `name` finds the columns of other groups.

    With `unit`, the variance is that over sampling units.
    """
    nothing = np.full(len(next(iter(numbers.values()))), np.nan)

    def column(fact: str) -> Floats:
        return numbers.get(name(fact), nothing)

    facts = {fact: column(fact_of(metric, fact)) for fact in ("numerator", "denominator")}
    drawn = {fact: column(drawn_of(metric, fact)) for fact in DRAWN}
    size, degrees, error, method = _spread(metric, column, unit=unit)
    if unit and not isinstance(metric.formula, Share):
        size, method = nothing, np.full(len(nothing), "none", dtype=object)
    value = column(metric.name)
    is_drawn = ~np.isnan(drawn["low"])
    return Precision(
        name=metric.name,
        value=value,
        n=np.nan_to_num(column(n_of(metric.name))),
        **facts,
        size=np.where(is_drawn, np.nan, size),
        degrees=np.where(is_drawn, np.inf, degrees),
        error=np.where(is_drawn, drawn["error"], error),
        # Percentiles may leave out the value itself.
        low=np.minimum(drawn["low"], value),
        high=np.maximum(drawn["high"], value),
        method=np.where(is_drawn, "draws", method),
        drawn_at=confidence,
        bounds=metric.bounds,
    )


def _spread(
    metric: Metric, column: Callable[[str], Floats], *, unit: bool
) -> tuple[Floats, Floats, Floats, NDArray[Any]]:
    """Return effective sizes, degrees of freedom, standard errors and methods."""
    value = column(metric.name)
    nothing, infinite = np.full(len(value), np.nan), np.full(len(value), np.inf)
    variance, units = (column(fact_of(metric, fact)) for fact in ("variance", "units"))
    if unit:
        # Without a share there is no rule: rows of one unit are not independent.
        size, degrees = limits.sized(value, variance, units)
        return size, degrees, nothing, np.full(len(value), "unit", dtype=object)
    if isinstance(metric.formula, Share):
        parts = ("numerator", "denominator", "numerator2", "denominator2")
        a, d, a2, d2 = (column(fact_of(metric, fact)) for fact in parts)
        size, degrees = limits.weighted_size(a, d, a2, d2)
        return size, degrees, nothing, np.where(size == d, "wilson", "weighted").astype(object)
    if not isinstance(metric.formula, Spread):
        return nothing, infinite, nothing, np.full(len(value), "none", dtype=object)
    method = np.full(len(value), metric.formula.method, dtype=object)
    if metric.bounds == (0.0, 1.0):
        return *limits.sized(value, variance, units), nothing, method
    return nothing, units - 1, np.sqrt(variance), method


def p_value_of(own: Precision, other: Precision, correlation: Floats | float = 0.0) -> Floats:
    """Return the p-values that values are equal: by size where both have one, else by errors."""
    from polarsfair._audit import p_values

    by_size = p_values.two_shares(own.value, own.size, other.value, other.size)
    one, two = _error(own), _error(other)
    error = np.sqrt(np.maximum(one * one + two * two - 2 * correlation * one * two, 0.0))
    by_error = p_values.normal(own.value - other.value, error)
    alone = np.asarray(correlation) == 0
    return np.where(np.isnan(own.size) | np.isnan(other.size) | ~alone, by_error, by_size)


def _error(one: Precision) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        of_size = np.sqrt(one.value * (1 - one.value) / one.size)
    return np.where(np.isnan(one.error), of_size, one.error)


def p_value_of_many(groups: Precision) -> Floats:
    """Return the p-values that the values of all groups, in the last axis, are equal."""
    from polarsfair._audit import p_values

    by_size = p_values.many_shares(groups.value, groups.size)
    by_error = p_values.many(groups.value, _error(groups))
    return np.where(np.isnan(groups.size).any(axis=-1), by_error, by_size)
