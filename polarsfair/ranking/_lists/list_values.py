"""From what is known of one list to its value, and to the mean over users.

Formulas read `ListValues`, by names that do not depend on the table: `MaskValues` computes them
from the masks of a table of lists, `GainValues` reads the sums of a table of gains. Every metric is
therefore one formula. `quality` makes a metric of it.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polarsfair._engine.metric import Metric, Variant, home_of
from polarsfair._engine.slices import hidden
from polarsfair._engine.tally import keywords_of
from polarsfair._formula import clean, quotient
from polarsfair.ranking._depths import depths
from polarsfair.ranking._lists.conventions import CHOICES, discounts, setting, with_discount_sum
from polarsfair.ranking._lists.gains import SETTING_OPTIONS, gains, gains_view
from polarsfair.ranking._lists.masks import (
    AT,
    MOST,
    N_REC,
    N_REL,
    USERS,
    WORD,
    cut_masks,
    lists,
    masks_at,
)
from polarsfair.ranking._types import RankingMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True)
class Ideals:
    """Sums of discounts that values need: columns that are found by a join before they are read."""

    wanted: dict[str, tuple[pl.Expr, str, float]] = field(default_factory=dict)

    def __call__(self, ranks: pl.Expr, discount: str, p: float) -> pl.Expr:
        """Return the sum of the discounts of the first `ranks` ranks, as a column to be added."""
        name = hidden("ideal", discount, p, str(ranks))
        self.wanted[name] = (ranks, discount, p)
        return pl.col(name)

    def added_to(self, lines: pl.LazyFrame) -> pl.LazyFrame:
        """Add the columns that were requested, unless another metric of the call added them."""
        have = lines.collect_schema().names()
        for name, sum_of in self.wanted.items():
            if name not in have:
                lines = with_discount_sum(lines, name, *sum_of)
        return lines


@dataclass(frozen=True)
class MaskValues:
    """Hits as bits; `names` are the mask columns, cut at k, and `last` is the largest k."""

    names: Sequence[str]
    last: int
    ideals: Ideals = field(default_factory=Ideals)

    def _over_hits(self, value: Callable[[int, pl.Expr], pl.Expr | float]) -> pl.Expr:
        """Return the sum of `value(rank, hits so far)` over the ranks that hold a hit."""
        terms, before = [], pl.lit(0, dtype=pl.Int64)
        for number, name in enumerate(self.names):
            word = pl.col(name)
            for bit in range(min(WORD, self.last - number * WORD)):
                here = word & pl.lit(1 << bit, dtype=pl.UInt64)
                so_far = word & pl.lit((2 << bit) - 1, dtype=pl.UInt64)
                counted = before + so_far.bitwise_count_ones().cast(pl.Int64)
                found = value(number * WORD + bit + 1, counted)
                terms.append(pl.when(here != 0).then(found).otherwise(0.0))
            before = before + word.bitwise_count_ones().cast(pl.Int64)
        return pl.sum_horizontal(terms)

    def hits(self) -> pl.Expr:
        """Return the number of hits."""
        return pl.sum_horizontal(
            pl.col(name).bitwise_count_ones().cast(pl.Int64) for name in self.names
        )

    def top(self) -> pl.Expr:
        """Return the number of hits among the first n_rel ranks."""
        return self._over_hits(lambda rank, _: pl.when(rank <= N_REL).then(1.0).otherwise(0.0))

    def first(self) -> pl.Expr:
        """Return the reciprocal of the first hit's rank, 0 without a hit."""
        ranks = (
            pl.when(pl.col(name) != 0).then(
                pl.col(name).bitwise_trailing_zeros().cast(pl.Int64) + (1 + number * WORD)
            )
            for number, name in enumerate(self.names)
        )
        return (1 / pl.coalesce(*ranks)).fill_null(0.0)

    def precisions(self) -> pl.Expr:
        """Return the sum of the precisions at the ranks of hits."""
        return self._over_hits(lambda rank, so_far: so_far / rank)

    def stops(self) -> pl.Expr:
        """Return the expected reciprocal rank of a user who stops at every second hit."""
        return self._over_hits(lambda rank, so_far: pl.lit(0.5).pow(so_far) / rank)

    def discounted(self, discount: str, p: float) -> pl.Expr:
        """Return the sum of the discounts of the hits."""
        each = discounts(discount, p, self.last)
        return self._over_hits(lambda rank, _: pl.lit(each[rank - 1]))

    def persistence(self, p: float) -> pl.Expr:
        """Return the sum of the probabilities to reach each hit, if one goes on with `p`."""
        return self.discounted("geometric", p)

    def ideal(self, ranks: pl.Expr, discount: str, p: float, *, cut: bool) -> pl.Expr:
        """Return what `discounted` is at best, with hits at the first `ranks` ranks."""
        del cut
        return self.ideals(ranks, discount, p)


@dataclass(frozen=True)
class GainValues:
    """Sums that the table holds per user and k."""

    graded: bool
    ideals: Ideals = field(default_factory=Ideals)

    def hits(self) -> pl.Expr:
        """Return the (expected) number of hits."""
        return pl.col("hits")

    def top(self) -> pl.Expr:
        """Return the (expected) number of hits among the first n_rel ranks."""
        return pl.col("top")

    def first(self) -> pl.Expr:
        """Return the reciprocal of the first hit's rank, 0 without a hit."""
        return pl.col("first")

    def precisions(self) -> pl.Expr:
        """Return the sum of the precisions at the ranks of hits."""
        return pl.col("precisions")

    def stops(self) -> pl.Expr:
        """Return the expected reciprocal rank at which a user stops."""
        return pl.col("stops")

    def discounted(self, discount: str, p: float) -> pl.Expr:
        """Return the sum of the discounted gains: the view holds those of one discount."""
        del discount, p
        return pl.col("gain")

    def persistence(self, p: float) -> pl.Expr:
        """Return the sum of the probabilities to reach each hit."""
        del p
        return pl.col("persistence")

    def ideal(self, ranks: pl.Expr, discount: str, p: float, *, cut: bool) -> pl.Expr:
        """Return what `discounted` is at best: the highest gains first."""
        if self.graded:
            return pl.col("ideal" if cut else "ideal_all")
        return self.ideals(ranks, discount, p)


ListValues: TypeAlias = MaskValues | GainValues
"""What formulas can read of a list that is cut at k; both have the same methods."""


def values_of(lines: pl.LazyFrame, options: Mapping[str, Any]) -> ListValues:
    """Return what the lines of either table know of a list that is cut at k."""
    columns = lines.collect_schema().names()
    if "depth" in columns:
        return MaskValues(*masks_at(columns, options.get("k", AT)))
    return GainValues(graded=_asks_for_grades(options))


def _asks_for_grades(options: Mapping[str, Any]) -> bool:
    return options.get("gain") not in (None, "binary")


# --- the mean over users ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean over users of the value of one list: the formula of a quality metric.

    The value is a column of the lines, as `LineFormula` has it, because only the lines show which
    table they are of.

    Attributes
    ----------
    value
        ``(values of a list, *, options) -> pl.Expr``: the value of one list.
    in_order
        Whether the value of a hit depends on the other hits. If not, its mean over all orders of
        equal scores is a sum over hits, and ``ties="expected"`` is possible.
    average_over
        The users to average over, for conventions in which this metric differs from the others.
    """

    value: Callable[..., pl.Expr]
    in_order: bool = False
    average_over: Mapping[str, str] = field(default_factory=dict)

    @property
    def keywords(self) -> dict[str, Any]:
        """The options, with their defaults: those of all quality metrics, and those of `value`."""
        every = {"k": AT, "convention": "jurity"}
        return {**every, **keywords_of(self.value), "average_over": None, "empty": None}

    @property
    def __signature__(self) -> inspect.Signature:
        """The options as keyword-only parameters: where `inspect.signature` looks for them."""
        only = inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature(
            [inspect.Parameter(name, only, default=one) for name, one in self.keywords.items()]
        )

    def __call__(self, **options: Any) -> pl.Expr:
        """Return the aggregation over the lines of `with_values`."""
        value, users = (pl.col(name) for name in self.columns(options))
        known = ~(value.is_null() & (users > 0)).any()
        return pl.when(known).then(quotient((value * users).sum(), users.sum()))

    @property
    def method(self) -> str:
        """What an interval of the mean is called."""
        return "mean"

    @property
    def facts(self) -> tuple[str, ...]:
        """What `spread` returns."""
        return ("numerator", "denominator", "variance", "units")

    def spread(self, **options: Any) -> dict[str, pl.Expr]:
        """Return the sums of the mean, and the variance of a mean over so many users."""
        value, users = (pl.col(name) for name in self.columns(options))
        total, count = (value * users).sum(), users.sum().cast(pl.Float64)
        squares = (value * value * users).sum()
        variance = clean((squares / count - (total / count) ** 2).clip(0.0) / (count - 1))
        return {"numerator": total, "denominator": count, "variance": variance, "units": count}

    def columns(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """Name the columns of the value and of the users that it is averaged over."""
        name = f"{self.value.__name__} {sorted(options.items())!r}"
        return hidden("value", name), hidden("users", name)

    def with_values(self, lines: pl.LazyFrame, options: Mapping[str, Any]) -> pl.LazyFrame:
        """Add the value of each list, and the users of the line that are averaged over."""
        values = values_of(lines, options)
        own = {name: options[name] for name in keywords_of(self.value) if name in options}
        found = self.value(values, **own).cast(pl.Float64)
        averaged, empty = self._users(options)
        relevant = (N_REL > 0).fill_null(value=False)
        otherwise = pl.lit(None if empty in ("drop", "null") else float(empty), dtype=pl.Float64)
        value, users = self.columns(options)
        columns = {
            value: pl.when(averaged).then(pl.when(relevant).then(found).otherwise(otherwise)),
            users: pl.when(averaged).then(USERS).otherwise(0),
        }
        return values.ideals.added_to(lines).with_columns(**columns)

    def _users(self, options: Mapping[str, Any]) -> tuple[pl.Expr, Any]:
        """Return whether a line is averaged over, and the value without a relevant item."""
        convention = options.get("convention", "jurity")
        given = options.get("average_over")
        given = self.average_over.get(convention) if given is None else given
        over = setting("average_over", given, convention)
        empty = setting("empty", options.get("empty"), convention)
        present = {
            "relevant": N_REL.is_not_null(),
            "both": N_REL.is_not_null() & (N_REC > 0),
            "all": pl.lit(value=True),
        }[over]
        relevant = (N_REL > 0).fill_null(value=False)
        return present & relevant if empty == "drop" else present, empty

    def check(self, metric: Metric, schema: pl.Schema) -> None:
        """Raise if the options do not fit the metric."""
        del schema
        depths(metric.options.get("k", AT))
        if self.in_order and metric.options.get("ties") == "expected":
            msg = (
                f'`{metric.name}` does not support `ties="expected"`, because its average over tie'
                ' orders is not a sum over hits: use "item", "optimistic" or "pessimistic"'
            )
            raise ValueError(msg)

    def needs_gains(self, options: Mapping[str, Any]) -> bool:
        """Return whether masks of hits are not enough: all tie orders, deep lists, or grades."""
        deep = any(k is None or k > MOST for k in depths(options.get("k", AT)))
        grades = "gain" in self.keywords and _asks_for_grades(options)
        return deep or grades or options.get("ties") == "expected"


@dataclass(frozen=True, eq=False)
class AveragedUsers:
    """The number of users that a mean averages over, which follows from the mean's options."""

    mean: Mean

    @property
    def __signature__(self) -> inspect.Signature:
        """The options of the mean."""
        return self.mean.__signature__

    def __call__(self, **options: Any) -> pl.Expr:
        """Return the aggregation over the lines of the mean."""
        return pl.col(self.mean.columns(options)[1]).sum()


def quality(
    *,
    in_order: bool = False,
    average_over: Mapping[str, str] | None = None,
    ideal: float | None = 1.0,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Callable[[Callable[..., pl.Expr]], RankingMetric]:
    """Make a metric of the decorated value of one list: its mean over users.

    The metric reads a table of lists. If masks of hits are not enough, its variant reads a table
    of gains. `in_order` and `average_over` are facts of the metric, see `Mean`; a metric has graded
    forms if its value has the option `gain`.
    """

    def averaged(value: Callable[..., pl.Expr]) -> RankingMetric:
        mean = Mean(value, in_order, average_over or {})
        metric = RankingMetric(
            name=value.__name__,
            tally=lists,
            view=cut_masks,
            formula=mean,
            roles=("actual", "user", "item"),
            ideal=ideal,
            bounds=bounds,
            better="higher",
            check=mean.check,
            n=AveragedUsers(mean),
            doc=_with_options(value.__doc__, list(mean.keywords)),
            origin=home_of(value),
        )
        read = [option for option in SETTING_OPTIONS if option in mean.keywords]
        variant = replace(metric, tally=gains, view=gains_view(*read))
        return replace(metric, variants=(Variant(mean.needs_gains, variant),))

    return averaged


_EXPLAINED: Mapping[str, str] = {
    "k": "Ranks to look at: one number, None for whole lists, or several (a ``k`` column).\n"
    "Default 10.",
    "convention": "The library to follow: ``jurity``, ``rectools``, ``ranx``, ``trec``,\n"
    "``replay``, ``recommenders``, ``spark`` or ``lenskit``. It sets the options below; any\n"
    "that is given wins.",
    "precision_by": "What the hits are divided by:",
    "recall_by": "What the hits are divided by:",
    "map_by": "What the sum of the precisions is divided by:",
    "ideal_over": "How many ranks the best order has:",
    "gain": "``binary``, ``linear`` or ``exponential``: how a grade counts.",
    "max_grade": "The highest possible grade, needed with `gain`.",
    "discount": "``log``: 1 / log2(r + 1); ``late_log``: 1 / max(1, log2 r);\n"
    "``reciprocal``: 1 / r; ``geometric``: p^(r - 1).",
    "p": "The probability to look at the next rank.",
    "average_over": "Users in `actual` (``relevant``), in both frames (``both``), or in any\n"
    "(``all``).",
    "empty": "The value of a user without a relevant item: ``drop`` (left out), 0, 1, or ``null``.",
}


def _with_options(doc: str | None, names: Sequence[str]) -> str | None:
    """Add the options that several metrics have to a docstring, before its first section."""
    if doc is None:
        return None
    text, lines = inspect.cleandoc(doc), []
    for name in names:
        if name in _EXPLAINED:
            choices = ", ".join(f"``{one}``" for one in CHOICES.get(name, ()))
            words = _EXPLAINED[name] + (f"\n{choices}." if _EXPLAINED[name].endswith(":") else "")
            lines += [name, *(f"    {line}" for line in words.split("\n"))]
    section = re.search(r"^\w+\n-{4,}\n", text, re.MULTILINE)
    at = section.start() if section else len(text)
    title = "Parameters\n----------\n"
    if section and section.group() == title:
        return text[: section.end()] + "\n".join(lines) + "\n" + text[section.end() :]
    return text[:at] + title + "\n".join(lines) + "\n\n" + text[at:]
