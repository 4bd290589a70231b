"""`parity_test`: whether the groups have the same rate, from one small table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

import numpy as np
import polars as pl

from polarsfair._audit._parity.statistics import (
    Found,
    exact,
    permutation,
    score,
    within_strata,
)
from polarsfair._audit.limits import weighted_size
from polarsfair._audit.values import fact_of, known_values
from polarsfair._engine.columns import columns_of
from polarsfair._engine.evaluate import prepare
from polarsfair._engine.faults import Fault, raise_faults
from polarsfair._engine.reference import GROUP
from polarsfair._engine.request import check_names, listed_metrics
from polarsfair._engine.slices import hidden, hidden_slices, over
from polarsfair._formula import Share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polarsfair._audit.limits import Floats
    from polarsfair._engine.metric import Metric
    from polarsfair._typing import EagerFrame, IntoFrame, IntoGroup, IntoSlices, RateKeywords

Method: TypeAlias = Literal["score", "exact", "permutation"]

_STRATUM = "stratum of the test"
"""Begins the slices that are strata, which cannot be hidden: a tally checks their names."""

_NUMBER = hidden("number")
_RESULT: dict[str, type[pl.DataType]] = {
    "metric": pl.String,
    "statistic": pl.Float64,
    "df": pl.Int64,
    "p_value": pl.Float64,
    "method": pl.String,
}


@overload
def parity_test(
    frame: pl.LazyFrame,
    rate: Metric | Sequence[Metric],
    *,
    group: IntoGroup,
    strata: IntoSlices | None = ...,
    by: IntoSlices | None = ...,
    method: Method = ...,
    draws: int = ...,
    seed: int = ...,
    **keywords: Unpack[RateKeywords],
) -> pl.LazyFrame: ...
@overload
def parity_test(
    frame: EagerFrame,
    rate: Metric | Sequence[Metric],
    *,
    group: IntoGroup,
    strata: IntoSlices | None = ...,
    by: IntoSlices | None = ...,
    method: Method = ...,
    draws: int = ...,
    seed: int = ...,
    **keywords: Unpack[RateKeywords],
) -> pl.DataFrame: ...
def parity_test(
    frame: IntoFrame,
    rate: Metric | Sequence[Metric],
    *,
    group: IntoGroup,
    strata: IntoSlices | None = None,
    by: IntoSlices | None = None,
    method: Method = "score",
    draws: int = 2_000,
    seed: int = 0,
    **keywords: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Test whether all groups have the same rate.

    A small p-value says that differences as large as these are rare between groups with the same
    rate. Rows of unknown group or stratum, and groups without a value, take no part.

    Parameters
    ----------
    frame
        Eager, lazy, or anything with the Arrow C stream interface.
    rate
        A share, such as `fairness.selection_rate` or `fairness.true_positive_rate`; or several.
    group
        Column, expression, or several of them (their intersection).
    strata
        Columns within whose values groups are compared, such as the department: the
        Cochran-Mantel-Haenszel test.
    by
        Slices: one test per slice.
    method
        ``"score"``: the chi-squared test, for any number of groups. ``"exact"``: Fisher's test of
        two groups. ``"permutation"``: any number of groups, by drawing which rows belong to which
        group. The last two count rows and take no weight.
    draws, seed
        How often a permutation is drawn, and where the generator starts. It starts anew for every
        slice and rate.
    **keywords
        Further roles, as in `evaluate`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The slices, ``metric``, ``statistic``, ``df`` (degrees of freedom), ``p_value`` and
        ``method``, sorted by slice, then in the order of the call. Null with fewer than two groups.

    Notes
    -----
    The statistic of the score test is chi-squared times (N - 1) / N, so that it is that of
    Cochran, Mantel and Haenszel with one stratum. No test has a continuity correction. With a
    weight, the number of rows is replaced by an effective one, as in intervals.

    With more than two groups within strata it is the general test of association.

    The statistic of the exact test is the odds ratio of the first two groups in their order.
    A permutation's p-value is ``(1 + h) / (1 + draws)``, with h the draws that are at least as
    unequal. From 10^9 rows on the score test replaces it, and ``method`` is ``score``.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F"] * 40 + ["M"] * 80, "hired": [1] * 12 + [0] * 60 + [1] * 48})
    >>> pf.parity_test(df, fairness.selection_rate, group="sex", pred="hired")
    shape: (1, 5)
    ┌────────────────┬───────────┬─────┬──────────┬────────┐
    │ metric         ┆ statistic ┆ df  ┆ p_value  ┆ method │
    │ ---            ┆ ---       ┆ --- ┆ ---      ┆ ---    │
    │ str            ┆ f64       ┆ i64 ┆ f64      ┆ str    │
    ╞════════════════╪═══════════╪═════╪══════════╪════════╡
    │ selection_rate ┆ 9.52      ┆ 1   ┆ 0.002032 ┆ score  │
    └────────────────┴───────────┴─────┴──────────┴────────┘
    """
    metrics, given = listed_metrics(rate), {**keywords, "group": group}
    _check(metrics, method, strata, given)
    check_draws(draws, seed)
    slices, within = columns_of(by), columns_of(strata, "strata")
    within = [column.alias(f"{_STRATUM} {number}") for number, column in enumerate(within)]
    call = prepare(frame, metrics, [*slices, *within], given, grouped=True)
    check_names(call.metrics, call.slices)
    shown = call.slices[: len(slices)]
    _check_slices(shown)
    inner = hidden_slices(call.slices)
    keys = list(inner.values())
    plan = _Plan(keys[: len(slices)], keys[len(slices) :], method, draws, seed, call.metrics)
    (request,) = call.requests
    result = _tested(request.table.rename(inner), plan)
    return call.as_given(result.rename({inner[name]: name for name in shown}), frame)


# --- what can be tested -------------------------------------------------------------------------


def _check(
    metrics: Sequence[Metric], method: object, strata: object, given: Mapping[str, Any]
) -> None:
    """Raise for what cannot be tested, before any data is read."""
    for metric in metrics:
        if not isinstance(metric.formula, Share):
            raise TypeError(_no_share(metric))
    methods = ("score", "exact", "permutation")
    if method not in methods:
        msg = f"`method` is one of {list(methods)}, got {method!r}"
        raise ValueError(msg)
    if given["group"] is None:
        msg = '`parity_test` compares groups: add `group="<column>"`'
        raise TypeError(msg)
    if isinstance(given["group"], Mapping):
        msg = (
            "`parity_test` counts rows per group, and `group` as a mapping holds probabilities:"
            " pass a column, such as `group=fairness.most_likely({...})`"
        )
        raise TypeError(msg)
    if strata is not None and method != "score":
        msg = (
            f"`strata` have one test, that of Cochran, Mantel and Haenszel: leave out"
            f" `method={method!r}`"
        )
        raise ValueError(msg)
    if given.get("weight") is not None and method != "score":
        msg = (
            f"`method={method!r}` counts rows, which have no weight: leave out `weight=...`, or"
            ' pass `method="score"`'
        )
        raise ValueError(msg)


def _no_share(metric: Metric) -> str:
    shares = [base for base in metric.bases if isinstance(base.formula, Share)]
    instead = f"{shares[0].family}.{shares[0].name}" if shares else "fairness.selection_rate"
    return (
        f"`parity_test` compares shares of rows, and `{metric.family}.{metric.name}` is not one:"
        f" pass a rate, such as `{instead}`"
    )


def check_draws(draws: object, seed: object) -> None:
    """Raise if the number of draws, or the seed, is not a whole number that can be used."""
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        msg = f"`draws` is a whole number of at least 1, such as 2000, got {draws!r}"
        raise ValueError(msg)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        msg = f"`seed` is a whole number of at least 0, got {seed!r}"
        raise ValueError(msg)


def _check_slices(names: Sequence[str]) -> None:
    for name in names:
        if name in _RESULT:
            msg = (
                f"a slice cannot be named {name!r} here, because the result has that column: rename"
                f' it, `by=pl.col("{name}").alias("{name}_slice")`'
            )
            raise ValueError(msg)


# --- the test -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """How the lines of a table are tested: hidden slices and strata, and the call's options."""

    slices: list[str]
    strata: list[str]
    method: Method
    draws: int
    seed: int
    metrics: list[Metric]


def _tested(table: pl.LazyFrame, plan: _Plan) -> pl.LazyFrame:
    """Test every slice and metric of a table."""
    lines = known_values(table, plan.metrics, [*plan.slices, *plan.strata, GROUP])
    if plan.method == "exact":
        faults = [_several(metric, plan.slices) for metric in plan.metrics]
        lines = raise_faults(lines, faults, [fact_of(m, "numerator") for m in plan.metrics])
    schema = table.collect_schema()
    return lines.map_batches(
        lambda frame: _of_lines(frame, plan),
        schema=pl.Schema([*((name, schema[name]) for name in plan.slices), *_RESULT.items()]),
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )


def _used(metric: Metric) -> pl.Expr:
    """Return whether the group is known and has rows that the rate is a rate of."""
    rows = (pl.col(fact_of(metric, "denominator")) > 0).fill_null(value=False)
    return pl.col(GROUP).is_not_null() & rows


def _several(metric: Metric, slices: Sequence[str]) -> Fault:
    """Return the fault of more than two groups, which Fisher's test cannot compare."""
    groups = over(_used(metric).cast(pl.Int64).sum(), slices)
    message = (
        pl.lit('`method="exact"` compares two groups, and there are ')
        + groups.cast(pl.String)
        + pl.lit(': pass `method="permutation"`, or leave all but two groups out')
    )
    return Fault(groups > 2, message)


def _of_lines(lines: pl.DataFrame, plan: _Plan) -> pl.DataFrame:
    """Test the lines of all slices: a row per slice and metric."""
    ordered = lines.sort([*plan.slices, GROUP, *plan.strata])
    slices = ordered.select(plan.slices).unique(maintain_order=True)
    count = slices.height if plan.slices else 1
    columns = [_numbers(ordered, names) for names in (plan.slices, plan.strata, [GROUP])]
    known = pl.all_horizontal(
        pl.lit(value=True), *(pl.col(name).is_not_null() for name in plan.strata)
    )
    found = []
    for metric in plan.metrics:
        at = np.flatnonzero(ordered.select(known & _used(metric)).to_series().to_numpy())
        hits, sizes = _counts(ordered[at], metric)
        number, stratum, group = (column[at] for column in columns)
        edges = np.searchsorted(number, np.arange(count + 1))
        for start, stop in pairwise(edges.tolist()):
            own = slice(start, stop)
            found.append(_test(plan, hits[own], sizes[own], stratum[own], group[own]))
    return _as_frame(slices, count, found, plan)


def _numbers(ordered: pl.DataFrame, names: Sequence[str]) -> NDArray[np.intp]:
    """Number the distinct values of some columns, in their order."""
    if not names:
        return np.zeros(ordered.height, dtype=np.intp)
    distinct = ordered.select(names).unique().sort(names).with_row_index(_NUMBER)
    joined_ = ordered.select(names).join(
        distinct, on=list(names), how="left", nulls_equal=True, maintain_order="left"
    )
    return joined_[_NUMBER].to_numpy().astype(np.intp)


def _counts(lines: pl.DataFrame, metric: Metric) -> tuple[Floats, Floats]:
    """Return the hits and the sizes of lines, of which weighted ones are effective."""
    facts = ("numerator", "denominator", "numerator2", "denominator2")
    parts = [lines[fact_of(metric, fact)].to_numpy().astype(np.float64) for fact in facts]
    sizes, _ = weighted_size(*parts)
    return parts[0] / parts[1] * sizes, sizes


def _test(
    plan: _Plan, hits: Floats, sizes: Floats, stratum: NDArray[np.intp], group: NDArray[np.intp]
) -> Found:
    """Test one slice."""
    if plan.strata:
        return within_strata(hits, sizes, stratum, group)
    if plan.method == "exact":
        return exact(hits, sizes)
    if plan.method == "permutation":
        return permutation(hits, sizes, plan.draws, plan.seed)
    return score(hits, sizes)


def _as_frame(
    slices: pl.DataFrame, count: int, found: Sequence[Found], plan: _Plan
) -> pl.DataFrame:
    """Return the tests, which are ordered by metric, then by slice."""
    order = np.arange(len(found)).reshape(len(plan.metrics), count).T.reshape(-1)
    dtypes = {"statistic": pl.Float64, "df": pl.Float64, "p_value": pl.Float64, "method": pl.String}
    tests = pl.DataFrame(found, schema=dtypes, orient="row")
    metrics = [metric.name for metric in plan.metrics for _ in range(count)]
    names = pl.Series("metric", metrics, dtype=pl.String)
    rows = tests.with_columns(names).fill_nan(None).cast({"df": pl.Int64})[order]
    if not plan.slices:
        return rows.select(list(_RESULT))
    repeated = slices[np.repeat(np.arange(count), len(plan.metrics))]
    return repeated.hstack(rows.select(list(_RESULT)))
