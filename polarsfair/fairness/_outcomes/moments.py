"""Outcomes that are real numbers: the tallies of their moments, and the rows above a quantile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.rows import WEIGHTED_SUMS, Rows, number
from polarsfair._engine.slices import aggregated, hidden, joined, over, running
from polarsfair._engine.tally import Tally
from polarsfair.fairness._scores.bins import (
    BIN,
    Bins,
    bin_edges,
    bin_faults,
    bin_number,
    check_bins,
    without_overlap,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._engine.faults import Fault
    from polarsfair._engine.metric import Metric
    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = ["outcome_bins", "outcomes"]

_PRED, _LABEL, _W, _LOW = pl.col("pred"), pl.col("label"), pl.col("w"), pl.col("low")


# --- the tallies --------------------------------------------------------------------------------


def _count_outcomes(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    pred: IntoColumn | None = None,
    label: IntoColumn | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Compute moments of predictions and labels that are real numbers, per group.

    The table has the slices, ``group``, whether the prediction is known (``predicted``) and, with
    ``label``, the label (``labelled``); ``n`` rows, with ``weight`` also ``w`` and ``w2``; the mean
    of the predictions and the sum of squares about it (``pred_mean``, ``pred_m2``). With ``label``
    it also has those of the labels, the sum of products ``pred_label``, and the sums of errors
    ``abs_error`` and ``squared_error``. Tables are merged by Chan's formula.

    Notes
    -----
    One pass over the rows; with ``weight`` two, of which the first computes the means.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M"], "pay": [1.0, 3.0, 5.0]})
    >>> fairness.outcomes(df, group="sex", pred="pay").sort("group")
    shape: (2, 5)
    ┌───────┬───────────┬─────┬───────────┬─────────┐
    │ group ┆ predicted ┆ n   ┆ pred_mean ┆ pred_m2 │
    │ ---   ┆ ---       ┆ --- ┆ ---       ┆ ---     │
    │ str   ┆ bool      ┆ i64 ┆ f64       ┆ f64     │
    ╞═══════╪═══════════╪═════╪═══════════╪═════════╡
    │ F     ┆ true      ┆ 2   ┆ 2.0       ┆ 2.0     │
    │ M     ┆ true      ┆ 1   ┆ 5.0       ┆ 0.0     │
    └───────┴───────────┴─────┴───────────┴─────────┘
    """
    return _count_moments(frame, by, group, pred, label, weight)


def _count_outcome_bins(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    pred: IntoColumn | None = None,
    label: IntoColumn | None = None,
    weight: IntoColumn | None = None,
    bins: Bins = None,
) -> pl.LazyFrame:
    """Compute moments of predictions and labels, per group and bin of the prediction.

    The table is that of `outcomes`, with a row per bin ``low`` <= prediction < ``high``, from which
    quantiles are computed. Tables of the same bins can be merged.

    Parameters
    ----------
    bins
        None: every distinct prediction is a bin, and quantiles are exact; the table then has a row
        per distinct prediction. Increasing edges, or a number of equal bins over 0 to 1, keep the
        table small; a quantile is then known up to its bin.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"pay": [1.0, 3.0, 5.0]})
    >>> table = fairness.outcome_bins(df, pred="pay", bins=[0, 4, 8])
    >>> table.sort("low").select("low", "high", "n", "pred_mean")
    shape: (2, 4)
    ┌─────┬──────┬─────┬───────────┐
    │ low ┆ high ┆ n   ┆ pred_mean │
    │ --- ┆ ---  ┆ --- ┆ ---       │
    │ f64 ┆ f64  ┆ i64 ┆ f64       │
    ╞═════╪══════╪═════╪═══════════╡
    │ 0.0 ┆ 4.0  ┆ 2   ┆ 2.0       │
    │ 4.0 ┆ 8.0  ┆ 1   ┆ 5.0       │
    └─────┴──────┴─────┴───────────┘
    """
    check_bins(bins)
    return _count_moments(frame, by, group, pred, label, weight, bins, binned=True)


def _count_moments(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    group: IntoGroup | None,
    pred: IntoColumn | None,
    label: IntoColumn | None,
    weight: IntoColumn | None,
    bins: Bins = None,
    *,
    binned: bool = False,
) -> pl.LazyFrame:
    if pred is None:
        msg = 'outcomes need the role `pred`, a column of numbers: add `pred="<column>"`'
        raise TypeError(msg)
    roles = {"pred": number(pred), "label": number(label)}
    rows = Rows.of(frame, by, group=group, weight=weight, more=None, **roles)
    known = {"predicted": _PRED.is_not_null()}
    if label is not None:
        known["labelled"] = _LABEL.is_not_null()
    bin_of = {BIN: bin_number(_PRED, bins, rows.columns["pred"].dtype)} if binned else {}
    lines, keys = rows.frame.with_columns(**known, **bin_of), [*rows.keys, *known, *bin_of]
    if weight is not None:
        # Rows of their own: if they were those of the lines, all rows would wait for the means.
        plain = Rows.of(frame, by, group=group, weight=None, more=None, **roles)
        table = _weighted_moments(rows, lines, keys, _centres(plain))
    else:
        table = _moments(lines, keys)
    if not binned:
        return _moment_table(rows, table, [*known], [])
    table = table.with_columns(**bin_edges(bins))
    return _moment_table(rows, table, [*known, "low", "high"], bin_faults(bins, "pred"))


def _moment_table(
    rows: Rows, table: pl.LazyFrame, cells: Sequence[str], faults: Sequence[Fault]
) -> pl.LazyFrame:
    """Return the table that the caller sees, in which moments of no rows are 0."""
    moments = ["pred_mean", "pred_m2", *(_LABEL_SUMS if "label" in rows.columns else ())]
    # Moments of infinite numbers stay NaN, which formulas turn into undefined.
    some = pl.when(pl.col("w" if rows.weighted else "n") > 0)
    table = table.with_columns(
        some.then(pl.col(name)).otherwise(0.0).fill_null(0.0).alias(name) for name in moments
    )
    return rows.table(table, cells, [*rows.sums, *moments], [*faults, *rows.faults()])


def _errors(lines: pl.LazyFrame) -> dict[str, pl.Expr]:
    """Return the errors that are summed, if there are labels."""
    if "label" not in lines.collect_schema().names():
        return {}
    error = _PRED - _LABEL
    return {"abs_error": error.abs(), "squared_error": error * error}


def _moments(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Compute moments without weights: Polars' mean and variance are exact at any offset."""
    errors, both = _errors(lines), hidden("sum")
    numbers = {"pred": _PRED, **({"label": _LABEL, both: _PRED + _LABEL} if errors else {})}
    variance = {name: pl.col(hidden("variance", name)) for name in numbers}
    table = (
        lines.with_columns(**errors, **numbers)
        .group_by(keys)
        .agg(
            pl.col("n", *errors).sum(),
            *(pl.col(name).mean().alias(f"{name}_mean") for name in numbers if name != both),
            *(pl.col(name).var(ddof=0).alias(hidden("variance", name)) for name in numbers),
        )
    )
    squares = {f"{name}_m2": variance[name] for name in numbers if name != both}
    if errors:
        # The variance of a sum is the sum of the variances plus twice the covariance.
        squares["pred_label"] = (variance[both] - variance["pred"] - variance["label"]) / 2
    return table.with_columns(**{name: pl.col("n") * value for name, value in squares.items()})


def _centre(name: str) -> str:
    return hidden("centre", name)


def _centres(rows: Rows) -> pl.LazyFrame:
    """Return the unweighted means of every slice and group, over its finite numbers."""
    finite = {name: pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in rows.columns}
    means = {_centre(name): value.mean().fill_null(0.0) for name, value in finite.items()}
    return aggregated(rows.frame, rows.keys, means)


def _weighted_moments(
    rows: Rows, lines: pl.LazyFrame, keys: Sequence[str], centres: pl.LazyFrame
) -> pl.LazyFrame:
    """Compute weighted moments, about the unweighted means of the slice and group.

    The means of all groups together would be too far from those of each: squares of such distances
    have no digits left for the spread within a group.
    """
    errors = _errors(lines)
    numbers, product = ["pred", *["label"] * bool(errors)], hidden("product")
    off = {name: pl.col(name) - pl.col(_centre(name)) for name in numbers}
    lines = joined(lines, centres, rows.keys, how="left").with_columns(**off, **errors)
    values = {hidden(name, 1): pl.col(name) for name in numbers}
    values |= {hidden(name, 2): pl.col(name) ** 2 for name in numbers}
    values |= {product: _PRED * _LABEL} if errors else {}
    values |= {name: pl.col(name) for name in errors}
    # Rows with weight 0 do not count, even if their value is infinite.
    counted = pl.when(_W > 0)
    lines = lines.with_columns(**{name: counted.then(_W * v) for name, v in values.items()})
    centre = [pl.col(_centre(name)).first() for name in numbers]
    table = lines.group_by(keys).agg(pl.col(*rows.sums, *values, *rows.bad).sum(), *centre)
    mean = {name: pl.col(hidden(name, 1)) / _W for name in numbers}
    named = {f"{name}_mean": pl.col(_centre(name)) + mean[name] for name in numbers}
    for name in numbers:
        squares, about = pl.col(hidden(name, 2)), pl.col(hidden(name, 1)) * mean[name]
        # A difference below the rounding of the squares is 0: equal values have no variance.
        beyond = squares - about > 1e-14 * squares
        named[f"{name}_m2"] = pl.when(beyond).then(squares - about).otherwise(0.0)
    if errors:
        named["pred_label"] = pl.col(product) - pl.col(hidden("pred", 1)) * mean["label"]
    return table.with_columns(**named)


# --- how tables are merged ----------------------------------------------------------------------


def mean_over(name: str, weight: pl.Expr) -> pl.Expr:
    """Return the mean of the lines' means."""
    # Lines with weight 0 do not count, even if their mean is infinite.
    return pl.when(weight > 0).then(weight * pl.col(name)).sum() / weight.sum()


def about_mean(square: str, first: str, second: str, weight: pl.Expr) -> pl.Expr:
    """Merge sums of products about the mean, by Chan's formula."""
    off = [pl.col(name) - mean_over(name, weight) for name in (first, second)]
    return (pl.when(weight > 0).then(pl.col(square) + weight * off[0] * off[1])).sum()


def _of_some(value: pl.Expr, weight: pl.Expr) -> pl.Expr:
    """Return a moment, or 0 if there are no rows."""
    return pl.when(weight.sum() > 0).then(value).otherwise(0.0)


_LABEL_SUMS = ("label_mean", "label_m2", "pred_label", "abs_error", "squared_error")


def _sums(columns: Sequence[str]) -> dict[str, pl.Expr]:
    """Return how lines merge, in a table with or without weights."""
    weight = pl.col("w" if "w" in columns else "n")
    products = {
        "pred_m2": ("pred_mean", "pred_mean"),
        "label_m2": ("label_mean", "label_mean"),
        "pred_label": ("pred_mean", "label_mean"),
    }
    return {
        **WEIGHTED_SUMS,
        **{n: _of_some(mean_over(n, weight), weight) for n in ("pred_mean", "label_mean")},
        **{n: _of_some(about_mean(n, *about, weight), weight) for n, about in products.items()},
        **{name: pl.col(name).sum() for name in ("abs_error", "squared_error")},
    }


_DEFAULTS = {
    "w": pl.col("n"),
    "w2": pl.col("n"),
    **dict.fromkeys(_LABEL_SUMS, pl.lit(None, pl.Float64)),
    "labelled": pl.lit(None, pl.Boolean),
}
_KNOWN = {"pred": pl.col("predicted"), "label": pl.col("labelled")}
_CELLS = ("group", "predicted", "labelled", "low", "high")

outcomes = Tally(
    name="fairness.outcomes",
    count=_count_outcomes,
    cells=_CELLS,
    sums=_sums,
    defaults=_DEFAULTS,
    known=_KNOWN,
)

outcome_bins = Tally(
    name="fairness.outcome_bins",
    count=_count_outcome_bins,
    cells=_CELLS,
    sums=_sums,
    defaults=_DEFAULTS,
    contains=(outcomes,),
    single=("bins",),
    known=_KNOWN,
)


# --- the rows at or above a quantile ------------------------------------------------------------


def kept(table: pl.LazyFrame, slices: Sequence[str], q: float) -> pl.LazyFrame:
    """Add to each line the weights of its predictions: all, those kept, those kept with a label.

    Lines at or above the q-quantile of all predictions of the slice are kept. ``edge`` is the
    weight of the smallest bin kept, in which some rows may lie below the quantile.
    """
    predicted = pl.col("predicted")
    table = table.with_columns(
        size=pl.when(predicted).then(_W).otherwise(0), keep=predicted, edge=pl.lit(0.0)
    )
    if q > 0:
        table = without_overlap(table, "size")
        cuts = thresholds(table, slices, [float(q)]).select(*slices, "at", "lowest")
        table = joined(table, cuts, slices, how="left")
        at_edge = predicted & (pl.col("high") > _LOW) & (pl.col("lowest") == _LOW)
        table = table.with_columns(
            keep=predicted & (pl.col("at") <= _LOW),
            edge=pl.when(at_edge).then(_W).otherwise(0).cast(pl.Float64),
        )
    return table.with_columns(
        kept=pl.when("keep").then(_W).otherwise(0),
        kept_labelled=pl.when(pl.col("keep") & pl.col("labelled")).then(_W).otherwise(0),
    )


def thresholds(table: pl.LazyFrame, slices: Sequence[str], levels: Sequence[float]) -> pl.LazyFrame:
    """Return, per slice and level, the quantile ``at`` of predictions and the smallest bin kept.

    ``level`` is the position in `levels`. The quantile is NumPy's linear one, with the same
    arithmetic: with h = (n - 1) q, between the values of ranks floor(h) and floor(h) + 1.
    """
    values = table.filter("predicted").group_by(*slices, "low").agg(pl.col("size").sum())
    values = values.with_columns(pl.col("size").cast(pl.Float64)).filter(pl.col("size") > 0)
    values = values.with_columns(through=running(pl.col("size").cum_sum(), slices, "low")).cache()
    totals = aggregated(values, slices, {"total": pl.col("through").max()})
    position = ((pl.col("total") - 1).clip(0.0) * pl.col("q")).alias("position")
    each = {"level": pl.lit(list(range(len(levels)))), "q": pl.lit(list(levels))}
    wanted = totals.with_columns(**each).explode("level", "q").with_columns(position)
    wanted = wanted.with_columns(rank=pl.col("position").floor())
    for name, step in (("here", 0), ("next", 1)):
        wanted = _value_at(wanted, values, slices, pl.col("rank") + step, name)
    share, here = pl.col("position") - pl.col("rank"), pl.col("here")
    after = pl.coalesce("next", "here")
    below, above = here + (after - here) * share, after - (after - here) * (1 - share)
    at = pl.when(share < 0.5).then(below).otherwise(above)
    wanted = wanted.with_columns(at=at)
    lowest = pl.when(here >= pl.col("at")).then(here).otherwise(after)
    return wanted.select(*slices, "level", "at", lowest=lowest)


def _value_at(
    wanted: pl.LazyFrame, values: pl.LazyFrame, slices: Sequence[str], rank: pl.Expr, name: str
) -> pl.LazyFrame:
    """Find the value of a rank: the smallest with more than that many rows at or below it."""
    ranks = wanted.select(*slices, "level", through=rank, is_rank=pl.lit(value=True))
    known = values.select(*slices, "through", value="low", is_rank=pl.lit(value=False))
    stacked = pl.concat([ranks, known], how="diagonal")
    # Every rank gets the next value; a value with exactly that many rows sorts before the rank.
    filled = over(pl.col("value").backward_fill(), slices).alias(name)
    found = stacked.sort("through", "is_rank").with_columns(filled).filter("is_rank")
    found = found.select(*slices, "level", name)
    return joined(wanted, found, [*slices, "level"], how="left")


def kept_rows(table: pl.LazyFrame, keys: Sequence[str], *, q: float = 0.0) -> pl.LazyFrame:
    """View the lines with the weight of the rows at or above the q-quantile."""
    return kept(table, keys, q)


def kept_rows_of_all(
    table: pl.LazyFrame, keys: Sequence[str], *, ref: Any = None, q: float = 0.0
) -> pl.LazyFrame:
    """As `kept_rows`, if no groups are compared: the reference is checked, but not used."""
    del ref
    return kept(table, keys, q)


def all_kept(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View the lines with every row kept."""
    return kept(table, keys, 0.0)


def check_quantile(metric: Metric, schema: pl.Schema) -> None:
    """Raise if `q` is not a level, or the table has no bins in which to find its quantile."""
    q = metric.option("q")
    if not isinstance(q, int | float) or not 0 <= q <= 1:
        msg = f"`q` is a level from 0 to 1, such as 0.8; got {q!r}"
        raise ValueError(msg)
    if q > 0 and "low" not in schema:
        msg = (
            f"`{metric.name}` with `q={q}` needs the bins of the predictions, which this table"
            " lacks: count it with `fairness.outcome_bins`"
        )
        raise ValueError(msg)
