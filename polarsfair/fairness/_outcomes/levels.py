"""Comparisons of real-valued outcomes between groups at every level of the predictions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.group_pairs import PAIR, SIDE, few_pairs, pair_sides
from polarsfair._engine.metric import define
from polarsfair._engine.slices import every_slice, joined
from polarsfair._formula import quotient
from polarsfair.fairness._outcomes.moments import outcome_bins, thresholds
from polarsfair.fairness._scores.bins import without_overlap
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["max_statistical_parity", "no_disparate_impact_level", "statistical_parity_auc"]

_OWN, _OTHER = pl.col("own"), pl.col("other")
_SHARE = quotient(pl.col("kept"), pl.col("size"))


MOST_LEVELS = 100_000
"""Levels that a call may ask for; each is a line of every group."""


def _levels(count: object) -> list[float]:
    """Return evenly spaced levels from 1 down to 0, in NumPy's arithmetic."""
    if not isinstance(count, int | float) or not 2 <= count <= MOST_LEVELS or count % 1:
        msg = (
            f"`levels` is a number of levels of at least 2, at most {MOST_LEVELS:,}; got {count!r}"
        )
        raise ValueError(msg)
    count = int(count)
    step = -1.0 / (count - 1)
    return [*(1.0 + i * step for i in range(count - 1)), 0.0]


def _shares(
    table: pl.LazyFrame, keys: Sequence[str], count: int, ref: Any
) -> tuple[pl.LazyFrame, list[str]]:
    """Return, per pair of groups and level, the shares at or above the level's quantile."""
    cells = ["level", "at"]
    reached, pair = _at_every_level(table, keys, count), [*keys, *PAIR, *cells]
    sides = pair_sides(reached, keys, ref, cells, ["kept", "size"])
    own, other = (_SHARE.filter(pl.col(SIDE) == side).first() for side in (0, 1))
    return sides.group_by(pair).agg(own=own, other=other), [*keys, *PAIR]


def _extremes(table: pl.LazyFrame, keys: Sequence[str], count: int) -> pl.LazyFrame:
    """Return, per level, the smallest and the largest share of any group, if there are several."""
    lines = _at_every_level(table, keys, count).group_by(*keys, "level", "at")
    found = lines.agg(smallest=_SHARE.min(), largest=_SHARE.max(), groups=pl.len())
    return found.filter(pl.col("groups") > 1)


def _at_every_level(table: pl.LazyFrame, keys: Sequence[str], count: int) -> pl.LazyFrame:
    """Return, per group and level, the weight at or above the quantile, and the whole."""
    size = pl.when("predicted").then(pl.col("w")).otherwise(0).cast(pl.Float64)
    table = without_overlap(table, "w").with_columns(size=size).cache()
    cuts = thresholds(table, keys, _levels(count)).select(*keys, "level", "at")
    known = table.filter(pl.col("predicted") & pl.col("group").is_not_null())
    known = few_pairs(known, keys, pl.lit(count), "at levels")
    return _reached(known, cuts, keys)


def _reached(known: pl.LazyFrame, cuts: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return, per group and level, the weight at or above the quantile, and the whole."""
    group = [*keys, "group"]
    sizes = known.group_by(group).agg(pl.col("size").sum().alias("whole"))
    # A group without weight has no share, and is not compared.
    sizes = sizes.filter(pl.col("whole") > 0)
    marks = joined(sizes, cuts, keys).select(*group, "level", "at", "whole", is_cut=pl.lit(1))
    values = known.select(*group, at="low", size="size", is_cut=pl.lit(0))
    stacked = pl.concat([marks, values], how="diagonal").sort(
        ["at", "is_cut"], descending=[True, False]
    )
    kept = pl.col("size").fill_null(0.0).cum_sum().over(group)
    lines = stacked.with_columns(kept=kept).filter(pl.col("is_cut") == 1)
    return lines.select(*group, "level", "at", "kept", size="whole")


def _level_gaps(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    ref: Any = None,
    levels: int = 150,
) -> pl.LazyFrame:
    """View one line per pair of groups: mean and maximum of the differences of their shares."""
    shares, pair = _shares(table, keys, levels, ref)
    gap = (_OWN - _OTHER).abs()
    lines = shares.group_by(pair).agg(mean=gap.mean(), largest=gap.max())
    return every_slice(table, lines, keys)


def _level_spreads(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    ref: Any = None,
    levels: int = 150,
) -> pl.LazyFrame:
    """View the largest difference of shares: of every pair of groups, or of any two per level."""
    if ref is not None:
        return _level_gaps(table, keys, ref=ref, levels=levels)
    apart = pl.col("largest") - pl.col("smallest")
    return every_slice(table, _extremes(table, keys, levels).with_columns(largest=apart), keys)


def _level_ratios(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    ref: Any = None,
    levels: int = 100,
) -> pl.LazyFrame:
    """View one line per level: its quantile, and whether the groups' shares are close there."""
    if ref is None:
        smallest, largest = pl.col("smallest"), pl.col("largest")
        close = (smallest > 0) & (smallest / largest > 0.8)
        return every_slice(table, _extremes(table, keys, levels).with_columns(close=close), keys)
    shares, _ = _shares(table, keys, levels, ref)
    ratio = _OWN / _OTHER
    close = ((ratio > 0.8) & (ratio < 1.2) & (_OTHER > 0)).all()
    lines = shares.group_by(*keys, "level", "at").agg(close=close)
    return every_slice(table, lines, keys)


_at_levels = functools.partial(
    define, outcome_bins, "outcome", ("group", "pred"), of=FairnessMetric
)


@_at_levels(view=_level_ratios)
def no_disparate_impact_level() -> pl.Expr:
    """Highest threshold that groups reach about equally often.

    The threshold starts at the highest prediction and is lowered until the shares of all groups at
    or above it satisfy the four-fifths rule. Selecting at this threshold has no disparate impact.

    Formula, over quantiles t of all predictions of the slice from the highest to the lowest::

        first t with 0.8 < share(>= t in the group) / share(>= t in ref) < 1.2, for every group

    Range -inf to inf; a description, no ideal.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``. Without it, smallest share / largest share > 0.8.
    levels
        The number of quantiles, evenly spaced from 1 to 0.
    bins
        As in `quantile_disparate_impact`; the value is then the lower edge of a bin.

    Notes
    -----
    HolisticAI's function of this name. The smallest prediction always qualifies, so that the value
    is defined if there are two groups, or one with ``ref=pf.OVERALL``.

    References
    ----------
    Feldman, Friedler, Moeller, Scheidegger, Venkatasubramanian (2015). Certifying and Removing
    Disparate Impact. KDD 2015, 259-268.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 3, 3, 4]})
    >>> df.pipe(fairness.no_disparate_impact_level, group="sex", pred="pay", ref="M")
    1.0
    """
    return pl.col("at").filter("close").max()


@_at_levels(view=_level_gaps, ideal=0.0, bounds=(0.0, 1.0), better="lower")
def statistical_parity_auc() -> pl.Expr:
    """Mean difference of the shares at or above every level of the predictions.

    Formula, over evenly spaced quantiles t of all predictions of the slice::

        mean of |share(>= t in the group) - share(>= t in ref)|

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: the largest of any group compared with it. Without
        it, the largest of any two groups.
    levels
        The number of quantiles, evenly spaced from 1 to 0.
    bins
        As in `quantile_disparate_impact`.

    Notes
    -----
    HolisticAI's function of this name: a sum over 150 levels divided by 150, not a trapezoid.

    References
    ----------
    Agarwal, Dudík, Wu (2019). Fair Regression: Quantitative Definitions and Reduction-Based
    Algorithms. ICML 2019, PMLR 97, 120-129.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 2, 3, 4]})
    >>> df.pipe(fairness.statistical_parity_auc, group="sex", pred="pay", levels=4)
    0.5
    """
    return pl.col("mean").max()


@_at_levels(view=_level_spreads, ideal=0.0, bounds=(0.0, 1.0), better="lower")
def max_statistical_parity() -> pl.Expr:
    """Largest difference of the shares at or above any level of the predictions.

    Formula, over evenly spaced quantiles t of all predictions of the slice::

        max of |share(>= t in the group) - share(>= t in ref)|

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: the largest of any group compared with it. Without
        it, the largest of any two groups.
    levels
        The number of quantiles, evenly spaced from 1 to 0.
    bins
        As in `quantile_disparate_impact`.

    Notes
    -----
    HolisticAI's function of this name. With more and more levels it approaches the two-sample
    Kolmogorov-Smirnov statistic.

    References
    ----------
    Smirnov (1948). Table for Estimating the Goodness of Fit of Empirical Distributions. Annals of
    Mathematical Statistics 19(2), 279-281.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "pay": [1, 2, 3, 4]})
    >>> df.pipe(fairness.max_statistical_parity, group="sex", pred="pay")
    1.0
    """
    return pl.col("largest").max()
