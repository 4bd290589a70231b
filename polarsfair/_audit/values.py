"""How precisely each value of a table is known: value, parts, effective size and degrees.

A formula that is a share, a mean over users, a mean of outcomes or an area under the curve says
how much its value varies. These facts are read off the same table, with the same view, as the
value: they are metrics of their own for as long as they are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.metric import LineFormula, Metric, Spread
from polarsfair._engine.read import beside, read
from polarsfair._engine.slices import hidden, n_of
from polarsfair._formula import Share

if TYPE_CHECKING:
    from collections.abc import Sequence

FACTS = ("numerator", "denominator", "numerator2", "denominator2", "variance", "units")
"""What is read beside a value; null where the metric has no such fact."""

_SHARE = ("numerator", "denominator")


def fact_of(metric: Metric, fact: str) -> str:
    """Name the column that holds a fact of a metric's value."""
    return hidden(fact, metric.name)


@dataclass(frozen=True, eq=False)
class _Fact:
    """One of the facts of a formula, as a formula of the same lines."""

    formula: Any
    fact: str

    @property
    def __signature__(self) -> Any:
        """The options are those of the formula."""
        import inspect

        return inspect.signature(self.formula)

    def __call__(self, **options: Any) -> pl.Expr:
        """Return the aggregation over the lines."""
        facts: dict[str, pl.Expr] = self.formula.spread(**options)
        return facts[self.fact]


class _LineFact(_Fact):
    """A fact of a formula that first adds columns to the lines."""

    def with_values(self, lines: pl.LazyFrame, options: dict[str, Any]) -> pl.LazyFrame:
        """Add the columns that the formula reads."""
        found: pl.LazyFrame = self.formula.with_values(lines, options)
        return found


def facts_of(metric: Metric) -> tuple[str, ...]:
    """List the facts that a metric's formula knows of its value."""
    formula: Any = metric.formula
    if isinstance(formula, Share):
        return _SHARE
    return formula.facts if isinstance(formula, Spread) else ()


def _as_metric(metric: Metric, fact: str, name: str) -> Metric:
    formula: Any = metric.formula
    if isinstance(formula, Share):
        part = formula.parts()[_SHARE.index(fact)]
        return replace(metric, name=name, formula=lambda: part, n=None)
    kind = _LineFact if isinstance(formula, LineFormula) else _Fact
    return replace(metric, name=name, formula=kind(formula, fact), n=None)


def parts_of(metric: Metric) -> list[Metric]:
    """Return the numerator and the denominator of a share as metrics; nothing for any other."""
    if not isinstance(metric.formula, Share):
        return []
    return [_as_metric(metric, fact, fact_of(metric, fact)) for fact in _SHARE]


def known_values(
    table: pl.LazyFrame,
    metrics: Sequence[Metric],
    keys: Sequence[str],
    more: Sequence[Metric] = (),
) -> pl.LazyFrame:
    """Return per key every metric's value, its count, and the facts of its precision.

    Of `more` metrics only the values are read.
    """
    plain = [*more]
    plain += [_as_metric(m, f, fact_of(m, f)) for m in metrics for f in facts_of(m)]
    shares = [metric for metric in metrics if isinstance(metric.formula, Share)]
    squares = [_as_metric(m, f, fact_of(m, f + "2")) for m in shares for f in _SHARE]
    parts = [read(table, [*metrics], keys, counts=True)]
    all_keys = [*keys, *metrics[0].result_keys]
    if plain:
        parts.append(read(table, plain, keys))
    if squares:
        # The same two expressions, with squared weights in place of weights.
        parts.append(read(table.with_columns(w=pl.col("w2")), squares, keys))
    found = beside(parts, all_keys, "left")
    lacking = [
        pl.lit(None, pl.Float64).alias(fact_of(m, f))
        for m in metrics
        for f in FACTS
        if f not in (*facts_of(m), *((f"{one}2" for one in _SHARE) if m in shares else ()))
    ]
    return found.with_columns(lacking)


def columns_of_values(metric: Metric) -> list[str]:
    """List the columns that `known_values` has of one metric."""
    return [metric.name, n_of(metric.name), *(fact_of(metric, fact) for fact in FACTS)]
