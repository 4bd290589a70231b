"""Individual fairness: inequality between people of the benefit b = 1 + prediction - label."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.compare import known_as
from polarsfair._engine.faults import Fault, binary_message, checked, counted
from polarsfair._engine.metric import Variant, define
from polarsfair._engine.rows import WEIGHTED_SUMS, Rows, binary, number
from polarsfair._engine.slices import hidden, summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import clean, quotient
from polarsfair.fairness._decisions.rates import check_boolean, decisions
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = [
    "benefits",
    "coefficient_of_variation",
    "generalized_entropy",
    "generalized_entropy_between",
    "generalized_entropy_within",
    "theil",
    "theil_between",
    "theil_within",
]

_BENEFIT, _BAD_SCORE, _BAD_LABEL = hidden("benefit"), hidden("bad score"), hidden("bad label")


def _order(alpha: object) -> float:
    if isinstance(alpha, (int, float)) and math.isfinite(alpha):
        return float(alpha)
    msg = f"`alpha` is a number, such as `alpha=2`, got {alpha!r}"
    raise ValueError(msg)


def _orders(alpha: float | Sequence[float]) -> list[float]:
    listed = alpha if isinstance(alpha, Sequence) and not isinstance(alpha, str) else [alpha]
    return list(dict.fromkeys(_order(each) for each in listed))


def _power(benefit: pl.Expr, alpha: float) -> pl.Expr:
    """Return the value that the index of order `alpha` sums over rows."""
    alpha = _order(alpha)
    if alpha == 1:
        return pl.when(benefit == 0).then(0.0).otherwise(benefit * benefit.log(math.e))
    return benefit.log(math.e) if alpha == 0 else benefit.pow(alpha)


def _weighed(weight: pl.Expr, value: pl.Expr) -> pl.Expr:
    # Rows with weight 0 do not count, even if their value is infinite.
    return pl.when(weight == 0).then(0.0).otherwise(weight * value)


def _index(size: pl.Expr, total: pl.Expr, power: pl.Expr, alpha: float) -> pl.Expr:
    """Return the generalized entropy index, from its three sums."""
    mean = quotient(total, size)
    defined = pl.when(mean > 0)
    if alpha == 1:
        return defined.then(power / total - mean.log(math.e)).clip(0)
    if alpha == 0:
        return defined.then(mean.log(math.e) - power / size).clip(0)
    # Powers of an extreme order are beyond floats: infinite over infinite is undefined.
    scaled = clean(power / (size * mean.pow(float(alpha))))
    return defined.then((scaled - 1) / (alpha * (alpha - 1))).clip(0)


def _count_benefits(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    score: IntoColumn | None = None,
    label: IntoColumn | None = None,
    weight: IntoColumn | None = None,
    alpha: float | Sequence[float] = 2.0,
) -> pl.LazyFrame:
    """Sum the benefits b = 1 + score - label of soft predictions per group.

    The table has the slices, ``group``, ``alpha`` (one row each), ``n`` rows, and with ``weight``
    also ``w`` and ``w2``. ``b`` is the sum of the benefits, ``power`` the sum of b**alpha (of b ln
    b for alpha 1, of ln b for alpha 0). Rows without a score or a label are left out.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p": [0.5, 1.0], "y": [1, 0]})
    >>> fairness.benefits(df, score="p", label="y", alpha=[0, 2]).sort("alpha")
    shape: (2, 4)
    ┌───────┬─────┬─────┬───────┐
    │ alpha ┆ n   ┆ b   ┆ power │
    │ ---   ┆ --- ┆ --- ┆ ---   │
    │ f64   ┆ i64 ┆ f64 ┆ f64   │
    ╞═══════╪═════╪═════╪═══════╡
    │ 0.0   ┆ 2   ┆ 2.5 ┆ 0.0   │
    │ 2.0   ┆ 2   ┆ 2.5 ┆ 4.25  │
    └───────┴─────┴─────┴───────┘
    """
    alphas = _orders(alpha)
    if score is None or label is None:
        msg = '`fairness.benefits` needs both: `score="<column>", label="<column>"`'
        raise TypeError(msg)
    rows = Rows.of(frame, by, group=group, weight=weight, score=number(score), label=binary(label))
    powers = {hidden("power", i): each for i, each in enumerate(alphas)}
    lines, sums = _benefit_columns(rows, powers), [*rows.sums, "b"]
    table = summed(lines, rows.keys, [*sums, *powers, _BAD_SCORE, _BAD_LABEL, *rows.bad])
    table = table.with_columns(
        alpha=pl.lit(alphas, dtype=pl.List(pl.Float64)), power=pl.concat_list(*powers)
    ).explode("alpha", "power")
    return rows.table(table, ["alpha"], [*sums, "power"], _faults(rows))


def _benefit_columns(rows: Rows, powers: Mapping[str, float]) -> pl.LazyFrame:
    """Add each row's benefit and the values to sum; 0 if score or label is unknown."""
    score, label, benefit = pl.col("score"), pl.col("label").cast(pl.Int64), pl.col(_BENEFIT)
    known = score.is_not_null() & label.is_not_null()
    lines = rows.frame.with_columns(
        pl.when(known).then(1 + score - label).otherwise(1.0).alias(_BENEFIT),
        (~score.is_between(0, 1)).cast(pl.Int64).alias(_BAD_SCORE),
        (~label.is_in([0, 1])).cast(pl.Int64).alias(_BAD_LABEL),
        *(pl.when(known).then(name).otherwise(0).alias(name) for name in rows.sums),
    )
    weight = pl.col("w" if rows.weighted else "n")
    return lines.with_columns(
        b=weight * benefit,
        **{name: _weighed(weight, _power(benefit, alpha)) for name, alpha in powers.items()},
    )


def _faults(rows: Rows) -> list[Fault]:
    score = rows.columns["score"].expression.meta.output_name()
    outside = (
        "`score` holds a value outside 0 to 1: pass a probability, or a decision as `pred`,"
        f' such as `pred=pl.col("{score}") > 0.5`'
    )
    label = binary_message(rows.columns["label"])
    return [counted(_BAD_SCORE, outside), counted(_BAD_LABEL, label), *rows.faults()]


benefits = Tally(
    name="fairness.benefits",
    count=_count_benefits,
    cells=("group", "alpha"),
    sums={**WEIGHTED_SUMS, "b": pl.col("b").sum(), "power": pl.col("power").sum()},
)


def _of_decisions(table: pl.LazyFrame, keys: Sequence[str], *, alpha: float = 2.0) -> pl.LazyFrame:
    """View the benefits of decisions: 0, 1 or 2."""
    del keys
    benefit = (1 + pl.col("pred").cast(pl.Int64) - pl.col("label").cast(pl.Int64)).cast(pl.Float64)
    weight = pl.when(benefit.is_not_null()).then(pl.col("w")).otherwise(0)
    known, size = pl.col(_BENEFIT), pl.col("size")
    rows = pl.when(benefit.is_not_null()).then(pl.col("n")).otherwise(0)
    lines = table.with_columns(benefit.fill_null(1.0).alias(_BENEFIT), size=weight, n=rows)
    return lines.with_columns(total=size * known, power=_weighed(size, _power(known, alpha)))


def _of_scores(table: pl.LazyFrame, keys: Sequence[str], *, alpha: float = 2.0) -> pl.LazyFrame:
    """View the benefits of soft predictions, of the requested order."""
    del keys
    requested = pl.col("alpha") == _order(alpha)
    message = (
        f"the table of `fairness.benefits` does not hold alpha {alpha}:"
        f" count it with `alpha=[{alpha}, ...]`"
    )
    absent = Fault(~requested.any() & (pl.len() > 0), message)
    return table.with_columns(
        power=checked("power", absent), size=pl.col("w"), total=pl.col("b")
    ).filter(requested)


def _per_group(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Sum the benefits of each group; the unknown group keeps its line, with sums of 0."""
    return (
        lines.group_by(*keys, "group")
        .agg(pl.col("n", "size", "total", "power").sum())
        .with_columns(
            pl.when(pl.col("group").is_not_null())
            .then(pl.col("n", "size", "total", "power"))
            .otherwise(0)
        )
    )


def _decisions_per_group(
    table: pl.LazyFrame, keys: Sequence[str], *, alpha: float = 2.0
) -> pl.LazyFrame:
    """View one line per group, of decisions."""
    return _per_group(_of_decisions(table, keys, alpha=alpha), keys)


def _scores_per_group(
    table: pl.LazyFrame, keys: Sequence[str], *, alpha: float = 2.0
) -> pl.LazyFrame:
    """View one line per group, of soft predictions."""
    return _per_group(_of_scores(table, keys, alpha=alpha), keys)


_SIZE, _TOTAL, _POWER = pl.col("size"), pl.col("total"), pl.col("power")


def _is_soft(given: Mapping[str, Any]) -> bool:
    return given.get("score") is not None and given.get("pred") is None


def _individual(
    *, grouped: bool = False, **options: float
) -> Callable[[Callable[..., pl.Expr]], FairnessMetric]:
    """Decorate the formula of an index; with `score` for `pred` its variant reads `benefits`."""
    facts = {
        "ideal": 0.0,
        "bounds": (0.0, math.inf),
        "better": "lower",
        "options": options,
        "n": pl.col("n").sum,
    }
    roles = ["group"] if grouped else []

    def metric_of(formula: Callable[..., pl.Expr]) -> FairnessMetric:
        soft = define(
            benefits,
            "individual",
            [*roles, "score", "label"],
            of=FairnessMetric,
            view=_scores_per_group if grouped else _of_scores,
            **facts,
        )(formula)
        return define(
            decisions,
            "individual",
            [*roles, "pred", "label"],
            of=FairnessMetric,
            view=_decisions_per_group if grouped else _of_decisions,
            variants=(Variant(_is_soft, soft),),
            check=check_boolean,
            **facts,
        )(formula)

    return metric_of


@_individual()
def generalized_entropy(*, alpha: float = 2.0) -> pl.Expr:
    """Generalized entropy index of the benefits.

    It measures how unequally a decision benefits people. The benefit b = 1 + prediction - label is
    0 for a false negative, 1 for a correct decision and 2 for a false positive.

    Formula, with mu the mean of the benefits b::

        alpha not 0 or 1   mean((b / mu)**alpha - 1) / (alpha (alpha - 1))
        alpha = 1          mean(b / mu ln(b / mu)), with 0 ln 0 = 0
        alpha = 0          -mean(ln(b / mu))

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    alpha
        Order of the index, any number. A high order gives more weight to false positives, a low
        order to false negatives. If it is 0 or less, one false negative makes the value infinite.
    score
        Instead of ``pred``, a prediction between 0 and 1; the benefits are then numbers between 0
        and 2. A stored table of `benefits` holds only the orders that it was counted with.

    Notes
    -----
    Undefined if every row is a false negative. Jurity agrees, but calls the positive value
    ``membership_label``: write ``pred=pl.col("said") == value``. AIF360 and HolisticAI also divide
    by mu for alpha 0: divide by ``1 + selection_rate - base_rate`` to match them.

    References
    ----------
    Speicher, Heidari, Grgić-Hlača, Gummadi, Singla, Weller, Zafar (2018). A Unified Approach to
    Quantifying Algorithmic Unfairness: Measuring Individual & Group Unfairness via Inequality
    Indices. KDD 2018. Shorrocks (1980). The Class of Additively Decomposable Inequality Measures.
    Econometrica 48(3).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"hired": [0, 1, 1, 0], "chance": [0.4, 0.5, 0.7, 0.1], "fit": [1, 1, 0, 0]}
    ... )
    >>> df.pipe(fairness.generalized_entropy, pred="hired", label="fit")
    0.25
    >>> round(df.pipe(fairness.generalized_entropy, pred="hired", label="fit", alpha=1), 3)
    0.347
    >>> round(df.pipe(fairness.generalized_entropy, score="chance", label="fit", alpha=0), 3)
    0.168
    """
    return _index(_SIZE.sum(), _TOTAL.sum(), _POWER.sum(), alpha)


@_individual(grouped=True)
def generalized_entropy_between(*, alpha: float = 2.0) -> pl.Expr:
    """Part of the generalized entropy index that lies between groups.

    The index that would remain if every row had the mean benefit of its group.

    Formula, with n_g rows and mean benefit mu_g in group g, n and mu of all::

        alpha not 0 or 1   sum(n_g / n ((mu_g / mu)**alpha - 1)) / (alpha (alpha - 1))
        alpha = 1          sum(n_g / n mu_g / mu ln(mu_g / mu))
        alpha = 0          -sum(n_g / n ln(mu_g / mu))

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    alpha
        Order of the index, as in `generalized_entropy`.
    score
        Instead of ``pred``, a prediction between 0 and 1.

    Notes
    -----
    The sum with `generalized_entropy_within` is the index over the rows of known group. AIF360's
    ``between_all_groups_generalized_entropy_index`` is the same, but also divides by mu for alpha
    0. Its ``between_group_...`` first merges the groups into two, which here is an expression,
    ``group=pl.col("race") == "white"``. Jurity and HolisticAI do not have it.

    References
    ----------
    Speicher, Heidari, Grgić-Hlača, Gummadi, Singla, Weller, Zafar (2018). A Unified Approach to
    Quantifying Algorithmic Unfairness: Measuring Individual & Group Unfairness via Inequality
    Indices. KDD 2018.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> roles = {"group": "sex", "pred": "hired", "label": "fit"}
    >>> between = df.pipe(fairness.generalized_entropy_between, **roles)
    >>> within = df.pipe(fairness.generalized_entropy_within, **roles)
    >>> round(between, 3), round(within, 3)
    (0.056, 0.111)
    >>> round(between + within, 3), round(df.pipe(fairness.generalized_entropy, **roles), 3)
    (0.167, 0.167)
    """
    power = _weighed(_SIZE, _power(_TOTAL / _SIZE, alpha))
    return _index(_SIZE.sum(), _TOTAL.sum(), power.sum(), alpha)


@_individual(grouped=True)
def generalized_entropy_within(*, alpha: float = 2.0) -> pl.Expr:
    """Part of the generalized entropy index that lies within groups.

    The inequality of benefits among rows of the same group.

    Formula, with n_g rows, mean benefit mu_g and index GE_g in group g, n and mu of all::

        sum(n_g / n (mu_g / mu)**alpha GE_g(alpha))

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    alpha
        Order of the index, as in `generalized_entropy`.
    score
        Instead of ``pred``, a prediction between 0 and 1.

    Notes
    -----
    The sum with `generalized_entropy_between` is the index over the rows of known group: lowering
    one part may raise the other. AIF360, Jurity and HolisticAI do not have it.

    References
    ----------
    Speicher, Heidari, Grgić-Hlača, Gummadi, Singla, Weller, Zafar (2018). A Unified Approach to
    Quantifying Algorithmic Unfairness: Measuring Individual & Group Unfairness via Inequality
    Indices. KDD 2018.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> roles = {"group": "sex", "pred": "hired", "label": "fit"}
    >>> round(df.pipe(fairness.generalized_entropy_within, **roles), 3)
    0.111
    """
    mean = quotient(_TOTAL.sum(), _SIZE.sum())
    share = _SIZE / _SIZE.sum() * (_TOTAL / _SIZE / mean).pow(float(alpha))
    # The index of a group without any benefit is null, so that the group adds nothing.
    parts = share * _index(_SIZE, _TOTAL, _POWER, alpha)
    return pl.when(mean > 0).then(clean(parts.sum()))


@known_as()
def theil() -> FairnessMetric:
    """Theil index of the benefits: generalized entropy of order 1.

    It measures how unequally a decision benefits people, with b = 1 + prediction - label.

    Formula, with mu the mean of the benefits: ``mean(b / mu ln(b / mu))``, with 0 ln 0 = 0.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    score
        Instead of ``pred``, a prediction between 0 and 1.

    Notes
    -----
    The same in Jurity, AIF360 and HolisticAI; see `generalized_entropy`. Undefined if every row is
    a false negative. With 0/1 decisions it depends on three counts: false negatives, correct
    decisions and false positives.

    References
    ----------
    Theil (1967). Economics and Information Theory. North-Holland. Speicher and others (2018). A
    Unified Approach to Quantifying Algorithmic Unfairness: Measuring Individual & Group Unfairness
    via Inequality Indices. KDD 2018.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [0, 1, 1, 0], "fit": [1, 1, 0, 0]})
    >>> round(df.pipe(fairness.theil, pred="hired", label="fit"), 3)
    0.347
    """
    return generalized_entropy.bind(alpha=1.0)


@known_as()
def theil_between() -> FairnessMetric:
    """Part of the Theil index that lies between groups.

    The index that would remain if every row had the mean benefit of its group.

    Formula, with n_g rows and mean benefit mu_g in group g, n and mu of all:
    ``sum(n_g / n mu_g / mu ln(mu_g / mu))``.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    score
        Instead of ``pred``, a prediction between 0 and 1.

    Notes
    -----
    The sum with `theil_within` is the Theil index over the rows of known group. AIF360's
    ``between_all_groups_theil_index`` is the same.

    References
    ----------
    Speicher, Heidari, Grgić-Hlača, Gummadi, Singla, Weller, Zafar (2018). A Unified Approach to
    Quantifying Algorithmic Unfairness: Measuring Individual & Group Unfairness via Inequality
    Indices. KDD 2018.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> roles = {"group": "sex", "pred": "hired", "label": "fit"}
    >>> round(df.pipe(fairness.theil_between, **roles), 3)
    0.057
    """
    return generalized_entropy_between.bind(alpha=1.0)


@known_as()
def theil_within() -> FairnessMetric:
    """Part of the Theil index that lies within groups.

    The inequality of benefits among rows of the same group.

    Formula, with n_g rows, mean benefit mu_g and Theil index T_g in group g, n and mu of all:
    ``sum(n_g / n mu_g / mu T_g)``.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    score
        Instead of ``pred``, a prediction between 0 and 1.

    Notes
    -----
    The sum with `theil_between` is the Theil index over the rows of known group. AIF360, Jurity and
    HolisticAI do not have it.

    References
    ----------
    Speicher, Heidari, Grgić-Hlača, Gummadi, Singla, Weller, Zafar (2018). A Unified Approach to
    Quantifying Algorithmic Unfairness: Measuring Individual & Group Unfairness via Inequality
    Indices. KDD 2018.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFMMM"), "hired": [0, 0, 1, 0, 1, 1], "fit": [0, 1, 1, 0, 0, 1]}
    ... )
    >>> roles = {"group": "sex", "pred": "hired", "label": "fit"}
    >>> round(df.pipe(fairness.theil_within, **roles), 3)
    0.174
    """
    return generalized_entropy_within.bind(alpha=1.0)


@_individual(alpha=2.0)
def coefficient_of_variation() -> pl.Expr:
    """Standard deviation of the benefits over their mean.

    It measures how unequally a decision benefits people, with b = 1 + prediction - label. It has no
    order: ``alpha`` of the call reaches only the other metrics.

    Formula: ``sd(b) / mean(b) = sqrt(2 GE(2))``, with the standard deviation of a population.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    score
        Instead of ``pred``, a prediction between 0 and 1.

    Notes
    -----
    AIF360 and HolisticAI compute 2 sqrt(GE(2)), which is the square root of 2 times this: multiply
    by ``2 ** 0.5`` to match them. Jurity does not have it. Undefined if every row is a false
    negative.

    References
    ----------
    Shorrocks (1980). The Class of Additively Decomposable Inequality Measures. Econometrica 48(3).
    Speicher and others (2018). A Unified Approach to Quantifying Algorithmic Unfairness: Measuring
    Individual & Group Unfairness via Inequality Indices. KDD 2018.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"hired": [0, 1, 1, 0], "fit": [1, 1, 0, 0]})
    >>> round(df.pipe(fairness.coefficient_of_variation, pred="hired", label="fit"), 3)
    0.707
    """
    return (2 * _index(_SIZE.sum(), _TOTAL.sum(), _POWER.sum(), 2.0)).sqrt()
