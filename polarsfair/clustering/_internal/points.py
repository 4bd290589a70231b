"""Points: rows with a cluster and features, and the moments of every cluster.

Every internal measure starts here. A row that lacks its cluster or a feature belongs to no
cluster: the table counts it on a line of unknown cluster, which no measure reads.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import (
    as_column,
    check_columns,
    exactly,
    feature_shown,
    field_of,
    is_number,
    opened_feature,
    schema_of,
)
from polarsfair._engine.faults import Fault, raise_faults
from polarsfair._engine.metric import define
from polarsfair._engine.rows import ONE, Rows, key
from polarsfair._engine.slices import MARK, hidden, joined, over
from polarsfair._engine.tally import Tally
from polarsfair.clustering._external.contingency import whole
from polarsfair.clustering._internal.digits import (
    COARSE,
    LOW,
    MEAN,
    TINY,
    VANISHED,
    centred,
    close_together,
    coarse,
    feature_sums,
    low_of,
    mean_and_low,
    means_of,
    square,
    two_floats,
    variance,
    varies,
)
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoGroup

__all__ = ["moments"]

FEATURE = hidden("feature ")
"""Begins the columns that hold features on the row side."""

ROW = hidden("row")
"""Numbers rows, so that a second pass can collect what belongs to one row."""

OTHER, OWN, SIZE = hidden("other"), hidden("own"), hidden("size")
DISTANCE, SPREAD = hidden("distance"), hidden("spread")

MOST = 2**32 - 1 if pl.get_index_type() == pl.UInt32 else 2**63 - 1
"""The largest number of rows that Polars can number."""

CLUSTER, WEIGHT = pl.col("cluster"), pl.col("w")

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
    computed
        Whether features were computed, so that equal ones may differ by rounding.
    """

    rows: Rows
    features: tuple[str, ...]
    kept: tuple[str, ...] = ()
    computed: bool = False

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
    def lows(self) -> list[str]:
        """The columns of the table that hold the low digits of the means."""
        return [LOW + name for name in self.features]

    @property
    def gaps(self) -> list[pl.Expr]:
        """The features of a row minus the means of the cluster that it is joined with."""
        both = zip(self.columns, self.means, self.lows, strict=True)
        return [pl.col(x) - pl.col(mean) - pl.col(low) for x, mean, low in both]

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
    named = {FEATURE + column.meta.output_name(): column for column in columns}
    _check_features([column.meta.output_name() for column in columns])
    schema = schema_of(rows, named)
    given: list[tuple[str, pl.Expr]] = []
    for feature, column in named.items():
        name, dtype = feature.removeprefix(FEATURE), schema[feature]
        if numeric:
            _check_number(name, dtype)
        given += opened_feature(name, column, dtype).items()
    names = [name for name, _ in given]
    _check_features(names)
    # Small integers wrap when squared, small floats lose digits.
    return {
        FEATURE + name: column.cast(pl.Float64) if numeric else column for name, column in given
    }, names


def _single(rows: pl.LazyFrame, feature: str | pl.Expr) -> list[pl.Expr]:
    """List one feature, or every column of an expression of several, such as a selector."""
    column = feature if isinstance(feature, pl.Expr) else as_column(feature, "features")
    check_columns(rows, {"features": [column]})
    if isinstance(feature, str) or not column.meta.has_multiple_outputs():
        return [column]
    names = rows.select(column).collect_schema().names()
    if column.meta.is_column_selection():
        return [exactly(name) for name in names]
    # The same expression of several columns, one at a time.
    return [field_of(pl.struct(column), names, name).alias(name) for name in names]


def _check_features(names: Sequence[str]) -> None:
    if not names:
        msg = '`features` is empty: name at least one column, such as `features=["x", "y"]`'
        raise ValueError(msg)
    for name in names:
        if list(names).count(name) > 1:
            msg = f'two features are called {name!r}: rename one with `.alias("...")`'
            raise ValueError(msg)


def _check_number(name: str, dtype: pl.DataType) -> None:
    """Raise if a feature holds neither numbers nor lists of them."""
    inner: Any = dtype.inner if isinstance(dtype, (pl.Array, pl.List)) else dtype
    if is_number(inner) or inner.is_nested():
        return
    msg = (
        f"the feature {name!r} is {dtype}, not a number: leave it out, or"
        " turn it into numbers with an expression; `silhouette` and `beta_cv` compare categories"
        ' with `metric="hamming"`'
    )
    raise TypeError(msg)


def _check_slices(names: Sequence[str]) -> None:
    for name in names:
        if name.startswith((MEAN, LOW)):
            plain = name.removeprefix(MEAN).removeprefix(LOW)
            msg = (
                f"a slice cannot be named {name!r}, because means of features are named like that:"
                f' rename it, `by=pl.col("{name}").alias("{plain}")`'
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
    sums = ["n", *points.weights, *points.means, *points.lows, "ssw"]
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
    number = f'pl.col("{name}").fill_nan(None)'
    if name.startswith(MARK):
        array = name.removeprefix(MARK).rpartition(" ")[0]
        number = f'pl.col("{array}").arr.eval(pl.element().fill_nan(None))'
    return Fault(
        bad,
        f"the feature {feature_shown(name)} holds NaN or an infinite value: make it null to leave"
        f" the row out, such as `{number}`",
    )


def _plain_moments(points: Points) -> pl.LazyFrame:
    sums = {name: pl.col(name).sum() for name in ("n", *points.rows.bad)}
    for name in points.features:
        sums |= feature_sums(name, FEATURE + name)
    lines = points.rows.frame.group_by(points.keys).agg(**sums)
    known = CLUSTER.is_not_null()
    values: dict[str, pl.Expr] = {}
    for name in points.features:
        mean, low = mean_and_low(name, computed=points.computed)
        values |= {MEAN + name: mean, LOW + name: low}
    spread = pl.sum_horizontal(variance(x, computed=points.computed) for x in points.features)
    values["ssw"] = spread * pl.col("n")
    return lines.with_columns(**{name: pl.when(known).then(v) for name, v in values.items()})


def _weighted_moments(points: Points, plain: pl.LazyFrame) -> pl.LazyFrame:
    """Weigh rows around the plain means, which are close enough that no digits are lost."""
    keys, gaps = points.keys, dict(zip(points.features, points.gaps, strict=True))
    sums = {"w": WEIGHT.sum()}
    for name, gap in gaps.items():
        sums[hidden("gaps", name)] = (WEIGHT * gap).sum()
        sums[hidden("squares", name)] = (WEIGHT * gap * gap).sum()
    centres = plain.select(*keys, *points.means, *points.lows)
    weighed = joined(points.rows.frame, centres, keys, how="left").group_by(keys).agg(**sums)
    values: dict[str, pl.Expr] = {}
    squares = []
    for name in points.features:
        first = pl.col(hidden("gaps", name))
        # Null without weight; NaN stays, as it is the error of a feature that is not finite.
        shift = pl.when(WEIGHT > 0).then(first / WEIGHT)
        mean = two_floats(pl.col(MEAN + name), pl.col(LOW + name) + shift)
        values |= {MEAN + name: mean[0], LOW + name: mean[1]}
        left = (pl.col(hidden("squares", name)) - first * shift).clip(0)
        vanished = varies(name, computed=points.computed) & close_together(name)
        squares.append(pl.when(vanished).then(pl.max_horizontal(left, TINY)).otherwise(left))
    values["ssw"] = pl.when(CLUSTER.is_not_null()).then(pl.sum_horizontal(squares))
    return joined(plain.drop("ssw"), weighed, keys, how="left").with_columns(**values)


def centres_of(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Return the clusters of positive weight, over all groups, for a second pass over the rows."""
    merged = lines.filter(CLUSTER.is_not_null())
    if points.rows.parts:
        merged = _merged(merged, [*points.slices, "cluster"])
    return merged.with_columns(w=points.size).filter(WEIGHT > 0)


def moment_sums(columns: Sequence[str]) -> Mapping[str, pl.Expr]:
    """Return how lines of one cluster merge: counts add up, means and squares by Chan's formula."""
    # In a table without weights, every row has weight 1.
    weight = WEIGHT if "w" in columns else pl.col("n")
    merged, spread = {}, pl.col("ssw").sum()
    for name in means_of(columns):
        # Averaged around one of them, which keeps the digits of data far from zero.
        near = pl.col(name).mean()
        gap, known = centred(name, near, columns), pl.when(pl.col(name).is_not_null()).then(weight)
        shift = ((weight * gap).sum() / known.sum()).fill_nan(None)
        merged[name], low = two_floats(near, shift)
        merged |= {low_of(name): low} if low_of(name) in columns else {}
        spread = spread + (weight * square(gap - shift)).sum()
    return {"n": pl.col("n").sum(), "w": WEIGHT.sum(), **merged, "ssw": spread}


def _merged(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    columns = lines.collect_schema().names()
    sums = {name: sum_ for name, sum_ in moment_sums(columns).items() if name in columns}
    return lines.group_by(keys).agg(**sums)


def merged_clusters(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return one line per slice and cluster: those of the table, or those of all groups merged.

    A line without known rows has weight 0 and no cluster. A sum of squares that overflows is NaN.
    """
    if "group" in table.collect_schema().names() and "group" not in keys:
        table = _merged(table, [*keys, "cluster"])
    there = CLUSTER.is_not_null() & (WEIGHT > 0)
    lines = table.with_columns(
        cluster=pl.when(there).then(CLUSTER), w=pl.when(there).then(WEIGHT).otherwise(0)
    )
    return with_coarse(lines, keys)


def with_coarse(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Add whether slices are too far from zero for equal rows to be known as equal.

    If all clusters of such a slice are points, their spread is lost: it is NaN. So is a spread that
    overflows, and every spread of a slice in which all squares vanish.
    """
    ssw, columns = pl.col("ssw"), lines.collect_schema().names()
    finite = lines.with_columns(ssw=pl.when(ssw.is_infinite()).then(float("nan")).otherwise(ssw))
    marked = finite.with_columns(coarse(means_of(columns), (ssw / WEIGHT).sqrt(), keys))
    lost = pl.col(COARSE) & over((ssw.fill_nan(1.0).fill_null(0.0) == 0).all(), keys)
    between = pl.sum_horizontal(0.0, *map(square, from_overall_means(columns, keys)))
    total = over((ssw + WEIGHT * between).sum(), keys)
    vanished = (total > 0) & (total < VANISHED)
    return marked.with_columns(ssw=pl.when(lost | vanished).then(float("nan")).otherwise(ssw))


def overall_means(columns: Sequence[str], keys: Sequence[str]) -> dict[str, pl.Expr]:
    """Return the means of the features over all clusters of a slice, each as two floats."""
    found: dict[str, pl.Expr] = {}
    for name in means_of(columns):
        near, shift = _overall(name, columns)
        mean, low = two_floats(near, shift)
        found |= {name: over(mean, keys), low_of(name): over(low, keys)}
    return found


def from_overall_means(columns: Sequence[str], keys: Sequence[str]) -> list[pl.Expr]:
    """Return the mean of a cluster minus the mean of all, for every feature."""
    parts = {name: _overall(name, columns) for name in means_of(columns)}
    return [
        centred(name, over(near, keys), columns) - over(shift, keys)
        for name, (near, shift) in parts.items()
    ]


def _overall(name: str, columns: Sequence[str]) -> tuple[pl.Expr, pl.Expr]:
    """Return a float close to the mean of a feature over all clusters, and the rest of it."""
    near = pl.col(name).mean()
    known = WEIGHT.filter(pl.col(name).is_not_null()).sum()
    return near, (WEIGHT * centred(name, near, columns)).sum() / known


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
    return replace(points.with_columns(named), computed=True)


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
    frequency) also ``w``. It has ``mean_<feature>`` and ``low_<feature>`` for every feature: the
    mean, and what it has beyond the digits of one float. ``ssw`` is the sum of squared distances to
    the means. Rows without a cluster or a feature are counted in one row of unknown cluster. Tables
    merge by Chan's formula: stack them and use `measure`.

    Arithmetic is centred: data of unit spread around 10^12 keep the digits that their floats have.
    If the squares overflow, ``ssw`` is NaN, and measures that read it are undefined. They are also
    undefined if the squares vanish. If a slice is so far from zero that different values may have
    been rounded to equal ones, a measure is undefined instead of 0, 1 or infinite. This is a range
    below 1,000 neighbouring floats, or below 1,000,000 beyond 2^53.

    References
    ----------
    Chan, Golub, LeVeque (1983). Algorithms for Computing the Sample Variance: Analysis and
    Recommendations. The American Statistician 37(3), 242-247.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2], "x": [0.0, 2.0, 5.0], "y": [1, 1, 0]})
    >>> table = clustering.moments(df, cluster="c", features=["x", "y"]).sort("cluster")
    >>> table.select("cluster", "n", "mean_x", "mean_y", "ssw")
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
