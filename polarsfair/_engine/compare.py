"""Comparisons of groups, for any metric of any family.

A comparison is a metric whose bases are evaluated for every group; its formula turns those values
into one number. With a reference every other group is compared with it, and the value of largest
magnitude is reported, signed. Without one, it is the largest magnitude over all pairs, unsigned.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.group_pairs import Comparison, Extreme
from polarsfair._engine.metric import AnyMetric, Metric, as_they_are, home_of
from polarsfair._engine.reference import GROUP
from polarsfair._formula import log_magnitude, quotient, spread

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["difference", "group_max", "group_min", "ratio"]

DIFFERENCE = Comparison(lambda own, other: own - other, spread, limits="difference")
RATIO = Comparison(
    quotient,
    lambda value: quotient(value.min(), value.max()),
    magnitude=log_magnitude,
    limits="ratio",
)


def difference(rate: AnyMetric) -> AnyMetric:
    """Compare groups by the difference of a rate.

    With `ref`, group minus reference, of the group with the largest difference, signed; without,
    the largest minus the smallest value.

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

    With `ref`, group over reference, of the group whose ratio is farthest from 1 by the logarithm;
    without, the smallest over the largest value.

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
    """Report the smallest value that a rate has in any group.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.group_min(fairness.selection_rate), group="sex", pred="hired")
    0.5
    """
    return replace(
        _over_groups(rate, "group_min", Extreme(pl.Expr.min)),
        origin=(group_min, (rate,)),
    )


def group_max(rate: AnyMetric) -> AnyMetric:
    """Report the largest value that a rate has in any group.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.group_max(fairness.selection_rate), group="sex", pred="hired")
    1.0
    """
    return replace(
        _over_groups(rate, "group_max", Extreme(pl.Expr.max)),
        origin=(group_max, (rate,)),
    )


for _combinator in (difference, ratio, group_min, group_max):
    # Pickles name them, and only public names stay where they are.
    _combinator.__module__ = "polarsfair"


def known_as(**facts: Any) -> Callable[[Callable[[], AnyMetric]], AnyMetric]:
    """Make a named metric of what the decorated function returns, such as a comparison.

    The function's name and docstring become the metric's; `facts` replace those of the metric.
    """

    def named(function: Callable[[], AnyMetric]) -> AnyMetric:
        metric = function().alias(function.__name__)
        return replace(metric, doc=function.__doc__, origin=home_of(function), **facts)

    return named


def compare(
    *bases: AnyMetric, over_pairs: Callable[..., pl.Expr] | None, **facts: Any
) -> Callable[[Callable[..., pl.Expr]], AnyMetric]:
    """Make a comparison of the decorated statistic of two groups.

    The statistic takes the values of one group, then those of the other, in the order of
    `bases`; its name and docstring become the metric's. `limits` and `magnitude` are those of
    `Comparison`.
    """
    magnitude, limits = facts.pop("magnitude", pl.Expr.abs), facts.pop("limits", None)

    def compared(pair: Callable[..., pl.Expr]) -> AnyMetric:
        return replace(
            _over_groups(bases[0], "comparison", Comparison(pair, over_pairs, magnitude, limits)),
            name=pair.__name__,
            bases=bases,
            roles=tuple(dict.fromkeys(("group", *(r for base in bases for r in base.roles)))),
            doc=pair.__doc__,
            origin=home_of(pair),
            **facts,
        )

    return compared


def _over_groups(rate: AnyMetric, what: str, formula: Comparison | Extreme) -> AnyMetric:
    if not isinstance(rate, Metric):
        msg = f"`{what}` takes a metric, such as `{what}(fairness.f1)`, got {rate!r}"
        raise TypeError(msg)
    check_rate(rate, what)
    return replace(
        rate,
        name=f"{rate.name}_{what}",
        formula=formula,
        view=as_they_are,
        roles=tuple(dict.fromkeys(("group", *rate.roles))),
        fair=None,
        options={},
        bases=(rate,),
        check=None,
        n=None,
        variants=tuple(
            variant._replace(metric=_over_groups(variant.metric, what, formula))
            for variant in rate.variants
        ),
        doc=f"{what.replace('_', ' ').capitalize()} of `{rate.name}` between groups.",
    )


def check_rate(metric: Metric, what: str) -> None:
    """Raise if a metric is not a rate of one group, which can be compared with another's."""
    if metric.bases or GROUP in metric.roles:
        msg = f"`{metric.name}` compares groups already: pass `{what}` a rate, such as `f1`"
        raise ValueError(msg)
