"""Click-through rates, ranking of outcomes and errors of scores, over matched pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.compare import known_as, ratio
from polarsfair._engine.metric import Metric, define
from polarsfair._formula import quotient
from polarsfair.ranking._depths import lines_at, with_k
from polarsfair.ranking._matches.pairs import SUMS, match_scores, matches
from polarsfair.ranking._types import RankingMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polarsfair._engine.tally import Tally

__all__ = [
    "auc",
    "ctr",
    "ctr_dr",
    "ctr_effective_size",
    "ctr_ips",
    "ctr_snips",
    "mae_ratio",
    "rmse_ratio",
]

_ROLES = ("actual", "user", "item")


def _total(name: str) -> pl.Expr:
    return pl.col(name).sum()


def _rows(name: str) -> Callable[[], pl.Expr]:
    """Return what a mean is a mean of; expected numbers, over all orders of ties, are rounded."""
    return _total(name).round


def at_k(table: pl.LazyFrame, keys: Sequence[str], *, k: Any = None) -> pl.LazyFrame:
    """View the lines of every requested k."""
    del keys
    return lines_at(table, k, SUMS)


def by_score(table: pl.LazyFrame, keys: Sequence[str], *, k: Any = None) -> pl.LazyFrame:
    """View one line per score, with its clicks and other outcomes; null is a score too."""
    lines = at_k(table, keys, k=k)
    known = pl.col("score").is_not_null() & pl.col("click").is_not_null()
    pairs = pl.when(known).then(pl.col("pairs").cast(pl.Float64)).otherwise(0.0)
    return lines.group_by(*with_k(keys, k), "score").agg(
        clicks=pairs.filter(pl.col("click")).sum(), others=pairs.filter(~pl.col("click")).sum()
    )


def needs(column: str, what: str) -> Callable[[Metric, pl.Schema], None]:
    """Return a check that the table holds the column that a metric reads."""

    def check(metric: Metric, schema: pl.Schema) -> None:
        if column not in schema:
            msg = f"`{metric.name}` needs {what}"
            raise TypeError(msg)

    return check


def _check_auc(metric: Metric, schema: pl.Schema) -> None:
    del schema
    if metric.options.get("ties") == "expected":
        msg = (
            '`auc` does not support `ties="expected"`, because its average over tie orders has no'
            ' closed form: use "item", "optimistic" or "pessimistic"'
        )
        raise ValueError(msg)


_PREDICTIONS = 'predictions: add `score="<column>"` or `predicted="<column>"`'
_SCORES = 'the scores: add `score="<column>"`'


def over_pairs(
    *, tally: Tally = matches, view: Callable[..., pl.LazyFrame] = at_k, **facts: Any
) -> Callable[[Callable[..., pl.Expr]], RankingMetric]:
    """Make a metric of the decorated formula over the sums of a table of matches."""
    return define(tally, "quality", _ROLES, of=RankingMetric, view=view, **facts)


@over_pairs(better="higher", n=_rows("pairs"))
def ctr() -> pl.Expr:
    """Mean outcome of the recommendations whose outcome is known.

    A pair of user and item that is both recommended (in the first `k`) and in `actual` is a match.

    Formula: ``sum of the matches' values / number of matches``. The value is `value`, or
    `relevance` without it. With clicks of 0 and 1 this is the click-through rate by matching.

    Range -inf to inf; no ideal; higher is better.

    Parameters
    ----------
    k
        Look at the first k recommendations of each list only; None means all of them.
    ties
        Which of equal scores comes first: ``"item"`` (the lower id), ``"optimistic"`` (the relevant
        one) or ``"pessimistic"`` (the others). With ``"expected"`` every pair counts by the
        probability that it is among the first k.
    repeats
        A pair that is repeated counts ``"once"``; ``"drop"`` also removes its other ranks,
        ``"error"`` refuses it.

    Notes
    -----
    Only pairs that were shown when the data was collected have an outcome. The value therefore
    describes the old recommender on the pairs on which both agree; `ctr_ips` and `ctr_dr` correct
    for that. Jurity counts a repeated pair once per combination of its rows.

    References
    ----------
    Li, Chu, Langford, Wang (2011). Unbiased Offline Evaluation of Contextual-Bandit-Based News
    Article Recommendation Algorithms. WSDM 2011.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.5]})
    >>> actual = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "click": [1, 0, 1]})
    >>> recs.pipe(ranking.ctr, actual, user="user", item="item", score="score", relevance="click")
    0.5
    """
    return quotient(_total("value"), _total("pairs"))


@over_pairs(better="higher", n=_rows("n"))
def ctr_ips() -> pl.Expr:
    """Mean outcome over all recommendations, estimated by inverse propensity scores.

    Formula: ``sum over the matches of value / propensity``, divided by the number of
    recommendations (in the first `k`). A recommendation without a known outcome adds nothing.
    `propensity` is a column of `actual`; default: one over the number of items of `actual`.

    Range -inf to inf; no ideal; higher is better.

    Parameters
    ----------
    k, ties, repeats
        As in `ctr`.

    Notes
    -----
    Unbiased if the propensities are right and never 0, but of large variance: see
    `ctr_effective_size`, and `ctr_snips` and `ctr_dr` for estimates of smaller variance. As in
    Jurity, a propensity of 0 makes it infinite and an unknown one adds nothing. The default
    propensity depends on the items of `actual`: pass `propensity` if tables are to be merged.

    References
    ----------
    Horvitz, Thompson (1952). A Generalization of Sampling Without Replacement from a Finite
    Universe. Journal of the American Statistical Association 47(260), 663-685.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.5]})
    >>> actual = pl.DataFrame({"user": [1, 1], "item": [7, 8], "click": [1, 0], "p": [0.5, 0.1]})
    >>> recs.pipe(
    ...     ranking.ctr_ips,
    ...     actual,
    ...     user="user",
    ...     item="item",
    ...     score="score",
    ...     relevance="click",
    ...     propensity="p",
    ...     k=1,
    ... )
    1.0
    """
    return quotient(_total("weighted"), _total("n"))


@over_pairs(better="higher", n=_rows("pairs"))
def ctr_snips() -> pl.Expr:
    """Mean outcome of the matches, weighted by one over their propensity.

    Formula: ``sum of value / propensity``, divided by ``sum of 1 / propensity``, both over the
    matches (self-normalised inverse propensity scores). It is always within the range of the
    outcomes.

    Range -inf to inf; no ideal; higher is better.

    Parameters
    ----------
    k, ties, repeats
        As in `ctr`.

    Notes
    -----
    With equal propensities, such as the default ones, it equals `ctr`. It has a small bias, and a
    much smaller variance than `ctr_ips`.

    References
    ----------
    Swaminathan, Joachims (2015). The Self-Normalized Estimator for Counterfactual Learning. NIPS
    2015.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1], "item": [7, 8], "score": [0.9, 0.4]})
    >>> actual = pl.DataFrame({"user": [1, 1], "item": [7, 8], "click": [1, 0], "p": [0.5, 0.25]})
    >>> roles = {"user": "user", "item": "item", "score": "score", "relevance": "click"}
    >>> round(recs.pipe(ranking.ctr_snips, actual, **roles, propensity="p"), 6)
    0.333333
    """
    return quotient(_total("weighted"), _total("weight"))


@over_pairs(better="higher", check=needs("known", _PREDICTIONS), n=_rows("known"))
def ctr_dr() -> pl.Expr:
    """Mean outcome over all recommendations, predicted, and corrected by the known outcomes.

    Formula: ``mean over the recommendations of predicted``, plus ``(value - predicted) /
    propensity`` if the pair is a match (doubly robust). `predicted` is a column of the
    recommendations, default the score; `propensity` as in `ctr_ips`.

    Range -inf to inf; no ideal; higher is better.

    Parameters
    ----------
    k, ties, repeats
        As in `ctr`.

    Notes
    -----
    Unbiased if either the predictions or the propensities are right. As in Jurity, an undefined
    correction (unknown propensity) counts as 0. A recommendation without a prediction is left out.

    References
    ----------
    Dudík, Langford, Li (2011). Doubly Robust Policy Evaluation and Learning. ICML 2011.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 2], "item": [7, 9], "score": [0.5, 0.4]})
    >>> actual = pl.DataFrame({"user": [1], "item": [7], "click": [1], "p": [0.5]})
    >>> roles = {"user": "user", "item": "item", "score": "score", "relevance": "click"}
    >>> round(recs.pipe(ranking.ctr_dr, actual, **roles, propensity="p"), 6)
    0.95
    """
    return quotient(_total("predicted") + _total("corrected"), _total("known"))


@over_pairs(bounds=(0.0, float("inf")), better="higher", n=_rows("pairs"))
def ctr_effective_size() -> pl.Expr:
    """Effective sample size: the number of equally weighted matches of the same precision.

    Formula: ``(sum of 1 / propensity)^2 / sum of 1 / propensity^2``, over the matches. It is their
    number if all propensities are equal, and close to 1 if a single pair determines the estimate.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    k, ties, repeats
        As in `ctr`.

    References
    ----------
    Kish (1965). Survey Sampling. Wiley.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1], "item": [7, 8], "score": [0.9, 0.4]})
    >>> actual = pl.DataFrame({"user": [1, 1], "item": [7, 8], "click": [1, 0], "p": [0.5, 0.25]})
    >>> roles = {"user": "user", "item": "item", "score": "score", "relevance": "click"}
    >>> recs.pipe(ranking.ctr_effective_size, actual, **roles, propensity="p")
    1.8
    """
    return quotient(_total("weight") ** 2, _total("weight2"))


@over_pairs(
    tally=match_scores,
    view=by_score,
    check=_check_auc,
    ideal=1.0,
    bounds=(0.0, 1.0),
    better="higher",
    n=(_total("clicks") + _total("others")).round,
)
def auc() -> pl.Expr:
    """Probability that a clicked match has a higher score than one that was not clicked.

    Formula: ``(pairs in which the click scores higher + half the tied pairs) / all pairs``, over
    all pairs of a click and a non-click among the matches of all users. The values must be 0
    and 1, and `score` is needed. Undefined without a click or without a non-click.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    k, ties, repeats
        As in `ctr`; ``ties="expected"`` is refused. They decide which pairs are within the first k;
        two pairs with equal scores count as a half in any case.

    Notes
    -----
    As in Jurity, and unlike AUC per user, it also compares scores of different users. A match
    without a score is left out.

    References
    ----------
    Hanley, McNeil (1982). The Meaning and Use of the Area under a Receiver Operating Characteristic
    (ROC) Curve. Radiology 143(1), 29-36.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.5]})
    >>> actual = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "click": [1, 0, 0]})
    >>> recs.pipe(ranking.auc, actual, user="user", item="item", score="score", relevance="click")
    1.0
    """
    clicks, others = pl.col("clicks").sort_by("score"), pl.col("others").sort_by("score")
    below = others.cum_sum() - others / 2
    return quotient((clicks * below).sum(), clicks.sum() * others.sum())


@over_pairs(bounds=(0.0, float("inf")), check=needs("scored", _SCORES), n=_rows("scored"))
def _rmse() -> pl.Expr:
    """Root of the mean squared difference between score and value."""
    return quotient(_total("error2"), _total("scored")).sqrt()


@over_pairs(bounds=(0.0, float("inf")), check=needs("scored", _SCORES), n=_rows("scored"))
def _mae() -> pl.Expr:
    """Mean absolute difference between score and value."""
    return quotient(_total("error"), _total("scored"))


@known_as(kind="opportunity", check=needs("scored", _SCORES))
def rmse_ratio() -> RankingMetric:
    """Ratio between user groups of the root mean squared error of the score.

    Formula: ``RMSE(group) / RMSE(ref)``, with ``RMSE = sqrt(mean of (score - value)^2)`` over all
    matches of a group (not per user). With `ref`, for the group whose ratio has the largest
    absolute logarithm; without it, the smallest over the largest.

    Range 0 to inf; ideal 1; nearer is better.

    Parameters
    ----------
    ref
        The group to compare the others with, or `pf.OVERALL` or `pf.REST`.
    k, ties, repeats
        As in `ctr`.

    Notes
    -----
    HolisticAI's recommender RMSE ratio is that of group a with b as `ref`. A value below 1 means
    that the score is closer to the truth for the group.

    References
    ----------
    Ekstrand, Das, Burke, Diaz (2022). Fairness in Information Access Systems. Foundations and
    Trends in Information Retrieval 16(1-2).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame(
    ...     {"user": [1, 2], "item": [7, 7], "score": [4.0, 3.0], "sex": ["F", "M"]}
    ... )
    >>> actual = pl.DataFrame({"user": [1, 2], "item": [7, 7], "stars": [5, 1]})
    >>> roles = {"user": "user", "item": "item", "score": "score", "value": "stars", "group": "sex"}
    >>> recs.pipe(ranking.rmse_ratio, actual, **roles, ref="M")
    0.5
    """
    return ratio(_rmse)


@known_as(kind="opportunity", check=needs("scored", _SCORES))
def mae_ratio() -> RankingMetric:
    """Ratio between user groups of the mean absolute error of the score.

    Formula: ``MAE(group) / MAE(ref)``, with ``MAE = mean of |score - value|`` over all matches of a
    group (not per user). With `ref`, for the group whose ratio has the largest absolute logarithm;
    without it, the smallest over the largest.

    Range 0 to inf; ideal 1; nearer is better.

    Parameters
    ----------
    ref
        The group to compare the others with, or `pf.OVERALL` or `pf.REST`.
    k, ties, repeats
        As in `ctr`.

    Notes
    -----
    HolisticAI's recommender MAE ratio is that of group a with b as `ref`. A value below 1 means
    that the score is closer to the truth for the group.

    References
    ----------
    Ekstrand, Das, Burke, Diaz (2022). Fairness in Information Access Systems. Foundations and
    Trends in Information Retrieval 16(1-2).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame(
    ...     {"user": [1, 2], "item": [7, 7], "score": [4.0, 3.0], "sex": ["F", "M"]}
    ... )
    >>> actual = pl.DataFrame({"user": [1, 2], "item": [7, 7], "stars": [5, 1]})
    >>> roles = {"user": "user", "item": "item", "score": "score", "value": "stars", "group": "sex"}
    >>> recs.pipe(ranking.mae_ratio, actual, **roles, ref="M")
    0.5
    """
    return ratio(_mae)
