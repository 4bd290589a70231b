"""What groups of users are shown, and how high it is scored: one group against another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.compare import difference, known_as
from polarsfair._engine.legacy import stopping
from polarsfair._engine.metric import define
from polarsfair._engine.reference import OVERALL, REST, mark_reference
from polarsfair._engine.slices import summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.ranking._inputs import ONE
from polarsfair.ranking._shown.exposure import exposure
from polarsfair.ranking._shown.recs import lines_at, listed, shown, stops
from polarsfair.ranking._types import ShownMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup

__all__ = ["exposure_kl", "exposure_total_variation", "mad", "shown_scores"]

_OWN, _OTHER = pl.col("n"), pl.col("n|other")
_P, _Q = _OWN / pl.col("all|"), _OTHER / pl.col("all||other")


def between_groups(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    k: Any = None,
    ref: Any = None,
) -> pl.LazyFrame:
    """View one line per pair of groups, with how far apart the items are that they are shown.

    Only items that both are shown need to be set side by side; the rest of a group's showings is
    what is left of its total.
    """
    lines = lines_at(table, keys, k, ("n", "users")).with_columns(pl.lit(0).alias("one|"))
    slices = [*keys, *["k"] * listed(k), "one|"]
    known = pl.col("group").is_not_null() & pl.col("item").is_not_null() & (_OWN > 0)
    counts = lines.filter(known).group_by(*slices, "group", "item").agg(_OWN.sum())
    counts = counts.with_columns(_OWN.sum().over([*slices, "group"]).alias("all|"))
    pairs = _pairs(counts, slices, ref)
    sides = _sides(counts, slices, ref)
    apart = sides.group_by(*slices, "group", "group|other").agg(
        (_P - _Q).clip(0.0).sum().alias("more|"),
        _OWN.sum().alias("shared|"),
        (_P * (_P / _Q).log(math.e)).sum().alias("nats|"),
    )
    both = [*slices, "group", "group|other"]
    found = pairs.join(apart, on=both, how="left", nulls_equal=True).with_columns(**_distances())
    every = lines.select(slices).unique()
    return every.join(found, on=slices, how="left", nulls_equal=True).drop("one|")


def _distances() -> dict[str, pl.Expr]:
    shared = pl.col("shared|").fill_null(0)
    alone = (pl.col("all|") - shared) / pl.col("all|")
    nats = pl.when(shared < pl.col("all|")).then(math.inf).otherwise(pl.col("nats|").clip(0.0))
    return {"variation|": pl.col("more|").fill_null(0.0) + alone, "divergence|": nats}


def _pairs(counts: pl.LazyFrame, slices: Sequence[str], ref: Any) -> pl.LazyFrame:
    """Give every pair of groups that is to be compared, in slices with two groups at least."""
    groups = counts.select(*slices, "group", "all|").unique()
    groups = groups.with_columns(pl.len().over(slices).alias("groups|"))
    if ref in (OVERALL, REST):
        paired = groups.with_columns(pl.col("group").alias("group|other"))
        return paired.filter(pl.col("groups|") > 1)
    every = pl.lit(value=True).alias("ref|")
    groups = groups.with_columns(every) if ref is None else mark_reference(groups, ref, "ref|")
    others = groups.filter("ref|").select(*slices, pl.col("group").alias("group|other"))
    paired = groups.join(others, on=list(slices), nulls_equal=True)
    return paired.filter(pl.col("group") != pl.col("group|other"))


def _sides(counts: pl.LazyFrame, slices: Sequence[str], ref: Any) -> pl.LazyFrame:
    """Put what the other side is shown of an item beside what a group is shown of it."""
    if ref not in (OVERALL, REST):
        names = {"group": "group|other", "n": "n|other", "all|": "all||other"}
        return counts.join(counts.rename(names), on=[*slices, "item"], nulls_equal=True)
    everyone = pl.col("n").sum().over([*slices, "item"]), pl.col("n").sum().over(slices)
    own = (0, 0) if ref is OVERALL else (pl.col("n"), pl.col("all|"))
    return counts.with_columns(
        (everyone[0] - own[0]).alias("n|other"),
        (everyone[1] - own[1]).alias("all||other"),
        pl.col("group").alias("group|other"),
    ).filter(_OTHER > 0)


def of_groups(**facts: Any) -> Callable[[Callable[..., pl.Expr]], ShownMetric]:
    """Decorate a formula over pairs of groups."""
    return define(
        exposure,
        "outcome",
        ("user", "item", "group"),
        of=ShownMetric,
        view=between_groups,
        ideal=0.0,
        better="lower",
        **facts,
    )


@of_groups(bounds=(0.0, 1.0))
def exposure_total_variation() -> pl.Expr:
    """How far the items lie apart that two groups of users are shown: total variation.

    Formula: ``sum over items of |p - q| / 2``, with p and q the shares of an item among all that
    either group is shown in the first `k`. 0 when the groups are shown the same mix, 1 when they
    have no item in common. With `ref`, of the group farthest from it; without, the largest of all
    pairs of groups.

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    ref
        The group that the others are set against, or `pf.OVERALL` or `pf.REST`.
    k
        Look at the first k recommendations of each list only; None is all of them.

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
    return pl.col("variation|").max()


@of_groups(bounds=(0.0, math.inf))
def exposure_kl() -> pl.Expr:
    """How far the items that a group of users is shown lie from another's: Kullback-Leibler.

    Formula: ``sum over items of p ln(p / q)``, in nats, with p and q the shares of an item among
    all that the group and the other are shown in the first `k`. Infinite when the group is shown an
    item that the other is not. With `ref`, of the group farthest from it; without, the largest of
    all ordered pairs.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    ref
        The group that the others are set against, or `pf.OVERALL` or `pf.REST`.
    k
        Look at the first k recommendations of each list only; None is all of them.

    Notes
    -----
    HolisticAI's exposure divergence of group a from b is that of a with `ref` b.

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
    return pl.col("divergence|").max()


def _count_scores(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    user: IntoColumn | None = None,
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
    scores = {"score": score, "given|": score}
    found = shown(
        rows,
        by,
        user=user,
        item=item,
        group=group,
        users=users,
        placed=False,
        rec_roles=scores,
    )
    value = pl.col("given|").cast(pl.Float64).fill_nan(None)
    known = value.is_not_null().cast(pl.Int64)
    named_rows = found.rows.select(*found.keys, *found.faults, n=ONE * known, score=value)
    table = summed(named_rows, found.keys, ["n", "score", *found.faults])
    table = stopping(table, stops(found.faults), ["n", "score"])
    return found.inputs.finished(table, "n", "score")


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
    """Compare user groups by the mean score of what is recommended to them.

    Formula: ``mean score(group) - mean score(ref)``, over all recommendations of a group whose
    score is known (not per user). With `ref`, of the group farthest from it, signed; without, the
    largest less the smallest.

    Range -inf to inf; ideal 0; nearer is better.

    Parameters
    ----------
    ref
        The group that the others are set against, or `pf.OVERALL` or `pf.REST`.

    Notes
    -----
    HolisticAI's mean absolute deviation of group a from b is that of a with `ref` b; it is signed,
    in spite of its name.

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
