"""From a table to values: view, then formula, then one frame for all metrics.

A metric with bases is a comparison: its bases are read for every group, the values of two groups
are put in one line (`group_pairs`), and its formula makes one number of them.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polarsfair._engine.columns import exactly
from polarsfair._engine.counts import in_lines, in_table, of_comparison, options_of
from polarsfair._engine.group_pairs import (
    Comparison,
    beside_group,
    every_pair,
    of_the_rest,
    other_of,
    sums_of_the_rest,
)
from polarsfair._engine.metric import LineFormula, Metric, as_they_are
from polarsfair._engine.reference import GROUP, OVERALL, Everyone
from polarsfair._engine.slices import aggregated, hidden, hidden_slices, joined, n_of, shown_n

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._engine.tally import Tally


_BASE = hidden("base ")


def read(
    table: pl.LazyFrame, metrics: Sequence[Metric], keys: Sequence[str], *, counts: bool = False
) -> pl.LazyFrame:
    """Evaluate metrics whose options are resolved: a line per key, a column per metric.

    With `counts`, the hidden column `n_of(name)` beside each value counts what it is a value of.
    """
    parts = [_values(table, members, keys, counts=counts) for members in _sharing_lines(metrics)]
    all_keys = [*keys, *metrics[0].result_keys]
    # Views of one table have the same slices, but may name more or fewer classes.
    values = beside(parts, all_keys, "left" if all_keys == list(keys) else "full")
    more = in_table(table, metrics, all_keys) if counts else []
    if not more:
        return values
    of_table = [n_of(m.name) for m in metrics if not m.bases and not in_lines(m)]
    return beside([values, *more], all_keys, "left").with_columns(pl.col(of_table).fill_null(0))


def beside(
    parts: Sequence[pl.LazyFrame], keys: Sequence[str], how: Literal["left", "full"]
) -> pl.LazyFrame:
    """Join the columns of several frames with the same keys."""
    if len(parts) > 1 and not keys:
        return pl.concat(parts, how="horizontal")
    return functools.reduce(
        lambda left, right: left.join(right, on=keys, how=how, nulls_equal=True, coalesce=True),
        parts,
    )


def read_sorted(
    table: pl.LazyFrame, metrics: Sequence[Metric], slices: Sequence[str], *, counts: bool = False
) -> pl.LazyFrame:
    """Evaluate, in the order of the call: slices, keys, then a column per metric, sorted.

    With `counts`, each value is followed by the column `shown_n(name)`.
    """
    inner = hidden_slices(slices)
    hidden_keys = list(inner.values())
    result = read(table.rename(inner) if inner else table, metrics, hidden_keys, counts=counts)
    return arranged(result, metrics, inner, metrics[0].result_keys, counts=counts)


def arranged(
    result: pl.LazyFrame,
    metrics: Sequence[Metric],
    inner: Mapping[str, str],
    keys: Sequence[str],
    *,
    counts: bool,
) -> pl.LazyFrame:
    """Return values as the caller sees them: slices and keys, by which they are sorted, values.

    `inner` maps the caller's names of the slices to the hidden ones.
    """
    all_keys = [*inner.values(), *keys]
    names = [[m.name, n_of(m.name)] if counts else [m.name] for m in metrics]
    result = result.select(*all_keys, *(exactly(name) for each in names for name in each))
    result = result.sort(all_keys) if all_keys else result
    if counts:
        result = result.rename({n_of(metric.name): shown_n(metric.name) for metric in metrics})
    return result.rename({name: shown for shown, name in inner.items()}) if inner else result


def _sharing_lines(metrics: Sequence[Metric]) -> list[list[Metric]]:
    """Group the metrics that read the same lines, so that the lines are made once."""
    shared: dict[tuple[object, str, str], list[Metric]] = {}
    for metric in metrics:
        same = (metric.view, repr(options_of(metric.view, metric)), _sides(metric))
        shared.setdefault(same, []).append(metric)
    return list(shared.values())


def _sides(metric: Metric) -> str:
    """Name what the lines of a comparison are; empty for any other metric."""
    if not metric.bases:
        return ""
    ref, formula = metric.options.get("ref"), metric.formula
    if ref is not None and isinstance(formula, Comparison):
        return f"groups beside {ref!r}"
    in_pairs = isinstance(formula, Comparison) and formula.over_pairs is None
    return "pairs" if in_pairs else "groups"


def _values(
    table: pl.LazyFrame, members: Sequence[Metric], keys: Sequence[str], *, counts: bool
) -> pl.LazyFrame:
    """Evaluate metrics that read the same lines."""
    first = members[0]
    plain = first.view is as_they_are
    lines = table if plain else first.view(table, keys, **options_of(first.view, first))
    if first.bases:
        return _compared(lines, members, keys, counts=counts)
    for member in members:
        if isinstance(member.formula, LineFormula):
            lines = member.formula.with_values(lines, options_of(member.formula, member))
    formulas = {m.name: m.formula(**options_of(m.formula, m)) for m in members}
    numbers = {k: v for m in members for k, v in in_lines(m).items()} if counts else {}
    return _aggregate(lines, formulas, numbers, [*keys, *first.result_keys])


def _aggregate(
    lines: pl.LazyFrame,
    formulas: dict[str, pl.Expr],
    counts: dict[str, pl.Expr],
    keys: Sequence[str],
) -> pl.LazyFrame:
    values = {name: formula.cast(pl.Float64) for name, formula in formulas.items()}
    # Negative zero, such as an entropy's, would make a quotient by it infinite on the wrong side.
    return aggregated(lines, keys, values | counts).with_columns(
        pl.when(exactly(name) == 0).then(0.0).otherwise(exactly(name)).alias(name)
        for name in values
    )


def _compared(
    table: pl.LazyFrame, members: Sequence[Metric], keys: Sequence[str], *, counts: bool
) -> pl.LazyFrame:
    """Evaluate comparisons: join every group's values with the other side's, reduce them."""
    members = [_with_own_n(member) for member in members] if counts else members
    columns, bases = _numbered_bases(members)
    lines, sides = _side_by_side(table, members[0], bases, keys, counts=counts), _sides(members[0])
    compared = [(m.formula, tuple(columns[_identity(base)] for base in m.bases)) for m in members]
    numbers = {pair: number for number, pair in enumerate(dict.fromkeys(compared))}
    found = [(how, i, own) for (how, own), i in numbers.items() if isinstance(how, Comparison)]
    lines = lines.with_columns(v for how, i, own in found for v in how.known_values(i, own))
    if sides != "groups":
        lines = lines.with_columns(how.statistic(i, own) for how, i, own in found)
        lines = lines.with_columns(how.size(i) for how, i, _ in found)
    formulas = {
        m.name: m.formula(numbers[pair], *pair[1], **options_of(m.formula, m))
        for m, pair in zip(members, compared, strict=True)
    }
    of_groups = {
        n_of(m.name): of_comparison(m, numbers[pair], pair[1], sides)
        for m, pair in zip(members, compared, strict=True)
        if counts
    }
    return _aggregate(lines, formulas, of_groups, [*keys, *members[0].result_keys])


def _with_own_n(member: Metric) -> Metric:
    """Let every base count what the comparison declares for one group, if it does."""
    if member.n is None:
        return member
    return replace(member, bases=tuple(replace(base, n=member.n) for base in member.bases))


def _side_by_side(
    table: pl.LazyFrame,
    member: Metric,
    bases: Sequence[Metric],
    keys: Sequence[str],
    *,
    counts: bool,
) -> pl.LazyFrame:
    """Evaluate the bases for every group, and add the values of the other side if there is one."""
    lines, sides = _own_values(table, bases, keys, counts=counts), _sides(member)
    if sides == "pairs":
        return every_pair(lines, [b.name for b in bases], [*keys, *bases[0].result_keys])
    if sides == "groups":
        return lines
    return with_reference(lines, table, bases, keys, member.options["ref"])


def _identity(base: Metric) -> tuple[object, ...]:
    return base.formula, base.n, base.name, repr(dict(base.options))


def _numbered_bases(
    members: Sequence[Metric],
) -> tuple[dict[tuple[object, ...], str], list[Metric]]:
    """Name the distinct bases by number, which is the same in every process."""
    bases = {_identity(base): base for member in members for base in member.bases}
    names = {same: f"{_BASE}{number}" for number, same in enumerate(bases)}
    return names, [base.alias(names[same]) for same, base in bases.items()]


def _own_values(
    table: pl.LazyFrame, bases: Sequence[Metric], keys: Sequence[str], *, counts: bool
) -> pl.LazyFrame:
    """Evaluate the bases for every group; the unknown group keeps its line, without values."""
    lines = read(table, bases, [*keys, GROUP], counts=counts)
    known = pl.col(GROUP).is_not_null()
    return lines.with_columns(
        pl.when(known).then(pl.col(base.name)).alias(base.name) for base in bases
    )


def with_reference(
    lines: pl.LazyFrame,
    table: pl.LazyFrame,
    bases: Sequence[Metric],
    keys: Sequence[str],
    ref: Any,
) -> pl.LazyFrame:
    """Add the reference's values to every group's own; null in the reference's own line."""
    join_on = [*keys, *bases[0].result_keys]
    columns = [base.name for base in bases]
    if not isinstance(ref, Everyone):
        return beside_group(lines, columns, join_on, ref)
    known = table.filter(pl.col(GROUP).is_not_null())
    renamed = {column: other_of(column) for column in columns}
    if ref is OVERALL:
        return joined(lines, read(known, bases, keys).rename(renamed), join_on, how="left")
    rest = read(rest_of(known, bases[0].tally, keys), bases, [*keys, GROUP]).rename(renamed)
    return joined(lines, rest, [*join_on, GROUP], how="left")


def rest_of(table: pl.LazyFrame, tally: Tally, keys: Sequence[str]) -> pl.LazyFrame:
    """Return the lines of all other groups: as sums, if the lines of one cell simply add up."""
    columns = table.collect_schema().names()
    cells = [cell for cell in tally.cells if cell in columns and cell != GROUP]
    sums = {name: how for name, how in tally.sums_of(columns).items() if name in columns}
    if not tally.mergeable or {*keys, GROUP, *cells, *sums} != set(columns):
        return of_the_rest(table, keys)
    if all(how.meta.eq(pl.col(name).sum()) for name, how in sums.items()):
        return sums_of_the_rest(table, keys, cells, list(sums))
    if any(how.meta.eq(pl.col(name).max()) for name, how in sums.items()):
        # A fact of each group, such as its number of items, is not that of several groups.
        return of_the_rest(table, keys)
    # Views expect one line per cell, and moments merge by a formula of their own.
    return aggregated(of_the_rest(table, keys), [*keys, GROUP, *cells], sums)
