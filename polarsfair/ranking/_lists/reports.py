"""Frames about lists that are not metrics: values per user, counts of users, conventions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import polars as pl

from polarsfair._engine.columns import check_anywhere, columns_of
from polarsfair._engine.evaluate import prepare
from polarsfair._engine.metric import Metric
from polarsfair._engine.request import check_names, keys_of
from polarsfair._engine.rows import Role
from polarsfair._engine.slices import hidden, summed
from polarsfair._engine.tables import only, read_tables
from polarsfair._engine.tally import check_distinct, check_keywords
from polarsfair._typing import ROLES
from polarsfair.ranking._inputs import fault_columns, grade_of, resolve
from polarsfair.ranking._keys import user_columns
from polarsfair.ranking._lists.conventions import CHOICES, CONVENTIONS
from polarsfair.ranking._lists.gains import gains
from polarsfair.ranking._lists.ranks import COPIES, hits_once, relevant_pairs
from polarsfair.ranking._lists.users import REPEATED, lists_of_users
from polarsfair.ranking._types import lazy_if_any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import (
        IntoColumn,
        IntoFrame,
        IntoSlices,
        IntoUser,
        ListKeywords,
        SupportKeywords,
        UserKeywords,
    )

__all__ = ["compare_conventions", "per_user", "support"]

_USER = "user of the list"
"""Begins the slices of `per_user`, which cannot be named like the role `user`."""


@lazy_if_any
def per_user(
    recs: pl.LazyFrame,
    actual: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    user: IntoUser,
    by: IntoSlices | None = None,
    **keywords: Unpack[UserKeywords],
) -> pl.LazyFrame:
    """Return the values of every user, of which the metrics are means.

    Parameters
    ----------
    recs, actual
        Recommendations and ground truth.
    metrics
        Quality metrics such as `ranking.ndcg`.
    user
        The users: the first column of the result, after the slices; a list of columns, such as a
        user and a day, is a column for each.
    by
        Slices, as in `evaluate`.
    **keywords
        Further roles and options, as in `evaluate`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per slice, user and k, sorted; lazy if one of the frames is. A user whom a mean leaves
        out has null. With ``by="model"``, a column of `recs`, a user whom a model does not serve
        has a row for that model too: 0 in recall, null in precision.

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
    columns = user_columns(user)
    parts = {f"{_USER} {i}": column for i, column in enumerate(columns)}
    slices = [*columns_of(by), *(column.alias(name) for name, column in parts.items())]
    call = prepare(recs, metrics, slices, {**keywords, "actual": actual, "user": user})
    names = {name: column.meta.output_name() for name, column in parts.items()}
    check_names(call.metrics, [*call.slices[: -len(names)], *names.values()])
    result = read_tables(call.requests, call.metrics, call.slices)
    return result.rename(names)


@lazy_if_any
def support(
    recs: pl.LazyFrame,
    actual: IntoFrame,
    *,
    user: IntoUser,
    item: IntoColumn,
    relevance: IntoColumn | None = None,
    users: IntoFrame | None = None,
    by: IntoSlices | None = None,
    **others: Unpack[SupportKeywords],
) -> pl.LazyFrame:
    """Count the users on whom the metrics of ranked lists are based.

    Parameters
    ----------
    recs, actual, user, item, relevance, users, by
        As in `ranking.lists`.
    **others
        Further roles and options of the metrics; they have no effect here.

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
    group = others.get("group")
    if group is not None:
        given = [frame for frame in (recs, actual, users) if frame is not None]
        check_anywhere(given, {"group": group})
    inputs = resolve(
        recs,
        columns_of(by),
        actual=actual,
        users=users,
        user=user,
        item=item,
        rec_roles={},
        actual_roles={"relevance": Role(relevance, grade_of)},
    )
    pairs = relevant_pairs(inputs, counted=True)
    again = hits_once(inputs, pairs).select(*inputs.keys, repeats=pl.col(COPIES) - 1)
    found = summed(again, inputs.keys, ["repeats"])
    lines = lists_of_users(inputs, pairs, found, []).with_columns(**_counts())
    check_distinct([*inputs.slices, *_counts()])
    counted = [*_counts(), *fault_columns(lines.collect_schema().names())]
    table = inputs.table(summed(lines, inputs.all_keys, counted), [], list(_counts()))
    return table.sort(list(inputs.slices)) if inputs.slices else table


def _counts() -> dict[str, pl.Expr]:
    """Return what a list adds to each count."""
    users, n_rel = pl.col("users"), pl.col("n_rel")
    relevant = (n_rel > 0).fill_null(value=False)
    return {
        "users": users,
        "with_relevant": users * relevant,
        "with_both": users * (relevant & (pl.col("n_rec") > 0)),
        "only_recommended": users * n_rel.is_null(),
        "repeated_hits": pl.col("repeats"),
        "repeated_actual": pl.col(REPEATED),
    }


@lazy_if_any
def compare_conventions(
    recs: pl.LazyFrame,
    actual: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = None,
    **keywords: Unpack[ListKeywords],
) -> pl.LazyFrame:
    """Evaluate metrics under every convention, from one table.

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
    bound = [metric.bind(convention=name) for name in CONVENTIONS for metric in chosen]
    call = prepare(recs, bound, by, {**keywords, "actual": actual})
    size, order = len(chosen), hidden("order")
    more = keys_of(call.metrics)
    check_names(call.metrics[:size], call.slices)
    parts = []
    for number, name in enumerate(CONVENTIONS):
        own = call.metrics[number * size : (number + 1) * size]
        labels = pl.lit(name).alias("convention"), pl.lit(number).alias(order)
        values = read_tables(only(call.requests, own), own, call.slices)
        parts.append(values.with_columns(*labels))
    result = pl.concat(parts).sort(*call.slices, order, *more)
    return result.select(*call.slices, "convention", *more, *names)
