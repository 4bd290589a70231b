"""`interval`: values with limits, for any metrics, as `evaluate` returns them without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

from polarsfair._audit._evidence.answer import intervals
from polarsfair._audit._evidence.counted import counted_rows, counted_tables
from polarsfair._audit._evidence.question import Question, check_confidence, check_draws
from polarsfair._engine.columns import columns_of
from polarsfair._engine.evaluate import stored_tables
from polarsfair._engine.frames import as_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from polarsfair._engine.metric import Metric
    from polarsfair._engine.tally import Tally
    from polarsfair._typing import EagerFrame, IntoFrame, IntoSlices, Keywords

    LazyTables: TypeAlias = pl.LazyFrame | Sequence[pl.LazyFrame]
    EagerTables: TypeAlias = EagerFrame | Sequence[EagerFrame]

_COLUMNS = ("metric", "value", "low", "high", "method")


@overload
def interval(
    frame: pl.LazyFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    method: Literal["auto", "draws"] = ...,
    confidence: float = ...,
    draws: int = ...,
    seed: int = ...,
    **keywords: Unpack[Keywords],
) -> pl.LazyFrame: ...
@overload
def interval(
    frame: EagerFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    method: Literal["auto", "draws"] = ...,
    confidence: float = ...,
    draws: int = ...,
    seed: int = ...,
    **keywords: Unpack[Keywords],
) -> pl.DataFrame: ...
def interval(
    frame: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = None,
    method: Literal["auto", "draws"] = "auto",
    confidence: float = 0.95,
    draws: int = 2_000,
    seed: int = 0,
    **keywords: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Return values with their confidence limits: a row per slice and metric.

    Parameters
    ----------
    frame
        Eager, lazy, or anything with the Arrow C stream interface.
    metrics
        Metrics of any family that describe one group. What compares groups has limits in
        `pf.audit`, which knows all pairs.
    by
        Slices.
    method
        ``"auto"``: the rule that fits the metric, see `pf.audit`; ``"draws"``: percentiles of
        replicates of the table, also of metrics that have a rule of their own.
    confidence
        How often the limits hold the true value.
    draws, seed
        How many replicates are drawn where no rule fits, and from which seed.
    **keywords
        Roles and options, as in `evaluate`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The slices, ``metric``, keys such as ``k``, ``value``, ``low``, ``high`` and ``method``; the
        kind of frame that was given.

    References
    ----------
    Wilson (1927). Probable Inference, the Law of Succession, and Statistical Inference. Journal of
    the American Statistical Association 22(158), 209-212.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFFFMMMM"), "hired": [0, 1, 0, 0, 1, 1, 0, 1]})
    >>> pf.interval(df, fairness.selection_rate, pred="hired", by="sex")
    shape: (2, 6)
    ┌─────┬────────────────┬───────┬──────────┬──────────┬────────┐
    │ sex ┆ metric         ┆ value ┆ low      ┆ high     ┆ method │
    │ --- ┆ ---            ┆ ---   ┆ ---      ┆ ---      ┆ ---    │
    │ str ┆ str            ┆ f64   ┆ f64      ┆ f64      ┆ str    │
    ╞═════╪════════════════╪═══════╪══════════╪══════════╪════════╡
    │ F   ┆ selection_rate ┆ 0.25  ┆ 0.045587 ┆ 0.699358 ┆ wilson │
    │ M   ┆ selection_rate ┆ 0.75  ┆ 0.300642 ┆ 0.954413 ┆ wilson │
    └─────┴────────────────┴───────┴──────────┴──────────┴────────┘
    """
    columns, question = (
        columns_of(by),
        _question(by, method, confidence, draws, seed, keywords.get("unit")),
    )
    counted = counted_rows(frame, metrics, columns, [], question, keywords)
    return counted.call.as_given(intervals(counted, question), frame)


@overload
def interval_table(
    table: pl.LazyFrame | Sequence[pl.LazyFrame] | Mapping[Tally, LazyTables],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    method: Literal["auto", "draws"] = ...,
    confidence: float = ...,
    draws: int = ...,
    seed: int = ...,
    **options: Unpack[Keywords],
) -> pl.LazyFrame: ...
@overload
def interval_table(
    table: EagerFrame | Sequence[EagerFrame] | Mapping[Tally, EagerTables],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    method: Literal["auto", "draws"] = ...,
    confidence: float = ...,
    draws: int = ...,
    seed: int = ...,
    **options: Unpack[Keywords],
) -> pl.DataFrame: ...
def interval_table(
    table: IntoFrame | Sequence[IntoFrame] | Mapping[Tally, IntoFrame | Sequence[IntoFrame]],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = None,
    method: Literal["auto", "draws"] = "auto",
    confidence: float = 0.95,
    draws: int = 2_000,
    seed: int = 0,
    **options: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Return values with their confidence limits, from stored tables.

    Parameters
    ----------
    table
        One table, several stacked in one frame, a list of them, or a mapping from tallies to their
        tables, as in `measure`.
    metrics, by, method, confidence, draws, seed
        As in `interval`.
    **options
        Options of the metrics.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        As `interval` of the rows that were counted.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"day": [1, 1, 2, 2], "hired": [0, 1, 1, 1]})
    >>> table = fairness.decisions(df, pred="hired", by="day")
    >>> pf.interval_table(table, fairness.selection_rate)
    shape: (1, 5)
    ┌────────────────┬───────┬──────────┬──────────┬────────┐
    │ metric         ┆ value ┆ low      ┆ high     ┆ method │
    │ ---            ┆ ---   ┆ ---      ┆ ---      ┆ ---    │
    │ str            ┆ f64   ┆ f64      ┆ f64      ┆ str    │
    ╞════════════════╪═══════╪══════════╪══════════╪════════╡
    │ selection_rate ┆ 0.75  ┆ 0.300642 ┆ 0.954413 ┆ wilson │
    └────────────────┴───────┴──────────┴──────────┴────────┘
    """
    columns, question = (
        columns_of(by),
        _question(by, method, confidence, draws, seed, options.get("unit")),
    )
    counted = counted_tables(table, metrics, columns, [], question, options)
    return as_given(intervals(counted, question), *stored_tables(table))


def _question(
    by: IntoSlices | None,
    method: str,
    confidence: float,
    draws: int,
    seed: int,
    unit: object,
) -> Question:
    """Check the arguments, and that no slice is called like a column of the result."""
    check_confidence(confidence)
    check_draws(draws, seed)
    if method not in ("auto", "draws"):
        msg = f"`method` is 'auto' or 'draws'; got {method!r}"
        raise ValueError(msg)
    for name in (column.meta.output_name() for column in columns_of(by)):
        if name in _COLUMNS:
            msg = f'a slice cannot be named {name!r} here: rename it with `.alias("...")`'
            raise ValueError(msg)
    return Question(
        confidence=confidence,
        draws=draws,
        seed=seed,
        unit=unit is not None,
        all_drawn=method == "draws",
    )
