"""Differences between groups in rates that compare the decision with the label."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from polarsfair._engine.compare import compare, difference, known_as
from polarsfair._formula import largest, quotient, spread
from polarsfair.fairness._decisions import rates
from polarsfair.fairness._decisions.rates import both_known, fn, fp, rate, rows_of, tn, tp

if TYPE_CHECKING:
    import polars as pl

    from polarsfair.fairness._types import FairnessMetric

__all__ = [
    "accuracy_difference",
    "average_abs_odds",
    "average_odds",
    "equal_opportunity",
    "equalized_odds",
    "fdr_difference",
    "fnr_difference",
    "for_difference",
    "npv_difference",
    "predictive_equality",
    "predictive_parity",
    "tnr_difference",
    "treatment_equality",
]

_gap = known_as(kind="opportunity", fair=(-0.1, 0.1))
"""Names a difference between groups."""


@_gap
def equal_opportunity() -> FairnessMetric:
    """Difference of true positive rates.

    Rows with a positive label should be selected equally often in every group.

    Formula, with TPR = TP / (TP + FN)::

        with ref      TPR(group) - TPR(ref), of the group farthest from the reference
        without ref   largest TPR - smallest TPR

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    Jurity's page defines a rate per group, but its code takes the difference: for the rates use
    `true_positive_rate` with ``by``, or `by_group`. It is AIF360's and HolisticAI's difference with
    the second group as ``ref``, and Fairlearn's without. A group without positives is left out.
    Fairlearn and HolisticAI count its rate as 0; in Jurity and AIF360 it makes the difference
    undefined. Aequitas reports ratios: ``ratio(true_positive_rate)``.

    References
    ----------
    Hardt, Price, Srebro (2016). Equality of Opportunity in Supervised Learning. NIPS 2016.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFMM"), "hired": [0, 1, 1, 1], "fit": [1, 1, 1, 1]})
    >>> df.pipe(fairness.equal_opportunity, group="sex", pred="hired", label="fit", ref="M")
    -0.5
    >>> pf.by_group(
    ...     df, fairness.true_positive_rate, group="sex", pred="hired", label="fit", ref="M"
    ... ).select("group", "value", "difference", "ratio")
    shape: (2, 4)
    ┌───────┬───────┬────────────┬───────┐
    │ group ┆ value ┆ difference ┆ ratio │
    │ ---   ┆ ---   ┆ ---        ┆ ---   │
    │ str   ┆ f64   ┆ f64        ┆ f64   │
    ╞═══════╪═══════╪════════════╪═══════╡
    │ F     ┆ 0.5   ┆ -0.5       ┆ 0.5   │
    │ M     ┆ 1.0   ┆ 0.0        ┆ 1.0   │
    └───────┴───────┴────────────┴───────┘
    """
    return difference(rates.true_positive_rate)


@_gap
def predictive_equality() -> FairnessMetric:
    """Difference of false positive rates.

    Rows with a negative label should be selected equally often in every group.

    Formula, with FPR = FP / (FP + TN)::

        with ref      FPR(group) - FPR(ref), of the group farthest from the reference
        without ref   largest FPR - smallest FPR

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    The equation on Jurity's page compares each group's rate with that of the whole population:
    ``ref=pf.OVERALL``. Its code takes the difference of two groups and returns None if all labels
    of one group are equal. HolisticAI and AIF360 call this the false positive rate difference. A
    group without negatives is left out; Fairlearn and HolisticAI count its rate as 0.

    References
    ----------
    Corbett-Davies, Pierson, Feller, Goel, Huq (2017). Algorithmic Decision Making and the Cost of
    Fairness. KDD 2017. Chouldechova (2017). Fair Prediction with Disparate Impact. Big Data 5(2),
    153-163.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFMM"), "hired": [0, 0, 0, 1], "fit": [0, 0, 0, 0]})
    >>> roles = {"group": "sex", "pred": "hired", "label": "fit"}
    >>> df.pipe(fairness.predictive_equality, **roles, ref="M")
    -0.5
    >>> df.pipe(fairness.predictive_equality, **roles, ref=pf.OVERALL)
    -0.25
    """
    return difference(rates.false_positive_rate)


@rate(("pred", "label"), n=both_known)
def _mean_odds() -> pl.Expr:
    """Mean of the false and the true positive rate."""
    return (quotient(fp, fp + tn) + quotient(tp, tp + fn)) / 2


@_gap
def average_odds() -> FairnessMetric:
    """Mean of the differences of the false and the true positive rates.

    How much more often a group is selected, averaged over both labels. A higher true positive rate
    and a lower false positive rate cancel out: see `average_abs_odds` and `equalized_odds`.

    Formula, with O = (FPR + TPR) / 2::

        with ref      O(group) - O(ref), of the group farthest from the reference
        without ref   largest O - smallest O

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    AIF360, HolisticAI and Jurity's code compute the same. Jurity's page exchanges the groups in the
    second term, (FPR1 - FPR2) + (TPR2 - TPR1). That is (`predictive_equality` -
    `equal_opportunity`) / 2, as below: how much worse a group is treated for both labels. A group
    without positives or without negatives is left out; HolisticAI counts its missing rate as 0.

    References
    ----------
    Bellamy and others (2018). AI Fairness 360: An Extensible Toolkit for Detecting, Understanding,
    and Mitigating Unwanted Algorithmic Bias. arXiv:1810.01943.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> roles = {"group": "sex", "pred": "hired", "label": "fit", "ref": "M"}
    >>> df.pipe(fairness.average_odds, **roles)
    -0.5

    The reading of Jurity's page, for two groups:

    >>> fpr = df.pipe(fairness.predictive_equality, **roles)
    >>> tpr = df.pipe(fairness.equal_opportunity, **roles)
    >>> (fpr - tpr) / 2
    0.0
    """
    return difference(_mean_odds)


@compare(
    rates.false_positive_rate,
    rates.true_positive_rate,
    # Over pairs, the largest |x| + |y| is that of x + y or of x - y.
    over_pairs=lambda fpr, tpr: largest([spread(fpr + tpr), spread(fpr - tpr)]) / 2,
    ideal=0.0,
    bounds=(0.0, 1.0),
    better="lower",
    fair=(0.0, 0.1),
    kind="opportunity",
    n=both_known,
)
def average_abs_odds(fpr: pl.Expr, tpr: pl.Expr, other_fpr: pl.Expr, other_tpr: pl.Expr) -> pl.Expr:
    """Mean of the absolute differences of the false and the true positive rates.

    Unlike in `average_odds`, the two differences cannot cancel out.

    Formula, for two groups::

        (|difference of FPR| + |difference of TPR|) / 2

    the largest of all pairs of groups, or of all groups compared with ``ref``.

    Range 0 to 1; ideal 0; lower is better; 0 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    AIF360's ``average_abs_odds_difference`` and ``average_odds_error``. Fairlearn's
    ``equalized_odds_difference(agg="mean")`` takes the two largest differences from different pairs
    of groups if there are more than two: half the sum of `predictive_equality` and
    `equal_opportunity` without ``ref``. With two classes, HolisticAI's
    ``multiclass_equality_of_opp`` is the same.

    References
    ----------
    Bellamy and others (2018). AI Fairness 360: An Extensible Toolkit for Detecting, Understanding,
    and Mitigating Unwanted Algorithmic Bias. arXiv:1810.01943.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> df.pipe(fairness.average_abs_odds, group="sex", pred="hired", label="fit")
    0.5
    """
    return ((fpr - other_fpr).abs() + (tpr - other_tpr).abs()) / 2


@compare(
    rates.false_positive_rate,
    rates.true_positive_rate,
    over_pairs=lambda fpr, tpr: largest([spread(fpr), spread(tpr)]),
    ideal=0.0,
    bounds=(0.0, 1.0),
    better="lower",
    fair=(0.0, 0.1),
    kind="opportunity",
    n=both_known,
    limits="largest",
)
def equalized_odds(fpr: pl.Expr, tpr: pl.Expr, other_fpr: pl.Expr, other_tpr: pl.Expr) -> pl.Expr:
    """Larger of the absolute differences of the false and the true positive rates.

    It is 0 if both rates are equal in all groups, which is equalized odds.

    Formula, for two groups::

        max(|difference of FPR|, |difference of TPR|)

    the largest of all pairs of groups, or of all groups compared with ``ref``.

    Range 0 to 1; ideal 0; lower is better; 0 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    Without ``ref`` it is Fairlearn's ``equalized_odds_difference``, with ``ref=pf.OVERALL`` that of
    ``method="to_overall"``. A group without positives or without negatives is left out; Fairlearn
    counts its missing rate as 0. In Jurity this is the name of a mitigation, not of a metric.

    References
    ----------
    Hardt, Price, Srebro (2016). Equality of Opportunity in Supervised Learning. NIPS 2016.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> df.pipe(fairness.equalized_odds, group="sex", pred="hired", label="fit")
    0.5
    """
    return largest([(fpr - other_fpr).abs(), (tpr - other_tpr).abs()])


@_gap
def fnr_difference() -> FairnessMetric:
    """Difference of false negative rates.

    Rows with a positive label should be rejected equally often in every group: `equal_opportunity`
    with the opposite sign.

    Formula, with FNR = FN / (TP + FN)::

        with ref      FNR(group) - FNR(ref), of the group farthest from the reference
        without ref   largest FNR - smallest FNR

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    The equation on Jurity's page compares each group's rate with that of the whole population:
    ``ref=pf.OVERALL``. Its code, AIF360 and HolisticAI take the difference of two groups. A group
    without positives is left out; Fairlearn and HolisticAI count its rate as 0.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi (2017). Fairness Beyond Disparate Treatment & Disparate
    Impact: Learning Classification without Disparate Mistreatment. WWW 2017.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFMM"), "hired": [0, 1, 1, 1], "fit": [1, 1, 1, 1]})
    >>> roles = {"group": "sex", "pred": "hired", "label": "fit"}
    >>> df.pipe(fairness.fnr_difference, **roles, ref="M")
    0.5
    >>> pf.by_group(df, fairness.false_negative_rate, **roles, ref=pf.OVERALL).select(
    ...     "group", "value", "difference"
    ... )
    shape: (2, 3)
    ┌───────┬───────┬────────────┐
    │ group ┆ value ┆ difference │
    │ ---   ┆ ---   ┆ ---        │
    │ str   ┆ f64   ┆ f64        │
    ╞═══════╪═══════╪════════════╡
    │ F     ┆ 0.5   ┆ 0.25       │
    │ M     ┆ 0.0   ┆ -0.25      │
    └───────┴───────┴────────────┘
    """
    return difference(rates.false_negative_rate)


@_gap
def tnr_difference() -> FairnessMetric:
    """Difference of true negative rates.

    Rows with a negative label should be rejected equally often in every group:
    `predictive_equality` with the opposite sign.

    Formula, with TNR = TN / (FP + TN)::

        with ref      TNR(group) - TNR(ref), of the group farthest from the reference
        without ref   largest TNR - smallest TNR

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    HolisticAI's ``true_negative_rate_diff``. A group without negatives is left out; HolisticAI
    counts its rate as 0, and as 1 if all its predictions are positive too.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi (2017). Fairness Beyond Disparate Treatment & Disparate
    Impact: Learning Classification without Disparate Mistreatment. WWW 2017.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFMM"), "hired": [0, 0, 0, 1], "fit": [0, 0, 0, 0]})
    >>> df.pipe(fairness.tnr_difference, group="sex", pred="hired", label="fit", ref="M")
    0.5
    """
    return difference(rates.true_negative_rate)


@_gap
def for_difference() -> FairnessMetric:
    """Difference of false omission rates.

    The share of positives among the rejected should be equal in every group.

    Formula, with FOR = FN / (TN + FN)::

        with ref      FOR(group) - FOR(ref), of the group farthest from the reference
        without ref   largest FOR - smallest FOR

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    Jurity's page divides the false negatives by the negative examples, FN / (FP + TN); its code
    divides by the rejected rows, as here. The page's quotient follows from two other rates, as
    below: it is the false negative rate times the odds of the base rate. A group without rejected
    rows is left out; Jurity and AIF360 count its rate as 0.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi (2017). Fairness Beyond Disparate Treatment & Disparate
    Impact: Learning Classification without Disparate Mistreatment. WWW 2017.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> df.pipe(fairness.for_difference, group="sex", pred="hired", label="fit", ref="M")
    0.5

    The reading of Jurity's page, the difference of FN / (FP + TN):

    >>> rates = [fairness.false_negative_rate, fairness.base_rate]
    >>> odds = pl.col("base_rate") / (1 - pl.col("base_rate"))
    >>> page = pf.evaluate(df, rates, by="sex", pred="hired", label="fit").select(
    ...     "sex", page=pl.col("false_negative_rate") * odds
    ... )
    >>> round(page["page"][0] - page["page"][1], 3)
    1.0
    """
    return difference(rates.false_omission_rate)


@_gap
def fdr_difference() -> FairnessMetric:
    """Difference of false discovery rates.

    The share of negatives among the selected should be equal in every group: `predictive_parity`
    with the opposite sign.

    Formula, with FDR = FP / (TP + FP)::

        with ref      FDR(group) - FDR(ref), of the group farthest from the reference
        without ref   largest FDR - smallest FDR

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    AIF360's ``false_discovery_rate_difference``. A group without selected rows is left out; AIF360
    counts its rate as 0. Aequitas reports ratios: ``ratio(false_discovery_rate)``.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi (2017). Fairness Beyond Disparate Treatment & Disparate
    Impact: Learning Classification without Disparate Mistreatment. WWW 2017.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> df.pipe(fairness.fdr_difference, group="sex", pred="hired", label="fit", ref="M")
    -0.5
    """
    return difference(rates.false_discovery_rate)


@_gap
def predictive_parity() -> FairnessMetric:
    """Difference of precisions.

    The share of positives among the selected should be equal in every group.

    Formula, with PPV = TP / (TP + FP)::

        with ref      PPV(group) - PPV(ref), of the group farthest from the reference
        without ref   largest PPV - smallest PPV

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    A group without selected rows is left out; AIF360 and scikit-learn count its precision as 0.
    Aequitas reports ratios: ``ratio(precision)``. If base rates differ, it cannot be 0 together
    with `fnr_difference` and `predictive_equality`, unless all selections are correct, or all are
    wrong.

    References
    ----------
    Chouldechova (2017). Fair Prediction with Disparate Impact: A Study of Bias in Recidivism
    Prediction Instruments. Big Data 5(2), 153-163.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> df.pipe(fairness.predictive_parity, group="sex", pred="hired", label="fit", ref="M")
    0.5
    """
    return difference(rates.precision)


@_gap
def npv_difference() -> FairnessMetric:
    """Difference of negative predictive values.

    The share of negatives among the rejected should be equal in every group: `for_difference` with
    the opposite sign.

    Formula, with NPV = TN / (TN + FN)::

        with ref      NPV(group) - NPV(ref), of the group farthest from the reference
        without ref   largest NPV - smallest NPV

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    Together with `predictive_parity` it is conditional use accuracy equality. A group without
    rejected rows is left out; AIF360 counts its value as 0.

    References
    ----------
    Berk, Heidari, Jabbari, Kearns, Roth (2021). Fairness in Criminal Justice Risk Assessments: The
    State of the Art. Sociological Methods & Research 50(1).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> df.pipe(fairness.npv_difference, group="sex", pred="hired", label="fit", ref="M")
    -0.5
    """
    return difference(rates.negative_predictive_value)


@_gap
def accuracy_difference() -> FairnessMetric:
    """Difference of accuracies.

    Decisions should be correct equally often in every group. Also called overall accuracy equality.

    Formula, with ACC = (TP + TN) / (TP + FP + FN + TN)::

        with ref      ACC(group) - ACC(ref), of the group farthest from the reference
        without ref   largest ACC - smallest ACC

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    HolisticAI's ``accuracy_diff``; AIF360's ``error_rate_difference`` has the opposite sign. Wrong
    selections and wrong rejections count the same, so that it can be 0 although both differ.

    References
    ----------
    Berk, Heidari, Jabbari, Kearns, Roth (2021). Fairness in Criminal Justice Risk Assessments: The
    State of the Art. Sociological Methods & Research 50(1).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFMM"), "hired": [0, 1, 0, 1], "fit": [1, 1, 0, 1]})
    >>> df.pipe(fairness.accuracy_difference, group="sex", pred="hired", label="fit", ref="M")
    -0.5
    """
    return difference(rates.accuracy)


@rate(("pred", "label"), bounds=(0.0, math.inf), n=rows_of("fn", "fp"))
def _misses_per_false_alarm() -> pl.Expr:
    """False negatives over false positives."""
    return quotient(fn, fp)


@known_as(kind="opportunity", bounds=(-math.inf, math.inf))
def treatment_equality() -> FairnessMetric:
    """Difference of false negatives over false positives.

    The two kinds of error should have the same proportion in every group.

    Formula, with T = FN / FP::

        with ref      T(group) - T(ref), of the group farthest from the reference
        without ref   largest T - smallest T

    Range -inf to inf; ideal 0; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    If a group has false negatives but no false positives, T and the difference are infinite. A
    group without errors is left out. SageMaker Clarify's TE is the same with the advantaged group
    as ``ref``. Jurity, HolisticAI and Fairlearn do not have it.

    References
    ----------
    Berk, Heidari, Jabbari, Kearns, Roth (2021). Fairness in Criminal Justice Risk Assessments: The
    State of the Art. Sociological Methods & Research 50(1).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [1, 1, 0, 1, 0, 0]}
    ... )
    >>> df.pipe(fairness.treatment_equality, group="sex", pred="hired", label="fit", ref="M")
    1.5
    """
    return difference(_misses_per_false_alarm)
