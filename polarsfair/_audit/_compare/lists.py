"""Two models that recommend to the same users: the values of every user, first and other.

Users are counted by the size of their difference. The histogram is all that the sign-flip test
needs: under equality each difference has either sign, so that the sum of the differences of one
size is a binomial count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polarsfair._audit._compare.changes import (
    NUMBERS,
    ORDER,
    columns_of_change,
    correlation,
    numbered,
    small,
)
from polarsfair._audit.draws import FEWEST, MOST
from polarsfair._audit.limits import Limits, around, difference, quantile, sized, wilson
from polarsfair._audit.p_values import normal
from polarsfair._engine.columns import exactly
from polarsfair._engine.evaluate import prepare
from polarsfair._engine.metric import Spread
from polarsfair._engine.slices import hidden
from polarsfair._engine.tables import read_tables, with_same_dtypes
from polarsfair.ranking._keys import user_columns
from polarsfair.ranking._lists.gains import gains
from polarsfair.ranking._lists.masks import lists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._audit._compare.changes import Settings
    from polarsfair._audit.limits import Floats
    from polarsfair._engine.metric import Metric

_USER = "user of the list"
"""Begins the slices that are users, which cannot be named like the role `user`."""

_SIZE, _BOTH = hidden("size"), hidden("both")
_FIRST, _OTHER = hidden("first"), hidden("other")
_SUMS = ("n", "d", "a", "b", "aa", "bb", "ab")
_DIGITS = 12
"""Decimals to which differences are equal."""

_BLOCK = 1_000_000
"""Binomial counts that are drawn at a time."""


class UserValues(NamedTuple):
    """The values of every user by both models, and the metrics and slices that they are of."""

    frames: list[pl.LazyFrame]
    metrics: list[Metric]
    slices: list[str]
    users: list[str]


def is_of_lists(metric: Metric) -> bool:
    """Return whether a metric is the mean of a value that each user's list has."""
    return metric.tally in (lists, gains) and isinstance(metric.formula, Spread)


def values_of_users(
    recs: Sequence[pl.LazyFrame],
    metrics: Sequence[Metric],
    by: Sequence[pl.Expr],
    given: Mapping[str, Any],
) -> UserValues:
    """Check the call for both frames of recommendations, and return the values of their users."""
    columns = user_columns(given["user"]) if "user" in given else []
    names = [f"{_USER} {i}" for i in range(len(columns))]
    slices = [*by, *(column.alias(name) for name, column in zip(names, columns, strict=True))]
    calls = [prepare(frame, metrics, slices, given) for frame in recs]
    frames = [read_tables(one.requests, one.metrics, one.slices) for one in calls]
    shown = calls[0].slices[: len(by)]
    return UserValues(frames, calls[0].metrics, shown, names)


def changes_of_lists(
    values: UserValues, inner: Mapping[str, str], keys: Sequence[str], settings: Settings
) -> list[pl.LazyFrame]:
    """Return the changes of all metrics, by the hidden slices `inner`."""
    columns = [*inner.values(), *keys]
    lines = _histogram(_joined(values, inner, keys), columns, len(values.metrics))
    bounded = [metric.bounds == (0.0, 1.0) for metric in values.metrics]
    schema = lines.collect_schema()
    result: list[tuple[str, Any]] = [(name, schema[name]) for name in columns]
    result += [(ORDER, pl.Int64), ("n", pl.Int64)]
    result += [*((name, pl.Float64) for name in NUMBERS), ("method", pl.String)]

    def compared(found: pl.DataFrame) -> pl.DataFrame:
        found = found.sort([*columns, ORDER, _SIZE])
        own = found.select(*columns, ORDER).unique(maintain_order=True)
        changes = _changes(found, numbered(found, [*columns, ORDER]), own, bounded, settings)
        return own.hstack(changes).select(name for name, _ in result)

    return [small(lines, compared, pl.Schema(result))]


def _joined(values: UserValues, inner: Mapping[str, str], keys: Sequence[str]) -> pl.LazyFrame:
    """Join the values of both models on slices, users and keys."""
    users = {name: hidden(name) for name in values.users}
    named = {**inner, **users}
    on = [*named.values(), *keys]
    first, other = (
        frame.select(
            *(exactly(shown).alias(name) for shown, name in named.items()),
            *keys,
            *(
                exactly(metric.name).alias(hidden(which, i))
                for i, metric in enumerate(values.metrics)
            ),
        )
        for frame, which in zip(values.frames, (_FIRST, _OTHER), strict=True)
    )
    both = with_same_dtypes([first, other], on)
    return both[0].join(both[1], on=on, how="full", nulls_equal=True, coalesce=True)


def _histogram(users: pl.LazyFrame, columns: Sequence[str], metrics: int) -> pl.LazyFrame:
    """Count users per size of the difference of each metric, with sums of both values."""
    pairs = [
        pl.struct(
            pl.lit(i, pl.Int64).alias(ORDER),
            pl.col(hidden(_FIRST, i)).alias("a"),
            pl.col(hidden(_OTHER, i)).alias("b"),
        )
        for i in range(metrics)
    ]
    long = users.select(*columns, pl.concat_list(pairs).alias(_BOTH))
    long = long.explode(_BOTH, empty_as_null=True).unnest(_BOTH)
    a, b = pl.col("a"), pl.col("b")
    known = a.is_not_null() & b.is_not_null()
    of_both = {"d": b - a, "a": a, "b": b, "aa": a * a, "bb": b * b, "ab": a * b}
    sums = {name: pl.when(known).then(value).otherwise(0.0) for name, value in of_both.items()}
    # A user without both values keeps a line of its slice, and counts as 0.
    size = pl.when(known).then((b - a).abs().round(_DIGITS)).otherwise(0.0)
    lines = long.select(*columns, ORDER, size.alias(_SIZE), known.cast(pl.Int64).alias("n"), **sums)
    return lines.group_by([*columns, ORDER, _SIZE]).agg(pl.col(*_SUMS).sum())


# --- the small table ----------------------------------------------------------------------------


def _changes(
    lines: pl.DataFrame,
    number: Any,
    own: pl.DataFrame,
    bounded: Sequence[bool],
    settings: Settings,
) -> pl.DataFrame:
    """Return the numbers of every slice, key and metric, which `number` numbers among the lines."""
    count = own.height
    sums = {
        name: np.bincount(number, lines[name].to_numpy(), count).astype(np.float64)
        for name in _SUMS
    }
    n = sums["n"]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [sums[name] / n for name in ("a", "b")]
        pairs = [("aa", 0, 0), ("bb", 1, 1), ("ab", 0, 1)]
        spread = [(sums[name] / n - means[i] * means[j]) / (n - 1) for name, i, j in pairs]
    variances = [_above_rounding(v, mean) for v, mean in zip(spread[:2], means, strict=True)]
    inside = np.asarray(bounded, dtype=bool)[own[ORDER].to_numpy()]
    first, other = (
        _limits(mean, variance, n, inside, settings.confidence)
        for mean, variance in zip(means, variances, strict=True)
    )
    change = difference(other, first, correlation(variances[0], variances[1], spread[2]))
    error = np.sqrt(np.maximum(variances[0] + variances[1] - 2 * spread[2], 0.0))
    plain = normal(change.value, error)
    p_values, methods = _flipped(lines, number, sums["d"], plain, settings)
    columns = columns_of_change(first, other, change, p_values, methods)
    return pl.DataFrame({"n": n.astype(np.int64), **columns})


def _above_rounding(variance: Floats, mean: Floats) -> Floats:
    """Return variances, of which those that rounding can make are 0."""
    found: Floats = np.where(variance > 1e-14 * mean * mean, variance, 0.0)
    return np.where(np.isnan(variance), np.nan, found)


def _limits(mean: Floats, variance: Floats, n: Floats, inside: Any, confidence: float) -> Limits:
    """Return the limits of means over users: of values between 0 and 1, or of any."""
    size, degrees = sized(mean, variance, n)
    q = quantile(confidence, degrees)
    shares, others = wilson(mean, size, q), around(mean, np.sqrt(variance), q)
    return Limits(
        mean, np.where(inside, shares.low, others.low), np.where(inside, shares.high, others.high)
    )


def _flipped(
    lines: pl.DataFrame, number: Any, total: Floats, plain: Floats, settings: Settings
) -> tuple[Floats, list[str]]:
    """Return the p-value of every part of the lines, and how it was found."""
    sizes, counts = lines[_SIZE].to_numpy(), lines["n"].to_numpy()
    edges = np.searchsorted(number, np.arange(len(total) + 1))
    found, methods = plain.copy(), ["paired"] * len(total)
    for part in range(len(total)):
        own = slice(edges[part], edges[part + 1])
        differs = sizes[own] > 0
        p_value = sign_flips(
            sizes[own][differs], counts[own][differs], float(total[part]), settings
        )
        if p_value is not None:
            found[part], methods[part] = p_value, "sign flips"
    return found, methods


def sign_flips(sizes: Floats, counts: Any, total: float, settings: Settings) -> float | None:
    """Return how often random signs make as large a sum; None if there are too many sizes to draw.

    `counts` users differ by each of the `sizes`, and their differences sum to `total`.
    """
    if not len(sizes):
        return 1.0
    draws = min(settings.draws, MOST // len(sizes))
    if draws < min(settings.draws, FEWEST):
        return None
    generator = np.random.default_rng(settings.seed)
    sums = np.zeros(draws)
    step = max(1, _BLOCK // draws)
    for start in range(0, len(sizes), step):
        own, many = sizes[start : start + step], counts[start : start + step, None]
        plus = generator.binomial(many, 0.5, size=(len(own), draws))
        sums += own @ (2 * plus - many)
    least = abs(total) - 1e-9 * float(sizes @ counts)
    return (1 + int((np.abs(sums) >= least).sum())) / (1 + draws)
