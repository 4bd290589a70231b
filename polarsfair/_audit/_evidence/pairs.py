"""Comparisons whose limits do not follow from those of their values: pair, and spread of its draws.

The statistic of two groups varies as its replicates do. Every line has a list with the standard
error of its group against each line of its block, in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polarsfair._audit._evidence.counted import of_all_groups
from polarsfair._engine.group_pairs import Comparison
from polarsfair._engine.slices import hidden
from polarsfair._formula import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._audit._evidence.counted import Asked
    from polarsfair._audit.limits import Floats

MOST = 200_000_000
"""Pairs times draws up to which a statistic is evaluated."""

_AT_ONCE = 5_000_000
"""Pairs times draws that are evaluated at a time."""


def errors_of(asked: Asked) -> str:
    """Name the column of the standard errors of a comparison's pairs."""
    return hidden("errors of pairs", asked.place)


def in_pairs(asked: Sequence[Asked]) -> list[Asked]:
    """List the comparisons whose limits need draws of every pair."""
    return [
        one
        for one in asked
        if isinstance(one.metric.formula, Comparison)
        and one.metric.formula.limits is None
        and one.metric.formula.magnitude is pl.Expr.abs
        and not of_all_groups(one.metric)
    ]


def statistic_of(how: Comparison, own: Sequence[Floats], other: Sequence[Floats]) -> Floats:
    """Return the signed statistic of arrays of values, which are broadcast."""
    shape = np.broadcast_shapes(*(one.shape for one in (*own, *other)))
    flat = {
        hidden(side, i): np.broadcast_to(one, shape).reshape(-1)
        for side, values in (("own", own), ("other", other))
        for i, one in enumerate(values)
    }
    lines = pl.DataFrame(flat).fill_nan(None)
    value = lines.select(clean(how.pair(*map(pl.col, flat))))[:, 0]
    return value.fill_null(np.nan).to_numpy().reshape(shape)


def pair_errors(asked: Asked, values: Sequence[Floats]) -> list[list[float | None]]:
    """Return, for every line of a block, the standard errors of it against each line.

    `values` have a row per line and a column per draw.
    """
    how, (many, draws) = asked.metric.formula, values[0].shape
    assert isinstance(how, Comparison)
    if not draws or many * many * draws > MOST:
        return [[None] * many for _ in range(many)]
    step = max(1, _AT_ONCE // (many * draws))
    found = []
    for start in range(0, many, step):
        own = [one[start : start + step, None, :] for one in values]
        statistic = statistic_of(how, own, [one[None, :, :] for one in values])
        finite = np.where(np.isfinite(statistic), statistic, np.nan)
        known = np.maximum((~np.isnan(finite)).sum(axis=-1), 1)
        mean = np.nansum(finite, axis=-1) / known
        square = np.nansum((finite - mean[..., None]) ** 2, axis=-1) / np.maximum(known - 1, 1)
        found.append(np.where(known > 1, np.sqrt(square), np.nan))
    errors: list[list[float | None]] = np.concatenate(found).tolist()
    return errors
