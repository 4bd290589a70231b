"""Hopkins' statistic: whether rows are closer to each other than uniform points are to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import as_column, check_columns
from polarsfair._engine.frames import lazy_or_eager
from polarsfair._engine.rows import ONE
from polarsfair._engine.slices import hidden, joined, map_slices
from polarsfair.clustering._internal.points import content_hash, features_of
from polarsfair.clustering._tendency.uniformity import box_of, high, low, reference_in

if TYPE_CHECKING:
    from collections.abc import Collection

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoFrame
    from polarsfair.clustering._internal.all_pairs import Floats

__all__ = ["hopkins"]

_HASH, _TIMES, _DRAWN, _PROBE = map(hidden, ("hash", "times", "drawn", "probe"))
_OWN, _UNIFORM, _DISTANCE, _RANK = map(hidden, ("own", "uniform", "distance", "rank"))


@lazy_or_eager(flat=True)
def hopkins(
    frame: pl.LazyFrame,
    *,
    features: IntoFeatures,
    reference: IntoFrame | None = None,
    probes: int | IntoColumn = 100,
    seed: int = 0,
    exponent: float | None = None,
) -> pl.LazyFrame:
    """Compute Hopkins' statistic: whether rows are closer to each other than uniform points are.

    Let w be the distance of a probed row to the nearest other row, and u that of a uniform point to
    the nearest row. With d features, the value is the sum of u^d over the sum of u^d and w^d. It is
    about 1/2 for uniform rows, close to 1 for clustered rows, and below 1/2 for evenly spaced rows.

    Parameters
    ----------
    frame
        Eager or lazy rows; rows that lack a feature do not count.
    features
        The features' columns.
    reference
        The uniform points, with the features' columns. By default, as many points as there are
        probes are drawn in the box of the data.
    probes
        How many rows are probed, at most a tenth of all. They are chosen by their content, so the
        order of rows does not matter. Or a Boolean column that marks the probes.
    seed
        The seed of the probes and the uniform points.
    exponent
        The power d. Default: the number of features. Some software uses 1.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row: ``hopkins``, and ``p_value``, the probability that uniform rows have at least this
        value, from the beta distribution. Both are null with fewer than two rows and if all
        distances are 0.

    Notes
    -----
    Some software returns one minus this value, or uses the power 1, which has another distribution
    for uniform rows. A duplicate of a probed row is a neighbour at distance 0. Equal rows are
    probed together and weighed by their number, so with very many equal rows the value depends
    strongly on the seed.

    References
    ----------
    Hopkins, Skellam (1954). A New Method for Determining the Type of Distribution of Plant
    Individuals. Annals of Botany 18(2), 213-227. Wright (2022). Will the Real Hopkins Statistic
    Please Stand Up? The R Journal 14(3), 282-292.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"x": [0.0, 1.0, 2.0, 10.0], "probe": [True, False, False, True]})
    >>> points = pl.DataFrame({"x": [5.0, 1.5]})
    >>> clustering.hopkins(df, features="x", probes="probe", reference=points)
    shape: (1, 2)
    ┌─────────┬──────────┐
    │ hopkins ┆ p_value  │
    │ ---     ┆ ---      │
    │ f64     ┆ f64      │
    ╞═════════╪══════════╡
    │ 0.28    ┆ 0.808704 │
    └─────────┴──────────┘
    """
    rows, columns = _hashed(frame, features, probes, seed)
    box = box_of(rows, columns).cache()
    chosen = _chosen(rows, box, columns, probes).cache()
    if reference is None:
        uniform = _uniform(chosen, box, columns, seed)
    else:
        uniform = reference_in(reference, features, columns)
    near = _nearest(rows, _numbered(chosen, uniform, columns), columns)
    power = float(len(columns)) if exponent is None else float(exponent)
    return _statistic(near, box, power)


def _hashed(
    frame: pl.LazyFrame, features: IntoFeatures, probes: int | IntoColumn, seed: int
) -> tuple[pl.LazyFrame, dict[str, str]]:
    """Return the known rows with a hash of their content, and whether the caller probes them."""
    given, names = features_of(frame, features)
    if isinstance(probes, int):
        if probes < 1:
            msg = f"`probes` is at least 1, got {probes}"
            raise ValueError(msg)
        drawn = pl.lit(value=False)
    else:
        drawn = as_column(probes, "probes")
        check_columns(frame, {"probes": [drawn]})
        drawn = drawn.cast(pl.Boolean).fill_null(value=False)
    known = frame.select(drawn.alias(_DRAWN), **given).drop_nulls(list(given))
    hashed = known.with_columns(content_hash(list(given), seed).alias(_HASH))
    return hashed, dict(zip(given, names, strict=True))


def _chosen(
    rows: pl.LazyFrame, box: pl.LazyFrame, columns: Collection[str], probes: int | IntoColumn
) -> pl.LazyFrame:
    """Return the probed contents: how many rows have each, and how many of those are probed."""
    counted = rows.with_columns(ONE.alias(_TIMES), pl.col(_DRAWN).cast(pl.Int64))
    if isinstance(probes, int):
        # The smallest hash of every bucket, with more buckets than probes.
        bucket = (pl.col(_HASH) % (8 * probes)).alias(hidden("bucket"))
        wanted = rows.group_by(bucket).agg(pl.col(_HASH).min())
    else:
        wanted = rows.filter(_DRAWN).select(_HASH).unique()
    kept = counted.join(wanted, on=_HASH, how="semi")
    equal = kept.group_by(_HASH, *columns).agg(pl.col(_TIMES, _DRAWN).sum())
    if not isinstance(probes, int):
        return equal.filter(pl.col(_DRAWN) > 0).with_columns(pl.col(_DRAWN).cast(pl.Float64))
    most = pl.min_horizontal(pl.lit(probes), pl.max_horizontal(pl.lit(1), pl.col("n") // 10))
    ranked = joined(equal, box.select("n"), ()).with_columns(pl.col(_HASH).rank().alias(_RANK))
    # Equal rows are chosen together, and count as often as they occur.
    often = (pl.col(_TIMES) / pl.col(_TIMES).mean()).alias(_DRAWN)
    return ranked.filter(pl.col(_RANK) <= most).with_columns(often).drop(_RANK, "n")


def _uniform(
    chosen: pl.LazyFrame, box: pl.LazyFrame, columns: Collection[str], seed: int
) -> pl.LazyFrame:
    """Draw as many uniform points in the box as there are probes."""
    size = hidden("size")
    many = joined(chosen.select(pl.col(_DRAWN).sum().alias(size)), box, ())
    schema = dict.fromkeys(columns, pl.Float64)

    def drawn(frame: pl.DataFrame) -> pl.DataFrame:
        import numpy as np

        stream = np.random.default_rng(seed)
        points = {}
        for name in columns:
            bounds = frame[low(name)][0] or 0.0, frame[high(name)][0] or 0.0
            points[name] = stream.uniform(*bounds, round(frame[size][0]))
        return pl.DataFrame(points, schema=schema)

    return map_slices(many, (), drawn, schema)


def _numbered(
    chosen: pl.LazyFrame, uniform: pl.LazyFrame, columns: Collection[str]
) -> pl.LazyFrame:
    """Number probes and uniform points; the latter are not rows, and their hash is null."""
    own = chosen.select(*columns, _HASH, _TIMES, _DRAWN)
    others = uniform.select(
        *columns,
        pl.lit(None, pl.UInt64).alias(_HASH),
        ONE.alias(_TIMES),
        pl.lit(1.0).alias(_DRAWN),
    )
    return pl.concat([own, others]).with_row_index(_PROBE)


def _nearest(rows: pl.LazyFrame, points: pl.LazyFrame, columns: Collection[str]) -> pl.LazyFrame:
    """Find every point's distance to the nearest row other than itself, and how often it counts."""
    probe = {name: hidden("probe", name) for name in columns}
    named = [pl.col(name).alias(to) for name, to in probe.items()]
    sides = points.select(_PROBE, _TIMES, _DRAWN, pl.col(_HASH).alias(_OWN), *named)
    gaps = [pl.col(name) - pl.col(to) for name, to in probe.items()]
    square = pl.sum_horizontal(gap * gap for gap in gaps)
    itself = (pl.col(_HASH) == pl.col(_OWN)).fill_null(value=False)
    alone = itself & (pl.col(_TIMES) == 1)
    uniform = pl.col(_OWN).is_null().alias(_UNIFORM)
    others = pl.when(~alone).then(square).alias(_DISTANCE)
    pairs = joined(rows.select(*columns, _HASH), sides, ()).select(_PROBE, _DRAWN, uniform, others)
    return pairs.group_by(_PROBE, _DRAWN, _UNIFORM).agg(pl.col(_DISTANCE).min().sqrt())


def _statistic(near: pl.LazyFrame, box: pl.LazyFrame, power: float) -> pl.LazyFrame:
    """Compare the sums of powers; distances are divided by the largest, so that none overflows."""
    distance, uniform = pl.col(_DISTANCE), pl.col(_UNIFORM)
    scaled = pl.col(_DRAWN) * (distance / distance.max()).fill_nan(0.0) ** power
    u, w = scaled.filter(uniform).sum(), scaled.filter(~uniform).sum()
    sums = near.select(
        u=u, w=w, m=pl.col(_DRAWN).filter(uniform).sum(), k=pl.col(_DRAWN).filter(~uniform).sum()
    )
    value = (pl.col("u") / (pl.col("u") + pl.col("w"))).fill_nan(None)
    found = joined(sums, box.select("n"), ()).with_columns(
        hopkins=pl.when(pl.col("n") > 1).then(value)
    )
    tail = pl.struct("hopkins", "m", "k").map_batches(
        _upper_tail, return_dtype=pl.Float64, is_elementwise=True
    )
    return found.select("hopkins", p_value=tail)


def _upper_tail(values: pl.Series) -> pl.Series:
    """Return the probability of a higher value for uniform rows: the statistic is then beta."""
    from scipy.special import betainc

    parts = values.struct.unnest()
    known = parts["hopkins"].fill_null(0.5).to_numpy()
    sizes: list[Floats] = [parts[name].cast(pl.Float64).clip(1).to_numpy() for name in ("m", "k")]
    tail = pl.Series(betainc(sizes[1], sizes[0], 1 - known), dtype=pl.Float64)
    return pl.select(pl.when(parts["hopkins"].is_not_null()).then(tail)).to_series()
