"""Two models that decide on the same rows: one table with the decisions of both.

Its cells are the group, both predictions and the label. A share of rows needs no draws: each cell
counts in its numerator and denominator or not, so that variances and the correlation of both models
are sums over cells. Any other formula is read off replicates of the table, in which both models are
drawn together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from polarsfair._audit._compare.changes import (
    LONG,
    NUMBERS,
    ORDER,
    columns_of_change,
    correlation,
    numbered,
    small,
)
from polarsfair._audit._compare.gaps import MODEL, REACH, is_gap, reach_of
from polarsfair._audit.draws import DRAW, MOST, Plan, replicated
from polarsfair._audit.limits import Limits, difference, quantile, weighted_size, wilson
from polarsfair._audit.p_values import mcnemar, normal
from polarsfair._audit.values import fact_of, known_values
from polarsfair._engine.columns import exactly
from polarsfair._engine.counts import known_rows
from polarsfair._engine.evaluate import completed
from polarsfair._engine.read import read
from polarsfair._engine.reference import GROUP
from polarsfair._engine.rows import binary, count_cells
from polarsfair._engine.slices import aggregated, hidden, joined, summed
from polarsfair._formula import Share
from polarsfair.fairness._decisions.rates import decisions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from polarsfair._audit._compare.changes import Settings
    from polarsfair._audit.limits import Floats
    from polarsfair._engine.metric import Metric

    Integers: TypeAlias = NDArray[np.int64]

_CELL = hidden("cell")
_SUMS = ("n", "w", "w2")
_READ = 4
"""How many times the lines of a joint table those are that are read: either model, by group."""


def joint_table(
    rows: pl.LazyFrame, by: Sequence[pl.Expr], other: Any, roles: Mapping[str, Any]
) -> pl.LazyFrame:
    """Count rows per group, predictions of both models and label.

    A row that one of the models does not decide on has no prediction of the other either.
    """
    cells = {"pred": binary(roles["pred"]), "other": binary(other)}
    if "label" in roles:
        cells["label"] = binary(roles["label"])
    table = count_cells(rows, by, group=roles.get("group"), cells=cells, weight=roles.get("weight"))
    both = pl.when(pl.col("pred").is_not_null() & pl.col("other").is_not_null())
    names = table.collect_schema().names()
    weights = {n: pl.col(n if n in names else "n").cast(pl.Float64) for n in ("w", "w2")}
    return table.with_columns(pred=both.then("pred"), other=both.then("other"), **weights).cache()


def changes_of_decisions(
    table: pl.LazyFrame, metrics: Sequence[Metric], slices: Sequence[str], settings: Settings
) -> list[pl.LazyFrame]:
    """Return the changes of all metrics of the joint table, by hidden slices."""
    shares = {i: m for i, m in enumerate(metrics) if isinstance(m.formula, Share)}
    others = {i: m for i, m in enumerate(metrics) if i not in shares}
    parts = []
    if shares:
        parts.append(_changes_of_shares(table, shares, slices, settings))
    if others:
        parts += _changes_of_formulas(table, others, slices, settings)
    return parts


# --- shares -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Parts:
    """Whether a row counts in the numerator and denominator of a share, by its `_code`."""

    numerator: Floats
    denominator: Floats

    @property
    def same_rows(self) -> bool:
        """Whether the share looks at the same rows, whatever the prediction is."""
        return bool((self.denominator[3:6] == self.denominator[6:]).all())


_CODES = pl.DataFrame(
    {
        _CELL: range(9),
        "pred": [None] * 3 + [False] * 3 + [True] * 3,
        "label": [None, False, True] * 3,
        **dict.fromkeys(_SUMS, [1] * 9),
    }
)
"""Every cell of a prediction and a label, with one row."""


def _parts_of(shares: Sequence[Metric]) -> list[_Parts]:
    """Read off a table with every cell what each share counts."""
    found = known_values(_CODES.lazy(), shares, [_CELL]).collect().sort(_CELL)
    return [
        _Parts(*(found[fact_of(m, fact)].to_numpy() for fact in ("numerator", "denominator")))
        for m in shares
    ]


def _code(pred: str, columns: Sequence[str]) -> pl.Expr:
    """Return the number of the cell of a prediction and the label, as in `_CODES`."""
    label = _place(pl.col("label")) if "label" in columns else pl.lit(0, pl.Int64)
    return _place(pl.col(pred)) * 3 + label


def _place(cell: pl.Expr) -> pl.Expr:
    """Return 0 for unknown, 1 for false, 2 for true."""
    return (cell.cast(pl.Int64) + 1).fill_null(0)


def _changes_of_shares(
    table: pl.LazyFrame, shares: Mapping[int, Metric], slices: Sequence[str], settings: Settings
) -> pl.LazyFrame:
    """Return the changes of shares, each from sums over the cells of both models."""
    parts, order = _parts_of(list(shares.values())), list(shares)
    sums = {_usable(i): known_rows(metric) for i, metric in enumerate(shares.values())}
    names = table.collect_schema().names()
    codes = {_code_of(0): _code("pred", names), _code_of(1): _code("other", names)}
    lines = aggregated(
        table.with_columns(**codes),
        [*slices, *codes],
        {**{name: pl.col(name).sum() for name in _SUMS}, **sums},
    )
    schema = table.collect_schema()
    result: list[tuple[str, Any]] = [(name, schema[name]) for name in slices]
    result += [(ORDER, pl.Int64), ("n", pl.Int64)]
    result += [*((name, pl.Float64) for name in NUMBERS), ("method", pl.String)]

    def compared(lines: pl.DataFrame) -> pl.DataFrame:
        lines = lines.sort([*slices, *codes])
        number = numbered(lines, slices)
        count = int(number.max(initial=-1)) + 1 if slices else 1
        first = np.searchsorted(number, np.arange(count))
        own = lines.select(slices)[first] if slices else pl.DataFrame()
        frames = []
        for i, (place, one) in enumerate(zip(order, parts, strict=True)):
            n = np.bincount(number, lines[_usable(i)].to_numpy(), count).astype(np.int64)
            columns = _Shares(lines, number, count, one).changes(settings.confidence)
            found = pl.DataFrame({ORDER: np.full(count, place), "n": n, **columns})
            frames.append(own.hstack(found) if slices else found)
        return pl.concat(frames).select(name for name, _ in result)

    return small(lines, compared, pl.Schema(result))


def _usable(number: int) -> str:
    return hidden("usable", number)


def _code_of(model: int) -> str:
    return hidden("code", model)


class _Shares:
    """A share of both models, from the cells of several slices."""

    def __init__(self, lines: pl.DataFrame, number: Integers, count: int, parts: _Parts) -> None:
        self.number, self.count, self.parts = number, count, parts
        self.w, self.w2 = (lines[name].to_numpy() for name in ("w", "w2"))
        codes = [lines[_code_of(model)].to_numpy() for model in (0, 1)]
        self.hits = [parts.numerator[code] for code in codes]
        self.rows = [parts.denominator[code] for code in codes]

    def _sum(self, values: Floats) -> Floats:
        return np.bincount(self.number, values, self.count).astype(np.float64)

    def changes(self, confidence: float) -> dict[str, Any]:
        """Return the columns of the result."""
        limits = [self._limits(model, confidence) for model in (0, 1)]
        first, other = limits
        variances = self._variances(first.value, other.value)
        change = difference(other, first, correlation(*variances))
        method = "mcnemar" if self.parts.same_rows else "paired"
        p_value = self._p_value(change.value, *variances)
        return columns_of_change(first, other, change, p_value, [method] * self.count)

    def _limits(self, model: int, confidence: float) -> Limits:
        hits, rows = self.hits[model], self.rows[model]
        sums = [self._sum(weight * one) for weight in (self.w, self.w2) for one in (hits, rows)]
        size, degrees = weighted_size(*sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = sums[0] / sums[1]
        return wilson(value, size, quantile(confidence, degrees))

    def _variances(self, first: Floats, other: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the variances of both shares, and their covariance, by linearisation."""
        influence = []
        for hits, rows, value in zip(self.hits, self.rows, (first, other), strict=True):
            total = self._sum(self.w * rows)
            with np.errstate(invalid="ignore", divide="ignore"):
                influence.append((hits - value[self.number] * rows) / total[self.number])
        one, two = influence
        return (
            self._sum(self.w2 * one * one),
            self._sum(self.w2 * two * two),
            self._sum(self.w2 * one * two),
        )

    def _p_value(self, change: Floats, one: Floats, two: Floats, both: Floats) -> Floats:
        if not self.parts.same_rows:
            return normal(change, np.sqrt(np.maximum(one + two - 2 * both, 0.0)))
        better = (self.hits[1] > self.hits[0]).astype(np.float64)
        worse = (self.hits[1] < self.hits[0]).astype(np.float64)
        up, down = self._sum(self.w * better), self._sum(self.w * worse)
        squares = self._sum(self.w2 * (better + worse))
        with np.errstate(invalid="ignore", divide="ignore"):
            # As many rows of equal weight as tell as much; without weights, the rows.
            scale = np.where(squares > 0, (up + down) / squares, 1.0)
        return mcnemar(up * scale, down * scale)


# --- any other formula --------------------------------------------------------------------------


def _changes_of_formulas(
    table: pl.LazyFrame, metrics: Mapping[int, Metric], slices: Sequence[str], settings: Settings
) -> list[pl.LazyFrame]:
    """Return the changes of any formulas, from replicates of the joint table."""
    own = list(metrics.values())
    keys, drawn = [*slices, *own[0].result_keys], _drawn(table, slices, settings)
    # Read once for all metrics: a Python function draws them anew whenever they are read.
    both, both_drawn = _both(table, slices), _both(drawn.cache(), [*slices, DRAW])
    values, replicates = (
        read(completed(one, decisions, own), own, [*names, MODEL]).cache()
        for one, names in ((both, slices), (both_drawn, [*slices, DRAW]))
    )
    reaches = {
        i: reach_of((both, both_drawn), values, metric, slices, settings.confidence)
        for i, metric in metrics.items()
        if is_gap(metric)
    }
    usable = {_usable(i): known_rows(metric) for i, metric in metrics.items()}
    rows = aggregated(table, slices, usable)
    return [
        _long((values, replicates, rows, reaches.get(i)), (i, metric), (slices, keys), settings)
        for i, metric in metrics.items()
    ]


def _drawn(table: pl.LazyFrame, slices: Sequence[str], settings: Settings) -> pl.LazyFrame:
    """Return replicates of the joint table, in which both models are drawn together."""
    schema = table.collect_schema()
    groups = [GROUP] * (GROUP in schema)
    cells = ["pred", "other", *["label"] * ("label" in schema)]
    plan = Plan(
        slices=tuple(slices),
        cells=(*groups, *cells),
        full=dict.fromkeys(cells, (False, True)),
        draws=settings.draws,
        seed=settings.seed,
    )
    columns: list[tuple[str, Any]] = [(n, schema[n]) for n in (*slices, *groups, *cells)]
    columns += [(DRAW, pl.Int64), *((name, pl.Float64) for name in _SUMS)]
    return small(
        table,
        lambda lines: _replicated(lines, plan).select(name for name, _ in columns),
        pl.Schema(columns),
    )


def _replicated(lines: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Draw the joint table, less often if it is large: it is read once for either model."""
    distinct = lines.select(pl.exclude(*_SUMS, *plan.full)).unique()
    every = max(distinct.height, 1) * 2 ** len(plan.full)
    return replicated(lines, replace(plan, draws=min(plan.draws, MOST // (_READ * every))))


def _both(table: pl.LazyFrame, slices: Sequence[str]) -> pl.LazyFrame:
    """Return the table of either model, numbered, from that of both."""
    names = table.collect_schema().names()
    cells = [name for name in (GROUP, "pred", "label") if name in names]
    models = [
        table.with_columns(pl.lit(model, pl.Int8).alias(MODEL), pl.col(name).alias("pred"))
        for model, name in enumerate(("pred", "other"))
    ]
    return summed(pl.concat(models), [*slices, MODEL, *cells], _SUMS).cache()


def _long(
    read_: tuple[pl.LazyFrame, pl.LazyFrame, pl.LazyFrame, pl.LazyFrame | None],
    asked: tuple[int, Metric],
    keys: tuple[Sequence[str], Sequence[str]],
    settings: Settings,
) -> pl.LazyFrame:
    """Return the change of one metric, with limits and a p-value from its replicates."""
    (place, metric), (slices, all_keys) = asked, keys
    values, replicates, rows, reach = read_
    tail = (1 - settings.confidence) / 2
    drawn = _side_by_side(replicates, metric, [*all_keys, DRAW])
    change = pl.col("change").filter(pl.col("change").is_finite())
    enough = change.count() >= 2
    spread = {
        "low": change.quantile(tail, "linear"),
        "high": change.quantile(1 - tail, "linear"),
        "error": pl.when(enough).then(change.std()),
    }
    found = joined(
        _side_by_side(values, metric, all_keys),
        aggregated(drawn, all_keys, spread),
        all_keys,
        how="left",
    )
    found = joined(found, rows, slices, how="left")
    if reach is not None:
        found = joined(found, reach, slices, how="left")
        near = {"low": pl.col("change") - pl.col(REACH), "high": pl.col("change") + pl.col(REACH)}
        found = found.with_columns(**near)
    # Comparisons with a reference report the group that is farthest: limits on both sides.
    mirrored = [2 * pl.col("change") - pl.col(one) for one in ("high", "low") if metric.bases]
    below, above = mirrored[:1], mirrored[1:]
    facts = [pl.col(name).is_not_null() for name in ("change", "error", "low", "high")]
    known = pl.all_horizontal(facts)
    p_value = pl.struct("change", "error").map_batches(_p_values, return_dtype=pl.Float64)
    return found.select(
        *all_keys,
        pl.lit(place, pl.Int64).alias(ORDER),
        pl.col(_usable(place)).fill_null(0).alias("n"),
        *("value", "other_value", "change"),
        pl.when(known).then(pl.min_horizontal("low", "change", *below)).alias("change_low"),
        pl.when(known).then(pl.max_horizontal("high", "change", *above)).alias("change_high"),
        pl.when(known).then(p_value).alias("p_value"),
        pl.when(known).then(pl.lit("draws")).otherwise(pl.lit("none")).alias("method"),
    ).select(*all_keys, *LONG)


def _p_values(columns: pl.Series) -> pl.Series:
    frame = columns.struct.unnest().fill_null(np.nan)
    return pl.Series(normal(frame["change"].to_numpy(), frame["error"].to_numpy()))


def _side_by_side(values: pl.LazyFrame, metric: Metric, keys: Sequence[str]) -> pl.LazyFrame:
    """Return the values of both models in one line."""
    value = exactly(metric.name)
    both = {
        "value": value.filter(pl.col(MODEL) == 0).first(),
        "other_value": value.filter(pl.col(MODEL) == 1).first(),
    }
    return aggregated(values, keys, both).with_columns(
        change=pl.col("other_value") - pl.col("value")
    )
