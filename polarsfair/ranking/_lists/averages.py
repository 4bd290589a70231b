"""From the value of one list to the mean over users: what every quality metric shares."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.legacy import fault
from polarsfair._engine.metric import Metric, Variant, define
from polarsfair._engine.tally import keywords_of
from polarsfair._formula import quotient
from polarsfair.ranking._lists.conventions import CHOICES, setting
from polarsfair.ranking._lists.gains import gains, settings_of
from polarsfair.ranking._lists.list_values import N_REC, N_REL, Evidence, K, Masks, Numbers
from polarsfair.ranking._lists.masks import AT, MASKS, MOST, WORD, depths, lines_of, lists
from polarsfair.ranking._types import RankingMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_USERS = pl.col("users")


class Mean:
    """The mean of a list's value over users, as a formula: an aggregation of two columns.

    `value(evidence, *, options)` is the value of one list; k, the convention and the users to
    average over are options of all. The views add it to the lines, under a name that tells its
    options, because only they know what the table holds.
    """

    def __init__(self, value: Callable[..., pl.Expr]) -> None:
        self.value = value
        self.__name__, self.__module__ = value.__name__, value.__module__
        first, last = {"k": AT, "convention": "jurity"}, {"average_over": None, "empty": None}
        names = {**first, **keywords_of(value), **last}
        only = inspect.Parameter.KEYWORD_ONLY
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, only, default=default) for name, default in names.items()]
        )
        self.__doc__ = _with_parameters(value.__doc__ or "", list(names))

    def __call__(self, **options: Any) -> pl.Expr:
        """Give the aggregation."""
        value, users = (pl.col(name) for name in self.columns(options))
        known = ~(value.is_null() & (users > 0)).any()
        return pl.when(known).then(quotient((value * users).sum(), users.sum()))

    def columns(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """Name the columns of the value and of the users that it is averaged over."""
        name = f"{self.__name__}|{sorted(options.items())!r}"
        return name, f"{name}|users"

    def with_values(self, lines: pl.LazyFrame, options: Mapping[str, Any]) -> pl.LazyFrame:
        """Add the two columns to the lines of a table of lists or of gains."""
        evidence = evidence_of(lines, options)
        columns = self._of_lists(evidence, options)
        return evidence.ideals.added_to(lines).with_columns(**columns)

    def _of_lists(self, evidence: Evidence, options: Mapping[str, Any]) -> dict[str, pl.Expr]:
        convention = options.get("convention", "jurity")
        over, empty = (
            setting(name, options.get(name), convention, self.__name__)
            for name in ("average_over", "empty")
        )
        has_relevant = (N_REL > 0).fill_null(value=False)
        listed = {
            "relevant": N_REL.is_not_null(),
            "both": N_REL.is_not_null() & (N_REC > 0),
            "all": pl.lit(value=True),
        }[over]
        averaged = listed & has_relevant if empty == "drop" else listed
        otherwise = pl.lit(None if empty in ("drop", "null") else float(empty), dtype=pl.Float64)
        own = {name: options[name] for name in keywords_of(self.value) if name in options}
        found = self.value(evidence, **own).cast(pl.Float64)
        value, users = self.columns(options)
        return {
            value: pl.when(averaged).then(pl.when(has_relevant).then(found).otherwise(otherwise)),
            users: pl.when(averaged).then(_USERS).otherwise(0),
        }


def evidence_of(lines: pl.LazyFrame, options: Mapping[str, Any]) -> Evidence:
    """Return what the lines of either table know of a list that is cut at k."""
    columns = lines.collect_schema()
    if "depth" in columns:
        return Masks(*_masks(columns.names(), options.get("k", AT)))
    return Numbers(graded=options.get("gain") not in (None, "binary"))


def _masks(columns: Sequence[str], k: Any) -> tuple[list[str], int]:
    """Name the mask columns that hold the first k ranks, and return the last of these ranks."""
    asked = depths(k)
    names = [name for name in MASKS if name in columns]
    cuts = [one for one in asked if one is not None]
    if len(cuts) < len(asked):
        return names, len(names) * WORD
    return names[: -(-max(cuts) // WORD)], max(cuts)


_EXPLAINED: Mapping[str, str] = {
    "k": "Places to look at: one number, None for whole lists, or several (a ``k`` column).\n"
    "10 unless told.",
    "convention": "Whose reading: ``jurity``, ``rectools``, ``ranx``, ``trec``, ``replay``,\n"
    "``recommenders``, ``spark`` or ``lenskit``; a setting of the options below, which win.",
    "precision_by": "What the hits are divided by:",
    "recall_by": "What the hits are divided by:",
    "map_by": "What the sum of the precisions is divided by:",
    "ideal_over": "How many places the best order has:",
    "gain": "``binary``, ``linear`` or ``exponential``: what a grade is worth.",
    "max_grade": "The highest grade there can be, needed with `gain`.",
    "discount": "``log``: 1 / log2(r + 1); ``late_log``: 1 / max(1, log2 r);\n"
    "``reciprocal``: 1 / r; ``geometric``: p^(r - 1).",
    "p": "The chance to go on to the next place.",
    "average_over": "Users in `actual` (``relevant``), in both frames (``both``), or in any\n"
    "(``all``).",
    "empty": "What a user without a relevant item is worth: ``drop``, 0, 1, or ``null``.",
}


def _with_parameters(doc: str, names: Sequence[str]) -> str:
    """Explain the options of a metric in its docstring, before the notes."""
    lines = ["Parameters", "----------"]
    for name in names:
        choices = ", ".join(f"``{one}``" for one in CHOICES.get(name, ()))
        text = _EXPLAINED[name] + (f"\n{choices}." if _EXPLAINED[name].endswith(":") else "")
        lines += [name, *(f"    {line}" for line in text.split("\n"))]
    listed = "\n".join(lines)
    return inspect.cleandoc(doc).replace("\nNotes\n", f"\n{listed}\n\nNotes\n", 1)


def _at(lines: pl.LazyFrame, keys: Sequence[str], k: Any) -> pl.LazyFrame:
    """Give every line for every k that is asked for, in ``k|``, and in ``k`` where it is a key."""
    asked = pl.Series("k|", depths(k), dtype=pl.Int64)
    if not isinstance(k, (list, tuple, range)):
        return lines.with_columns(pl.lit(asked[0], dtype=pl.Int64).alias("k|"))
    if "k" in keys:
        msg = 'a slice may not be called "k" where `k` is a list: rename it with `.alias("...")`'
        raise ValueError(msg)
    return lines.join(pl.LazyFrame([asked, asked.alias("k")]), how="cross")


def places(table: pl.LazyFrame, keys: Sequence[str], *, k: Any = AT) -> pl.LazyFrame:
    """View the lists of the table, cut at k."""
    asked = [one for one in depths(k) if one is not None]
    names, _ = _masks(table.collect_schema().names(), k)
    deep = pl.col("depth") < K if asked else pl.lit(value=False)
    stop = fault(deep.fill_null(value=False), _too_deep(max(asked, default=0)))
    whole = fault(K.is_null() & (pl.col("depth") < N_REC), _TOO_LONG)
    return _at(table, keys, k).with_columns(
        pl.coalesce(stop, whole, _USERS).alias("users"),
        **{name: _cut(name, number) for number, name in enumerate(names)},
    )


_TOO_LONG = "some lists are longer than the table keeps: count it with a larger `k`, or ask a `k`"


def _too_deep(k: int) -> str:
    return (
        f"the table keeps fewer than {k} ranks of its lists: count it with `k={k}` or more,"
        " or ask for a smaller `k`"
    )


def _cut(name: str, number: int) -> pl.Expr:
    """Keep the bits of a mask column that lie within the first k places."""
    left = (K - number * WORD).clip(0, WORD)
    kept = pl.lit(2, dtype=pl.UInt64).pow(left.clip(0, WORD - 1)).cast(pl.UInt64) - 1
    word = pl.col(name).fill_null(0)
    return pl.when(left.fill_null(WORD) == WORD).then(word).otherwise(word & kept)


@functools.cache
def numbers_for(*read: str) -> Callable[..., pl.LazyFrame]:
    """Return the view of a table of gains for formulas that have the options `read`."""

    def numbers(
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
        named = zip(wanted.cells().items(), _READ_BY, strict=True)
        cells = {cell: value for (cell, value), option in named if option in read}
        alike = (pl.col(cell).eq_missing(pl.lit(value)) for cell, value in cells.items())
        mine, lacking = lines_of(k, pl.all_horizontal(pl.lit(value=True), *alike))
        missing = fault(lacking, _not_held(k, cells))
        lines = table.with_columns(users=pl.coalesce(missing, _USERS)).filter(mine)
        lines = _one_setting(lines, [name for name in wanted.cells() if name not in cells])
        many = isinstance(k, (list, tuple, range))
        return lines.with_columns(pl.col("k").alias("k|")) if many else lines.rename({"k": "k|"})

    return numbers


_READ_BY = ("discount", "p", "gain")
"""The options that the cells of a setting stand for."""


def _one_setting(lines: pl.LazyFrame, others: Sequence[str]) -> pl.LazyFrame:
    """Keep one of several settings that differ in nothing that is read."""
    return lines.filter(pl.struct(others).rank("dense") == 1) if others else lines


def _not_held(k: Any, wanted: Mapping[str, Any]) -> str:
    return f"the table of `ranking.gains` holds no lines of k={k}, {wanted}: count it with them"


def _needs_numbers(options: Mapping[str, Any]) -> bool:
    """Say whether masks of hits cannot answer: ties in all orders, lists of any length."""
    ks = depths(options.get("k", AT))
    return options.get("ties") == "expected" or any(k is None or k > MOST for k in ks)


def _needs_grades(options: Mapping[str, Any]) -> bool:
    """Say the same of a metric that has graded forms."""
    return _needs_numbers(options) or options.get("gain") not in (None, "binary")


_IN_ORDER = ("hit_rate", "map", "mrr", "err")
"""Metrics that are not linear in the hits."""


def _check(metric: Metric, schema: pl.Schema) -> None:
    """Raise when the options do not fit the metric."""
    del schema
    depths(metric.options.get("k", AT))
    if metric.options.get("ties") == "expected" and metric.formula.__name__ in _IN_ORDER:
        msg = (
            f'`{metric.name}` has no `ties="expected"`, for its mean over all orders of equal'
            ' scores is no sum over hits: use "item", "optimistic" or "pessimistic"'
        )
        raise ValueError(msg)


def quality(**facts: Any) -> Callable[[Callable[..., pl.Expr]], RankingMetric]:
    """Decorate the value of one list; the metric is its mean over users.

    Where masks cannot tell, its variant reads a table of gains.
    """
    made = {"ideal": 1.0, "bounds": (0.0, 1.0), "better": "higher", **facts}
    made |= {"roles": ("actual", "user", "item"), "of": RankingMetric, "check": _check}

    def metric(value: Callable[..., pl.Expr]) -> RankingMetric:
        formula = Mean(value)
        read = [option for option in _READ_BY if option in keywords_of(formula)]
        variant: RankingMetric = define(gains, "quality", view=numbers_for(*read), **made)(formula)
        asks = _needs_grades if "gain" in keywords_of(formula) else _needs_numbers
        variants = (Variant(asks, variant),)
        own: RankingMetric = define(lists, "quality", view=places, variants=variants, **made)(
            formula
        )
        return own

    return metric
