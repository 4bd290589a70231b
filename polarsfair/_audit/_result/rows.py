"""The rows of an audit, from the wide lines: one function over arrays, for all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polarsfair._audit import limits
from polarsfair._audit._evidence.chosen import BEST
from polarsfair._audit._evidence.precision import Precision, p_value_of, precision_of
from polarsfair._audit._evidence.wide import of_everyone, of_rest
from polarsfair._audit._result import gaps
from polarsfair._audit._result.sheet import Sheet, named_members
from polarsfair._audit._result.shrinkage import shrunken
from polarsfair._audit.p_values import adjusted
from polarsfair._engine.reference import Everyone
from polarsfair._engine.slices import hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polarsfair._audit._evidence.counted import Asked, Part
    from polarsfair._audit._result.sheet import Flags, Ints
    from polarsfair._audit.limits import Floats, Limits

SCOPES = pl.Enum(["overall", "group", "gap"])
STATUSES = pl.Enum(["ok", "small", "undefined", "unknown_group"])

NUMBERS = (
    *("numerator", "denominator", "value", "ci_low", "ci_high", "ref_value"),
    *("difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high"),
    *("p_value", "p_adjusted"),
)

PLACE, POSITION = hidden("place"), hidden("position")
"""The metric's place in the call, and the row's place in the section."""

_DIFFERENCE = ("difference", "difference_low", "difference_high")
_RATIO = ("ratio", "ratio_low", "ratio_high")


def columns_of_result(*, shrink: bool) -> dict[str, Any]:
    """Return the columns of an audit after the slices, without keys, and their dtypes."""
    return {
        "metric": pl.String,
        "attribute": pl.String,
        "scope": SCOPES,
        "group": pl.String,
        "ref": pl.String,
        "n": pl.Int64,
        **dict.fromkeys(NUMBERS, pl.Float64),
        **({"shrunk": pl.Float64} if shrink else {}),
        "method": pl.String,
        "status": STATUSES,
    }


def rows_of(sheet: Sheet, part: Part) -> pl.DataFrame:
    """Return the rows of all metrics of a part, unsorted."""
    values = {metric.name: metric for metric in part.values}
    confidence, unit = sheet.question.confidence, sheet.question.unit
    known = {
        name: precision_of(sheet.numbers, one, confidence, unit=unit)
        for name, one in values.items()
    }
    counts = {name: sheet.numbers[name] for name in part.counts}
    frames = []
    for asked in part.asked:
        if asked.compares:
            frames.append(_gap_frame(sheet, asked, gaps.of_comparison(sheet, asked, known, counts)))
            continue
        own, metric = known[asked.values[0]], values[asked.values[0]]
        rest = precision_of(sheet.numbers, metric, confidence, of_rest, unit=unit)
        frames.append(
            _group_frame(sheet, asked, Judged(sheet, own, rest, of_everyone(metric.name)))
        )
        frames.append(_gap_frame(sheet, asked, gaps.of_rate(sheet, own)))
    return pl.concat(frames)


@dataclass(frozen=True)
class Judged:
    """The values of one rate on all lines, and what they are compared with."""

    sheet: Sheet
    own: Precision
    rest: Precision
    everyone: str

    @property
    def status(self) -> Any:
        """What can be said of every line."""
        sheet, own = self.sheet, self.own
        unknown = ~sheet.is_group & (sheet.set > 0)
        kinds = [unknown, np.isnan(own.value), sheet.is_small(own.n)]
        return np.select(kinds, ["unknown_group", "undefined", "small"], "ok").astype(object)

    @property
    def usable(self) -> Flags:
        """Whether a line is a group that can be a reference or part of a gap."""
        return gaps.usable(self.sheet, self.own)


def _group_frame(sheet: Sheet, asked: Asked, judged: Judged) -> pl.DataFrame:
    """Return the rows of everyone and of every group."""
    own, question = judged.own, sheet.question
    ref = sheet.reference(own.value, judged.usable)[sheet.block]
    ci, status = own.limits(question.confidence), judged.status
    numbers = {
        "numerator": own.numerator,
        "denominator": own.denominator,
        "value": own.value,
        "ci_low": ci.low,
        "ci_high": ci.high,
        **_beside_reference(judged, ref),
    }
    family = np.where((status == "ok") & sheet.is_group, sheet.section, -1)
    numbers["p_adjusted"] = _adjusted(numbers["p_value"], family, question.adjust)
    if question.shrink:
        numbers["shrunk"] = _shrunken(sheet, own)
    at = np.arange(len(ref), dtype=np.int64)
    words = {
        "group": sheet.text(np.where(sheet.is_group, at, -1)),
        "ref": _reference_text(sheet, ref),
        "method": pl.Series(np.where(np.isnan(ci.low), "none", own.method), dtype=pl.String),
        "status": pl.Series(status, dtype=pl.String),
        "scope": pl.Series(np.where(sheet.set > 0, "group", "overall"), dtype=pl.String),
    }
    return _frame(sheet, asked, at, sheet.set, at + 1, own.n, numbers, words)


def _beside_reference(judged: Judged, ref: Ints) -> dict[str, Floats]:
    """Compare every group with its reference: a line, the rest or everyone."""
    question = judged.sheet.question
    confidence = _confidences(judged) if question.ref is BEST else question.confidence
    if isinstance(question.ref, Everyone):
        return _beside_everyone(judged, confidence)
    return _beside_group(judged, ref, confidence)


def _reference_text(sheet: Sheet, ref: Ints) -> pl.Series:
    """Return the reference of every group as text."""
    if not isinstance(sheet.question.ref, Everyone):
        return sheet.text(np.where(sheet.is_group, ref, -1))
    places = pl.Series(np.where(sheet.is_group, 0, -1)).replace(-1, None)
    return pl.Series([sheet.question.ref.value]).gather(places)


def _shrunken(sheet: Sheet, own: Precision) -> Floats:
    """Return the shares of known groups, small ones too, drawn towards that of all of them."""
    found = np.full(len(own.value), np.nan)
    is_share = ~np.isnan(own.size) & ~np.isnan(own.numerator)
    for _, lines in sheet.side_by_side(sheet.is_group & is_share & ~np.isnan(own.value)):
        groups = own[lines]
        found[lines] = shrunken(groups.numerator, groups.denominator, groups.size)
    return found


def _confidences(judged: Judged) -> Floats:
    """Return the confidence of every line's comparison with the best of all groups."""
    sheet = judged.sheet
    groups = np.bincount(sheet.block[judged.usable], minlength=sheet.blocks)[sheet.block]
    pairs = np.maximum(groups * (groups - 1) // 2, 1)
    return np.asarray(1 - (1 - sheet.question.confidence) / pairs)


def _beside_group(judged: Judged, ref: Ints, confidence: Floats | float) -> dict[str, Floats]:
    """Compare every group with the line of its reference; -1 is none."""
    sheet, own = judged.sheet, judged.own
    other = own[np.maximum(ref, 0)]
    some = sheet.is_group & (ref >= 0)
    itself = some & (ref == np.arange(len(ref)))
    limits_of = own.limits(confidence)
    rho = sheet.correlation(own, np.arange(len(ref)), np.maximum(ref, 0))
    difference, ratio = _compared(limits_of, limits_of[np.maximum(ref, 0)], own, rho)
    found = {
        "ref_value": other.value,
        **dict(zip(_DIFFERENCE, difference, strict=True)),
        **dict(zip(_RATIO, ratio, strict=True)),
        "p_value": p_value_of(own, other, rho),
    }
    known = {name: np.where(some, value, np.nan) for name, value in found.items()}
    for name in (*_DIFFERENCE[1:], *_RATIO[1:], "p_value"):
        known[name] = np.where(itself, np.nan, known[name])
    defined = itself & ~np.isnan(own.value)
    known["difference"] = np.where(defined, 0.0, known["difference"])
    known["ratio"] = np.where(defined, 1.0, known["ratio"])
    return known


def _compared(
    own: Limits, other: Limits, of: Precision, correlation: Floats | float = 0.0
) -> tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]:
    """Return the difference and the ratio, with their limits."""
    difference, ratio = limits.difference(own, other, correlation), limits.ratio(own, other)
    nothing = np.full(own.value.shape, np.nan)
    # Limits of a ratio need values that are never negative.
    low, high = (ratio.low, ratio.high) if of.bounds[0] >= 0 else (nothing, nothing)
    return (
        (difference.value, difference.low, difference.high),
        (np.asarray(ratio.value), low, high),
    )


def _beside_everyone(judged: Judged, confidence: Floats | float) -> dict[str, Floats]:
    """Compare every group with the rest, or with everyone, of whom it is a share itself."""
    sheet, own, rest = judged.sheet, judged.own, judged.rest
    difference, ratio = _compared(own.limits(confidence), rest.limits(confidence), own)
    found = {"ref_value": rest.value, "p_value": p_value_of(own, rest)}
    if sheet.question.ref is Everyone.OVERALL:
        found["ref_value"] = everyone = sheet.numbers[judged.everyone]
        size, other = own.denominator, rest.denominator
        size, other = (np.where(np.isnan(size), n, d) for d, n in ((size, own.n), (other, rest.n)))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = size / (size + np.nan_to_num(other))
            difference = _shrunk(difference, own.value - everyone, 1 - share)
            ratio = _towards_one(ratio, own.value / everyone, share)
    found |= dict(zip(_DIFFERENCE, difference, strict=True))
    found |= dict(zip(_RATIO, ratio, strict=True))
    return {name: np.where(sheet.is_group, value, np.nan) for name, value in found.items()}


def _shrunk(
    rest: tuple[Floats, Floats, Floats], value: Floats, by: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the limits of a difference from everyone: shorter arms than from the rest."""
    return value, value - by * (rest[0] - rest[1]), value + by * (rest[2] - rest[0])


def _towards_one(
    rest: tuple[Floats, Floats, Floats], value: Floats, share: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the limits of a ratio to everyone, of whom the group is a share."""

    def of_everyone_(ratio: Floats) -> Floats:
        return np.where(np.isposinf(ratio), 1 / share, ratio / (share * ratio + 1 - share))

    # Of shares and means the factor is 1; of other metrics it keeps the limits around the value.
    factor = np.where(value > 0, value / of_everyone_(rest[0]), 1.0)
    return value, of_everyone_(rest[1]) * factor, of_everyone_(rest[2]) * factor


def _adjusted(p_value: Floats, family: Ints, how: str) -> Floats:
    """Adjust the p-values of every family; -1 is none."""
    found = np.full(len(p_value), np.nan)
    at = np.flatnonzero((family >= 0) & ~np.isnan(p_value))
    at = at[np.argsort(family[at], kind="stable")]
    edges = np.flatnonzero(np.diff(family[at])) + 1
    for own in np.split(at, edges):
        found[own] = adjusted(p_value[own], how)
    return found


# --- rows of gaps -------------------------------------------------------------------------------


def _gap_frame(sheet: Sheet, asked: Asked, found: gaps.Gaps) -> pl.DataFrame:
    """Return the rows of all groups together: one for every attribute set of every section."""
    sets = len(sheet.question.sets)
    blocks = np.flatnonzero(np.arange(sheet.blocks) % sets > 0)
    numbers = {name: found.numbers[name][blocks] for name in found.numbers}
    family = np.where(np.isnan(numbers["p_value"]), -1, blocks // sets)
    numbers["p_adjusted"] = _adjusted(numbers["p_value"], family, sheet.question.adjust)
    defined = ~np.isnan(numbers["value"])
    words = {
        "group": sheet.text(found.group[blocks]),
        "ref": sheet.text(found.ref[blocks]),
        "method": pl.Series(found.method[blocks], dtype=pl.String),
        "status": pl.Series(np.where(defined, "ok", "undefined"), dtype=pl.String),
        "scope": pl.Series(["gap"] * len(blocks), dtype=pl.String),
    }
    at = sheet.first[blocks // sets] if len(sheet.first) else blocks
    position = np.zeros(len(blocks), dtype=np.int64)
    return _frame(sheet, asked, at, blocks % sets, position, found.n[blocks], numbers, words)


def _frame(
    sheet: Sheet,
    asked: Asked,
    at: Ints,
    sets: Ints,
    position: Ints,
    n: Floats,
    numbers: Mapping[str, Floats],
    words: Mapping[str, pl.Series],
) -> pl.DataFrame:
    """Return rows with the slices and keys of the lines `at`."""
    question = sheet.question
    schema = columns_of_result(shrink=question.shrink)
    nothing = np.full(len(at), np.nan)
    columns = {
        "metric": pl.Series([asked.metric.name] * len(at), dtype=pl.String),
        "attribute": pl.Series(named_members(question), dtype=pl.String).gather(sets),
        **words,
        "n": pl.Series(np.rint(n).astype(np.int64)),
        **{name: pl.Series(numbers.get(name, nothing)) for name in NUMBERS},
        **({"shrunk": pl.Series(numbers.get("shrunk", nothing))} if question.shrink else {}),
    }
    kept = sheet.lines.select(sheet.keys)[at] if sheet.keys else pl.DataFrame()
    made = pl.DataFrame({name: columns[name].cast(dtype) for name, dtype in schema.items()})
    made = made.with_columns(pl.col(pl.Float64).fill_nan(None))
    place = pl.Series([asked.place] * len(at), dtype=pl.Int64)
    order = pl.Series(sets * 2**32 + position)
    return pl.concat([kept, made], how="horizontal").with_columns(
        place.alias(PLACE), order.alias(POSITION)
    )
