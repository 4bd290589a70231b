"""Points: rows with a cluster and features, and the moments of every cluster.

Every internal measure starts here. A row that lacks its cluster or a feature belongs to no
cluster: the table counts it on a line of unknown cluster, which no measure reads.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, is_number, schema_of
from polarsfair._engine.faults import Fault, raise_faults
from polarsfair._engine.metric import define
from polarsfair._engine.rows import ONE, Rows, key
from polarsfair._engine.slices import hidden, joined, over
from polarsfair._engine.tally import Tally
from polarsfair.clustering._external.contingency import whole
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoGroup

__all__ = ["moments"]

FEATURE = hidden("feature ")
"""Begins the columns that hold features on the row side."""

MEAN = "mean_"
"""Begins the columns that hold the means of features in a table."""

ROW = hidden("row")
"""Numbers rows, so that a second pass can collect what belongs to one row."""

OTHER, OWN, SIZE = hidden("other"), hidden("own"), hidden("size")
DISTANCE, SPREAD = hidden("distance"), hidden("spread")

MOST = 2**32 - 1 if pl.get_index_type() == pl.UInt32 else 2**63 - 1
"""The largest number of rows that Polars can number."""

CLUSTER, WEIGHT = pl.col("cluster"), pl.col("w")

_ROUNDING = 1e-15
"""Relative differences of means up to this size are rounding errors, not distances."""

internal = functools.partial(
    define, kind="quality", roles=("cluster", "features"), of=ClusteringMetric
)
"""Make a metric of a formula that reads clusters and features."""


@dataclass(frozen=True)
class Points:
    """Rows with a cluster and features.

    Attributes
    ----------
    rows
        The rows; ``cluster`` is null if a feature is.
    features
        The caller's names of the features.
    kept
        Further columns of the caller that the rows keep.
    """

    rows: Rows
    features: tuple[str, ...]
    kept: tuple[str, ...] = ()

    @property
    def slices(self) -> list[str]:
        """The hidden names of the slices."""
        return list(self.rows.slices.values())

    @property
    def keys(self) -> list[str]:
        """The columns that identify a line of the table."""
        return [*self.rows.keys, "cluster"]

    @property
    def columns(self) -> list[str]:
        """The feature columns of the rows."""
        return [FEATURE + name for name in self.features]

    @property
    def means(self) -> list[str]:
        """The columns of the table that hold the means of the features."""
        return [MEAN + name for name in self.features]

    @property
    def gaps(self) -> list[pl.Expr]:
        """The features of a row minus the means of the cluster that it is joined with."""
        return [pl.col(x) - pl.col(mean) for x, mean in zip(self.columns, self.means, strict=True)]

    @property
    def weights(self) -> list[str]:
        """The column of weights, if there are weights."""
        return ["w"] if self.rows.weighted else []

    @property
    def weight(self) -> pl.Expr:
        """The weight of a row."""
        return WEIGHT if self.rows.weighted else ONE

    @property
    def size(self) -> pl.Expr:
        """The weight of a line of the table."""
        return WEIGHT if self.rows.weighted else pl.col("n")

    @property
    def known(self) -> pl.LazyFrame:
        """The rows that belong to a cluster, with keys, weight and features."""
        there = self.rows.frame.filter(CLUSTER.is_not_null())
        return there.select(*self.kept, *self.keys, *self.weights, *self.columns)

    def with_columns(self, columns: Sequence[pl.Expr]) -> Points:
        """Return the same points with other values in some columns."""
        frame = self.rows.frame.with_columns(columns)
        return replace(self, rows=replace(self.rows, frame=frame))

    def table(self, lines: pl.LazyFrame) -> pl.LazyFrame:
        """Return lines as the caller sees them: slices, group, cluster, sums."""
        sums = [name for name in lines.collect_schema().names() if name not in self.keys]
        return self.rows.table(lines, ["cluster"], sums)


def points_of(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None,
    features: IntoFeatures | None,
    group: IntoGroup | None = None,
    weight: IntoColumn | None = None,
    numeric: bool = True,
    keep: Sequence[str] = (),
) -> Points:
    """Resolve the roles of an internal measure against the frame.

    The rows keep the columns named by `keep`.
    """
    given, names = features_of(frame, features, numeric=numeric)
    _check_slices([column.meta.output_name() for column in by])
    more = {**{name: pl.col(name) for name in keep}, **given}
    rows = Rows.of(frame, by, group=group, weight=weight, more=more, cluster=key(cluster))
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in given)
    points = Points(rows, tuple(names), tuple(keep))
    return points.with_columns([pl.when(known).then(CLUSTER).alias("cluster")])


def features_of(
    rows: pl.LazyFrame, features: IntoFeatures | None, *, numeric: bool = True
) -> tuple[dict[str, pl.Expr], list[str]]:
    """Return the feature columns of the row side, and the names of the features."""
    parts = [features] if isinstance(features, (str, pl.Expr)) else list(features or ())
    columns = [column for part in parts for column in _single(rows, part)]
    names = [column.meta.output_name() for column in columns]
    _check_features(names)
    given = {FEATURE + name: column for name, column in zip(names, columns, strict=True)}
    schema = schema_of(rows, given)
    if not numeric:
        return given, names
    return {name: _as_number(column, name, schema[name]) for name, column in given.items()}, names


def _single(rows: pl.LazyFrame, feature: str | pl.Expr) -> list[pl.Expr]:
    """List one feature, or every column of an expression of several, such as a selector."""
    column = feature if isinstance(feature, pl.Expr) else as_column(feature, "features")
    check_columns(rows, {"features": [column]})
    if not column.meta.has_multiple_outputs():
        return [column]
    names = rows.select(column).collect_schema().names()
    return [pl.struct(column).struct.field(name) for name in names]


def _check_features(names: Sequence[str]) -> None:
    if not names:
        msg = '`features` is empty: name at least one column, such as `features=["x", "y"]`'
        raise ValueError(msg)
    for name in names:
        if list(names).count(name) > 1:
            msg = f'two features are called {name!r}: rename one with `.alias("...")`'
            raise ValueError(msg)


def _as_number(column: pl.Expr, name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a feature as Float64: small integers wrap when squared, small floats lose digits."""
    if is_number(dtype):
        return column.cast(pl.Float64)
    msg = (
        f"the feature {name.removeprefix(FEATURE)!r} is {dtype}, not a number: leave it out, or"
        " turn it into numbers with an expression; `silhouette` and `beta_cv` compare categories"
        ' with `metric="hamming"`'
    )
    raise TypeError(msg)


def _check_slices(names: Sequence[str]) -> None:
    for name in names:
        if name.startswith(MEAN):
            msg = (
                f"a slice cannot be named {name!r}, because means of features are named like that:"
                f' rename it, `by=pl.col("{name}").alias("{name.removeprefix(MEAN)}")`'
            )
            raise ValueError(msg)


def content_hash(columns: Sequence[str], seed: int, *others: pl.Expr) -> pl.Expr:
    """Return a hash of the content of a row, which does not depend on its position or its file.

    `columns` are features; `others` are further columns in which rows differ.
    """
    check_seed(seed)
    # Adding zero makes -0.0 and 0.0 equal.
    plain = [*others, *(pl.col(name) + 0.0 for name in columns)]
    starts = ((int(seed) * 1_000_003 + i) % 2**64 for i in range(len(plain)))
    hashes = [column.hash(start) for column, start in zip(plain, starts, strict=True)]
    return functools.reduce(operator.xor, hashes)


def check_seed(seed: object) -> None:
    """Raise unless random draws can start from `seed`."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or int(seed) < 0:
        msg = f"`seed` is a whole number of at least 0, got {seed!r}"
        raise ValueError(msg)


def moments_of(points: Points) -> pl.LazyFrame:
    """Count rows, means and the sum of squared distances to them, per slice, group and cluster."""
    lines = _plain_moments(points)
    if points.rows.weighted:
        lines = _weighted_moments(points, lines)
    sums = ["n", *points.weights, *points.means, "ssw"]
    # If a feature is NaN or infinite, so is its mean.
    infinite = {name: ~pl.col(MEAN + name).is_finite() for name in points.features}
    faults = [not_finite(name, bad.fill_null(value=False)) for name, bad in infinite.items()]
    weights = points.rows.faults(squares=False)
    return raise_faults(lines, [*weights, *faults], sums).select(*points.keys, *sums)


def frequency_moments(points: Points) -> pl.LazyFrame:
    """Count the same, cached, and raise if a weight is a fraction."""
    return counted_frequencies(points, moments_of(points)).cache()


def counted_frequencies(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Raise if a weight is a fraction, because rows are counted one by one here."""
    if not points.rows.weighted or lines.collect_schema()["w"].is_integer():
        return lines
    return lines.with_columns(w=whole(WEIGHT).cast(pl.Float64))


def not_finite(name: str, bad: pl.Expr) -> Fault:
    """Return the fault of a feature that is NaN or infinite."""
    return Fault(
        bad,
        f"the feature {name!r} holds NaN or an infinite value: make it null to leave the row out,"
        f' such as `pl.col("{name}").fill_nan(None)`',
    )


def _variance(name: str) -> str:
    return hidden("variance", name)


def _smallest(name: str) -> str:
    return hidden("smallest", name)


def _plain_moments(points: Points) -> pl.LazyFrame:
    sums = {name: pl.col(name).sum() for name in ("n", *points.rows.bad)}
    for name in points.features:
        value = pl.col(FEATURE + name)
        sums |= {MEAN + name: value.mean(), _variance(name): value.var(ddof=0)}
        sums |= {_smallest(name): value.min()}
    lines = points.rows.frame.group_by(points.keys).agg(**sums)
    known = CLUSTER.is_not_null()
    spread = pl.sum_horizontal(
        pl.when(_varies(name)).then(pl.col(_variance(name))).otherwise(0.0)
        for name in points.features
    )
    means = {MEAN + name: pl.when(known).then(_mean(name)) for name in points.features}
    return lines.with_columns(**means, ssw=pl.when(known).then(spread * pl.col("n")))


def _varies(name: str) -> pl.Expr:
    """Return whether a feature has a variance beyond the rounding error of equal values."""
    return pl.col(_variance(name)) > (_ROUNDING * pl.col(MEAN + name)) ** 2


def _mean(name: str) -> pl.Expr:
    """Return the mean of a feature, exact if all values are equal: distances to it are then 0."""
    mean = pl.col(MEAN + name)
    return pl.when(_varies(name) | ~mean.is_finite()).then(mean).otherwise(_smallest(name))


def _weighted_moments(points: Points, plain: pl.LazyFrame) -> pl.LazyFrame:
    """Weigh rows around the plain means, which are close enough that no digits are lost."""
    keys, gaps = points.keys, dict(zip(points.means, points.gaps, strict=True))
    sums = {"w": WEIGHT.sum()}
    for mean, gap in gaps.items():
        sums[hidden("gaps", mean)] = (WEIGHT * gap).sum()
        sums[hidden("squares", mean)] = (WEIGHT * gap * gap).sum()
    centres = plain.select(*keys, *points.means)
    weighed = joined(points.rows.frame, centres, keys, how="left").group_by(keys).agg(**sums)
    first = {mean: pl.col(hidden("gaps", mean)) for mean in points.means}
    shifts = {mean: (gap / WEIGHT).fill_nan(None) for mean, gap in first.items()}
    squares = pl.sum_horizontal(
        (pl.col(hidden("squares", mean)) - first[mean] * shift).clip(0)
        for mean, shift in shifts.items()
    )
    return joined(plain.drop("ssw"), weighed, keys, how="left").with_columns(
        *((pl.col(mean) + shift).alias(mean) for mean, shift in shifts.items()),
        ssw=pl.when(CLUSTER.is_not_null()).then(squares),
    )


def centres_of(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Return the clusters of positive weight, over all groups, for a second pass over the rows."""
    merged = lines.filter(CLUSTER.is_not_null())
    if points.rows.parts:
        merged = _merged(merged, [*points.slices, "cluster"])
    return merged.with_columns(w=points.size).filter(WEIGHT > 0)


def means_of(columns: Sequence[str]) -> list[str]:
    """Name the columns of a table that hold means."""
    return [name for name in columns if name.startswith(MEAN)]


def moment_sums(columns: Sequence[str]) -> Mapping[str, pl.Expr]:
    """Return how lines of one cluster merge: counts add up, means and squares by Chan's formula."""
    means = means_of(columns)
    # In a table without weights, every row has weight 1.
    weight = WEIGHT if "w" in columns else pl.col("n")
    merged = {name: _merged_mean(name, weight) for name in means}
    spread = pl.col("ssw").sum()
    for name, mean in merged.items():
        spread = spread + (weight * (pl.col(name) - mean) ** 2).sum()
    return {"n": pl.col("n").sum(), "w": WEIGHT.sum(), **merged, "ssw": spread}


def _merged_mean(name: str, weight: pl.Expr) -> pl.Expr:
    """Average means around one of them, which keeps the digits of data far from zero."""
    near = pl.col(name).mean()
    known = pl.when(pl.col(name).is_not_null()).then(weight)
    return near + ((weight * (pl.col(name) - near)).sum() / known.sum()).fill_nan(None)


def _merged(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    columns = lines.collect_schema().names()
    sums = {name: sum_ for name, sum_ in moment_sums(columns).items() if name in columns}
    return lines.group_by(keys).agg(**sums)


def merged_clusters(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return one line per slice and cluster: those of the table, or those of all groups merged.

    A line without known rows has weight 0 and no cluster.
    """
    if "group" in table.collect_schema().names() and "group" not in keys:
        table = _merged(table, [*keys, "cluster"])
    there = CLUSTER.is_not_null() & (WEIGHT > 0)
    return table.with_columns(
        cluster=pl.when(there).then(CLUSTER), w=pl.when(there).then(WEIGHT).otherwise(0)
    )


def squared_gap(left: Sequence[str], right: Sequence[str]) -> pl.Expr:
    """Return the squared distance of two means, 0 if they differ only by rounding."""
    parts = []
    for own, other in zip(left, right, strict=True):
        gap = pl.col(own) - pl.col(other)
        scale = pl.max_horizontal(pl.col(own).abs(), pl.col(other).abs())
        parts.append(pl.when(gap.abs() > _ROUNDING * scale).then(gap * gap).otherwise(0.0))
    return pl.sum_horizontal(parts)


def overall_mean(name: str, keys: Sequence[str]) -> pl.Expr:
    """Return the mean of a feature over all clusters of a slice, computed around one of them."""
    near = pl.col(name).mean()
    shift = (WEIGHT * (pl.col(name) - near)).sum() / WEIGHT.filter(pl.col(name).is_not_null()).sum()
    return over(near + shift, keys)


def unit_points(points: Points) -> Points:
    """Return the same points with rows of length one; a row of zeros stays."""
    columns = [pl.col(name) for name in points.columns]
    largest = pl.max_horizontal(column.abs() for column in columns)
    # Scaled by the largest first, so that no square over- or underflows.
    scaled = [pl.when(largest > 0).then(column / largest).otherwise(0.0) for column in columns]
    length = pl.sum_horizontal(part * part for part in scaled).sqrt()
    named = [
        pl.when(length > 0).then(part / length).otherwise(part).alias(name)
        for part, name in zip(scaled, points.columns, strict=True)
    ]
    return points.with_columns(named)


def few_enough(clusters: pl.LazyFrame) -> pl.LazyFrame:
    """Raise, before the rows are numbered, if they are more than Polars can number."""
    message = (
        f"there are more than {MOST:,} rows, which Polars cannot number: pass fewer rows per call,"
        " or install `polars[rt64]`"
    )
    return raise_faults(clusters, [Fault(pl.col("n").sum() > MOST, message)], ["w"])


def with_each(rows: pl.LazyFrame, lines: pl.LazyFrame, slices: Sequence[str]) -> pl.LazyFrame:
    """Join every row with each of the lines of its slice, the rows in their order."""
    if not slices:
        return rows.join(lines, how="cross", maintain_order="left")
    return rows.join(lines, on=list(slices), how="inner", nulls_equal=True, maintain_order="left")


def _count_moments(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count the moments of every cluster: rows, means and squared distances to them.

    The table has the slices, ``group`` if given, ``cluster``, ``n`` rows, and with ``weight`` (a
    frequency) also ``w``. It has ``mean_<feature>`` for every feature and ``ssw``, the sum of
    squared distances to the means. Rows without a cluster or a feature are counted in one row of
    unknown cluster. Tables merge by Chan's formula: stack them and use `measure`.

    Arithmetic is centred: data of unit spread around 100,000,000 keep their digits.

    References
    ----------
    Chan, Golub, LeVeque (1983). Algorithms for Computing the Sample Variance: Analysis and
    Recommendations. The American Statistician 37(3), 242-247.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2], "x": [0.0, 2.0, 5.0], "y": [1, 1, 0]})
    >>> clustering.moments(df, cluster="c", features=["x", "y"]).sort("cluster")
    shape: (2, 5)
    ┌─────────┬─────┬────────┬────────┬─────┐
    │ cluster ┆ n   ┆ mean_x ┆ mean_y ┆ ssw │
    │ ---     ┆ --- ┆ ---    ┆ ---    ┆ --- │
    │ i64     ┆ i64 ┆ f64    ┆ f64    ┆ f64 │
    ╞═════════╪═════╪════════╪════════╪═════╡
    │ 1       ┆ 2   ┆ 1.0    ┆ 1.0    ┆ 2.0 │
    │ 2       ┆ 1   ┆ 5.0    ┆ 0.0    ┆ 0.0 │
    └─────────┴─────┴────────┴────────┴─────┘
    """
    points = points_of(rows, by, group=group, cluster=cluster, features=features, weight=weight)
    return points.table(moments_of(points))


moments = Tally(
    name="clustering.moments",
    count=_count_moments,
    cells=("group", "cluster"),
    sums=moment_sums,
    defaults={"w": pl.col("n")},
)
