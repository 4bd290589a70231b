"""Points: rows with a cluster and features, and their moments per cluster.

The row side of every geometric measure. A row that lacks its cluster or a feature belongs to no
cluster: it stays in the table as unknown and counts nowhere.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, schema_of
from polarsfair._engine.legacy import (
    BAD,
    bad_weight_fault,
    fault,
    gather_group,
    group_parts,
    resolve_columns,
    row_key,
    stopping,
    weight_columns,
)
from polarsfair._engine.rows import ONE
from polarsfair._engine.tally import Tally
from polarsfair.clustering._external.contingency import whole, within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoGroup

__all__ = ["moments"]


FEATURE = "x|"
"""Begins the columns that hold features on the row side."""


MEAN = "mean_"
"""Begins the columns that hold the means of features in a table."""


SLICE = "by|"
"""Begins the columns that hold slices, so that none is called like another column of a plan."""


ROW = "|row"
"""Numbers rows; the second pass puts what belongs to one row together by it."""


MOST = 2**32 - 1 if pl.get_index_type() == pl.UInt32 else 2**63 - 1
"""Rows that Polars can number."""


OTHER, OWN, SIZE, APART, SPREAD = "|other", "|own", "|size", "|apart", "|spread"


CLUSTER, WEIGHT = pl.col("cluster"), pl.col("w")


_ROUNDING = 1e-15
"""Relative differences of means up to this are rounding, not distance."""


@dataclass(frozen=True)
class Points:
    """Rows as slices, flat parts of the group, ``cluster``, features, and ``w`` where weighed.

    `keys` are the slices and parts, `features` the names as the caller wrote them.
    """

    rows: pl.LazyFrame
    slices: tuple[str, ...]
    parts: tuple[str, ...]
    features: tuple[str, ...]
    weighted: bool
    faults: tuple[pl.Expr, ...] = ()

    @property
    def keys(self) -> list[str]:
        """The columns that tell the lines of the table apart."""
        return [*self.slices, *self.parts, "cluster"]

    @property
    def columns(self) -> list[str]:
        """The feature columns of the rows."""
        return [FEATURE + name for name in self.features]

    @property
    def known(self) -> pl.LazyFrame:
        """The rows that belong to a cluster."""
        return self.rows.filter(CLUSTER.is_not_null())

    def table(self, lines: pl.LazyFrame) -> pl.LazyFrame:
        """Give flat lines as a table: slices, group, cluster, sums."""
        sums = [n for n in lines.collect_schema().names() if n not in self.keys]
        group = ["group"] if self.parts else []
        gathered = gather_group(lines, self.parts)
        return self.called(gathered.select(*self.slices, *group, "cluster", *sums))

    def called(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Give slices the names that the caller has for them."""
        return frame.rename({name: name.removeprefix(SLICE) for name in self.slices})


def points_of(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None,
    features: IntoFeatures | None,
    group: IntoGroup | None = None,
    weight: IntoColumn | None = None,
    numeric: bool = True,
    keep: Sequence[str] = (),
) -> Points:
    """Resolve the roles of a geometric measure against the frame.

    The rows keep the columns named by `keep`.
    """
    parts = {f"|{name}": part for name, part in group_parts(rows, group).items()}
    slices = {SLICE + column.meta.output_name(): column for column in by}
    named_by = [column.alias(name) for name, column in slices.items()]
    columns = resolve_columns(rows, named_by, {**parts, "cluster": cluster, "weight": weight})
    weighed = columns.pop("weight", None)
    given, names = features_of(rows, features, numeric=numeric)
    _check_slices([column.meta.output_name() for column in by])
    placed = {name: row_key(column) for name, column in columns.items()}
    weights = {k: v for k, v in weight_columns(weighed).items() if k != "w2"} if weighed else {}
    named = rows.select(*keep, **placed, **weights, **given)
    known = pl.all_horizontal(pl.col(FEATURE + name).is_not_null() for name in names)
    return Points(
        named.with_columns(pl.when(known).then(CLUSTER).alias("cluster")),
        tuple(slices),
        tuple(parts),
        tuple(names),
        weighed is not None,
        (bad_weight_fault(weighed),) if weighed else (),
    )


def features_of(
    rows: pl.LazyFrame, features: IntoFeatures | None, *, numeric: bool = True
) -> tuple[dict[str, pl.Expr], list[str]]:
    """Give the feature columns of the row side, and the names of the features."""
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
    """Give a feature, or every column of an expression that is several, such as a selector."""
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
    """Give a feature as floats: small integers wrap when squared, small floats lose digits."""
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
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
                f"a slice may not be called {name!r}, which looks like the mean of a feature:"
                f' rename it, `by=pl.col("{name}").alias("{name.removeprefix(MEAN)}")`'
            )
            raise ValueError(msg)


def content_hash(columns: Sequence[str], seed: int, *others: pl.Expr) -> pl.Expr:
    """Give a hash of what is in a row, which neither its place nor its file changes.

    `columns` are features, `others` what else tells rows apart.
    """
    check_seed(seed)
    # Adding zero makes the two zeros of floats one.
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
    if points.weighted:
        lines = _weighted_moments(points, lines)
    values = [MEAN + name for name in points.features]
    sums = ["n", *(["w"] if points.weighted else []), *values, "ssw"]
    faults = [*points.faults, *map(_not_finite, points.features)]
    return stopping(lines, faults, sums).select(*points.keys, *sums)


def _plain_moments(points: Points) -> pl.LazyFrame:
    sums = {name: pl.col(name).sum() for name in ("n", *([BAD] if points.weighted else []))}
    for name in points.features:
        value = pl.col(FEATURE + name)
        sums |= {MEAN + name: value.mean(), f"var|{name}": value.var(ddof=0)}
        sums |= {f"least|{name}": value.min()}
    rows = points.rows.with_columns(ONE.alias("n"))
    lines = rows.group_by(points.keys).agg(**sums)
    known = CLUSTER.is_not_null()
    spread = pl.sum_horizontal(
        pl.when(_varies(name)).then(pl.col(f"var|{name}")).otherwise(0.0)
        for name in points.features
    )
    means = {MEAN + name: pl.when(known).then(_mean(name)) for name in points.features}
    return lines.with_columns(**means, ssw=pl.when(known).then(spread * pl.col("n")))


def _varies(name: str) -> pl.Expr:
    """Say whether a feature has a variance; what rounding makes of equal values is none."""
    return pl.col(f"var|{name}") > (_ROUNDING * pl.col(MEAN + name)) ** 2


def _mean(name: str) -> pl.Expr:
    """Give the mean of a feature, of equal values exactly: rows then lie at distance 0 from it."""
    mean = pl.col(MEAN + name)
    return pl.when(_varies(name) | ~mean.is_finite()).then(mean).otherwise(f"least|{name}")


def _weighted_moments(points: Points, plain: pl.LazyFrame) -> pl.LazyFrame:
    """Weigh rows around the plain means, which are near enough that no digits are lost."""
    keys, features = points.keys, points.features
    centres = plain.select(*keys, *(MEAN + name for name in features))
    gaps = {name: pl.col(FEATURE + name) - pl.col(MEAN + name) for name in features}
    beside = points.rows.join(centres, on=keys, how="left", nulls_equal=True)
    sums = {"w": WEIGHT.sum()}
    for name, gap in gaps.items():
        sums |= {f"d|{name}": (WEIGHT * gap).sum(), f"q|{name}": (WEIGHT * gap * gap).sum()}
    weighed = beside.group_by(keys).agg(**sums)
    lines = plain.drop("ssw").join(weighed, on=keys, how="left", nulls_equal=True)
    shifts = {name: (pl.col(f"d|{name}") / WEIGHT).fill_nan(None) for name in features}
    known, there = (
        CLUSTER.is_not_null(),
        pl.sum_horizontal(
            (pl.col(f"q|{name}") - pl.col(f"d|{name}") * shift).clip(0)
            for name, shift in shifts.items()
        ),
    )
    return lines.with_columns(
        *((pl.col(MEAN + name) + shift).alias(MEAN + name) for name, shift in shifts.items()),
        ssw=pl.when(known).then(there),
    )


def _not_finite(name: str) -> pl.Expr:
    """Stop where a feature is NaN or infinite: its mean is then not finite either."""
    return fault(
        ~pl.col(MEAN + name).is_finite().fill_null(value=True),
        f"the feature {name!r} holds NaN or an infinite value: make it null to leave the row out,"
        f' such as `pl.col("{name}").fill_nan(None)`',
    )


def centres_of(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Give the clusters that weigh anything, over all groups: what the second pass looks at."""
    columns = lines.collect_schema().names()
    keys = [*points.slices, "cluster"]
    merged = lines.filter(CLUSTER.is_not_null())
    if points.parts:
        sums = {k: v for k, v in moment_sums(columns).items() if k in columns}
        merged = merged.group_by(keys).agg(**sums)
    weighed = merged if "w" in columns else merged.with_columns(w=pl.col("n"))
    return weighed.filter(WEIGHT > 0)


def means_of(columns: Sequence[str]) -> list[str]:
    """Name the columns of a table that hold means."""
    return [name for name in columns if name.startswith(MEAN)]


def moment_sums(columns: Sequence[str]) -> Mapping[str, pl.Expr]:
    """Give how lines of one cluster merge: counts add, means and spreads by Chan's formula."""
    means = means_of(columns)
    # A table without weights weighs every row one.
    weight = WEIGHT if "w" in columns else pl.col("n")
    merged = {name: _merged_mean(name, weight) for name in means}
    apart = [(weight * (pl.col(name) - mean) ** 2).sum() for name, mean in merged.items()]
    spread = pl.col("ssw").sum()
    for part in apart:
        spread = spread + part
    return {"n": pl.col("n").sum(), "w": WEIGHT.sum(), **merged, "ssw": spread}


def _merged_mean(name: str, weight: pl.Expr) -> pl.Expr:
    """Average means around one of them, which keeps the digits of data far from zero."""
    near = pl.col(name).mean()
    known = pl.when(pl.col(name).is_not_null()).then(weight)
    return near + ((weight * (pl.col(name) - near)).sum() / known.sum()).fill_nan(None)


def merged_clusters(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Give one line per slice and cluster: the table's own, or those of all groups merged.

    A line of no known row has weight 0 and no cluster.
    """
    columns = table.collect_schema().names()
    if "group" in columns and "group" not in keys:
        sums = {k: v for k, v in moment_sums(columns).items() if k in columns}
        table = table.group_by(*keys, "cluster").agg(**sums)
    there = CLUSTER.is_not_null() & (WEIGHT > 0)
    return table.with_columns(
        cluster=pl.when(there).then(CLUSTER), w=pl.when(there).then(WEIGHT).otherwise(0)
    )


def squared_gap(left: Sequence[str], right: Sequence[str]) -> pl.Expr:
    """Give the squared distance of two means; what rounding makes of equal ones is none."""
    parts = []
    for one, other in zip(left, right, strict=True):
        gap, scale = (
            pl.col(one) - pl.col(other),
            pl.max_horizontal(pl.col(one).abs(), pl.col(other).abs()),
        )
        parts.append(pl.when(gap.abs() > _ROUNDING * scale).then(gap * gap).otherwise(0.0))
    return pl.sum_horizontal(parts)


def few_enough(clusters: pl.LazyFrame) -> pl.LazyFrame:
    """Stop, before the rows are numbered, where they are more than Polars can number."""
    message = (
        f"there are more than {MOST:,} rows, and Polars can number no more: ask of fewer rows a"
        " call, or install `polars[rt64]`"
    )
    return stopping(clusters, [fault(pl.col("n").sum() > MOST, message)], ["w"])


def unit_points(points: Points) -> Points:
    """Give the same points with rows of length one; a row of zeros stays."""
    columns = [pl.col(name) for name in points.columns]
    largest = pl.max_horizontal(column.abs() for column in columns)
    # Scaled by the largest first, so that no square over- or underflows.
    scaled = [pl.when(largest > 0).then(column / largest).otherwise(0.0) for column in columns]
    length = pl.sum_horizontal(part * part for part in scaled).sqrt()
    named = [
        pl.when(length > 0).then(part / length).otherwise(part).alias(name)
        for part, name in zip(scaled, points.columns, strict=True)
    ]
    return replace(points, rows=points.rows.with_columns(named))


def overall_mean(name: str, keys: Sequence[str]) -> pl.Expr:
    """Give the mean of a feature over all clusters of a slice, around one of their means."""
    near = pl.col(name).mean()
    shift = (WEIGHT * (pl.col(name) - near)).sum() / WEIGHT.filter(pl.col(name).is_not_null()).sum()
    return within(near + shift, keys)


def beside(rows: pl.LazyFrame, sides: pl.LazyFrame, slices: Sequence[str]) -> pl.LazyFrame:
    """Join every row with all lines of its slice, the rows in their order."""
    if not slices:
        return rows.join(sides, how="cross", maintain_order="left")
    return rows.join(sides, on=list(slices), how="inner", nulls_equal=True, maintain_order="left")


def counted_frequencies(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    """Stop where a weight is no whole number: rows are counted one by one here."""
    if not points.weighted or lines.collect_schema()["w"].is_integer():
        return lines
    return lines.with_columns(w=whole(WEIGHT).cast(pl.Float64))


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

    The table has the slices, ``group`` where given, ``cluster``, ``n`` rows, with ``weight`` (a
    frequency) also ``w``, ``mean_<feature>`` for every feature, and ``ssw``, the sum of squared
    distances to the means. Rows without a cluster or a feature are one line of unknown cluster.
    Tables add up by Chan's formula: stack them and use `measure`.

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
