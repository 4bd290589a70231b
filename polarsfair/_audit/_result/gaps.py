"""Gaps: all groups of an attribute set against each other, with limits that hold for all pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polarsfair._audit import limits
from polarsfair._audit._evidence.counted import of_all_groups
from polarsfair._audit._evidence.precision import Precision, p_value_of_many
from polarsfair._audit._result.pairs import limits_in_pairs
from polarsfair._audit.limits import Limits, pairs_of, share_of_pairs
from polarsfair._engine.group_pairs import STATISTIC, Comparison, with_statistic
from polarsfair._engine.reference import GROUP
from polarsfair._engine.slices import hidden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from polarsfair._audit._evidence.counted import Asked
    from polarsfair._audit._result.sheet import Flags, Ints, Sheet
    from polarsfair._audit.limits import Floats

_BLOCK = hidden("block")
_REFERENCE = -1
"""The number of the reference, among lines that are numbered from 0."""

_NUMBERS = (
    *("value", "ci_low", "ci_high", "ref_value", "difference", "difference_low"),
    *("difference_high", "ratio", "ratio_low", "ratio_high", "p_value"),
)


@dataclass(frozen=True)
class Gaps:
    """Numbers of every block, the lines of its two groups (-1: none), and methods."""

    blocks: int
    numbers: dict[str, Floats] = field(default_factory=dict)
    group: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    ref: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n: Floats = field(default_factory=lambda: np.empty(0))
    method: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=object))

    @classmethod
    def empty(cls, blocks: int) -> Gaps:
        """Return gaps of which nothing is known."""
        return cls(
            blocks,
            {name: np.full(blocks, np.nan) for name in _NUMBERS},
            np.full(blocks, -1, dtype=np.int64),
            np.full(blocks, -1, dtype=np.int64),
            np.zeros(blocks),
            np.full(blocks, "none", dtype=object),
        )

    def put(self, at: Ints, **numbers: Floats) -> None:
        """Set numbers of some blocks."""
        for name, value in numbers.items():
            self.numbers[name][at] = value


def usable(sheet: Sheet, *values: Precision) -> Flags:
    """Return whether a line is a known group with all values, and not small."""
    found = sheet.is_group.copy()
    for own in values:
        found &= ~np.isnan(own.value) & ~sheet.is_small(own.n)
    return found


def of_rate(sheet: Sheet, own: Precision) -> Gaps:
    """Set the lowest group against the highest, in every block."""
    found = Gaps.empty(sheet.blocks)
    for blocks, lines in sheet.side_by_side(usable(sheet, own)):
        if lines.shape[1] < 2:
            continue
        groups = own[lines]
        lowest, highest = groups.value.argmin(axis=1), groups.value.argmax(axis=1)
        every = np.arange(len(blocks))
        found.group[blocks], found.ref[blocks] = lines[every, lowest], lines[every, highest]
        low, high = groups.value[every, lowest], groups.value[every, highest]
        found.n[blocks] = groups.n.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            found.put(blocks, value=low, ref_value=high, difference=low - high, ratio=low / high)
        found.put(blocks, p_value=p_value_of_many(groups))
        at_once = _at_once(sheet, own, lines, pairs_of(lines.shape[1]))
        least, most = limits.worst_difference(at_once, _correlations(sheet, own, lines))
        found.put(blocks, difference_low=-most, difference_high=-least + 0.0)
        if own.bounds[0] >= 0:
            smallest, largest = limits.worst_ratio(at_once)
            found.put(blocks, ratio_low=smallest, ratio_high=largest)
        found.method[blocks] = np.where(np.isnan(most), "none", "pairs")
    return found


def _at_once(sheet: Sheet, own: Precision, lines: Ints, comparisons: int) -> Limits:
    """Return limits of the groups such that as many comparisons hold at once."""
    return own[lines].limits(share_of_pairs(sheet.question.confidence, comparisons))


def _correlations(sheet: Sheet, own: Precision, lines: Ints) -> Floats | None:
    """Return how much the values of all pairs of groups vary together, if rows come in units."""
    if not sheet.question.unit:
        return None
    return sheet.correlation(own, lines[..., :, None], lines[..., None, :])


def of_comparison(
    sheet: Sheet, asked: Asked, known: Mapping[str, Precision], counts: Mapping[str, Floats]
) -> Gaps:
    """Compare the groups of every block as the metric does, with the named reference if any."""
    values, metric = [known[name] for name in asked.values], asked.metric
    found = Gaps.empty(sheet.blocks)
    if of_all_groups(metric):
        return _of_all_groups(sheet, found, values[0])
    able = usable(sheet, *values)
    ref = sheet.named if sheet.question.explicit else None
    _put_values(sheet, asked, values, able, ref, found)
    how = metric.formula
    for blocks, members in sheet.side_by_side(able):
        some = ~np.isnan(found.numbers["value"][blocks])
        at, lines = blocks[some], members[some]
        if not len(at):
            continue
        each = np.max([own.n[lines] for own in values], axis=0)
        found.n[at] = (counts[asked.count][lines] if asked.count in counts else each).sum(axis=1)
        if isinstance(how, Comparison):
            if how.limits is None:
                low, high = limits_in_pairs(
                    sheet, asked, values, lines, found.group[at], found.ref[at],
                    named=ref is not None,
                )  # fmt: skip
            else:
                low, high = _limits_of(sheet, how, values, lines, found, at, named=ref is not None)
            found.put(at, ci_low=low, ci_high=high)
        elif len(values) == 1:
            found.put(at, **_of_extreme(sheet, values[0], lines, found.numbers["value"][at]))
        usual = "draws" if isinstance(how, Comparison) and how.limits is None else "pairs"
        found.method[at] = np.where(np.isnan(found.numbers["ci_low"][at]), "none", usual)
    return found


def _of_all_groups(sheet: Sheet, found: Gaps, own: Precision) -> Gaps:
    """Return what the table says of all groups of a block together: it stands in every line."""
    at = np.flatnonzero(sheet.set > 0)
    found.put(sheet.block[at], value=own.value[at])
    found.n[sheet.block[at]] = own.n[at]
    return found


def _put_values(
    sheet: Sheet,
    asked: Asked,
    values: Sequence[Precision],
    able: Flags,
    ref: Ints | None,
    found: Gaps,
) -> None:
    """Evaluate the metric's own formula over the groups, and find the group farthest from `ref`."""
    how, at = asked.metric.formula, np.flatnonzero(able)
    names = [hidden("own", i) for i in range(len(values))]
    number = at if ref is None else np.where(ref[sheet.block[at]] == at, _REFERENCE, at)
    columns = {_BLOCK: sheet.block[at], GROUP: number}
    lines = pl.LazyFrame(
        {**columns, **{n: v.value[at] for n, v in zip(names, values, strict=True)}}
    )
    to = None if ref is None else _REFERENCE
    if isinstance(how, Comparison):
        lines = with_statistic(lines, how, names, [_BLOCK], to)
        value = how(0, *names, ref=to)
    else:
        value = how(0, *names)
    result = lines.group_by(_BLOCK).agg(value.cast(pl.Float64).alias("value")).collect()
    compared = result[_BLOCK].to_numpy()
    found.put(compared, value=result["value"].fill_null(np.nan).to_numpy())
    if ref is not None and isinstance(how, Comparison):
        _put_farthest(lines, ref, found)


def _put_farthest(lines: pl.LazyFrame, ref: Ints, found: Gaps) -> None:
    """Name the group whose comparison with the reference is reported."""
    shown = lines.select(_BLOCK, GROUP, STATISTIC).drop_nulls().sort(GROUP).collect()
    block, group, statistic = (shown[name].to_numpy() for name in (_BLOCK, GROUP, STATISTIC))
    named = statistic == found.numbers["value"][block]
    found.group[block[named][::-1]] = group[named][::-1]
    some = found.group >= 0
    found.ref[some] = ref[some]


def _limits_of(
    sheet: Sheet,
    how: Comparison,
    values: Sequence[Precision],
    lines: Ints,
    found: Gaps,
    at: Ints,
    *,
    named: bool,
) -> tuple[Floats, Floats]:
    """Return the limits of a comparison that follow from those of its values."""
    nothing = np.full(len(at), np.nan)
    groups = lines.shape[1]
    if not named:
        pairs = pairs_of(groups) * len(values)
        each = [_at_once(sheet, own, lines, pairs) for own in values]
        if how.limits == "ratio":
            usual = values[0].bounds[0] >= 0
            return limits.worst_ratio(each[0]) if usual else (nothing, nothing)
        worst = [
            limits.worst_difference(one, _correlations(sheet, own, lines))
            for one, own in zip(each, values, strict=True)
        ]
        return np.max([w[0] for w in worst], axis=0), np.max([w[1] for w in worst], axis=0)
    confidence = share_of_pairs(sheet.question.confidence, (groups - 1) * len(values))
    pairs_ = [
        (own[found.group[at]].limits(confidence), own[found.ref[at]].limits(confidence))
        for own in values
    ]
    if how.limits == "ratio":
        ratio = limits.ratio(*pairs_[0])
        return ratio.low, ratio.high
    rho = [sheet.correlation(own, found.group[at], found.ref[at]) for own in values]
    differences = [limits.difference(*pair, r) for pair, r in zip(pairs_, rho, strict=True)]
    if how.limits == "difference":
        return differences[0].low, differences[0].high
    away = [_magnitude(one) for one in differences]
    return np.max([a[0] for a in away], axis=0), np.max([a[1] for a in away], axis=0)


def _magnitude(one: Limits) -> tuple[Floats, Floats]:
    """Return the limits of the magnitude of differences."""
    inside = (one.low <= 0) & (one.high >= 0)
    sides = np.abs(one.low), np.abs(one.high)
    return np.where(inside, 0.0, np.minimum(*sides)), np.maximum(*sides)


def _of_extreme(sheet: Sheet, own: Precision, lines: Ints, value: Floats) -> dict[str, Floats]:
    """Return the limits of the smallest or largest value, from those of all groups at once."""
    each = _at_once(sheet, own, lines, lines.shape[1])
    lowest = (value == own.value[lines].min(axis=1)) & (value != own.value[lines].max(axis=1))
    low = np.where(lowest, each.low.min(axis=1), each.low.max(axis=1))
    high = np.where(lowest, each.high.min(axis=1), each.high.max(axis=1))
    return {"ci_low": low, "ci_high": high}
