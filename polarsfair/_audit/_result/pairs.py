"""Limits of comparisons from the statistics of their pairs, and how much these vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polarsfair._audit import limits
from polarsfair._audit._evidence.pairs import errors_of, statistic_of
from polarsfair._audit.limits import pairs_of, share_of_pairs
from polarsfair._engine.group_pairs import Comparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._audit._evidence.counted import Asked
    from polarsfair._audit._evidence.precision import Precision
    from polarsfair._audit._result.sheet import Ints, Sheet
    from polarsfair._audit.limits import Floats


def limits_in_pairs(
    sheet: Sheet,
    asked: Asked,
    values: Sequence[Precision],
    lines: Ints,
    group: Ints,
    ref: Ints,
    *,
    named: bool,
) -> tuple[Floats, Floats]:
    """Return limits of a comparison from the statistics of all pairs, or of the named ones."""
    how, nothing = asked.metric.formula, np.full(len(lines), np.nan)
    if errors_of(asked) not in sheet.lines.columns or not isinstance(how, Comparison):
        return nothing, nothing
    many, (low, high) = lines.shape[1], asked.metric.bounds
    pairs = many - 1 if named else pairs_of(many)
    z = float(limits.quantile(share_of_pairs(sheet.question.confidence, pairs)))
    if named:
        own, other = ([one.value[at] for one in values] for at in (group, ref))
        middle = statistic_of(how, own, other)
        error = np.array(
            [_errors(sheet, asked, g[None])[0, r] for g, r in zip(group, ref, strict=True)]
        )
        return np.maximum(middle - z * error, low), np.minimum(middle + z * error, high)
    found = []
    for block in lines:
        own = [one.value[block][:, None] for one in values]
        middle = statistic_of(how, own, [one.T for one in own])
        error = _errors(sheet, asked, block)[:, block]
        off = ~np.eye(many, dtype=bool)
        found.append([np.max((middle - z * error)[off]), np.max((middle + z * error)[off])])
    least, most = np.array(found).T
    return np.maximum(least, max(0.0, low)), np.minimum(most, high)


def _errors(sheet: Sheet, asked: Asked, at: Ints) -> Floats:
    """Return the standard errors of some lines of one block against all lines of the sheet."""
    block = sheet.block[at[0]]
    within = np.flatnonzero(sheet.block == block)
    found = np.full((len(at), sheet.lines.height), np.nan)
    lists = sheet.lines[errors_of(asked)].gather(at)
    known = lists.list.len().fill_null(0).to_numpy() == len(within)
    if known.all():
        found[:, within] = lists.explode().fill_null(np.nan).to_numpy().reshape(len(at), -1)
    return found
