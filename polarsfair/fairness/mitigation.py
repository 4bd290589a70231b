"""Repairing decisions after training: rates found by a linear programme, applied row by row.

A goal (`EqualizedOdds`, `EqualOpportunity`, `DemographicParity`, `GroupThresholds`) is fitted to a
frame. It needs only the small table of counts. The result, a `Mitigation`, is a frozen value that
transforms other frames lazily.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import polars as pl

from polarsfair._engine.evaluate import measure
from polarsfair._engine.frames import as_given, as_lazy
from polarsfair.fairness._decisions.errors import (
    equal_opportunity,
    equalized_odds,
    predictive_equality,
)
from polarsfair.fairness._decisions.rates import accuracy
from polarsfair.fairness._decisions.selection import stat_parity
from polarsfair.fairness._mitigation import cells
from polarsfair.fairness._mitigation.apply import RESULT, Unknown, transformed
from polarsfair.fairness._scores.bins import range_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import EagerFrame, IntoColumn, IntoFrame, IntoGroup
    from polarsfair.fairness._scores.bins import Bins

Cost: TypeAlias = "Sequence[Sequence[float]]"
"""``cost[label][decision]``: a row per true label, a column per decision."""

Constraint: TypeAlias = Literal["decisions", "expected_score"]
Parity: TypeAlias = Literal["equalized_odds", "equal_opportunity", "demographic_parity"]

_ERRORS: Cost = ((0.0, 1.0), (1.0, 0.0))
_REPORTED = (accuracy, stat_parity, equal_opportunity, predictive_equality, equalized_odds)

__all__ = [
    "DemographicParity",
    "EqualOpportunity",
    "EqualizedOdds",
    "GroupThresholds",
    "Mitigation",
]


@dataclass(frozen=True, eq=False)
class Mitigation:
    """Fitted rates, what they achieve, and how to apply them.

    Attributes
    ----------
    rates
        For goals that flip decisions, a row per group: ``keep``, the probability that a
        positive decision is kept, and ``turn``, the probability that a negative one is turned. For
        `GroupThresholds`, rows of ``group``, ``threshold`` and ``share``: the share of draws that
        this threshold decides (an infinite threshold selects no rows).
    achieved
        A row per group, in expectation over the draws: ``n`` (or the sum of weights),
        ``true_positive_rate``, ``false_positive_rate``, ``selection_rate``, ``accuracy``,
        ``accuracy_cost``, the accuracy that the repair costs, and ``status``: ``"everyone"`` or
        ``"no one"`` if all or no rows of the group are selected, else ``"ok"``.
    report
        A row per metric: its value ``before`` and ``after``, and the mean ``cost`` of a row.
    columns
        The columns that were passed to `fit`.
    score_range
        For `GroupThresholds`, the first and the last edge of its bins; None for other goals and
        with ``bins=None``.

    Notes
    -----
    `achieved` and `report` are about the rows of the fit. To know what the repair does to other
    rows, transform rows that were held out, and evaluate them.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> from polarsfair.fairness.mitigation import DemographicParity
    >>> df = pl.DataFrame({"id": range(400), "sex": ["F", "M"] * 200})
    >>> df = df.with_columns(
    ...     fit=pl.col("id") % 3 == 0,
    ...     hired=(pl.col("id") % 3 == 0) & ((pl.col("sex") == "M") | (pl.col("id") % 4 == 0)),
    ... )
    >>> train, held_out = df.head(200), df.tail(200)
    >>> repair = DemographicParity().fit(train, label="fit", pred="hired", group="sex")
    >>> repaired = repair.transform(held_out, key="id")
    >>> metrics = [fairness.stat_parity, fairness.accuracy]
    >>> roles = {"group": "sex", "label": "fit"}
    >>> before = pf.evaluate(repaired, metrics, pred="hired", **roles)
    >>> after = pf.evaluate(repaired, metrics, pred="fair_pred", **roles)
    >>> pl.concat([before, after])
    shape: (2, 2)
    ┌─────────────┬──────────┐
    │ stat_parity ┆ accuracy │
    │ ---         ┆ ---      │
    │ f64         ┆ f64      │
    ╞═════════════╪══════════╡
    │ 0.17        ┆ 0.92     │
    │ 0.01        ┆ 0.87     │
    └─────────────┴──────────┘
    """

    rates: pl.DataFrame
    achieved: pl.DataFrame
    report: pl.DataFrame
    columns: Mapping[str, Any] = field(repr=False)
    score_range: tuple[float, float] | None = field(default=None, repr=False)

    @overload
    def transform(
        self,
        frame: pl.LazyFrame,
        *,
        key: IntoColumn | Sequence[IntoColumn],
        unknown: Unknown = ...,
        seed: int = ...,
        pred: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        score: IntoColumn | None = ...,
        name: str = ...,
    ) -> pl.LazyFrame: ...
    @overload
    def transform(
        self,
        frame: EagerFrame,
        *,
        key: IntoColumn | Sequence[IntoColumn],
        unknown: Unknown = ...,
        seed: int = ...,
        pred: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        score: IntoColumn | None = ...,
        name: str = ...,
    ) -> pl.DataFrame: ...
    def transform(
        self,
        frame: IntoFrame,
        *,
        key: IntoColumn | Sequence[IntoColumn],
        unknown: Unknown = "error",
        seed: int = 0,
        pred: IntoColumn | None = None,
        group: IntoGroup | None = None,
        score: IntoColumn | None = None,
        name: str = RESULT,
    ) -> pl.DataFrame | pl.LazyFrame:
        """Add the fair decision to every row, lazily for lazy frames. No row is added or left out.

        Parameters
        ----------
        frame
            Rows to decide, without labels.
        key
            The column, or several columns, that identify a row. A row's draw depends only on its
            key and the seed: it is the same in any order, file, batch or engine.
        unknown
            What to do with a row whose group was absent in `fit`, or is null: ``"error"``, or
            ``"keep"`` its decision (after `GroupThresholds`, which reads no decision: null).
        seed
            Seed of the draws.
        pred, group, score
            Columns or expressions, if they differ from those of `fit`.
        name
            Name of the new column, which the frame must not have yet.

        Notes
        -----
        The group is of the dtype that it had in `fit`, or of one that holds every fitted group
        unchanged; any text counts as text. A score outside the bins of `fit` is an error; with
        ``bins=None`` there are no bins, and any score is compared with the thresholds.

        Keys that are whole numbers, dates or times are mixed by fixed arithmetic, so that their
        draws never change. Text, floats and other keys are hashed by Polars. That hash may change
        between versions of Polars, so that their draws are reproducible only within one version.
        Rows without a key share one draw. An unknown decision or score stays unknown.

        Examples
        --------
        >>> import polars as pl
        >>> from polarsfair.fairness.mitigation import EqualizedOdds
        >>> df = pl.DataFrame({"id": range(8), "sex": ["F"] * 4 + ["M"] * 4})
        >>> df = df.with_columns(fit=pl.Series([1, 1, 0, 0] * 2), hired=pl.Series([0, 0, 1, 1] * 2))
        >>> fair = EqualizedOdds().fit(df, label="fit", pred="hired", group="sex")
        >>> fair.transform(df, key="id")["fair_pred"].to_list()
        [1, 1, 0, 0, 1, 1, 0, 0]
        """
        given = {"pred": pred, "group": group, "score": score}
        columns = {**self.columns, **{k: v for k, v in given.items() if v is not None}}
        options = (unknown, seed, self.score_range, name)
        result = transformed(as_lazy(frame), self.rates, columns, key, *options)
        return as_given(result, frame)


@dataclass(frozen=True)
class _Flipping:
    """A goal that is reached by flipping decisions.

    Parameters
    ----------
    cost
        ``cost[label][decision]``, which is minimised. By default errors cost 1.
    """

    cost: Cost = _ERRORS

    def __post_init__(self) -> None:
        cells.check_cost(self.cost)

    def fit(
        self,
        frame: IntoFrame,
        *,
        label: IntoColumn,
        pred: IntoColumn,
        group: IntoGroup,
        score: IntoColumn | None = None,
        weight: IntoColumn | None = None,
    ) -> Mitigation:
        """Count the frame once (a lazy one is collected for it) and find the rates.

        Parameters
        ----------
        frame
            Rows with known labels.
        label, pred, group
            True label and decision, 0 or 1; the group, or several columns: their intersection.
            Rows in which one of them is null are left out.
        score
            Needed only for ``constraint="expected_score"``.
        weight
            Weight of each row; rows with weight 0 do not count.

        Returns
        -------
        Mitigation
            The rates, what they achieve, a report, and `Mitigation.transform`.

        Notes
        -----
        A stored table of `fairness.decisions` can be used instead of its rows:
        ``fit(table, label="label", pred="pred", group="group", weight="n")``, or ``weight="w"``
        if it was counted with weights.
        """
        columns = {"label": label, "pred": pred, "group": group, "score": score, "weight": weight}
        before = cells.decision_cells(as_lazy(frame), columns, scored=self._scored)
        rates, after = cells.flip(before, self._equal, self.cost, scored=self._scored)
        return _fitted(rates, before, after, self.cost, {"pred": pred, "group": group})

    @property
    def _scored(self) -> bool:
        return False

    @property
    def _equal(self) -> tuple[cells.Rate, ...]:
        raise NotImplementedError


@dataclass(frozen=True)
class EqualizedOdds(_Flipping):
    """Make true and false positive rates equal in all groups at the smallest cost.

    Decisions are flipped at random, at rates per group that a linear programme finds. There may be
    any number of groups, and errors are weighted by the number of rows.

    Parameters
    ----------
    cost
        ``cost[label][decision]``, which is minimised. By default errors cost 1.
    constraint
        ``"decisions"``: the two rates of the decisions are equal. ``"expected_score"``: the mean
        score after flipping, given the label, is equal, and groups of any size have the same
        weight. This is Jurity's programme. It needs ``score`` in `fit` and leaves the rates of the
        decisions unequal, as the report shows.

    Notes
    -----
    If a group has no positive or no negative label, a rate is undefined: an error names the group.
    On few rows the cheapest repair may select all rows of all groups, or none, which makes them
    equal in a trivial way: `fit` then warns, and `Mitigation.achieved` has the ``status``.
    Rates of exactly 0 or 1 are valid; Jurity reads them as "not fitted".

    References
    ----------
    Hardt, Price, Srebro (2016). Equality of Opportunity in Supervised Learning. NIPS 2016.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair.fairness.mitigation import EqualizedOdds
    >>> df = pl.DataFrame(
    ...     {
    ...         "sex": ["F"] * 8 + ["M"] * 8,
    ...         "fit": [1, 1, 1, 1, 0, 0, 0, 0] * 2,
    ...         "hired": [1, 1, 0, 0, 0, 0, 0, 0] + [1, 1, 1, 1, 0, 0, 0, 0],
    ...     }
    ... )
    >>> fair = EqualizedOdds().fit(df, label="fit", pred="hired", group="sex")
    >>> fair.rates
    shape: (2, 3)
    ┌───────┬──────┬──────┐
    │ group ┆ keep ┆ turn │
    │ ---   ┆ ---  ┆ ---  │
    │ str   ┆ f64  ┆ f64  │
    ╞═══════╪══════╪══════╡
    │ F     ┆ 1.0  ┆ 0.0  │
    │ M     ┆ 0.5  ┆ 0.0  │
    └───────┴──────┴──────┘
    """

    constraint: Constraint = "decisions"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.constraint not in ("decisions", "expected_score"):
            msg = (
                f'`constraint` is "decisions" or "expected_score", got {self.constraint!r}: see'
                " `EqualizedOdds`"
            )
            raise ValueError(msg)

    @property
    def _scored(self) -> bool:
        return self.constraint == "expected_score"

    @property
    def _equal(self) -> tuple[cells.Rate, ...]:
        return ("true_positive_rate", "false_positive_rate")


@dataclass(frozen=True)
class EqualOpportunity(_Flipping):
    """Make true positive rates equal in all groups at the smallest cost.

    Parameters
    ----------
    cost
        ``cost[label][decision]``, which is minimised. By default errors cost 1.

    References
    ----------
    Hardt, Price, Srebro (2016). Equality of Opportunity in Supervised Learning. NIPS 2016.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair.fairness.mitigation import EqualOpportunity
    >>> df = pl.DataFrame({"sex": ["F"] * 4 + ["M"] * 2, "fit": [1, 1, 0, 0, 1, 0]})
    >>> df = df.with_columns(hired=pl.Series([1, 0, 0, 0, 1, 0]))
    >>> EqualOpportunity().fit(df, label="fit", pred="hired", group="sex").achieved.select(
    ...     "group", "true_positive_rate"
    ... )
    shape: (2, 2)
    ┌───────┬────────────────────┐
    │ group ┆ true_positive_rate │
    │ ---   ┆ ---                │
    │ str   ┆ f64                │
    ╞═══════╪════════════════════╡
    │ F     ┆ 0.5                │
    │ M     ┆ 0.5                │
    └───────┴────────────────────┘
    """

    @property
    def _equal(self) -> tuple[cells.Rate, ...]:
        return ("true_positive_rate",)


@dataclass(frozen=True)
class DemographicParity(_Flipping):
    """Make selection rates equal in all groups at the smallest cost.

    Parameters
    ----------
    cost
        ``cost[label][decision]``, which is minimised. By default errors cost 1.

    References
    ----------
    Calders, Kamiran, Pechenizkiy (2009). Building Classifiers with Independency Constraints. ICDM
    Workshops 2009.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair.fairness.mitigation import DemographicParity
    >>> df = pl.DataFrame({"sex": ["F"] * 4 + ["M"] * 2, "fit": [1, 0, 0, 0, 1, 1]})
    >>> fair = DemographicParity().fit(df, label="fit", pred="fit", group="sex")
    >>> fair.achieved["selection_rate"].to_list()
    [0.25, 0.25]
    """

    @property
    def _equal(self) -> tuple[cells.Rate, ...]:
        return ("selection_rate",)


@dataclass(frozen=True)
class GroupThresholds:
    """Find thresholds per group, mixed at random if a single threshold is not enough.

    From the table of scores a linear programme finds, per group, up to three thresholds and how
    often each decides. The groups are then equal in what `parity` names, at the smallest cost.

    Parameters
    ----------
    parity
        The rates to make equal: ``"equalized_odds"``, ``"equal_opportunity"`` (true positive
        rates) or ``"demographic_parity"`` (selection rates).
    cost
        ``cost[label][decision]``, which is minimised. By default errors cost 1.
    bins
        Possible thresholds: the edges of bins as in `fairness.scores`; None is every distinct
        score.

    Notes
    -----
    A decision at threshold t is score >= t. The report's "before" is the cheapest single threshold
    for all groups. Fairlearn's ``ThresholdOptimizer`` searches a grid for the same optimum and puts
    its thresholds halfway between scores.

    References
    ----------
    Hardt, Price, Srebro (2016). Equality of Opportunity in Supervised Learning. NIPS 2016.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair.fairness.mitigation import GroupThresholds
    >>> df = pl.DataFrame({"sex": ["F"] * 3 + ["M"] * 3, "fit": [0, 1, 1] * 2})
    >>> df = df.with_columns(p=pl.Series([0.1, 0.3, 0.4, 0.5, 0.7, 0.9]))
    >>> GroupThresholds().fit(df, label="fit", score="p", group="sex").rates
    shape: (2, 3)
    ┌───────┬───────────┬───────┐
    │ group ┆ threshold ┆ share │
    │ ---   ┆ ---       ┆ ---   │
    │ str   ┆ f64       ┆ f64   │
    ╞═══════╪═══════════╪═══════╡
    │ F     ┆ 0.3       ┆ 1.0   │
    │ M     ┆ 0.7       ┆ 1.0   │
    └───────┴───────────┴───────┘
    """

    parity: Parity = "equalized_odds"
    cost: Cost = _ERRORS
    bins: Bins = 1000

    def __post_init__(self) -> None:
        cells.check_cost(self.cost)
        if self.parity not in cells.PARITIES:
            msg = f"`parity` is one of {', '.join(cells.PARITIES)}, got {self.parity!r}"
            raise ValueError(msg)

    def fit(
        self,
        frame: IntoFrame,
        *,
        label: IntoColumn,
        score: IntoColumn,
        group: IntoGroup,
        weight: IntoColumn | None = None,
    ) -> Mitigation:
        """Count the frame once (a lazy one is collected for it) and find the thresholds.

        Parameters
        ----------
        frame
            Rows with known labels.
        label, score, group
            True label, 0 or 1; the score; the group, or several columns: their intersection.
            Rows in which one of them is null are left out.
        weight
            Weight of each row; rows with weight 0 do not count.

        Returns
        -------
        Mitigation
            The thresholds, what they achieve, a report, and `Mitigation.transform`.

        Notes
        -----
        A stored table of `fairness.scores` can be used instead of its rows: with ``bins=None``,
        ``fit(table, label="label", score="low", group="group", weight="n")``, or ``weight="w"``
        if it was counted with weights.
        """
        columns = {"label": label, "score": score, "group": group, "weight": weight}
        points = cells.score_points(as_lazy(frame), columns, self.bins)
        equal = cells.PARITIES[self.parity]
        rates, before, after = cells.thresholds(points, equal, self.cost)
        fitted = _fitted(rates, before, after, self.cost, {"score": score, "group": group})
        return replace(fitted, score_range=range_of(self.bins))


def _fitted(
    rates: pl.DataFrame,
    before: pl.DataFrame,
    after: pl.DataFrame,
    cost: Cost,
    columns: Mapping[str, Any],
) -> Mitigation:
    """Return the rates with the report of what they achieve."""
    table = pl.concat(
        cells.as_decisions(counted).with_columns(when=pl.lit(when))
        for when, counted in (("after", after), ("before", before))
    )
    values = measure(table, _REPORTED, by="when").drop("when")
    costs = {
        "metric": "cost",
        "before": cells.mean_cost(before, cost),
        "after": cells.mean_cost(after, cost),
    }
    report = values.transpose(
        include_header=True, header_name="metric", column_names=["after", "before"]
    )
    report = pl.concat([report, pl.DataFrame([costs])], how="diagonal")
    achieved = cells.achieved(before, after)
    cells.warn_if_trivial(achieved)
    return Mitigation(rates, achieved, report.select("metric", "before", "after"), columns)
