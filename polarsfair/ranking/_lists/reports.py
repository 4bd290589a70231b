"""Frames about lists that are no metrics: values per user, who was counted, what conventions do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import polars as pl

from polarsfair._engine.columns import as_column, check_anywhere, columns_of
from polarsfair._engine.evaluate import prepare
from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair._engine.metric import Metric
from polarsfair._engine.read import read_sorted
from polarsfair._engine.request import check_names
from polarsfair._engine.tally import check_distinct, check_keywords
from polarsfair._typing import ROLES
from polarsfair.ranking._inputs import caller_name, resolve
from polarsfair.ranking._lists.conventions import CHOICES, CONVENTIONS
from polarsfair.ranking._lists.gains import gains
from polarsfair.ranking._lists.ranks import hits_once, relevant_pairs
from polarsfair.ranking._lists.users import histogram, units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoSlices

__all__ = ["compare_conventions", "per_user", "support"]

_USER = "user|"
_COUNTS = (
    "users",
    "with_relevant",
    "with_both",
    "only_recommended",
    "repeated_hits",
    "repeated_actual",
)


@overload
def per_user(
    recs: pl.LazyFrame,
    actual: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    user: IntoColumn,
    by: IntoSlices | None = ...,
    **keywords: Any,
) -> pl.LazyFrame: ...
@overload
def per_user(
    recs: IntoFrame,
    actual: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    user: IntoColumn,
    by: IntoSlices | None = ...,
    **keywords: Any,
) -> Any: ...
def per_user(
    recs: IntoFrame,
    actual: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    user: IntoColumn,
    by: IntoSlices | None = None,
    **keywords: Any,
) -> Any:
    """Give the values of every user, which the metrics are means of.

    Parameters
    ----------
    recs, actual
        Recommendations and ground truth.
    metrics
        Quality metrics such as `ranking.ndcg`.
    user
        The users: the first column of the result, after the slices.
    by
        Slices, as in `evaluate`.
    **keywords
        Further roles and options, as in `evaluate`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per slice, user and k, sorted; lazy when a frame is. Users who take no part in a mean
        have null there.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.5]})
    >>> actual = pl.DataFrame({"user": [1, 2, 2], "item": [8, 7, 9]})
    >>> metrics = [ranking.recall, ranking.mrr]
    >>> ranking.per_user(recs, actual, metrics, user="user", item="item", score="score", k=2)
    shape: (2, 3)
    ┌──────┬────────┬─────┐
    │ user ┆ recall ┆ mrr │
    │ ---  ┆ ---    ┆ --- │
    │ i64  ┆ f64    ┆ f64 │
    ╞══════╪════════╪═════╡
    │ 1    ┆ 1.0    ┆ 0.5 │
    │ 2    ┆ 0.5    ┆ 1.0 │
    └──────┴────────┴─────┘
    """
    column = as_column(user, "user")
    slices = [*columns_of(by), column.alias(_USER)]
    request = prepare(recs, metrics, slices, {**keywords, "actual": actual, "user": user})
    named = column.meta.output_name()
    check_names(request.metrics, [*request.slices[:-1], named])
    result = read_sorted(request.table, request.metrics, request.slices)
    result = result.rename({_USER: named})
    return result if is_lazy(recs, *request.given.values()) else collect(result, recs)


def support(
    recs: IntoFrame,
    actual: IntoFrame,
    *,
    user: IntoColumn,
    item: IntoColumn,
    relevance: IntoColumn | None = None,
    users: IntoFrame | None = None,
    by: IntoSlices | None = None,
    **others: Any,
) -> Any:
    """Count who the metrics of ranked lists can speak of.

    Parameters
    ----------
    recs, actual, user, item, relevance, users, by
        As in `ranking.lists`.
    **others
        Roles and options of the metrics, which change nothing here.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per slice: ``users`` in any frame, ``with_relevant`` item, ``with_both`` a relevant
        item and recommendations, ``only_recommended`` (not in `actual`), ``repeated_hits`` and
        ``repeated_actual``: rows beyond the first of a hit and of a relevant pair.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9]})
    >>> actual = pl.DataFrame({"user": [1, 3], "item": [8, 7]})
    >>> ranking.support(recs, actual, user="user", item="item").to_dicts()[0]
    {'users': 3, 'with_relevant': 2, 'with_both': 1, 'only_recommended': 1, 'repeated_hits': 0,
     'repeated_actual': 0}
    """
    options = {*CHOICES, *gains.option_names, "ref"}
    check_keywords(others, options, gains.roles, "counts of users", ignored=ROLES)
    if others.get("group") is not None:
        given = [frame for frame in (recs, actual, users) if frame is not None]
        check_anywhere(given, {"group": others["group"]})
    inputs = resolve(
        as_lazy(recs),
        columns_of(by),
        actual=actual,
        users=users,
        user=user,
        item=item,
        rec_roles={},
        relevance=relevance,
    )
    slices = [caller_name(name) for name in inputs.slices]
    check_distinct([*slices, *_COUNTS, "repeats"])
    pairs = relevant_pairs(inputs, counted=True)
    again = hits_once(inputs, pairs).select(*inputs.keys, repeats=pl.col("copies|") - 1)
    found = again.group_by(inputs.keys).agg(pl.col("repeats").sum())
    lines = units(inputs, pairs, found, [])
    n_rel, n_rec = pl.col("n_rel"), pl.col("n_rec")
    cells = {"known|": n_rel.is_not_null(), "relevant|": n_rel > 0, "listed|": n_rec > 0}
    table = histogram(inputs, lines, cells, ("users", "repeats", "repeated|"))
    result = _supported(table, slices)
    return result if is_lazy(recs, actual, users) else collect(result, recs)


def _supported(table: pl.LazyFrame, slices: list[str]) -> pl.LazyFrame:
    count, relevant = pl.col("users"), pl.col("relevant|")
    values = (
        count.sum(),
        count.filter(relevant).sum(),
        count.filter(relevant & pl.col("listed|")).sum(),
        count.filter(~pl.col("known|")).sum(),
        pl.col("repeats").sum(),
        pl.col("repeated|").sum(),
    )
    sums = dict(zip(_COUNTS, values, strict=True))
    return table.group_by(slices).agg(**sums).sort(slices) if slices else table.select(**sums)


def compare_conventions(
    recs: IntoFrame,
    actual: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = None,
    **keywords: Any,
) -> Any:
    """Show what every convention makes of the same lists, from one table.

    Parameters
    ----------
    recs, actual
        Recommendations and ground truth.
    metrics
        Quality metrics; an option that is bound or given wins over every convention.
    by
        Slices, as in `evaluate`.
    **keywords
        Further roles and options, as in `evaluate`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per slice, ``convention`` (and k), a column per metric.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1], "item": [7, 8], "score": [0.9, 0.4]})
    >>> actual = pl.DataFrame({"user": [1] * 4, "item": [6, 7, 8, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> ranking.compare_conventions(recs, actual, ranking.map, k=2, **roles).head(3)
    shape: (3, 2)
    ┌────────────┬─────┐
    │ convention ┆ map │
    │ ---        ┆ --- │
    │ str        ┆ f64 │
    ╞════════════╪═════╡
    │ jurity     ┆ 1.0 │
    │ rectools   ┆ 0.5 │
    │ ranx       ┆ 0.5 │
    └────────────┴─────┘
    """
    chosen = [metrics] if isinstance(metrics, Metric) else list(metrics)
    names = [metric.name for metric in chosen]
    slices = [column.meta.output_name() for column in columns_of(by)]
    check_distinct([*names, "convention", *slices])
    bound = [
        m.bind(convention=name).alias(f"{m.name}|{name}") for name in CONVENTIONS for m in chosen
    ]
    request = prepare(recs, bound, by, {**keywords, "actual": actual})
    check_names(request.metrics, request.slices)
    size, parts = len(chosen), []
    for number, name in enumerate(CONVENTIONS):
        mine = request.metrics[number * size : (number + 1) * size]
        named = {m.name: m.name.removesuffix(f"|{name}") for m in mine}
        values = read_sorted(request.table, mine, request.slices).rename(named)
        labels = pl.lit(name).alias("convention"), pl.lit(number).alias("turn|")
        parts.append(values.with_columns(*labels))
    more = request.metrics[0].result_keys
    result = pl.concat(parts).sort(*request.slices, "turn|", *more)
    result = result.select(*request.slices, "convention", *more, *names)
    return result if is_lazy(recs, *request.given.values()) else collect(result, recs)
