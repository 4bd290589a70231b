"""The by-group table: one row per group and metric, with the difference from the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

import polars as pl

from polarsfair._engine.columns import exactly
from polarsfair._engine.compare import check_rate
from polarsfair._engine.evaluate import prepare
from polarsfair._engine.group_pairs import REFERENCE, other_of
from polarsfair._engine.read import read, with_reference
from polarsfair._engine.reference import (
    GROUP,
    Everyone,
    check_counted,
    check_reference,
    raise_unless_found,
)
from polarsfair._engine.request import check_class, keys_of
from polarsfair._engine.slices import hidden, hidden_slices, n_of
from polarsfair._engine.tables import at_every_k, of_one_kind, with_same_dtypes
from polarsfair._engine.tally import check_distinct
from polarsfair._formula import clean, quotient

if TYPE_CHECKING:
    from polarsfair._engine.metric import Metric
    from polarsfair._engine.tables import Request
    from polarsfair._typing import EagerFrame, GroupKeywords, IntoFrame, IntoGroup, IntoSlices

_ORDER = hidden("order")
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
        Rates of any family, one or several.
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
        The slices, ``group``, ``metric``, ``n`` (what the value is a value of: the rows in its
        denominator, without weights, as in `evaluate`), ``value``, ``ref``, ``difference`` and
        ``ratio``, sorted by slice and group, then in the order of the call. Rows of unknown group
        are shown, but not compared.

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

    A precision is one of the selected rows, and counts them:

    >>> df = df.with_columns(fit=pl.Series([1, 0, 1, 1, 0]))
    >>> roles = {"group": "sex", "pred": "hired", "label": "fit"}
    >>> pf.by_group(df, fairness.precision, **roles).select("group", "n", "value")
    shape: (3, 3)
    ┌───────┬─────┬───────┐
    │ group ┆ n   ┆ value │
    │ ---   ┆ --- ┆ ---   │
    │ str   ┆ i64 ┆ f64   │
    ╞═══════╪═════╪═══════╡
    │ null  ┆ 0   ┆ null  │
    │ F     ┆ 1   ┆ 0.0   │
    │ M     ┆ 2   ┆ 1.0   │
    └───────┴─────┴───────┘

    A row per group and a column per metric:

    >>> df = pl.DataFrame({"sex": ["F", "F", "M"], "hired": [0, 1, 1], "fit": [0, 1, 0]})
    >>> long = pf.by_group(
    ...     df,
    ...     [fairness.base_rate, fairness.selection_rate],
    ...     group="sex",
    ...     pred="hired",
    ...     label="fit",
    ... )
    >>> long.pivot("metric", index="group", values="value")
    shape: (2, 3)
    ┌───────┬───────────┬────────────────┐
    │ group ┆ base_rate ┆ selection_rate │
    │ ---   ┆ ---       ┆ ---            │
    │ str   ┆ f64       ┆ f64            │
    ╞═══════╪═══════════╪════════════════╡
    │ F     ┆ 0.5       ┆ 0.5            │
    │ M     ┆ 0.0       ┆ 1.0            │
    └───────┴───────────┴────────────────┘
    """
    check_class(ref, group)
    call = prepare(frame, metrics, by, {**keywords, "group": group}, grouped=True)
    _check(call.metrics, call.slices)
    inner = hidden_slices(call.slices)
    keys = [*inner.values(), GROUP, *keys_of(call.metrics)]
    parts = [
        part
        for one in of_one_kind(call.requests)
        for part in _compared(one, call.metrics, inner, keys, ref)
    ]
    # The reference is written in the dtype of the group.
    shared = [*keys, *["ref"] * (not isinstance(ref, Everyone))]
    result = pl.concat(with_same_dtypes(parts, shared) if len(call.requests) > 1 else parts)
    result = result.sort(*inner.values(), GROUP, _ORDER, *keys[len(inner) + 1 :]).drop(_ORDER)
    result = result.rename({name: shown for shown, name in inner.items()})
    return call.as_given(result, frame)


def _compared(
    request: Request,
    metrics: Sequence[Metric],
    inner: Mapping[str, str],
    keys: Sequence[str],
    ref: Any,
) -> list[pl.LazyFrame]:
    """Evaluate metrics of one table for every group: a long frame per metric, with its order."""
    table, own = request.table.rename(inner), request.metrics
    slices = list(inner.values())
    schema = table.collect_schema()
    check_counted(own[0], schema)
    dtype = schema[GROUP]
    if ref is not None and not isinstance(ref, Everyone):
        check_reference(ref, dtype)
        table = raise_unless_found(table, ref)
    lines = read(table, own, [*slices, GROUP], counts=True)
    if ref is not None:
        lines = with_reference(lines, table, own, slices, ref)
    lines = at_every_k(lines, own, metrics).cache()
    return [
        _long(lines, metric, keys, ref, dtype).with_columns(
            pl.lit(metrics.index(metric)).alias(_ORDER)
        )
        for metric in own
    ]


def _check(metrics: Sequence[Metric], slices: Sequence[str]) -> None:
    check_distinct([GROUP, *(metric.name for metric in metrics)])
    keys = keys_of(metrics)
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
    value, known = exactly(metric.name), pl.col(GROUP).is_not_null()
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
