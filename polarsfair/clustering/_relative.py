"""How many clusters: several clusterings of the same rows side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, columns_of
from polarsfair._engine.evaluate import evaluate
from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair._engine.metric import Metric, define
from polarsfair._engine.tally import check_distinct
from polarsfair.clustering._external.contingency import contingency
from polarsfair.clustering._external.pair_counts import adjusted_rand
from polarsfair.clustering._internal.centroids import calinski_harabasz
from polarsfair.clustering._internal.distance_sums import volumes
from polarsfair.clustering._internal.points import WEIGHT, features_of, moments
from polarsfair.clustering._internal.silhouette import silhouette
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import ArrowStream, IntoColumn, IntoFeatures, IntoFrame, IntoSlices

__all__ = ["choose_k", "gap", "stability"]

CLUSTERING, CODE, PAIR, PLACE = "clustering", "|cluster", "pair of clusterings", "|place"
_CHOICE = (CLUSTERING, "k", "calinski_harabasz", "delta", "silhouette")


@define(moments, "quality", ("cluster", "features"), of=ClusteringMetric)
def _number() -> pl.Expr:
    """Number of clusters."""
    return ((WEIGHT > 0) & pl.col("cluster").is_not_null()).sum()


def stacked(
    frame: IntoFrame,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    keep: Sequence[pl.Expr] = (),
    keyword: str = "by",
) -> tuple[pl.LazyFrame, list[str], list[str]]:
    """Set clusterings under each other: a row per row and clustering.

    Gives the rows, the names of the clusterings and of the features. `keep` are further columns,
    which the caller gave as `keyword`.
    """
    rows = as_lazy(frame)
    columns = _clusterings(clusters)
    if not columns:
        msg = '`clusters` is empty: name the clusterings, such as `clusters=["k2", "k3"]`'
        raise ValueError(msg)
    check_columns(rows, {"clusters": columns, keyword: keep})
    names = [column.meta.output_name() for column in columns]
    if len(set(names)) < len(names):
        msg = f'two clusterings are called alike in {names}: rename one with `.alias("...")`'
        raise ValueError(msg)
    given, features_named = features_of(rows, features)
    # Clusterings may have names and numbers; as text they fit in one column.
    coded = [c.cast(pl.String).alias(f"{CODE}{n}") for c, n in zip(columns, names, strict=True)]
    index = [*given, *(column.meta.output_name() for column in keep)]
    long = rows.select(*keep, *coded, **given).unpivot(
        on=[f"{CODE}{name}" for name in names],
        index=index,
        variable_name=CLUSTERING,
        value_name=CODE,
    )
    return long.with_columns(pl.col(CLUSTERING).str.strip_prefix(CODE)), names, features_named


def _clusterings(clusters: IntoColumn | Sequence[IntoColumn]) -> list[pl.Expr]:
    """Give the columns of clusterings; one alone is a list of one."""
    several = [clusters] if isinstance(clusters, (str, pl.Expr)) else clusters
    return [as_column(column, "clusters") for column in several]


def _by_number(lines: pl.LazyFrame, names: Sequence[str], keys: Sequence[str]) -> pl.LazyFrame:
    """Sort lines by slice and number of clusters; ``PLACE`` says where the caller named them."""
    place = pl.col(CLUSTERING).replace_strict(
        list(names), list(range(len(names))), return_dtype=pl.Int64
    )
    return lines.with_columns(place.alias(PLACE)).sort(*keys, "k", PLACE)


def second_difference(value: pl.Expr) -> pl.Expr:
    """Give what a curve turns by at every point: least where it peaks sharpest."""
    return value.shift(-1) - 2 * value + value.shift(1)


@overload
def choose_k(
    frame: pl.LazyFrame,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    by: IntoSlices | None = ...,
    metric: str = ...,
) -> pl.LazyFrame: ...
@overload
def choose_k(
    frame: pl.DataFrame | ArrowStream,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    by: IntoSlices | None = ...,
    metric: str = ...,
) -> pl.DataFrame: ...
def choose_k(
    frame: pl.DataFrame | pl.LazyFrame | ArrowStream,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    by: IntoSlices | None = None,
    metric: str = "euclidean",
) -> pl.DataFrame | pl.LazyFrame:
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
        Of the silhouette, as in `silhouette`: ``"sqeuclidean"`` at any size.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per clustering, in their order: ``clustering`` (the column's name), ``k`` clusters,
        ``calinski_harabasz``, ``delta`` and ``silhouette``.

    Notes
    -----
    Three rules choose from it: the highest silhouette; the highest `calinski_harabasz`; or the
    least ``delta``, CH(k + 1) - 2 CH(k) + CH(k - 1) over the next larger and smaller numbers of
    clusters, where the curve bends down most. They need not agree.

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
    long, names, found = stacked(frame, clusters, features, keys)
    slices = [column.meta.output_name() for column in keys]
    check_distinct([*slices, *_CHOICE])
    lines = evaluate(
        long,
        [_number.alias("k"), calinski_harabasz, silhouette],
        by=[*slices, CLUSTERING],
        cluster=CODE,
        features=[pl.col(f"x|{name}").alias(name) for name in found],
        metric=metric,
    )
    delta = second_difference(pl.col("calinski_harabasz"))
    curve = _by_number(lines, names, slices).with_columns(
        pl.col("k").cast(pl.Int64), delta=delta.over(slices) if slices else delta
    )
    result = curve.sort(*slices, PLACE).select(*slices, *_CHOICE)
    return result if is_lazy(frame) else collect(result, frame, flat=True)


@overload
def gap(
    frame: pl.LazyFrame,
    reference: IntoFrame,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    replicate: IntoColumn = ...,
    variant: str = ...,
    errors: float = ...,
) -> pl.LazyFrame: ...
@overload
def gap(
    frame: pl.DataFrame | ArrowStream,
    reference: pl.DataFrame | ArrowStream,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    replicate: IntoColumn = ...,
    variant: str = ...,
    errors: float = ...,
) -> pl.DataFrame: ...
def gap(
    frame: pl.DataFrame | pl.LazyFrame | ArrowStream,
    reference: IntoFrame,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    features: IntoFeatures,
    replicate: IntoColumn = "replicate",
    variant: str = "tibshirani",
    errors: float = 1.0,
) -> pl.DataFrame | pl.LazyFrame:
    """Compare the compactness of clusterings with that of clusterings of uniform rows.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    reference
        Rows drawn uniformly in the box of the data, and clustered in the same way: the same
        columns, and `replicate`, which numbers the samples.
    clusters
        The columns that hold the clusterings.
    features
        The features' columns.
    replicate
        The column of `reference` that tells its samples apart.
    variant
        ``"tibshirani"``: W is the sum of squared distances to the clusters' means, with natural
        logarithms, at any size. ``"chapter"``: W is the sum of Euclidean distances of the pairs
        within clusters, with logarithms to base 2, at most 50,000 rows.
    errors
        How many standard deviations the next gap may be ahead.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        A row per clustering, in their order: ``k`` clusters, ``gap``, the mean of log W over the
        samples less log W; ``s``, its deviation; and ``chosen``, true for the fewest clusters whose
        gap is at least that of the next number of clusters less its ``s``. None is chosen where
        the gap keeps rising, and none after a W of 0, whose gap is null.

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
    others, _ = _compactness(reference, clusters, features, [sample], variant)
    spread = _spread_of_samples(others, variant)
    lines = own.join(spread, on=CLUSTERING, how="left")
    result = chosen_gap(_by_number(lines, names, []), variant, errors)
    shown = result.sort(PLACE).select("k", "gap", "s", "chosen")
    return shown if is_lazy(frame, reference) else collect(shown, frame, reference, flat=True)


def _compactness(
    frame: Any, clusters: Any, features: Any, keep: list[pl.Expr], variant: str
) -> tuple[pl.LazyFrame, list[str]]:
    """Give W of every clustering, and of every sample of the reference."""
    long, names, found = stacked(frame, clusters, features, keep, keyword="replicate")
    keys = [column.meta.output_name() for column in keep] + [CLUSTERING]
    columns = [pl.col(f"x|{name}").alias(name) for name in found]
    tally = moments if variant == "tibshirani" else volumes
    table = tally(long, by=keys, cluster=CODE, features=columns)
    value = pl.col("ssw").sum() if variant == "tibshirani" else pl.col("within").sum() / 2
    k = pl.col("cluster").drop_nulls().n_unique().cast(pl.Int64)
    return table.group_by(keys).agg(k=k, W=value), names


def _log(value: pl.Expr, variant: str) -> pl.Expr:
    known = pl.when(value > 0).then(value)
    return known.log() if variant == "tibshirani" else known.log(2)


def _spread_of_samples(others: pl.LazyFrame, variant: str) -> pl.LazyFrame:
    """Give the mean and the deviation of log W over the samples of the reference."""
    log = _log(pl.col("W"), variant)
    scale = (1 + 1 / log.count()).sqrt() if variant == "tibshirani" else pl.lit(1.0)
    return others.group_by(CLUSTERING).agg(expected=log.mean(), s=log.std(ddof=0) * scale)


def chosen_gap(lines: pl.LazyFrame, variant: str, errors: float) -> pl.LazyFrame:
    """Give the gaps of lines with ``W``, ``expected`` and ``s``, and which one is chosen."""
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
    frame: pl.DataFrame | ArrowStream,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    by: IntoSlices,
    agreement: Metric = ...,
) -> pl.DataFrame: ...
@overload
def stability(
    frame: pl.DataFrame | ArrowStream,
    *,
    clusters: IntoColumn | Sequence[IntoColumn],
    agreement: Metric = ...,
    by: None = ...,
) -> float: ...
def stability(
    frame: pl.DataFrame | pl.LazyFrame | ArrowStream,
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
        The columns that hold the clusterings of the samples; null where a row was not drawn. Two
        clusterings are compared on the rows that both have.
    agreement
        Any measure of two partitions, such as `variation_of_information`; options are bound,
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
    Compare it over numbers of clusters. One cluster is perfectly stable and says nothing, and
    stability falls with the number of clusters by itself, the less so where chance is taken out,
    as in `adjusted_rand`.

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
    long = _all_pairs(rows, columns, keys)
    found = evaluate(
        long, [agreement.alias("stability")], by=[*slices, PAIR], cluster="|one", label="|other"
    )
    mean = pl.col("stability").mean()
    result = found.group_by(slices).agg(mean).sort(slices) if slices else found.select(mean)
    if is_lazy(frame):
        return result
    values = collect(result, frame)
    if slices:
        return values
    value = values.item()
    return float("nan") if value is None else float(value)


def _check_agreement(agreement: object) -> None:
    """Raise unless `agreement` is one number of two partitions."""
    # The entropy of one partition, and what has a row per cluster, are no agreement.
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
    """Give a row per row and pair of clusterings, in one scan."""
    names = [f"{CODE}{i}" for i in range(len(columns))]
    coded = rows.select(
        *keys, *(c.cast(pl.String).alias(n) for c, n in zip(columns, names, strict=True))
    )
    pairs = [
        pl.struct(
            pl.lit(f"{one} {other}").alias(PAIR),
            pl.col(one).alias("|one"),
            pl.col(other).alias("|other"),
        )
        for i, one in enumerate(names)
        for other in names[i + 1 :]
    ]
    if not pairs:
        # A slice without a pair keeps its line, and has no value.
        unknown = dict.fromkeys(("|one", "|other"), pl.lit(None, pl.String))
        return coded.drop(names).with_columns(pl.lit("").alias(PAIR), **unknown)
    listed = coded.select(pl.exclude(names), pl.concat_list(pairs).alias("|pairs"))
    return listed.explode("|pairs").unnest("|pairs")
