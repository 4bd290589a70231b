"""The area under the curve of each user, from the numbers of clicks and other matches."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.faults import Fault
from polarsfair._engine.metric import Metric, define
from polarsfair._engine.rows import ONE
from polarsfair._engine.slices import hidden, running, summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.ranking._depths import at_every_k, lines_at
from polarsfair.ranking._inputs import (
    REPEATED_ACTUAL,
    REPEATED_USER,
    check_ordered,
    fault_columns,
    with_users,
)
from polarsfair.ranking._lists.conventions import one_of
from polarsfair.ranking._matches.pairs import (
    BAD_CLICK,
    GIVEN,
    POSITION,
    Request,
    click_of,
    matched_pairs,
    positions,
    request_of,
    shown_lines,
)
from polarsfair.ranking._types import RankingMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["user_auc", "user_matches"]

AVERAGES = ("impressions", "clicks", "users")
"""What a user counts by."""

_SUMS = ("users", "halves")
_BAD, _SEEN = hidden("bad click"), ["clicks", "others"]


@functools.wraps(request_of, assigned=())
def _count_user_matches(rows: pl.LazyFrame, by: Sequence[pl.Expr], **roles: Any) -> pl.LazyFrame:
    """Count users by their clicks and other matches, and sum the pairs that they rank right.

    The table has the slices, ``group``, ``k`` (null: the whole list), ``clicks`` and ``others``
    (the matches of a user with the value 1 and 0), and the sums ``users`` and ``halves``: over the
    pairs of a click and another match of one user, 2 if the click has the higher score, and 1 if
    the scores are equal. A row without clicks and others counts no user. All numbers are whole.
    Tables can be merged if no user's rows are split between them.

    Parameters
    ----------
    rows, by, group, actual, users, user, item, relevance, value, repeats
        As in `ranking.matches`; the value is 0 or 1.
    score
        The score of a recommendation. A match without one is left out.
    k
        Cut-offs; None means the whole list.
    ties
        As in `ranking.matches`, without ``"expected"``.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.5]})
    >>> actual = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "click": [1, 0, 1]})
    >>> table = ranking.user_matches(
    ...     recs, actual, user="user", item="item", score="score", relevance="click"
    ... )
    >>> table.drop_nulls("clicks").sort("others")
    shape: (2, 5)
    ┌──────┬────────┬────────┬───────┬────────┐
    │ k    ┆ clicks ┆ others ┆ users ┆ halves │
    │ ---  ┆ ---    ┆ ---    ┆ ---   ┆ ---    │
    │ i64  ┆ i64    ┆ i64    ┆ i64   ┆ i64    │
    ╞══════╪════════╪════════╪═══════╪════════╡
    │ null ┆ 1      ┆ 0      ┆ 1     ┆ 0      │
    │ null ┆ 1      ┆ 1      ┆ 1     ┆ 2      │
    └──────┴────────┴────────┴───────┴────────┘
    """
    request = request_of(rows, by, **roles)
    if request.ties == "expected":
        msg = (
            '`user_auc` does not support `ties="expected"`, because its average over tie orders has'
            ' no closed form: use "item", "optimistic" or "pessimistic"'
        )
        raise ValueError(msg)
    if request.inputs.ranked:
        msg = '`user_auc` needs scores, not ranks: pass `score="<column>"`, not `rank`'
        raise TypeError(msg)
    check_ordered(request.inputs)
    return _table(request)


def _table(request: Request) -> pl.LazyFrame:
    inputs, recs = request.inputs, positions(request)
    shown = shown_lines(inputs, recs)
    faults = fault_columns(shown.collect_schema().names())
    none = {name: pl.lit(0, pl.Int64) for name in (*_SUMS, _BAD)}
    empty = at_every_k(shown.select(*inputs.all_keys, *faults, **none), request.ks)
    lines = pl.concat([empty, _users(request, recs)], how="diagonal")
    faults = fault_columns(lines.collect_schema().names())
    cells = [*inputs.all_keys, "k", *_SEEN]
    table = summed(lines, cells, [*_SUMS, _BAD, *faults])
    if inputs.refuses_repeats:
        again = (pl.col("n") - 1).sum().alias(REPEATED_ACTUAL)
        table = table.join(inputs.actual.frame.select(again), how="cross")
    return inputs.table(table, ["k", *_SEEN], _SUMS, Fault(pl.col(_BAD) > 0, BAD_CLICK))


def _users(request: Request, recs: pl.LazyFrame) -> pl.LazyFrame:
    """Return a line per user and k: clicks, other matches, and pairs that are ranked right."""
    inputs, click = request.inputs, click_of()
    marks = {
        "clicks": (click == 1).cast(pl.Int64),
        "others": (click == 0).cast(pl.Int64),
        _BAD: (click == 2).cast(pl.Int64),
    }
    above, score = pl.col(POSITION[0]), pl.col(GIVEN)
    pairs = matched_pairs(inputs, recs).filter(score.is_not_null() | (click == 2))
    each = at_every_k(pairs.select(*inputs.keys, GIVEN, POSITION[0], **marks), request.ks)
    each = each.filter(pl.col("k").is_null() | (above < pl.col("k")))
    user = [*inputs.keys, "k"]
    scores = summed(each, [*user, GIVEN], marks)
    clicks, others = (pl.col(name) for name in _SEEN)
    below = running(others.cum_sum(), user, GIVEN) - others
    halves = clicks * (2 * below + others)
    users = summed(scores.with_columns(halves=halves), user, [*marks, "halves"])
    lines = with_users(inputs, users.with_columns(users=ONE))
    repeated = [REPEATED_USER] * (inputs.users is not None)
    return lines.select(*inputs.all_keys, "k", *_SEEN, *_SUMS, _BAD, *repeated)


user_matches = Tally(
    name="ranking.user_matches",
    count=_count_user_matches,
    cells=("group", "k", *_SEEN),
    sums={name: pl.col(name).sum() for name in _SUMS},
    defaults={},
    together=("user",),
    single=("ties", "repeats"),
)


def at_k(table: pl.LazyFrame, keys: Sequence[str], *, k: Any = None) -> pl.LazyFrame:
    """View the lines of every requested k."""
    del keys
    return lines_at(table, k, _SUMS)


def _weight(average: str) -> pl.Expr:
    """Return what a user counts by, null for one without a click or without another match."""
    clicks, others = (pl.col(name) for name in _SEEN)
    weights = {"impressions": clicks + others, "clicks": clicks, "users": ONE}
    weight = weights[one_of("average", average, AVERAGES)]
    return pl.when((clicks > 0) & (others > 0)).then(weight)


def _counted(*, average: str = AVERAGES[0]) -> pl.Expr:
    return (pl.col("users") * _weight(average)).sum()


def _check(metric: Metric, schema: pl.Schema) -> None:
    del schema
    one_of("average", metric.options.get("average", AVERAGES[0]), AVERAGES)


@define(
    user_matches,
    "quality",
    ("actual", "user", "item", "score"),
    of=RankingMetric,
    view=at_k,
    check=_check,
    ideal=1.0,
    bounds=(0.0, 1.0),
    better="higher",
    n=_counted,
)
def user_auc(*, average: str = AVERAGES[0]) -> pl.Expr:
    """Area under the curve of each user's matches, averaged over users (GAUC).

    Formula per user: ``(pairs in which the click scores higher + half the tied pairs) / all
    pairs``, over all pairs of a click and a non-click among the matches of the user. The mean is
    over users with both, weighted by `average`. The values must be 0 and 1, and `score` is needed.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    average
        What a user counts by: ``"impressions"`` (the number of matches), ``"clicks"``, or
        ``"users"`` (every user the same).
    k, ties, repeats
        As in `ctr`; ``ties="expected"`` is refused. They decide which pairs are within the first k;
        two pairs with equal scores count as a half in any case.

    Notes
    -----
    Also known as group AUC. The paper weights users by impressions. RecBole weights them by clicks
    (``average="clicks"``), Elliot counts every user the same (``average="users"``). `auc` also
    compares scores of different users. A match without a score is left out.

    References
    ----------
    Zhou, Song, Zhu, Fan, Zhu, Ma, Yan, Jin, Li, Gai (2018). Deep Interest Network for Click-Through
    Rate Prediction. KDD 2018.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame(
    ...     {
    ...         "user": [1, 1, 2, 2, 2],
    ...         "item": [7, 8, 7, 8, 9],
    ...         "score": [0.9, 0.4, 0.8, 0.1, 0.1],
    ...     }
    ... )
    >>> actual = recs.select("user", "item", click=pl.Series([1, 0, 0, 1, 0]))
    >>> roles = {"user": "user", "item": "item", "score": "score", "relevance": "click"}
    >>> round(recs.pipe(ranking.user_auc, actual, **roles), 6)
    0.55
    >>> recs.pipe(ranking.user_auc, actual, **roles, average="users")
    0.625
    """
    clicks, others = (pl.col(name).cast(pl.Float64) for name in _SEEN)
    areas = pl.col("halves") / (2 * clicks * others)
    return quotient((areas * _weight(average)).sum(), _counted(average=average))
