"""Is there anything to cluster? Rows set against rows that are uniform in the same box."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair._engine.legacy import fault
from polarsfair.clustering._internal.all_pairs import LIMIT, blocks
from polarsfair.clustering._internal.points import FEATURE, check_seed, features_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polarsfair._typing import ArrowStream, IntoFeatures, IntoFrame
    from polarsfair.clustering._internal.all_pairs import Floats

__all__ = ["distance_distribution", "spatial_histogram"]

LOW, HIGH = "low|", "high|"
ONE, NONE = (pl.lit(number, dtype=pl.Int64) for number in (1, 0))


def points_in(frame: IntoFrame, features: IntoFeatures) -> tuple[pl.LazyFrame, list[str]]:
    """Give the features of the rows that have all of them, and the columns' names."""
    rows = as_lazy(frame)
    given, names = features_of(rows, features)
    columns = [FEATURE + name for name in names]
    return rows.select(**given).drop_nulls(columns), columns


def box_of(rows: pl.LazyFrame, columns: Sequence[str]) -> pl.LazyFrame:
    """Give one line with the number of rows and the bounds of every feature."""
    lows = {LOW + name: pl.col(name).min() for name in columns}
    highs = {HIGH + name: pl.col(name).max() for name in columns}
    sums = {"|sum" + name: pl.col(name).sum() for name in columns}
    counted = rows.with_columns(ONE.alias("n")).select(n=pl.col("n").sum(), **lows, **highs, **sums)
    stop = pl.coalesce(_not_finite(name) for name in columns)
    # Tied to every column, so that no projection can prune the fault.
    tied = [pl.coalesce(stop, pl.col(name)).alias(name) for name in ("n", *lows, *highs)]
    return counted.select(tied)


def _not_finite(name: str) -> pl.Expr:
    plain = name.removeprefix(FEATURE)
    return fault(
        ~pl.col("|sum" + name).is_finite().fill_null(value=True),
        f"the feature {plain!r} holds NaN or an infinite value: make it null to leave the row out,"
        f' such as `pl.col("{plain}").fill_nan(None)`',
    )


def divergence(counts: Floats, others: Floats, total: float, alpha: float, cells: float) -> float:
    """Give the divergence, in nats, of shares from others that are smoothed by pseudo-counts."""
    import numpy as np

    share = counts / counts.sum()
    other = (others + alpha) / (total + alpha * cells)
    there = share > 0
    with np.errstate(divide="ignore"):
        return float((share[there] * np.log(share[there] / other[there])).sum())


def _called(
    table: pl.LazyFrame, function: Callable[[pl.DataFrame], dict[str, Any]], names: Sequence[str]
) -> pl.LazyFrame:
    """Give one line with what `function` makes of a table."""

    def made(frame: pl.DataFrame) -> pl.DataFrame:
        found = function(frame)
        return pl.DataFrame(
            {name: pl.Series([found.get(name)], dtype=pl.Float64) for name in names}
        )

    schema = pl.Schema(dict.fromkeys(names, pl.Float64()))
    return table.map_batches(
        made,
        schema=schema,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )


@overload
def spatial_histogram(
    frame: pl.LazyFrame,
    *,
    features: IntoFeatures,
    reference: IntoFrame | None = ...,
    bins: int = ...,
    alpha: float = ...,
    draws: int = ...,
    seed: int = ...,
) -> pl.LazyFrame: ...
@overload
def spatial_histogram(
    frame: pl.DataFrame | ArrowStream,
    *,
    features: IntoFeatures,
    reference: pl.DataFrame | ArrowStream | None = ...,
    bins: int = ...,
    alpha: float = ...,
    draws: int = ...,
    seed: int = ...,
) -> pl.DataFrame: ...
def spatial_histogram(
    frame: pl.DataFrame | pl.LazyFrame | ArrowStream,
    *,
    features: IntoFeatures,
    reference: IntoFrame | None = None,
    bins: int = 5,
    alpha: float = 0.5,
    draws: int = 100,
    seed: int = 0,
) -> pl.DataFrame | pl.LazyFrame:
    """Set the cells that rows fall into against those of uniform rows.

    Every feature is cut into equal bins over its range; f are the shares of rows in the cells, g
    those of uniform rows. The divergence, the sum of f log(f / g) in nats, is 0 for even rows and
    grows as they gather in few cells.

    Parameters
    ----------
    frame
        Eager or lazy rows; those that lack a feature are left out.
    features
        The features' columns: best no more than three.
    reference
        Uniform rows with the same columns; without it, their counts are drawn.
    bins
        Bins of every feature; one that does not vary has one.
    alpha
        Pseudo-counts added to every cell of the reference. With 0, a cell that it misses makes the
        divergence infinite.
    draws, seed
        How many uniform samples are drawn without `reference`, and from what.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row: ``divergence``, its mean over the draws; ``spread``, their standard deviation (null
        with a reference); and ``limit``, what the divergence tends to as rows grow in number.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"x": [0.0, 0.1, 0.2, 4.0], "y": [0.0, 0.1, 0.0, 4.0]})
    >>> clustering.spatial_histogram(df, features=["x", "y"], bins=2).select("limit")
    shape: (1, 1)
    ┌──────────┐
    │ limit    │
    │ ---      │
    │ f64      │
    ╞══════════╡
    │ 0.823959 │
    └──────────┘
    """
    if bins < 1 or alpha < 0 or draws < 1:
        msg = f"`bins`, `draws` are at least 1, `alpha` at least 0: got {bins}, {draws}, {alpha}"
        raise ValueError(msg)
    check_seed(seed)
    rows, columns = points_in(frame, features)
    box = box_of(rows, columns).cache()
    counts = _cells(rows, box, columns, bins).with_columns(own=pl.col("n"), other=NONE)
    if reference is not None:
        others, _ = points_in(reference, features)
        other = _cells(others, box, columns, bins).with_columns(own=NONE, other=pl.col("n"))
        counts = (
            pl.concat([counts, other]).group_by("cell", "cells").agg(pl.col("own", "other").sum())
        )
    compare = functools.partial(
        _histogram_divergence,
        alpha=alpha,
        draws=None if reference is not None else draws,
        seed=seed,
    )
    result = _called(
        counts.select("cell", "cells", "own", "other"), compare, ("divergence", "spread", "limit")
    )
    return result if is_lazy(frame, reference) else collect(result, frame)


def _cells(
    rows: pl.LazyFrame, box: pl.LazyFrame, columns: Sequence[str], bins: int
) -> pl.LazyFrame:
    """Count the rows of every cell; beside it, how many cells there are."""
    cell, cells = pl.lit(""), pl.lit(1.0)
    for name in columns:
        low, wide = pl.col(LOW + name), pl.col(HIGH + name) - pl.col(LOW + name)
        place = ((pl.col(name) - low) / wide * bins).floor().clip(0, bins - 1)
        place = pl.when(wide > 0).then(place).otherwise(0.0).cast(pl.Int64)
        cell = cell + place.cast(pl.String) + " "
        cells = cells * pl.when(wide > 0).then(float(bins)).otherwise(1.0)
    placed = rows.join(box.drop("n"), how="cross").select(cell=cell, cells=cells, n=ONE)
    return placed.group_by("cell", "cells").agg(pl.col("n").sum())


def _histogram_divergence(
    frame: pl.DataFrame, *, alpha: float, draws: int | None, seed: int
) -> dict[str, Any]:
    """Compare the counts of cells with others, or with draws of uniform rows."""
    import numpy as np

    frame = frame.sort("cell")
    own, other = (frame[name].cast(pl.Float64).to_numpy() for name in ("own", "other"))
    if own.sum() == 0:
        return {}
    cells, size = float(frame["cells"][0]), float(own.sum())
    share = own[own > 0] / size
    found: dict[str, Any] = {"limit": float(np.log(cells) + (share * np.log(share)).sum())}
    if draws is None:
        total = float(other.sum())
        value = divergence(own, other, total, alpha, cells) if total > 0 else None
        return {**found, "divergence": value}
    # Uniform rows in equal cells are a multinomial draw: no row needs to be made.
    rest = max(0.0, 1 - len(own) / cells)
    chances = np.append(np.full(len(own), 1 / cells), rest)
    drawn = np.random.default_rng(seed).multinomial(int(size), chances / chances.sum(), draws)
    values = [divergence(own, one[:-1].astype(float), size, alpha, cells) for one in drawn]
    return {**found, "divergence": float(np.mean(values)), "spread": float(np.std(values))}


@overload
def distance_distribution(
    frame: pl.LazyFrame,
    *,
    features: IntoFeatures,
    reference: IntoFrame | None = ...,
    bins: int = ...,
    alpha: float = ...,
    seed: int = ...,
) -> pl.LazyFrame: ...
@overload
def distance_distribution(
    frame: pl.DataFrame | ArrowStream,
    *,
    features: IntoFeatures,
    reference: pl.DataFrame | ArrowStream | None = ...,
    bins: int = ...,
    alpha: float = ...,
    seed: int = ...,
) -> pl.DataFrame: ...
def distance_distribution(
    frame: pl.DataFrame | pl.LazyFrame | ArrowStream,
    *,
    features: IntoFeatures,
    reference: IntoFrame | None = None,
    bins: int = 20,
    alpha: float = 0.5,
    seed: int = 0,
) -> pl.DataFrame | pl.LazyFrame:
    """Set the distances of all pairs of rows against those of uniform rows.

    Both are counted in equal bins from 0 to the largest of either; the result is the divergence,
    the sum of f log(f / g) in nats, with f the shares of the rows' distances and g of the uniform
    rows'.

    Parameters
    ----------
    frame
        Eager or lazy rows; those that lack a feature are left out.
    features
        The features' columns.
    reference
        Uniform rows with the same columns; without it, as many rows are drawn in the box of the
        data.
    bins
        Bins of the distances.
    alpha
        Pseudo-counts added to every bin of the reference.
    seed
        What the uniform rows are drawn from.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row with ``divergence``; null with fewer than two rows or where all are equal.

    Notes
    -----
    Looks at all pairs, of at most 50,000 rows: sample more before, ``df.sample(50_000)``.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    >>> uniform = pl.DataFrame({"x": [0.0, 0.5, 2.5, 3.0]})
    >>> clustering.distance_distribution(df, reference=uniform, features="x", bins=3)
    shape: (1, 1)
    ┌────────────┐
    │ divergence │
    │ ---        │
    │ f64        │
    ╞════════════╡
    │ 0.916291   │
    └────────────┘
    """
    if bins < 1 or alpha < 0:
        msg = f"`bins` is at least 1 and `alpha` at least 0; got {bins}, {alpha}"
        raise ValueError(msg)
    check_seed(seed)
    rows, columns = points_in(frame, features)
    both = _few(rows, columns).with_columns(pl.lit(value=True).alias("|own"))
    if reference is not None:
        others = _few(points_in(reference, features)[0], columns)
        both = pl.concat([both, others.with_columns(pl.lit(value=False).alias("|own"))])
    compare = functools.partial(
        _distance_divergence, bins=bins, alpha=alpha, seed=seed, drawn=reference is None
    )
    result = _called(both, compare, ("divergence",))
    return result if is_lazy(frame, reference) else collect(result, frame)


def _few(rows: pl.LazyFrame, columns: Sequence[str]) -> pl.LazyFrame:
    """Give the rows, or stop before they are gathered where there are too many."""
    message = (
        f"`distance_distribution` looks at all pairs of rows, and there are more than {LIMIT:,}:"
        " sample them, `df.sample(50_000)`, or use `spatial_histogram` or `hopkins`, which take"
        " any number"
    )
    size = box_of(rows, columns).select(
        pl.coalesce(fault(pl.col("n") > LIMIT, message), pl.col("n")).alias("|few")
    )
    return rows.join(size, how="cross").filter(pl.col("|few") >= 0).select(columns)


def _distance_divergence(
    frame: pl.DataFrame, *, bins: int, alpha: float, seed: int, drawn: bool
) -> dict[str, Any]:
    import numpy as np

    columns = [name for name in frame.columns if name != "|own"]
    own = frame.filter("|own").select(columns).sort(columns).to_numpy()
    other = frame.filter(~pl.col("|own")).select(columns).to_numpy()
    if len(own) < 2:
        return {}
    if drawn:
        stream = np.random.default_rng(seed)
        other = stream.uniform(own.min(axis=0), own.max(axis=0), own.shape)
    far = max(_longest(own), _longest(other))
    if far == 0 or len(other) < 2:
        return {}
    counts, others = _distances_in_bins(own, far, bins), _distances_in_bins(other, far, bins)
    return {"divergence": divergence(counts, others, float(others.sum()), alpha, float(bins))}


def _longest(values: Floats) -> float:
    return max((float(apart.max()) for _, _, apart in blocks(values, "euclidean")), default=0.0)


def _distances_in_bins(values: Floats, far: float, bins: int) -> Floats:
    import numpy as np

    counts = np.zeros(bins)
    for rows, columns, apart in blocks(values, "euclidean"):
        kept = apart[np.triu_indices(len(apart), 1)] if rows == columns else apart.ravel()
        places = np.minimum((kept / far * bins).astype(np.int64), bins - 1)
        counts += np.bincount(places, minlength=bins)
    return counts
