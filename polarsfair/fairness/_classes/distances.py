"""Decisions among several classes: the tally and the distances between groups."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, schema_of
from polarsfair._engine.faults import same_dtype
from polarsfair._engine.group_pairs import PAIR, SIDE, few_pairs, pair_sides
from polarsfair._engine.metric import Metric, define
from polarsfair._engine.rows import WEIGHTED_SUMS, count_cells, key
from polarsfair._engine.slices import aggregated, every_slice, joined, over
from polarsfair._engine.tally import Drawn, Tally
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = [
    "classes",
    "multiclass_average_odds",
    "multiclass_equal_opportunity",
    "multiclass_stat_parity",
    "multiclass_true_positive_difference",
]

_PREDICTED = pl.col("pred").is_not_null()
_SHARE, _W = pl.col("share"), pl.col("w")


def _count_classes(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    pred: IntoColumn | None = None,
    label: IntoColumn | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count rows per group, predicted class and true class.

    The table has the slices, ``group``, ``pred`` and ``label`` of any plain dtype (only the roles
    that were given), ``n`` rows, and with ``weight`` also ``w`` and ``w2``. With ``pred`` and
    ``label`` it is the confusion matrix of every group. If ``pred`` is a list, a row counts once
    for every class in its list; ``rows`` and ``row_w`` then count the rows themselves. Tables can
    be merged.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", "M"], "said": ["a", "b", "a"], "was": ["a", "b", "b"]})
    >>> fairness.classes(df, group="sex", pred="said", label="was").sort("group", "pred")
    shape: (3, 4)
    ┌───────┬──────┬───────┬─────┐
    │ group ┆ pred ┆ label ┆ n   │
    │ ---   ┆ ---  ┆ ---   ┆ --- │
    │ str   ┆ str  ┆ str   ┆ i64 │
    ╞═══════╪══════╪═══════╪═════╡
    │ F     ┆ a    ┆ a     ┆ 1   │
    │ M     ┆ a    ┆ b     ┆ 1   │
    │ M     ┆ b    ┆ b     ┆ 1   │
    └───────┴──────┴───────┴─────┘
    """
    given = {
        role: as_column(into, role)
        for role, into in {"pred": pred, "label": label}.items()
        if into is not None
    }
    check_columns(rows, {role: [column] for role, column in given.items()})
    dtypes = schema_of(rows, given) if given else pl.Schema()
    several = isinstance(dtypes.get("pred"), pl.List)
    cast, faults = same_dtype(given, dtypes)
    cells = {role: key(cell) for role, cell in cast.items()}
    exploded = "pred" if several else None
    return count_cells(
        rows, by, group=group, cells=cells, weight=weight, exploded=exploded, faults=faults
    )


classes = Tally(
    name="fairness.classes",
    count=_count_classes,
    cells=("group", "pred", "label"),
    sums={**WEIGHTED_SUMS, "rows": pl.col("rows").sum(), "row_w": pl.col("row_w").sum()},
    defaults={
        "w": pl.col("n"),
        "w2": pl.col("n"),
        "rows": pl.when(_PREDICTED).then(pl.col("n")).otherwise(0),
        "row_w": pl.when(_PREDICTED).then(pl.col("w")).otherwise(0),
    },
    drawn=Drawn(),
)


# --- distances between groups -------------------------------------------------------------------


def side_shares(
    table: pl.LazyFrame,
    keys: Sequence[str],
    ref: Any,
    cells: Sequence[str],
    *,
    given: Sequence[str] = (),
    ordered: bool = False,
) -> pl.LazyFrame:
    """Return, for both sides of every pair of groups, the share of each cell.

    Shares are among the rows of the side that have the same values of `given`; `ordered` as in
    `pair_sides`.
    """
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in ("group", *cells))
    counted = table.filter(known & (_W > 0))
    side = [*keys, *PAIR, SIDE]
    sides = pair_sides(counted, keys, ref, cells, ["w"], ordered=ordered)
    return sides.select(*side, *cells, share=_W / _W.sum().over(*side, *given))


def _gaps(shares: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Subtract, for every pair and cell, the other side's share from the own one."""
    signed = pl.when(pl.col(SIDE) == 0).then(_SHARE).otherwise(-_SHARE)
    return shares.group_by(by).agg(share=signed.sum())


def _parity_pairs(
    table: pl.LazyFrame, keys: Sequence[str], *, ref: Any = None, reduce: str = "mean"
) -> pl.LazyFrame:
    """View one line per pair of groups, the distance of their predictions, or their mean."""
    if ref is None and reduce == "mean":
        return every_slice(table, _mean_distance(table, keys), keys)
    pair = [*keys, *PAIR]
    gaps = _gaps(side_shares(table, keys, ref, ["pred"]), [*pair, "pred"])
    lines = gaps.group_by(pair).agg(distance=_SHARE.abs().sum() / 2)
    return every_slice(table, lines, keys)


def group_shares(table: pl.LazyFrame, keys: Sequence[str], cell: str) -> pl.LazyFrame:
    """Return each group's share of every cell that it has, and the number of groups."""
    known = pl.col("group").is_not_null() & pl.col(cell).is_not_null() & (_W > 0)
    counted = table.filter(known).group_by(*keys, "group", cell).agg(_W.sum())
    return counted.with_columns(
        share=_W / _W.sum().over(*keys, "group"),
        groups=over(pl.col("group").n_unique().cast(pl.Float64), keys),
    )


def _mean_distance(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return the mean distance over all pairs of groups, without making the pairs.

    In the order of their shares of a class, the step from one group to the next lies between
    every group below it and every group above it. Groups without the class come first, with 0.
    """
    groups, within = pl.col("groups"), [*keys, "pred"]
    lines = group_shares(table, keys, "pred").sort("share")
    below = groups - (pl.len() - pl.int_range(pl.len())).over(within)
    step = (_SHARE - _SHARE.shift(1, fill_value=0.0)).over(within)
    pairs = (groups * (groups - 1)).first()
    lines = lines.with_columns(step=step, below=below)
    total = (pl.col("step") * pl.col("below") * (groups - pl.col("below"))).sum()
    return aggregated(lines, keys, {"distance": pl.when(pairs > 0).then(total / pairs)})


def _odds_pairs(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    ref: Any = None,
    unseen: Literal["uniform"] | None = None,
) -> pl.LazyFrame:
    """View one line per pair of groups: three distances of their confusion matrices."""
    cells, pair = ["pred", "label"], [*keys, *PAIR]
    if unseen is not None:
        # Every side may get a uniform column for every true class.
        others = pl.col("group").n_unique() if ref is None else pl.lit(1)
        number = pl.col("pred").append(pl.col("label")).n_unique().cast(pl.Float64)
        table = few_pairs(table, keys, number * number * others)
    shares = side_shares(table, keys, ref, cells, given=["label"])
    if unseen is not None:
        shares = _with_uniform(shares, keys)
    # A true class counts if both sides have it.
    common = shares.filter(pl.col(SIDE).n_unique().over(*pair, "label") > 1)
    gaps = _gaps(common, [*pair, *cells])
    number = pl.col("label").n_unique()
    by_cell = gaps.group_by(pair).agg(
        opportunity=_SHARE.abs().sum() / (2 * number),
        true_rates=_SHARE.filter(pl.col("pred") == pl.col("label")).abs().sum() / number,
        classes=number,
    )
    by_row = gaps.group_by(*pair, "pred").agg(_SHARE.sum())
    odds = by_row.group_by(pair).agg(total=_SHARE.abs().sum())
    lines = joined(by_cell, odds, pair).with_columns(odds=pl.col("total") / (2 * pl.col("classes")))
    return every_slice(table, lines, keys)


def _with_uniform(shares: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Add a uniform column for each true class of the slice that a side lacks."""
    side = [*keys, *PAIR, SIDE]
    every = pl.concat(shares.select(*keys, label=cell) for cell in ("pred", "label")).unique()
    wanted = joined(shares.select(side).unique(), every, keys)
    lacking = wanted.join(shares, on=[*side, "label"], how="anti", nulls_equal=True)
    column = every.select(*keys, pred="label", share=1 / over(pl.len(), keys))
    added = joined(lacking, column, keys).select(*side, "pred", "label", "share")
    return pl.concat([shares, added])


def _reduced(distance: str, reduce: str) -> pl.Expr:
    if reduce not in ("mean", "max"):
        msg = f'`reduce` is "mean" or "max", got {reduce!r}'
        raise ValueError(msg)
    return pl.col(distance).mean() if reduce == "mean" else pl.col(distance).max()


def _check_distance(metric: Metric, schema: pl.Schema) -> None:
    if "rows" in schema:
        msg = (
            f"`{metric.name}` expects one class per row, but `pred` is a list:"
            " use `stat_parity_by_class`"
        )
        raise TypeError(msg)
    unseen = metric.options.get("unseen")
    if unseen not in (None, "uniform"):
        msg = f'`unseen` is None (leave the class out) or "uniform", got {unseen!r}'
        raise ValueError(msg)


_distance = functools.partial(
    define,
    classes,
    of=FairnessMetric,
    ideal=0.0,
    bounds=(0.0, 1.0),
    better="lower",
    fair=(0.0, 0.1),
    check=_check_distance,
)


@_distance("outcome", ("group", "pred"), view=_parity_pairs)
def multiclass_stat_parity(*, reduce: str = "mean") -> pl.Expr:
    """Distance between the groups' distributions of predicted classes.

    The total variation distance of the two distributions: the share of one group whose predicted
    class would have to change to make them equal.

    Formula, for groups g and h, i running over the classes::

        1/2 sum_i |P(pred = i | g) - P(pred = i | h)|

    Range 0 to 1; ideal 0; lower is better; 0 to 0.1 is usually accepted.

    Parameters
    ----------
    reduce
        ``"mean"`` over the pairs of groups, or ``"max"``, the pair with the largest distance.
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups): only
        the pairs of a group with it. Without it, all pairs of groups.

    Notes
    -----
    The same as HolisticAI's function, which reads any string except "max" as "mean". Its page names
    the mean absolute deviation over the K classes, which is 2/K of this. The page prints a formula
    with one rate and one reference group: for that use ``ref``, and for a single class
    `stat_parity_by_class`. With two classes it is the magnitude of `stat_parity`. With one group it
    is undefined; HolisticAI's maximum is then 0.

    References
    ----------
    Denis, Elie, Hebiri, Hu (2024). Fairness Guarantees in Multi-Class Classification with
    Demographic Parity. JMLR 25(130). Gibbs, Su (2002). On Choosing and Bounding Probability
    Metrics. International Statistical Review 70(3), 419-435.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFFFMMMM"), "said": list("aabbabcc")})
    >>> distance = df.pipe(fairness.multiclass_stat_parity, group="sex", pred="said")
    >>> distance
    0.5

    The mean absolute deviation over the three classes:

    >>> round(distance * 2 / 3, 3)
    0.333
    """
    return _reduced("distance", reduce)


_odds = functools.partial(_distance, "opportunity", ("group", "pred", "label"), view=_odds_pairs)


@_odds()
def multiclass_equal_opportunity(*, reduce: str = "mean") -> pl.Expr:
    """Distance between the groups' confusion matrices, cell by cell.

    The total variation distance between the predictions of two groups among rows of the same true
    class, averaged over the true classes that both groups have. It is 0 only with equalized odds,
    which is more than equal opportunity: see `multiclass_true_positive_difference`.

    Formula, with C_g[i, j] = P(pred = i | label = j, g) and J true classes in common::

        sum_ij |C_g[i, j] - C_h[i, j]| / (2 J)

    Range 0 to 1; ideal 0; lower is better; 0 to 0.1 is usually accepted.

    Parameters
    ----------
    reduce
        ``"mean"`` over the pairs of groups, or ``"max"``, the pair with the largest distance.
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups): only
        the pairs of a group with it. Without it, all pairs of groups.
    unseen
        How to treat a true class that one group of a pair lacks. None leaves the class out, and the
        pair too if no class remains. ``"uniform"`` assumes that every class would be predicted
        equally often, as HolisticAI does.

    Notes
    -----
    HolisticAI's ``multiclass_equality_of_opp`` with ``unseen="uniform"``. Its page names the mean
    absolute deviation over the K x K cells, which is 2/K of this. The page prints the difference of
    one true positive rate from that of one reference group: for that use
    `multiclass_true_positive_difference` with ``ref``. With two classes it is `average_abs_odds`.

    References
    ----------
    Putzel, Lee (2022). Blackbox Post-Processing for Multiclass Fairness. arXiv:2201.04461.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFFMMMM"), "said": list("aabbabcc"), "was": list("abbbabbb")}
    ... )
    >>> roles = {"group": "sex", "pred": "said", "label": "was"}
    >>> round(df.pipe(fairness.multiclass_equal_opportunity, **roles), 3)
    0.333

    As HolisticAI has it, with the class that is never true:

    >>> round(df.pipe(fairness.multiclass_equal_opportunity, **roles, unseen="uniform"), 3)
    0.222
    """
    return _reduced("opportunity", reduce)


@_odds()
def multiclass_average_odds(*, reduce: str = "mean") -> pl.Expr:
    """Distance between the groups' predictions, with equal weights for all true classes.

    The value that `multiclass_stat_parity` would have if all true classes were equally frequent in
    both groups. Opposite errors in different true classes cancel out, unlike in
    `multiclass_equal_opportunity`.

    Formula, with C_g[i, j] = P(pred = i | label = j, g) and J true classes in common::

        sum_i |sum_j (C_g[i, j] - C_h[i, j])| / (2 J)

    Range 0 to 1; ideal 0; lower is better; 0 to 0.1 is usually accepted.

    Parameters
    ----------
    reduce
        ``"mean"`` over the pairs of groups, or ``"max"``, the pair with the largest distance.
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups): only
        the pairs of a group with it. Without it, all pairs of groups.
    unseen
        How to treat a true class that one group of a pair lacks. None leaves the class out, and the
        pair too if no class remains. ``"uniform"`` assumes that every class would be predicted
        equally often, as HolisticAI does.

    Notes
    -----
    HolisticAI's function of this name with ``unseen="uniform"``. The mean absolute deviation that
    its page names is 2/K of this, for K classes. The formula there is for two classes and one
    reference group: use `average_odds` with ``ref``. With two classes it is the magnitude of
    `average_odds`.

    References
    ----------
    Putzel, Lee (2022). Blackbox Post-Processing for Multiclass Fairness. arXiv:2201.04461.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFFMMMM"), "said": list("aabbabcc"), "was": list("abbbabbb")}
    ... )
    >>> roles = {"group": "sex", "pred": "said", "label": "was"}
    >>> round(df.pipe(fairness.multiclass_average_odds, **roles), 3)
    0.333
    """
    return _reduced("odds", reduce)


@_odds()
def multiclass_true_positive_difference(*, reduce: str = "mean") -> pl.Expr:
    """Mean absolute difference of the groups' recalls over the true classes.

    Equal opportunity for every class: each true class should be predicted correctly equally often
    in all groups.

    Formula, with R_g[j] = P(pred = j | label = j, g) and J true classes in common::

        sum_j |R_g[j] - R_h[j]| / J

    Range 0 to 1; ideal 0; lower is better; 0 to 0.1 is usually accepted.

    Parameters
    ----------
    reduce
        ``"mean"`` over the pairs of groups, or ``"max"``, the pair with the largest distance.
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups): only
        the pairs of a group with it. Without it, all pairs of groups.
    unseen
        How to treat a true class that one group of a pair lacks. None leaves the class out, and the
        pair too if no class remains. ``"uniform"`` assumes that every class would be predicted
        equally often, as HolisticAI does.

    Notes
    -----
    HolisticAI's ``multiclass_true_rates`` with ``unseen="uniform"``. It is the mean absolute
    deviation that its page names. The formula there takes one rate and one reference group: use
    ``ref``. For a single class use `equal_opportunity` with ``pred=pl.col("said") == "a"`` and
    ``label=pl.col("was") == "a"``; the recalls themselves are `recall_by_class`.

    References
    ----------
    Putzel, Lee (2022). Blackbox Post-Processing for Multiclass Fairness. arXiv:2201.04461.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFFMMMM"), "said": list("aabbabcc"), "was": list("abbbabbb")}
    ... )
    >>> roles = {"group": "sex", "pred": "said", "label": "was"}
    >>> round(df.pipe(fairness.multiclass_true_positive_difference, **roles), 3)
    0.167
    >>> df.pipe(
    ...     fairness.equal_opportunity,
    ...     group="sex",
    ...     pred=pl.col("said") == "a",
    ...     label=pl.col("was") == "a",
    ... )
    0.0
    """
    return _reduced("true_rates", reduce)
