"""Clustering tendency: comparisons of rows with rows that are uniform in the same box."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.faults import Fault, checked, guarded
from polarsfair._engine.frames import as_lazy, lazy_or_eager
from polarsfair._engine.rows import ONE
from polarsfair._engine.slices import hidden, joined, map_slices, summed
from polarsfair.clustering._internal.all_pairs import LIMIT, blocks
from polarsfair.clustering._internal.points import check_seed, features_of, not_finite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polarsfair._typing import IntoFeatures, IntoFrame
    from polarsfair.clustering._internal.all_pairs import Floats

__all__ = ["distance_distribution", "spatial_histogram"]

_OWN = hidden("own")
_NO_ROWS = pl.lit(0, dtype=pl.Int64)


def low(column: str) -> str:
    """Name the lower bound of a feature."""
    return hidden("low", column)


def high(column: str) -> str:
    """Name the upper bound of a feature."""
    return hidden("high", column)


def points_in(frame: pl.LazyFrame, features: IntoFeatures) -> tuple[pl.LazyFrame, dict[str, str]]:
    """Return the rows that have all features, and the names of the features by column."""
    given, names = features_of(frame, features)
    return frame.select(**given).drop_nulls(list(given)), dict(zip(given, names, strict=True))


def reference_in(
    reference: IntoFrame, features: IntoFeatures, columns: Mapping[str, str]
) -> pl.LazyFrame:
    """Return the points of a reference, which has the features of the rows, `columns`."""
    points, names = points_in(as_lazy(reference), features)
    if list(names) != list(columns):
        msg = (
            f"`reference` has {len(names)} features and the rows have {len(columns)}: pass arrays"
            " of the same width"
        )
        raise TypeError(msg)
    return points


def box_of(rows: pl.LazyFrame, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Return one line with the number of rows and the bounds of every feature."""
    totals = {column: hidden("sum", column) for column in columns}
    bounds = {low(name): pl.col(name).min() for name in columns}
    bounds |= {high(name): pl.col(name).max() for name in columns}
    sums = {total: pl.col(column).sum() for column, total in totals.items()}
    counted = rows.with_columns(n=ONE).select(n=pl.col("n").sum(), **bounds, **sums)
    infinite = {name: ~pl.col(totals[column]).is_finite() for column, name in columns.items()}
    faults = [not_finite(name, bad.fill_null(value=False)) for name, bad in infinite.items()]
    # Tied to every column, so that no projection can prune the faults.
    return counted.select(checked(name, *faults).alias(name) for name in ("n", *bounds))


def divergence(counts: Floats, others: Floats, total: float, alpha: float, cells: float) -> float:
    """Compute the divergence, in nats, of shares from others smoothed by pseudo-counts."""
    import numpy as np

    share = counts / counts.sum()
    other = (others + alpha) / (total + alpha * cells)
    there = share > 0
    with np.errstate(divide="ignore"):
        return float((share[there] * np.log(share[there] / other[there])).sum())


def one_line(
    table: pl.LazyFrame,
    function: Callable[[pl.DataFrame], dict[str, float | None]],
    names: Sequence[str],
) -> pl.LazyFrame:
    """Return one line with the numbers that `function` computes from a table."""

    def line_of(frame: pl.DataFrame) -> pl.DataFrame:
        found = function(frame)
        values = {name: pl.Series([found.get(name)], dtype=pl.Float64) for name in names}
        return pl.DataFrame(values)

    return map_slices(table, (), line_of, dict.fromkeys(names, pl.Float64))


@lazy_or_eager
def spatial_histogram(
    frame: pl.LazyFrame,
    *,
    features: IntoFeatures,
    reference: IntoFrame | None = None,
    bins: int = 5,
    alpha: float = 0.5,
    draws: int = 100,
    seed: int = 0,
) -> pl.LazyFrame:
    """Compare the histogram of the rows with that of uniform rows.

    Every feature is cut into equal bins over its range. Let f be the shares of rows in the cells
    and g those of uniform rows. The divergence is the sum of f log(f / g) in nats. It is 0 for rows
    that are spread evenly, and grows as they concentrate in few cells.

    Parameters
    ----------
    frame
        Eager or lazy rows; rows that lack a feature do not count.
    features
        The features' columns, preferably at most three.
    reference
        Uniform rows with the same columns. By default their counts are drawn.
    bins
        Bins per feature; a feature that does not vary has one bin.
    alpha
        Pseudo-counts added to every cell of the reference. With 0, a cell that the reference does
        not reach makes the divergence infinite.
    draws, seed
        How many uniform samples are drawn without `reference`, and the seed of the draws.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row: ``divergence``, its mean over the draws; ``spread``, their standard deviation (null
        with a reference); and ``limit``, its limit as the number of rows grows.

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
    counts = _cells(rows, box, list(columns), bins).with_columns(own="n", other=_NO_ROWS)
    if reference is not None:
        others = reference_in(reference, features, columns)
        other = _cells(others, box, list(columns), bins).with_columns(own=_NO_ROWS, other="n")
        counts = summed(pl.concat([counts, other]), ["cell", "cells"], ["own", "other"])
    compare = functools.partial(
        _histogram_divergence,
        alpha=alpha,
        draws=None if reference is not None else draws,
        seed=seed,
    )
    table = counts.select("cell", "cells", "own", "other")
    return one_line(table, compare, ("divergence", "spread", "limit"))


def _cells(
    rows: pl.LazyFrame, box: pl.LazyFrame, columns: Sequence[str], bins: int
) -> pl.LazyFrame:
    """Count the rows of every cell, and add the number of cells."""
    cell, cells = pl.lit(""), pl.lit(1.0)
    for name in columns:
        start, width = pl.col(low(name)), pl.col(high(name)) - pl.col(low(name))
        number = ((pl.col(name) - start) / width * bins).floor().clip(0, bins - 1)
        number = pl.when(width > 0).then(number).otherwise(0.0).cast(pl.Int64)
        cell = cell + number.cast(pl.String) + " "
        cells = cells * pl.when(width > 0).then(float(bins)).otherwise(1.0)
    numbered = joined(rows, box.drop("n"), ()).select(cell=cell, cells=cells, n=ONE)
    return summed(numbered, ["cell", "cells"], ["n"])


def _histogram_divergence(
    frame: pl.DataFrame, *, alpha: float, draws: int | None, seed: int
) -> dict[str, float | None]:
    """Compare the counts of cells with others, or with draws of uniform rows."""
    import numpy as np

    frame = frame.sort("cell")
    own, other = (frame[name].cast(pl.Float64).to_numpy() for name in ("own", "other"))
    if own.sum() == 0:
        return {}
    cells, size = float(frame["cells"][0]), float(own.sum())
    share = own[own > 0] / size
    found: dict[str, float | None] = {"limit": float(np.log(cells) + (share * np.log(share)).sum())}
    if draws is None:
        total = float(other.sum())
        value = divergence(own, other, total, alpha, cells) if total > 0 else None
        return {**found, "divergence": value}
    # Uniform rows in equal cells are a multinomial draw: no rows need to be generated.
    rest = max(0.0, 1 - len(own) / cells)
    probabilities = np.append(np.full(len(own), 1 / cells), rest)
    drawn = np.random.default_rng(seed).multinomial(
        int(size), probabilities / probabilities.sum(), draws
    )
    values = [divergence(own, one[:-1].astype(float), size, alpha, cells) for one in drawn]
    return {**found, "divergence": float(np.mean(values)), "spread": float(np.std(values))}


@lazy_or_eager
def distance_distribution(
    frame: pl.LazyFrame,
    *,
    features: IntoFeatures,
    reference: IntoFrame | None = None,
    bins: int = 20,
    alpha: float = 0.5,
    seed: int = 0,
) -> pl.LazyFrame:
    """Compare the distances of all pairs of rows with those of uniform rows.

    Both are counted in equal bins from 0 to the largest distance of either. Let f be the
    shares of the distances of the rows, and g those of the uniform rows. The divergence is the sum
    of f log(f / g) in nats.

    Parameters
    ----------
    frame
        Eager or lazy rows; rows that lack a feature do not count.
    features
        The features' columns.
    reference
        Uniform rows with the same columns. By default, as many rows as the data has are drawn in
        its box.
    bins
        Bins of the distances.
    alpha
        Pseudo-counts added to every bin of the reference.
    seed
        The seed of the uniform rows.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row with ``divergence``, which is null with fewer than two rows or if all are equal.

    Notes
    -----
    It uses all pairs of at most 50,000 rows: sample larger data first, ``df.sample(50_000)``.

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
    both = [_few_rows(rows, columns, own=True)]
    if reference is not None:
        others = reference_in(reference, features, columns)
        both.append(_few_rows(others, columns, own=False))
    compare = functools.partial(
        _distance_divergence, bins=bins, alpha=alpha, seed=seed, drawn=reference is None
    )
    return one_line(pl.concat(both), compare, ("divergence",))


def _few_rows(rows: pl.LazyFrame, columns: Mapping[str, str], *, own: bool) -> pl.LazyFrame:
    """Return the features of the rows, or raise before they are gathered if there are too many."""
    message = (
        f"`distance_distribution` computes the distances of all pairs of rows, and there are more"
        f" than {LIMIT:,}: sample them, `df.sample(50_000)`, or use `spatial_histogram` or"
        " `hopkins`, which take any number of rows"
    )
    many = Fault(pl.col("n") > LIMIT, message)
    few = guarded(rows, (), {"n": pl.col("n").sum()}, [many], of=box_of(rows, columns))
    return few.with_columns(pl.lit(own).alias(_OWN))


def _distance_divergence(
    frame: pl.DataFrame, *, bins: int, alpha: float, seed: int, drawn: bool
) -> dict[str, float | None]:
    """Compare the distances of the rows with those of others, or of uniform rows drawn here."""
    import numpy as np

    columns = [name for name in frame.columns if name != _OWN]
    own = frame.filter(_OWN).select(columns).sort(columns).to_numpy()
    other = frame.filter(~pl.col(_OWN)).select(columns).to_numpy()
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
        numbers = np.minimum((kept / far * bins).astype(np.int64), bins - 1)
        counts += np.bincount(numbers, minlength=bins)
    return counts
