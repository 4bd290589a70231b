"""Frames computed from the table of scores: curves, calibration, decision metrics by threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.evaluate import completed, tabulate
from polarsfair._engine.faults import Fault, guarded
from polarsfair._engine.frames import lazy_or_eager
from polarsfair._engine.group_pairs import few_pairs
from polarsfair._engine.read import read
from polarsfair._engine.request import all_options, check_names, listed_metrics
from polarsfair._engine.slices import aggregated, hidden, hidden_slices, joined, over, running
from polarsfair._engine.stored import merge, stack
from polarsfair._engine.tally import check_distinct, check_keywords, slice_names
from polarsfair._formula import quotient
from polarsfair.fairness._decisions.rates import decisions
from polarsfair.fairness._scores.bins import numbers_of, without_overlap
from polarsfair.fairness._scores.quality import calibrated, label_weights, ranks, scores

if TYPE_CHECKING:
    from polarsfair._engine.metric import Metric
    from polarsfair._typing import IntoColumn, IntoGroup, IntoSlices
    from polarsfair.fairness._scores.bins import Bins

__all__ = ["calibration", "precision_recall", "roc", "thresholds"]

_SUMS = ("n", "w", "w2")


@lazy_or_eager
def roc(
    frame: pl.LazyFrame,
    /,
    *,
    score: IntoColumn | None = None,
    label: IntoColumn | None = None,
    group: IntoGroup | None = None,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    bins: Bins = 1000,
) -> pl.LazyFrame:
    """Compute the ROC curve of every group: true and false positive rate at every threshold.

    Parameters
    ----------
    frame
        Rows with the roles below; or, without `score`, a table of `scores`.
    score, label, group, weight
        Columns or expressions. Without `group` there is one curve per slice.
    by
        Slices; of a table, those to keep.
    bins
        As in `scores`; a threshold is the lower edge of a bin that holds a row.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        Slices, ``group``, ``threshold``, ``fpr``, ``tpr``: a row per group and bin edge, from the
        highest threshold down, starting at infinity, which selects no rows.

    Notes
    -----
    A row is selected if score >= threshold. With ``bins=None`` it is scikit-learn's
    ``roc_curve(..., drop_intermediate=False)``. The rate of a class that a group lacks is null.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})
    >>> fairness.roc(df, score="p", label="y")
    shape: (5, 3)
    ┌───────────┬─────┬─────┐
    │ threshold ┆ fpr ┆ tpr │
    │ ---       ┆ --- ┆ --- │
    │ f64       ┆ f64 ┆ f64 │
    ╞═══════════╪═════╪═════╡
    │ inf       ┆ 0.0 ┆ 0.0 │
    │ 0.8       ┆ 0.0 ┆ 0.5 │
    │ 0.4       ┆ 0.5 ┆ 0.5 │
    │ 0.35      ┆ 0.5 ┆ 1.0 │
    │ 0.1       ┆ 1.0 ┆ 1.0 │
    └───────────┴─────┴─────┘
    """
    roles = {"score": score, "label": label, "group": group, "weight": weight}
    table, keys = _scored(frame, roles, by, bins, ["label"], ["threshold", "fpr", "tpr"])
    lines = _curve(table, keys)
    rates = lines.select(
        *keys,
        "threshold",
        fpr=quotient(pl.col("neg_down"), pl.col("negatives")),
        tpr=quotient(pl.col("pos_down"), pl.col("positives")),
    )
    # If a rate is null everywhere because there are no rows, its starting point is null too.
    start = {rate: pl.col(rate).max() * 0 for rate in ("fpr", "tpr")}
    first = aggregated(rates, keys, {"threshold": pl.lit(float("inf")), **start})
    return _from_the_top(pl.concat([first, rates], how="vertical"), keys, by)


@lazy_or_eager
def precision_recall(
    frame: pl.LazyFrame,
    /,
    *,
    score: IntoColumn | None = None,
    label: IntoColumn | None = None,
    group: IntoGroup | None = None,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    bins: Bins = 1000,
) -> pl.LazyFrame:
    """Compute the precision-recall curve of every group, at every threshold.

    Parameters
    ----------
    frame, score, label, group, weight, by, bins
        As in `roc`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        Slices, ``group``, ``threshold``, ``precision``, ``recall``: a row per group and bin edge,
        from the highest threshold down.

    Notes
    -----
    With ``bins=None`` it is scikit-learn's ``precision_recall_curve`` in reverse order, without the
    point (recall 0, precision 1) that scikit-learn adds by convention.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})
    >>> fairness.precision_recall(df, score="p", label="y").head(2)
    shape: (2, 3)
    ┌───────────┬───────────┬────────┐
    │ threshold ┆ precision ┆ recall │
    │ ---       ┆ ---       ┆ ---    │
    │ f64       ┆ f64       ┆ f64    │
    ╞═══════════╪═══════════╪════════╡
    │ 0.8       ┆ 1.0       ┆ 0.5    │
    │ 0.4       ┆ 0.5       ┆ 0.5    │
    └───────────┴───────────┴────────┘
    """
    roles = {"score": score, "label": label, "group": group, "weight": weight}
    table, keys = _scored(frame, roles, by, bins, ["label"], ["threshold", "precision", "recall"])
    positives = pl.col("pos_down")
    lines = _curve(table, keys).select(
        *keys,
        "threshold",
        precision=quotient(positives, positives + pl.col("neg_down")),
        recall=quotient(positives, pl.col("positives")),
    )
    return _from_the_top(lines, keys, by)


@lazy_or_eager
def calibration(
    frame: pl.LazyFrame,
    /,
    *,
    score: IntoColumn | None = None,
    label: IntoColumn | None = None,
    group: IntoGroup | None = None,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    bins: Bins = 1000,
    calibration_bins: int = 10,
) -> pl.LazyFrame:
    """Compute the calibration curve of every group: mean score and share of positives by bin.

    Parameters
    ----------
    frame, score, label, group, weight, by, bins
        As in `roc`.
    calibration_bins
        The number of equal bins over 0 to 1; their edges must be edges of `bins`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        Slices, ``group``, the bin ``low`` and ``high``, ``mean_score``, ``positive_rate`` and
        ``n`` (rows): a row per group and bin that holds a row with a score and a label.

    Notes
    -----
    Exact for any bins. `expected_calibration_error` is the mean of the distances, weighted by the
    rows. It is scikit-learn's ``calibration_curve``, except that a score on an edge belongs to the
    bin above it. In scikit-learn it belongs to the bin below, for all but the first edge.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.1, 0.3, 0.6, 0.8], "y": [0, 0, 1, 1]})
    >>> fairness.calibration(df, score="p", label="y", calibration_bins=2)
    shape: (2, 5)
    ┌─────┬──────┬────────────┬───────────────┬─────┐
    │ low ┆ high ┆ mean_score ┆ positive_rate ┆ n   │
    │ --- ┆ ---  ┆ ---        ┆ ---           ┆ --- │
    │ f64 ┆ f64  ┆ f64        ┆ f64           ┆ i64 │
    ╞═════╪══════╪════════════╪═══════════════╪═════╡
    │ 0.0 ┆ 0.5  ┆ 0.2        ┆ 0.0           ┆ 2   │
    │ 0.5 ┆ 1.0  ┆ 0.7        ┆ 1.0           ┆ 2   │
    └─────┴──────┴────────────┴───────────────┴─────┘
    """
    roles = {"score": score, "label": label, "group": group, "weight": weight}
    columns = ["low", "high", "mean_score", "positive_rate", "n"]
    table, keys = _scored(frame, roles, by, bins, ["label"], columns)
    known = table.filter(pl.col("label").is_not_null() & pl.col("low").is_not_null())
    lines = calibrated(known, keys, calibration_bins=calibration_bins)
    number = pl.col("calibration_bin").cast(pl.Float64)
    width = number * 0 + calibration_bins
    lines = lines.select(
        *keys,
        low=number / width,
        high=(number + 1) / width,
        mean_score=quotient(pl.col("total"), pl.col("size")),
        positive_rate=quotient(pl.col("positives"), pl.col("size")),
        n="n",
    )
    return _with_callers_slices(lines.sort(*keys, "low"), by)


@lazy_or_eager
def thresholds(
    frame: pl.LazyFrame,
    /,
    metrics: Metric | Sequence[Metric],
    *,
    score: IntoColumn | None = None,
    label: IntoColumn | None = None,
    group: IntoGroup | None = None,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    bins: Bins = 1000,
    at: Sequence[float] | None = None,
    **options: Any,
) -> pl.LazyFrame:
    """Compute decision metrics at every threshold of the score, from one count of the rows.

    Parameters
    ----------
    frame
        Rows with the roles below; or, without `score`, a table of `scores`.
    metrics
        Metrics of decisions: rates, comparisons, indices.
    score, label, group, weight, by, bins
        As in `roc`; `label` and `group` only if a metric reads them.
    at
        The requested thresholds, which must be edges of `bins`. Without it, every edge at which a
        decision of the slice changes.
    **options
        Options of the metrics, such as ``ref=``.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        Slices, ``threshold`` and a column per metric, sorted.

    Notes
    -----
    A row is selected if score >= threshold. Each row of the result equals ``evaluate`` with
    ``pred=pl.col(score) >= threshold``, but the frame is read once.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "p": [0.2, 0.6, 0.6, 0.9]})
    >>> fairness.thresholds(df, [fairness.stat_parity], group="sex", score="p")
    shape: (3, 2)
    ┌───────────┬─────────────┐
    │ threshold ┆ stat_parity │
    │ ---       ┆ ---         │
    │ f64       ┆ f64         │
    ╞═══════════╪═════════════╡
    │ 0.2       ┆ 0.0         │
    │ 0.6       ┆ 0.5         │
    │ 0.9       ┆ 0.5         │
    └───────────┴─────────────┘
    """
    chosen = _decision_metrics(metrics, options)
    _check_thresholds(at)
    roles = {"score": score, "label": label, "group": group, "weight": weight}
    read_by = dict.fromkeys(role for metric in chosen for role in metric.roles)
    needed = [role for role in read_by if role != "pred"]
    columns = ["threshold", *(metric.name for metric in chosen)]
    check_names(chosen, ["threshold"])
    table, slices = _scored(frame, roles, by, bins, needed, columns, grouped=False)
    decided = _decided(without_overlap(table, "n"), slices, at).cache()
    keys = [*slices, "threshold"]
    result = read(completed(decided, decisions, chosen), chosen, keys)
    return _with_callers_slices(
        result.select(*keys, *(metric.name for metric in chosen)).sort(keys), by
    )


# --- what they share ----------------------------------------------------------------------------


def _scored(
    rows: pl.LazyFrame,
    roles: dict[str, Any],
    by: IntoSlices | None,
    bins: Bins,
    needed: Sequence[str],
    columns: Sequence[str],
    *,
    grouped: bool = True,
) -> tuple[pl.LazyFrame, list[str]]:
    """Count rows, or merge tables. Return the table and its keys: hidden slices, and group."""
    given = {role: into for role, into in roles.items() if into is not None}
    slices = columns_of(by)
    inner = hidden_slices(slice_names(slices, scores))
    check_distinct([*inner, *columns])
    if not given:
        table = scores.with_defaults(
            merge(stack([rows], scores), scores, slices, _table_columns(rows, needed))
        )
    else:
        for role in ("score", *needed):
            if role not in given:
                msg = f'the role `{role}` is needed: add `{role}="<column>"`'
                raise TypeError(msg)
        table, _ = tabulate(rows, scores, [], slices, {**given, "bins": bins})
    table = table.rename(inner)
    has_group = "group" in table.collect_schema().names()
    return table, [*inner.values(), *(["group"] if has_group and grouped else [])]


def _table_columns(table: pl.LazyFrame, needed: Sequence[str]) -> list[str]:
    columns = table.collect_schema().names()
    missing = scores.lacks(columns, [*needed, "low", "high"])
    if missing:
        msg = (
            f"without `score` the frame is a table of `fairness.scores`, but this one has no column"
            f' {", ".join(map(repr, missing))} (it has {columns}): add `score="<column>"`'
        )
        raise ValueError(msg)
    return columns


def _curve(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return a line per key and bin that holds a labelled row, with the totals of the key."""
    positives, negatives = (over(pl.col(name).sum(), keys) for name in ("pos", "neg"))
    lines = ranks(label_weights(table), keys)
    lines = lines.with_columns(positives=positives, negatives=negatives)
    return lines.filter(pl.col("pos") + pl.col("neg") > 0).rename({"low": "threshold"})


def _from_the_top(lines: pl.LazyFrame, keys: Sequence[str], by: IntoSlices | None) -> pl.LazyFrame:
    """Sort by key and from the highest threshold down."""
    order = [*([False] * len(keys)), True]
    return _with_callers_slices(lines.sort(*keys, "threshold", descending=order), by)


def _with_callers_slices(result: pl.LazyFrame, by: IntoSlices | None) -> pl.LazyFrame:
    """Rename hidden slices to the caller's names."""
    inner = hidden_slices([column.meta.output_name() for column in columns_of(by)])
    return result.rename({name: shown for shown, name in inner.items()})


def _decision_metrics(metrics: Metric | Sequence[Metric], options: dict[str, Any]) -> list[Metric]:
    listed = listed_metrics(metrics)
    for metric in listed:
        if metric.tally is not decisions:
            msg = (
                "`thresholds` takes metrics of decisions, such as `fairness.stat_parity`; got"
                f" {metric!r}"
            )
            raise TypeError(msg)
    check_keywords(options, all_options(listed), (), "these metrics")
    return [metric.resolve(options) for metric in listed]


def _check_thresholds(at: object) -> None:
    if at is None:
        return
    if not isinstance(at, Sequence) or isinstance(at, str) or len(numbers_of(at)) != len(at):
        msg = f"`at` is a list of thresholds, such as `at=[0.25, 0.5]`; got {at!r}"
        raise ValueError(msg)


def _decided(
    table: pl.LazyFrame, slices: Sequence[str], at: Sequence[float] | None
) -> pl.LazyFrame:
    """Convert the table of scores to a table of decisions per threshold."""
    columns = table.collect_schema().names()
    cells = [*slices, *(cell for cell in ("group", "label") if cell in columns)]
    scored = pl.col("low").is_not_null()
    lines = table.group_by(*cells, "low").agg(pl.col(*_SUMS).sum())
    if "group" in cells:
        # Every group has a line per label and threshold.
        lines = few_pairs(lines, slices, 2 * pl.col("low").n_unique(), "at thresholds")
    lines = lines.cache()
    edges = lines.filter(scored).select(*slices, threshold="low").unique()
    wanted = edges
    if at is not None:
        lines = _on_edges(table, lines, at)
        requested = pl.LazyFrame(pl.Series("threshold", at, dtype=pl.Float64))
        wanted = joined(lines.select(slices).unique(), requested, []) if slices else requested
        edges = pl.concat([edges, wanted]).unique()
    decided = _selected(lines.filter(scored), edges, slices, cells)
    if at is not None:
        decided = decided.join(wanted, on=[*slices, "threshold"], how="semi", nulls_equal=True)
    unknown = joined(lines.filter(~scored).drop("low"), wanted, slices)
    names = [*cells, "threshold", "pred", *_SUMS]
    return pl.concat(
        [decided.select(names), unknown.with_columns(pred=pl.lit(None, pl.Boolean)).select(names)],
        how="vertical_relaxed",
    )


def _on_edges(table: pl.LazyFrame, lines: pl.LazyFrame, at: Sequence[float]) -> pl.LazyFrame:
    """Raise if a threshold lies inside a bin, because the rows of a bin cannot be separated."""
    inside, found = [(pl.col("low") < t) & (pl.col("high") > t) for t in at], hidden("inside")
    message = (
        "`at` holds a threshold inside a bin: pass edges of `bins=`, or count with `bins=None`"
    )
    facts = {found: pl.any_horizontal(*inside, pl.lit(value=False)).fill_null(value=False).any()}
    return guarded(lines, [], facts, [Fault(pl.col(found), message)], of=table)


def _selected(
    lines: pl.LazyFrame, edges: pl.LazyFrame, slices: Sequence[str], cells: Sequence[str]
) -> pl.LazyFrame:
    """Count, per cell and threshold, the rows that are selected and those that are not."""
    grid = joined(lines.select(cells).unique(), edges, slices) if cells else edges
    on = [*cells, "threshold"]
    full = grid.join(lines.rename({"low": "threshold"}), on=on, how="left", nulls_equal=True)
    full = full.with_columns(pl.col(*_SUMS).fill_null(0))
    selected = running(pl.col(*_SUMS).cum_sum(), cells, "threshold", descending=True)
    whole = over(pl.col(*_SUMS).sum(), cells)
    marked = full.select(*on, selected.name.suffix("_in"), whole.name.suffix("_all"))
    inside = {name: pl.col(f"{name}_in") for name in _SUMS}
    outside = {name: pl.col(f"{name}_all") - column for name, column in inside.items()}
    return pl.concat(
        marked.select(*on, **sums, pred=pl.lit(value=pred))
        for sums, pred in ((inside, True), (outside, False))
    )
