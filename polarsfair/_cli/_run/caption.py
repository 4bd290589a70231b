"""What is said below values that are averages over different users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.slices import shown_n

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._engine.metric import Metric

AVERAGED = "average_over"
"""The option that says over which users a metric averages."""


def is_needed(metrics: Sequence[Metric]) -> bool:
    """Return whether some of the metrics may average over other users than the others."""
    return sum(AVERAGED in metric.option_names for metric in metrics) > 1


def split(rows: pl.DataFrame, metrics: Sequence[Metric]) -> tuple[pl.DataFrame, str | None]:
    """Take the counts out of a result; return what to say of them, if they differ anywhere."""
    averaged = [metric for metric in metrics if AVERAGED in metric.option_names]
    counts = rows.select(shown_n(metric.name) for metric in averaged)
    values = rows.drop(shown_n(metric.name) for metric in metrics)
    first, *others = (pl.col(name) for name in counts.columns)
    if counts.select(pl.all_horizontal(first.eq_missing(one) for one in others).all()).item():
        return values, None
    # With several k there is a line of the same users for each.
    at_first_k = rows["k"].eq_missing(rows["k"][0]) if "k" in values.columns else None
    shown = counts if at_first_k is None else counts.filter(at_first_k)
    sums = zip(averaged, shown.sum().row(0), strict=True)
    listed = ", ".join(f"{metric.name} {count:,}" for metric, count in sums)
    return values, (
        f"averages over different numbers of users ({listed}):"
        f" `--option {AVERAGED}=relevant` makes them one"
    )
