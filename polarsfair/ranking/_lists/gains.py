"""The table of gains: real numbers per user and k, where masks of hits cannot tell.

That is the case for graded relevance, for the mean over all orders of equal scores, and for whole
lists of any length.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polarsfair._engine.tally import Tally
from polarsfair.ranking._lists.conventions import CHOICES, discounting, setting
from polarsfair.ranking._lists.masks import AT, check_order, depths, list_inputs, one_of
from polarsfair.ranking._lists.ranks import Plan, Repeats, Ties, ranked_hits, relevant_pairs
from polarsfair.ranking._lists.users import histogram, truth, units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup
    from polarsfair.ranking._inputs import Inputs

__all__ = ["gains"]

VALUES = (
    "hits",
    "top",
    "first",
    "precisions",
    "stops",
    "persistence",
    "gain",
    "ideal",
    "ideal_all",
)
"""Columns of numbers; those of the last two are null where the ideal follows from n_rel."""

_PLACE, _SHARE = pl.col("place"), pl.col("share")


class Setting(NamedTuple):
    """One way to sum: a line of the table for each."""

    k: int | None
    discount: str
    p: float
    grading: str | None

    def cells(self) -> dict[str, Any]:
        """Give the cells that tell settings apart, but for k."""
        return {"discount": self.discount, "p": self.p, "grading": self.grading}

    def gain(self) -> pl.Expr:
        """Give the gain of a hit."""
        if self.grading is None:
            return pl.lit(1.0)
        grade = pl.col("grade")
        return grade if self.grading == "linear" else pl.lit(2.0).pow(grade) - 1

    def stop(self, max_grade: float | None) -> pl.Expr:
        """Give the chance that a reader stops at a hit."""
        if self.grading is None:
            return pl.lit(0.5)
        if max_grade is None:
            return pl.lit(None, dtype=pl.Float64)
        best = max_grade + 1 if self.grading == "linear" else 2.0**max_grade
        return self.gain() / best

    def within(self, place: pl.Expr) -> pl.Expr:
        """Say whether a place is looked at."""
        return pl.lit(value=True) if self.k is None else place <= self.k


def settings_of(k: Any, *, discount: Any, convention: Any, p: Any, gain: Any) -> list[Setting]:
    """Combine every value of every option that was asked for, each once."""
    names = [
        setting("discount", one, rule) for one in _listed(discount) for rule in _listed(convention)
    ]
    for one in _listed(p):
        discounting("log", one)
    for one in _listed(gain):
        if one is not None:
            one_of("gain", one, CHOICES["gain"])
    gradings = [None if one == "binary" else one for one in _listed(gain)]
    found = itertools.product(depths(k), names, map(float, _listed(p)), gradings)
    return [Setting(*one) for one in dict.fromkeys(found)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _count_gains(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    actual: IntoFrame | None = None,
    user: IntoColumn | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    relevance: IntoColumn | None = None,
    group: IntoGroup | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int | None] | None = AT,
    ties: Ties = "item",
    repeats: Repeats = "once",
    plan: Plan = "hits first",
    gain: str | None = None,
    max_grade: float | None = None,
    discount: str | None = None,
    p: float = 0.8,
    convention: str = "jurity",
) -> pl.LazyFrame:
    """Sum the gains of ranked lists per user, and count users with the same sums.

    The table has the slices, ``group``, ``k`` (null: the whole list), ``discount``, ``p`` and
    ``grading`` (what the sums were made with), the numbers of the first k places (``hits``,
    ``top``: hits among the first n_rel, ``first``: reciprocal rank of the first hit,
    ``precisions``: sum of the precision at every hit, ``stops``: expected reciprocal rank,
    ``persistence``: sum of p to the rank - 1, ``gain``: discounted gain, ``ideal`` and
    ``ideal_all``: the best gain within k and without a cut), ``n_rel``, ``n_rec``, and the sum
    ``users``. It serves graded relevance (`gain`), ``ties="expected"`` and whole lists of any
    length. Tables add up as long as no user's rows are split between them.

    Parameters
    ----------
    rows, by, group, actual, users, user, item, score, rank, relevance, repeats, plan
        As in `ranking.lists`; the relevance is the grade.
    k
        Cut-offs, 10 unless told; None is the whole list.
    ties
        As in `ranking.lists`, and of relevant items the highest grade first (``"optimistic"``) or
        last (``"pessimistic"``); ``"expected"`` is the mean over all orders of equal scores.
    gain
        ``"linear"`` (the grade) or ``"exponential"`` (2 to the grade, less 1).
    max_grade
        The highest grade there can be: `ranking.err` needs it for grades.
    discount, p, convention
        The discount of the gains, by itself or as a convention has it.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1], "item": [7, 8], "score": [0.9, 0.4]})
    >>> actual = pl.DataFrame({"user": [1, 1], "item": [7, 8], "stars": [1, 3]})
    >>> table = ranking.gains(
    ...     recs, actual, user="user", item="item", score="score", relevance="stars", gain="linear"
    ... )
    >>> table.select("hits", "gain", "ideal", "users")
    shape: (1, 4)
    ┌──────┬──────────┬─────────┬───────┐
    │ hits ┆ gain     ┆ ideal   ┆ users │
    │ ---  ┆ ---      ┆ ---     ┆ ---   │
    │ f64  ┆ f64      ┆ f64     ┆ i64   │
    ╞══════╪══════════╪═════════╪═══════╡
    │ 2.0  ┆ 2.892789 ┆ 3.63093 ┆ 1     │
    └──────┴──────────┴─────────┴───────┘
    """
    roles = {"user": user, "item": item, "score": score, "rank": rank, "relevance": relevance}
    inputs = list_inputs(
        rows, by, actual=actual, users=users, group=group, repeats=repeats, **roles
    )
    one_of("ties", ties, ("item", "optimistic", "pessimistic", "expected"))
    check_order(inputs, ties, plan)
    found = settings_of(k, discount=discount, convention=convention, p=p, gain=gain)
    if isinstance(max_grade, list):
        max_grade = one_of("max_grade", max_grade, ())
    graded = any(one.grading is not None for one in found)
    if graded and not inputs.graded:
        msg = '`gain` is about grades: add `relevance="<column>"`'
        raise TypeError(msg)
    return _table(inputs, found, ties=ties, plan=plan, max_grade=max_grade, graded=graded)


def _table(
    inputs: Inputs,
    found: Sequence[Setting],
    *,
    ties: Ties,
    plan: Plan,
    max_grade: float | None,
    graded: bool,
) -> pl.LazyFrame:
    pairs = relevant_pairs(inputs, graded=graded)
    ks = [one.k for one in found]
    depth = None if None in ks else max(k for k in ks if k is not None)
    hits = ranked_hits(inputs, pairs, ties=ties, plan=plan, depth=depth, graded=graded)
    summed = _summed(inputs, pairs, hits, found, max_grade, spread=ties == "expected")
    ideals = _ideals(inputs, pairs, found) if graded else None
    values = [f"{name}|{i}" for name in VALUES for i in range(len(found))]
    lines = units(inputs, pairs, summed, values, more_truth=ideals)
    return _one_line_each(inputs, lines, found)


def _summed(
    inputs: Inputs,
    pairs: pl.LazyFrame,
    hits: pl.LazyFrame,
    found: Sequence[Setting],
    max_grade: float | None,
    *,
    spread: bool,
) -> pl.LazyFrame:
    """Sum over the hits of every unit, in every setting."""
    keys = inputs.keys
    counted = truth(inputs, pairs).select(*inputs.actual_keys, "n_rel")
    hits = hits.join(counted, on=inputs.actual_keys, nulls_equal=len(inputs.actual_keys) > 1)
    if not spread:
        turn = _PLACE.rank("ordinal").over(keys).cast(pl.Int64)
        hits = hits.with_columns(share=1.0, turn=turn)
    clash = (pl.len().over([*keys, "place"]) > 1).cast(pl.Int64)
    marks = {"clash|": clash} if inputs.ranked else {}
    if max_grade is not None and any(one.grading is not None for one in found):
        marks["bad_grade|"] = (pl.col("grade") > max_grade).cast(pl.Int64)
    columns: dict[str, pl.Expr] = {}
    for i, one in enumerate(found):
        columns |= _columns(i, one, keys, max_grade, spread=spread)
    rows = hits.select(*keys, **marks, **columns)
    firsts = [name for name in columns if name.startswith("first|")]
    sums = [pl.col(name).sum() for name in (*marks, *columns) if name not in firsts]
    return rows.group_by(keys).agg(*sums, *(pl.col(name).max() for name in firsts))


def _columns(
    i: int, one: Setting, keys: Sequence[str], max_grade: float | None, *, spread: bool
) -> dict[str, pl.Expr]:
    """Give what each hit adds to the sums in one setting."""
    inside = pl.when(one.within(_PLACE))
    rank = _PLACE.cast(pl.Float64)
    found = {
        "hits": _SHARE,
        "top": pl.when(pl.col("n_rel") >= _PLACE).then(_SHARE).otherwise(0.0),
        "gain": _SHARE * one.gain() * discounting(one.discount, one.p)(rank),
        "persistence": _SHARE * discounting("geometric", one.p)(rank),
    }
    if not spread:
        stop = one.stop(max_grade)
        goes_on = (1 - stop).log().cum_sum().over(list(keys), order_by="place") - (1 - stop).log()
        if one.grading is None:
            goes_on = (pl.col("turn") - 1) * pl.lit(0.5).log()
        found |= {
            "first": 1 / rank,
            "precisions": pl.col("turn") / rank,
            "stops": goes_on.exp() * stop / rank,
        }
    return {f"{name}|{i}": inside.then(value).otherwise(0.0) for name, value in found.items()}


def _ideals(inputs: Inputs, pairs: pl.LazyFrame, found: Sequence[Setting]) -> pl.LazyFrame:
    """Sum the gains of each user's relevant items, the highest on top."""
    keys = inputs.actual_keys
    turn = pl.col("grade").rank("ordinal", descending=True).over(keys).cast(pl.Int64)
    ranked = pairs.select(*keys, "grade", place=turn)
    columns: dict[str, pl.Expr] = {}
    for i, one in enumerate(found):
        if one.grading is not None:
            gain = one.gain() * discounting(one.discount, one.p)(_PLACE.cast(pl.Float64))
            columns[f"ideal|{i}"] = pl.when(one.within(_PLACE)).then(gain).otherwise(0.0)
            columns[f"ideal_all|{i}"] = gain
    return (
        ranked.select(*keys, **columns).group_by(keys).agg(pl.col(name).sum() for name in columns)
    )


def _one_line_each(inputs: Inputs, lines: pl.LazyFrame, found: Sequence[Setting]) -> pl.LazyFrame:
    """Give every unit a line per setting and count those that are alike."""
    have = lines.collect_schema().names()
    null = pl.lit(None, dtype=pl.Float64)
    numbered = {
        name: pl.concat_list(
            pl.col(f"{name}|{i}") if f"{name}|{i}" in have else null for i in range(len(found))
        )
        for name in VALUES
    }
    number = pl.lit(list(range(len(found))), dtype=pl.List(pl.Int64)).alias("setting|")
    taken = {f"{name}|{i}" for name in VALUES for i in range(len(found))}
    kept = [name for name in have if name not in taken]
    opened = lines.select(*kept, number, **numbered).explode("setting|", *numbered)
    cells = {name: pl.col(name) for name in ("setting|", *VALUES, "n_rel", "n_rec")}
    table = histogram(inputs, opened, cells, ("users",))
    shown = [name for name in table.collect_schema().names() if name not in (*cells, "users")]
    labelled = table.with_columns(**_labels(found))
    return labelled.select(*shown, *_LABELS, *VALUES, "n_rel", "n_rec", "users")


_LABELS = ("k", "discount", "p", "grading")
_TYPES: Mapping[str, Any] = dict(
    zip(_LABELS, (pl.Int64, pl.String, pl.Float64, pl.String), strict=True)
)


def _labels(found: Sequence[Setting]) -> dict[str, pl.Expr]:
    numbers = list(range(len(found)))
    return {
        name: pl.col("setting|").replace_strict(
            numbers, [getattr(one, name) for one in found], return_dtype=dtype
        )
        for name, dtype in _TYPES.items()
    }


gains = Tally(
    name="ranking.gains",
    count=_count_gains,
    cells=("group", *_LABELS, *VALUES, "n_rel", "n_rec"),
    sums={"users": pl.col("users").sum()},
    defaults={},
    passed_on=("convention", "discount", "p", "gain", "max_grade"),
)
