"""What a comparison of two models returns: a row per slice, metric and key, and how it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polarsfair._audit.p_values import adjusted
from polarsfair._engine.slices import hidden

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._audit.limits import Floats, Limits
    from polarsfair._engine.metric import Metric

ORDER = hidden("order")
"""The place of a metric in the call."""

NUMBERS = ("value", "other_value", "change", "change_low", "change_high", "p_value")
RESULT: dict[str, type[pl.DataType]] = {
    "n": pl.Int64,
    **dict.fromkeys(NUMBERS, pl.Float64),
    "p_adjusted": pl.Float64,
    "method": pl.String,
}
"""The columns after the slices, the metric and its keys."""

LONG = [ORDER, "n", *NUMBERS, "method"]
"""What every kind of metric is brought to, besides hidden slices and keys."""


@dataclass(frozen=True)
class Settings:
    """The options of a comparison."""

    confidence: float
    adjust: str
    draws: int
    seed: int


def finished(
    parts: Sequence[pl.LazyFrame],
    metrics: Sequence[Metric],
    slices: Sequence[str],
    keys: Sequence[str],
    settings: Settings,
) -> pl.LazyFrame:
    """Stack the changes of several kinds of metric, adjust their p-values, and sort them."""
    columns = [*slices, *keys, *LONG]
    long = pl.concat([part.select(columns) for part in parts])
    schema = long.collect_schema()
    names = pl.Series([metric.name for metric in metrics], dtype=pl.String)
    shown: list[tuple[str, Any]] = [(name, schema[name]) for name in slices]
    shown += [("metric", pl.String), *((name, schema[name]) for name in keys), *RESULT.items()]

    def ordered(lines: pl.DataFrame) -> pl.DataFrame:
        lines = lines.sort([*slices, ORDER, *keys])
        p_values = lines["p_value"].fill_null(np.nan).to_numpy()
        own = pl.Series("p_adjusted", _adjusted(p_values, numbered(lines, slices), settings.adjust))
        metric = names.gather(lines[ORDER]).alias("metric")
        numbers = pl.col(*NUMBERS, "p_adjusted").fill_nan(None)
        return lines.with_columns(own, metric).with_columns(numbers).select(n for n, _ in shown)

    return small(long, ordered, pl.Schema(shown))


def correlation(one: Floats, two: Floats, both: Floats) -> Floats:
    """Return the correlation of two values from their variances and covariance.

    It is 0 where one of them does not vary.
    """
    varies = (one > 0) & (two > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(varies, both / np.sqrt(one * two), 0.0)
    return np.clip(found, -1.0, 1.0)


def columns_of_change(
    first: Limits, other: Limits, change: Limits, p_value: Floats, methods: Sequence[str]
) -> dict[str, Any]:
    """Return the columns of the result; a change that is not defined has no p-value or method."""
    known = ~np.isnan(change.value)
    method = np.where(known, np.array(methods, dtype=object), "none")
    return {
        "value": first.value,
        "other_value": other.value,
        "change": change.value,
        "change_low": change.low,
        "change_high": change.high,
        "p_value": np.where(known, p_value, np.nan),
        "method": pl.Series(method.tolist(), dtype=pl.String),
    }


def small(lines: pl.LazyFrame, function: Any, schema: pl.Schema) -> pl.LazyFrame:
    """Call a Python function with all lines of a small table."""
    return lines.map_batches(
        function,
        schema=schema,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )


def numbered(ordered: pl.DataFrame, names: Sequence[str]) -> Any:
    """Number the slices of sorted lines."""
    if not names or not ordered.height:
        return np.zeros(ordered.height, dtype=np.int64)
    return ordered.select(pl.struct(names).rle_id())[:, 0].to_numpy().astype(np.int64)


def _adjusted(p_values: Floats, number: Any, how: str) -> Floats:
    """Adjust the p-values of every slice on their own."""
    edges = np.searchsorted(number, np.arange(number.max(initial=-1) + 2))
    found = [adjusted(part, how) for part in np.split(p_values, edges[1:-1])]
    return np.concatenate(found)
