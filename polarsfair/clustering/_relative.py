"""Choosing the number of clusters: comparisons of several clusterings of the same rows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, overload

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, columns_of
from polarsfair._engine.evaluate import evaluate
from polarsfair._engine.frames import as_given, as_lazy, lazy_or_eager
from polarsfair._engine.metric import Metric
from polarsfair._engine.slices import aggregated, hidden, over
from polarsfair._engine.tally import check_distinct
from polarsfair.clustering._external.contingency import contingency
from polarsfair.clustering._external.pair_counts import adjusted_rand
from polarsfair.clustering._internal.centroids import calinski_harabasz
from polarsfair.clustering._internal.distance_sums import volumes
from polarsfair.clustering._internal.points import WEIGHT, features_of, internal, moments
from polarsfair.clustering._internal.silhouette import silhouette

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import EagerFrame, IntoColumn, IntoFeatures, IntoFrame, IntoSlices

__all__ = ["choose_k", "gap", "stability"]

CLUSTERING, PAIR = "clustering", "pair of clusterings"
_CLUSTER, _POSITION, _PAIRS = hidden("cluster"), hidden("position"), hidden("pairs")
_OWN, _OTHER = hidden("own"), hidden("other")
_CODED = hidden("cluster ")
"""Begins the columns of clusterings, before they become one column."""

_CHOICE = (CLUSTERING, "k", "calinski_harabasz", "delta", "silhouette")


@internal(moments)
def _number() -> pl.Expr:
    """Number of clusters."""
    return ((WEIGHT > 0) & pl.col("cluster").is_not_null()).sum()


def _stacked(
    frame: pl.LazyFrame,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    keep: Sequence[pl.Expr] = (),
    keyword: str = "by",
) -> tuple[pl.LazyFrame, list[str], list[pl.Expr]]:
    """Stack clusterings: one row per row and clustering.

    Returns the rows, the names of the clusterings and the features. `keep` are further columns,
    which the caller passed as `keyword`.
    """
    columns = _clusterings(clusters)
    if not columns:
        msg = '`clusters` is empty: name the clusterings, such as `clusters=["k2", "k3"]`'
        raise ValueError(msg)
    check_columns(frame, {"clusters": columns, keyword: keep})
    names = [column.meta.output_name() for column in columns]
    if len(set(names)) < len(names):
        msg = f'two clusterings have the same name in {names}: rename one with `.alias("...")`'
        raise ValueError(msg)
    given, feature_names = features_of(frame, features)
    # Clusterings may hold strings or numbers; as text they fit in one column.
    coded = [c.cast(pl.String).alias(_CODED + n) for c, n in zip(columns, names, strict=True)]
    long = frame.select(*keep, *coded, **given).unpivot(
        on=[_CODED + name for name in names],
        index=[*given, *(column.meta.output_name() for column in keep)],
        variable_name=CLUSTERING,
        value_name=_CLUSTER,
    )
    named = [pl.col(x).alias(name) for x, name in zip(given, feature_names, strict=True)]
    return long.with_columns(pl.col(CLUSTERING).str.strip_prefix(_CODED)), names, named


def _clusterings(clusters: IntoColumn | Sequence[IntoColumn]) -> list[pl.Expr]:
    """Return the columns of clusterings, as a list even if there is only one."""
    several = [clusters] if isinstance(clusters, (str, pl.Expr)) else clusters
    return [as_column(column, "clusters") for column in several]


def _by_number(lines: pl.LazyFrame, names: Sequence[str], keys: Sequence[str]) -> pl.LazyFrame:
    """Sort lines by slice and number of clusters; ``_POSITION`` is that among the `names`."""
    position = pl.col(CLUSTERING).replace_strict(
        list(names), list(range(len(names))), return_dtype=pl.Int64
    )
    return lines.with_columns(position.alias(_POSITION)).sort(*keys, "k", _POSITION)


def second_difference(value: pl.Expr) -> pl.Expr:
    """Return the second difference of a curve: smallest at its sharpest peak."""
    return value.shift(-1) - 2 * value + value.shift(1)


@lazy_or_eager(flat=True)
def choose_k(
    frame: pl.LazyFrame,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    by: IntoSlices | None = None,
    metric: str = "euclidean",
) -> pl.LazyFrame:
    """Compare clusterings of the same rows into different numbers of clusters.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    clusters
        The columns that hold the clusterings.
    features
        The features' columns.
    by
        Slices: column names or expressions.
    metric
        The distance of the silhouette, as in `silhouette`: ``"sqeuclidean"`` works at any size.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row per clustering, in the order of `clusters`: ``clustering`` (the column's name),
        ``k`` clusters, ``calinski_harabasz``, ``delta`` and ``silhouette``.

    Notes
    -----
    Three rules can choose a clustering: the highest silhouette, the highest `calinski_harabasz`, or
    the smallest ``delta``. They need not agree. ``delta`` is CH(k + 1) - 2 CH(k) + CH(k - 1), over
    the next larger and smaller numbers of clusters. It is smallest where the curve bends down most.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame(
    ...     {
    ...         "x": [0.0, 1.0, 5.0, 6.0, 20.0, 21.0],
    ...         "k2": [1, 1, 1, 1, 2, 2],
    ...         "k3": [1, 1, 2, 2, 3, 3],
    ...         "k4": [1, 4, 2, 2, 3, 3],
    ...     }
    ... )
    >>> found = clustering.choose_k(df, clusters=["k2", "k3", "k4"], features="x")
    >>> found.select("clustering", "k", pl.col("calinski_harabasz", "delta", "silhouette").round(2))
    shape: (3, 5)
    ┌────────────┬─────┬───────────────────┬─────────┬────────────┐
    │ clustering ┆ k   ┆ calinski_harabasz ┆ delta   ┆ silhouette │
    │ ---        ┆ --- ┆ ---               ┆ ---     ┆ ---        │
    │ str        ┆ i64 ┆ f64               ┆ f64     ┆ f64        │
    ╞════════════╪═════╪═══════════════════╪═════════╪════════════╡
    │ k2         ┆ 2   ┆ 61.64             ┆ null    ┆ 0.84       │
    │ k3         ┆ 3   ┆ 433.33            ┆ -515.81 ┆ 0.84       │
    │ k4         ┆ 4   ┆ 289.22            ┆ null    ┆ 0.57       │
    └────────────┴─────┴───────────────────┴─────────┴────────────┘
    """
    keys = columns_of(by)
    long, names, columns = _stacked(frame, clusters, features, keys)
    slices = [column.meta.output_name() for column in keys]
    check_distinct([*slices, *_CHOICE])
    lines = evaluate(
        long,
        [_number.alias("k"), calinski_harabasz, silhouette],
        by=[*slices, CLUSTERING],
        cluster=_CLUSTER,
        features=columns,
        metric=metric,
    )
    delta = over(second_difference(pl.col("calinski_harabasz")), slices)
    curve = _by_number(lines, names, slices).with_columns(pl.col("k").cast(pl.Int64), delta=delta)
    return curve.sort(*slices, _POSITION).select(*slices, *_CHOICE)


@lazy_or_eager(flat=True)
def gap(
    frame: pl.LazyFrame,
    reference: IntoFrame,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    replicate: IntoColumn = "replicate",
    variant: str = "tibshirani",
    errors: float = 1.0,
) -> pl.LazyFrame:
    """Compare the compactness of clusterings with that of clusterings of uniform rows.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    reference
        Rows drawn uniformly in the box of the data, and clustered in the same way. It has the same
        columns, and `replicate`, which numbers the samples.
    clusters
        The columns that hold the clusterings.
    features
        The features' columns.
    replicate
        The column of `reference` that identifies its samples.
    variant
        ``"tibshirani"``: W is the sum of squared distances to the clusters' means, with natural
        logarithms, at any size. ``"chapter"``: W is the sum of Euclidean distances of the pairs
        within clusters, with logarithms to base 2, at most 50,000 rows.
    errors
        By how many standard deviations the next gap may be larger.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row per clustering, in the order of `clusters`: ``k`` clusters; ``gap``, the mean of
        log W over the samples minus log W; ``s``, its standard deviation; and ``chosen``. It is
        true for the fewest clusters whose gap is at least that of the next number of clusters
        minus its ``s``. No clustering is chosen if the gap keeps rising, or after a W of 0, whose
        gap is null.

    References
    ----------
    Tibshirani, Walther, Hastie (2001). Estimating the Number of Clusters in a Data Set via the Gap
    Statistic. Journal of the Royal Statistical Society B 63(2), 411-423.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"x": [0, 1, 9, 10], "k1": [1, 1, 1, 1], "k2": [1, 1, 2, 2]})
    >>> uniform = pl.DataFrame(
    ...     {
    ...         "replicate": [1, 1, 1, 1, 2, 2, 2, 2],
    ...         "x": [0.0, 3.0, 5.0, 8.0, 1.0, 4.0, 6.0, 9.0],
    ...         "k1": [1] * 8,
    ...         "k2": [1, 1, 2, 2] * 2,
    ...     }
    ... )
    >>> found = clustering.gap(df, uniform, clusters=["k1", "k2"], features="x")
    >>> found.with_columns(pl.col("gap", "s").round(4))
    shape: (2, 4)
    ┌─────┬─────────┬─────┬────────┐
    │ k   ┆ gap     ┆ s   ┆ chosen │
    │ --- ┆ ---     ┆ --- ┆ ---    │
    │ i64 ┆ f64     ┆ f64 ┆ bool   │
    ╞═════╪═════════╪═════╪════════╡
    │ 1   ┆ -0.8804 ┆ 0.0 ┆ false  │
    │ 2   ┆ 2.1972  ┆ 0.0 ┆ false  │
    └─────┴─────────┴─────┴────────┘
    """
    if variant not in ("tibshirani", "chapter"):
        msg = f"`variant` is 'tibshirani' or 'chapter', got {variant!r}"
        raise ValueError(msg)
    sample = as_column(replicate, "replicate").alias("replicate")
    own, names = _compactness(frame, clusters, features, [], variant)
    others, _ = _compactness(as_lazy(reference), clusters, features, [sample], variant)
    lines = own.join(_log_of_samples(others, variant), on=CLUSTERING, how="left")
    result = chosen_gap(_by_number(lines, names, []), variant, errors)
    return result.sort(_POSITION).select("k", "gap", "s", "chosen")


def _compactness(
    frame: pl.LazyFrame,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    keep: list[pl.Expr],
    variant: str,
) -> tuple[pl.LazyFrame, list[str]]:
    """Compute W of every clustering, and of every sample of the reference."""
    long, names, columns = _stacked(frame, clusters, features, keep, keyword="replicate")
    keys = [column.meta.output_name() for column in keep] + [CLUSTERING]
    tally = moments if variant == "tibshirani" else volumes
    table = tally(long, by=keys, cluster=_CLUSTER, features=columns)
    value = pl.col("ssw").sum() if variant == "tibshirani" else pl.col("within").sum() / 2
    k = pl.col("cluster").drop_nulls().n_unique().cast(pl.Int64)
    return table.group_by(keys).agg(k=k, W=value), names


def _log(value: pl.Expr, variant: str) -> pl.Expr:
    known = pl.when(value > 0).then(value)
    return known.log() if variant == "tibshirani" else known.log(2)


def _log_of_samples(others: pl.LazyFrame, variant: str) -> pl.LazyFrame:
    """Compute the mean and the standard deviation of log W over the samples of the reference."""
    log = _log(pl.col("W"), variant)
    scale = (1 + 1 / log.count()).sqrt() if variant == "tibshirani" else pl.lit(1.0)
    return others.group_by(CLUSTERING).agg(expected=log.mean(), s=log.std(ddof=0) * scale)


def chosen_gap(lines: pl.LazyFrame, variant: str, errors: float) -> pl.LazyFrame:
    """Compute the gaps of lines with ``W``, ``expected`` and ``s``, and mark the chosen one."""
    value = pl.col("gap")
    enough = value >= value.shift(-1) - errors * pl.col("s").shift(-1)
    before = value.is_not_null().cast(pl.Int8).cum_min() == 1
    fits = (enough & before).fill_null(value=False)
    first = fits & (fits.cast(pl.Int64).cum_sum() == 1)
    gaps = lines.with_columns(gap=pl.col("expected") - _log(pl.col("W"), variant))
    return gaps.with_columns(chosen=first)


@overload
def stability(
    frame: pl.LazyFrame,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    agreement: Metric = ...,
    by: IntoSlices | None = ...,
) -> pl.LazyFrame: ...
@overload
def stability(
    frame: EagerFrame,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    by: IntoSlices,
    agreement: Metric = ...,
) -> pl.DataFrame: ...
@overload
def stability(
    frame: EagerFrame,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    agreement: Metric = ...,
    by: None = ...,
) -> float: ...
def stability(
    frame: IntoFrame,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    agreement: Metric = adjusted_rand,
    by: IntoSlices | None = None,
) -> float | pl.DataFrame | pl.LazyFrame:
    """Average the agreement of clusterings of samples of the same rows, over all pairs of them.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    clusters
        The columns that hold the clusterings of the samples; null if a row was not drawn. Two
        clusterings are compared on the rows that both have.
    agreement
        Any measure of two partitions, such as `variation_of_information`. Options are bound, as in
        ``nmi.bind(average="max")``.
    by
        Slices: column names or expressions.

    Returns
    -------
    float, pl.DataFrame or pl.LazyFrame
        The mean over pairs that have a value; undefined with fewer than two clusterings. A column
        ``stability`` in frames.

    Notes
    -----
    Compare it over numbers of clusters. One cluster is always perfectly stable. Stability falls as
    the number of clusters grows, but less so if the agreement is adjusted for chance, as in
    `adjusted_rand`.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"a": [1, 1, 2, 2], "b": [5, 5, 7, None], "c": [1, None, 2, 2]})
    >>> clustering.stability(df, clusters=["a", "b", "c"])
    1.0
    """
    rows, keys = as_lazy(frame), columns_of(by)
    _check_agreement(agreement)
    columns = _clusterings(clusters)
    check_columns(rows, {"clusters": columns, "by": keys})
    slices = [column.meta.output_name() for column in keys]
    found = evaluate(
        _all_pairs(rows, columns, keys),
        [agreement.alias("stability")],
        by=[*slices, PAIR],
        cluster=_OWN,
        label=_OTHER,
    )
    mean = aggregated(found, slices, {"stability": pl.col("stability").mean()})
    result = as_given(mean.sort(slices) if slices else mean, frame)
    if isinstance(result, pl.LazyFrame) or slices:
        return result
    value = result.item()
    return float("nan") if value is None else float(value)


def _check_agreement(agreement: object) -> None:
    """Raise unless `agreement` is one number of two partitions."""
    # Entropy and per-cluster metrics do not measure agreement.
    if (
        isinstance(agreement, Metric)
        and agreement.tally is contingency
        and "label" in agreement.roles
        and not agreement.keys
    ):
        return
    name = agreement.name if isinstance(agreement, Metric) else repr(agreement)
    example = "`clustering.adjusted_rand`"
    msg = f"`agreement` is a measure of two partitions, such as {example}; got {name}"
    raise TypeError(msg)


def _all_pairs(
    rows: pl.LazyFrame, columns: Sequence[pl.Expr], keys: Sequence[pl.Expr]
) -> pl.LazyFrame:
    """Make a row of every row and pair of clusterings, in one scan."""
    names = [hidden("cluster", i) for i in range(len(columns))]
    coded = rows.select(
        *keys, *(c.cast(pl.String).alias(n) for c, n in zip(columns, names, strict=True))
    )
    pairs = [
        pl.struct(
            pl.lit(f"{i} {j}").alias(PAIR), pl.col(own).alias(_OWN), pl.col(other).alias(_OTHER)
        )
        for (i, own), (j, other) in itertools.combinations(enumerate(names), 2)
    ]
    if not pairs:
        # Keep a line for the slice, so that its value is null instead of missing.
        unknown = dict.fromkeys((_OWN, _OTHER), pl.lit(None, pl.String))
        return coded.drop(names).with_columns(pl.lit("").alias(PAIR), **unknown)
    listed = coded.select(pl.exclude(names), pl.concat_list(pairs).alias(_PAIRS))
    return listed.explode(_PAIRS).unnest(_PAIRS)
