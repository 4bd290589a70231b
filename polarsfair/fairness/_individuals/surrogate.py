"""Groups that are not known per row: the most likely group, and rates from a surrogate."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import as_column, check_columns
from polarsfair._engine.frames import lazy_or_eager
from polarsfair._engine.groups import class_names
from polarsfair._engine.rows import binary, count_cells
from polarsfair._engine.slices import hidden, map_slices

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polarsfair._typing import IntoColumn

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["most_likely", "surrogate_rates"]

SHARES = ("selection_rate", "tp", "fp", "tn", "fn")
"""The shares of a level's rows that are regressed."""

RATES = {
    "true_positive_rate": ("tp", "fn"),
    "false_positive_rate": ("fp", "tn"),
    "true_negative_rate": ("tn", "fp"),
    "false_negative_rate": ("fn", "tp"),
}
"""Each rate is the first share over the sum of both."""

_LEVEL = hidden("surrogate")
_DEGENERATE = 1e-12, 1e-18
"""Variances of probabilities below this, relative to the largest or absolute, are rounding."""


def most_likely(group: Mapping[Any, IntoColumn]) -> pl.Expr:
    """Return the class of largest probability, the first if tied: an expression for ``group=``.

    Parameters
    ----------
    group
        Classes, each with the column or expression of its probability.

    Returns
    -------
    pl.Expr
        The class; null if a probability is unknown.

    Notes
    -----
    Jurity does this with likelihoods and no surrogate. A row with a probability of 51 % counts like
    one of 100 %, which biases differences between groups. Expected counts, ``group={...}``, do not
    have this bias.

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
    columns = [as_column(into, "group").cast(pl.Float64) for into in group.values()]
    unknown = pl.any_horizontal(column.is_null() | column.is_nan() for column in columns)
    largest = pl.max_horizontal(columns)
    likely = pl.lit(None, dtype=classes.dtype)
    for name, column in reversed(list(zip(classes.to_list(), columns, strict=True))):
        likely = pl.when(column == largest).then(pl.lit(name, classes.dtype)).otherwise(likely)
    return pl.when(~unknown).then(likely).alias("group")


@lazy_or_eager
def surrogate_rates(
    frame: pl.LazyFrame,
    *,
    surrogate: IntoColumn,
    group: Mapping[Any, IntoColumn],
    pred: IntoColumn,
    label: IntoColumn | None = None,
    trials: int = 100,
    seed: int = 0,
    min_rows: int = 5,
) -> pl.LazyFrame:
    """Estimate every class's rates if only a surrogate informs about the class.

    A surrogate is a column such as a post code: for each of its levels the composition of the
    people is known. The shares of outcomes per level are regressed on that composition, over
    bootstrap samples of the levels, which are weighted by their rows. A class's estimate is the
    prediction for a level that consists of this class only, averaged over the samples.

    Parameters
    ----------
    frame
        Eager or lazy. One pass over the rows counts them per level.
    surrogate
        The level of each row.
    group
        Classes, each with the column or expression of its probability. They add up to 1 in every
        row, within 1e-6; the composition of a level is the mean over its rows.
    pred, label
        0/1. Without ``label`` only the selection rate is estimated. Rows in which one of them or
        the surrogate is null are left out.
    trials
        Bootstrap samples.
    seed
        Seed of the samples.
    min_rows
        Levels with fewer rows are left out. If too few levels would remain, all are used, with a
        warning.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per class, sorted: ``group``, ``selection_rate``, and with ``label`` the shares
        ``tp``, ``fp``, ``tn``, ``fn`` of all rows, ``accuracy``, ``true_positive_rate``,
        ``false_positive_rate``, ``true_negative_rate``, ``false_negative_rate``.

    Notes
    -----
    Predictions are not restricted to 0 to 1: a value outside shows that the levels contain too
    little information. This is the estimator of Jurity's surrogate bootstrap, in double precision;
    its differences are the differences of the rows here. Jurity finds classes by position after
    sorting, so that every metric has the wrong sign if names are out of alphabetical order. Here
    they are found by name.

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
    level = as_column(surrogate, "surrogate").alias(_LEVEL)
    check_columns(frame, {"surrogate": [level]})
    cells = {"pred": binary(pred), "label": binary(label)}
    table = count_cells(frame, [level], group=group, cells=cells, weight=None)
    levels = _levels(table, group, labelled=label is not None)
    classes = class_names(group)

    def estimate(lines: pl.DataFrame) -> pl.DataFrame:
        kept = _large_enough(lines, min_rows, len(classes))
        return estimates(kept, classes, drawn(kept.height, trials, seed))

    shares = SHARES if label is not None else SHARES[:1]
    schema = {"group": classes.dtype, **dict.fromkeys(_columns(shares), pl.Float64())}
    return map_slices(levels, [], estimate, schema).sort("group")


def _check(group: object, trials: object, min_rows: object) -> None:
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
    """Return a line per level: its rows, the shares of outcomes, its composition."""
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
        *(w.filter(pl.col("group") == c).sum().alias(_share_of(i)) for i, c in enumerate(group)),
    )
    return lines.sort(_LEVEL).with_columns(pl.exclude(_LEVEL, "w") / w)


def _share_of(number: int) -> str:
    return hidden("class", number)


def _large_enough(levels: pl.DataFrame, min_rows: int, classes: int) -> pl.DataFrame:
    # A row's probabilities may add up to slightly less than one.
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
    """Regress the shares of levels on their composition in every trial, and average by class."""
    import numpy as np

    shares = [name for name in SHARES if name in levels.columns]
    if not levels.height:
        empty = {
            name: pl.Series([None] * len(classes), dtype=pl.Float64) for name in _columns(shares)
        }
        return pl.DataFrame({"group": classes, **empty})
    count = np.stack([np.bincount(draw, minlength=levels.height) for draw in draws])
    weights = count.astype(np.float64) * levels["w"].to_numpy()
    composition = levels.select(_share_of(i) for i in range(1, len(classes))).to_numpy()
    lines = regress(composition, levels.select(shares).to_numpy(), weights)
    trials = {name: lines[:, :, i] for i, name in enumerate(shares)}
    if "tp" in trials:
        trials["accuracy"] = trials["tp"] + trials["tn"]
        with np.errstate(divide="ignore", invalid="ignore"):
            for name, (share, rest) in RATES.items():
                trials[name] = trials[share] / (trials[share] + trials[rest])
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


def regress(composition: Floats, shares: Floats, weights: Floats) -> Floats:
    """Fit shares by composition with an intercept, once per line of weights.

    Returns, per trial, class and share, the value for a level of that class only. If levels do not
    separate classes, the smallest slopes are taken: 0 with a single level.
    """
    import numpy as np

    total = weights.sum(axis=1)
    mean_x, mean_y = (weights @ values / total[:, None] for values in (composition, shares))
    x = composition - mean_x[:, None]
    y = shares - mean_y[:, None]
    weighted = np.swapaxes(x * (weights / total[:, None])[:, :, None], 1, 2)
    variance, vectors = np.linalg.eigh(weighted @ x)
    relative, absolute = _DEGENERATE
    sound = variance > np.maximum(variance[:, -1:] * relative, absolute)
    inverse = np.divide(1.0, variance, out=np.zeros_like(variance), where=sound)
    rotated = np.swapaxes(vectors, 1, 2) @ (weighted @ y)
    slopes = vectors @ (inverse[:, :, None] * rotated)
    start = mean_y - (mean_x[:, None] @ slopes)[:, 0]
    return np.concatenate([start[:, None], start[:, None] + slopes], axis=1)
