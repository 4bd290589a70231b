"""Comparisons of real-valued outcomes between groups: shares at the top, means, errors."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.compare import compare, difference, group_max, known_as, ratio
from polarsfair._engine.metric import Variant, define
from polarsfair._formula import clean, quotient
from polarsfair.fairness._outcomes.moments import (
    about_mean,
    all_kept,
    check_quantile,
    kept_rows,
    kept_rows_of_all,
    mean_over,
    outcome_bins,
    outcomes,
)
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "correlation_difference",
    "jain_index",
    "mae_ratio",
    "mean_difference",
    "mean_ratio",
    "quantile_disparate_impact",
    "quantile_stat_parity",
    "quantile_stat_parity_error",
    "rmse_ratio",
    "z_score_difference",
]

_KEPT, KEPT_LABELLED, _SIZE = pl.col("kept"), pl.col("kept_labelled"), pl.col("size")
_BOTH = ("pred", "label")
_NOISE = 1e-14
"""Means that are smaller, in standard deviations times the root of the rows, are rounding."""


_rate = functools.partial(define, outcomes, "quality", of=FairnessMetric)
"""Decorates a rate of one group, over the lines that are kept."""


# --- rates of one group -------------------------------------------------------------------------


def _kept_rows() -> pl.Expr:
    """Count the rows that are kept."""
    return pl.col("n").filter("keep").sum()


def _kept_labelled_rows() -> pl.Expr:
    """Count the rows that are kept and have a label."""
    return pl.col("n").filter(pl.col("keep") & pl.col("labelled")).sum()


@_rate(("pred",), bounds=(0.0, 1.0))
def _kept_share() -> pl.Expr:
    """Share of the predictions that are kept."""
    return quotient(_KEPT.sum(), _SIZE.sum())


@_rate(("pred",), bounds=(0.0, 1.0))
def _edge_share() -> pl.Expr:
    """Share of the predictions in the bin that holds the quantile."""
    return quotient(pl.col("edge").sum(), _SIZE.sum())


@_rate(("pred",), n=_kept_rows)
def _kept_mean() -> pl.Expr:
    """Mean of the predictions that are kept."""
    return mean_of_kept()


def mean_of_kept() -> pl.Expr:
    """Return the mean of the predictions that are kept; 0 if it is only rounding of their sum."""
    mean = mean_over("pred_mean", _KEPT)
    squares = about_mean("pred_m2", "pred_mean", "pred_mean", _KEPT)
    # Predictions that cancel out leave some rounding, of either sign, which differs between runs.
    rows = pl.when(_KEPT > 0).then(pl.col("n")).sum()
    noise = _NOISE * (rows * squares / _KEPT.sum()).sqrt().fill_nan(0.0)
    return clean(pl.when(mean.abs() <= noise).then(0.0).otherwise(mean))


@_rate(("pred",), bounds=(0.0, math.inf), n=_kept_rows)
def _kept_variance() -> pl.Expr:
    """Variance of the predictions that are kept, as of a population."""
    return quotient(squares_about_mean("pred", _KEPT), _KEPT.sum())


@_rate(("pred",), bounds=(0.0, math.inf), n=_kept_rows)
def _kept_weight() -> pl.Expr:
    """Weight of the rows that are kept."""
    return pl.when(_KEPT.sum() > 0).then(_KEPT.sum())


@_rate(_BOTH, bounds=(-1.0, 1.0), n=_kept_labelled_rows)
def _correlation() -> pl.Expr:
    """Pearson's correlation of prediction and label."""
    weight = KEPT_LABELLED
    spreads = [_spread(name, weight) for name in ("pred", "label")]
    product = about_mean("pred_label", "pred_mean", "label_mean", weight)
    return clean(product / (spreads[0] * spreads[1])).clip(-1.0, 1.0)


def _spread(name: str, weight: pl.Expr) -> pl.Expr:
    """Return the root of the sum of squares about the mean; null for a constant."""
    squares = squares_about_mean(name, weight)
    return pl.when(squares > 0).then(squares.sqrt())


def squares_about_mean(name: str, weight: pl.Expr) -> pl.Expr:
    """Return the sum of squares about the mean; 0 if it is only rounding."""
    mean = f"{name}_mean"
    squares = about_mean(f"{name}_m2", mean, mean, weight)
    noise = 1e-26 * weight.sum() * mean_over(mean, weight) ** 2
    return pl.when(squares > noise).then(squares).otherwise(0.0)


@_rate(_BOTH, bounds=(0.0, math.inf), ideal=0.0, better="lower", n=_kept_labelled_rows)
def _rmse() -> pl.Expr:
    """Root of the mean squared error."""
    return mean_error("squared_error").sqrt()


@_rate(_BOTH, bounds=(0.0, math.inf), ideal=0.0, better="lower", n=_kept_labelled_rows)
def _mae() -> pl.Expr:
    """Mean absolute error."""
    return mean_error("abs_error")


def mean_error(name: str) -> pl.Expr:
    """Return the mean of an error of the rows that are kept, from its sums."""
    kept = pl.when(KEPT_LABELLED > 0).then(pl.col(name))
    return quotient(kept.sum(), KEPT_LABELLED.sum())


# --- comparisons of the rows at or above a quantile ---------------------------------------------


def _needs_bins(options: Mapping[str, Any]) -> bool:
    """Return whether a quantile has to be found."""
    q = options.get("q")
    return options.get("bins") is not None or (isinstance(q, int | float) and q > 0)


def _in_bins(metric: FairnessMetric) -> FairnessMetric:
    """Return the metric over the tally with bins."""
    bases = tuple(replace(base, tally=outcome_bins) for base in metric.bases)
    return replace(metric, tally=outcome_bins, bases=bases)


def _above(metric: FairnessMetric, q: float) -> FairnessMetric:
    """Let a comparison read the rows at or above the quantile, by default at the level `q`."""
    compares = "ref" in metric.option_names
    view = functools.partial(kept_rows if compares else kept_rows_of_all, q=q)
    metric = replace(metric, view=view, check=check_quantile)
    binned = _in_bins(metric)
    return binned if q > 0 else replace(metric, variants=(Variant(_needs_bins, binned),))


@known_as(kind="outcome", fair=(0.8, 1.25))
def quantile_disparate_impact() -> FairnessMetric:
    """Ratio of the shares that are predicted to be at the top.

    A row counts as selected if its prediction is among the highest.

    Formula, with t the q-quantile of all predictions of the slice::

        share(prediction >= t in the group) / share(prediction >= t in ref)

    Range 0 to inf; ideal 1; nearer is better; 0.8 to 1.25 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups). Without
        it, the smallest share over the largest.
    q
        The level of the quantile, 0.8 for the top fifth.
    bins
        None finds the quantile exactly, and holds every distinct prediction in memory. Edges (or a
        number of equal bins over 0 to 1) need less memory; all rows of the bin that holds the
        quantile are then kept.

    Notes
    -----
    HolisticAI's ``disparate_impact_regression``. Quantiles are NumPy's linear ones; rows of unknown
    group count in the quantile.

    References
    ----------
    Feldman, Friedler, Moeller, Scheidegger, Venkatasubramanian (2015). Certifying and Removing
    Disparate Impact. KDD 2015, 259-268.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 4, 3, 5]})
    >>> df.pipe(fairness.quantile_disparate_impact, group="sex", pred="pay", ref="M", q=0.3)
    0.5
    """
    return _above(ratio(_kept_share), 0.8)


@known_as(kind="outcome", fair=(-0.1, 0.1))
def quantile_stat_parity() -> FairnessMetric:
    """Difference of the shares that are predicted to be at the top.

    Formula, with t the q-quantile of all predictions of the slice::

        share(prediction >= t in the group) - share(prediction >= t in ref)

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``. Without it, the largest share minus the smallest.
    q
        The level of the quantile, 0.5 for the upper half.
    bins
        As in `quantile_disparate_impact`; `quantile_stat_parity_error` bounds the error of the
        bins.

    Notes
    -----
    HolisticAI's ``statistical_parity_regression`` (whose table calls q = 0.8 "Q50").

    References
    ----------
    Agarwal, Dudík, Wu (2019). Fair Regression: Quantitative Definitions and Reduction-Based
    Algorithms. ICML 2019, PMLR 97, 120-129.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 2, 3, 4]})
    >>> df.pipe(fairness.quantile_stat_parity, group="sex", pred="pay", ref="M")
    -1.0
    """
    return _above(difference(_kept_share), 0.5)


@known_as(kind="outcome", ideal=0.0, better="lower")
def quantile_stat_parity_error() -> FairnessMetric:
    """Bound that the bins leave on `quantile_stat_parity`.

    Some rows of the bin that holds the quantile may lie below it, but are kept. The bound is the
    largest share of any group that lies in that bin.

    Formula: ``max over groups of rows in the quantile's bin / rows of the group``.

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    q, bins
        As in `quantile_stat_parity`; with ``bins=None`` it is 0.
    ref
        Does not change the value.

    Notes
    -----
    The magnitude of the exact difference is within this bound of the magnitude from bins.

    References
    ----------
    Agarwal, Dudík, Wu (2019). Fair Regression: Quantitative Definitions and Reduction-Based
    Algorithms. ICML 2019, PMLR 97, 120-129.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 2, 3, 4]})
    >>> df.pipe(fairness.quantile_stat_parity_error, group="sex", pred="pay", bins=[0, 2.2, 5])
    1.0
    """
    return _above(group_max(_edge_share), 0.5)


@known_as(kind="outcome")
def mean_difference() -> FairnessMetric:
    """Difference of mean predictions.

    Formula::

        with ref      mean(group) - mean(ref), of the group farthest from the reference
        without ref   largest mean - smallest mean

    Range -inf to inf; ideal 0; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: mean of the group minus mean of the reference, of
        the group farthest from it. Without it, the largest mean minus the smallest.
    q
        Only rows at or above this quantile of all predictions of the slice; 0, all rows.
    bins
        As in `quantile_disparate_impact`, if ``q`` is above 0.

    Notes
    -----
    HolisticAI's ``avg_score_diff``.

    References
    ----------
    Calders, Karim, Kamiran, Ali, Zhang (2013). Controlling Attribute Effect in Linear Regression.
    ICDM 2013, 71-80.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 3, 3, 5]})
    >>> df.pipe(fairness.mean_difference, group="sex", pred="pay", ref="M")
    -2.0
    """
    return _above(difference(_kept_mean), 0.0)


@known_as(kind="outcome")
def mean_ratio() -> FairnessMetric:
    """Ratio of mean predictions.

    Formula::

        with ref      mean(group) / mean(ref), of the group farthest from the reference
        without ref   smallest mean / largest mean

    Range -inf to inf; ideal 1; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: mean of the group over mean of the reference, of
        the group farthest from it by the logarithm. Without it, the smallest over the largest.
    q
        Only rows at or above this quantile of all predictions of the slice; 0, all rows.
    bins
        As in `quantile_disparate_impact`, if ``q`` is above 0.

    Notes
    -----
    HolisticAI's ``avg_score_ratio``. Hard to interpret if means can be negative or close to 0. A
    mean that is only rounding of its sum counts as 0, so that the ratio is infinite: one below
    1e-14 standard deviations times the root of the number of rows.

    References
    ----------
    Calders, Karim, Kamiran, Ali, Zhang (2013). Controlling Attribute Effect in Linear Regression.
    ICDM 2013, 71-80.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 3, 3, 5]})
    >>> df.pipe(fairness.mean_ratio, group="sex", pred="pay", ref="M")
    0.5
    """
    return _above(ratio(_kept_mean), 0.0)


@functools.partial(_above, q=0.0)
@compare(
    _kept_mean,
    _kept_variance,
    _kept_weight,
    over_pairs=None,
    ideal=0.0,
    bounds=(-math.inf, math.inf),
    better="ideal",
    kind="outcome",
)
def z_score_difference(
    mean: pl.Expr,
    variance: pl.Expr,
    weight: pl.Expr,
    other_mean: pl.Expr,
    other_variance: pl.Expr,
    other_weight: pl.Expr,
) -> pl.Expr:
    """Difference of mean predictions in pooled standard deviations.

    Formula, with m the rows and v the variances (of a population) of the two groups::

        (mean - other mean) / sqrt(((m - 1) v + (m' - 1) v') / (m + m' - 2))

    Range -inf to inf; ideal 0; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``. Without it, the largest magnitude of any pair.
    q
        Only rows at or above this quantile of all predictions of the slice; 0, all rows.
    bins
        As in `quantile_disparate_impact`, if ``q`` is above 0.

    Notes
    -----
    HolisticAI's ``zscore_diff``. It uses the variance of a population (divided by m) in a pooled
    formula for the variance of a sample.

    References
    ----------
    Cohen (1988). Statistical Power Analysis for the Behavioral Sciences, 2nd edition. Lawrence
    Erlbaum.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 3, 3, 5]})
    >>> df.pipe(fairness.z_score_difference, group="sex", pred="pay", ref="M")
    -2.0
    """
    squares = (weight - 1) * variance + (other_weight - 1) * other_variance
    freedom = weight + other_weight - 2
    pooled = quotient(squares, freedom).sqrt()
    # Means of the same constant may differ by rounding, which would make the quotient infinite.
    noise = 1e-14 * pl.max_horizontal(mean.abs(), other_mean.abs())
    apart = mean - other_mean
    apart = pl.when(apart.abs() > noise).then(apart).otherwise(apart * 0)
    return pl.when(freedom > 0).then(quotient(apart, pooled))


@known_as(kind="opportunity")
def correlation_difference() -> FairnessMetric:
    """Difference of the correlations between prediction and label.

    Formula, with r Pearson's correlation::

        with ref      r(group) - r(ref), of the group farthest from the reference
        without ref   largest r - smallest r

    Range -2 to 2; ideal 0; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``. Without it, the largest minus the smallest.
    q
        Only rows at or above this quantile of all predictions of the slice; 0, all rows.
    bins
        As in `quantile_disparate_impact`, if ``q`` is above 0.

    Notes
    -----
    HolisticAI's ``correlation_diff``. Undefined if prediction or label is constant.

    References
    ----------
    Pearson (1895). Note on Regression and Inheritance in the Case of Two Parents. Proceedings of
    the Royal Society of London 58, 240-242.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "said": [1, 2, 1, 2], "was": [1, 2, 2, 1]})
    >>> round(df.pipe(fairness.correlation_difference, group="sex", pred="said", label="was"), 6)
    2.0
    """
    return _above(difference(_correlation), 0.0)


@known_as(kind="opportunity")
def rmse_ratio() -> FairnessMetric:
    """Ratio of the root mean squared errors.

    Formula, with RMSE = sqrt(mean of (prediction - label)^2)::

        with ref      RMSE(group) / RMSE(ref), of the group farthest from the reference
        without ref   smallest RMSE / largest RMSE

    Range 0 to inf; ideal 1; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: error of the group over that of the reference.
        Without it, the smallest over the largest.
    q
        Only rows at or above this quantile of all predictions of the slice; 0, all rows.
    bins
        As in `quantile_disparate_impact`, if ``q`` is above 0.

    Notes
    -----
    HolisticAI's ``rmse_ratio``. If it is below 1, the group's error is smaller than the
    reference's.

    References
    ----------
    Agarwal, Dudík, Wu (2019). Fair Regression: Quantitative Definitions and Reduction-Based
    Algorithms. ICML 2019, PMLR 97, 120-129.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "said": [1, 2, 1, 2], "was": [2, 3, 3, 4]})
    >>> df.pipe(fairness.rmse_ratio, group="sex", pred="said", label="was", ref="M")
    0.5
    """
    return _above(ratio(_rmse), 0.0)


@known_as(kind="opportunity")
def mae_ratio() -> FairnessMetric:
    """Ratio of the mean absolute errors.

    Formula, with MAE = mean of |prediction - label|::

        with ref      MAE(group) / MAE(ref), of the group farthest from the reference
        without ref   smallest MAE / largest MAE

    Range 0 to inf; ideal 1; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: error of the group over that of the reference.
        Without it, the smallest over the largest.
    q
        Only rows at or above this quantile of all predictions of the slice; 0, all rows.
    bins
        As in `quantile_disparate_impact`, if ``q`` is above 0.

    Notes
    -----
    HolisticAI's ``mae_ratio``. If it is below 1, the group's error is smaller than the reference's.

    References
    ----------
    Agarwal, Dudík, Wu (2019). Fair Regression: Quantitative Definitions and Reduction-Based
    Algorithms. ICML 2019, PMLR 97, 120-129.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "said": [1, 2, 1, 2], "was": [2, 3, 3, 4]})
    >>> df.pipe(fairness.mae_ratio, group="sex", pred="said", label="was", ref="M")
    0.5
    """
    return _above(ratio(_mae), 0.0)


@_rate(_BOTH, view=all_kept, bounds=(0.0, 1.0), ideal=1.0, better="higher", n=_kept_labelled_rows)
def jain_index() -> pl.Expr:
    """Jain's index of the absolute errors: how evenly they are distributed over rows.

    Formula, with e the error of each row::

        (sum |e|)^2 / (n * sum e^2)

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    It is 1 if all rows have the same error, and 1/n if one row has all the error. It is
    HolisticAI's ``jain_index``, except that without any error it is undefined here, and 1 there.

    References
    ----------
    Jain, Chiu, Hawe (1984). A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems. DEC Research Report TR-301.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"said": [1, 2, 3, 4], "was": [2, 3, 3, 4]})
    >>> df.pipe(fairness.jain_index, pred="said", label="was")
    0.5
    """
    known = KEPT_LABELLED > 0
    absolute, squared = (pl.when(known).then(c).sum() for c in ("abs_error", "squared_error"))
    return quotient(absolute * absolute, KEPT_LABELLED.sum() * squared)
