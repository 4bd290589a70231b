"""Quality of predictions among several classes, as one number for all classes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.metric import define
from polarsfair._engine.slices import every_slice, summed
from polarsfair._formula import quotient
from polarsfair.fairness._classes.distances import classes
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._engine.metric import Metric

__all__ = ["macro_f1", "macro_recall", "multiclass_accuracy"]

_PRED, _LABEL, _W = pl.col("pred"), pl.col("label"), pl.col("w")
_RIGHT, _PREDICTED, _TRUE = pl.col("right"), pl.col("predicted"), pl.col("true")


def _each_class(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per class: the rows predicted as it, those truly of it, and those of both.

    Classes are those of the slice, or of the group if `keys` names it. A class without weight has
    no rows.
    """
    known = table.filter(_PRED.is_not_null() & _LABEL.is_not_null())
    right, none = pl.when(_PRED == _LABEL).then(_W).otherwise(0), pl.lit(0)
    as_predicted = {"predicted": _W, "true": none, "right": right}
    as_true = {"predicted": none, "true": _W, "right": none}
    lines = pl.concat(
        [
            known.select(*keys, _PRED.alias("class"), **as_predicted),
            known.select(*keys, _LABEL.alias("class"), **as_true),
        ],
        how="vertical_relaxed",
    )
    return every_slice(table, summed(lines, [*keys, "class"], as_true), keys)


def _check_one_class(metric: Metric, schema: pl.Schema) -> None:
    if "rows" in schema:
        msg = (
            f"`{metric.name}` expects one class per row, but `pred` is a list:"
            " use `precision_by_class` or `recall_by_class`"
        )
        raise TypeError(msg)


_quality = functools.partial(
    define,
    classes,
    "quality",
    ("pred", "label"),
    of=FairnessMetric,
    bounds=(0.0, 1.0),
    ideal=1.0,
    better="higher",
    check=_check_one_class,
)


@_quality()
def multiclass_accuracy() -> pl.Expr:
    """Share of rows whose predicted class is the true one.

    `accuracy` for any number of classes. A class counts by its number of rows: see `macro_recall`,
    in which all classes count the same.

    Formula: ``rows whose prediction equals the label / rows with both``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    scikit-learn's ``accuracy_score``.

    References
    ----------
    Sokolova, Lapalme (2009). A Systematic Analysis of Performance Measures for Classification
    Tasks. Information Processing & Management 45(4), 427-437.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"said": ["a", "a", "b", "c"], "was": ["a", "b", "b", "c"]})
    >>> df.pipe(fairness.multiclass_accuracy, pred="said", label="was")
    0.75
    """
    known = _PRED.is_not_null() & _LABEL.is_not_null()
    return quotient(_W.filter(_PRED == _LABEL).sum(), _W.filter(known).sum())


@_quality(view=_each_class)
def macro_f1() -> pl.Expr:
    """Mean over classes of the F1 of each class, compared with all others.

    Classes are those that are predicted or true in some row; of a group, in some row of the group.
    Rare classes count as much as common ones.

    Formula, over classes c::

        mean of 2 * rows predicted as c and truly c / (rows predicted as c + rows truly c)

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    scikit-learn's ``f1_score`` with ``average="macro"``. A class that is true but never predicted,
    or predicted but never true, has an F1 of 0. Not the harmonic mean of `macro_recall` and the
    mean precision, which others call macro F1.

    References
    ----------
    Sokolova, Lapalme (2009). A Systematic Analysis of Performance Measures for Classification
    Tasks. Information Processing & Management 45(4), 427-437.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"said": ["a", "a", "b", "c"], "was": ["a", "b", "b", "c"]})
    >>> round(df.pipe(fairness.macro_f1, pred="said", label="was"), 4)
    0.7778
    """
    return quotient(2 * _RIGHT, _PREDICTED + _TRUE).mean()


@_quality(view=_each_class)
def macro_recall() -> pl.Expr:
    """Mean over the true classes of the recall of each.

    `balanced_accuracy` for any number of classes: the accuracy that a sample with as many rows of
    each class would have. Classes are those that are true in some row; of a group, in some row of
    the group.

    Formula, over classes c that are true in some row::

        mean of rows predicted as c and truly c / rows truly c

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    scikit-learn's ``balanced_accuracy_score``. Its ``recall_score`` with ``average="macro"`` also
    counts, with 0, the classes that are predicted but never true.

    References
    ----------
    Brodersen, Ong, Stephan, Buhmann (2010). The Balanced Accuracy and Its Posterior Distribution.
    ICPR 2010, 3121-3124.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"said": ["a", "a", "b", "c"], "was": ["a", "b", "b", "b"]})
    >>> round(df.pipe(fairness.macro_recall, pred="said", label="was"), 4)
    0.6667
    """
    return quotient(_RIGHT, _TRUE).mean()
