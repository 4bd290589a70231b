"""What groups of users are shown, and how high it is scored: one group compared with another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.compare import difference, known_as
from polarsfair._engine.group_pairs import OTHER_GROUP, beside_group, enough, every_pair, other_of
from polarsfair._engine.metric import OfGroups, define
from polarsfair._engine.reference import GROUP, REST, Everyone
from polarsfair._engine.rows import number
from polarsfair._engine.slices import every_slice, hidden, joined, over, summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.ranking._depths import lines_at, with_k
from polarsfair.ranking._shown.exposure import exposure, slices_of
from polarsfair.ranking._shown.recs import shown_recs
from polarsfair.ranking._types import ShownMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser

__all__ = ["exposure_kl", "exposure_total_variation", "mad", "shown_scores"]

_TOTAL, _GIVEN = hidden("total"), hidden("given score")
_VARIATION, _DIVERGENCE = hidden("variation"), hidden("divergence")
_MORE, _SHARED, _NATS = hidden("more"), hidden("shared"), hidden("nats")


def between_groups(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    k: Any = None,
    ref: Any = None,
) -> pl.LazyFrame:
    """View one line per pair of groups, with the distances between the items they are shown.

    Only items that both groups are shown are joined, so that memory follows the table. The share
    of all other items is what remains of a group's total.
    """
    lines, slices = lines_at(slices_of(table), k, ("n", "users")), with_k(keys, k)
    known = pl.col(GROUP).is_not_null() & pl.col("item").is_not_null() & (pl.col("n") > 0)
    counts = summed(lines.filter(known), [*slices, GROUP, "item"], ["n"])
    totals = summed(counts, [*slices, GROUP], ["n"]).rename({"n": _TOTAL})
    several = totals.filter(enough(over(pl.len(), slices)))
    pairs = _with_other(several, _TOTAL, slices, ref)
    shared = _with_other(counts, "n", [*slices, "item"], ref).filter(pl.col(other_of("n")) > 0)
    pair = [*slices, GROUP, *[OTHER_GROUP] * (ref is None)]
    p, q = (pl.col(n) / pl.col(t) for n, t in (("n", _TOTAL), (other_of("n"), other_of(_TOTAL))))
    sums = {
        _MORE: (p - q).clip(0.0).sum(),
        _SHARED: pl.col("n").sum(),
        _NATS: (p * (p / q).log(math.e)).sum(),
    }
    found = joined(shared, pairs, pair).group_by(pair).agg(**sums)
    found = joined(pairs, found, pair, how="left").with_columns(**_distances())
    return every_slice(lines, found, slices)


def _with_other(lines: pl.LazyFrame, sum_: str, keys: Sequence[str], ref: Any) -> pl.LazyFrame:
    """Add the other side's sum to the line of every group, per key; without another, no line."""
    own, other = pl.col(sum_), other_of(sum_)
    if ref is None:
        paired = every_pair(lines, [sum_], keys)
    elif isinstance(ref, Everyone):
        everyone = over(own.sum(), keys)
        paired = lines.with_columns((everyone - own if ref is REST else everyone).alias(other))
    else:
        paired = beside_group(lines, [sum_], keys, ref)
    return paired.filter(pl.col(other).is_not_null())


def _distances() -> dict[str, pl.Expr]:
    total, shared = pl.col(_TOTAL), pl.col(_SHARED).fill_null(0)
    variation = pl.col(_MORE).fill_null(0.0) + (total - shared) / total
    nats = pl.when(shared < total).then(math.inf).otherwise(pl.col(_NATS).clip(0.0))
    return {_VARIATION: variation, _DIVERGENCE: nats}


def _shown_to_groups(table: pl.LazyFrame, keys: Sequence[str], *, k: Any = None) -> pl.LazyFrame:
    """Return the lines of items that are shown, at every requested k."""
    del keys
    return lines_at(slices_of(table), k, ("n",)).filter(pl.col("item").is_not_null())


_RECOMMENDATIONS = OfGroups(
    view=_shown_to_groups, rows=pl.col("n").sum(), needs=(pl.col("n").sum(),), alone=False
)


def of_groups(**facts: Any) -> Callable[[Callable[..., pl.Expr]], ShownMetric]:
    """Make a metric of the decorated formula over pairs of groups."""
    return define(
        exposure,
        "outcome",
        ("user", "item", "group"),
        of=ShownMetric,
        view=between_groups,
        ideal=0.0,
        better="lower",
        n=_RECOMMENDATIONS,
        **facts,
    )


@of_groups(bounds=(0.0, 1.0))
def exposure_total_variation() -> pl.Expr:
    """Total variation distance between the items shown to two groups of users.

    Formula: ``sum over items of |p - q| / 2``, with p and q the shares of an item among all
    recommendations to either group in the first `k`. It is 0 if the shares are the same, and 1 if
    the groups have no item in common. With `ref`, for the group with the largest distance from it;
    without it, the largest of all pairs of groups.

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    ref
        The group to compare the others with, or `pf.OVERALL` or `pf.REST`.
    k
        Look at the first k recommendations of each list only; None means all of them.

    Notes
    -----
    HolisticAI's exposure total variation (`exposure_l1`).

    References
    ----------
    Levin, Peres, Wilmer (2009). Markov Chains and Mixing Times, chapter 4. American Mathematical
    Society.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame(
    ...     {"user": [1, 1, 2, 2], "item": [7, 8, 8, 9], "sex": ["F", "F", "M", "M"]}
    ... )
    >>> recs.pipe(ranking.exposure_total_variation, user="user", item="item", group="sex")
    0.5
    """
    return pl.col(_VARIATION).max()


@of_groups(bounds=(0.0, math.inf))
def exposure_kl() -> pl.Expr:
    """Kullback-Leibler divergence between the items shown to two groups of users.

    Formula: ``sum over items of p ln(p / q)``, in nats, with p and q the shares of an item among
    all recommendations to the group and to the other in the first `k`. Infinite if the group is
    shown an item that the other is not. With `ref`, for the group with the largest divergence from
    it; without it, the largest of all ordered pairs.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    ref
        The group to compare the others with, or `pf.OVERALL` or `pf.REST`.
    k
        Look at the first k recommendations of each list only; None means all of them.

    Notes
    -----
    HolisticAI's exposure divergence of group a from b is the value of a with b as `ref`.

    References
    ----------
    Kullback, Leibler (1951). On Information and Sufficiency. Annals of Mathematical Statistics
    22(1), 79-86.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 2, 2], "item": [7, 7, 8], "sex": ["F", "M", "M"]})
    >>> roles = {"user": "user", "item": "item", "group": "sex"}
    >>> round(recs.pipe(ranking.exposure_kl, **roles, ref="M"), 6)
    0.693147
    """
    return pl.col(_DIVERGENCE).max()


def _count_scores(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    user: IntoUser | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    group: IntoGroup | None = None,
    users: IntoFrame | None = None,
) -> pl.LazyFrame:
    """Sum the scores of all recommendations.

    The table has the slices and ``group``, and the sums ``n`` (recommendations with a known score)
    and ``score``.

    Parameters
    ----------
    rows, by, group, users, user, item, score
        As in `ranking.lists`, without a ground truth.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "score": [0.5, 0.25, None]})
    >>> ranking.shown_scores(recs, user="user", item="item", score="score")
    shape: (1, 2)
    ┌─────┬───────┐
    │ n   ┆ score │
    │ --- ┆ ---   │
    │ i64 ┆ f64   │
    ╞═════╪═══════╡
    │ 2   ┆ 0.75  │
    └─────┴───────┘
    """
    if score is None:
        msg = 'the scores are missing: add `score="<column>"`'
        raise TypeError(msg)
    found = shown_recs(
        rows,
        by,
        user=user,
        item=item,
        score=score,
        group=group,
        users=users,
        ranked=False,
        more={_GIVEN: number(score)},
    )
    value = pl.col(_GIVEN)
    lines = found.rows.frame.with_columns(n=value.is_not_null().cast(pl.Int64), score=value)
    counted = summed(lines, found.keys, ["n", "score", *found.faults])
    return found.inputs.table(counted, [], ["n", "score"])


shown_scores = Tally(
    name="ranking.shown_scores",
    count=_count_scores,
    cells=("group",),
    sums={"n": pl.col("n").sum(), "score": pl.col("score").sum()},
    defaults={},
)


@define(shown_scores, "outcome", ("user", "item", "score"), of=ShownMetric)
def _mean_score() -> pl.Expr:
    """Mean score of all recommendations."""
    return quotient(pl.col("score").sum(), pl.col("n").sum())


@known_as()
def mad() -> ShownMetric:
    """Difference between user groups in the mean score of their recommendations.

    Formula: ``mean score(group) - mean score(ref)``, over all recommendations of a group whose
    score is known (not per user). With `ref`, signed, for the group with the largest difference;
    without it, the largest minus the smallest.

    Range -inf to inf; ideal 0; nearer is better.

    Parameters
    ----------
    ref
        The group to compare the others with, or `pf.OVERALL` or `pf.REST`.

    Notes
    -----
    HolisticAI's mean absolute deviation of group a from b is the value of a with b as `ref`. It is
    signed, in spite of its name.

    References
    ----------
    Deldjoo, Anelli, Zamani, Bellogín, Di Noia (2021). A Flexible Framework for Evaluating User and
    Item Fairness in Recommender Systems. User Modeling and User-Adapted Interaction 31, 457-511.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "score": [0.5, 1.0, 0.25]})
    >>> sexes = pl.DataFrame({"user": [1, 2], "sex": ["F", "M"]})
    >>> roles = {"user": "user", "item": "item", "score": "score", "group": "sex"}
    >>> recs.pipe(ranking.mad, **roles, users=sexes, ref="M")
    0.5
    """
    return difference(_mean_score)
