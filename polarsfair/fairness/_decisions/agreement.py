"""How far decisions agree with labels beyond chance: coefficients from -1 to 1."""

from __future__ import annotations

import functools

import polars as pl

from polarsfair._formula import quotient
from polarsfair.fairness._decisions import rates
from polarsfair.fairness._decisions.rates import rate

__all__ = ["cohen_kappa", "mcc"]

# As floats: products of counts exceed 64 bits from a few billion rows on. Equal products are
# rounded to equal floats, so that independence is exactly 0.
_TP, _FP, _FN, _TN = (count.cast(pl.Float64) for count in (rates.tp, rates.fp, rates.fn, rates.tn))
_COVARIANCE = _TP * _TN - _FP * _FN

_agreement = functools.partial(
    rate, ("pred", "label"), bounds=(-1.0, 1.0), ideal=1.0, better="higher"
)


@_agreement()
def mcc() -> pl.Expr:
    """Matthews correlation coefficient: correlation of decision and label.

    Also called phi coefficient. It is 1 if all decisions are right, 0 if decision and label are
    independent, and -1 if all decisions are wrong.

    Formula::

        (TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN))

    Range -1 to 1; ideal 1; higher is better.

    Notes
    -----
    If all decisions or all labels are equal, it is undefined; scikit-learn's ``matthews_corrcoef``
    then returns 0.

    References
    ----------
    Baldi, Brunak, Chauvin, Andersen, Nielsen (2000). Assessing the Accuracy of Prediction
    Algorithms for Classification: An Overview. Bioinformatics 16(5), 412-424.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> round(df.pipe(fairness.mcc, pred="hired", label="fit"), 4)
    0.1667
    """
    # The root of a square is exact: 1 for decisions that are all right.
    scale = ((_TP + _FP) * (_TP + _FN)).sqrt() * ((_TN + _FP) * (_TN + _FN)).sqrt()
    return quotient(_COVARIANCE, scale).clip(-1.0, 1.0)


@_agreement()
def cohen_kappa() -> pl.Expr:
    """Cohen's kappa: accuracy beyond what chance would reach, as a share of what it could be.

    Chance is a decision that is independent of the label, with the same share of selected rows.

    Formula, equal to (accuracy - expected accuracy) / (1 - expected accuracy)::

        2 (TP TN - FP FN) / ((TP + FP) (FP + TN) + (TP + FN) (FN + TN))

    Range -1 to 1; ideal 1; higher is better.

    Notes
    -----
    If all decisions and labels have the same value, it is undefined, as in scikit-learn's
    ``cohen_kappa_score``. If only one side does not vary, it is 0.

    References
    ----------
    Cohen (1960). A Coefficient of Agreement for Nominal Scales. Educational and Psychological
    Measurement 20(1), 37-46.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> round(df.pipe(fairness.cohen_kappa, pred="hired", label="fit"), 4)
    0.1667
    """
    scale = (_TP + _FP) * (_FP + _TN) + (_TP + _FN) * (_FN + _TN)
    return quotient(2 * _COVARIANCE, scale).clip(-1.0, 1.0)
