"""Digits of features: what floats hold far from zero, and where squares overflow or vanish.

A mean is kept as the sum of two floats, because the mean of values around 10^12 needs more digits
than one float has. A spread is computed from what is left of the values without their leading
digits, in the same pass over the rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.slices import hidden, over

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MEAN = "mean_"
"""Begins the columns that hold the means of features in a table."""

LOW = "low_"
"""Begins the columns that hold what a mean has beyond the digits of one float."""

TINY = 2.0**-1022
"""Stands for a positive sum of squares that is too small for a float."""

VANISHED: float = 1e-280
"""Sums of squares below this have lost digits, or are `TINY`."""

COARSE = hidden("coarse")
"""Whether a slice is so far from zero that rounding may have made different values equal."""

_ROUNDING = 1e-15
"""Relative differences up to this size are rounding errors in features that were computed."""

_GRIDS = (32, 33)
"""Digits that a value loses when it is rounded to one of two grids.

The cells of each grid end in the middle of those of the other. Values within half a cell of each
other are therefore in one cell of at least one grid.
"""

_EVERY_WHOLE = 2.0**53
"""Floats below this hold every whole number."""

_LARGEST = 400
"""Values are scaled below 2 to this power: their squares then neither overflow nor vanish."""


def means_of(columns: Sequence[str]) -> list[str]:
    """Name the columns of a table that hold means."""
    return [name for name in columns if name.startswith(MEAN)]


def low_of(mean: str) -> str:
    """Name the column with the low digits of a mean."""
    return LOW + mean.removeprefix(MEAN)


def two_floats(first: pl.Expr, second: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the sum of two numbers as a float and the error of its rounding, which is exact."""
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def _rounded(value: pl.Expr, digits: int) -> pl.Expr:
    """Return `value` without its last binary digits (Veltkamp's splitting)."""
    wide = value * (2.0**digits + 1)
    return wide - (wide - value)


def _named(what: str, name: str, grid: int | None = None) -> str:
    return hidden(what, name) if grid is None else hidden(what, grid, name)


def feature_sums(name: str, column: str) -> dict[str, pl.Expr]:
    """Return what one pass over the rows collects of a feature."""
    value = pl.col(column)
    sums = {_named("smallest", name): value.min(), _named("largest", name): value.max()}
    sums |= {MEAN + name: value.mean(), _named("variance", name): value.var(ddof=0)}
    for grid in _GRIDS:
        rest = value - _rounded(value, grid)
        sums |= {_named("mean", name, grid): rest.mean()}
        sums |= {_named("variance", name, grid): rest.var(ddof=0)}
    return sums


def varies(name: str, *, computed: bool) -> pl.Expr:
    """Return whether a feature has different values; if it was computed, beyond rounding."""
    if computed:
        return pl.col(_named("variance", name)) > (_ROUNDING * pl.col(MEAN + name)) ** 2
    return pl.col(_named("smallest", name)) < pl.col(_named("largest", name))


def close_together(name: str) -> pl.Expr:
    """Return whether the squares of the differences of a feature vanish."""
    return pl.col(_named("largest", name)) - pl.col(_named("smallest", name)) < math.sqrt(VANISHED)


def mean_and_low(name: str, *, computed: bool) -> tuple[pl.Expr, pl.Expr]:
    """Return the two floats of a mean, exact if all values are equal: distances are then 0."""
    mean, smallest = pl.col(MEAN + name), pl.col(_named("smallest", name))
    start, rest = mean, pl.lit(0.0)
    for grid in _GRIDS:
        same = _in_one_cell(name, grid)
        start = pl.when(same).then(_rounded(smallest, grid)).otherwise(start)
        rest = pl.when(same).then(pl.col(_named("mean", name, grid))).otherwise(rest)
    # A mean that is not finite stays: it is the error of a feature that is not.
    plain = varies(name, computed=computed) | ~mean.is_finite()
    start = pl.when(plain).then(pl.when(mean.is_finite()).then(start).otherwise(mean))
    return two_floats(start.otherwise(smallest), pl.when(plain).then(rest).otherwise(0.0))


def variance(name: str, *, computed: bool) -> pl.Expr:
    """Return the variance of a feature: positive if its values differ, NaN if it overflows."""
    value = pl.col(_named("variance", name))
    for grid in _GRIDS:
        rest = pl.col(_named("variance", name, grid))
        value = pl.when(_in_one_cell(name, grid)).then(rest).otherwise(value)
    found = pl.when(value.is_finite()).then(pl.max_horizontal(value, TINY)).otherwise(float("nan"))
    return pl.when(varies(name, computed=computed)).then(found).otherwise(0.0)


def _in_one_cell(name: str, grid: int) -> pl.Expr:
    smallest, largest = (pl.col(_named(which, name)) for which in ("smallest", "largest"))
    return _rounded(smallest, grid) == _rounded(largest, grid)


def centred(mean: str, near: pl.Expr, columns: Sequence[str]) -> pl.Expr:
    """Return a mean minus a float close to it; old tables have no low digits."""
    gap = pl.col(mean) - near
    return gap + pl.col(low_of(mean)) if low_of(mean) in columns else gap


def square(gap: pl.Expr) -> pl.Expr:
    """Return a square that is positive unless the number is 0."""
    return pl.when(gap != 0).then(pl.max_horizontal(gap * gap, TINY)).otherwise(gap * gap)


def coarse(means: Sequence[str], width: pl.Expr, keys: Sequence[str]) -> pl.Expr:
    """Return whether equal values of a slice may be different ones that were rounded.

    They may if the range is below a thousand neighbouring floats; or below a million, if these
    floats do not hold every whole number.
    """
    if not means:
        return pl.lit(value=False).alias(COARSE)
    size = pl.max_horizontal(pl.col(name).abs().max() for name in means)
    apart = pl.max_horizontal(
        *(pl.col(name).max() - pl.col(name).min() for name in means), width.fill_nan(None).max()
    )
    few = (apart > 0) & (apart < size * 2.0**-42)
    wide = (size >= _EVERY_WHOLE) & (apart < size * 2.0**-32)
    return over((few | wide).fill_null(value=False), keys).alias(COARSE)


def coarse_values(values: NDArray[np.float64]) -> bool:
    """Return the same for an array of rows."""
    size, apart = abs(values).max(initial=0.0), (values.max(axis=0) - values.min(axis=0)).max()
    few = 0 < apart < size * 2.0**-42
    return bool(few or (size >= _EVERY_WHOLE and apart < size * 2.0**-32))


def scaled(*arrays: NDArray[np.float64]) -> tuple[list[NDArray[np.float64]], int]:
    """Return arrays times a power of two, so that no square over- or underflows, and the power."""
    import numpy as np

    finite = [np.where(np.isfinite(values), abs(values), 0.0) for values in arrays]
    largest = max(float(values.max(initial=0.0)) for values in finite)
    if largest == 0:
        return list(arrays), 0
    power = _LARGEST - int(np.frexp(largest)[1])
    return [np.ldexp(values, power) for values in arrays], power


def restored(values: NDArray[np.float64], power: int) -> NDArray[np.float64]:
    """Return sums in the unit of the rows; NaN if they overflow, or vanish."""
    import numpy as np

    with np.errstate(over="ignore", under="ignore"):
        back = np.ldexp(values, -power)
    return np.where(np.isfinite(back) & ((back != 0) == (values != 0)), back, np.nan)
