"""`audit`: every group of every attribute, with intervals and tests, from one scan of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._audit._evidence.answer import answered
from polarsfair._audit._evidence.counted import counted_rows, counted_tables
from polarsfair._audit._evidence.defaults import default_metrics, metrics_of_tables
from polarsfair._audit._evidence.question import attribute_columns, question_of
from polarsfair._audit._evidence.rows import columns_of_result
from polarsfair._audit.chosen import LARGEST
from polarsfair._engine.columns import columns_of
from polarsfair._engine.evaluate import stored_tables
from polarsfair._engine.frames import as_given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._audit._evidence.question import Adjust
    from polarsfair._audit.attributes import Intersections
    from polarsfair._engine.metric import Metric
    from polarsfair._typing import IntoFrame, IntoGroup, IntoSlices


def audit(
    frame: IntoFrame,
    *,
    group: IntoGroup | None = None,
    metrics: Metric | Sequence[Metric] | None = None,
    ref: Any = LARGEST,
    by: IntoSlices | None = None,
    intersections: Intersections = "pairs",
    min_n: float = 30,
    min_share: float = 0.0,
    confidence: float = 0.95,
    adjust: Adjust = "holm",
    shrink: bool = False,
    max_groups: int = 10_000,
    draws: int = 2_000,
    seed: int = 0,
    **keywords: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Return the evidence."""
    attributes, slices = attribute_columns(group), columns_of(by)
    question = question_of(
        attributes,
        ref=ref,
        intersections=intersections,
        min_n=min_n,
        min_share=min_share,
        confidence=confidence,
        adjust=adjust,
        shrink=shrink,
        max_groups=max_groups,
        draws=draws,
        seed=seed,
    )
    _check_slices(slices)
    chosen = default_metrics(keywords) if metrics is None else metrics
    counted = counted_rows(frame, chosen, slices, attributes, question, keywords)
    return counted.call.as_given(answered(counted, question), frame)


def audit_table(
    table: Any,
    *,
    group: IntoGroup | None = None,
    metrics: Metric | Sequence[Metric] | None = None,
    ref: Any = LARGEST,
    by: IntoSlices | None = None,
    intersections: Intersections = "pairs",
    min_n: float = 30,
    min_share: float = 0.0,
    confidence: float = 0.95,
    adjust: Adjust = "holm",
    shrink: bool = False,
    max_groups: int = 10_000,
    draws: int = 2_000,
    seed: int = 0,
    **options: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Return the evidence of stored tables."""
    attributes, slices = attribute_columns(group), columns_of(by)
    question = question_of(
        attributes,
        ref=ref,
        intersections=intersections,
        min_n=min_n,
        min_share=min_share,
        confidence=confidence,
        adjust=adjust,
        shrink=shrink,
        max_groups=max_groups,
        draws=draws,
        seed=seed,
    )
    _check_slices(slices)
    chosen = metrics_of_tables(table) if metrics is None else metrics
    counted = counted_tables(table, chosen, slices, attributes, question, options)
    return as_given(answered(counted, question), *stored_tables(table))


def _check_slices(by: Sequence[pl.Expr]) -> None:
    """Raise if a slice is named like a column of the result."""
    for name in (column.meta.output_name() for column in by):
        if name in columns_of_result(shrink=True):
            msg = (
                f"a slice cannot be named {name!r}, which is a column of the result: rename it,"
                f' `by=pl.col("{name}").alias("{name}_slice")`'
            )
            raise ValueError(msg)
