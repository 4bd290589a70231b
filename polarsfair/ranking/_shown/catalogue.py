"""How much of the catalogue is shown, how evenly, and how popular it is, from the exposure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.compare import known_as
from polarsfair._engine.metric import define
from polarsfair._formula import quotient
from polarsfair.ranking._depths import lines_at, with_k
from polarsfair.ranking._shown.exposure import SUMS, exposure, slices_of
from polarsfair.ranking._types import ShownMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "aggregate_diversity",
    "average_popularity",
    "coverage",
    "exposure_entropy",
    "gini",
    "long_tail_share",
    "novelty",
]

_N, _USERS = pl.col("n"), pl.col("users")
_SIZE = pl.coalesce(pl.col("catalogue").max(), pl.col("item").count())
"""The number of items in the catalogue: those of `items`, or those that the table has."""

_POPULARITY = pl.coalesce(pl.col("popularity"), _N.cast(pl.Float64))


def per_item(table: pl.LazyFrame, keys: Sequence[str], *, k: Any = None) -> pl.LazyFrame:
    """View one line per item, over all groups, and one of the catalogue."""
    lines = lines_at(slices_of(table), k, ("n", "users"))
    return lines.group_by(*with_k(keys, k), "item").agg(*SUMS.values())


def _catalogue() -> pl.Expr:
    """Count the items of the catalogue."""
    return _SIZE


def _users() -> pl.Expr:
    """Count the users: for each, one over the length of the list is summed over its items."""
    return _USERS.sum().round()


def of_catalogue(**facts: Any) -> Callable[[Callable[..., pl.Expr]], ShownMetric]:
    """Make a metric of the decorated formula over the items of the catalogue."""
    return define(exposure, "outcome", ("user", "item"), of=ShownMetric, view=per_item, **facts)


@of_catalogue(ideal=1.0, bounds=(0.0, 1.0), better="higher", n=_catalogue)
def coverage() -> pl.Expr:
    """Share of the catalogue that is shown to at least one user.

    Formula: ``items in the first k of any list / items of the catalogue``. The catalogue is the
    items of `items`; without `items`, those of the recommendations and of `actual` together.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    k
        Look at the first k recommendations of each list only; None means all of them. A k needs
        `score` or `rank`. Among equal scores the lower item comes first.

    Notes
    -----
    HolisticAI calls it aggregate diversity. Without `items` and `actual` every item of the
    catalogue is shown, and the value is 1 unless `k` cuts lists.

    References
    ----------
    Ge, Delgado-Battenfeld, Jannach (2010). Beyond Accuracy: Evaluating Recommender Systems by
    Coverage and Serendipity. RecSys 2010.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7]})
    >>> items = pl.DataFrame({"item": [7, 8, 9, 10]})
    >>> recs.pipe(ranking.coverage, items=items, user="user", item="item")
    0.5
    """
    return quotient((_N > 0).sum(), _SIZE)


@known_as()
def aggregate_diversity() -> ShownMetric:
    """Share of the catalogue that is shown to at least one user, by its name in HolisticAI.

    Formula: ``items in the first k of any list / items of the catalogue``, which is `coverage`.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    k
        As in `coverage`.

    References
    ----------
    Adomavicius, Kwon (2012). Improving Aggregate Recommendation Diversity Using Ranking-Based
    Techniques. IEEE Transactions on Knowledge and Data Engineering 24(5), 896-911.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7]})
    >>> items = pl.DataFrame({"item": [7, 8, 9, 10]})
    >>> recs.pipe(ranking.aggregate_diversity, items=items, user="user", item="item")
    0.5
    """
    return coverage


@of_catalogue(ideal=0.0, bounds=(0.0, 1.0), better="lower", n=_catalogue)
def gini() -> pl.Expr:
    """Gini index of the items' exposure: 0 if all are shown equally often, 1 if only one is.

    Formula, with p the items' shares of all recommendations in ascending order and I items in the
    catalogue: ``sum over j = 1..I of (2 j - I - 1) p_j / (I - 1)``.

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    k
        As in `coverage`.

    Notes
    -----
    As in HolisticAI, it is divided by I - 1, so that a single shown item has the value 1; others
    divide by I. Items of the catalogue that no user is shown count as 0: pass `items` to include
    them. Undefined if nothing is shown or the catalogue has one item.

    References
    ----------
    Fleder, Hosanagar (2009). Blockbuster Culture's Next Rise or Fall: The Impact of Recommender
    Systems on Sales Diversity. Management Science 55(5), 697-712.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9]})
    >>> round(recs.pipe(ranking.gini, user="user", item="item"), 6)
    0.25
    """
    shown = _N.filter(_N > 0).cast(pl.Float64).sort()
    # Items that are not shown come first and add nothing, so the last item has the rank `_SIZE`.
    rank = _SIZE - shown.count() + shown.cum_count()
    sums = (shown * (2.0 * rank - _SIZE - 1)).sum()
    value = quotient(sums, _N.sum() * (_SIZE - 1).cast(pl.Float64))
    return pl.when(_SIZE > 1).then(value.clip(0.0, 1.0))


@of_catalogue(bounds=(0.0, math.inf), better="higher", n=_catalogue)
def exposure_entropy() -> pl.Expr:
    """Entropy of the items' exposure, in nats: higher if items are shown more evenly.

    Formula: ``- sum over items of p ln p``, with p the item's share of all recommendations in the
    first `k`. It is at most the logarithm of the number of items.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    k
        As in `coverage`.

    Notes
    -----
    The same as HolisticAI's. Divide by the logarithm of 2 for bits.

    References
    ----------
    Shannon (1948). A Mathematical Theory of Communication. Bell System Technical Journal 27.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9]})
    >>> round(recs.pipe(ranking.exposure_entropy, user="user", item="item"), 6)
    1.039721
    """
    share = _N.filter(_N > 0) / _N.sum()
    entropy = (0.0 - (share * share.log(math.e)).sum()).clip(0.0)
    return pl.when(_N.sum() > 0).then(entropy)


@of_catalogue(bounds=(0.0, math.inf), n=_users)
def average_popularity() -> pl.Expr:
    """Mean popularity of the items that a user is shown, averaged over users.

    Formula: ``mean over users of the mean over their items of the popularity``, for the first `k`
    of every list and users with recommendations. Popularity is `popularity`, a column of `items`.
    Without it, popularity is how often the item is shown (in the first `k`, in the slice).

    Range 0 to inf; a description, no ideal.

    Parameters
    ----------
    k
        As in `coverage`.

    Notes
    -----
    HolisticAI's average recommendation popularity uses how often an item is shown as popularity.

    References
    ----------
    Yin, Cui, Li, Yao, Chen (2012). Challenging the Long Tail Recommendation. Proceedings of the
    VLDB Endowment 5(9), 896-907.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7]})
    >>> recs.pipe(ranking.average_popularity, user="user", item="item")
    1.75
    """
    return quotient((_POPULARITY * _USERS).sum(), _USERS.sum())


@of_catalogue(bounds=(0.0, math.inf), better="higher", n=_users)
def novelty() -> pl.Expr:
    """Mean self-information of the items that a user is shown, in bits, averaged over users.

    Formula: ``mean over users of the mean over their items of -log2(s)``, with s the item's share
    of all popularity. An item with half of all recommendations has 1 bit, a rare one many.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    k
        As in `coverage`.

    Notes
    -----
    With `popularity`, a column of `items`, the share is of the catalogue's popularity; without it,
    of all recommendations in the first `k`. If an item of popularity 0 is shown, the value is
    infinite.

    References
    ----------
    Zhou, Kuscsik, Liu, Medo, Wakeling, Zhang (2010). Solving the Apparent Diversity-Accuracy
    Dilemma of Recommender Systems. PNAS 107(10), 4511-4515.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7]})
    >>> items = pl.DataFrame({"item": [7, 8], "sold": [3, 1]})
    >>> roles = {"user": "user", "item": "item", "popularity": "sold"}
    >>> round(recs.pipe(ranking.novelty, items=items, **roles), 6)
    0.811278
    """
    total = pl.coalesce(pl.col("total").max(), _N.sum().cast(pl.Float64))
    bits = (0.0 - (_POPULARITY / total).log(2.0)).clip(0.0)
    shown = _USERS > 0
    return quotient((bits.filter(shown) * _USERS.filter(shown)).sum(), _USERS.sum())


@of_catalogue(bounds=(0.0, 1.0), better="higher", n=_N.sum)
def long_tail_share(*, head: float = 0.2) -> pl.Expr:
    """Share of recommendations that are not among the most popular items.

    Formula: ``recommendations of items outside the head / all recommendations``, in the first `k`.
    The head is the most popular items of the catalogue. Popularity is `popularity`, a column of
    `items`; without it, how often an item is shown.

    Range 0 to 1; no ideal; higher is better.

    Parameters
    ----------
    head
        The part of the catalogue that is the head, rounded up to whole items. Among equally popular
        items the lower one comes first.
    k
        As in `coverage`.

    References
    ----------
    Abdollahpouri, Burke, Mobasher (2019). Managing Popularity Bias in Recommender Systems with
    Personalized Re-Ranking. FLAIRS 2019.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9]})
    >>> recs.pipe(ranking.long_tail_share, user="user", item="item")
    0.5
    """
    if not 0 < head < 1:
        msg = f"`head` is a share of the catalogue, between 0 and 1: got {head!r}"
        raise ValueError(msg)
    ranked = pl.struct(-_N, pl.col("item")).rank("ordinal").cast(pl.Int64)
    rank = pl.coalesce(pl.col("order"), ranked)
    # Rounding alone may lift the product above a whole number.
    last = (_SIZE * head - 1e-9).ceil()
    return quotient(_N.filter(rank > last).sum(), _N.sum())
