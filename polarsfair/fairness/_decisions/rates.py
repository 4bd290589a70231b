"""Binary decisions: the tally and the rates, each a plain formula over counts."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.metric import Metric, define
from polarsfair._engine.rows import WEIGHTED_SUMS, binary, count_cells
from polarsfair._engine.tally import Drawn, Tally
from polarsfair._formula import Share, quotient
from polarsfair.fairness._classes.distances import classes
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = [
    "accuracy",
    "balanced_accuracy",
    "base_rate",
    "decisions",
    "f1",
    "false_discovery_rate",
    "false_negative_rate",
    "false_omission_rate",
    "false_positive_rate",
    "negative_predictive_value",
    "precision",
    "selection_rate",
    "true_negative_rate",
    "true_positive_rate",
]


def _count_decisions(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    pred: IntoColumn | None = None,
    label: IntoColumn | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count decisions per group, prediction and label.

    The table has the slices, ``group``, ``pred`` and ``label`` (Boolean, null if unknown; only the
    roles that were given), and ``n`` rows. With ``weight`` it also has ``w``, the sum of the
    weights, and ``w2``, the sum of their squares. Tables can be merged: stack them and use
    `measure`.

    If groups are known only as probabilities, ``group={"F": "p_f", "M": "p_m"}`` maps each group to
    its column. A row then adds its probability (times its weight) to ``w`` of every group, and
    ``n`` counts the rows that may belong to the group. Every metric is then estimated from expected
    counts. In every row the probabilities must add up to 1, within 1e-6.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", "M"], "hired": [0, 1, 1], "fit": [1, 1, 0]})
    >>> fairness.decisions(df, group="sex", pred="hired", label="fit").sort("group", "label")
    shape: (3, 4)
    ┌───────┬───────┬───────┬─────┐
    │ group ┆ pred  ┆ label ┆ n   │
    │ ---   ┆ ---   ┆ ---   ┆ --- │
    │ str   ┆ bool  ┆ bool  ┆ i64 │
    ╞═══════╪═══════╪═══════╪═════╡
    │ F     ┆ false ┆ true  ┆ 1   │
    │ M     ┆ true  ┆ false ┆ 1   │
    │ M     ┆ true  ┆ true  ┆ 1   │
    └───────┴───────┴───────┴─────┘
    """
    cells = {"pred": binary(pred), "label": binary(label)}
    return count_cells(rows, by, group=group, cells=cells, weight=weight)


decisions = Tally(
    name="fairness.decisions",
    count=_count_decisions,
    cells=("group", "pred", "label"),
    sums=WEIGHTED_SUMS,
    contains=(classes,),
    drawn=Drawn({"pred": (False, True), "label": (False, True)}),
)

_PRED, _LABEL = pl.col("pred"), pl.col("label")
COUNTS = {
    "tp": _PRED & _LABEL,
    "fp": _PRED & ~_LABEL,
    "fn": ~_PRED & _LABEL,
    "tn": ~_PRED & ~_LABEL,
    "selected": _PRED,
    "rejected": ~_PRED,
    "positive": _LABEL,
    "negative": ~_LABEL,
}
"""The counts, as conditions on a cell; a null cell meets no condition, which is the null rule."""

tp, fp, fn, tn, selected, rejected, positive, negative = (pl.col(name).sum() for name in COUNTS)


def counts(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View each cell's weight in the columns of the counts that it belongs to."""
    del keys
    return table.with_columns(
        pl.when(condition).then(pl.col("w")).otherwise(0).alias(name)
        for name, condition in COUNTS.items()
    )


def rows_of(*names: str) -> Callable[[], pl.Expr]:
    """Return what a rate is a rate of: the number of rows in these counts, without weights."""

    def number_of_rows() -> pl.Expr:
        return pl.col("n").filter(pl.any_horizontal(COUNTS[name] for name in names)).sum()

    return number_of_rows


def check_boolean(metric: Metric, schema: pl.Schema) -> None:
    """Raise for a stored table whose predictions or labels are not Boolean."""
    for cell in metric.cells_read:
        if cell != "group" and schema[cell] not in (pl.Boolean, pl.Null):
            msg = (
                f"{cell!r} of a table of `{decisions.name}` is Boolean; here it is {schema[cell]}:"
                f' make it so, `table.with_columns({cell}=pl.col("{cell}") == ...)`'
            )
            raise TypeError(msg)


rate = functools.partial(
    define,
    decisions,
    "quality",
    of=FairnessMetric,
    view=counts,
    bounds=(0.0, 1.0),
    check=check_boolean,
)
"""Decorates the formula of a rate between 0 and 1."""


def share(
    roles: Sequence[str], **facts: Any
) -> Callable[[Callable[[], tuple[pl.Expr, pl.Expr]]], FairnessMetric]:
    """Decorate the parts of a share: the weight of the rows that count, and that of all of them."""
    return lambda parts: rate(roles, **facts)(Share(parts))


_BOTH = ("pred", "label")
decided, labelled = rows_of("selected", "rejected"), rows_of("positive", "negative")
both_known = rows_of("tp", "fp", "fn", "tn")
_positives, _negatives = rows_of("tp", "fn"), rows_of("fp", "tn")
_selected, _rejected = rows_of("tp", "fp"), rows_of("tn", "fn")


@share(("pred",), n=decided)
def selection_rate() -> tuple[pl.Expr, pl.Expr]:
    """Share of rows that are selected.

    How often the decision is favourable, for any label.

    Formula: ``SR = selected / (selected + rejected)``.

    Range 0 to 1; a description, no ideal.

    Notes
    -----
    A row without a prediction is in neither count. Jurity and Fairlearn count it as rejected; to
    match them, write ``pred=pl.col("hired").fill_null(0)``. Also known as positive rate or
    acceptance rate; HolisticAI's ``success_rate`` (whose page prints the formula of precision), and
    the ``pprev`` of Aequitas, not its ``ppr``, which is the group's share of all selected rows.

    References
    ----------
    Corbett-Davies, Pierson, Feller, Goel, Huq (2017). Algorithmic Decision Making and the Cost of
    Fairness. KDD 2017.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> df.pipe(fairness.selection_rate, pred="hired")
    0.75
    >>> df.pipe(fairness.selection_rate, pred="hired", by="sex")
    shape: (2, 2)
    ┌─────┬────────────────┐
    │ sex ┆ selection_rate │
    │ --- ┆ ---            │
    │ str ┆ f64            │
    ╞═════╪════════════════╡
    │ F   ┆ 0.5            │
    │ M   ┆ 1.0            │
    └─────┴────────────────┘
    """
    return selected, selected + rejected


@share(("label",), n=labelled)
def base_rate() -> tuple[pl.Expr, pl.Expr]:
    """Share of rows whose label is positive.

    How often the label is positive, for any decision. If groups differ in it, most other fairness
    metrics cannot all be ideal at once.

    Formula: ``p = positive / (positive + negative)``.

    Range 0 to 1; a description, no ideal.

    Notes
    -----
    The same as AIF360's ``base_rate`` and the ``prev`` (prevalence) of Aequitas. A row without a
    label is in neither count.

    References
    ----------
    Chouldechova (2017). Fair Prediction with Disparate Impact: A Study of Bias in Recidivism
    Prediction Instruments. Big Data 5(2), 153-163.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"fit": [1, 0, 1, 0, 0]})
    >>> df.pipe(fairness.base_rate, label="fit")
    0.4
    """
    return positive, positive + negative


@share(_BOTH, ideal=1.0, better="higher", n=_positives)
def true_positive_rate() -> tuple[pl.Expr, pl.Expr]:
    """Share of the positives that are selected.

    Also called recall, sensitivity or hit rate.

    Formula: ``TPR = TP / (TP + FN)``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    Without a positive it is undefined, as in Jurity, Aequitas and AIF360's classes. Fairlearn,
    HolisticAI and scikit-learn return 0; the first two also return 0 for the false negative rate.
    Jurity's page calls this rate, one value per group, equal opportunity: use ``by``, or `by_group`
    to add the differences.

    References
    ----------
    Fawcett (2006). An Introduction to ROC Analysis. Pattern Recognition Letters 27(8), 861-874.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> df.pipe(fairness.true_positive_rate, pred="hired", label="fit")
    0.5
    """
    return tp, tp + fn


@share(_BOTH, ideal=0.0, better="lower", n=_negatives)
def false_positive_rate() -> tuple[pl.Expr, pl.Expr]:
    """Share of the negatives that are selected.

    Also called fall-out or false alarm rate.

    Formula: ``FPR = FP / (FP + TN)``.

    Range 0 to 1; ideal 0; lower is better.

    Notes
    -----
    Without a negative it is undefined, as in Jurity, Aequitas and AIF360's classes; Fairlearn and
    HolisticAI return 0.

    References
    ----------
    Fawcett (2006). An Introduction to ROC Analysis. Pattern Recognition Letters 27(8), 861-874.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> round(df.pipe(fairness.false_positive_rate, pred="hired", label="fit"), 3)
    0.333
    """
    return fp, fp + tn


@share(_BOTH, ideal=1.0, better="higher", n=_negatives)
def true_negative_rate() -> tuple[pl.Expr, pl.Expr]:
    """Share of the negatives that are rejected.

    Also called specificity; one minus the false positive rate.

    Formula: ``TNR = TN / (FP + TN)``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    Without a negative it is undefined, as in Jurity, Aequitas and AIF360's classes. Fairlearn and
    HolisticAI return 0; HolisticAI returns 1 if all labels and predictions are positive.

    References
    ----------
    Fawcett (2006). An Introduction to ROC Analysis. Pattern Recognition Letters 27(8), 861-874.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> round(df.pipe(fairness.true_negative_rate, pred="hired", label="fit"), 3)
    0.667
    """
    return tn, fp + tn


@share(_BOTH, ideal=0.0, better="lower", n=_positives)
def false_negative_rate() -> tuple[pl.Expr, pl.Expr]:
    """Share of the positives that are rejected.

    Also called miss rate; one minus the true positive rate.

    Formula: ``FNR = FN / (TP + FN)``.

    Range 0 to 1; ideal 0; lower is better.

    Notes
    -----
    Without a positive it is undefined, as in Jurity, Aequitas and AIF360's classes; Fairlearn and
    HolisticAI return 0.

    References
    ----------
    Fawcett (2006). An Introduction to ROC Analysis. Pattern Recognition Letters 27(8), 861-874.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> df.pipe(fairness.false_negative_rate, pred="hired", label="fit")
    0.5
    """
    return fn, tp + fn


@share(_BOTH, ideal=1.0, better="higher", n=_selected)
def precision() -> tuple[pl.Expr, pl.Expr]:
    """Share of the selected that are positive.

    Also called positive predictive value.

    Formula: ``PPV = TP / (TP + FP)``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    Undefined if no row is selected. Jurity, AIF360 and scikit-learn then return 0. With several
    classes see `precision_by_class`.

    References
    ----------
    Fawcett (2006). An Introduction to ROC Analysis. Pattern Recognition Letters 27(8), 861-874.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> df.pipe(fairness.precision, pred="hired", label="fit")
    0.5
    """
    return tp, tp + fp


@share(_BOTH, ideal=1.0, better="higher", n=_rejected)
def negative_predictive_value() -> tuple[pl.Expr, pl.Expr]:
    """Share of the rejected that are negative.

    Formula: ``NPV = TN / (TN + FN)``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    Undefined if no row is rejected; Jurity and AIF360 then return 0.

    References
    ----------
    Altman, Bland (1994). Diagnostic Tests 2: Predictive Values. BMJ 309, 102.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> round(df.pipe(fairness.negative_predictive_value, pred="hired", label="fit"), 3)
    0.667
    """
    return tn, tn + fn


@share(_BOTH, ideal=0.0, better="lower", n=_selected)
def false_discovery_rate() -> tuple[pl.Expr, pl.Expr]:
    """Share of the selected that are negative.

    One minus the precision. Not the rate of the same name in multiple testing, which is the
    expected value of such a share.

    Formula: ``FDR = FP / (TP + FP)``.

    Range 0 to 1; ideal 0; lower is better.

    Notes
    -----
    Undefined if no row is selected; Jurity and AIF360 then return 0, so that their false discovery
    rate and precision are both 0.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi (2017). Fairness Beyond Disparate Treatment & Disparate
    Impact: Learning Classification without Disparate Mistreatment. WWW 2017.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> df.pipe(fairness.false_discovery_rate, pred="hired", label="fit")
    0.5
    """
    return fp, tp + fp


@share(_BOTH, ideal=0.0, better="lower", n=_rejected)
def false_omission_rate() -> tuple[pl.Expr, pl.Expr]:
    """Share of the rejected that are positive.

    One minus the negative predictive value.

    Formula: ``FOR = FN / (TN + FN)``.

    Range 0 to 1; ideal 0; lower is better.

    Notes
    -----
    Undefined if no row is rejected; Jurity and AIF360 then return 0. Jurity's page divides by the
    negative labels instead, FN / (FP + TN); `for_difference` shows how to get that.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi (2017). Fairness Beyond Disparate Treatment & Disparate
    Impact: Learning Classification without Disparate Mistreatment. WWW 2017.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> round(df.pipe(fairness.false_omission_rate, pred="hired", label="fit"), 3)
    0.333
    """
    return fn, tn + fn


@share(_BOTH, ideal=1.0, better="higher", n=both_known)
def accuracy() -> tuple[pl.Expr, pl.Expr]:
    """Share of rows whose decision equals the label.

    Formula: ``ACC = (TP + TN) / (TP + FP + FN + TN)``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    The error rate of AIF360 and others is one minus this. HolisticAI's ``accuracy_matrix`` is a
    different metric, the Jaccard index TP / (TP + FP + FN).

    References
    ----------
    Fawcett (2006). An Introduction to ROC Analysis. Pattern Recognition Letters 27(8), 861-874.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> df.pipe(fairness.accuracy, pred="hired", label="fit")
    0.6
    """
    return tp + tn, tp + fp + fn + tn


@rate(_BOTH, ideal=1.0, better="higher", n=both_known)
def balanced_accuracy() -> pl.Expr:
    """Mean of the true positive and the true negative rate.

    The accuracy that a sample with as many positives as negatives would have.

    Formula: ``(TPR + TNR) / 2``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    Undefined unless there are positives and negatives. scikit-learn leaves out the missing class
    and returns the other rate.

    References
    ----------
    Brodersen, Ong, Stephan, Buhmann (2010). The Balanced Accuracy and Its Posterior Distribution.
    ICPR 2010, 3121-3124.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> round(df.pipe(fairness.balanced_accuracy, pred="hired", label="fit"), 3)
    0.583
    """
    return (quotient(tp, tp + fn) + quotient(tn, fp + tn)) / 2


@rate(_BOTH, ideal=1.0, better="higher", n=rows_of("tp", "fp", "fn"))
def f1() -> pl.Expr:
    """Harmonic mean of precision and the true positive rate.

    Formula: ``F1 = 2 TP / (2 TP + FP + FN)``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    Undefined if no row is positive and no row is selected; scikit-learn and Jurity then return 0.
    It is 0, not undefined, if only one of the two is missing.

    References
    ----------
    van Rijsbergen (1979). Information Retrieval, 2nd edition. Butterworths.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [1, 1, 0, 0, 0], "fit": [1, 0, 1, 0, 0]})
    >>> df.pipe(fairness.f1, pred="hired", label="fit")
    0.5
    """
    return quotient(2 * tp, 2 * tp + fp + fn)
