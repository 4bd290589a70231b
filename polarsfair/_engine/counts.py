"""What a value is a value of: the number of rows, users or items in its denominator.

A metric declares it as `Metric.n`, over the lines that its formula reads. Undeclared, it is the
number of rows that have all that the metric reads. A comparison has the sum over the groups that
take part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.group_pairs import (
    OTHER_GROUP,
    REFERENCE,
    Comparison,
    enough,
    known_columns,
    other_of,
)
from polarsfair._engine.metric import Metric, OfGroups, as_they_are
from polarsfair._engine.reference import GROUP, REST, Everyone, mark_reference
from polarsfair._engine.slices import aggregated, hidden, n_of, over
from polarsfair._engine.tally import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_PART = hidden("takes part")


def known_rows(metric: Metric) -> pl.Expr:
    """Count the rows (or users) that have all that the metric reads."""
    return pl.col(metric.tally.size).filter(metric.usable).sum()


def in_lines(metric: Metric) -> dict[str, pl.Expr]:
    """Return the count as an aggregation over the lines of the formula, if they can tell it."""
    if metric.n is None:
        count = known_rows(metric) if metric.view is as_they_are else None
    else:
        count = None if isinstance(metric.n, OfGroups) else metric.n(**options_of(metric.n, metric))
    return {} if count is None else {n_of(metric.name): count.cast(pl.Int64)}


def options_of(function: Callable[..., object], metric: Metric) -> dict[str, Any]:
    """Return those of the metric's options that `function` takes."""
    return {k: metric.options[k] for k in keywords_of(function) if k in metric.options}


def in_table(
    table: pl.LazyFrame, metrics: Sequence[Metric], keys: Sequence[str]
) -> list[pl.LazyFrame]:
    """Count, per key, the rows of metrics whose lines cannot tell it."""
    others = {one: _of_groups(one) for one in metrics if not one.bases and not in_lines(one)}
    rows = [one for one, of_groups in others.items() if of_groups is None]
    plain = {n_of(metric.name): known_rows(metric).cast(pl.Int64) for metric in rows}
    parts = [aggregated(table, keys, plain)] if plain else []
    slices = [key for key in keys if key not in metrics[0].result_keys]
    return [*parts, *(_in_groups(table, m, of, slices) for m, of in others.items() if of)]


def _of_groups(metric: Metric) -> OfGroups | None:
    """Return how the metric counts groups; None if its view does not compare them."""
    if isinstance(metric.n, OfGroups):
        return metric.n if metric.n.compared else None
    compares = GROUP in metric.roles and "ref" in metric.option_names
    return OfGroups() if compares else None


def _in_groups(
    table: pl.LazyFrame, metric: Metric, of_groups: OfGroups, slices: Sequence[str]
) -> pl.LazyFrame:
    """Count the rows of the groups that a metric compares in its view."""
    lines = of_groups.view(table, slices, **options_of(of_groups.view, metric))
    name, keys = n_of(metric.name), [*slices, *metric.result_keys]
    rows = known_rows(metric) if of_groups.rows is None else of_groups.rows
    needed = of_groups.needs or (_lines_of_weight(metric),)
    needs = {hidden("need", i): each.cast(pl.Int64) for i, each in enumerate(needed)}
    known = lines.filter(pl.col(GROUP).is_not_null())
    groups = aggregated(known, [*keys, GROUP], {name: rows.cast(pl.Int64), **needs})
    own = [pl.col(need) for need in needs]
    groups = groups.with_columns(_all_positive(own).alias(_PART))
    ref, part = metric.options.get("ref"), pl.col(_PART)
    counted, compared = part, enough(part.sum())
    if isinstance(ref, Everyone):
        rest = _all_positive([over(need.sum(), keys) - need for need in own])
        groups = groups.with_columns(part & rest) if ref is REST else groups
        counted = pl.lit(value=True)
        compared = part.any() if ref is REST or of_groups.alone else compared
    elif ref is not None:
        groups = mark_reference(groups, ref, REFERENCE)
        compared = compared & (part & pl.col(REFERENCE)).any()
    summed = pl.when(compared).then(pl.col(name).filter(counted).sum()).otherwise(0)
    return aggregated(groups, keys, {name: summed})


def _all_positive(numbers: Sequence[pl.Expr]) -> pl.Expr:
    return pl.all_horizontal(number > 0 for number in numbers)


def _lines_of_weight(metric: Metric) -> pl.Expr:
    """Count the lines of some weight, with all that the metric reads."""
    weight = "w" if "w" in metric.tally.defaults else metric.tally.size
    return (metric.usable & (pl.col(weight) > 0)).sum()


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
