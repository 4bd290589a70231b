"""Quality of ranked lists: each metric is the value of one list, averaged over users."""

from __future__ import annotations

import math

import polars as pl

from polarsfair.ranking._lists.conventions import CUT, RANKS, RELEVANT, RETRIEVED, setting
from polarsfair.ranking._lists.list_values import ListValues, quality
from polarsfair.ranking._lists.masks import N_REC, N_REL, K

__all__ = [
    "dcg",
    "err",
    "f1",
    "hit_rate",
    "map",
    "mrr",
    "ndcg",
    "precision",
    "r_precision",
    "rbp",
    "recall",
]

_BY = {
    RETRIEVED: pl.min_horizontal(K, N_REC),
    # The whole list has as many ranks as recommendations.
    RANKS: pl.coalesce(K, N_REC),
    CUT: pl.min_horizontal(K, N_REL),
    RELEVANT: N_REL,
    "min(n_rel, retrieved)": pl.min_horizontal(K, N_REL, N_REC),
}
"""What sums are divided by; k is null for the whole list, and `min_horizontal` ignores null."""


def _ratio(of: pl.Expr, by: pl.Expr) -> pl.Expr:
    """Divide; a list without hits has 0, whatever it is divided by."""
    return pl.when(of == 0).then(0.0).otherwise(of / by)


@quality(average_over={"jurity": "both", "lenskit": "both"})
def precision(
    lists: ListValues,
    *,
    convention: str = "jurity",
    precision_by: str | None = None,
) -> pl.Expr:
    """Share of the first k recommendations that are relevant, averaged over users.

    Formula per user: ``hits@k / min(k, n_rec)``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    The mean is over users with a relevant item and recommendations. RecTools, ranx, trec_eval,
    RePlay and Spark divide by k, so that short lists score lower (``precision_by="k"`` or their
    conventions).

    Unexpectedness is 1 minus the precision with respect to a baseline: `actual` is the first k
    recommendations of the baseline, the hits are divided by k, and the mean is over the users of
    the baseline. RePlay has the same value, except that a user without recommendations has 1 here
    and 0 there.

    References
    ----------
    Manning, Raghavan, Schütze (2008). Introduction to Information Retrieval, chapter 8. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> recs.pipe(ranking.precision, actual, k=2, **roles)
    0.5

    Unexpectedness with respect to the most popular items:

    >>> popular = pl.DataFrame({"user": [1, 1, 1, 2, 2], "item": [7, 9, 5, 7, 9]})
    >>> first = popular.group_by("user", maintain_order=True).head(2)
    >>> options = {"precision_by": "k", "average_over": "relevant"}
    >>> 1 - recs.pipe(ranking.precision, first, k=2, **roles, **options)
    0.25
    """
    return _ratio(lists.hits(), _BY[setting("precision_by", precision_by, convention)])


@quality()
def recall(
    lists: ListValues,
    *,
    convention: str = "jurity",
    recall_by: str | None = None,
) -> pl.Expr:
    """Share of a user's relevant items that are in the first k, averaged over users.

    Formula per user: ``hits@k / n_rel``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    The mean is over users with a relevant item; without recommendations, a user has 0. LensKit
    divides by min(k, n_rel), so that a perfect list scores 1 at every k
    (``recall_by="min(k, n_rel)"``).

    With several models in one frame, ``by="model"`` returns a row per model. A user whom a model
    has no recommendations for counts as 0 for that model, so that all models are averaged over the
    same users. Precision and MAP leave such a user out (``average_over="relevant"`` counts 0 there
    too).

    References
    ----------
    Manning, Raghavan, Schütze (2008). Introduction to Information Retrieval, chapter 8. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> round(recs.pipe(ranking.recall, actual, k=2, **roles), 4)
    0.6667

    Two models; the new one does not serve user 2:

    >>> both = pl.concat(
    ...     [
    ...         recs.with_columns(model=pl.lit("old")),
    ...         recs.filter(pl.col("user") == 1).with_columns(model=pl.lit("new")),
    ...     ]
    ... )
    >>> both.pipe(ranking.recall, actual, k=2, by="model", **roles)
    shape: (2, 2)
    ┌───────┬──────────┐
    │ model ┆ recall   │
    │ ---   ┆ ---      │
    │ str   ┆ f64      │
    ╞═══════╪══════════╡
    │ new   ┆ 0.166667 │
    │ old   ┆ 0.666667 │
    └───────┴──────────┘
    """
    return _ratio(lists.hits(), _BY[setting("recall_by", recall_by, convention)])


@quality()
def f1(
    lists: ListValues,
    *,
    convention: str = "jurity",
    precision_by: str | None = None,
    recall_by: str | None = None,
) -> pl.Expr:
    """Harmonic mean of a user's precision and recall, averaged over users.

    Formula per user: ``2 P R / (P + R)``, 0 without a hit.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    This is the mean of the users' F1. Evidently computes the F1 of the mean precision and recall
    instead. The mean is over users with a relevant item.

    References
    ----------
    van Rijsbergen (1979). Information Retrieval, 2nd edition. Butterworths.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> round(recs.pipe(ranking.f1, actual, k=2, **roles), 4)
    0.5333
    """
    retrieved = _BY[setting("precision_by", precision_by, convention)]
    return _ratio(2 * lists.hits(), retrieved + _BY[setting("recall_by", recall_by, convention)])


@quality(in_order=True)
def hit_rate(lists: ListValues) -> pl.Expr:
    """Share of users with a relevant item among the first k.

    Formula per user: 1 if ``hits@k > 0``, else 0.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    The mean is over users with a relevant item. Also known as success@k.

    References
    ----------
    Deshpande, Karypis (2004). Item-Based Top-N Recommendation Algorithms. ACM Transactions on
    Information Systems 22(1), 143-177.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> recs.pipe(ranking.hit_rate, actual, k=1, **roles)
    0.5
    """
    return (lists.hits() > 0).cast(pl.Float64)


@quality(in_order=True, average_over={"jurity": "both", "lenskit": "both"})
def map(  # noqa: A001 - the usual name of the metric
    lists: ListValues,
    *,
    convention: str = "jurity",
    map_by: str | None = None,
) -> pl.Expr:
    """Mean average precision: the precision at the rank of every hit, averaged over users.

    Formula per user: ``sum of precision@r over the ranks r <= k of hits / min(k, n_rel)``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    The mean is over users with a relevant item and recommendations, as in Jurity's code and
    description. Jurity's written formula averages over all users with relevant items
    (``average_over="relevant"``). RecTools, ranx and trec_eval divide by n_rel even if k is smaller
    (``map_by="n_rel"``).

    References
    ----------
    Buckley, Voorhees (2000). Evaluating Evaluation Measure Stability. SIGIR 2000.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> round(recs.pipe(ranking.map, actual, k=2, **roles), 4)
    0.5
    """
    by = setting("map_by", map_by, convention)
    return _ratio(lists.precisions(), lists.hits() if by == "hits" else _BY[by])


@quality(average_over={"recommenders": "relevant"})
def ndcg(
    lists: ListValues,
    *,
    convention: str = "jurity",
    ideal_over: str | None = None,
    gain: str | None = None,
    discount: str | None = None,
    p: float = 0.8,
) -> pl.Expr:
    """Normalised discounted cumulative gain: hits discounted by rank, relative to the best order.

    Formula per user: ``sum of 1 / log2(1 + r) over the ranks r <= k of hits``, divided by the same
    sum for r = 1 to n_rel.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    As in Jurity, the ideal is not cut at k, so that a perfect list scores below 1 if a user has
    more than k relevant items. With ``k=None`` this is the written formula. All other libraries cut
    the ideal (``ideal_over="min(k, n_rel)"``), RecTools at k even if n_rel is smaller
    (``ideal_over="k"``). With `gain` the grades of `relevance` count. scikit-learn's
    ``ndcg_score`` is ``gain="linear", ties="expected", ideal_over="min(k, n_rel)"``. The mean is
    over users with a relevant item.

    References
    ----------
    Järvelin, Kekäläinen (2002). Cumulated Gain-Based Evaluation of IR Techniques. ACM Transactions
    on Information Systems 20(4), 422-446. McSherry, Najork (2008). Computing Information Retrieval
    Performance Measures Efficiently in the Presence of Tied Scores. ECIR 2008.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> round(recs.pipe(ranking.ndcg, actual, k=2, **roles), 4)
    0.5501
    """
    over = setting("ideal_over", ideal_over, convention)
    name = setting("discount", discount, convention)
    if over == RANKS and gain not in (None, "binary"):
        msg = (
            '`ideal_over="k"`, as in `convention="rectools"`, is not defined for grades: add'
            ' `ideal_over="min(k, n_rel)"` or "n_rel"'
        )
        raise ValueError(msg)
    ideal = lists.ideal(_BY[over], name, p, cut=over == CUT)
    return _ratio(lists.discounted(name, p), ideal)


@quality(average_over={"recommenders": "relevant"}, ideal=None, bounds=(0.0, math.inf))
def dcg(
    lists: ListValues,
    *,
    convention: str = "jurity",
    gain: str | None = None,
    discount: str | None = None,
    p: float = 0.8,
) -> pl.Expr:
    """Discounted cumulative gain: hits discounted by rank, averaged over users.

    Formula per user: ``sum of 1 / log2(1 + r) over the ranks r <= k of hits``. It is the numerator
    of `ndcg`, averaged over the same users.

    Range 0 to inf; no ideal; higher is better.

    Notes
    -----
    Its size depends on k and on the number of relevant items: compare models on the same users
    only. With `gain` the grades of `relevance` count. scikit-learn's ``dcg_score`` is
    ``gain="linear", ties="expected"``. A convention sets the users and the discount, as for `ndcg`.
    The mean is over users with a relevant item.

    References
    ----------
    Järvelin, Kekäläinen (2002). Cumulated Gain-Based Evaluation of IR Techniques. ACM Transactions
    on Information Systems 20(4), 422-446.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> round(recs.pipe(ranking.dcg, actual, k=2, **roles), 4)
    0.8155
    """
    del gain
    return lists.discounted(setting("discount", discount, convention), p)


@quality(in_order=True)
def mrr(lists: ListValues) -> pl.Expr:
    """Mean reciprocal rank of the first hit.

    Formula per user: ``1 / rank of the first hit``, 0 without a hit within k.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    The mean is over users with a relevant item.

    References
    ----------
    Voorhees (1999). The TREC-8 Question Answering Track Report. TREC-8.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> recs.pipe(ranking.mrr, actual, k=2, **roles)
    0.75
    """
    return lists.first()


@quality()
def r_precision(lists: ListValues) -> pl.Expr:
    """Share of a user's first n_rel recommendations that are relevant, averaged over users.

    Formula per user: ``hits@min(k, n_rel) / n_rel``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    n_rel is the number of relevant items of the user. The mean is over users with a relevant item.
    ``k=None`` is the textbook definition, without a cut. RecTools' R-precision counts hits up to k
    and divides by min(k, n_rel): that is `precision` with ``precision_by="min(k, n_rel)"``.

    References
    ----------
    Buckley, Voorhees (2000). Evaluating Evaluation Measure Stability. SIGIR 2000.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> round(recs.pipe(ranking.r_precision, actual, k=None, **roles), 4)
    0.1667
    """
    return _ratio(lists.top(), N_REL)


@quality()
def rbp(lists: ListValues, *, p: float = 0.8) -> pl.Expr:
    """Rank-biased precision for a user who looks at the next item with probability p.

    Formula per user: ``(1 - p) * sum of p^(r - 1) over the ranks r <= k of hits``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    A list of k hits scores 1 - p^k. The mean is over users with a relevant item.

    References
    ----------
    Moffat, Zobel (2008). Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM
    Transactions on Information Systems 27(1).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> round(recs.pipe(ranking.rbp, actual, k=2, **roles), 4)
    0.18
    """
    return (1 - p) * lists.persistence(p)


@quality(in_order=True)
def err(
    lists: ListValues,
    *,
    gain: str | None = None,
    max_grade: float | None = None,
) -> pl.Expr:
    """Expected reciprocal rank: the mean of 1/rank at which a user is satisfied and stops.

    Formula per user: ``sum over the ranks r <= k of hits of R(r) / r * product of 1 - R(i) over
    the hits before``. R is the probability that a hit satisfies the user, 1/2.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    With `gain` the grades of `relevance` count: R = (2^grade - 1) / 2^max_grade
    (``"exponential"``, as published) or grade / (max_grade + 1) (``"linear"``). The mean is over
    users with a relevant item.

    References
    ----------
    Chapelle, Metzler, Zhang, Grinspan (2009). Expected Reciprocal Rank for Graded Relevance. CIKM
    2009.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "score": [4, 3, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 9]})
    >>> roles = {"user": "user", "item": "item", "score": "score"}
    >>> recs.pipe(ranking.err, actual, k=2, **roles)
    0.375
    """
    if gain not in (None, "binary") and max_grade is None:
        msg = "`err` of grades needs the highest possible grade: add `max_grade=...`"
        raise ValueError(msg)
    return lists.stops()
