"""The area between the ROC curves of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.compare import compare
from polarsfair._engine.group_pairs import MOST_PAIRS, PAIR, SIDE, pair_sides
from polarsfair._engine.metric import OfGroups, define
from polarsfair._engine.slices import every_slice, running
from polarsfair.fairness._scores.quality import auc_error, label_weights, ranks, scores
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["abroca", "abroca_error"]

_POS, _NEG = pl.col("pos"), pl.col("neg")
_LINE = ("x", "y", "slope")


def _roc_pairs(table: pl.LazyFrame, keys: Sequence[str], *, ref: Any = None) -> pl.LazyFrame:
    """View one line per pair of groups: the area between their ROC curves."""
    pair, bins = [*keys, *PAIR], ["low", "high"]
    sides = pair_sides(label_weights(table), keys, ref, bins, ["pos", "neg"], most=MOST_PAIRS // 2)
    curves = ranks(sides, [*pair, SIDE])
    segments = _segments(curves, [*pair, SIDE])
    lines = _between(segments, pair)
    return every_slice(table, lines, keys)


def _segments(curves: pl.LazyFrame, side: Sequence[str]) -> pl.LazyFrame:
    """Return the ROC curves as straight pieces from left to right, without the vertical ones."""
    positives, negatives = (pl.col(name).sum().over(list(side)) for name in ("pos", "neg"))
    pieces = curves.with_columns(positives=positives, negatives=negatives).filter(_NEG > 0)
    slope = (_POS / pl.col("positives")) / (_NEG / pl.col("negatives"))
    return pieces.select(
        *side,
        x=pl.col("neg_above") / pl.col("negatives"),
        y=pl.col("pos_above") / pl.col("positives"),
        slope=slope,
        sound=pl.col("positives") > 0,
    )


def _between(segments: pl.LazyFrame, pair: Sequence[str]) -> pl.LazyFrame:
    """Integrate the distance of two curves over the false positive rate, piece by piece."""
    sides = [
        pl.when(pl.col(SIDE) == side).then(pl.col(name)).alias(f"{name}_{side}")
        for side in (0, 1)
        for name in (*_LINE, "sound")
    ]
    filled = [f"{name}_{side}" for side in (0, 1) for name in _LINE]
    lines = segments.with_columns(sides).with_columns(
        running(pl.col(filled).forward_fill(), pair, "x"),
        end=running(pl.col("x").shift(-1), pair, "x").fill_null(1.0),
    )
    at_start, at_end = (_height(pl.col(x)) for x in ("x", "end"))
    lines = lines.with_columns(start_gap=at_start, end_gap=at_end)
    first, second = pl.col("start_gap").abs(), pl.col("end_gap").abs()
    crossing = pl.col("start_gap") * pl.col("end_gap") < 0
    # The mean height over a piece; if the curves cross there, that of its two triangles.
    height = pl.when(crossing).then((first**2 + second**2) / (first + second))
    width = pl.col("end") - pl.col("x")
    area = (height.otherwise(first + second) / 2 * width).fill_nan(None).sum()
    own, other = pl.col("sound_0").any(), pl.col("sound_1").any()
    return lines.group_by(pair).agg(area=pl.when(own & other).then(area.clip(0.0, 1.0)))


def _height(x: pl.Expr) -> pl.Expr:
    own, other = (
        pl.col(f"y_{side}") + pl.col(f"slope_{side}") * (x - pl.col(f"x_{side}")) for side in (0, 1)
    )
    return own - other


_labelled = (pl.col("w") > 0) & pl.col("low").is_not_null()
_groups_with_curves = OfGroups(
    needs=((_labelled & pl.col("label")).sum(), (_labelled & ~pl.col("label")).sum())
)
"""A group without positives or without negatives has no ROC curve."""


@define(
    scores,
    "quality",
    ("group", "score", "label"),
    of=FairnessMetric,
    view=_roc_pairs,
    ideal=0.0,
    bounds=(0.0, 1.0),
    better="lower",
    n=_groups_with_curves,
)
def abroca() -> pl.Expr:
    """Area between the ROC curves of two groups.

    Two groups may have the same AUC although their curves differ at every threshold. The area
    between the curves shows this.

    Formula, with TPR as a function of the FPR::

        integral from 0 to 1 of |TPR(group) - TPR(other)| d FPR

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups). With
        it, the largest area between a group and the reference; without it, between any two groups.
    bins
        As in `scores`. ``bins=None`` is exact; `abroca_error` bounds the error of the bins.

    Notes
    -----
    The curves are joined by straight lines and integrated exactly, crossings included. HolisticAI's
    function of this name is the signed difference of the AUC: ``difference(auc)``.

    References
    ----------
    Gardner, Brooks, Baker (2019). Evaluating the Fairness of Predictive Student Models Through
    Slicing Analysis. LAK 2019, 225-234.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {
    ...         "sex": ["F", "F", "M", "M", "M"],
    ...         "p": [0.2, 0.9, 0.6, 0.4, 0.8],
    ...         "y": [0, 1, 0, 1, 1],
    ...     }
    ... )
    >>> df.pipe(fairness.abroca, group="sex", score="p", label="y")
    0.5
    """
    return pl.col("area").max()


@compare(
    auc_error,
    over_pairs=lambda error: error.top_k(2).sum(),
    ideal=0.0,
    bounds=(0.0, 1.0),
    better="lower",
    kind="quality",
)
def abroca_error(own: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Bound on the error of the area between two ROC curves from bins.

    A curve can change by at most the area `auc_error`. The area between two curves therefore
    changes by at most the sum of both.

    Formula: ``auc_error(group) + auc_error(other)``, the largest of all pairs, or compared with
    ``ref``.

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    ref
        As in `abroca`.
    bins
        As in `scores`. With ``bins=None`` it is 0.

    Notes
    -----
    The largest bound of any pair also bounds the largest area.

    References
    ----------
    Gardner, Brooks, Baker (2019). Evaluating the Fairness of Predictive Student Models Through
    Slicing Analysis. LAK 2019, 225-234.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {
    ...         "sex": ["F", "F", "M", "M", "M"],
    ...         "p": [0.2, 0.9, 0.6, 0.4, 0.8],
    ...         "y": [0, 1, 0, 1, 1],
    ...     }
    ... )
    >>> df.pipe(fairness.abroca_error, group="sex", score="p", label="y", bins=2)
    0.25
    """
    return own + other
