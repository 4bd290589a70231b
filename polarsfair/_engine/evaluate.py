"""`evaluate`: from rows to values. `measure`: from stored tables to values.

Both build one lazy graph: a table is made (or merged) once, and every metric reads one.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Unpack, overload

import polars as pl

from polarsfair._engine.columns import check_anywhere, check_columns, columns_of
from polarsfair._engine.frames import as_given, as_lazy, read_once
from polarsfair._engine.metric import Metric
from polarsfair._engine.reference import check_ref, raise_unless_found
from polarsfair._engine.request import (
    Served,
    all_options,
    check_class,
    check_names,
    check_read,
    check_roles,
    check_table,
    listed_metrics,
    on_few_tables,
    shared_tally,
    tables_for,
    tables_of,
    tally_options,
    variant_for,
    variant_on,
)
from polarsfair._engine.stored import merge, stack
from polarsfair._engine.tables import Request, count_each, read_tables, spelled
from polarsfair._engine.tally import (
    Tally,
    check_keywords,
    given_roles,
    slice_names,
)
from polarsfair._typing import FRAME_ROLES, ROLES

if TYPE_CHECKING:
    from polarsfair._typing import EagerFrame, IntoFrame, IntoSlices, Keywords

    LazyTables: TypeAlias = pl.LazyFrame | Sequence[pl.LazyFrame]
    EagerTables: TypeAlias = EagerFrame | Sequence[EagerFrame]


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
    """Compute metrics of any tables in one call.

    Metrics that read the same table share one scan of the rows. Tables are counted apart and joined
    in one lazy query.

    Parameters
    ----------
    frame
        Eager, lazy, or anything with the Arrow C stream interface.
    metrics
        Metrics of any family; each becomes a value column, in the order of the call.
    by
        Slices: column names or expressions. One result row per slice, sorted. A slice that only one
        table has is null for the metrics of the others.
    counts
        Whether the column ``<metric>_n`` (Int64) follows each value: what it is a value of. See
        the notes.
    **keywords
        Roles (``group=``, ``pred=``, ...: column names or expressions) and options (``ref=``,
        ``alpha=``, ...), which reach every metric that takes them. Every metric must read
        ``weight``, and one of them ``strata``, ``propensity``, ``surrogate`` and ``unit``; other
        roles may go unread, so that one set of keywords serves many calls.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The kind of frame that was given.

    Notes
    -----
    If ``k`` is a list, metrics that take no ``k``, or have one bound, are repeated at every k.

    With ``counts``, ``<metric>_n`` is the number of rows in the value's denominator, not weighted:

    * most metrics: the rows with all that the metric reads known;
    * a rate: those of them that it is a rate of, such as the labelled positives of
      `true_positive_rate` and the selected rows of `precision`; for `f1` all but true negatives;
    * quality and diversity of lists, `novelty` and `average_popularity`: the users averaged over;
    * `coverage`, `gini` and `exposure_entropy`: the items of the catalogue;
    * click-through rates, errors and the AUC of matched pairs: the pairs, or for `ctr_ips` and
      `ctr_dr` the recommendations; other exposure of items: the recommendations;
    * a comparison: the sum over the groups that take part, which are those with a value. With
      ``pf.OVERALL`` or ``pf.REST`` all rows of known group are on one side. 0 if no group is
      compared with another. For `exposure_parity` the items of the groups of items.

    A row of weight 0 counts. If a group is known as probabilities, a row counts once in every group
    that it may belong to.

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

    What each value is a value of:

    >>> pf.evaluate(df, fairness.stat_parity, group="sex", pred="hired", counts=True)
    shape: (1, 2)
    ┌─────────────┬───────────────┐
    │ stat_parity ┆ stat_parity_n │
    │ ---         ┆ ---           │
    │ f64         ┆ i64           │
    ╞═════════════╪═══════════════╡
    │ 0.5         ┆ 4             │
    └─────────────┴───────────────┘

    Metrics of several tables:

    >>> df = df.with_columns(score=pl.Series([0.2, 0.6, 0.7, 0.9]), label=pl.Series([0, 0, 1, 1]))
    >>> metrics = [fairness.stat_parity, fairness.auc]
    >>> pf.evaluate(df, metrics, group="sex", pred="hired", score="score", label="label")
    shape: (1, 2)
    ┌─────────────┬─────┐
    │ stat_parity ┆ auc │
    │ ---         ┆ --- │
    │ f64         ┆ f64 │
    ╞═════════════╪═════╡
    │ 0.5         ┆ 1.0 │
    └─────────────┴─────┘

    Several prediction columns, stacked into one with the name of the model as a slice:

    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "old": [0, 1, 1, 1], "new": [1, 1, 1, 1]})
    >>> long = df.unpivot(["old", "new"], index="sex", variable_name="model", value_name="hired")
    >>> pf.evaluate(
    ...     long,
    ...     [fairness.selection_rate, fairness.stat_parity],
    ...     group="sex",
    ...     pred="hired",
    ...     by="model",
    ... )
    shape: (2, 3)
    ┌───────┬────────────────┬─────────────┐
    │ model ┆ selection_rate ┆ stat_parity │
    │ ---   ┆ ---            ┆ ---         │
    │ str   ┆ f64            ┆ f64         │
    ╞═══════╪════════════════╪═════════════╡
    │ new   ┆ 1.0            ┆ 0.0         │
    │ old   ┆ 0.75           ┆ 0.5         │
    └───────┴────────────────┴─────────────┘
    """
    call = prepare(frame, metrics, by, keywords)
    check_names(call.metrics, call.slices, counts=counts)
    result = read_tables(call.requests, call.metrics, call.slices, counts=counts)
    return call.as_given(result, frame)


def _answer(metric: Metric, frame: IntoFrame, keywords: dict[str, Any]) -> Any:
    """Evaluate one metric: a float, or a frame if there are slices or keys."""
    if "counts" in keywords:
        msg = (
            f"`counts` is an argument of `pf.evaluate`, not of `{metric.name}`:"
            f" `pf.evaluate(df, {metric.family}.{metric.name}, counts=True, ...)`"
        )
        raise TypeError(msg)
    result = evaluate(frame, [metric], **keywords)
    if isinstance(result, pl.LazyFrame) or result.width > 1:
        return result
    value = result.item()
    return float("nan") if value is None else float(value)


Metric.answer = staticmethod(_answer)


class Call(NamedTuple):
    """A call, resolved: a request for every table, and all metrics in the order of the call."""

    requests: list[Request]
    metrics: list[Metric]
    slices: list[str]
    given: dict[str, Any]

    def as_given(self, result: pl.LazyFrame, frame: IntoFrame) -> pl.DataFrame | pl.LazyFrame:
        """Return a result as the kind of frame that was given."""
        # A second pass joins rows with lines of the table, which the in-memory engine holds
        # at once.
        two_passes = any(not metric.tally.mergeable for metric in self.metrics)
        return as_given(result, frame, *self.given.values(), flat=two_passes)


def prepare(
    frame: IntoFrame,
    metrics: Metric | Sequence[Metric],
    by: IntoSlices | None,
    keywords: Mapping[str, Any],
    *,
    grouped: bool = False,
) -> Call:
    """Check a call and count its rows, lazily; `grouped` if all values are by group."""
    given = {name: read_once(value) for name, value in given_roles(keywords).items()}
    frame = read_once(frame)
    chosen = [variant_for(metric, given) for metric in listed_metrics(metrics)]
    roles = {role for metric in chosen for role in metric.tally.roles}
    check_keywords(given, set(all_options(chosen)), roles, "these metrics", ignored=ROLES)
    resolved = [metric.resolve(given) for metric in chosen]
    check_roles(resolved, given, FRAME_ROLES)
    for metric in resolved:
        check_class(metric.options.get("ref"), given.get("group"))
    resolved = on_few_tables(resolved, given)
    columns = columns_of(by)
    frames = {role: given[role] for role in FRAME_ROLES if role in given}

    def count(number: int, served: Served) -> Request:
        tally, own = served
        by_group = grouped or any("group" in metric.roles for metric in own)
        others = {role: spelled(into, number) for role, into in frames.items()}
        roles = {**given, **others}
        if tally.group_splits and not by_group:
            roles.pop("group", None)
        rows = spelled(as_lazy(frame), number)
        return Request(tabulate(rows, tally, own, columns, roles)[0], own)

    splits = not grouped and _splits_lists(frame, given)
    requests = count_each(tables_for(resolved, lists_split=splits), count)
    # After the tallies, whose own errors say more of the columns that they read.
    named = {k: v for k, v in given.items() if k in ROLES and k not in FRAME_ROLES}
    check_anywhere([frame, *frames.values()], named)
    check_read(resolved, given)
    return Call(requests, resolved, [column.meta.output_name() for column in columns], given)


def _splits_lists(frame: IntoFrame, given: Mapping[str, Any]) -> bool:
    """Return whether the group may differ between rows of one user: no column of `users` does."""
    group, users = given.get("group"), given.get("users")
    if group is None or users is None or isinstance(group, Mapping):
        return group is not None
    roots = {root for column in columns_of(group, "group") for root in column.meta.root_names()}
    others = [frame, *([given["actual"]] if "actual" in given else [])]
    elsewhere = any(roots & set(as_lazy(one).collect_schema()) for one in others)
    return elsewhere or not roots


@overload
def measure(
    table: pl.LazyFrame | Sequence[pl.LazyFrame] | Mapping[Tally, LazyTables],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    counts: Any = ...,
    **options: Unpack[Keywords],
) -> pl.LazyFrame: ...


@overload
def measure(
    table: EagerFrame | Sequence[EagerFrame] | Mapping[Tally, EagerTables],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    counts: Any = ...,
    **options: Unpack[Keywords],
) -> pl.DataFrame: ...


def measure(
    table: IntoFrame | Sequence[IntoFrame] | Mapping[Tally, IntoFrame | Sequence[IntoFrame]],
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
        A table that a tally made, several stacked in one frame, or a list of them. For metrics of
        several tallies, a mapping from each tally to its table or list of tables.
    metrics
        Metrics that read such tables.
    by
        The slice columns to keep (names or expressions); the others are merged.
    counts
        Whether the column ``<metric>_n`` (Int64) follows each value: what it is a value of, as in
        `evaluate`.
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
    >>> pf.measure(tables, [fairness.stat_parity], counts=True)
    shape: (1, 2)
    ┌─────────────┬───────────────┐
    │ stat_parity ┆ stat_parity_n │
    │ ---         ┆ ---           │
    │ f64         ┆ i64           │
    ╞═════════════╪═══════════════╡
    │ 0.5         ┆ 4             │
    └─────────────┴───────────────┘

    Tables of two tallies:

    >>> rows = pl.DataFrame({"sex": ["F", "M"], "hired": [0, 1], "s": [0.2, 0.9], "y": [0, 1]})
    >>> decided = fairness.decisions(rows, group="sex", pred="hired")
    >>> scored = fairness.scores(rows, score="s", label="y")
    >>> mixed = {fairness.decisions: decided, fairness.scores: [scored, scored]}
    >>> pf.measure(mixed, [fairness.stat_parity, fairness.auc])
    shape: (1, 2)
    ┌─────────────┬─────┐
    │ stat_parity ┆ auc │
    │ ---         ┆ --- │
    │ f64         ┆ f64 │
    ╞═════════════╪═════╡
    │ 1.0         ┆ 1.0 │
    └─────────────┴─────┘
    """
    call = prepare_stored(table, metrics, by, options)
    check_names(call.metrics, call.slices, counts=counts)
    result = read_tables(call.requests, call.metrics, call.slices, counts=counts)
    return as_given(result, *stored_tables(table))


def stored_tables(
    table: IntoFrame | Sequence[IntoFrame] | Mapping[Tally, IntoFrame | Sequence[IntoFrame]],
) -> list[IntoFrame]:
    """List the tables of a call: one, many, or those of several tallies."""
    if isinstance(table, Mapping):
        return [one for tables in table.values() for one in _listed(tables)]
    return _listed(table)


def prepare_stored(
    table: IntoFrame | Sequence[IntoFrame] | Mapping[Tally, IntoFrame | Sequence[IntoFrame]],
    metrics: Metric | Sequence[Metric],
    by: IntoSlices | None,
    options: Mapping[str, Any],
) -> Call:
    """Check a call on stored tables, and merge them, lazily."""
    listed, columns = listed_metrics(metrics), columns_of(by)
    if isinstance(table, Mapping):
        served = tables_of(table, listed, options)
        stored = [_listed(table[one.tally]) for one in served]
    else:
        served, stored = [Served(listed[0].tally, listed)], [_listed(table)]

    def count(number: int, one: Served) -> Request:
        others = [metric for metric in listed if metric not in one.metrics]
        return _stored(stored[number], one.metrics, columns, options, all_options(others))

    requests = count_each(served, count)
    # In the order of the call; names may be equal, until they are checked.
    places = [i for one in served for i, metric in enumerate(listed) if metric in one.metrics]
    found = [metric for request in requests for metric in request.metrics]
    found = [metric for _, metric in sorted(zip(places, found, strict=True), key=itemgetter(0))]
    return Call(requests, found, [column.meta.output_name() for column in columns], {})


def _listed(tables: IntoFrame | Sequence[IntoFrame]) -> list[IntoFrame]:
    return list(tables) if isinstance(tables, Sequence) else [tables]


def _stored(
    tables: Sequence[IntoFrame],
    metrics: Sequence[Metric],
    by: list[pl.Expr],
    options: Mapping[str, Any],
    others: Sequence[str],
) -> Request:
    """Merge stored tables of one tally; `others` are options that only other metrics take."""
    parts = [as_lazy(part) for part in tables]
    schemas = [part.collect_schema() for part in parts]
    names = list(dict.fromkeys(name for schema in schemas for name in schema))
    chosen = [variant_on(metric, names, options) for metric in metrics]
    for schema in schemas:
        check_table(chosen, schema)
    tally = shared_tally(chosen)
    stacked = stack(parts, tally, by)
    known = [*all_options(chosen), *others]
    check_keywords(options, known, (), "stored tables of these metrics")
    resolved = [metric.resolve(options) for metric in chosen]
    check_columns(stacked, {"by": by})
    slice_names(by, tally)
    return Request(completed(merge(stacked, tally, by, names), tally, resolved), resolved)


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
