"""The by-group table: one row per group and metric, with the difference from the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

import polars as pl

from polarsfair._engine.compare import check_rate
from polarsfair._engine.evaluate import prepare
from polarsfair._engine.frames import as_given
from polarsfair._engine.group_pairs import REFERENCE, other_of
from polarsfair._engine.read import read, with_reference
from polarsfair._engine.reference import (
    GROUP,
    Everyone,
    check_counted,
    check_reference,
    raise_unless_found,
)
from polarsfair._engine.request import check_class, check_one_kind
from polarsfair._engine.slices import hidden_slices, n_of
from polarsfair._engine.tally import check_distinct
from polarsfair._formula import clean, quotient

if TYPE_CHECKING:
    from polarsfair._engine.metric import Metric
    from polarsfair._typing import EagerFrame, GroupKeywords, IntoFrame, IntoGroup, IntoSlices

_COLUMNS = ("metric", "n", "value", "ref", "difference", "ratio")


@overload
def by_group(
    frame: pl.LazyFrame,
    metrics: Metric | Sequence[Metric],
    *,
    group: IntoGroup,
    ref: Any = ...,
    by: IntoSlices | None = ...,
    **keywords: Unpack[GroupKeywords],
) -> pl.LazyFrame: ...
@overload
def by_group(
    frame: EagerFrame,
    metrics: Metric | Sequence[Metric],
    *,
    group: IntoGroup,
    ref: Any = ...,
    by: IntoSlices | None = ...,
    **keywords: Unpack[GroupKeywords],
) -> pl.DataFrame: ...
def by_group(
    frame: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    group: IntoGroup,
    ref: Any = None,
    by: IntoSlices | None = None,
    **keywords: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Return every group's value of every rate, and how it compares with a reference.

    Parameters
    ----------
    frame
        Eager, lazy, or anything with the Arrow C stream interface.
    metrics
        Rates of any family that read the same table.
    group
        Column, expression, or several of them (their intersection); or a mapping from classes to
        the columns of their probabilities.
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``. Without it ``difference`` and ``ratio`` are null.
    by
        Slices.
    **keywords
        Further roles and options, as in `evaluate`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The slices, ``group``, ``metric``, ``n`` (rows that the rate uses), ``value``,
        ``ref``, ``difference`` and ``ratio``, sorted by slice, group and metric. Rows of
        unknown group are shown, but not compared.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M", None], "hired": [0, 1, 1, 1, 0]})
    >>> pf.by_group(df, fairness.selection_rate, group="sex", pred="hired", ref="M")
    shape: (3, 7)
    ┌───────┬────────────────┬─────┬───────┬──────┬────────────┬───────┐
    │ group ┆ metric         ┆ n   ┆ value ┆ ref  ┆ difference ┆ ratio │
    │ ---   ┆ ---            ┆ --- ┆ ---   ┆ ---  ┆ ---        ┆ ---   │
    │ str   ┆ str            ┆ i64 ┆ f64   ┆ str  ┆ f64        ┆ f64   │
    ╞═══════╪════════════════╪═════╪═══════╪══════╪════════════╪═══════╡
    │ null  ┆ selection_rate ┆ 1   ┆ 0.0   ┆ null ┆ null       ┆ null  │
    │ F     ┆ selection_rate ┆ 2   ┆ 0.5   ┆ M    ┆ -0.5       ┆ 0.5   │
    │ M     ┆ selection_rate ┆ 2   ┆ 1.0   ┆ M    ┆ 0.0        ┆ 1.0   │
    └───────┴────────────────┴─────┴───────┴──────┴────────────┴───────┘
    """
    check_class(ref, group)
    request = prepare(frame, metrics, by, {**keywords, "group": group}, grouped=True)
    _check(request.metrics, request.slices)
    inner = hidden_slices(request.slices)
    table, slices = request.table.rename(inner), list(inner.values())
    keys = [*slices, *request.metrics[0].result_keys]
    schema = table.collect_schema()
    check_counted(request.metrics[0], schema)
    dtype = schema[GROUP]
    if ref is not None and not isinstance(ref, Everyone):
        check_reference(ref, dtype)
        table = raise_unless_found(table, ref)
    lines = read(table, request.metrics, [*slices, GROUP], counts=True)
    if ref is not None:
        lines = with_reference(lines, table, request.metrics, slices, ref)
    lines = lines.cache()
    result = pl.concat(
        _long(lines, metric, [*slices, GROUP, *keys[len(slices) :]], ref, dtype)
        for metric in request.metrics
    )
    result = result.sort(*slices, GROUP, "metric", *keys[len(slices) :])
    result = result.rename({name: shown for shown, name in inner.items()})
    return as_given(result, frame, *request.given.values())


def _check(metrics: Sequence[Metric], slices: Sequence[str]) -> None:
    check_distinct([GROUP, *(metric.name for metric in metrics)])
    keys = check_one_kind(metrics)
    check_distinct([GROUP, *slices, *keys])
    for metric in metrics:
        check_rate(metric, "by_group")
    for name in slices:
        if name in _COLUMNS:
            msg = f'a slice cannot be named {name!r} here: rename it with `.alias("...")`'
            raise ValueError(msg)


def _long(
    lines: pl.LazyFrame,
    metric: Metric,
    keys: Sequence[str],
    ref: Any,
    dtype: pl.DataType,
) -> pl.LazyFrame:
    value, known = pl.col(metric.name), pl.col(GROUP).is_not_null()
    if ref is None:
        other = pl.lit(None, dtype=pl.Float64)
    elif isinstance(ref, Everyone):
        other = pl.col(other_of(metric.name))
    else:
        # The reference has no other side (null); compared with itself, its difference is 0.
        other = pl.coalesce(other_of(metric.name), pl.when(REFERENCE).then(value))
    compared = pl.when(known)
    return lines.select(
        *keys,
        pl.lit(metric.name).alias("metric"),
        pl.col(n_of(metric.name)).alias("n"),
        value.alias("value"),
        compared.then(_as_column(ref, dtype)).alias("ref"),
        compared.then(clean(value - other)).alias("difference"),
        compared.then(quotient(value, other)).alias("ratio"),
    )


def _as_column(ref: Any, dtype: pl.DataType) -> pl.Expr:
    if isinstance(ref, Everyone):
        return pl.lit(ref.value)
    if isinstance(ref, Mapping):
        return pl.struct(pl.lit(value).alias(name) for name, value in ref.items()).cast(dtype)
    return pl.lit(ref).cast(dtype)
