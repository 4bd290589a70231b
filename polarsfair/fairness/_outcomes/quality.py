"""How well numbers are predicted: rates of all rows, each of them a rate of one group."""

from __future__ import annotations

import functools
import math

import polars as pl

from polarsfair._engine.metric import define
from polarsfair._formula import quotient
from polarsfair.fairness._outcomes.moments import all_kept, outcomes
from polarsfair.fairness._outcomes.top import (
    KEPT_LABELLED,
    mean_error,
    mean_of_kept,
    squares_about_mean,
)
from polarsfair.fairness._types import FairnessMetric

__all__ = ["mae", "mean_prediction", "r2", "rmse"]

_quality = functools.partial(define, outcomes, "quality", of=FairnessMetric, view=all_kept)
_error = functools.partial(
    _quality, ("pred", "label"), bounds=(0.0, math.inf), ideal=0.0, better="lower"
)


@_quality(("pred",))
def mean_prediction() -> pl.Expr:
    """Mean of the predictions.

    What a group gets on average, for any label. `mean_difference` and `mean_ratio` compare it
    between groups.

    Formula: ``mean of prediction``.

    Range -inf to inf; a description, no ideal.

    Notes
    -----
    A row without a label counts too. A mean that is only rounding of its sum is 0, as in
    `mean_ratio`. For 0/1 decisions it is `selection_rate`.

    References
    ----------
    Calders, Karim, Kamiran, Ali, Zhang (2013). Controlling Attribute Effect in Linear Regression.
    ICDM 2013, 71-80.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 3, 3, 5]})
    >>> df.pipe(fairness.mean_prediction, pred="pay", by="sex")
    shape: (2, 2)
    ┌─────┬─────────────────┐
    │ sex ┆ mean_prediction │
    │ --- ┆ ---             │
    │ str ┆ f64             │
    ╞═════╪═════════════════╡
    │ F   ┆ 2.0             │
    │ M   ┆ 4.0             │
    └─────┴─────────────────┘
    """
    return mean_of_kept()


@_error()
def mae() -> pl.Expr:
    """Mean absolute error of the predictions.

    The typical error, in the unit of the label. `mae_ratio` compares it between groups.

    Formula: ``mean of |prediction - label|``.

    Range 0 to inf; ideal 0; lower is better.

    Notes
    -----
    scikit-learn's ``mean_absolute_error``.

    References
    ----------
    Willmott, Matsuura (2005). Advantages of the Mean Absolute Error (MAE) over the Root Mean Square
    Error (RMSE) in Assessing Average Model Performance. Climate Research 30, 79-82.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"said": [1, 2, 1, 2], "was": [2, 3, 3, 4]})
    >>> df.pipe(fairness.mae, pred="said", label="was")
    1.5
    """
    return mean_error("abs_error")


@_error()
def rmse() -> pl.Expr:
    """Root of the mean squared error of the predictions.

    Large errors weigh more than in `mae`, which is never larger. `rmse_ratio` compares it between
    groups.

    Formula: ``sqrt(mean of (prediction - label)^2)``.

    Range 0 to inf; ideal 0; lower is better.

    Notes
    -----
    scikit-learn's ``root_mean_squared_error``; its ``mean_squared_error`` is the square.

    References
    ----------
    Willmott, Matsuura (2005). Advantages of the Mean Absolute Error (MAE) over the Root Mean Square
    Error (RMSE) in Assessing Average Model Performance. Climate Research 30, 79-82.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"said": [1, 2, 3, 4], "was": [2, 3, 4, 9]})
    >>> round(df.pipe(fairness.rmse, pred="said", label="was"), 4)
    2.6458
    """
    return mean_error("squared_error").sqrt()


@_quality(("pred", "label"), bounds=(-math.inf, 1.0), ideal=1.0, better="higher")
def r2() -> pl.Expr:
    """Coefficient of determination: share of the variance of the labels that is predicted.

    It is 0 if the predictions are no better than the mean of the labels, and negative if they are
    worse. In a group, the mean is that of the group.

    Formula, with y the label, p the prediction, and m the mean of the labels::

        1 - sum of (y - p)^2 / sum of (y - m)^2

    Range -inf to 1; ideal 1; higher is better.

    Notes
    -----
    If all labels are equal, it is -inf, or undefined if all predictions are right too. This is
    scikit-learn's ``r2_score`` with ``force_finite=False``. By default, scikit-learn returns 0 in
    the first case and 1 in the second. It is not the squared correlation, which ignores the level
    and the scale of the predictions.

    References
    ----------
    Buse (1973). Goodness of Fit in Generalized Least Squares Estimation. American Statistician
    27(3), 106-108.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"said": [1.0, 2.0, 3.0, 5.0], "was": [1.0, 2.0, 3.0, 4.0]})
    >>> df.pipe(fairness.r2, pred="said", label="was")
    0.8
    """
    squares = squares_about_mean("label", KEPT_LABELLED)
    wrong = pl.when(KEPT_LABELLED > 0).then(pl.col("squared_error")).sum()
    return 1 - quotient(wrong, squares)
