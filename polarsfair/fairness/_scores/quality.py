"""Scores: the tally of binned scores, and the quality of rankings and probabilities."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.faults import Fault, binary_fault, checked, raise_faults
from polarsfair._engine.metric import define
from polarsfair._engine.rows import WEIGHTED_SUMS, Rows, binary, number
from polarsfair._engine.slices import hidden, running, summed
from polarsfair._engine.tally import Drawn, Tally
from polarsfair._formula import clean, quotient
from polarsfair.fairness._scores.bins import (
    BIN,
    Bins,
    bin_edges,
    bin_faults,
    bin_number,
    check_bins,
    equal_bin_of_low,
    range_of,
    without_overlap,
)
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = [
    "auc",
    "auc_error",
    "average_precision",
    "average_precision_error",
    "brier",
    "expected_calibration_error",
    "gini",
    "ks",
    "ks_error",
    "log_loss",
    "scores",
]

_EPSILON = 2.0**-52
"""The smallest probability in the logarithm, as in scikit-learn."""

_LOG = hidden("log")
"""The sum of the logarithms of these probabilities."""

_LABEL, _SCORE, _W = pl.col("label"), pl.col("score"), pl.col("w")
_LOW, _HIGH = pl.col("low"), pl.col("high")


# --- the tally ----------------------------------------------------------------------------------


def _count_scores(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    score: IntoColumn | None = None,
    label: IntoColumn | None = None,
    weight: IntoColumn | None = None,
    bins: Bins = 1000,
) -> pl.LazyFrame:
    """Count scores per group, label and bin.

    The keys of the table are the slices, ``group`` and ``label`` (Boolean; only the roles that were
    given), and the bin ``low`` <= score < ``high``, null if the score is unknown. Its sums are
    ``n`` rows, with ``weight`` also ``w`` and ``w2``. Weighted sums are ``s`` of the scores, ``s2``
    of their squares and, with ``label``, ``log_loss``. Tables of the same bins can be merged.

    Parameters
    ----------
    bins
        A number of equal bins over 0 to 1; increasing edges; or None: every distinct score is a
        bin, and every value is exact. The last edge is a bin by itself, ``low`` = ``high``, so that
        a decision ``score >= edge`` is exact at every edge.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.2, 0.7], "y": [0, 0, 1]})
    >>> fairness.scores(df, score="p", label="y", bins=2).sort("low").drop("log_loss")
    shape: (2, 6)
    ┌───────┬─────┬──────┬─────┬─────┬──────┐
    │ label ┆ low ┆ high ┆ n   ┆ s   ┆ s2   │
    │ ---   ┆ --- ┆ ---  ┆ --- ┆ --- ┆ ---  │
    │ bool  ┆ f64 ┆ f64  ┆ i64 ┆ f64 ┆ f64  │
    ╞═══════╪═════╪══════╪═════╪═════╪══════╡
    │ false ┆ 0.0 ┆ 0.5  ┆ 2   ┆ 0.3 ┆ 0.05 │
    │ true  ┆ 0.5 ┆ 1.0  ┆ 1   ┆ 0.7 ┆ 0.49 │
    └───────┴─────┴──────┴─────┴─────┴──────┘
    """
    if score is None:
        msg = '`fairness.scores` needs the role `score`: add `score="<column>"`'
        raise TypeError(msg)
    check_bins(bins)
    rows = Rows.of(frame, by, group=group, weight=weight, score=number(score), label=binary(label))
    table = _binned_sums(rows, bins).with_columns(**bin_edges(bins))
    cells, sums, faults = ["low", "high"], [*rows.sums, "s", "s2"], bin_faults(bins, "score")
    if label is not None:
        known = _LABEL.is_not_null() & _LOW.is_not_null()
        table = table.with_columns(log_loss=pl.when(known).then(-pl.col(_LOG)).otherwise(0.0))
        cells, sums = ["label", *cells], [*sums, "log_loss"]
        faults.append(binary_fault(rows.columns["label"]))
    table = raise_faults(table, [*faults, *rows.faults()], sums)
    if label is not None:
        table = table.with_columns(_LABEL.cast(pl.Boolean))
    return rows.table(table, cells, sums)


def _binned_sums(rows: Rows, bins: Bins) -> pl.LazyFrame:
    """Sum per bin. If every distinct score is a bin, its sums follow from the counts."""
    labelled = "label" in rows.columns
    keys, sums = [*rows.keys, *["label"] * labelled, BIN], [*rows.sums, *rows.bad]
    numbered = bin_number(_SCORE, bins, rows.columns["score"].dtype).alias(BIN)
    lines, weight = rows.frame.with_columns(numbered), pl.col("w" if rows.weighted else "n")
    if bins is None:
        parts = _sums_of(pl.col(BIN), bins, labelled=labelled)
        return summed(lines, keys, sums).with_columns(
            pl.when(weight > 0).then(weight * part).otherwise(0.0).fill_null(0.0).alias(name)
            for name, part in parts.items()
        )
    parts = _sums_of(_SCORE, bins, labelled=labelled)
    if rows.weighted:
        parts = {name: weight * part for name, part in parts.items()}
    return summed(lines.with_columns(**parts), keys, [*sums, *parts])


def _sums_of(score: pl.Expr, bins: Bins, *, labelled: bool) -> dict[str, pl.Expr]:
    """Return the values of a score that are summed."""
    logs = {_LOG: _log_probability(score, bins)} if labelled else {}
    return {"s": score, "s2": score * score, **logs}


def _log_probability(score: pl.Expr, bins: Bins) -> pl.Expr:
    """Return ln(max(p, epsilon)) of the probability p that the score assigns to the label."""
    # The small table is checked for labels other than 0 and 1; here any other counts as 1.
    p = pl.when(_LABEL.cast(pl.Boolean)).then(score).otherwise(1 - score)
    # A maximum is quicker than a condition. For an unknown score it is epsilon, which is not
    # counted: such rows have a bin of their own.
    log = pl.max_horizontal(p, pl.lit(_EPSILON)).log()
    covered = range_of(bins)
    if covered is not None and covered[0] >= 0 and covered[1] <= 1:
        return log
    return pl.when(~score.is_between(0, 1)).then(math.nan).otherwise(log)


scores = Tally(
    name="fairness.scores",
    count=_count_scores,
    cells=("group", "label", "low", "high"),
    sums={**WEIGHTED_SUMS, **{name: pl.col(name).sum() for name in ("s", "s2", "log_loss")}},
    defaults={"w": pl.col("n"), "w2": pl.col("n"), "log_loss": pl.lit(None, pl.Float64)},
    single=("bins",),
    known={"score": _LOW.is_not_null() & _HIGH.is_not_null()},
    drawn=Drawn(),
)


# --- rankings -----------------------------------------------------------------------------------


def ranked(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per bin: positives and negatives in it, and in all higher bins."""
    return ranks(label_weights(table), keys)


def label_weights(table: pl.LazyFrame) -> pl.LazyFrame:
    """Add every line's weight as positive and as negative, 0 if score or label is unknown."""
    scored = _LOW.is_not_null()
    sides = {"pos": scored & _LABEL, "neg": scored & ~_LABEL}
    weights = {side: pl.when(known).then(_W) for side, known in sides.items()}
    # Squared weights tell how much an area varies.
    weights |= {f"{side}2": pl.when(known).then(pl.col("w2")) for side, known in sides.items()}
    return without_overlap(table, "w").with_columns(
        **{name: weight.otherwise(0).cast(pl.Float64) for name, weight in weights.items()}
    )


def ranks(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Sum positives and negatives per bin, and over all bins above it."""
    squares = [name for name in ("pos2", "neg2") if name in lines.collect_schema()]
    summed = lines.group_by(*keys, "low", "high").agg(pl.col("pos", "neg", *squares).sum())
    totals = running(pl.col("pos", "neg").cum_sum(), keys, "low", descending=True)
    return summed.with_columns(totals.name.suffix("_down")).with_columns(
        pos_above=pl.col("pos_down") - pl.col("pos"),
        neg_above=pl.col("neg_down") - pl.col("neg"),
        wide=(_LOW < _HIGH).fill_null(value=False),
    )


_POS, _NEG, _WIDE = pl.col("pos"), pl.col("neg"), pl.col("wide")
_POS_ABOVE, _NEG_ABOVE = pl.col("pos_above"), pl.col("neg_above")
_POS_DOWN, _NEG_DOWN = pl.col("pos_down"), pl.col("neg_down")

_ranking = functools.partial(
    define, scores, "quality", ("score", "label"), of=FairnessMetric, view=ranked, bounds=(0.0, 1.0)
)
_quality = functools.partial(_ranking, ideal=1.0, better="higher")
_error_bound = functools.partial(_ranking, ideal=0.0, better="lower")


def _auc() -> pl.Expr:
    won = _NEG * (_POS_ABOVE + _POS / 2)
    return quotient(won.sum(), _POS.sum() * _NEG.sum())


def _area(formula: Callable[[], pl.Expr]) -> FairnessMetric:
    """Make a metric of the area under the curve, which knows how much it varies."""
    return _quality()(_Area(formula))


class _Area:
    """The area under the curve, and its variance by DeLong, DeLong and Clarke-Pearson (1988).

    A positive is placed by the share of the negatives below it, a negative by the share of the
    positives above it. The area is the mean of either, and varies as these means do.
    """

    facts = ("variance", "units")
    method = "delong"

    def __init__(self, formula: Callable[[], pl.Expr]) -> None:
        self.formula = formula
        self.__name__, self.__module__ = formula.__name__, formula.__module__
        self.__doc__ = formula.__doc__

    def __call__(self) -> pl.Expr:
        """Return the area."""
        return self.formula()

    def spread(self) -> dict[str, pl.Expr]:
        """Return the variance of the area, and the size of the smaller label."""
        positives, negatives = _POS.sum(), _NEG.sum()
        below = 1 - (_NEG_ABOVE + _NEG / 2) / negatives
        above = (_POS_ABOVE + _POS / 2) / positives
        parts = [
            _variance_of_mean(below, pl.col("pos2"), positives),
            _variance_of_mean(above, pl.col("neg2"), negatives),
        ]
        sizes = [_size(_POS, pl.col("pos2")), _size(_NEG, pl.col("neg2"))]
        return {"variance": clean(parts[0] + parts[1]), "units": pl.min_horizontal(sizes)}


def _size(weight: pl.Expr, square: pl.Expr) -> pl.Expr:
    """Return how many rows of equal weight tell as much; the number of rows without weights."""
    return weight.sum() * weight.sum() / square.sum()


def _variance_of_mean(value: pl.Expr, square: pl.Expr, total: pl.Expr) -> pl.Expr:
    """Return the variance of the mean of the values, weighted, about the area."""
    size = total * total / square.sum()
    away = value - _auc()
    return (square * away * away).sum() / (total * total) * size / (size - 1)


@_area
def auc() -> pl.Expr:
    """Probability that a positive has a higher score than a negative: the area under the ROC curve.

    Equal scores count half.

    Formula::

        [pairs (positive, negative) ranked correctly + half the tied pairs] / all pairs

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    bins
        As in `scores`. Scores in one bin count as tied; ``bins=None`` is exact, and `auc_error`
        bounds the error of the bins.

    Notes
    -----
    With ``bins=None`` it equals scikit-learn's ``roc_auc_score``. With one class it is undefined,
    never 0.5. Between groups: ``difference(auc)``, which HolisticAI calls ``abroca``.

    References
    ----------
    Hanley, McNeil (1982). The Meaning and Use of the Area under a Receiver Operating Characteristic
    (ROC) Curve. Radiology 143(1), 29-36.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})
    >>> df.pipe(fairness.auc, score="p", label="y")
    0.75
    """
    return _auc()


@_error_bound()
def auc_error() -> pl.Expr:
    """Bound on the error of the AUC from bins.

    The AUC of the scores themselves is within this distance of `auc`. A positive and a negative in
    the same bin may be ranked either way; each such pair counts half.

    Formula::

        pairs (positive, negative) in one bin / (2 * all pairs)

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    bins
        As in `scores`. With ``bins=None`` it is 0.

    Notes
    -----
    The bound of `gini` is twice this one.

    References
    ----------
    Hanley, McNeil (1982). The Meaning and Use of the Area under a Receiver Operating Characteristic
    (ROC) Curve. Radiology 143(1), 29-36.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})
    >>> df.pipe(fairness.auc_error, score="p", label="y", bins=2)
    0.25
    """
    tied = pl.when(_WIDE).then(_POS * _NEG).otherwise(0.0)
    return quotient(tied.sum() / 2, _POS.sum() * _NEG.sum())


@_ranking(bounds=(-1.0, 1.0), ideal=1.0, better="higher")
def gini() -> pl.Expr:
    """Gini coefficient of a score, also called accuracy ratio or Somers' D.

    Formula: ``2 AUC - 1``.

    Range -1 to 1; ideal 1; higher is better.

    Parameters
    ----------
    bins
        As in `scores`; its bound is twice `auc_error`.

    Notes
    -----
    A random score has 0. With one class it is undefined.

    References
    ----------
    Somers (1962). A New Asymmetric Measure of Association for Ordinal Variables. American
    Sociological Review 27(6), 799-811.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})
    >>> df.pipe(fairness.gini, score="p", label="y")
    0.5
    """
    return 2 * _auc() - 1


def _precision() -> pl.Expr:
    return _POS_DOWN / (_POS_DOWN + _NEG_DOWN)


def _among_positives(value: pl.Expr) -> pl.Expr:
    """Average over the positives; a bin without positives does not count."""
    return quotient(pl.when(_POS > 0).then(_POS * value).otherwise(0.0).sum(), _POS.sum())


@_quality()
def average_precision() -> pl.Expr:
    """Mean over the positives of the precision at their score.

    Formula, with t the distinct scores (or bins) from the highest down::

        sum over t of (recall(t) - recall(t before)) * precision(t)

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    bins
        As in `scores`. ``bins=None`` is exact; `average_precision_error` bounds the error of the
        bins.

    Notes
    -----
    With ``bins=None`` it equals scikit-learn's ``average_precision_score``: no interpolation.
    Without positives it is undefined; scikit-learn warns and returns 0. A random score reaches the
    base rate, so that groups with different base rates are hard to compare.

    References
    ----------
    Davis, Goadrich (2006). The Relationship between Precision-Recall and ROC Curves. ICML 2006,
    233-240.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})
    >>> round(df.pipe(fairness.average_precision, score="p", label="y"), 4)
    0.8333
    """
    return _among_positives(_precision())


@_error_bound()
def average_precision_error() -> pl.Expr:
    """Bound on the error of the average precision from bins.

    In a bin, all positives may be above the negatives, or all below them. The bound is the larger
    of the two changes, each summed over the bins.

    Formula, with TP and FP above the bin, p and q in it, and B = FP + q::

        highest   p (TP + p) / (TP + p + FP)
        lowest    p - B ln((TP + p + B) / (TP + B))

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    bins
        As in `scores`. With ``bins=None`` it is 0.

    Notes
    -----
    The lowest value is the integral of the precision as positives are added one after the other. No
    order and no weights with the same sums have a lower one.

    References
    ----------
    Davis, Goadrich (2006). The Relationship between Precision-Recall and ROC Curves. ICML 2006,
    233-240.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})
    >>> df.pipe(fairness.average_precision_error, score="p", label="y", bins=2)
    0.25
    """
    negatives = _NEG_DOWN
    highest = _POS_DOWN / (_POS_DOWN + _NEG_ABOVE)
    added = ((_POS_DOWN + negatives) / (_POS_ABOVE + negatives)).log(math.e)
    lowest = pl.when(negatives > 0).then(1 - negatives / _POS * added).otherwise(1.0)
    middle = _precision()
    changes = [highest - middle, middle - lowest]
    sums = [_among_positives(pl.when(_WIDE).then(change).otherwise(0.0)) for change in changes]
    return pl.max_horizontal(sums).clip(0.0)


def _gap_of_labels() -> pl.Expr:
    return (_POS_DOWN / _POS.sum() - _NEG_DOWN / _NEG.sum()).abs()


def _both_labels(value: pl.Expr) -> pl.Expr:
    return pl.when((_POS.sum() > 0) & (_NEG.sum() > 0)).then(clean(value))


@_quality()
def ks() -> pl.Expr:
    """Largest gap between the score distributions of positives and negatives.

    The two-sample Kolmogorov-Smirnov statistic: the largest magnitude of TPR - FPR at any
    threshold.

    Formula::

        max over t of |TPR(score >= t) - FPR(score >= t)|

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    bins
        As in `scores`. With bins, t goes over their edges and the value can only be too small, by
        at most `ks_error`; ``bins=None`` is exact.

    Notes
    -----
    Equals scipy's ``ks_2samp(positives, negatives).statistic``. With one class it is undefined.

    References
    ----------
    Smirnov (1948). Table for Estimating the Goodness of Fit of Empirical Distributions. Annals of
    Mathematical Statistics 19(2), 279-281.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})
    >>> df.pipe(fairness.ks, score="p", label="y")
    0.5
    """
    return _both_labels(_gap_of_labels().max())


@_error_bound()
def ks_error() -> pl.Expr:
    """Bound on the error of the Kolmogorov-Smirnov statistic from bins.

    Inside a bin, the gap may first count all positives, or all negatives. The bound is the largest
    gap that is possible this way, minus the largest gap at the edges.

    Formula, with TPR and FPR those at the upper edge of a bin and TPR', FPR' at its lower::

        max over bins of max(|TPR' - FPR|, |TPR - FPR'|) - ks, at least 0

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    bins
        As in `scores`. With ``bins=None`` it is 0.

    Notes
    -----
    The statistic of the scores themselves lies between `ks` and `ks` plus this bound.

    References
    ----------
    Smirnov (1948). Table for Estimating the Goodness of Fit of Empirical Distributions. Annals of
    Mathematical Statistics 19(2), 279-281.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})
    >>> df.pipe(fairness.ks_error, score="p", label="y", bins=2)
    0.5
    """
    positives, negatives = _POS.sum(), _NEG.sum()
    up = (_POS_DOWN / positives - _NEG_ABOVE / negatives).abs()
    down = (_POS_ABOVE / positives - _NEG_DOWN / negatives).abs()
    inside = pl.when(_WIDE).then(pl.max_horizontal(up, down)).max()
    return _both_labels((inside - _gap_of_labels().max()).clip(0.0).fill_null(0.0))


# --- probabilities ------------------------------------------------------------------------------


def _probabilities(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View the lines with a known score and label; raise if a score is not a probability."""
    del keys
    known = _LABEL.is_not_null() & _LOW.is_not_null()
    message = (
        "`score` holds a value outside 0 to 1, and this metric needs a probability: calibrate the"
        " score first, or use `auc`, which takes any score"
    )
    outside = Fault((known & pl.col("log_loss").is_nan()).fill_null(value=False), message)
    return without_overlap(table, "w").with_columns(
        size=checked(pl.when(known).then(_W).otherwise(0), outside),
        total=pl.when(known).then("s").otherwise(0.0),
        positives=pl.when(known & _LABEL).then(_W).otherwise(0),
        squares=pl.when(known).then(
            pl.col("s2") + pl.when(_LABEL).then(_W - 2 * pl.col("s")).otherwise(0.0)
        ),
        losses=pl.when(known).then("log_loss"),
    )


def calibrated(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    calibration_bins: object = 10,
) -> pl.LazyFrame:
    """View one line per calibration bin: its weight, its scores and its positives."""
    if not isinstance(calibration_bins, int) or calibration_bins < 1:
        msg = f"`calibration_bins` is a number of bins over 0 to 1, got {calibration_bins!r}"
        raise ValueError(msg)
    lines = _probabilities(table, keys)
    number = equal_bin_of_low(calibration_bins, "calibration_bins").alias("calibration_bin")
    return lines.group_by(*keys, number).agg(pl.col("size", "total", "positives", "n").sum())


_of_probabilities = functools.partial(
    define, scores, "quality", ("score", "label"), of=FairnessMetric, ideal=0.0, better="lower"
)


@_of_probabilities(view=_probabilities, bounds=(0.0, 1.0))
def brier() -> pl.Expr:
    """Mean squared difference between the score, a probability, and the label.

    Formula::

        mean of (score - label)^2

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    bins
        As in `scores`; the value is exact for any bins.

    Notes
    -----
    Equals scikit-learn's ``brier_score_loss``. Scores outside 0 to 1 are an error.

    References
    ----------
    Brier (1950). Verification of Forecasts Expressed in Terms of Probability. Monthly Weather
    Review 78(1), 1-3.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.0, 0.5, 0.5, 1.0], "y": [0, 0, 1, 1]})
    >>> df.pipe(fairness.brier, score="p", label="y")
    0.125
    """
    return quotient(pl.col("squares").sum(), pl.col("size").sum()).clip(0.0, 1.0)


@_of_probabilities(view=_probabilities, bounds=(0.0, math.inf))
def log_loss() -> pl.Expr:
    """Mean negative logarithm of the probability that the score assigns to the label.

    Also called cross-entropy; in natural units.

    Formula::

        mean of -ln(score if the label is positive, otherwise 1 - score)

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    bins
        As in `scores`; the value is exact for any bins.

    Notes
    -----
    Equals scikit-learn's ``log_loss``. Probabilities are at least 2**-52, as there, so that a
    certain but wrong score adds 36 and not infinity. Scores outside 0 to 1 are an error.

    References
    ----------
    Good (1952). Rational Decisions. Journal of the Royal Statistical Society B 14(1), 107-114.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.5, 0.5], "y": [0, 1]})
    >>> round(df.pipe(fairness.log_loss, score="p", label="y"), 4)
    0.6931
    """
    return quotient(pl.col("losses").sum(), pl.col("size").sum()).clip(0.0)


@_of_probabilities(view=calibrated, bounds=(0.0, 1.0))
def expected_calibration_error() -> pl.Expr:
    """Mean distance between the mean score and the share of positives, over bins of the score.

    Formula, over ``calibration_bins`` equal bins of the score from 0 to 1::

        sum of (rows in the bin / all rows) * |mean score - share of positives|

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    bins
        As in `scores`. Every edge of the calibration bins must be an edge of these bins; the value
        is then exact.
    calibration_bins
        The number of equal bins in which score and label are compared.

    Notes
    -----
    A bin holds its lower edge; 1 belongs to the last. Errors of both signs within a bin cancel out,
    so that the value grows with the number of bins. `calibration` shows the bins.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015). Obtaining Well Calibrated Probabilities Using Bayesian
    Binning. AAAI 2015, 2901-2907.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.25, 0.25, 0.75, 0.75], "y": [0, 0, 1, 1]})
    >>> df.pipe(fairness.expected_calibration_error, score="p", label="y")
    0.25
    """
    apart = (pl.col("total") - pl.col("positives")).abs()
    return quotient(apart.sum(), pl.col("size").sum())
