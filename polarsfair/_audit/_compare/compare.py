"""`compare`: how much a second model changes every metric, on the same rows or users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

import polars as pl

from polarsfair._audit._compare.changes import RESULT, Settings, finished
from polarsfair._audit._compare.decisions import changes_of_decisions, joint_table
from polarsfair._audit._compare.lists import changes_of_lists, is_of_lists, values_of_users
from polarsfair._audit._parity.parity import check_draws
from polarsfair._engine.columns import columns_of
from polarsfair._engine.evaluate import prepare
from polarsfair._engine.frames import as_given, as_lazy, read_once
from polarsfair._engine.request import check_names, keys_of, listed_metrics
from polarsfair._engine.slices import hidden_slices
from polarsfair._engine.tally import check_distinct, given_roles
from polarsfair.fairness._decisions.rates import decisions

if TYPE_CHECKING:
    from polarsfair._engine.metric import Metric
    from polarsfair._typing import CompareKeywords, EagerFrame, IntoColumn, IntoFrame, IntoSlices

Adjust: TypeAlias = Literal["holm", "bh", "none"]


@overload
def compare(
    frame: pl.LazyFrame,
    metrics: Metric | Sequence[Metric],
    *,
    other: IntoColumn | IntoFrame,
    by: IntoSlices | None = ...,
    confidence: float = ...,
    adjust: Adjust = ...,
    draws: int = ...,
    seed: int = ...,
    **keywords: Unpack[CompareKeywords],
) -> pl.LazyFrame: ...
@overload
def compare(
    frame: EagerFrame,
    metrics: Metric | Sequence[Metric],
    *,
    other: pl.LazyFrame,
    by: IntoSlices | None = ...,
    confidence: float = ...,
    adjust: Adjust = ...,
    draws: int = ...,
    seed: int = ...,
    **keywords: Unpack[CompareKeywords],
) -> pl.LazyFrame: ...
@overload
def compare(
    frame: EagerFrame,
    metrics: Metric | Sequence[Metric],
    *,
    other: IntoColumn | EagerFrame,
    by: IntoSlices | None = ...,
    confidence: float = ...,
    adjust: Adjust = ...,
    draws: int = ...,
    seed: int = ...,
    **keywords: Unpack[CompareKeywords],
) -> pl.DataFrame: ...
def compare(
    frame: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    other: IntoColumn | IntoFrame,
    by: IntoSlices | None = None,
    confidence: float = 0.95,
    adjust: Adjust = "holm",
    draws: int = 2_000,
    seed: int = 0,
    **keywords: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Compare two models on the same rows, or on the same users.

    Both models are measured on what both can be measured on, so that only the model differs. The
    limits of the change are narrower than those of two separate samples, because rows that are
    easy or hard are so for both models.

    Parameters
    ----------
    frame
        Rows with the predictions of both models, or the recommendations of the first model.
    metrics
        Metrics of binary decisions, such as `fairness.true_positive_rate`, `fairness.f1` or
        `fairness.stat_parity`; or quality metrics of ranked lists, such as `ranking.ndcg`.
    other
        The second model: the column of its predictions, beside ``pred=``; or the frame of its
        recommendations.
    by
        Slices: column names or expressions.
    confidence
        The share of samples whose limits contain the true change.
    adjust
        How p-values are adjusted for the metrics of one slice: ``"holm"``, ``"bh"`` (Benjamini and
        Hochberg) or ``"none"``.
    draws, seed
        How often the table is drawn for metrics that are not shares, and signs for lists; and where
        the generator starts. It starts anew for every slice.
    **keywords
        Further roles and options, as in `evaluate`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per slice, metric and key (such as ``k``): ``n`` rows or users that both models are
        measured on, ``value``, ``other_value``, ``change`` (other minus first) with its limits
        ``change_low`` and ``change_high``, ``p_value``, ``p_adjusted``, and the ``method``.

    Notes
    -----
    The method is one of:

    * ``mcnemar``: a share of rows that are the same for both models, such as the true positive
      rate. Limits combine those of both values, with their correlation; the p-value is that of
      McNemar's test, which is exact below 25 rows whose prediction changes;
    * ``paired``: a share of rows that depend on the model, such as the precision; the p-value is
      that of the normal distribution, with the variance of the paired difference;
    * ``draws``: any other metric, from replicates of the table of both models. Of the largest
      gap between groups, the limits are those of its change if every pair of groups may be off by
      as much as the one that is off most in a replicate: percentiles alone would exclude parity;
    * ``sign flips``: means over users, whose p-value exchanges the two models of random users;
    * ``none``: no limits, because a value is not defined, or because the table is too large to be
      drawn 200 times.

    A row that lacks one of the predictions counts for neither model. Without the label of a row,
    metrics that read it leave the row out. A user whom a metric leaves out of one model's mean is
    left out of both.

    References
    ----------
    Newcombe (1998). Interval Estimation for the Difference Between Independent Proportions:
    Comparison of Eleven Methods. Statistics in Medicine 17(8), 873-890.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"old": [0, 1, 0, 1] * 10, "new": [1, 1, 0, 1] * 10, "y": [1, 1, 0, 0] * 10}
    ... )
    >>> found = pf.compare(df, fairness.accuracy, pred="old", other="new", label="y")
    >>> found.select("metric", "value", "other_value", "change", "p_value", "method")
    shape: (1, 6)
    ┌──────────┬───────┬─────────────┬────────┬──────────┬─────────┐
    │ metric   ┆ value ┆ other_value ┆ change ┆ p_value  ┆ method  │
    │ ---      ┆ ---   ┆ ---         ┆ ---    ┆ ---      ┆ ---     │
    │ str      ┆ f64   ┆ f64         ┆ f64    ┆ f64      ┆ str     │
    ╞══════════╪═══════╪═════════════╪════════╪══════════╪═════════╡
    │ accuracy ┆ 0.5   ┆ 0.75        ┆ 0.25   ┆ 0.001953 ┆ mcnemar │
    └──────────┴───────┴─────────────┴────────┴──────────┴─────────┘
    """
    settings = _settings(confidence, adjust, draws, seed)
    frame, other = read_once(frame), read_once(other)
    given = {name: read_once(value) for name, value in given_roles(keywords).items()}
    listed, slices = listed_metrics(metrics), columns_of(by)
    compared = _of_rows if isinstance(other, (str, pl.Expr)) else _of_lists
    result = compared(frame, listed, other, slices, given, settings)
    return as_given(result, frame, other, *given.values())


def _settings(confidence: Any, adjust: object, draws: int, seed: int) -> Settings:
    number = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
    if not number or not 0 < float(confidence) < 1:
        msg = f"`confidence` is a number between 0 and 1, such as 0.95, got {confidence!r}"
        raise ValueError(msg)
    if adjust not in ("holm", "bh", "none"):
        msg = f'`adjust` is one of "holm", "bh" and "none", got {adjust!r}'
        raise ValueError(msg)
    check_draws(draws, seed)
    return Settings(float(confidence), str(adjust), draws, seed)


def _check_columns(metrics: Sequence[Metric], slices: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of the result; raise if a slice or key is called like another column."""
    keys = keys_of(metrics)
    check_names(metrics, slices)
    check_distinct([*slices, *keys])
    for name in slices:
        if name == "metric" or name in RESULT:
            msg = (
                f"a slice cannot be named {name!r} here, because the result has that column: rename"
                f' it, `by=pl.col("{name}").alias("{name}_slice")`'
            )
            raise ValueError(msg)
    return keys


def _of_rows(
    frame: IntoFrame,
    metrics: Sequence[Metric],
    other: Any,
    by: list[pl.Expr],
    given: dict[str, Any],
    settings: Settings,
) -> pl.LazyFrame:
    """Compare two columns of predictions."""
    for metric in metrics:
        _check_decides(metric)
    if "pred" not in given:
        msg = '`other` is compared with `pred`: add `pred="<column>"`, the first model\'s decisions'
        raise TypeError(msg)
    if isinstance(given.get("group"), Mapping):
        msg = (
            "`compare` counts rows per group, and `group` as a mapping holds probabilities: pass a"
            " column, such as `group=fairness.most_likely({...})`"
        )
        raise TypeError(msg)
    call = prepare(frame, metrics, by, given)
    for metric in call.metrics:
        _check_decides(metric)
    keys = _check_columns(call.metrics, call.slices)
    inner = hidden_slices(call.slices)
    named = [one.alias(name) for one, name in zip(by, inner.values(), strict=True)]
    table = joint_table(as_lazy(frame), named, other, given)
    parts = changes_of_decisions(table, call.metrics, list(inner.values()), settings)
    result = finished(parts, call.metrics, list(inner.values()), keys, settings)
    return result.rename({name: shown for shown, name in inner.items()})


def _check_decides(metric: Metric) -> None:
    """Raise if a metric does not read a table of binary decisions."""
    full = f"{metric.family}.{metric.name}"
    if metric.tally is decisions or metric.tally in decisions.contains:
        if "pred" in metric.roles:
            return
        msg = f"`{full}` does not read `pred`, so that it is the same for both models: leave it out"
        raise TypeError(msg)
    if is_of_lists(metric):
        msg = (
            f"`{full}` compares lists: pass the recommendations of the second model,"
            " `other=<frame>`"
        )
        raise TypeError(msg)
    msg = (
        f"`{full}` cannot be compared, because it reads a table of `{metric.tally.name}` and not of"
        " decisions: compare metrics of `pred` and `other`, such as `fairness.accuracy`"
    )
    raise TypeError(msg)


def _of_lists(
    frame: IntoFrame,
    metrics: Sequence[Metric],
    other: Any,
    by: list[pl.Expr],
    given: dict[str, Any],
    settings: Settings,
) -> pl.LazyFrame:
    """Compare two frames of recommendations."""
    if not isinstance(other, (pl.DataFrame, pl.LazyFrame)):
        msg = (
            f'`other` is a column of predictions, `other="new"`, or a frame of recommendations, got'
            f" {type(other).__name__}"
        )
        raise TypeError(msg)
    for metric in metrics:
        if not is_of_lists(metric):
            example = "pass the column of the second model's predictions, `pred=..., other=...`"
            msg = (
                f"`{metric.family}.{metric.name}` is not a mean over users' lists, which"
                f" `other=<frame>` compares: {example}, or metrics such as `ranking.ndcg`"
            )
            raise TypeError(msg)
    values = values_of_users([as_lazy(frame), other.lazy()], metrics, by, given)
    keys = _check_columns(values.metrics, values.slices)
    inner = hidden_slices(values.slices)
    parts = changes_of_lists(values, inner, keys, settings)
    result = finished(parts, values.metrics, list(inner.values()), keys, settings)
    return result.rename({name: shown for shown, name in inner.items()})
