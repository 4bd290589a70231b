"""Sampling units: shares of rows that come in households, users or schools.

The table is counted with the unit as one more slice. A share's variance is that of a ratio of
totals over units, by linearisation: how far each unit's numerator is from its share of the
denominator. Everything else is read off the table in which the units are summed up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._audit.attributes import KNOWN
from polarsfair._audit.values import fact_of, parts_of
from polarsfair._engine.faults import Fault, guarded
from polarsfair._engine.read import read
from polarsfair._engine.slices import aggregated, hidden, joined, n_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._engine.metric import Metric
    from polarsfair._engine.tally import Tally

UNIT = hidden("unit")
"""The column of the unit."""


def known_units(table: pl.LazyFrame) -> pl.LazyFrame:
    """Return the table, or raise if the unit of some rows is unknown."""
    lacking = hidden("without unit")
    message = (
        "`unit` is null in some rows, and rows of no unit have no variance: leave them out,"
        " `frame.filter(pl.col(...).is_not_null())`, or give each a unit of its own"
    )
    number = {lacking: pl.col(UNIT).is_null().sum()}
    return guarded(table, [], number, [Fault(pl.col(lacking) > 0, message)])


def without_units(table: pl.LazyFrame, tally: Tally) -> pl.LazyFrame:
    """Return the table in which all units are summed up."""
    columns = table.collect_schema().names()
    sums = {name: how for name, how in tally.sums_of(columns).items() if name in columns}
    keys = [name for name in columns if name not in (UNIT, *sums)]
    return aggregated(table, keys, sums)


def with_unit_spread(
    lines: pl.LazyFrame,
    by_unit: pl.LazyFrame,
    metrics: Sequence[Metric],
    keys: Sequence[str],
) -> pl.LazyFrame:
    """Add the variance of every share over units, and count units in place of rows.

    `by_unit` has the lines of `keys` and units.
    """
    shares = [metric for metric in metrics if parts_of(metric)]
    if not shares:
        return lines
    within = [*keys, *shares[0].result_keys]
    parts = [part for metric in shares for part in parts_of(metric)]
    each = joined(
        read(by_unit, parts, [*keys, UNIT]),
        lines.select(*within, *(metric.name for metric in shares)),
        within,
        how="left",
    )
    facts = {
        name: value
        for metric in shares
        for name, value in zip(
            (fact_of(metric, "variance"), fact_of(metric, "units")), _spread(metric), strict=True
        )
    }
    known = lines.drop(list(facts))
    found = joined(known, aggregated(each, within, facts), within, how="left").with_columns(
        pl.col(fact_of(metric, "units")).fill_null(0).cast(pl.Int64).alias(n_of(metric.name))
        for metric in shares
    )
    return _with_others(found.with_row_index(LINE).cache(), each, shares, within)


LINE, OTHERS = hidden("line"), hidden("other lines")
"""The number of a line, and the lines of its block with which it shares units."""


def shared_of(name: str) -> str:
    """Name the column of sums of products over the units that a line shares with others."""
    return hidden("shared", name)


def _with_others(
    lines: pl.LazyFrame, each: pl.LazyFrame, shares: Sequence[Metric], within: Sequence[str]
) -> pl.LazyFrame:
    """Add what groups with common units have in common: their values vary together."""
    block = [name for name in within if name not in (KNOWN, *_attributes(within))]
    names = {metric.name: shared_of(metric.name) for metric in shares}
    denominators = [fact_of(metric, "denominator") for metric in shares]
    totals = lines.select(*within, LINE, pl.col(denominators).name.prefix(_TOTAL))
    apart = (
        joined(each, totals, within)
        .filter(KNOWN)
        .select(
            *block,
            UNIT,
            LINE,
            *(_share_of_total(metric).alias(names[metric.name]) for metric in shares),
        )
    )
    others = apart.rename({name: _OTHER + name for name in (LINE, *names.values())})
    pairs = joined(apart, others, [*block, UNIT]).filter(pl.col(LINE) != pl.col(_OTHER + LINE))
    products = [(pl.col(name) * pl.col(_OTHER + name)).sum().alias(name) for name in names.values()]
    found = pairs.group_by(LINE, _OTHER + LINE).agg(products)
    listed = found.group_by(LINE).agg(
        pl.col(_OTHER + LINE).alias(OTHERS), *(pl.col(name) for name in names.values())
    )
    return lines.join(listed, on=LINE, how="left")


_TOTAL, _OTHER = hidden("total "), hidden("other ")


def _attributes(names: Sequence[str]) -> list[str]:
    """List the columns of attributes among the keys: those after the attribute set."""
    at = list(names).index(KNOWN)
    return [name for name in names[at + 1 :] if name.startswith(hidden("attribute "))]


def _share_of_total(metric: Metric) -> pl.Expr:
    """Return what a unit adds to how far the share is from its mean."""
    a, b = (pl.col(fact_of(metric, part)) for part in ("numerator", "denominator"))
    return (a - pl.col(metric.name) * b) / pl.col(_TOTAL + fact_of(metric, "denominator"))


def _spread(metric: Metric) -> tuple[pl.Expr, pl.Expr]:
    """Return the variance of a share over its units, and their number."""
    a, b = (pl.col(fact_of(metric, part)) for part in ("numerator", "denominator"))
    units = (b > 0).sum().cast(pl.Float64)
    off = a - pl.col(metric.name) * b
    variance = units / (units - 1) * (off * off).sum() / (b.sum() * b.sum())
    return variance.fill_nan(None), units
