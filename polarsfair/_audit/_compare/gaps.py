"""How far the largest gap between groups may be off: by no more than the pair that is off most.

Replicates of a gap are larger than the gap, most of all without one, so that their percentiles
exclude the truth. The distance of each pair from its own value has no such bias, and the largest
value of all pairs moves by at most the largest of these distances.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._audit.draws import DRAW, FEWEST, MOST
from polarsfair._engine.columns import exactly
from polarsfair._engine.evaluate import completed
from polarsfair._engine.group_pairs import OTHER_GROUP, Comparison, other_of
from polarsfair._engine.read import read
from polarsfair._engine.reference import GROUP
from polarsfair._engine.slices import aggregated, hidden, joined, over
from polarsfair._formula import log_magnitude
from polarsfair.fairness._decisions.rates import decisions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._engine.metric import Metric

MODEL = hidden("model")
REACH = hidden("reach")
"""How far a change of gaps may be off."""

_PAIR, _SAMPLE, _FARTHEST = hidden("pair"), hidden("sample"), hidden("farthest")


def is_gap(metric: Metric) -> bool:
    """Return whether a metric is the largest magnitude of all pairs of groups."""
    known = isinstance(metric.formula, Comparison) and not metric.result_keys
    return known and metric.options.get("ref") is None


def reach_of(
    tables: tuple[pl.LazyFrame, pl.LazyFrame],
    values: pl.LazyFrame,
    metric: Metric,
    slices: Sequence[str],
    confidence: float,
) -> pl.LazyFrame:
    """Return, per slice, how far the change of a gap may be off; null if it cannot be drawn.

    `tables` are the one with a line per slice, model and cell, and its replicates; `values` are the
    gaps of both models.
    """
    sample, drawn = (_pairs(table, metric, keys) for table, keys in _keyed(tables, slices))
    on = [*slices, MODEL, GROUP, OTHER_GROUP]
    known = sample.select(*on, pl.col(_PAIR).alias(_SAMPLE))
    both = joined(drawn, known, on)
    ratios = _is_ratio(metric)
    # Of ratios the logarithms are compared.
    off = (pl.col(_PAIR) / pl.col(_SAMPLE)).log() if ratios else pl.col(_PAIR) - pl.col(_SAMPLE)
    distance = off.abs().filter(off.is_finite()).max()
    farthest = aggregated(both, [*slices, DRAW, MODEL], {_FARTHEST: distance})
    if ratios:
        gaps = values.select(*slices, MODEL, exactly(metric.name).alias(_SAMPLE))
        farthest = joined(farthest, gaps, [*slices, MODEL])
        grown = pl.col(_SAMPLE) * (pl.col(_FARTHEST).exp() - 1)
        farthest = farthest.with_columns(grown.alias(_FARTHEST))
    moved = aggregated(farthest, [*slices, DRAW], {REACH: pl.col(_FARTHEST).sum()})
    enough = pl.col(REACH).count() >= FEWEST
    reach = pl.when(enough).then(pl.col(REACH).quantile(confidence, "linear"))
    return aggregated(moved, slices, {REACH: reach})


def _keyed(
    tables: tuple[pl.LazyFrame, pl.LazyFrame], slices: Sequence[str]
) -> list[tuple[pl.LazyFrame, list[str]]]:
    return [(tables[0], [*slices, MODEL]), (tables[1], [*slices, DRAW, MODEL])]


def _is_ratio(metric: Metric) -> bool:
    return isinstance(metric.formula, Comparison) and metric.formula.magnitude is log_magnitude


def _pairs(table: pl.LazyFrame, metric: Metric, keys: Sequence[str]) -> pl.LazyFrame:
    """Return the statistic of every ordered pair of groups, in as many draws as are affordable."""
    bases = [replace(b, name=hidden("base", i)) for i, b in enumerate(metric.bases)]
    own = [base.name for base in bases]
    lines = read(completed(table, decisions, bases), bases, [*keys, GROUP])
    lines = lines.filter(pl.all_horizontal(pl.col(n).is_not_null() for n in (GROUP, *own)))
    groups = over(pl.len(), keys).cast(pl.Int64)
    draws = MOST // (2 * groups * groups)
    lines = lines.filter(draws >= FEWEST)
    if DRAW in keys:
        lines = lines.filter(pl.col(DRAW) < draws)
    others = lines.rename({GROUP: OTHER_GROUP, **{name: other_of(name) for name in own}})
    both = joined(lines, others, keys).filter(pl.col(GROUP) != pl.col(OTHER_GROUP))
    formula = metric.formula
    assert isinstance(formula, Comparison)
    pair = formula.pair(*(pl.col(n) for n in own), *(pl.col(other_of(n)) for n in own))
    return both.select(*keys, GROUP, OTHER_GROUP, pair.alias(_PAIR))
