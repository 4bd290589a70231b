"""What a value is a value of: the number of rows, users or items in its denominator.

A metric declares it as `Metric.n`, over the lines that its formula reads. Undeclared, it is the
number of rows that have all that the metric reads. A comparison has the sum over the groups that
take part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.group_pairs import (
    OTHER_GROUP,
    REFERENCE,
    Comparison,
    enough,
    known_columns,
    other_of,
)
from polarsfair._engine.metric import Metric, as_they_are
from polarsfair._engine.reference import GROUP, REST, Everyone, mark_reference
from polarsfair._engine.slices import aggregated, n_of
from polarsfair._engine.tally import keywords_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def known_rows(metric: Metric) -> pl.Expr:
    """Count the rows (or users) that have all that the metric reads."""
    return pl.col(metric.tally.size).filter(metric.usable).sum()


def in_lines(metric: Metric) -> dict[str, pl.Expr]:
    """Return the count as an aggregation over the lines of the formula, if they can tell it."""
    if metric.n is not None:
        taken = keywords_of(metric.n)
        options = {name: metric.options[name] for name in taken if name in metric.options}
        count = metric.n(**options)
    elif metric.view is as_they_are:
        count = known_rows(metric)
    else:
        return {}
    return {n_of(metric.name): count.cast(pl.Int64)}


def in_table(
    table: pl.LazyFrame, metrics: Sequence[Metric], keys: Sequence[str]
) -> list[pl.LazyFrame]:
    """Count, per key, the rows of metrics whose lines cannot tell it."""
    others = [one for one in metrics if not one.bases and not in_lines(one)]
    plain = {n_of(m.name): known_rows(m).cast(pl.Int64) for m in others if not _compares(m)}
    parts = [aggregated(table, keys, plain)] if plain else []
    return [*parts, *(_of_groups(table, one, keys) for one in others if _compares(one))]


def _compares(metric: Metric) -> bool:
    """Return whether the metric's view compares groups."""
    return GROUP in metric.roles and "ref" in metric.option_names


def _of_groups(table: pl.LazyFrame, metric: Metric, keys: Sequence[str]) -> pl.LazyFrame:
    """Count the rows of the groups that a metric compares in its view: those that have rows."""
    ref, count = metric.options.get("ref"), pl.col(n_of(metric.name))
    weight = "w" if "w" in table.collect_schema() else metric.tally.size
    has_rows = pl.col(weight).filter(metric.usable).sum() > 0
    each = {n_of(metric.name): known_rows(metric).cast(pl.Int64), REFERENCE: has_rows}
    known = table.filter(pl.col(GROUP).is_not_null())
    groups = aggregated(known, [*keys, GROUP], each).filter(REFERENCE)
    several = enough(pl.len())
    if ref is not None and not isinstance(ref, Everyone):
        groups = mark_reference(groups, ref, REFERENCE)
        several = several & pl.col(REFERENCE).any()
    elif isinstance(ref, Everyone) and ref is not REST:
        several = pl.len() > 0
    summed = pl.when(several).then(count.sum()).otherwise(0)
    return aggregated(groups, keys, {n_of(metric.name): summed})


def of_comparison(metric: Metric, number: int, own: Sequence[str], sides: str) -> pl.Expr:
    """Sum the counts of the groups that take part in a comparison, over the lines of one slice.

    A group takes part if it has all values that are compared, and something to be compared with.
    With everyone or the rest, each row of known group is on one side or the other. A group's count
    is the metric's own, else the largest of those of its bases.

    Parameters
    ----------
    number, own
        See `Comparison`.
    sides
        What the lines are: "groups", "pairs" or groups beside a reference.
    """
    each = pl.max_horizontal(pl.col(n_of(name)) for name in own)
    if not isinstance(metric.formula, Comparison):
        return each.filter(pl.col(own[0]).is_not_null()).sum()
    known = pl.col(known_columns(number, own)[0]).is_not_null()
    if sides == "pairs":
        # Each group's line beside itself stands for the group.
        known = known & (pl.col(GROUP) == pl.col(OTHER_GROUP)).fill_null(value=False)
    ref = metric.options.get("ref")
    beside = pl.all_horizontal(pl.col(other_of(name)).is_not_null() for name in own)
    if ref is None:
        takes_part, any_pair = known, enough(known.sum())
    elif isinstance(ref, Everyone):
        takes_part, any_pair = pl.col(GROUP).is_not_null(), (known & beside).any()
    else:
        takes_part, any_pair = known, (known & beside).any()
    return pl.when(any_pair).then(each.filter(takes_part).sum()).otherwise(0)
