"""Bias in the labels, before any training: how their distribution differs between groups."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import as_column, check_columns
from polarsfair._engine.compare import compare
from polarsfair._engine.group_pairs import PAIR, REFERENCE, SIDE, enough
from polarsfair._engine.metric import define
from polarsfair._engine.reference import OVERALL, REST, mark_reference
from polarsfair._engine.rows import WEIGHTED_SUMS, binary, count_cells
from polarsfair._engine.slices import every_slice, over
from polarsfair._engine.tally import Drawn, Tally
from polarsfair._formula import farthest, quotient
from polarsfair.fairness._classes.distances import classes, group_shares, side_shares
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._engine.metric import Metric
    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = [
    "class_imbalance",
    "conditional_demographic_disparity",
    "label_js",
    "label_kl",
    "label_ks",
    "label_lp",
    "label_total_variation",
    "strata",
]

_W, _OWN, _OTHER = pl.col("w"), pl.col("own"), pl.col("other")


def _check(metric: Metric, schema: pl.Schema) -> None:
    if "rows" in schema:
        msg = f"`{metric.name}` counts every row once, but `pred` is a list: leave `pred` out"
        raise TypeError(msg)
    p = metric.options.get("p", 2)
    if not isinstance(p, int | float) or not p >= 1:
        msg = f"`p` is the order of a norm, at least 1; got {p!r}"
        raise ValueError(msg)


# --- sizes of groups ----------------------------------------------------------------------------


@define(classes, "quality", of=FairnessMetric, bounds=(0.0, math.inf), check=_check)
def _weight() -> pl.Expr:
    """Weight of all rows."""
    return pl.when(_W.sum() > 0).then(_W.sum())


@compare(
    _weight,
    over_pairs=lambda size: quotient(size.max() - size.min(), size.max() + size.min()),
    ideal=0.0,
    bounds=(-1.0, 1.0),
    better="ideal",
    kind="outcome",
)
def class_imbalance(size: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Difference in group size, relative to the sum of the two sizes.

    Formula, with n the number of rows::

        (n(group) - n(ref)) / (n(group) + n(ref))

    Range -1 to 1; ideal 0; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups). Without
        it, the largest magnitude over all pairs of groups, unsigned.

    Notes
    -----
    SageMaker Clarify's CI has the opposite sign (all others minus the group). AIF360's
    ``class_imbalance`` has the sign used here.

    References
    ----------
    Hardt and others (2021). Amazon SageMaker Clarify: Machine Learning Bias Detection and
    Explainability in the Cloud. KDD 2021, 2974-2983.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", "M", "M"]})
    >>> df.pipe(fairness.class_imbalance, group="sex", ref="M")
    -0.5
    """
    return quotient(size - other, size + other)


# --- distances between the label distributions of two groups ------------------------------------


def _label_shares(
    table: pl.LazyFrame, keys: Sequence[str], ref: Any
) -> tuple[pl.LazyFrame, list[str]]:
    """Return, per pair of groups and label, the shares of both; 0 if a group lacks the label."""
    pair = [*keys, *PAIR]
    own, other = (
        pl.col("share").filter(pl.col(SIDE) == side).sum().alias(name)
        for side, name in enumerate(("own", "other"))
    )
    shares = side_shares(table, keys, ref, ["label"], ordered=True)
    return shares.group_by(*pair, "label").agg(own, other), pair


def _divergence(share: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Sum P ln(P / Q); a label that P lacks adds 0, one that Q lacks adds infinity."""
    terms = pl.when(share > 0).then(share * (share / other).log(math.e)).otherwise(0.0)
    return terms.sum().clip(0.0)


def _label_pairs(table: pl.LazyFrame, keys: Sequence[str], *, ref: Any = None) -> pl.LazyFrame:
    """View one line per pair of groups: the distances of their labels."""
    shares, pair = _label_shares(table, keys, ref)
    middle, gap = (_OWN + _OTHER) / 2, (_OWN - _OTHER).abs()
    lines = shares.group_by(pair).agg(
        kl=_divergence(_OWN, _OTHER),
        js=(_divergence(_OWN, middle) + _divergence(_OTHER, middle)) / 2,
        total=(gap.sum() / 2).clip(0.0, 1.0),
        largest=gap.max(),
    )
    return every_slice(table, lines, keys)


def _label_spreads(table: pl.LazyFrame, keys: Sequence[str], *, ref: Any = None) -> pl.LazyFrame:
    """View the largest difference of shares: of every pair of groups, or of any two per label."""
    if ref is not None:
        return _label_pairs(table, keys, ref=ref)
    share = pl.col("share")
    # A group without the label has a share of 0.
    smallest = pl.when(pl.len() == pl.col("groups").first()).then(share.min()).otherwise(0.0)
    several = pl.col("groups").first() > 1
    lines = group_shares(table, keys, "label").group_by(*keys, "label")
    return every_slice(
        table, lines.agg(largest=pl.when(several).then(share.max() - smallest)), keys
    )


def _label_norms(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    ref: Any = None,
    p: float = 2,
) -> pl.LazyFrame:
    """View one line per pair of groups: the p-norm of the difference of their labels."""
    shares, pair = _label_shares(table, keys, ref)
    gap = (_OWN - _OTHER).abs()
    norm = gap.max() if math.isinf(p) else gap.pow(float(p)).sum().pow(1 / p)
    lines = shares.group_by(pair).agg(norm=norm)
    return every_slice(table, lines, keys)


_distance = functools.partial(
    define,
    classes,
    "outcome",
    ("group", "label"),
    of=FairnessMetric,
    view=_label_pairs,
    ideal=0.0,
    bounds=(0.0, 1.0),
    better="lower",
    check=_check,
)


@_distance(bounds=(0.0, math.inf))
def label_kl() -> pl.Expr:
    """Kullback-Leibler divergence of a group's labels from those of the reference.

    Formula, with P the shares of the labels, in natural units::

        sum over labels of P(group) * ln(P(group) / P(ref))

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: the largest divergence of any group from it. Without
        it, the largest of any group from any other.

    Notes
    -----
    Infinite if the group has a label that the reference lacks. SageMaker Clarify drops such labels
    without renormalising, so that its value can be negative. It measures the divergence of the
    others from the group: exchange ``ref`` and group to match it.

    References
    ----------
    Kullback, Leibler (1951). On Information and Sufficiency. Annals of Mathematical Statistics
    22(1), 79-86.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "loan": ["yes", "yes", "yes", "no"]})
    >>> round(df.pipe(fairness.label_kl, group="sex", label="loan", ref="M"), 4)
    0.6931
    """
    return pl.col("kl").max()


@_distance(bounds=(0.0, math.log(2)))
def label_js() -> pl.Expr:
    """Jensen-Shannon divergence between the labels of two groups.

    Formula, with P and Q the shares of the labels, M = (P + Q) / 2, in natural units::

        KL(P, M) / 2 + KL(Q, M) / 2

    Range 0 to 0.6931471805599453; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: the largest distance of any group from it. Without
        it, the largest of any two groups.

    Notes
    -----
    At most ln 2, if two groups have no label in common. SageMaker Clarify drops labels that one
    group lacks, which makes its value wrong.

    References
    ----------
    Lin (1991). Divergence Measures Based on the Shannon Entropy. IEEE Transactions on Information
    Theory 37(1), 145-151.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "loan": ["yes", "yes", "no", "no"]})
    >>> round(df.pipe(fairness.label_js, group="sex", label="loan"), 4)
    0.6931
    """
    return pl.col("js").clip(0.0, math.log(2)).max()


@_distance(view=_label_norms, bounds=(0.0, 2.0))
def label_lp() -> pl.Expr:
    """Distance of order p between the label distributions of two groups.

    Formula, with P and Q the shares of the labels::

        (sum over labels of |P - Q|^p)^(1/p)

    Range 0 to 2; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: the largest distance of any group from it. Without
        it, the largest of any two groups.
    p
        The order of the norm, at least 1; if infinite, the metric is `label_ks`.

    Notes
    -----
    At most 2**(1/p). SageMaker Clarify drops labels that one group lacks.

    References
    ----------
    Hardt and others (2021). Amazon SageMaker Clarify: Machine Learning Bias Detection and
    Explainability in the Cloud. KDD 2021, 2974-2983.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "loan": ["yes", "yes", "no", "no"]})
    >>> round(df.pipe(fairness.label_lp, group="sex", label="loan"), 4)
    1.4142
    """
    return pl.col("norm").max()


@_distance()
def label_total_variation() -> pl.Expr:
    """Total variation distance between the labels of two groups.

    The share of one group's rows whose label would have to change to make the distributions equal.

    Formula, with P and Q the shares of the labels::

        sum over labels of |P - Q| / 2

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: the largest distance of any group from it. Without
        it, the largest of any two groups.

    Notes
    -----
    With two labels it is the absolute difference of the base rates. SageMaker Clarify drops labels
    that one group lacks, so that its value can be half as large.

    References
    ----------
    Levin, Peres, Wilmer (2009). Markov Chains and Mixing Times, chapter 4. American Mathematical
    Society.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "loan": ["yes", "no", "no", "no"]})
    >>> df.pipe(fairness.label_total_variation, group="sex", label="loan")
    0.5
    """
    return pl.col("total").max()


@_distance(view=_label_spreads)
def label_ks() -> pl.Expr:
    """Largest difference of the shares of any label between two groups.

    Formula, with P and Q the shares of the labels::

        max over labels of |P - Q|

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` or ``pf.REST``: the largest distance of any group from it. Without
        it, the largest of any two groups.

    Notes
    -----
    SageMaker Clarify calls it KS. It is a maximum over labels, which are not ordered, not over a
    cumulative distribution.

    References
    ----------
    Hardt and others (2021). Amazon SageMaker Clarify: Machine Learning Bias Detection and
    Explainability in the Cloud. KDD 2021, 2974-2983.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "loan": ["yes", "no", "no", "no"]})
    >>> df.pipe(fairness.label_ks, group="sex", label="loan")
    0.5
    """
    return pl.col("largest").max()


# --- within strata ------------------------------------------------------------------------------


def _count_strata(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    label: IntoColumn | None = None,
    strata: IntoColumn | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count rows per group, label and stratum.

    The table has the slices, ``strata`` (any plain dtype), ``group``, ``label`` (Boolean, null if
    unknown), ``n`` rows, and with ``weight`` also ``w`` and ``w2``. Tables can be merged.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F"], "loan": [1, 1], "town": ["A", "A"]})
    >>> fairness.strata(df, group="sex", label="loan", strata="town")
    shape: (1, 4)
    ┌────────┬───────┬───────┬─────┐
    │ strata ┆ group ┆ label ┆ n   │
    │ ---    ┆ ---   ┆ ---   ┆ --- │
    │ str    ┆ str   ┆ bool  ┆ i64 │
    ╞════════╪═══════╪═══════╪═════╡
    │ A      ┆ F     ┆ true  ┆ 2   │
    └────────┴───────┴───────┴─────┘
    """
    within = [] if strata is None else [as_column(strata, "strata").alias("strata")]
    check_columns(rows, {"strata": within})
    cells = {"label": binary(label)}
    return count_cells(rows, [*by, *within], group=group, cells=cells, weight=weight)


strata = Tally(
    name="fairness.strata",
    count=_count_strata,
    cells=("group", "label", "strata"),
    sums=WEIGHTED_SUMS,
    drawn=Drawn(),
)


def _disparities(table: pl.LazyFrame, keys: Sequence[str], *, ref: Any = None) -> pl.LazyFrame:
    """View one line per group that is compared: its disparity, averaged over the strata."""
    roles = ("group", "label", "strata")
    known = table.filter(pl.all_horizontal(*(pl.col(r).is_not_null() for r in roles), _W > 0))
    accepted = pl.when("label").then(_W).otherwise(0).cast(pl.Float64).sum()
    rejected = pl.when("label").then(0).otherwise(_W).cast(pl.Float64).sum()
    cells = known.group_by(*keys, "strata", "group").agg(accepted=accepted, rejected=rejected)
    parts = [
        quotient(pl.col(name), pl.col(name).sum().over(*keys, "strata")).fill_null(0.0)
        for name in ("rejected", "accepted")
    ]
    size = pl.col("rejected") + pl.col("accepted")
    stratum = size.sum().over(*keys, "strata")
    whole = over(size.sum(), keys)
    lines = cells.with_columns(disparity=(parts[0] - parts[1]) * stratum / whole)
    lines = lines.group_by(*keys, "group").agg(disparity=pl.col("disparity").sum().clip(-1.0, 1.0))
    return every_slice(table, _beside_reference(lines, keys, ref), keys)


def _beside_reference(lines: pl.LazyFrame, keys: Sequence[str], ref: Any) -> pl.LazyFrame:
    """Return the lines of the groups that are compared; of none, if there is nothing beside them.

    Every group is compared with all rows, so that OVERALL and REST leave out no group. As ever,
    a group alone is everyone, and has no rest.
    """
    if ref is OVERALL:
        return lines
    if ref is None or ref is REST:
        return lines.filter(over(enough(pl.len()), keys))
    marked = mark_reference(lines, ref, REFERENCE)
    return marked.filter(~pl.col(REFERENCE) & over(pl.col(REFERENCE).any(), keys))


@define(
    strata,
    "outcome",
    ("group", "label", "strata"),
    of=FairnessMetric,
    view=_disparities,
    ideal=0.0,
    bounds=(-1.0, 1.0),
    better="ideal",
)
def conditional_demographic_disparity(*, ref: Any = None) -> pl.Expr:
    """A group's share of the rejected minus its share of the accepted, averaged over strata.

    If it is positive, the group has a larger share of the rejected than of the accepted among rows
    of the same stratum.

    Formula, with n the rows, R the rejected and A the accepted rows of known group in stratum i::

        sum over i of n(i) / n * (R(group, i) / R(i) - A(group, i) / A(i))

    Range -1 to 1; ideal 0; nearer is better.

    Parameters
    ----------
    strata
        The column (a role) that holds the stratum: groups are compared within strata.
    ref
        A group: the value of the other group that is farthest from 0, with its sign. With
        ``pf.OVERALL`` or ``pf.REST``, that of any group. Without it, the largest magnitude of any
        group, unsigned.

    Notes
    -----
    Each group is compared with all rows: ``ref`` only chooses whose value is returned. For one
    group and all others, ``group=pl.col("sex") == "F", ref=False``, it is SageMaker Clarify's CDDL,
    and its CDDPL with the predictions as ``label``. If no row of a stratum is accepted (or
    rejected), that share is 0, as in Clarify. AIF360's function of this name averages over the
    groups instead.

    References
    ----------
    Wachter, Mittelstadt, Russell (2021). Why Fairness Cannot Be Automated: Bridging the Gap between
    EU Non-Discrimination Law and AI. Computer Law and Security Review 41, 105567.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {
    ...         "sex": ["F", "M", "F", "M"],
    ...         "loan": [0, 1, 0, 1],
    ...         "town": ["A", "A", "B", "B"],
    ...     }
    ... )
    >>> roles = {"group": "sex", "label": "loan", "strata": "town"}
    >>> df.pipe(fairness.conditional_demographic_disparity, **roles)
    1.0

    Women are all of the rejected, and men all of the accepted:

    >>> df.pipe(fairness.conditional_demographic_disparity, **roles, ref="M")
    1.0
    >>> df.pipe(fairness.conditional_demographic_disparity, **roles, ref="F")
    -1.0
    """
    value = pl.col("disparity")
    return value.abs().max() if ref is None else farthest(value, value.abs())
