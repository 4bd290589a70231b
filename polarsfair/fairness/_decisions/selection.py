"""Comparisons of the selection rate between groups, for any label."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.compare import compare, difference, known_as, ratio
from polarsfair._formula import log_magnitude, quotient
from polarsfair.fairness._decisions.rates import decided, rate, rejected, selected, selection_rate

if TYPE_CHECKING:
    from polarsfair.fairness._types import FairnessMetric

__all__ = [
    "cohen_d",
    "disparate_impact",
    "four_fifths",
    "stat_parity",
    "z_test_difference",
    "z_test_ratio",
]


@known_as(kind="outcome", fair=(-0.1, 0.1))
def stat_parity() -> FairnessMetric:
    """Difference of selection rates.

    Also called statistical parity, demographic parity or mean difference: the groups should be
    selected equally often.

    Formula, with SR the `selection_rate`::

        with ref      SR(group) - SR(ref), of the group farthest from the reference
        without ref   largest SR - smallest SR

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    Jurity compares one group with all others: ``group=pl.col("sex") == "F", ref=False``. AIF360
    takes the unprivileged group minus the privileged (``ref="M"``). HolisticAI takes the first
    group minus the second; its page prints the opposite order. Fairlearn returns the value without
    ``ref``, and with ``method="to_overall"`` the magnitude of that with ``ref=pf.OVERALL``.
    HolisticAI accepts -0.1 to 0.1, Jurity -0.2 to 0.2. Every group's own rate and difference are in
    `by_group`.

    References
    ----------
    Dwork, Hardt, Pitassi, Reingold, Zemel (2012). Fairness through Awareness. ITCS 2012, 214-226.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.stat_parity, group="sex", pred="hired")
    0.5
    >>> df.pipe(fairness.stat_parity, group="sex", pred="hired", ref="M")
    -0.5
    """
    return difference(selection_rate)


@known_as(kind="outcome", fair=(0.8, 1.25))
def disparate_impact() -> FairnessMetric:
    """Ratio of selection rates.

    How many times as often a group is selected. The distance of a ratio from 1 is measured by its
    logarithm: 0.8 and 1.25 have the same distance.

    Formula, with SR the `selection_rate`::

        with ref      SR(group) / SR(ref), of the group farthest from the reference
        without ref   smallest SR / largest SR

    Range 0 to inf; ideal 1; nearer is better; 0.8 to 1.25 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    If no row of the reference is selected, the ratio is infinite; it is undefined if no row of the
    group is selected either. AIF360's classes and HolisticAI agree. Jurity then returns the
    *number* selected in the group, AIF360's functions 0, Aequitas 10. HolisticAI's page prints the
    inverse ratio. Jurity and HolisticAI accept 0.8 to 1.2, Aequitas 0.8 to 1.25. Without ``ref`` it
    is Fairlearn's ``demographic_parity_ratio``.

    References
    ----------
    Feldman, Friedler, Moeller, Scheidegger, Venkatasubramanian (2015). Certifying and Removing
    Disparate Impact. KDD 2015, 259-268.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.disparate_impact, group="sex", pred="hired", ref="M")
    0.5
    >>> df.pipe(fairness.disparate_impact, group="sex", pred="hired", ref="F")
    2.0
    """
    return ratio(selection_rate)


def _smallest_ratio(value: pl.Expr) -> pl.Expr:
    return quotient(value.min(), value.max())


@compare(
    selection_rate,
    over_pairs=_smallest_ratio,
    magnitude=log_magnitude,
    ideal=1.0,
    bounds=(0.0, 1.0),
    better="higher",
    fair=(0.8, 1.0),
    kind="outcome",
)
def four_fifths(own: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Smaller over larger selection rate.

    The ratio of the four-fifths rule: below 0.8, the guidelines regard it as evidence of adverse
    impact.

    Formula, with SR the `selection_rate` and r the ratio of two of them::

        min(r, 1 / r), the smallest of all pairs, or of all groups compared with ref

    Range 0 to 1; ideal 1; higher is better; 0.8 to 1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups). The
        value does not show which of the two sides is selected less often; `disparate_impact` does.

    Notes
    -----
    The guidelines compare with the group that is selected most often: the value without ``ref``.
    HolisticAI's function agrees for two groups; its page prints a one-sided ratio with an upper
    limit of 1.2. With ``ref=pf.OVERALL`` it is Fairlearn's
    ``demographic_parity_ratio(method="to_overall")``. Undefined if no row is selected.

    References
    ----------
    Equal Employment Opportunity Commission and others (1978). Uniform Guidelines on Employee
    Selection Procedures. 29 CFR 1607.4 D.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.four_fifths, group="sex", pred="hired")
    0.5
    """
    return pl.min_horizontal(quotient(own, other), quotient(other, own))


@rate(("pred",), bounds=(0.0, math.inf), n=decided)
def _decided() -> pl.Expr:
    """Weight of the rows with a known prediction: the size of the sample compared."""
    return selected + rejected


_two_samples = functools.partial(
    compare,
    selection_rate,
    _decided,
    over_pairs=None,
    ideal=0.0,
    bounds=(-math.inf, math.inf),
    better="ideal",
    kind="outcome",
)


@_two_samples(fair=(-0.2, 0.2))
def cohen_d(p: pl.Expr, n: pl.Expr, other_p: pl.Expr, other_n: pl.Expr) -> pl.Expr:
    """Difference of selection rates in pooled standard deviations.

    An effect size: 0.2 is usually called small, 0.5 medium, 0.8 large.

    Formula, for a group of n rows with `selection_rate` p and another of m rows with q::

        d = (p - q) / sqrt( ((n - 1) p (1 - p) + (m - 1) q (1 - q)) / (n + m - 2) )

    Range -inf to inf; ideal 0; nearer is better; -0.2 to 0.2 is usually accepted.

    Parameters
    ----------
    ref
        A group or ``pf.REST``: every other group is compared with it, and the value of largest
        magnitude is returned, signed. Without it, the largest magnitude over all pairs of groups,
        unsigned. ``pf.OVERALL`` contains the group itself, so that the two are not separate
        samples.

    Notes
    -----
    The same as HolisticAI's function; its page leaves out the square root. A group of one row has
    no variance. If both variances are 0, the value is infinite, or undefined if the rates are
    equal. With ``weight``, n and m are sums of weights, interpreted as repetitions.

    References
    ----------
    Cohen (1988). Statistical Power Analysis for the Behavioral Sciences, 2nd edition. Lawrence
    Erlbaum.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1]})
    >>> round(df.pipe(fairness.cohen_d, group="sex", pred="hired", ref="M"), 3)
    -0.707
    """
    squares = (n - 1) * p * (1 - p) + (other_n - 1) * other_p * (1 - other_p)
    freedom = n + other_n - 2
    # With fractional weights there may be no degree of freedom, and no variance.
    return pl.when(freedom > 0).then(quotient(p - other_p, (squares / freedom).sqrt()))


@_two_samples(fair=(-2.0, 2.0))
def z_test_difference(p: pl.Expr, n: pl.Expr, other_p: pl.Expr, other_n: pl.Expr) -> pl.Expr:
    """Pooled z statistic of the difference of selection rates.

    The difference in standard errors, under the hypothesis of equal rates: the "two standard
    deviations" of the courts.

    Formula, for a group of n rows with `selection_rate` p and another of m rows with q::

        z = (p - q) / sqrt( s (1 - s) (1 / n + 1 / m) ),   s = (n p + m q) / (n + m)

    Range -inf to inf; ideal 0; nearer is better; -2 to 2 is usually accepted.

    Parameters
    ----------
    ref
        A group or ``pf.REST``: every other group is compared with it, and the value of largest
        magnitude is returned, signed. Without it, the largest magnitude over all pairs of groups,
        unsigned; the largest of many values is often large at random. ``pf.OVERALL`` contains the
        group itself, so that the two are not separate samples.

    Notes
    -----
    The same as HolisticAI's ``z_test_diff`` ("2SD rule"); its page prints the unpooled statistic.
    It grows with the number of rows: with many rows, even an irrelevant difference exceeds 2.
    Undefined if all rows or no rows are selected. With ``weight``, n and m are sums of weights,
    interpreted as repetitions.

    References
    ----------
    Hazelwood School District v. United States, 433 U.S. 299 (1977). Morris, Lobsenz (2000).
    Significance Tests and Confidence Intervals for the Adverse Impact Ratio. Personnel Psychology
    53(1), 89-111.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1]})
    >>> round(df.pipe(fairness.z_test_difference, group="sex", pred="hired", ref="M"), 3)
    -0.816
    """
    pooled = (n * p + other_n * other_p) / (n + other_n)
    return quotient(p - other_p, (pooled * (1 - pooled) * (1 / n + 1 / other_n)).sqrt())


@_two_samples(fair=(-2.0, 2.0))
def z_test_ratio(p: pl.Expr, n: pl.Expr, other_p: pl.Expr, other_n: pl.Expr) -> pl.Expr:
    """Pooled z statistic of the logarithm of the ratio of selection rates.

    The test for `disparate_impact`, as `z_test_difference` is for `stat_parity`.

    Formula, for a group of n rows with `selection_rate` p and another of m rows with q::

        z = ln(p / q) / sqrt( (1 - s) / s (1 / n + 1 / m) ),   s = (n p + m q) / (n + m)

    Range -inf to inf; ideal 0; nearer is better; -2 to 2 is usually accepted.

    Parameters
    ----------
    ref
        A group or ``pf.REST``: every other group is compared with it, and the value of largest
        magnitude is returned, signed. Without it, the largest magnitude over all pairs of groups,
        unsigned; the largest of many values is often large at random. ``pf.OVERALL`` contains the
        group itself, so that the two are not separate samples.

    Notes
    -----
    The same as HolisticAI's function. Infinite if no row of one of the two groups is selected;
    undefined if all rows or no rows are selected. With ``weight``, n and m are sums of weights,
    interpreted as repetitions.

    References
    ----------
    Morris, Lobsenz (2000). Significance Tests and Confidence Intervals for the Adverse Impact
    Ratio. Personnel Psychology 53(1), 89-111.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1]})
    >>> round(df.pipe(fairness.z_test_ratio, group="sex", pred="hired", ref="M"), 3)
    -0.849
    """
    pooled = (n * p + other_n * other_p) / (n + other_n)
    error = ((1 - pooled) / pooled * (1 / n + 1 / other_n)).sqrt()
    return quotient((p / other_p).log(math.e), error)
