"""Groups that nobody knows row by row: the most likely one, and rates by way of a surrogate."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from polarsfair._engine.columns import as_column, check_columns
from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair._engine.groups import class_names
from polarsfair._engine.rows import binary, count_cells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polarsfair._typing import EagerFrame, IntoColumn, IntoFrame

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["most_likely", "surrogate_rates"]

SHARES = ("selection_rate", "tp", "fp", "tn", "fn")
"""What is regressed: shares of a level's rows."""

RATES = {
    "true_positive_rate": ("tp", "fn"),
    "false_positive_rate": ("fp", "tn"),
    "true_negative_rate": ("tn", "fp"),
    "false_negative_rate": ("fn", "tp"),
}
"""Each rate is the first share over the sum of both."""

_LEVEL = "|level"
_DEGENERATE = 1e-12, 1e-18
"""Variances of probabilities below this, relative to the largest or alone, are rounding."""


def most_likely(group: Mapping[Any, IntoColumn]) -> pl.Expr:
    """Give the class of largest probability, of several the first: an expression for ``group=``.

    Parameters
    ----------
    group
        Classes, each with the column or expression of its probability.

    Returns
    -------
    pl.Expr
        The class; null where a probability is unknown.

    Notes
    -----
    What Jurity does with likelihoods and no surrogate. It counts a row of 51 % as one of 100 %,
    and so pulls groups together or apart; expected counts, ``group={...}``, do not.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"p_a": [0.9, 0.5, 0.2], "p_b": [0.1, 0.5, 0.8], "hired": [1, 0, 1]})
    >>> group = fairness.most_likely({"a": "p_a", "b": "p_b"})
    >>> df.select(group)["group"].to_list()
    ['a', 'a', 'b']
    >>> df.pipe(fairness.stat_parity, group=group, pred="hired", ref="a")
    0.5
    """
    classes = class_names(group)
    chances = [as_column(into, "group").cast(pl.Float64) for into in group.values()]
    unknown = pl.any_horizontal(chance.is_null() | chance.is_nan() for chance in chances)
    largest = pl.max_horizontal(chances)
    likely = pl.lit(None, dtype=classes.dtype)
    for name, chance in reversed(list(zip(classes.to_list(), chances, strict=True))):
        likely = pl.when(chance == largest).then(pl.lit(name, classes.dtype)).otherwise(likely)
    return pl.when(~unknown).then(likely).alias("group")


@overload
def surrogate_rates(
    frame: pl.LazyFrame,
    *,
    surrogate: IntoColumn,
    group: Mapping[Any, IntoColumn],
    pred: IntoColumn,
    label: IntoColumn | None = ...,
    trials: int = ...,
    seed: int = ...,
    min_rows: int = ...,
) -> pl.LazyFrame: ...
@overload
def surrogate_rates(
    frame: EagerFrame,
    *,
    surrogate: IntoColumn,
    group: Mapping[Any, IntoColumn],
    pred: IntoColumn,
    label: IntoColumn | None = ...,
    trials: int = ...,
    seed: int = ...,
    min_rows: int = ...,
) -> pl.DataFrame: ...
def surrogate_rates(
    frame: IntoFrame,
    *,
    surrogate: IntoColumn,
    group: Mapping[Any, IntoColumn],
    pred: IntoColumn,
    label: IntoColumn | None = None,
    trials: int = 100,
    seed: int = 0,
    min_rows: int = 5,
) -> pl.DataFrame | pl.LazyFrame:
    """Estimate every class's rates where only a surrogate tells of the class.

    A surrogate is something like a post code: for each of its levels the make-up of the people is
    known. The shares of outcomes per level are regressed on that make-up, levels weighted by
    their rows, over bootstrap samples of the levels; a class's estimate is what the line gives
    for a level of nobody else, averaged over the samples.

    Parameters
    ----------
    frame
        Eager or lazy; one pass over the rows, the rest on one line per level.
    surrogate
        The level of each row.
    group
        Classes, each with the column or expression of its probability. They add up to 1 in every
        row, within 1e-6; a level's make-up is the mean over its rows.
    pred, label
        0/1. Without ``label`` only the selection rate is estimated. Rows in which one of them or
        the surrogate is null are left out.
    trials
        Bootstrap samples.
    seed
        Seed of the samples.
    min_rows
        Levels with fewer rows are left out, unless too few levels would be left: then all stay,
        with a warning.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per class, sorted: ``group``, ``selection_rate``, and with ``label`` the shares
        ``tp``, ``fp``, ``tn``, ``fn`` of all rows, ``accuracy``, ``true_positive_rate``,
        ``false_positive_rate``, ``true_negative_rate``, ``false_negative_rate``.

    Notes
    -----
    Lines are not held between 0 and 1: a value outside says that the levels tell too little. The
    estimator of Jurity's surrogate bootstrap, in double precision; its differences are the rows'
    differences here. Rows are found by the class's name: Jurity finds them by position after
    sorting, and so turns the sign of every metric where names are out of alphabetical order.

    References
    ----------
    Thielbar, Kadıoğlu, Zhang, Pack, Dannull (2023). Surrogate Membership for Inferred Metrics in
    Fairness Evaluation. LION 17.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> places = pl.DataFrame({"zip": range(6), "p": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]})
    >>> df = places.join(pl.DataFrame({"person": range(10)}), how="cross").with_columns(
    ...     q=1 - pl.col("p"), hired=pl.col("person") < 2 + pl.col("zip")
    ... )
    >>> group = {"a": "p", "b": "q"}
    >>> rates = df.pipe(fairness.surrogate_rates, surrogate="zip", group=group, pred="hired")
    >>> rates.with_columns(pl.col("selection_rate").round(6))
    shape: (2, 2)
    ┌───────┬────────────────┐
    │ group ┆ selection_rate │
    │ ---   ┆ ---            │
    │ str   ┆ f64            │
    ╞═══════╪════════════════╡
    │ a     ┆ 0.7            │
    │ b     ┆ 0.2            │
    └───────┴────────────────┘
    """
    _check(group, trials, min_rows)
    rows, level = as_lazy(frame), as_column(surrogate, "surrogate").alias(_LEVEL)
    check_columns(rows, {"surrogate": [level]})
    cells = {"pred": binary(pred), "label": binary(label)}
    table = count_cells(rows, [level], group=group, cells=cells, weight=None)
    levels = _levels(table, group, labelled=label is not None)
    classes = class_names(group)

    def estimate(lines: pl.DataFrame) -> pl.DataFrame:
        kept = _large_enough(lines, min_rows, len(classes))
        return estimates(kept, classes, drawn(kept.height, trials, seed))

    shares = SHARES if label is not None else SHARES[:1]
    schema = {"group": classes.dtype, **dict.fromkeys(_columns(shares), pl.Float64())}
    result = levels.map_batches(estimate, schema=pl.Schema(schema)).sort("group")
    return result if is_lazy(frame) else collect(result, frame)


def _check(group: object, trials: Any, min_rows: Any) -> None:
    if not isinstance(group, Mapping) or len(group) < 2:
        msg = (
            "`group` maps at least two classes to the columns of their probabilities, such as"
            ' `group={"a": "p_a", "b": "p_b"}`'
        )
        raise TypeError(msg)
    for name, count in (("trials", trials), ("min_rows", min_rows)):
        if not isinstance(count, int) or count < 1:
            msg = f"`{name}` is a whole number of at least 1, got {count!r}"
            raise ValueError(msg)


def _levels(
    table: pl.LazyFrame, group: Mapping[Any, IntoColumn], *, labelled: bool
) -> pl.LazyFrame:
    """Give a line per level: its rows, the shares of outcomes, the make-up of its people."""
    pred, label, w = pl.col("pred"), pl.col("label"), pl.col("w")
    cells = {"selection_rate": pred}
    if labelled:
        cells |= {"tp": pred & label, "fp": pred & ~label}
        cells |= {"tn": ~pred & ~label, "fn": ~pred & label}
    needed = [_LEVEL, "pred", *(["label"] if labelled else [])]
    known = table.filter(pl.all_horizontal(pl.col(name).is_not_null() for name in needed))
    lines = known.group_by(_LEVEL).agg(
        w.sum(),
        *(w.filter(cell).sum().alias(name) for name, cell in cells.items()),
        *(w.filter(pl.col("group") == c).sum().alias(f"|p{i}") for i, c in enumerate(group)),
    )
    return lines.sort(_LEVEL).with_columns(pl.exclude(_LEVEL, "w") / w)


def _large_enough(levels: pl.DataFrame, min_rows: int, classes: int) -> pl.DataFrame:
    # A row's probabilities may add up to a little less than one.
    kept = levels.filter(pl.col("w") > min_rows - 0.5)
    if kept.height >= classes - 1:
        return kept
    warnings.warn(
        f"only {kept.height} levels of the surrogate have {min_rows} rows, too few for {classes}"
        " classes: all levels are used",
        stacklevel=2,
    )
    return levels


def drawn(levels: int, trials: int, seed: int) -> Integers:
    """Draw the levels of every trial, with replacement."""
    import numpy as np

    return np.random.default_rng(seed).integers(0, max(levels, 1), size=(trials, levels))


def estimates(levels: pl.DataFrame, classes: pl.Series, draws: Integers) -> pl.DataFrame:
    """Regress the shares of levels on their make-up in every trial, and average by class."""
    import numpy as np

    shares = [name for name in SHARES if name in levels.columns]
    if not levels.height:
        empty = {
            name: pl.Series([None] * len(classes), dtype=pl.Float64) for name in _columns(shares)
        }
        return pl.DataFrame({"group": classes, **empty})
    count = np.stack([np.bincount(draw, minlength=levels.height) for draw in draws])
    weights = count.astype(np.float64) * levels["w"].to_numpy()
    makeup = levels.select(f"|p{i}" for i in range(1, len(classes))).to_numpy()
    lines = regress(makeup, levels.select(shares).to_numpy(), weights)
    trials = {name: lines[:, :, i] for i, name in enumerate(shares)}
    if "tp" in trials:
        trials["accuracy"] = trials["tp"] + trials["tn"]
        with np.errstate(divide="ignore", invalid="ignore"):
            for name, (one, other) in RATES.items():
                trials[name] = trials[one] / (trials[one] + trials[other])
    means = {name: pl.Series(_mean(values)) for name, values in trials.items()}
    return pl.DataFrame({"group": classes, **means}).with_columns(
        pl.exclude("group").fill_nan(None)
    )


def _columns(shares: Sequence[str]) -> list[str]:
    return [*shares, *(["accuracy", *RATES] if "tp" in shares else [])]


def _mean(values: Floats) -> Floats:
    """Average over the trials in which a rate is defined."""
    import numpy as np

    known = ~np.isnan(values)
    total: Floats = np.where(known, values, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        average: Floats = total / known.sum(axis=0)
    return average


def regress(makeup: Floats, shares: Floats, weights: Floats) -> Floats:
    """Fit shares by make-up with an intercept, once per line of weights.

    Gives, per trial, class and share, the value for a level of that class alone. Where levels do
    not tell classes apart, the smallest slopes are taken: none with a single level.
    """
    import numpy as np

    total = weights.sum(axis=1)
    mean_x, mean_y = (weights @ values / total[:, None] for values in (makeup, shares))
    x = makeup - mean_x[:, None]
    y = shares - mean_y[:, None]
    heavy = x * (weights / total[:, None])[:, :, None]
    spread, vectors = np.linalg.eigh(np.swapaxes(heavy, 1, 2) @ x)
    relative, alone = _DEGENERATE
    told = spread > np.maximum(spread[:, -1:] * relative, alone)
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=told)
    turned = np.swapaxes(vectors, 1, 2) @ (np.swapaxes(heavy, 1, 2) @ y)
    slopes = vectors @ (inverse[:, :, None] * turned)
    start = mean_y - (mean_x[:, None] @ slopes)[:, 0]
    return np.concatenate([start[:, None], start[:, None] + slopes], axis=1)
