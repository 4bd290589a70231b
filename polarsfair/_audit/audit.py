"""`audit`: every group of every attribute, with intervals and tests, from one scan of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, overload

from polarsfair._audit._evidence.answer import answered
from polarsfair._audit._evidence.chosen import LARGEST
from polarsfair._audit._evidence.counted import counted_rows, counted_tables
from polarsfair._audit._evidence.defaults import default_metrics, metrics_of_tables
from polarsfair._audit._evidence.question import attribute_columns, question_of
from polarsfair._audit._result.rows import columns_of_result
from polarsfair._engine.columns import columns_of
from polarsfair._engine.evaluate import stored_tables
from polarsfair._engine.frames import as_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from polarsfair._audit._evidence.question import Adjust
    from polarsfair._audit.attributes import Intersections
    from polarsfair._engine.metric import Metric
    from polarsfair._engine.tally import Tally
    from polarsfair._typing import EagerFrame, GroupKeywords, IntoFrame, IntoGroup, IntoSlices

    LazyTables: TypeAlias = pl.LazyFrame | Sequence[pl.LazyFrame]
    EagerTables: TypeAlias = EagerFrame | Sequence[EagerFrame]


@overload
def audit(
    frame: pl.LazyFrame,
    *,
    group: IntoGroup | None = ...,
    metrics: Metric | Sequence[Metric] | None = ...,
    ref: Any = ...,
    by: IntoSlices | None = ...,
    intersections: Intersections = ...,
    min_n: float = ...,
    min_share: float = ...,
    confidence: float = ...,
    adjust: Adjust = ...,
    shrink: bool = ...,
    max_groups: int = ...,
    draws: int = ...,
    seed: int = ...,
    **keywords: Unpack[GroupKeywords],
) -> pl.LazyFrame: ...
@overload
def audit(
    frame: EagerFrame,
    *,
    group: IntoGroup | None = ...,
    metrics: Metric | Sequence[Metric] | None = ...,
    ref: Any = ...,
    by: IntoSlices | None = ...,
    intersections: Intersections = ...,
    min_n: float = ...,
    min_share: float = ...,
    confidence: float = ...,
    adjust: Adjust = ...,
    shrink: bool = ...,
    max_groups: int = ...,
    draws: int = ...,
    seed: int = ...,
    **keywords: Unpack[GroupKeywords],
) -> pl.DataFrame: ...
def audit(
    frame: IntoFrame,
    *,
    group: IntoGroup | None = None,
    metrics: Metric | Sequence[Metric] | None = None,
    ref: Any = LARGEST,
    by: IntoSlices | None = None,
    intersections: Intersections = "pairs",
    min_n: float = 30,
    min_share: float = 0.0,
    confidence: float = 0.95,
    adjust: Adjust = "holm",
    shrink: bool = False,
    max_groups: int = 10_000,
    draws: int = 2_000,
    seed: int = 0,
    **keywords: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Show every group of every attribute, with limits and tests: the evidence of an audit.

    The rows are counted once. Every attribute, and every intersection of attributes, is a roll-up
    of the same small table, so that the cost does not grow with what is asked of it.

    Parameters
    ----------
    frame
        Eager, lazy, or anything with the Arrow C stream interface.
    group
        Attributes: one or several columns or expressions, each a protected attribute of its own.
        Without it there are rows for everyone alone.
    metrics
        Metrics of any family. None: every share whose roles are given, with ``label`` also
        `equalized_odds`, with ``score`` also `auc`.
    ref
        What groups are compared with: ``pf.LARGEST`` (the group with the most rows, one for all
        metrics), ``pf.BEST`` (the group with the highest value, for impact ratios),
        ``pf.OVERALL``, ``pf.REST``, a value, or a mapping from attributes to values. An
        intersection's reference is put together from its parts; attributes left out of a mapping
        have their largest group.
    by
        Slices: each is audited on its own.
    intersections
        ``"none"``, ``"pairs"`` of attributes, or ``"all"``.
    min_n, min_share
        A group is small with fewer rows in the denominator, or with a smaller share of the rows of
        known group. Small groups keep their numbers, but are no ``pf.LARGEST`` (where all their
        rows count) or ``pf.BEST``, and no part of gaps and of the adjustment of p-values.
    confidence
        How often limits hold the true value.
    adjust
        How p-values are adjusted for their number: ``"holm"``, ``"bh"`` or ``"none"``. All groups
        of a slice and metric are adjusted together, and so are all gaps.
    shrink
        Whether the column ``shrunk`` has shares drawn towards that of all groups of the attribute:
        better guesses for groups with few rows. They have no limits.
    max_groups
        More joint groups in a slice are an error.
    draws, seed
        How many replicates of the table are drawn for metrics that have no rule of their own, and
        from which seed.
    **keywords
        Roles and options, as in `evaluate`.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The kind of frame that was given: the slices, ``metric``, keys such as ``k``,
        ``attribute`` (joined by `` & ``), ``scope`` (``overall``: everyone; ``group``: one group;
        ``gap``: all groups of the attribute together), ``group``, ``ref``, ``n`` (rows in the
        denominator, without weights), ``numerator``, ``denominator``, ``value`` with ``ci_low`` and
        ``ci_high``, ``ref_value``, ``difference`` and ``ratio`` with limits, ``p_value``,
        ``p_adjusted``, ``method`` and ``status``. A group of null is the unknown group.

        A *gap* row of a rate sets the lowest group against the highest (``ref``). A metric that
        compares groups has gap rows alone.

    Notes
    -----
    ``method`` names how the limits of a value are made:

    * ``wilson``: shares, from their number of rows (Wilson 1927);
    * ``weighted``: shares of weighted rows, from an effective number of rows;
    * ``unit``: shares of rows that come in units, such as ``unit="household"``, from the variance
      over units; ``n`` and ``min_n`` then count units. Units with rows in two groups make these
      vary together, which limits of differences respect; those of ratios are then wider than need
      be. Limits of other metrics are null. In a stored table the unit is one more slice, and no
      unit may be in two tables that are added up;
    * ``mean``: means over users, likewise; unbounded ones from their standard error;
    * ``delong``: the area under the curve, from the variance of its placements;
    * ``draws``: any other formula, from percentiles of replicates of the table, in which each cell
      is drawn from a Gamma distribution (the Bayesian bootstrap of its rows);
    * ``pairs``: gaps, from the limits of all pairs of groups;
    * ``none``: no limits are known.

    Limits of differences and ratios follow from those of the two values (Newcombe 1998; Zou and
    Donner 2008; Donner and Zou 2012). Limits of gaps hold for all pairs at once (Bonferroni). With
    ``pf.BEST``, which the data choose, limits of differences and ratios do too. Where limits from
    draws are needed at another confidence, their arms are stretched as those of a normal variable
    would be, within the bounds of the metric.

    The p-value of a group is that of the score test against its reference, or of the difference
    over its standard error where there is no effective number of rows; that of a gap tests whether
    all groups are equal. With ``pf.OVERALL`` the group is part of what it is compared with, which
    limits and tests respect.

    References
    ----------
    Wilson (1927). Probable Inference, the Law of Succession, and Statistical Inference. Journal of
    the American Statistical Association 22(158), 209-212. Newcombe (1998). Interval Estimation for
    the Difference Between Independent Proportions. Statistics in Medicine 17(8), 873-890. Zou,
    Donner (2008). Construction of Confidence Limits About Effect Measures: A General Approach.
    Statistics in Medicine 27(10), 1693-1702. Donner, Zou (2012). Closed-Form Confidence Intervals
    for Functions of the Normal Mean and Standard Deviation. Statistical Methods in Medical Research
    21(4), 347-359. DeLong, DeLong, Clarke-Pearson (1988). Comparing the Areas under Two or More
    Correlated Receiver Operating Characteristic Curves. Biometrics 44(3), 837-845.

    Examples
    --------
    Impact ratios, as New York's rule on automated hiring asks for them: each group against the one
    that is selected most often, without groups of less than two percent of the rows.

    >>> import polars as pl
    >>> import polarsfair as pf
    >>> hired = [1] * 50 + [0] * 42 + [1] * 34 + [0] * 42
    >>> df = pl.DataFrame({"sex": ["M"] * 92 + ["F"] * 76, "hired": hired})
    >>> found = pf.audit(df, group="sex", pred="hired", ref=pf.BEST, min_share=0.02)
    >>> found.select("scope", "group", "n", "value", "ratio", "ratio_low", "ratio_high")
    shape: (4, 7)
    ┌─────────┬───────┬─────┬──────────┬──────────┬───────────┬────────────┐
    │ scope   ┆ group ┆ n   ┆ value    ┆ ratio    ┆ ratio_low ┆ ratio_high │
    │ ---     ┆ ---   ┆ --- ┆ ---      ┆ ---      ┆ ---       ┆ ---        │
    │ enum    ┆ str   ┆ i64 ┆ f64      ┆ f64      ┆ f64       ┆ f64        │
    ╞═════════╪═══════╪═════╪══════════╪══════════╪═══════════╪════════════╡
    │ overall ┆ null  ┆ 168 ┆ 0.5      ┆ null     ┆ null      ┆ null       │
    │ gap     ┆ F     ┆ 168 ┆ 0.447368 ┆ 0.823158 ┆ 0.59928   ┆ 1.0        │
    │ group   ┆ F     ┆ 76  ┆ 0.447368 ┆ 0.823158 ┆ 0.59928   ┆ 1.115711   │
    │ group   ┆ M     ┆ 92  ┆ 0.543478 ┆ 1.0      ┆ null      ┆ null       │
    └─────────┴───────┴─────┴──────────┴──────────┴───────────┴────────────┘

    Two attributes and their intersection, with a test of each group:

    >>> people = pl.DataFrame({"sex": list("FM") * 200, "race": list("aabb") * 100})
    >>> people = people.with_columns(hired=pl.int_range(400) % 7 < 3)
    >>> found = pf.audit(people, group=["sex", "race"], pred="hired", min_n=50)
    >>> found.filter(pl.col("scope") == "group").select("attribute", "group", "ref", "p_adjusted")
    shape: (8, 4)
    ┌────────────┬───────┬───────┬────────────┐
    │ attribute  ┆ group ┆ ref   ┆ p_adjusted │
    │ ---        ┆ ---   ┆ ---   ┆ ---        │
    │ str        ┆ str   ┆ str   ┆ f64        │
    ╞════════════╪═══════╪═══════╪════════════╡
    │ sex        ┆ F     ┆ F     ┆ null       │
    │ sex        ┆ M     ┆ F     ┆ 1.0        │
    │ race       ┆ a     ┆ a     ┆ null       │
    │ race       ┆ b     ┆ a     ┆ 1.0        │
    │ sex & race ┆ F & a ┆ F & a ┆ null       │
    │ sex & race ┆ F & b ┆ F & a ┆ 1.0        │
    │ sex & race ┆ M & a ┆ F & a ┆ 1.0        │
    │ sex & race ┆ M & b ┆ F & a ┆ 1.0        │
    └────────────┴───────┴───────┴────────────┘
    """
    attributes, slices = attribute_columns(group), columns_of(by)
    _check_slices(slices)
    asked = question_of(
        attributes,
        ref=ref,
        intersections=intersections,
        min_n=min_n,
        min_share=min_share,
        confidence=confidence,
        adjust=adjust,
        shrink=shrink,
        max_groups=max_groups,
        draws=draws,
        seed=seed,
        unit=keywords.get("unit"),
    )
    chosen = default_metrics(keywords) if metrics is None else metrics
    counted = counted_rows(frame, chosen, slices, attributes, asked, keywords)
    return counted.call.as_given(answered(counted, asked), frame)


@overload
def audit_table(
    table: pl.LazyFrame | Sequence[pl.LazyFrame] | Mapping[Tally, LazyTables],
    *,
    group: IntoGroup | None = ...,
    metrics: Metric | Sequence[Metric] | None = ...,
    ref: Any = ...,
    by: IntoSlices | None = ...,
    intersections: Intersections = ...,
    min_n: float = ...,
    min_share: float = ...,
    confidence: float = ...,
    adjust: Adjust = ...,
    shrink: bool = ...,
    max_groups: int = ...,
    draws: int = ...,
    seed: int = ...,
    **options: Unpack[GroupKeywords],
) -> pl.LazyFrame: ...
@overload
def audit_table(
    table: EagerFrame | Sequence[EagerFrame] | Mapping[Tally, EagerTables],
    *,
    group: IntoGroup | None = ...,
    metrics: Metric | Sequence[Metric] | None = ...,
    ref: Any = ...,
    by: IntoSlices | None = ...,
    intersections: Intersections = ...,
    min_n: float = ...,
    min_share: float = ...,
    confidence: float = ...,
    adjust: Adjust = ...,
    shrink: bool = ...,
    max_groups: int = ...,
    draws: int = ...,
    seed: int = ...,
    **options: Unpack[GroupKeywords],
) -> pl.DataFrame: ...
def audit_table(
    table: IntoFrame | Sequence[IntoFrame] | Mapping[Tally, IntoFrame | Sequence[IntoFrame]],
    *,
    group: IntoGroup | None = None,
    metrics: Metric | Sequence[Metric] | None = None,
    ref: Any = LARGEST,
    by: IntoSlices | None = None,
    intersections: Intersections = "pairs",
    min_n: float = 30,
    min_share: float = 0.0,
    confidence: float = 0.95,
    adjust: Adjust = "holm",
    shrink: bool = False,
    max_groups: int = 10_000,
    draws: int = 2_000,
    seed: int = 0,
    **options: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Show every group of every attribute from stored tables, whose slices are the attributes.

    Parameters
    ----------
    table
        One table, several stacked in one frame, a list of them, or a mapping from tallies to their
        tables, as in `measure`.
    group
        The slices of the table that are attributes.
    by
        The slices to keep apart; all others are merged.
    metrics
        None: every share that the table can serve, equalized odds and the area under the curve.
    ref, intersections, min_n, min_share, confidence, adjust, shrink, max_groups, draws, seed
        As in `audit`.
    **options
        Options of the metrics.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        As `audit` of the rows that were counted.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"day": [1, 2] * 50, "sex": list("FFMM") * 25, "hired": [0, 1, 1, 1] * 25}
    ... )
    >>> table = fairness.decisions(df, pred="hired", by=["day", "sex"])
    >>> found = pf.audit_table(table, group="sex")
    >>> found.filter(pl.col("scope") == "group").select("group", "n", "value", "ci_low", "ci_high")
    shape: (2, 5)
    ┌───────┬─────┬───────┬──────────┬──────────┐
    │ group ┆ n   ┆ value ┆ ci_low   ┆ ci_high  │
    │ ---   ┆ --- ┆ ---   ┆ ---      ┆ ---      │
    │ str   ┆ i64 ┆ f64   ┆ f64      ┆ f64      │
    ╞═══════╪═════╪═══════╪══════════╪══════════╡
    │ F     ┆ 50  ┆ 0.5   ┆ 0.366445 ┆ 0.633555 │
    │ M     ┆ 50  ┆ 1.0   ┆ 0.928652 ┆ 1.0      │
    └───────┴─────┴───────┴──────────┴──────────┘
    """
    attributes, slices = attribute_columns(group), columns_of(by)
    _check_slices(slices)
    asked = question_of(
        attributes,
        ref=ref,
        intersections=intersections,
        min_n=min_n,
        min_share=min_share,
        confidence=confidence,
        adjust=adjust,
        shrink=shrink,
        max_groups=max_groups,
        draws=draws,
        seed=seed,
        unit=options.get("unit"),
    )
    chosen = metrics_of_tables(table) if metrics is None else metrics
    counted = counted_tables(table, chosen, slices, attributes, asked, options)
    return as_given(answered(counted, asked), *stored_tables(table))


def _check_slices(by: Sequence[pl.Expr]) -> None:
    """Raise if a slice is named like a column of the result."""
    for name in (column.meta.output_name() for column in by):
        if name in columns_of_result(shrink=True):
            msg = (
                f"a slice cannot be named {name!r}, which is a column of the result: rename it,"
                f' `by=pl.col("{name}").alias("{name}_slice")`'
            )
            raise ValueError(msg)
