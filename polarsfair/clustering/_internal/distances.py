"""Measures from sums of distances: within clusters, between them, and to all rows."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.metric import Metric, Variant
from polarsfair._engine.slices import aggregated, hidden, joined, summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.all_pairs import METRICS, PAIRED, check_metric
from polarsfair.clustering._internal.cluster_pairs import WIDTH, with_gap_sums
from polarsfair.clustering._internal.distance_sums import squared_volumes, volumes, with_spread
from polarsfair.clustering._internal.points import (
    CLUSTER,
    WEIGHT,
    Points,
    centres_of,
    frequency_moments,
    internal,
    merged_clusters,
    moment_sums,
    moments,
    overall_means,
    points_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures
    from polarsfair.clustering._types import ClusteringMetric

__all__ = [
    "beta_cv",
    "hubert_distances",
    "modularity",
    "normalized_cut",
    "normalized_hubert_distances",
    "scatter",
]

_TOTAL, _LENGTH = hidden("total"), hidden("length")


def _count_scatter(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Sum the fourth powers of all distances, from the scatter of the features.

    The table of `moments` with ``squares``, the sum of the fourth power of the Euclidean distance
    over all ordered pairs of rows of the slice. It is divided among the clusters in proportion to
    their size. The rows are read twice, so tables do not merge.

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
    lines = frequency_moments(points)
    share = pl.when(CLUSTER.is_not_null()).then(points.size / pl.col(_TOTAL))
    shared = joined(lines, _fourth_powers(points, lines), points.slices, how="left")
    return points.table(shared.with_columns(pl.col("squares") * share).drop(_TOTAL))


def _fourth_powers(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Sum the fourth power of the distance over ordered pairs of rows, per slice.

    With z the centred rows and q = z'z it is 2 (n sum q^2 + (sum q)^2 + 2 |sum zz'|^2).
    """
    slices = points.slices
    clusters = centres_of(points, lines)
    means = overall_means([*points.means, *points.lows], slices)
    centres = clusters.select(*slices, **means).unique()
    centred = [gap.alias(name) for gap, name in zip(points.gaps, points.columns, strict=True)]
    weight, length = points.weight.cast(pl.Float64), pl.col(_LENGTH)
    rows = joined(points.known, centres, slices).select(*slices, *centred, weight.alias(_TOTAL))
    squares = pl.sum_horizontal(pl.col(name) ** 2 for name in points.columns)
    both = enumerate(combinations_with_replacement(points.columns, 2))
    pairs = {pair: hidden("product", i) for i, pair in both}
    w, q, qq = pl.col(_TOTAL), hidden("q"), hidden("qq")
    sums = {_TOTAL: w, q: w * length, qq: w * length**2}
    sums |= {name: w * pl.col(a) * pl.col(b) for (a, b), name in pairs.items()}
    values = {name: value.sum() for name, value in sums.items()}
    table = aggregated(rows.with_columns(squares.alias(_LENGTH)), slices, values)
    frobenius = pl.sum_horizontal(
        pl.col(name) ** 2 * (1 if a == b else 2) for (a, b), name in pairs.items()
    )
    power = w * pl.col(qq) + pl.col(q) ** 2 + 2 * frobenius
    return table.select(*slices, _TOTAL, squares=2 * power)


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
    """View one line per cluster: its weight and the sums of its distances."""
    lines = table.with_columns(w=pl.when(CLUSTER.is_not_null()).then(WEIGHT).otherwise(0))
    return summed(lines, [*keys, "cluster"], ["w", "within", "volume", *PAIRED])


def _squared_volumes(
    table: pl.LazyFrame, keys: Sequence[str], *, metric: str = "sqeuclidean"
) -> pl.LazyFrame:
    """View the same for squared distances, from the moments alone."""
    del metric
    return squared_volumes(with_spread(merged_clusters(table, keys)), keys)


def _squared_pairs(
    table: pl.LazyFrame, keys: Sequence[str], *, metric: str = "sqeuclidean"
) -> pl.LazyFrame:
    """View, for squared distances, also the sums over pairs of clusters."""
    lines = _squared_volumes(table, keys, metric=metric)
    width = (pl.col("ssw") / WEIGHT).sqrt().alias(WIDTH)
    return with_gap_sums(lines.with_columns(width), keys)


def _by_squares(options: Mapping[str, object]) -> bool:
    return options.get("metric") == "sqeuclidean"


def _check_any(metric: Metric, schema: pl.Schema) -> None:
    del schema
    check_metric(metric.options.get("metric", METRICS[0]))


def _check_squared(metric: Metric, schema: pl.Schema) -> None:
    """Raise if another distance is requested of a table that has only the squared one."""
    del schema
    given = metric.options.get("metric", "sqeuclidean")
    if given != "sqeuclidean":
        msg = (
            f"`{metric.name}` with `metric={given!r}` cannot be read from a stored table, because"
            " it needs a second pass over the rows: call `evaluate` on the rows, or use"
            ' `metric="sqeuclidean"`'
        )
        raise ValueError(msg)


def _check_means(metric: Metric, schema: pl.Schema) -> None:
    del schema
    check_metric(metric.options.get("metric", _MEANS[0]), _MEANS)


def _any_distance(
    tally: Tally,
    view: Callable[..., pl.LazyFrame],
    check: Callable[[Metric, pl.Schema], None],
    **facts: Any,
) -> Callable[[Callable[..., pl.Expr]], ClusteringMetric]:
    """Make a metric of all distances, and its variant that reads squared ones from `tally`."""

    def metric_of(formula: Callable[..., pl.Expr]) -> ClusteringMetric:
        variant = internal(tally, view=view, check=_check_squared, **facts)(formula)
        squared = Variant(_by_squares, variant, _SQUARED)
        return internal(volumes, view=_volumes, check=check, variants=(squared,), **facts)(formula)

    return metric_of


@_any_distance(
    moments, _squared_volumes, _check_any, bounds=(0.0, math.inf), better="lower", ideal=0.0
)
def beta_cv() -> pl.Expr:
    """Mean distance within clusters over mean distance between them.

    Formula: (W_in / N_in) / (W_out / N_out). W is the sum of distances and N the number of pairs of
    rows of one cluster (in) or of two (out). Undefined with one cluster, and if every row is a
    cluster.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default) and ``"manhattan"`` use all pairs of rows, at most 50,000 rows per
        slice; ``"sqeuclidean"`` reads the table of `moments`; ``"cosine"`` and ``"hamming"``
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


@_any_distance(moments, _squared_volumes, _check_any, bounds=(0.0, math.inf), better="higher")
def normalized_cut() -> pl.Expr:
    """Sum over clusters of the share of each cluster's distances that goes to other clusters.

    Formula: sum over clusters of W(C, rest) / W(C, all). W is the sum of distances over pairs of a
    row of C and a row of other clusters (rest) or any row (all). At most the number of clusters.
    For distances, higher is better; for similarities, as in `edge_normalized_cut`, lower is. It
    grows with the number of clusters: compare only clusterings with equally many clusters.
    Undefined if the rows of a cluster are at distance 0 from all rows.

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


@_any_distance(moments, _squared_volumes, _check_any, bounds=(-0.5, 1.0), better="lower")
def modularity() -> pl.Expr:
    """Share of the total distance within clusters, minus the share expected from their volumes.

    Formula: sum over clusters of W(C, C) / W - (W(C, all) / W)^2. W(A, B) is the sum of distances
    over ordered pairs of a row of A and a row of B, and W that over all pairs. For distances, lower
    is better; for similarities, as in `edge_modularity`, higher is. Undefined if all rows are
    equal.

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
    return pl.when((total > 0) & total.is_finite()).then(value.clip(-0.5, 1))


def _number_of_pairs() -> pl.Expr:
    size = WEIGHT.cast(pl.Float64).sum()
    return size * (size - 1)


@_any_distance(moments, _squared_pairs, _check_means, bounds=(0.0, math.inf), better="higher")
def hubert_distances() -> pl.Expr:
    """Mean over pairs of rows of their distance times the distance of their clusters' means.

    Formula: sum over pairs of d(x, y) d(m_c(x), m_c(y)) over the number of pairs: Hubert's
    statistic of the two matrices of distances. Its unit is the square of the distance: compare only
    clusterings of the same rows. Undefined with fewer than two rows.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default) and ``"manhattan"`` use all pairs of rows, at most 50,000 rows per
        slice; ``"sqeuclidean"`` reads the table of `moments`.

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
    return quotient(pl.col("cross").sum(), _number_of_pairs())


_ROUNDING = 1e-14
"""Relative variances up to this are rounding errors."""


@_any_distance(
    scatter, _squared_pairs, _check_means, bounds=(-1.0, 1.0), better="higher", ideal=1.0
)
def normalized_hubert_distances() -> pl.Expr:
    """Correlation, over pairs of rows, of their distance with that of their clusters' means.

    Formula: Pearson's correlation of d(x, y) and d(m_c(x), m_c(y)) over all pairs of rows.
    Undefined if either side does not vary, as with one cluster.

    Range -1 to 1; ideal 1; higher is better.

    Parameters
    ----------
    metric
        As in `hubert_distances`; ``"sqeuclidean"`` reads the rows twice.

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
    pairs = _number_of_pairs()
    x, y = VOLUME.sum() / pairs, pl.col("gaps").sum() / pairs
    xx, yy = pl.col("squares").sum() / pairs, pl.col("gap_squares").sum() / pairs
    spread_x, spread_y = xx - x * x, yy - y * y
    varies = (spread_x > _ROUNDING * xx) & (spread_y > _ROUNDING * yy)
    both = pl.col("cross").sum() / pairs - x * y
    return pl.when(varies).then((both / (spread_x.sqrt() * spread_y.sqrt())).clip(-1, 1))
