"""Internal measures from sums of distances: within clusters, between them, to all rows."""

from __future__ import annotations

import functools
import math
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.metric import Metric, Variant, define
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.all_pairs import (
    METRICS,
    PAIRED,
    check_metric,
)
from polarsfair.clustering._internal.distance_sums import (
    squared_volumes,
    volumes,
)
from polarsfair.clustering._internal.points import (
    FEATURE,
    MEAN,
    SPREAD,
    WEIGHT,
    Points,
    beside,
    centres_of,
    counted_frequencies,
    means_of,
    merged_clusters,
    moment_sums,
    moments,
    moments_of,
    overall_mean,
    points_of,
    squared_gap,
)
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures

__all__ = [
    "beta_cv",
    "hubert_distances",
    "modularity",
    "normalized_cut",
    "normalized_hubert_distances",
    "scatter",
]


def _count_scatter(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count the fourth powers of all distances, from the scatter of the features.

    The table of `moments` with ``squares``: over all ordered pairs of a row of the cluster and any
    row of the slice, the sum of the fourth power of their Euclidean distance, shared out among the
    clusters by their size. The rows are read twice, so that tables do not add up.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 2], "x": [0.0, 2.0]})
    >>> clustering.scatter(df, cluster="c", features="x").sort("cluster").select(
    ...     "cluster", "squares"
    ... )
    shape: (2, 2)
    ┌─────────┬─────────┐
    │ cluster ┆ squares │
    │ ---     ┆ ---     │
    │ i64     ┆ f64     │
    ╞═════════╪═════════╡
    │ 1       ┆ 16.0    │
    │ 2       ┆ 16.0    │
    └─────────┴─────────┘
    """
    points = points_of(rows, by, cluster=cluster, features=features, weight=weight)
    lines = counted_frequencies(points, moments_of(points)).cache()
    squares = _fourth_powers(points, lines)
    joined = (
        beside(lines, squares, points.slices)
        if not points.slices
        else lines.join(squares, on=list(points.slices), how="left", nulls_equal=True)
    )
    size = WEIGHT if points.weighted else pl.col("n")
    share = pl.when(pl.col("cluster").is_not_null()).then(size / pl.col("|all"))
    return points.table(joined.with_columns(pl.col("squares") * share).drop("|all"))


def _fourth_powers(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Give, per slice, the sum over ordered pairs of the fourth power of the distance.

    With z the centred rows and q = z'z it is 2 (n sum q^2 + (sum q)^2 + 2 |sum zz'|^2).
    """
    slices, names = list(points.slices), points.features
    means = [overall_mean(MEAN + name, slices).alias(MEAN + name) for name in names]
    centres = centres_of(points, lines).select(*slices, *means).unique()
    centred = [(pl.col(FEATURE + n) - pl.col(MEAN + n)).alias(FEATURE + n) for n in names]
    weight = WEIGHT.cast(pl.Float64) if points.weighted else pl.lit(1.0)
    rows = beside(points.known, centres, slices).select(*slices, *centred, **{"|w": weight})
    length = pl.sum_horizontal(pl.col(name) ** 2 for name in points.columns)
    pairs = list(combinations_with_replacement(points.columns, 2))
    sums = {"|all": pl.col("|w"), "|q": pl.col("|w") * pl.col("|length")}
    sums |= {"|qq": pl.col("|w") * pl.col("|length") ** 2}
    sums |= {f"{i}": pl.col("|w") * pl.col(a) * pl.col(b) for i, (a, b) in enumerate(pairs)}
    summed = {name: value.sum() for name, value in sums.items()}
    rows = rows.with_columns(length.alias("|length"))
    table = rows.group_by(slices).agg(**summed) if slices else rows.select(**summed)
    frobenius = pl.sum_horizontal(
        pl.col(f"{i}") ** 2 * (1 if a == b else 2) for i, (a, b) in enumerate(pairs)
    )
    power = pl.col("|all") * pl.col("|qq") + pl.col("|q") ** 2 + 2 * frobenius
    return table.select(*slices, "|all", squares=2 * power)


scatter = Tally(
    name="clustering.scatter",
    count=_count_scatter,
    cells=("cluster",),
    sums=lambda columns: {**moment_sums(columns), "squares": pl.col("squares").sum()},
    defaults={"w": pl.col("n")},
    contains=(moments,),
    mergeable=False,
)


WITHIN, VOLUME = pl.col("within"), pl.col("volume")


_SQUARED = {"metric": "sqeuclidean"}


_MEANS = ("euclidean", "manhattan", "sqeuclidean")


def _volumes(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per cluster: its weight and what its distances add up to."""
    names = [*keys, "cluster", "w", "within", "volume", *PAIRED]
    there = pl.col("cluster").is_not_null()
    lines = table.select(names).with_columns(w=pl.when(there).then(WEIGHT).otherwise(0))
    return lines.group_by(*keys, "cluster").agg(pl.col(n).sum() for n in names[len(keys) + 1 :])


def _squared_volumes(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    metric: str = "sqeuclidean",
) -> pl.LazyFrame:
    """View the same for squared distances, from the moments alone."""
    del metric
    lines = merged_clusters(table, keys)
    spread = lines.with_columns(pl.col("ssw").alias(SPREAD), zeros=pl.lit(0.0))
    return squared_volumes(spread, keys, "sqeuclidean")


def _squared_pairs(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    metric: str = "sqeuclidean",
) -> pl.LazyFrame:
    """View, for squared distances, also what pairs of clusters add up to."""
    lines = _squared_volumes(table, keys, metric=metric).with_row_index("|line")
    means = means_of(lines.collect_schema().names())
    kept = [*keys, "|line", "w", "ssw", *means]
    other = lines.select(*keys, *(pl.col(n).alias(f"{n}|") for n in kept[len(keys) :]))
    pairs = (
        lines.select(kept).join(other, on=list(keys), how="left", nulls_equal=True)
        if keys
        else lines.select(kept).join(other, how="cross")
    )
    size, gap = WEIGHT.cast(pl.Float64) * pl.col("w|"), pl.col("|gap")
    there = (size > 0) & (pl.col("|line") != pl.col("|line|"))
    apart = pl.col("w|") * pl.col("ssw") + WEIGHT * pl.col("ssw|") + size * gap
    sums = {"cross": apart * gap, "gaps": size * gap, "gap_squares": size * gap * gap}
    summed = (
        pairs.with_columns(squared_gap(means, [f"{n}|" for n in means]).alias("|gap"))
        .group_by("|line")
        .agg(pl.when(there).then(value).sum().alias(name) for name, value in sums.items())
    )
    return lines.drop("cross", "gaps", "gap_squares", strict=False).join(
        summed, on="|line", how="left"
    )


def _asks_for_squares(options: Mapping[str, Any]) -> bool:
    return options.get("metric") == "sqeuclidean"


def _check(metric: Metric, schema: pl.Schema, allowed: Sequence[str] = METRICS) -> None:
    del schema
    check_metric(metric.options.get("metric", allowed[0]), allowed)


def _check_squared(metric: Metric, schema: pl.Schema) -> None:
    """Raise when another distance is asked of a table that knows the squared one alone."""
    del schema
    asked = metric.options.get("metric", "sqeuclidean")
    if asked != "sqeuclidean":
        msg = (
            f"`{metric.name}` with `metric={asked!r}` needs a second pass over the rows: use"
            ' `evaluate` on them, or `metric="sqeuclidean"`'
        )
        raise ValueError(msg)


def _check_means(metric: Metric, schema: pl.Schema) -> None:
    _check(metric, schema, _MEANS)


_share = functools.partial(
    define, kind="quality", roles=("cluster", "features"), of=ClusteringMetric
)


def _twice(
    tally: Any, view: Callable[..., pl.LazyFrame], check: Any, **facts: Any
) -> Callable[[Callable[..., pl.Expr]], ClusteringMetric]:
    """Make a metric of all distances, and its variant that reads squared ones off another table."""

    def made(formula: Callable[..., pl.Expr]) -> ClusteringMetric:
        variant = _share(tally, view=view, check=_check_squared, **facts)(formula)
        squared = Variant(_asks_for_squares, variant, _SQUARED)
        return _share(volumes, view=_volumes, check=check, variants=(squared,), **facts)(formula)

    return made


@_twice(moments, _squared_volumes, _check, bounds=(0.0, math.inf), better="lower", ideal=0.0)
def beta_cv() -> pl.Expr:
    """Mean distance within clusters over mean distance between them.

    Formula: (W_in / N_in) / (W_out / N_out), with W the sum of distances and N the number of pairs
    of rows of one cluster (in) or of two (out). Undefined with one cluster and where every row is a
    cluster.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default) and ``"manhattan"`` look at all pairs of rows, at most 50,000 rows
        a slice; ``"sqeuclidean"`` reads the table of `moments`; ``"cosine"`` and ``"hamming"``
        follow from a few sums as well.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> round(df.pipe(clustering.beta_cv, cluster="c", features=["x"]), 4)
    0.3333
    """
    size = WEIGHT.cast(pl.Float64)
    pairs_in = (size * (size - 1)).sum()
    pairs_out = size.sum() ** 2 - (size * size).sum()
    inside, outside = WITHIN.sum() / pairs_in, (VOLUME - WITHIN).sum().clip(0) / pairs_out
    return pl.when((pairs_in > 0) & (pairs_out > 0)).then(quotient(inside, outside))


@_twice(moments, _squared_volumes, _check, bounds=(0.0, math.inf), better="higher")
def normalized_cut() -> pl.Expr:
    """Sum over clusters of the share of their distances that leads out of them.

    Formula: sum over clusters of W(C, rest) / W(C, all), with W the sum of distances over pairs of
    a row of C and one of the rest, or of all. At most the number of clusters. Of distances, higher
    is better; of similarities, as in `edge_normalized_cut`, lower. It grows with the number of
    clusters: compare equal numbers. Undefined where the rows of a cluster are at distance 0 from
    all.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    metric
        As in `beta_cv`.

    References
    ----------
    Shi, Malik (2000). Normalized Cuts and Image Segmentation. IEEE Transactions on Pattern Analysis
    and Machine Intelligence 22(8), 888-905.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> round(df.pipe(clustering.normalized_cut, cluster="c", features=["x"]), 4)
    1.7182
    """
    there = WEIGHT > 0
    cut = quotient(VOLUME - WITHIN, VOLUME).filter(there)
    return pl.when(there.any() & cut.is_not_null().all()).then(cut.sum())


@_twice(moments, _squared_volumes, _check, bounds=(-0.5, 1.0), better="lower")
def modularity() -> pl.Expr:
    """Share of distances within clusters beyond what their volumes let expect.

    Formula: sum over clusters of W(C, C) / W - (W(C, all) / W)^2, with W the sum of distances over
    ordered pairs of rows, and W alone over all. Of distances, lower is better; of similarities, as
    in `edge_modularity`, higher. Undefined where all rows are equal.

    Range -0.5 to 1; no ideal; lower is better.

    Parameters
    ----------
    metric
        As in `beta_cv`.

    References
    ----------
    Newman (2006). Modularity and Community Structure in Networks. PNAS 103(23), 8577-8582.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> round(df.pipe(clustering.modularity, cluster="c", features=["x"]), 4)
    -0.3583
    """
    total = VOLUME.sum()
    value = (quotient(WITHIN, total) - quotient(VOLUME, total) ** 2).sum()
    return pl.when(total > 0).then(value.clip(-0.5, 1))


def _pairs() -> pl.Expr:
    size = WEIGHT.cast(pl.Float64).sum()
    return size * (size - 1)


@_twice(moments, _squared_pairs, _check_means, bounds=(0.0, math.inf), better="higher")
def hubert_distances() -> pl.Expr:
    """Mean over pairs of rows of their distance times the distance of their clusters' means.

    Formula: sum over pairs of d(x, y) d(m_c(x), m_c(y)) over the number of pairs: Hubert's
    statistic of the two matrices of distances. In squared units of the distance: compare
    clusterings of the same rows. Undefined with fewer than two rows.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default) and ``"manhattan"`` look at all pairs of rows, at most 50,000 rows
        a slice; ``"sqeuclidean"`` reads the table of `moments`.

    References
    ----------
    Hubert, Arabie (1985). Comparing Partitions. Journal of Classification 2, 193-218.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> df.pipe(clustering.hubert_distances, cluster="c", features=["x"])
    13.5
    """
    return quotient(pl.col("cross").sum(), _pairs())


_NONE = 1e-14
"""Relative variances up to this are rounding."""


@_twice(scatter, _squared_pairs, _check_means, bounds=(-1.0, 1.0), better="higher", ideal=1.0)
def normalized_hubert_distances() -> pl.Expr:
    """Correlation over pairs of rows of their distance with that of their clusters' means.

    Formula: Pearson's correlation of d(x, y) and d(m_c(x), m_c(y)) over all pairs of rows.
    Undefined where either side does not vary, as with one cluster.

    Range -1 to 1; ideal 1; higher is better.

    Parameters
    ----------
    metric
        As in `hubert_distances`; ``"sqeuclidean"`` takes two passes over the rows.

    References
    ----------
    Hubert, Arabie (1985). Comparing Partitions. Journal of Classification 2, 193-218.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> round(df.pipe(clustering.normalized_hubert_distances, cluster="c", features=["x"]), 4)
    0.8281
    """
    pairs = _pairs()
    x, y = VOLUME.sum() / pairs, pl.col("gaps").sum() / pairs
    xx, yy = pl.col("squares").sum() / pairs, pl.col("gap_squares").sum() / pairs
    spread_x, spread_y = xx - x * x, yy - y * y
    varies = (spread_x > _NONE * xx) & (spread_y > _NONE * yy)
    both = pl.col("cross").sum() / pairs - x * y
    return pl.when(varies).then((both / (spread_x.sqrt() * spread_y.sqrt())).clip(-1, 1))
