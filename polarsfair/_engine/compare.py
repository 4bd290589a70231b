"""Comparisons: one group set against another, for any metric of any family.

A comparison is a metric whose bases are evaluated for every group; its formula turns those values
into one number. With a reference every other group is set against it and the value of largest
magnitude is reported, signed; without one, the largest magnitude over all pairs, unsigned.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.metric import AnyMetric, Metric
from polarsfair._engine.read import read
from polarsfair._engine.reference import GROUP, OVERALL, Everyone, check_ref, mark_reference
from polarsfair._engine.tally import by_reference
from polarsfair._formula import clean, farthest, log_magnitude, quotient, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["difference", "group_max", "group_min", "ratio"]

REFERENCE = "|reference"
"""Ends the columns that hold the reference's values; no metric is called like that."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """How the values of two groups become one number.

    Attributes
    ----------
    pair
        ``(*own values, *other values) -> pl.Expr``: one group against another.
    over_pairs
        ``(*values) -> pl.Expr``: the largest magnitude over all pairs of lines, in closed form;
        None where there is none, and the lines are then the pairs of groups.
    magnitude
        What "largest" means.
    """

    pair: Callable[..., pl.Expr]
    over_pairs: Callable[..., pl.Expr] | None = None
    magnitude: Callable[[pl.Expr], pl.Expr] = pl.Expr.abs

    def __call__(self, number: int, /, *bases: str, ref: Any = None) -> pl.Expr:
        """Give the aggregation over the lines of one slice; `bases` are the columns compared."""
        known = [pl.col(name) for name in known_columns(bases, number)]
        enough = known[0].count() > 1
        if ref is None and self.over_pairs is not None:
            return pl.when(enough).then(self.over_pairs(*known))
        value, size = (pl.col(name) for name in statistic_columns(bases, number))
        return size.max() if ref is None else pl.when(enough).then(farthest(value, size))

    def statistic(self, bases: Sequence[str], number: int) -> pl.Expr:
        """Give the statistic of every line, as a column: it stands several times in the formula."""
        own = [pl.col(name) for name in known_columns(bases, number)]
        other = [pl.col(base + REFERENCE) for base in bases]
        return clean(self.pair(*own, *other)).alias(statistic_columns(bases, number)[0])

    def size(self, bases: Sequence[str], number: int) -> pl.Expr:
        """Give the magnitude of the statistic."""
        value, size = statistic_columns(bases, number)
        return self.magnitude(pl.col(value)).alias(size)


def known_columns(bases: Sequence[str], number: int) -> list[str]:
    """Name the columns of the bases' values in those groups that have all of them."""
    return list(bases) if len(bases) == 1 else [f"{name}|{number}" for name in bases]


def statistic_columns(bases: Sequence[str], number: int) -> tuple[str, str]:
    """Name the columns of the statistic and of its magnitude."""
    name = "|".join([*bases, str(number)])
    return f"{name}|value", f"{name}|size"


def known_values(own: Sequence[str], number: int) -> list[pl.Expr]:
    """Give the columns that `known_columns` names, where they are new ones."""
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in own)
    new = known_columns(own, number) if len(own) > 1 else []
    return [
        pl.when(known).then(pl.col(name)).alias(alias)
        for name, alias in zip(own, new, strict=False)
    ]


@dataclass(frozen=True, eq=False)
class Extreme:
    """The smallest or largest value of any group."""

    pick: Callable[[pl.Expr], pl.Expr]

    def __call__(self, number: int, base: str, /) -> pl.Expr:
        """Give the aggregation over the lines of one slice."""
        del number
        return self.pick(pl.col(base))


DIFFERENCE = Comparison(lambda own, other: own - other, spread)
RATIO = Comparison(
    quotient, lambda value: quotient(value.min(), value.max()), magnitude=log_magnitude
)


def difference(rate: AnyMetric) -> AnyMetric:
    """Compare groups by the difference of a rate.

    With `ref`, group minus reference, of the group farthest from it, signed; without, the
    largest minus the smallest.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.difference(fairness.selection_rate), group="sex", pred="hired", ref="M")
    -0.5
    """
    compared = _over_groups(rate, "difference", DIFFERENCE)
    low, high = rate.bounds
    width = high - low if math.isfinite(high - low) else math.inf
    return replace(
        compared,
        ideal=0.0,
        bounds=(-width, width),
        better="ideal",
        origin=(difference, (rate,)),
    )


def ratio(rate: AnyMetric) -> AnyMetric:
    """Compare groups by the ratio of a rate.

    With `ref`, group over reference, of the group farthest from it by the logarithm; without,
    the smallest over the largest.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.ratio(fairness.selection_rate), group="sex", pred="hired", ref="F")
    2.0
    """
    return replace(
        _over_groups(rate, "ratio", RATIO),
        ideal=1.0,
        bounds=(0.0, math.inf) if rate.bounds[0] >= 0 else (-math.inf, math.inf),
        better="ideal",
        origin=(ratio, (rate,)),
    )


def group_min(rate: AnyMetric) -> AnyMetric:
    """Give the smallest value that a rate has in any group.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.group_min(fairness.selection_rate), group="sex", pred="hired")
    0.5
    """
    return replace(
        _over_groups(rate, "group_min", Extreme(pl.Expr.min), view=each_group),
        origin=(group_min, (rate,)),
    )


def group_max(rate: AnyMetric) -> AnyMetric:
    """Give the largest value that a rate has in any group.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.group_max(fairness.selection_rate), group="sex", pred="hired")
    1.0
    """
    return replace(
        _over_groups(rate, "group_max", Extreme(pl.Expr.max), view=each_group),
        origin=(group_max, (rate,)),
    )


def named(name: str, module: str, metric: AnyMetric, doc: str, **facts: Any) -> AnyMetric:
    """Give a comparison the name, docstring and facts that it is known by."""
    origin = (by_reference, (module, name))
    return replace(metric.alias(name), doc=doc, origin=origin, **facts)


def compare(
    *bases: AnyMetric, over_pairs: Callable[..., pl.Expr] | None, **facts: Any
) -> Callable[[Callable[..., pl.Expr]], AnyMetric]:
    """Make a comparison of the decorated statistic of two groups.

    The statistic takes the values of one group, then those of the other, in the order of
    `bases`; its name and docstring become the metric's.
    """
    magnitude = facts.pop("magnitude", pl.Expr.abs)

    def made(pair: Callable[..., pl.Expr]) -> AnyMetric:
        comparison = Comparison(pair, over_pairs, magnitude)
        return replace(
            _over_groups(bases[0], "comparison", comparison),
            name=pair.__name__,
            bases=bases,
            view=per_pair if over_pairs is None else per_group,
            roles=tuple(dict.fromkeys(("group", *(r for base in bases for r in base.roles)))),
            doc=pair.__doc__,
            origin=(by_reference, (pair.__module__, pair.__name__)),
            **facts,
        )

    return made


def _over_groups(
    rate: AnyMetric,
    what: str,
    formula: Comparison | Extreme,
    view: Callable[..., pl.LazyFrame] | None = None,
) -> AnyMetric:
    if not isinstance(rate, Metric):
        msg = f"`{what}` takes a metric, such as `{what}(fairness.f1)`, got {rate!r}"
        raise TypeError(msg)
    check_rate(rate, what)
    return replace(
        rate,
        name=f"{rate.name}_{what}",
        formula=formula,
        view=view or per_group,
        roles=tuple(dict.fromkeys(("group", *rate.roles))),
        fair=None,
        options={},
        bases=(rate,),
        check=check_ref,
        sisters=tuple(
            sister._replace(metric=_over_groups(sister.metric, what, formula, view))
            for sister in rate.sisters
        ),
        doc=f"{what.replace('_', ' ').capitalize()} of `{rate.name}` between groups.",
    )


def check_rate(metric: Metric, what: str) -> None:
    """Raise for a metric that is no rate of one group, to be compared with another's."""
    if metric.bases or GROUP in metric.roles:
        msg = f"`{metric.name}` compares groups already: give `{what}` a rate, such as `f1`"
        raise ValueError(msg)


def each_group(table: pl.LazyFrame, keys: Sequence[str], members: Sequence[Metric]) -> pl.LazyFrame:
    """View one line per group: the values of all bases, compared with nothing."""
    return own_values(table, _bases(members), keys)


def per_group(
    table: pl.LazyFrame, keys: Sequence[str], members: Sequence[Metric], *, ref: Any = None
) -> pl.LazyFrame:
    """View one line per group: the values of all bases, and the reference's beside them."""
    bases = _bases(members)
    lines = own_values(table, bases, keys)
    if ref is not None:
        lines = with_reference(lines, table, bases, keys, ref)
    return _with_comparisons(lines, members, statistic=ref is not None)


def per_pair(
    table: pl.LazyFrame, keys: Sequence[str], members: Sequence[Metric], *, ref: Any = None
) -> pl.LazyFrame:
    """View one line per ordered pair of groups; with a reference, one per group."""
    if ref is not None:
        return per_group(table, keys, members, ref=ref)
    bases = _bases(members)
    own = own_values(table, bases, keys)
    columns = [base.name for base in bases]
    other = own.rename({GROUP: GROUP + REFERENCE, **{c: c + REFERENCE for c in columns}})
    pairs = _joined(own, other, [*keys, *bases[0].result_keys()])
    # A group beside itself is no pair, but its line keeps the slice alive.
    two = pl.col(GROUP) != pl.col(GROUP + REFERENCE)
    pairs = pairs.with_columns(
        pl.when(two).then(pl.col(column + REFERENCE)).alias(column + REFERENCE)
        for column in columns
    )
    return _with_comparisons(pairs, members, statistic=True)


def _with_comparisons(
    lines: pl.LazyFrame, members: Sequence[Metric], *, statistic: bool
) -> pl.LazyFrame:
    unique: dict[tuple[tuple[str, ...], int], Comparison] = {}
    for member in members:
        formula = member.formula
        if isinstance(formula, functools.partial) and isinstance(formula.func, Comparison):
            of = tuple(base.name for base in member.bases)
            unique[of, formula.args[0]] = formula.func
    named = [(how, *name) for name, how in unique.items()]
    lines = lines.with_columns(value for _, of, i in named for value in known_values(of, i))
    if not statistic:
        return lines
    return lines.with_columns(how.statistic(of, i) for how, of, i in named).with_columns(
        how.size(of, i) for how, of, i in named
    )


def own_values(table: pl.LazyFrame, bases: Sequence[Metric], keys: Sequence[str]) -> pl.LazyFrame:
    """Evaluate the bases for every group; the unknown group keeps its line, without values."""
    lines = read(table, bases, [*keys, GROUP])
    known = pl.col(GROUP).is_not_null()
    return lines.with_columns(
        pl.when(known).then(pl.col(base.name)).alias(base.name) for base in bases
    )


def with_reference(
    lines: pl.LazyFrame,
    table: pl.LazyFrame,
    bases: Sequence[Metric],
    keys: Sequence[str],
    ref: Any,
) -> pl.LazyFrame:
    """Put the reference's values beside every group's own, null beside the reference's."""
    join_on = [*keys, *bases[0].result_keys()]
    columns = [base.name for base in bases]
    if not isinstance(ref, Everyone):
        return _beside_group(lines, columns, join_on, ref)
    known = table.filter(pl.col(GROUP).is_not_null())
    renamed = {column: column + REFERENCE for column in columns}
    if ref is OVERALL:
        return _joined(lines, read(known, bases, keys).rename(renamed), join_on)
    others = read(_everyone_else(known, keys), bases, [*keys, GROUP]).rename(renamed)
    return _joined(lines, others, [*join_on, GROUP])


def _beside_group(
    lines: pl.LazyFrame, columns: Sequence[str], keys: Sequence[str], ref: Any
) -> pl.LazyFrame:
    marked = mark_reference(lines, ref, REFERENCE)
    values = [pl.col(c).filter(REFERENCE).first().alias(c + REFERENCE) for c in columns]
    if not keys:
        beside = marked.with_columns(values)
    else:
        found = marked.group_by(keys).agg(values)
        beside = marked.join(found, on=list(keys), how="left", nulls_equal=True)
    return beside.with_columns(
        pl.when(~pl.col(REFERENCE)).then(c + REFERENCE).alias(c + REFERENCE) for c in columns
    )


def _everyone_else(known: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Give every group the lines of all the others, under its own name."""
    groups = known.select(*keys, GROUP).unique()
    others = known.rename({GROUP: GROUP + REFERENCE})
    paired = _joined(groups, others, keys)
    return paired.filter(pl.col(GROUP) != pl.col(GROUP + REFERENCE)).drop(GROUP + REFERENCE)


def _joined(left: pl.LazyFrame, right: pl.LazyFrame, on: Sequence[str]) -> pl.LazyFrame:
    if not on:
        return left.join(right, how="cross")
    return left.join(right, on=list(on), how="left", nulls_equal=True)


def _bases(members: Sequence[Metric]) -> list[Metric]:
    """List the distinct bases of several comparisons, each under its column's name."""
    return list({base.name: base for member in members for base in member.bases}.values())
