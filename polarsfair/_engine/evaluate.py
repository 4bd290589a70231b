"""`evaluate`: from rows to values. `measure`: from stored tables to values.

Both build one lazy graph: the table is made (or merged) once, and every metric reads it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import polars as pl

from polarsfair._engine.columns import check_anywhere, check_columns, columns_of
from polarsfair._engine.frames import as_given, as_lazy, read_once
from polarsfair._engine.metric import Metric
from polarsfair._engine.read import read_sorted
from polarsfair._engine.reference import check_ref, raise_unless_found
from polarsfair._engine.request import (
    all_options,
    check_class,
    check_names,
    check_roles,
    check_table,
    listed_metrics,
    on_one_table,
    shared_tally,
    tally_options,
    variant_for,
    variant_on,
)
from polarsfair._engine.stored import merge, stack
from polarsfair._engine.tally import (
    Tally,
    check_keywords,
    given_roles,
    slice_names,
)
from polarsfair._typing import FRAME_ROLES, ROLES

if TYPE_CHECKING:
    from polarsfair._typing import EagerFrame, IntoFrame, IntoSlices, Keywords


@overload
def evaluate(
    frame: pl.LazyFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    counts: Any = ...,
    **keywords: Unpack[Keywords],
) -> pl.LazyFrame: ...


@overload
def evaluate(
    frame: EagerFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    counts: Any = ...,
    **keywords: Unpack[Keywords],
) -> pl.DataFrame: ...


def evaluate(
    frame: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = None,
    counts: bool = False,
    **keywords: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Count rows once and compute every metric from the table.

    Parameters
    ----------
    frame
        Eager, lazy, or anything with the Arrow C stream interface.
    metrics
        Metrics that read the same table; each becomes a value column.
    by
        Slices: column names or expressions. One result row per slice, sorted.
    **keywords
        Roles (``group=``, ``pred=``, ...: column names or expressions) and options (``ref=``,
        ``alpha=``, ...), which reach every metric that takes them.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The kind of frame that was given.

    Notes
    -----
    A lazy frame keeps the columns that a file had when the frame was made. If the file is
    rewritten before `collect`, Polars may read another column: make the frame anew.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> pf.evaluate(df, [fairness.selection_rate, fairness.stat_parity], group="sex", pred="hired")
    shape: (1, 2)
    ┌────────────────┬─────────────┐
    │ selection_rate ┆ stat_parity │
    │ ---            ┆ ---         │
    │ f64            ┆ f64         │
    ╞════════════════╪═════════════╡
    │ 0.75           ┆ 0.5         │
    └────────────────┴─────────────┘
    """
    request = prepare(frame, metrics, by, keywords)
    check_names(request.metrics, request.slices, counts=counts)
    result = read_sorted(request.table, request.metrics, request.slices, counts=counts)
    # A second pass joins rows with lines of the table, which the in-memory engine holds at once.
    two_passes = any(not metric.tally.mergeable for metric in request.metrics)
    return as_given(result, frame, *request.given.values(), flat=two_passes)


def _answer(metric: Metric, frame: IntoFrame, keywords: dict[str, Any]) -> Any:
    """Evaluate one metric: a float, or a frame if there are slices or keys."""
    result = evaluate(frame, [metric], **keywords)
    if isinstance(result, pl.LazyFrame) or result.width > 1:
        return result
    value = result.item()
    return float("nan") if value is None else float(value)


Metric.answer = staticmethod(_answer)


class Request(NamedTuple):
    """A call, resolved: the table to read, and the metrics to compute from it."""

    table: pl.LazyFrame
    metrics: list[Metric]
    slices: list[str]
    given: dict[str, Any]


def prepare(
    frame: IntoFrame,
    metrics: Metric | Sequence[Metric],
    by: IntoSlices | None,
    keywords: Mapping[str, Any],
    *,
    grouped: bool = False,
) -> Request:
    """Check a call and count its rows, lazily; `grouped` if all values are by group."""
    given = {name: read_once(value) for name, value in given_roles(keywords).items()}
    frame = read_once(frame)
    chosen = on_one_table([variant_for(metric, given) for metric in listed_metrics(metrics)], given)
    tally = shared_tally(chosen)
    names = set(all_options(chosen))
    check_keywords(given, names, tally.roles, "these metrics", ignored=ROLES)
    resolved = [metric.resolve(given) for metric in chosen]
    check_roles(resolved, given, FRAME_ROLES)
    for metric in resolved:
        check_class(metric.options.get("ref"), given.get("group"))
    asked = {"group"} if grouped else {role for metric in resolved for role in metric.roles}
    split = "group" in given and "group" not in asked and tally.group_splits
    unread = {"group": given["group"]} if split else {}
    columns = {k: v for k, v in given.items() if k in ROLES and k not in FRAME_ROLES}
    frames = [frame, *(given[role] for role in FRAME_ROLES if role in given)]
    given = {name: value for name, value in given.items() if name not in unread}
    table, slices = tabulate(as_lazy(frame), tally, resolved, columns_of(by), given)
    # After the tally, whose own errors say more of the columns that it reads.
    check_anywhere(frames, columns)
    return Request(table, resolved, slices, given)


@overload
def measure(
    table: pl.LazyFrame | Sequence[pl.LazyFrame],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    counts: Any = ...,
    **options: Unpack[Keywords],
) -> pl.LazyFrame: ...


@overload
def measure(
    table: EagerFrame | Sequence[EagerFrame],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    counts: Any = ...,
    **options: Unpack[Keywords],
) -> pl.DataFrame: ...


def measure(
    table: IntoFrame | Sequence[IntoFrame],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = None,
    counts: bool = False,
    **options: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Compute metrics from stored tables, one or many, merging them first.

    Parameters
    ----------
    table
        A table that a tally made, several stacked in one frame, or a list of them.
    metrics
        Metrics that read such a table.
    by
        The table's slice columns to keep (names or expressions); the others are merged.
    **options
        Options (``ref=``, ``alpha=``, ...), which reach every metric that takes them.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The kind of frame that was given.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> monday = pl.DataFrame({"sex": ["F", "M"], "hired": [0, 1]})
    >>> tuesday = pl.DataFrame({"sex": ["F", "M"], "hired": [1, 1]})
    >>> tables = [fairness.decisions(day, group="sex", pred="hired") for day in (monday, tuesday)]
    >>> pf.measure(tables, [fairness.stat_parity])
    shape: (1, 1)
    ┌─────────────┐
    │ stat_parity │
    │ ---         │
    │ f64         │
    ╞═════════════╡
    │ 0.5         │
    └─────────────┘
    """
    tables = list(table) if isinstance(table, Sequence) else [table]
    parts = [as_lazy(part) for part in tables]
    schemas = [part.collect_schema() for part in parts]
    names = list(dict.fromkeys(name for schema in schemas for name in schema))
    chosen = [variant_on(metric, names, options) for metric in listed_metrics(metrics)]
    for schema in schemas:
        check_table(chosen, schema)
    tally = shared_tally(chosen)
    columns = columns_of(by)
    stacked = stack(parts, tally, columns)
    check_keywords(options, all_options(chosen), (), "stored tables of these metrics")
    resolved = [metric.resolve(options) for metric in chosen]
    check_columns(stacked, {"by": columns})
    slices = slice_names(columns, tally)
    merged = merge(stacked, tally, columns, names)
    check_names(resolved, slices, counts=counts)
    result = read_sorted(completed(merged, tally, resolved), resolved, slices, counts=counts)
    return as_given(result, *tables)


def tabulate(
    rows: pl.LazyFrame,
    tally: Tally,
    metrics: Sequence[Metric],
    by: list[pl.Expr],
    given: Mapping[str, Any],
) -> tuple[pl.LazyFrame, list[str]]:
    """Count the rows once, for all metrics; return the table, ready to read, and its slices."""
    slices = slice_names(by, tally)
    roles = {role: given[role] for role in tally.roles if role in given}
    table = tally.count(rows, by, **roles, **tally_options(tally, metrics, given))
    # Without the cache, filters and projections of the views are pushed into the table, the
    # views stop being equal, and the rows are scanned once per view.
    return completed(table.cache(), tally, metrics), slices


def completed(table: pl.LazyFrame, tally: Tally, metrics: Sequence[Metric]) -> pl.LazyFrame:
    """Add what a table may lack, and check the metrics' options against it."""
    schema = table.collect_schema()
    for metric in [part for asked in metrics for part in (asked, *asked.bases)]:
        check_ref(metric, schema)
        if metric.check is not None:
            metric.check(metric, schema)
    for kind in dict.fromkeys([tally, *(metric.tally for metric in metrics)]):
        table = kind.with_defaults(table)
    references = {repr(ref): ref for ref in (metric.options.get("ref") for metric in metrics)}
    return functools.reduce(raise_unless_found, references.values(), table)
