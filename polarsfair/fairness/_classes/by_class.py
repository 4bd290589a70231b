"""Tables with a row per class: one class compared with all others, in every group."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.compare import difference, known_as, ratio
from polarsfair._engine.metric import define
from polarsfair._engine.slices import joined, summed
from polarsfair._formula import quotient
from polarsfair.fairness._classes.distances import classes
from polarsfair.fairness._types import FairnessFrame

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "disparate_impact_by_class",
    "frequency_by_class",
    "precision_by_class",
    "recall_by_class",
    "stat_parity_by_class",
]


def _against_rest(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per predicted class: the rows that have it, and all rows.

    Between groups, only classes that are predicted in a known group have a line.
    """
    known = table.filter(pl.col("group").is_not_null()) if "group" in keys else table
    return _class_lines(table, keys, known.with_columns(pl.col("pred").alias("class")))


def _class_lines(table: pl.LazyFrame, keys: Sequence[str], named: pl.LazyFrame) -> pl.LazyFrame:
    """Count rows per class of the slice, which `named` lists, even if a group lacks the class.

    The columns that end in ``_n`` count without weights.
    """
    slices = [key for key in keys if key != "group"]
    every = named.select(*slices, "class").drop_nulls("class").unique()
    sizes = table.with_columns(size=pl.col("row_w"), size_n=pl.col("rows"))
    sizes = summed(sizes, keys, ["size", "size_n"])
    hit = pl.col("pred") == pl.col("label")
    known = pl.col("label").is_not_null()
    lines = joined(sizes, every, slices)
    for part in (
        _by_class(table, keys, "pred", predicted=pl.col("w")),
        _by_class(table.filter(known), keys, "pred", claimed=pl.col("w"), claimed_n=pl.col("n")),
        _by_class(table, keys, "label", true=pl.col("row_w"), true_n=pl.col("rows")),
        _by_class(table.filter(hit), keys, "pred", hits=pl.col("w")),
    ):
        lines = joined(lines, part, [*keys, "class"], how="left")
    return lines.with_columns(
        pl.col("predicted", "claimed", "claimed_n", "true", "true_n", "hits").fill_null(0)
    )


def _by_class(
    table: pl.LazyFrame, keys: Sequence[str], cell: str, **value: pl.Expr
) -> pl.LazyFrame:
    sums = {name: column.sum() for name, column in value.items()}
    return table.group_by(*keys, pl.col(cell).alias("class")).agg(**sums)


def _groups_against_rest(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per group and class that is predicted."""
    return _class_lines(table, [*keys, "group"], table.select(*keys, pl.col("pred").alias("class")))


def _groups_by_any_class(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per group and class that is predicted or true."""
    named = pl.concat(table.select(*keys, pl.col(c).alias("class")) for c in ("pred", "label"))
    return _class_lines(table, [*keys, "group"], named)


_per_class = functools.partial(define, classes, "quality", of=FairnessFrame, bounds=(0.0, 1.0))


@_per_class(("pred",), view=_against_rest, keys=("class",), n=pl.col("size_n").sum)
def _class_share() -> pl.Expr:
    """Share of rows that are predicted to be in the class."""
    return quotient(pl.col("predicted").sum(), pl.col("size").sum())


@known_as(kind="outcome", fair=(-0.1, 0.1))
def stat_parity_by_class() -> FairnessFrame:
    """Difference of the shares of each class, one class compared with all others.

    `stat_parity` for every class: a frame with a row per ``class`` that is predicted.

    Formula, with P(c) the share of a group that is predicted to be in class c::

        with ref      P(c | group) - P(c | ref), of the group farthest from the reference
        without ref   largest P(c) - smallest P(c)

    Range -1 to 1; ideal 0; nearer is better; -0.1 to 0.1 is usually accepted.

    Parameters
    ----------
    pred
        A class, or a list of classes; a row counts once for every class in its list.
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    Jurity's multi-class table compares group 1 with all others:
    ``group=pl.col("sex") == "F", ref=False``. It has a row for every class in its list of classes,
    0 if no row has the class. It reads strings of several letters as lists of letters.
    `multiclass_stat_parity` is one number for all classes.

    References
    ----------
    Denis, Elie, Hebiri, Hu (2024). Fairness Guarantees in Multi-Class Classification with
    Demographic Parity. JMLR 25(130).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFFFMMMM"), "said": list("aabbabcc")})
    >>> df.pipe(fairness.stat_parity_by_class, group="sex", pred="said", ref="M")
    shape: (3, 2)
    ┌───────┬──────────────────────┐
    │ class ┆ stat_parity_by_class │
    │ ---   ┆ ---                  │
    │ str   ┆ f64                  │
    ╞═══════╪══════════════════════╡
    │ a     ┆ 0.25                 │
    │ b     ┆ 0.25                 │
    │ c     ┆ -0.5                 │
    └───────┴──────────────────────┘
    """
    return difference(_class_share)


@known_as(kind="outcome", fair=(0.8, 1.25))
def disparate_impact_by_class() -> FairnessFrame:
    """Ratio of the shares of each class, one class compared with all others.

    `disparate_impact` for every class: a frame with a row per ``class`` that is predicted.

    Formula, with P(c) the share of a group that is predicted to be in class c::

        with ref      P(c | group) / P(c | ref), of the group farthest from the reference
        without ref   smallest P(c) / largest P(c)

    Range 0 to inf; ideal 1; nearer is better; 0.8 to 1.25 is usually accepted.

    Parameters
    ----------
    pred
        A class, or a list of classes; a row counts once for every class in its list.
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    Jurity's multi-class table compares group 1 with all others:
    ``group=pl.col("sex") == "F", ref=False``. If no row of group 2 has the class, Jurity returns
    the *number* of rows of group 1 that have it; here the ratio is infinite.

    References
    ----------
    Feldman, Friedler, Moeller, Scheidegger, Venkatasubramanian (2015). Certifying and Removing
    Disparate Impact. KDD 2015, 259-268.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFFFMMMM"), "said": list("aabbabcc")})
    >>> df.pipe(fairness.disparate_impact_by_class, group="sex", pred="said", ref="M")
    shape: (3, 2)
    ┌───────┬───────────────────────────┐
    │ class ┆ disparate_impact_by_class │
    │ ---   ┆ ---                       │
    │ str   ┆ f64                       │
    ╞═══════╪═══════════════════════════╡
    │ a     ┆ 2.0                       │
    │ b     ┆ 2.0                       │
    │ c     ┆ 0.0                       │
    └───────┴───────────────────────────┘
    """
    return ratio(_class_share)


@_per_class(
    ("group", "pred"),
    view=_groups_against_rest,
    keys=("group", "class"),
    n=pl.col("size_n").sum,
)
def frequency_by_class() -> pl.Expr:
    """Share of each group predicted to be in each class.

    A frame with a row per ``group`` and ``class`` that is predicted, 0 if the group lacks the
    class. The unknown group is included.

    Formula: ``P(c) = rows of the group predicted as c / rows of the group with a prediction``.

    Range 0 to 1; a description, no ideal.

    Parameters
    ----------
    pred
        A class, or a list of classes; a row counts once for every class in its list, so that the
        sum of a group's shares may exceed 1.

    Notes
    -----
    HolisticAI's ``frequency_matrix``, in long form; pivot it with
    ``.pivot("class", index="group")``. Its ``normalize="class"`` divides by the rows predicted as
    the class instead. Its confusion tensor is the table of `classes`.

    References
    ----------
    Sokolova, Lapalme (2009). A Systematic Analysis of Performance Measures for Classification
    Tasks. Information Processing & Management 45(4), 427-437.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFFFMMMM"), "said": list("aabbabcc")})
    >>> df.pipe(fairness.frequency_by_class, group="sex", pred="said").pivot("class", index="group")
    shape: (2, 4)
    ┌───────┬──────┬──────┬─────┐
    │ group ┆ a    ┆ b    ┆ c   │
    │ ---   ┆ ---  ┆ ---  ┆ --- │
    │ str   ┆ f64  ┆ f64  ┆ f64 │
    ╞═══════╪══════╪══════╪═════╡
    │ F     ┆ 0.5  ┆ 0.5  ┆ 0.0 │
    │ M     ┆ 0.25 ┆ 0.25 ┆ 0.5 │
    └───────┴──────┴──────┴─────┘
    """
    return quotient(pl.col("predicted").sum(), pl.col("size").sum())


@_per_class(
    ("group", "pred", "label"),
    view=_groups_by_any_class,
    keys=("group", "class"),
    ideal=1.0,
    better="higher",
    n=pl.col("claimed_n").sum,
)
def precision_by_class() -> pl.Expr:
    """Precision of each class in each group.

    `precision` of every class compared with all others: a frame with a row per ``group`` and
    ``class`` that is predicted or true. The unknown group is included.

    Formula: ``rows of the group predicted as c and truly c / rows of the group predicted as c``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    Undefined if the class is never predicted in the group. HolisticAI exchanged two names: its
    ``recall_matrix`` is this, its ``precision_matrix`` is `recall_by_class`. Its
    ``accuracy_matrix`` is the Jaccard index, 1 / (1 / precision + 1 / recall - 1).

    References
    ----------
    Sokolova, Lapalme (2009). A Systematic Analysis of Performance Measures for Classification
    Tasks. Information Processing & Management 45(4), 427-437.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame(
    ...     {"sex": list("FFFFMMMM"), "said": list("aabbabcc"), "was": list("abbbabbb")}
    ... )
    >>> df.pipe(fairness.precision_by_class, group="sex", pred="said", label="was")
    shape: (6, 3)
    ┌───────┬───────┬────────────────────┐
    │ group ┆ class ┆ precision_by_class │
    │ ---   ┆ ---   ┆ ---                │
    │ str   ┆ str   ┆ f64                │
    ╞═══════╪═══════╪════════════════════╡
    │ F     ┆ a     ┆ 0.5                │
    │ F     ┆ b     ┆ 1.0                │
    │ F     ┆ c     ┆ null               │
    │ M     ┆ a     ┆ 1.0                │
    │ M     ┆ b     ┆ 1.0                │
    │ M     ┆ c     ┆ 0.0                │
    └───────┴───────┴────────────────────┘
    """
    return quotient(pl.col("hits").sum(), pl.col("claimed").sum())


@_per_class(
    ("group", "pred", "label"),
    view=_groups_by_any_class,
    keys=("group", "class"),
    ideal=1.0,
    better="higher",
    n=pl.col("true_n").sum,
)
def recall_by_class() -> pl.Expr:
    """Recall of each class in each group.

    The `true_positive_rate` of every class compared with all others: a frame with a row per
    ``group`` and ``class`` that is predicted or true. The unknown group is included.

    Formula: ``rows of the group predicted as c and truly c / rows of the group truly c``.

    Range 0 to 1; ideal 1; higher is better.

    Notes
    -----
    Undefined if no row of the group truly has the class. HolisticAI exchanged two names: its
    ``precision_matrix`` is this, its ``recall_matrix`` is `precision_by_class`. The distance
    between the groups is `multiclass_true_positive_difference`.

    References
    ----------
    Sokolova, Lapalme (2009). A Systematic Analysis of Performance Measures for Classification
    Tasks. Information Processing & Management 45(4), 427-437.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": list("FFMM"), "said": list("abaa"), "was": list("aaba")})
    >>> df.pipe(fairness.recall_by_class, group="sex", pred="said", label="was")
    shape: (4, 3)
    ┌───────┬───────┬─────────────────┐
    │ group ┆ class ┆ recall_by_class │
    │ ---   ┆ ---   ┆ ---             │
    │ str   ┆ str   ┆ f64             │
    ╞═══════╪═══════╪═════════════════╡
    │ F     ┆ a     ┆ 0.5             │
    │ F     ┆ b     ┆ null            │
    │ M     ┆ a     ┆ 1.0             │
    │ M     ┆ b     ┆ 0.0             │
    └───────┴───────┴─────────────────┘
    """
    return quotient(pl.col("hits").sum(), pl.col("true").sum())
