"""The table of gains: numbers per user and k, for what masks of hits cannot express.

These are graded relevance, the mean over all orders of equal scores, and whole lists of any length.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polarsfair._engine.faults import Fault, checked
from polarsfair._engine.slices import hidden, running, summed
from polarsfair._engine.tally import Tally
from polarsfair.ranking._depths import deepest, depths, lines_of, several, within
from polarsfair.ranking._inputs import BAD_GRADE, SAME_RANK
from polarsfair.ranking._lists.conventions import CHOICES, discounting, one_of, setting
from polarsfair.ranking._lists.masks import AT, USERS, check_order, list_inputs
from polarsfair.ranking._lists.ranks import Plan, Repeats, Ties, ranked_hits, relevant_pairs
from polarsfair.ranking._lists.users import count_lists, count_relevant, lists_of_users

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser
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
"""Columns of numbers. The last two are null if the ideal follows from n_rel."""

_RANK, _SHARE = pl.col("rank"), pl.col("share")
_SETTING = hidden("setting")


class Setting(NamedTuple):
    """One way to sum: the table has a line for each."""

    k: int | None
    discount: str
    p: float
    grading: str | None

    def cells(self) -> dict[str, Any]:
        """Return the cells that identify a setting, without k."""
        return {"discount": self.discount, "p": self.p, "grading": self.grading}

    def gain(self) -> pl.Expr:
        """Return the gain of a hit."""
        if self.grading is None:
            return pl.lit(1.0)
        grade = pl.col("relevance")
        return grade if self.grading == "linear" else pl.lit(2.0).pow(grade) - 1

    def stop(self, max_grade: float | None) -> pl.Expr:
        """Return the probability that a user stops at a hit."""
        if self.grading is None:
            return pl.lit(0.5)
        if max_grade is None:
            return pl.lit(None, dtype=pl.Float64)
        best = max_grade + 1 if self.grading == "linear" else 2.0**max_grade
        return self.gain() / best

    def discounted_gain(self) -> pl.Expr:
        """Return the gain of a hit, discounted by its rank."""
        return self.gain() * discounting(self.discount, self.p)(_RANK.cast(pl.Float64))


def settings_of(k: Any, *, discount: Any, convention: Any, p: Any, gain: Any) -> list[Setting]:
    """Combine every requested value of every option, each combination once."""
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
    user: IntoUser | None = None,
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
    ``grading`` (how the sums were made), the numbers of the first k ranks (``hits``,
    ``top``: hits among the first n_rel, ``first``: reciprocal rank of the first hit,
    ``precisions``: sum of the precision at every hit, ``stops``: expected reciprocal rank,
    ``persistence``: sum of p to the rank - 1, ``gain``: discounted gain, ``ideal`` and
    ``ideal_all``: the best gain within k and without a cut), ``n_rel``, ``n_rec``, and the sum
    ``users``. It serves graded relevance (`gain`), ``ties="expected"`` and whole lists of any
    length. Tables can be merged if no user's rows are split between them.

    Parameters
    ----------
    rows, by, group, actual, users, user, item, score, rank, relevance, repeats, plan
        As in `ranking.lists`; the relevance is the grade.
    k
        Cut-offs; default 10. None means the whole list.
    ties
        As in `ranking.lists`, and of relevant items the highest grade first (``"optimistic"``) or
        last (``"pessimistic"``); ``"expected"`` is the mean over all orders of equal scores.
    gain
        ``"linear"`` (the grade) or ``"exponential"`` (2 to the grade, minus 1).
    max_grade
        The highest possible grade: `ranking.err` needs it for grades.
    discount, p, convention
        The discount of the gains, by its name or that of a convention.

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
    frames: dict[str, Any] = {"actual": actual, "users": users, "group": group, "user": user}
    roles = {"item": item, "score": score, "rank": rank, "relevance": relevance}
    inputs = list_inputs(rows, by, repeats=repeats, **roles, **frames)
    one_of("ties", ties, ("item", "optimistic", "pessimistic", "expected"))
    check_order(inputs, ties, plan)
    settings = settings_of(k, discount=discount, convention=convention, p=p, gain=gain)
    if isinstance(max_grade, list):
        max_grade = one_of("max_grade", max_grade, ())
    if _graded(settings) and not inputs.graded:
        msg = '`gain` needs graded relevance: add `relevance="<column>"`'
        raise TypeError(msg)
    return _table(inputs, settings, ties=ties, plan=plan, max_grade=max_grade)


def _graded(settings: Sequence[Setting]) -> bool:
    return any(one.grading is not None for one in settings)


def _table(
    inputs: Inputs,
    settings: Sequence[Setting],
    *,
    ties: Ties,
    plan: Plan,
    max_grade: float | None,
) -> pl.LazyFrame:
    graded = _graded(settings)
    pairs = relevant_pairs(inputs, graded=graded)
    depth = deepest([one.k for one in settings])
    hits = ranked_hits(inputs, pairs, ties=ties, plan=plan, depth=depth, graded=graded)
    found = _sums_of_hits(
        inputs, pairs, hits, settings, max_grade, in_all_orders=ties == "expected"
    )
    ideals = _ideals(inputs, pairs, settings) if graded else None
    values = [hidden(name, i) for name in VALUES for i in range(len(settings))]
    lines = lists_of_users(inputs, pairs, found, values, more_truth=ideals)
    return _per_setting(inputs, lines, settings)


def _sums_of_hits(
    inputs: Inputs,
    pairs: pl.LazyFrame,
    hits: pl.LazyFrame,
    settings: Sequence[Setting],
    max_grade: float | None,
    *,
    in_all_orders: bool,
) -> pl.LazyFrame:
    """Sum over the hits of every list, in every setting."""
    keys = inputs.keys
    counted = count_relevant(inputs, pairs).select(*inputs.actual_keys, "n_rel")
    hits = hits.join(counted, on=inputs.actual_keys, nulls_equal=bool(inputs.actual.keys))
    if not in_all_orders:
        so_far = _RANK.rank("ordinal").over(keys).cast(pl.Int64)
        hits = hits.with_columns(share=1.0, so_far=so_far)
    marks = {}
    if inputs.ranked:
        marks[SAME_RANK] = (pl.len().over([*keys, "rank"]) > 1).cast(pl.Int64)
    if max_grade is not None and _graded(settings):
        marks[BAD_GRADE] = (pl.col("relevance") > max_grade).cast(pl.Int64)
    sums, firsts = {**marks}, {}
    for i, one in enumerate(settings):
        inside = pl.when(within(_RANK, one.k))
        found = _linear(one) if in_all_orders else _linear(one) | _in_order(one, keys, max_grade)
        sums |= {hidden(n, i): inside.then(value).otherwise(0.0) for n, value in found.items()}
        if not in_all_orders:
            firsts[hidden("first", i)] = inside.then(1 / _RANK.cast(pl.Float64)).otherwise(0.0)
    rows = hits.select(*keys, **sums, **firsts)
    return rows.group_by(keys).agg(pl.col(*sums).sum(), *(pl.col(name).max() for name in firsts))


def _linear(one: Setting) -> dict[str, pl.Expr]:
    """Return what each hit adds to the sums in one setting, whatever the other hits are."""
    rank = _RANK.cast(pl.Float64)
    return {
        "hits": _SHARE,
        "top": pl.when(pl.col("n_rel") >= _RANK).then(_SHARE).otherwise(0.0),
        "gain": _SHARE * one.discounted_gain(),
        "persistence": _SHARE * discounting("geometric", one.p)(rank),
    }


def _in_order(one: Setting, keys: Sequence[str], max_grade: float | None) -> dict[str, pl.Expr]:
    """Return what each hit adds to the sums in one setting, given the hits above it."""
    rank, stop = _RANK.cast(pl.Float64), one.stop(max_grade)
    if one.grading is None:
        goes_on = (pl.col("so_far") - 1) * pl.lit(0.5).log()
    else:
        goes_on = running((1 - stop).log().cum_sum(), keys, "rank") - (1 - stop).log()
    return {"precisions": pl.col("so_far") / rank, "stops": goes_on.exp() * stop / rank}


def _ideals(inputs: Inputs, pairs: pl.LazyFrame, settings: Sequence[Setting]) -> pl.LazyFrame:
    """Sum the gains of each user's relevant items, the highest first."""
    keys = inputs.actual_keys
    best = pl.col("relevance").rank("ordinal", descending=True).over(keys).cast(pl.Int64)
    ranked = pairs.select(*keys, "relevance", rank=best)
    columns: dict[str, pl.Expr] = {}
    for i, one in enumerate(settings):
        if one.grading is not None:
            gain = one.discounted_gain()
            columns[hidden("ideal", i)] = pl.when(within(_RANK, one.k)).then(gain).otherwise(0.0)
            columns[hidden("ideal_all", i)] = gain
    return summed(ranked.select(*keys, **columns), keys, columns)


def _per_setting(inputs: Inputs, lines: pl.LazyFrame, settings: Sequence[Setting]) -> pl.LazyFrame:
    """Turn every list into a line per setting, and count equal lines."""
    have = lines.collect_schema().names()
    numbers, null = range(len(settings)), pl.lit(None, dtype=pl.Float64)
    values = {
        name: pl.concat_list(
            pl.col(hidden(name, i)) if hidden(name, i) in have else null for i in numbers
        )
        for name in VALUES
    }
    number = pl.lit(list(numbers), dtype=pl.List(pl.Int64)).alias(_SETTING)
    numbered = {hidden(name, i) for name in VALUES for i in numbers}
    kept = [name for name in have if name not in numbered]
    opened = lines.select(*kept, number, **values).explode(_SETTING, *values)
    cells = (*VALUES, "n_rel", "n_rec")
    return count_lists(inputs, opened, [_SETTING, *cells], [*_labels(settings), *cells], ("users",))


_LABELS: Mapping[str, Any] = {
    "k": pl.Int64,
    "discount": pl.String,
    "p": pl.Float64,
    "grading": pl.String,
}


def _labels(settings: Sequence[Setting]) -> list[pl.Expr]:
    """Return the cells that identify a setting, from its number."""
    numbers = list(range(len(settings)))
    return [
        pl.col(_SETTING)
        .replace_strict(numbers, [getattr(one, name) for one in settings], return_dtype=dtype)
        .alias(name)
        for name, dtype in _LABELS.items()
    ]


gains = Tally(
    name="ranking.gains",
    count=_count_gains,
    cells=("group", *_LABELS, *VALUES, "n_rel", "n_rec"),
    sums={"users": pl.col("users").sum()},
    defaults={},
    together=("user",),
    single=("ties", "repeats", "plan", "max_grade"),
    passed_on=("convention", "discount", "p", "gain", "max_grade"),
)


# --- the view of a table ------------------------------------------------------------------------

SETTING_OPTIONS = ("discount", "p", "gain")
"""The options that the cells of a setting stand for, in their order."""


@functools.cache
def gains_view(*read: str) -> Callable[..., pl.LazyFrame]:
    """Return the view of a table of gains for formulas that have the options `read`."""

    def gains_at(
        table: pl.LazyFrame,
        keys: Sequence[str],
        *,
        k: Any = AT,
        convention: str = "jurity",
        discount: str | None = None,
        p: float = 0.8,
        gain: str | None = None,
    ) -> pl.LazyFrame:
        """View the lists of a table of gains at k."""
        del keys
        (wanted,) = settings_of(None, discount=discount, convention=convention, p=p, gain=gain)
        named = zip(wanted.cells().items(), SETTING_OPTIONS, strict=True)
        cells = {cell: value for (cell, value), option in named if option in read}
        same = (pl.col(cell).eq_missing(pl.lit(value)) for cell, value in cells.items())
        mine, lacking = lines_of(k, pl.all_horizontal(pl.lit(value=True), *same))
        missing = Fault(lacking, _not_held(k, cells))
        lines = table.with_columns(users=checked(USERS, missing)).filter(mine)
        lines = _one_setting(lines, [name for name in wanted.cells() if name not in cells])
        lines = lines.with_columns(pl.col("k").alias(hidden("k")))
        return lines if several(k) else lines.drop("k")

    return gains_at


def _one_setting(lines: pl.LazyFrame, others: Sequence[str]) -> pl.LazyFrame:
    """Keep one of several settings that differ only in cells that are not read."""
    return lines.filter(pl.struct(others).rank("dense") == 1) if others else lines


def _not_held(k: Any, wanted: Mapping[str, Any]) -> str:
    return f"this `ranking.gains` table has no rows for k={k} and {wanted}: make it with these"
