"""Hopkins' statistic: whether rows are nearer to each other than uniform points are to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import polars as pl

from polarsfair._engine.columns import as_column, check_columns
from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair.clustering._internal.points import FEATURE, content_hash, features_of
from polarsfair.clustering._tendency.uniformity import HIGH, LOW, box_of, points_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import ArrowStream, IntoColumn, IntoFeatures, IntoFrame
    from polarsfair.clustering._internal.all_pairs import Floats

__all__ = ["hopkins"]

HASH, TIMES, DRAWN, PROBE = "|hash", "|times", "|drawn", "|probe"


@overload
def hopkins(
    frame: pl.LazyFrame,
    *,
    features: IntoFeatures,
    reference: IntoFrame | None = ...,
    probes: int | IntoColumn = ...,
    seed: int = ...,
    exponent: float | None = ...,
) -> pl.LazyFrame: ...
@overload
def hopkins(
    frame: pl.DataFrame | ArrowStream,
    *,
    features: IntoFeatures,
    reference: pl.DataFrame | ArrowStream | None = ...,
    probes: int | IntoColumn = ...,
    seed: int = ...,
    exponent: float | None = ...,
) -> pl.DataFrame: ...
def hopkins(
    frame: pl.DataFrame | pl.LazyFrame | ArrowStream,
    *,
    features: IntoFeatures,
    reference: IntoFrame | None = None,
    probes: int | IntoColumn = 100,
    seed: int = 0,
    exponent: float | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Set the distances between rows against those from uniform points to rows.

    With w the distance of a probed row to the nearest other row and u that of a uniform point to
    the nearest row, it is the sum of u^d over the sum of u^d and w^d, with d the number of
    features. About 1/2 for uniform rows, near 1 for clustered ones, below 1/2 for evenly spaced
    ones.

    Parameters
    ----------
    frame
        Eager or lazy rows; those that lack a feature are left out.
    features
        The features' columns.
    reference
        The uniform points, with the features' columns; without it, as many as there are probes are
        drawn in the box of the data.
    probes
        How many rows are probed, at most a tenth of all; chosen by what is in them, whatever their
        order. Or a Boolean column that says which.
    seed
        What probes and uniform points are drawn from.
    exponent
        Another power than the number of features, to compare with software that has 1.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row: ``hopkins``, and ``p_value``, the chance that uniform rows have as high a value,
        from the beta distribution. Null with fewer than two rows and where all distances are 0.

    Notes
    -----
    Some software gives one minus this value, or the power 1, whose distribution under uniformity is
    another one. A duplicate of a probed row is a neighbour at distance 0; rows that are alike are
    probed together and weighed by their number, so that a few places with very many rows make the
    value depend much on the seed.

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
    rows, columns = _numbered(frame, features, probes, seed)
    box = box_of(rows.select(columns), columns).cache()
    chosen = _chosen(rows, box, columns, probes).cache()
    if reference is None:
        uniform = _uniform(chosen, box, columns, seed)
    else:
        uniform = points_in(reference, features)[0]
    near = _nearest(rows, _together(chosen, uniform, columns), columns)
    power = float(len(columns)) if exponent is None else float(exponent)
    result = _statistic(near, box, power)
    return result if is_lazy(frame, reference) else collect(result, frame, flat=True)


def _numbered(
    frame: IntoFrame, features: IntoFeatures, probes: int | IntoColumn, seed: int
) -> tuple[pl.LazyFrame, list[str]]:
    """Give the known rows with a hash of their content, and whether the caller probes them."""
    rows = as_lazy(frame)
    given, names = features_of(rows, features)
    columns = [FEATURE + name for name in names]
    if isinstance(probes, int):
        if probes < 1:
            msg = f"`probes` is at least 1, got {probes}"
            raise ValueError(msg)
        drawn = pl.lit(value=False)
    else:
        drawn = as_column(probes, "probes")
        check_columns(rows, {"probes": [drawn]})
        drawn = drawn.cast(pl.Boolean).fill_null(value=False)
    known = rows.select(drawn.alias(DRAWN), **given).drop_nulls(columns)
    return known.with_columns(content_hash(columns, seed).alias(HASH)), columns


def _chosen(
    rows: pl.LazyFrame, box: pl.LazyFrame, columns: Sequence[str], probes: int | IntoColumn
) -> pl.LazyFrame:
    """Give the probed contents: how many rows have them, and how many of those are probed."""
    one = pl.lit(1, dtype=pl.Int64)
    counted = rows.with_columns(one.alias(TIMES), pl.col(DRAWN).cast(pl.Int64))
    if not isinstance(probes, int):
        wanted = rows.filter(DRAWN).select(HASH).unique()
        kept = counted.join(wanted, on=HASH, how="semi")
        alike = kept.group_by(HASH, *columns).agg(pl.col(TIMES, DRAWN).sum())
        return alike.filter(pl.col(DRAWN) > 0).with_columns(pl.col(DRAWN).cast(pl.Float64))
    # The smallest hash of every bucket, more buckets than probes: then the smallest of those.
    least = rows.group_by(pl.col(HASH) % (8 * probes)).agg(pl.col(HASH).min().alias("|least"))
    kept = counted.join(least, left_on=HASH, right_on="|least", how="semi")
    alike = kept.group_by(HASH, *columns).agg(pl.col(TIMES, DRAWN).sum())
    most = pl.min_horizontal(pl.lit(probes), pl.max_horizontal(pl.lit(1), pl.col("n") // 10))
    ranked = alike.join(box.select("n"), how="cross").with_columns(
        pl.col(HASH).rank().alias("|rank")
    )
    # Rows that are alike are chosen together, and count as often as they occur.
    often = pl.col(TIMES) / pl.col(TIMES).mean()
    return (
        ranked.filter(pl.col("|rank") <= most).with_columns(often.alias(DRAWN)).drop("|rank", "n")
    )


def _uniform(
    chosen: pl.LazyFrame, box: pl.LazyFrame, columns: Sequence[str], seed: int
) -> pl.LazyFrame:
    """Draw as many uniform points in the box as there are probes."""
    many = chosen.select(many=pl.col(DRAWN).sum()).join(box, how="cross")
    schema = pl.Schema(dict.fromkeys(columns, pl.Float64()))

    def drawn(frame: pl.DataFrame) -> pl.DataFrame:
        import numpy as np

        size = round(frame["many"][0])
        stream = np.random.default_rng(seed)
        bounds = [(frame[LOW + n][0] or 0.0, frame[HIGH + n][0] or 0.0) for n in columns]
        return pl.DataFrame(
            {n: stream.uniform(*ends, size) for n, ends in zip(columns, bounds, strict=True)},
            schema=schema,
        )

    return many.map_batches(
        drawn,
        schema=schema,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )


def _together(chosen: pl.LazyFrame, uniform: pl.LazyFrame, columns: Sequence[str]) -> pl.LazyFrame:
    """Number probes and uniform points; the latter are no rows, and have no hash."""
    own = chosen.select(*columns, HASH, TIMES, DRAWN)
    others = uniform.select(
        *columns,
        pl.lit(None, pl.UInt64).alias(HASH),
        pl.lit(1, dtype=pl.Int64).alias(TIMES),
        pl.lit(1.0).alias(DRAWN),
    )
    return pl.concat([own, others]).with_row_index(PROBE)


def _nearest(rows: pl.LazyFrame, points: pl.LazyFrame, columns: Sequence[str]) -> pl.LazyFrame:
    """Give every point's distance to the nearest row other than itself, and how often it counts."""
    named = {f"p{name}": pl.col(name) for name in columns}
    sides = points.select(PROBE, TIMES, DRAWN, pl.col(HASH).alias("|own"), **named)
    gaps = [pl.col(name) - pl.col(f"p{name}") for name in columns]
    square = pl.sum_horizontal(gap * gap for gap in gaps)
    itself = (pl.col(HASH) == pl.col("|own")).fill_null(value=False)
    alone = itself & (pl.col(TIMES) == 1)
    pairs = rows.select(*columns, HASH).join(sides, how="cross")
    return (
        pairs.select(
            PROBE,
            DRAWN,
            pl.col("|own").is_null().alias("|uniform"),
            pl.when(~alone).then(square).alias("|square"),
        )
        .group_by(PROBE, DRAWN, "|uniform")
        .agg(pl.col("|square").min().sqrt().alias("|near"))
    )


def _statistic(near: pl.LazyFrame, box: pl.LazyFrame, power: float) -> pl.LazyFrame:
    """Compare the sums of powers; distances are scaled by the largest, so that none overflows."""
    distance, uniform = pl.col("|near"), pl.col("|uniform")
    scaled = pl.col(DRAWN) * (distance / distance.max()).fill_nan(0.0) ** power
    u, w = scaled.filter(uniform).sum(), scaled.filter(~uniform).sum()
    summed = near.select(
        u=u, w=w, m=pl.col(DRAWN).filter(uniform).sum(), k=pl.col(DRAWN).filter(~uniform).sum()
    )
    value = (pl.col("u") / (pl.col("u") + pl.col("w"))).fill_nan(None)
    found = pl.concat([summed, box.select("n")], how="horizontal").with_columns(
        hopkins=pl.when(pl.col("n") > 1).then(value)
    )
    chance = pl.struct("hopkins", "m", "k").map_batches(
        _upper_tail, return_dtype=pl.Float64, is_elementwise=True
    )
    return found.select("hopkins", p_value=chance)


def _upper_tail(values: pl.Series) -> pl.Series:
    """Give the chance of a higher value under uniformity: the statistic is then beta."""
    from scipy.special import betainc

    parts = values.struct.unnest()
    known = parts["hopkins"].fill_null(0.5).to_numpy()
    sizes: list[Floats] = [parts[name].cast(pl.Float64).clip(1).to_numpy() for name in ("m", "k")]
    tail = pl.Series(betainc(sizes[1], sizes[0], 1 - known), dtype=pl.Float64)
    return pl.select(pl.when(parts["hopkins"].is_not_null()).then(tail)).to_series()
