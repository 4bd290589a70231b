"""From a table to values: view, then formula, then one frame for all metrics."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import polars as pl

from polarsfair._engine.metric import Metric, _taken_by
from polarsfair._engine.slices import inner_names

if TYPE_CHECKING:
    from collections.abc import Sequence


def read(table: pl.LazyFrame, metrics: Sequence[Metric], keys: Sequence[str]) -> pl.LazyFrame:
    """Evaluate metrics whose options are resolved: a line per key, a column per metric."""
    parts = [
        _aggregate(_lines(table, members, keys), members, [*keys, *members[0].result_keys()])
        for members in map(_numbered, _sharing_a_view(metrics))
    ]
    all_keys = [*keys, *metrics[0].result_keys()]
    if len(parts) > 1 and not all_keys:
        return pl.concat(parts, how="horizontal")
    # Views of one table have the same slices, but may name more or fewer classes.
    how: Literal["left", "full"] = "left" if all_keys == list(keys) else "full"
    return functools.reduce(
        lambda left, right: left.join(right, on=all_keys, how=how, nulls_equal=True, coalesce=True),
        parts,
    )


def read_sorted(
    table: pl.LazyFrame, metrics: Sequence[Metric], slices: Sequence[str]
) -> pl.LazyFrame:
    """Evaluate, in the order of the call: slices, keys, then a column per metric, sorted."""
    inner = inner_names(slices)
    keys = [*inner.values(), *metrics[0].result_keys()]
    result = read(table.rename(inner) if inner else table, metrics, list(inner.values()))
    result = result.select(*keys, *(metric.name for metric in metrics))
    result = result.sort(keys) if keys else result
    return result.rename({name: shown for shown, name in inner.items()}) if inner else result


def _lines(table: pl.LazyFrame, members: Sequence[Metric], keys: Sequence[str]) -> pl.LazyFrame:
    view = members[0].view
    return view(table, keys, members, **_taken_by(view, members[0]))


def _aggregate(lines: pl.LazyFrame, members: Sequence[Metric], keys: Sequence[str]) -> pl.LazyFrame:
    values = {
        # A comparison's formula reads the columns of its bases; other metrics have none.
        m.name: m.formula(*(base.name for base in m.bases), **_taken_by(m.formula, m)).cast(
            pl.Float64
        )
        for m in members
    }
    found = lines.group_by(keys).agg(**values) if keys else lines.select(**values)
    # Negative zero, such as an entropy's, would make a quotient by it infinite on the wrong side.
    return found.with_columns(
        pl.when(pl.col(name) == 0).then(0.0).otherwise(name).alias(name) for name in values
    )


def _sharing_a_view(metrics: Sequence[Metric]) -> list[list[Metric]]:
    """Put metrics together that read the same lines, so that the lines are made once."""
    shared: dict[tuple[object, str], list[Metric]] = {}
    for metric in metrics:
        same = (metric.view, repr(_taken_by(metric.view, metric)))
        shared.setdefault(same, []).append(metric)
    return list(shared.values())


def _numbered(members: Sequence[Metric]) -> list[Metric]:
    """Number what is compared, and how: the columns of a view are named by these numbers.

    Numbers are the same in every process, so that two runs make the same plan.
    """
    bases: dict[tuple[object, str, str], str] = {}
    formulas: dict[object, int] = {}
    for member in members:
        formulas.setdefault(member.formula, len(formulas))
        for base in member.bases:
            same = (base.formula, base.name, repr(dict(base.options)))
            bases.setdefault(same, f"{base.name}|{len(bases)}")

    def numbered(member: Metric) -> Metric:
        if not member.bases:
            return member
        named = tuple(
            base.alias(bases[base.formula, base.name, repr(dict(base.options))])
            for base in member.bases
        )
        formula = functools.partial(member.formula, formulas[member.formula])
        return replace(member, bases=named, formula=formula)

    return [numbered(member) for member in members]
