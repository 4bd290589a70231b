"""Outcomes that are real numbers: the tallies of their moments, and which rows are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.legacy import (
    BAD,
    gather_group,
    group_parts,
    resolve_columns,
    row_key,
    stopping,
    weight_columns,
    weight_fault,
)
from polarsfair._engine.rows import ONE, WEIGHTED_SUMS
from polarsfair._engine.slices import joined, running
from polarsfair._engine.tally import Tally
from polarsfair.fairness._scores.bins import (
    BIN,
    Bins,
    bin_edges,
    bin_faults,
    bin_number,
    edges_of,
    number_of,
    without_overlap,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._engine.columns import Column
    from polarsfair._engine.metric import Metric
    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = ["outcome_bins", "outcomes"]

_NO_BINS = object()
_PRED, _LABEL, _W, _LOW = pl.col("pred"), pl.col("label"), pl.col("w"), pl.col("low")


# --- the tallies --------------------------------------------------------------------------------


def _count_outcomes(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    pred: IntoColumn | None = None,
    label: IntoColumn | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Sum up predictions and labels that are real numbers, per group.

    The table has the slices, ``group``, whether the prediction is known (``predicted``) and, with
    ``label``, the label (``labelled``); ``n`` rows, with ``weight`` also ``w`` and ``w2``; of the
    predictions mean and sum of squares about it (``pred_mean``, ``pred_m2``); and with ``label``
    those of the labels, the sum of products ``pred_label``, and the sums of the absolute and
    squared errors ``abs_error`` and ``squared_error``. Tables add up, by Chan's formula.

    Notes
    -----
    One pass; with ``weight`` a second one, which first finds the means.

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
    roles = {"pred": pred, "label": label, "weight": weight}
    return _count_moments(rows, by, group, roles, _NO_BINS)


def _count_outcome_bins(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    pred: IntoColumn | None = None,
    label: IntoColumn | None = None,
    weight: IntoColumn | None = None,
    bins: Bins = None,
) -> pl.LazyFrame:
    """Sum up predictions and labels that are real numbers, per group and bin of the prediction.

    The table is that of `outcomes`, with a line for every bin ``low`` <= prediction < ``high``:
    what quantiles need. Tables of the same bins add up.

    Parameters
    ----------
    bins
        None: every distinct prediction is a bin of its own, and quantiles are exact; the table
        has then as many lines as there are distinct predictions. Increasing edges, or a number of
        equal bins over 0 to 1, keep it small; a quantile is then known up to its bin.

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
    edges_of(bins)
    return _count_moments(rows, by, group, {"pred": pred, "label": label, "weight": weight}, bins)


def _count_moments(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    group: IntoGroup | None,
    roles: Mapping[str, IntoColumn | None],
    bins: Any,
) -> pl.LazyFrame:
    if roles["pred"] is None:
        msg = 'outcomes need the role `pred`, a column of numbers: add `pred="<column>"`'
        raise TypeError(msg)
    parts = {f"|{name}": part for name, part in group_parts(rows, group).items()}
    columns = resolve_columns(rows, by, {**parts, **roles})
    keys = {name: row_key(column) for name, column in columns.items() if name not in roles}
    slices = [column.meta.output_name() for column in by]
    weighed = weight_columns(columns["weight"]) if "weight" in columns else {}
    numbers = {role: number_of(columns[role]) for role in ("pred", "label") if role in columns}
    named = rows.select(**keys, **numbers, n=ONE, **weighed)
    known = {"predicted": _PRED.is_not_null()}
    if "label" in columns:
        known["labelled"] = _LABEL.is_not_null()
    binned = {} if bins is _NO_BINS else {BIN: bin_number(_PRED, bins, columns["pred"].dtype)}
    cells = {**known, **binned}
    lines = named.with_columns(**cells)
    sums = ["n", *(("w", "w2") if weighed else ())]
    if weighed:
        # A selection of its own: were it one with the lines, all rows would wait for the means.
        plain = rows.select(**{name: keys[name] for name in slices}, **numbers)
        table = _weighted_moments(lines, [*keys, *cells], sums, _centres(plain, slices), slices)
    else:
        table = _moments(lines, [*keys, *cells], sums)
    return _finished(table, columns, [*slices, *["group"] * bool(parts), *known], list(parts), bins)


def _errors(lines: pl.LazyFrame) -> dict[str, pl.Expr]:
    """Give what is summed of the errors, where there are labels."""
    if "label" not in lines.collect_schema().names():
        return {}
    error = _PRED - _LABEL
    return {"abs_error": error.abs(), "squared_error": error * error}


# What is only made on the way has a name that no slice has: it begins with a bar.


def _moments(lines: pl.LazyFrame, keys: Sequence[str], sums: Sequence[str]) -> pl.LazyFrame:
    """Sum up without weights: Polars' mean and variance hold at any offset."""
    errors = _errors(lines)
    lines = lines.with_columns(**errors, **({"|sum": _PRED + _LABEL} if errors else {}))
    aggregates = {name: pl.col(name).sum() for name in (*sums, *errors)}
    aggregates |= {"pred_mean": _PRED.mean(), "|pred_var": _PRED.var(ddof=0)}
    if errors:
        aggregates |= {"label_mean": _LABEL.mean(), "|label_var": _LABEL.var(ddof=0)}
        aggregates["|sum_var"] = pl.col("|sum").var(ddof=0)
    table = lines.group_by(keys).agg(**aggregates)
    size, named = pl.col("n"), {"pred_m2": pl.col("|pred_var")}
    if errors:
        # The variance of the sum holds twice the covariance beside the two variances.
        twice = pl.col("|sum_var") - pl.col("|pred_var") - pl.col("|label_var")
        named |= {"label_m2": pl.col("|label_var"), "pred_label": twice / 2}
    return table.with_columns(**{name: size * value for name, value in named.items()})


def _centres(rows: pl.LazyFrame, slices: Sequence[str]) -> pl.LazyFrame:
    """Give the plain means of every slice, of its finite numbers."""
    names = [name for name in rows.collect_schema().names() if name not in slices]
    finite = {name: pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in names}
    means = [v.mean().fill_null(0.0).alias(f"|{name}_centre") for name, v in finite.items()]
    return rows.group_by(slices).agg(means) if slices else rows.select(means)


def _weighted_moments(
    lines: pl.LazyFrame,
    keys: Sequence[str],
    sums: Sequence[str],
    centres: pl.LazyFrame,
    slices: Sequence[str],
) -> pl.LazyFrame:
    """Sum up with weights, about the slice's plain means."""
    errors = _errors(lines)
    numbers = ["pred", *(["label"] if errors else [])]
    off = {name: pl.col(name) - pl.col(f"|{name}_centre") for name in numbers}
    lines = joined(lines, centres, slices, how="left").with_columns(**off, **errors)
    values = {f"|{name}_1": pl.col(name) for name in numbers}
    values |= {f"|{name}_2": pl.col(name) ** 2 for name in numbers}
    values |= {"|product": _PRED * _LABEL} if errors else {}
    values |= {name: pl.col(name) for name in errors}
    # Nobody is there with weight 0, not even with an infinite value.
    there = pl.when(_W > 0)
    lines = lines.with_columns(**{name: there.then(_W * v) for name, v in values.items()})
    centre = [pl.col(f"|{name}_centre").first() for name in numbers]
    table = lines.group_by(keys).agg(pl.col(*sums, *values, BAD).sum(), *centre)
    first = {name: pl.col(f"|{name}_1") / _W for name in numbers}
    named = {f"{n}_mean": pl.col(f"|{n}_centre") + first[n] for n in numbers}
    for name in numbers:
        squares, about = pl.col(f"|{name}_2"), pl.col(f"|{name}_1") * first[name]
        # Less than the rounding of the squares is nothing: equal values have no variance.
        beyond = squares - about > 1e-14 * squares
        named[f"{name}_m2"] = pl.when(beyond).then(squares - about).otherwise(0.0)
    if errors:
        named["pred_label"] = pl.col("|product") - pl.col("|pred_1") * first["label"]
    return table.with_columns(**named)


def _finished(
    table: pl.LazyFrame,
    columns: Mapping[str, Column],
    keys: Sequence[str],
    parts: Sequence[str],
    bins: Any,
) -> pl.LazyFrame:
    """Name the bins, tie the faults to the sums; moments of no rows are 0."""
    binned = bins is not _NO_BINS
    faults = bin_faults(bins, "pred") if binned else []
    faults += [weight_fault(columns["weight"])] if "weight" in columns else []
    sums = ["n", *(("w", "w2") if "weight" in columns else ()), "pred_mean", "pred_m2"]
    if "label" in columns:
        sums += ["label_mean", "label_m2", "pred_label", "abs_error", "squared_error"]
    moments = [name for name in sums if name not in WEIGHTED_SUMS]
    # Those of numbers that are infinite either way stay NaN, which formulas call undefined.
    some = pl.when(pl.col("w" if "weight" in columns else "n") > 0)
    table = table.with_columns(
        some.then(pl.col(name)).otherwise(0.0).fill_null(0.0).alias(name) for name in moments
    )
    table = table.with_columns(**bin_edges(bins)) if binned else table
    table = stopping(table, faults, sums)
    edges = ["low", "high"] if binned else []
    return gather_group(table, parts).select(*keys, *edges, *sums)


# --- how tables add up --------------------------------------------------------------------------


def mean_over(name: str, weight: pl.Expr) -> pl.Expr:
    """Give the mean of lines' means."""
    # A line without weight is not there, not even with an infinite mean.
    return pl.when(weight > 0).then(weight * pl.col(name)).sum() / weight.sum()


def about_mean(square: str, one: str, other: str, weight: pl.Expr) -> pl.Expr:
    """Add up sums of products about the mean, by Chan's formula."""
    apart = [pl.col(name) - mean_over(name, weight) for name in (one, other)]
    return (pl.when(weight > 0).then(pl.col(square) + weight * apart[0] * apart[1])).sum()


def _of_some(value: pl.Expr, weight: pl.Expr) -> pl.Expr:
    """Give a moment; that of no rows is 0."""
    return pl.when(weight.sum() > 0).then(value).otherwise(0.0)


_LABEL_SUMS = ("label_mean", "label_m2", "pred_label", "abs_error", "squared_error")


def _sums(columns: Sequence[str]) -> dict[str, pl.Expr]:
    """Say how lines merge, in a table with or without weights."""
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


_OPTIONAL = {
    "w": pl.col("n"),
    "w2": pl.col("n"),
    **dict.fromkeys(_LABEL_SUMS, pl.lit(None, pl.Float64)),
}
_KNOWN = {"pred": pl.col("predicted"), "label": pl.col("labelled")}
_CELLS = ("group", "predicted", "labelled", "low", "high")

outcomes = Tally(
    name="fairness.outcomes",
    count=_count_outcomes,
    cells=_CELLS,
    sums=_sums,
    defaults=_OPTIONAL,
    known=_KNOWN,
)

outcome_bins = Tally(
    name="fairness.outcome_bins",
    count=_count_outcome_bins,
    cells=_CELLS,
    sums=_sums,
    defaults=_OPTIONAL,
    contains=(outcomes,),
    single=("bins",),
    known=_KNOWN,
)


# --- the rows at or above a quantile ------------------------------------------------------------


def kept(table: pl.LazyFrame, slices: Sequence[str], q: float) -> pl.LazyFrame:
    """Give each line its weight: of all its predictions, of those kept, of those kept with label.

    Kept are the lines at or above the q-quantile of all predictions of the slice; ``edge`` is the
    weight of the lowest bin kept, of which some rows may lie below the quantile.
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
    """Give, per slice and level, the quantile ``at`` of the predictions, and the lowest bin kept.

    ``level`` is the place in `levels`. The quantile is NumPy's linear one, its arithmetic included:
    with h = (n - 1) q, between the values of ranks floor(h) and floor(h) + 1.
    """
    values = table.filter("predicted").group_by(*slices, "low").agg(pl.col("size").sum())
    values = values.with_columns(pl.col("size").cast(pl.Float64)).filter(pl.col("size") > 0)
    values = values.with_columns(through=running(pl.col("size").cum_sum(), slices, "low")).cache()
    total = pl.col("through").max().alias("total")
    totals = values.group_by(slices).agg(total) if slices else values.select(total)
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
    """Find the value of a rank: the lowest with more than that many rows at or below it."""
    ranks = wanted.select(*slices, "level", through=rank, is_rank=pl.lit(value=True))
    known = values.select(*slices, "through", value="low", is_rank=pl.lit(value=False))
    stacked = pl.concat([ranks, known], how="diagonal")
    # Every rank takes the value that follows it; one with exactly that many rows comes before.
    filled = pl.col("value").backward_fill()
    stacked = stacked.sort("through", "is_rank")
    filled = filled.over(list(slices)) if slices else filled
    found = (
        stacked.with_columns(filled.alias(name)).filter("is_rank").select(*slices, "level", name)
    )
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
    """Raise when `q` is no level, or the table has no bins to find its quantile in."""
    q = metric.option("q")
    if not isinstance(q, int | float) or not 0 <= q <= 1:
        msg = f"`q` is a level from 0 to 1, such as 0.8; got {q!r}"
        raise ValueError(msg)
    if q > 0 and "low" not in schema:
        msg = (
            f"`{metric.name}` with `q={q}` needs the bins of the predictions, and this table has"
            " none: count it with `fairness.outcome_bins`"
        )
        raise ValueError(msg)
