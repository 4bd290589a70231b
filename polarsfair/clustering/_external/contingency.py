"""The contingency table of clusters and labels, and the views that external measures share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.faults import Fault, checked
from polarsfair._engine.reference import comparable, equals
from polarsfair._engine.rows import WEIGHTED_SUMS, count_cells, key
from polarsfair._engine.slices import aggregated, over, summed
from polarsfair._engine.tally import Drawn, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._engine.metric import Metric
    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = ["contingency"]


def _count_contingency(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    cluster: IntoColumn | None = None,
    label: IntoColumn | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count rows per cluster and label: the contingency table of a clustering.

    The table has the slices, ``group``, ``cluster`` and ``label`` of any plain dtype (only the
    roles that were given; null if unknown), ``n`` rows, and with ``weight``, a frequency, also
    ``w`` and ``w2``. Tables merge: stack them and use `measure`.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "b", "b", "b"]})
    >>> clustering.contingency(df, cluster="c", label="y").sort("cluster", "label")
    shape: (3, 3)
    ┌─────────┬───────┬─────┐
    │ cluster ┆ label ┆ n   │
    │ ---     ┆ ---   ┆ --- │
    │ i64     ┆ str   ┆ i64 │
    ╞═════════╪═══════╪═════╡
    │ 1       ┆ a     ┆ 1   │
    │ 1       ┆ b     ┆ 1   │
    │ 2       ┆ b     ┆ 2   │
    └─────────┴───────┴─────┘
    """
    cells = {"cluster": key(cluster), "label": key(label)}
    return count_cells(rows, by, group=group, cells=cells, weight=weight)


contingency = Tally(
    name="clustering.contingency",
    count=_count_contingency,
    cells=("group", "cluster", "label"),
    sums=WEIGHTED_SUMS,
    drawn=Drawn(whole=True),
)

TIMES, SHARED = pl.col("times"), pl.col("w")
OF_CLUSTER, OF_LABEL, TOTAL = pl.col("of_cluster"), pl.col("of_label"), pl.col("total")

_FRACTION = (
    "`weight` holds a fraction, but rows are counted one by one here (pairs of rows, rows of noise,"
    " agreement by chance): pass frequencies, which are whole numbers"
)

_TOO_MANY = (
    "the sum of `weight` does not fit in 64 bits, but rows are counted one by one here (pairs of"
    " rows, rows of noise, agreement by chance): pass frequencies, which are numbers of rows"
)


def whole(number: pl.Expr, total: pl.Expr | None = None) -> pl.Expr:
    """Return a frequency as an exact integer, or raise if it is a fraction or too large.

    `total` is the frequency of all rows, whose square must fit in 128 bits.
    """
    large = Fault((number if total is None else total) >= 2.0**63, _TOO_MANY)
    # Without `strict`, because the cast would fail in words of Polars before the faults are raised.
    exact = number.cast(pl.Int128, strict=False)
    return checked(exact, Fault(number != number.floor(), _FRACTION), large)


def known_cells(
    table: pl.LazyFrame, keys: Sequence[str], names: Sequence[str], noise: object
) -> pl.LazyFrame:
    """Merge cells; those that are unknown or of weight 0 become one line of weight 0 per slice.

    That line keeps the slice in the result, as null. Sums are Int128, or Float64 if weights are
    floats. `times` is the number of clusters that a line represents. It is one, but for noise it is
    the number of rows, each a cluster of weight 1.
    """
    schema = table.collect_schema()
    exact = pl.Int128() if schema["w"].is_integer() else pl.Float64()
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in names) & (SHARED > 0)
    there = [pl.when(known).then(pl.col(name)).alias(name) for name in names]
    weight = pl.when(known).then(SHARED).otherwise(0).cast(exact)
    # If the table has groups, several lines are one cell.
    merged = summed(table.select(*keys, *there, w=weight), [*keys, *names], ["w"])
    one = (SHARED > 0).cast(exact)
    if noise is None:
        return merged.with_columns(times=one, alone=pl.lit(value=False))
    alone = equals(pl.col("cluster"), schema["cluster"], noise).fill_null(value=False)
    merged = merged.with_columns(alone=alone)
    times = pl.when("alone").then(SHARED).otherwise(one)
    # A fault inside a branch would also apply to the lines of the other branch, which are null.
    times = times if exact.is_integer() else whole(times).cast(exact)
    return merged.with_columns(times=times, w=pl.when("alone").then(one).otherwise(SHARED))


def cells(table: pl.LazyFrame, keys: Sequence[str], noise: object) -> pl.LazyFrame:
    """Return every known cell with the sizes of its cluster, of its label, and of the slice."""
    rows = TIMES * SHARED
    of_cluster = pl.when("alone").then(SHARED).otherwise(SHARED.sum().over(*keys, "cluster"))
    return known_cells(table, keys, ("cluster", "label"), noise).with_columns(
        of_cluster=of_cluster,
        of_label=rows.sum().over(*keys, "label"),
        total=over(rows.sum(), keys),
    )


def overlap(table: pl.LazyFrame, keys: Sequence[str], *, noise: object = None) -> pl.LazyFrame:
    """View one line per slice: the entropies and the mutual information of clusters and labels."""
    return aggregated(with_terms(cells(table, keys, noise)), keys, information_sums())


def with_terms(lines: pl.LazyFrame) -> pl.LazyFrame:
    """Add to every cell its terms of the sums of `information_sums`."""
    product = OF_CLUSTER * OF_LABEL
    lift = (TOTAL * SHARED - product).cast(pl.Float64) / product.cast(pl.Float64)
    return lines.with_columns(
        h_cluster=_weighed_log(TOTAL, OF_CLUSTER),
        h_label=_weighed_log(TOTAL, OF_LABEL),
        h_joint=_weighed_log(TOTAL, SHARED),
        h_label_given=_weighed_log(OF_CLUSTER, SHARED),
        h_cluster_given=_weighed_log(OF_LABEL, SHARED),
        expected=TIMES * product,
        excess=pl.when(TIMES > 0).then((TIMES * product).cast(pl.Float64) * _phi(lift)),
    )


def information_sums() -> dict[str, pl.Expr]:
    """Return the aggregations that make a line of `overlap`."""
    names = ("h_cluster", "h_label", "h_joint", "h_label_given", "h_cluster_given")
    size = (TIMES * SHARED).sum()
    return {
        "n": size,
        "same": _coincide(),
        "one_side_alone": (OF_CLUSTER.max() == 1) | (OF_LABEL.max() == 1),
        **{name: pl.col(name).sum() / size for name in names},
        "information": _information(size),
    }


def pairs(table: pl.LazyFrame, keys: Sequence[str], *, noise: object = None) -> pl.LazyFrame:
    """View one line per slice: how many pairs of rows share cluster and label, exactly."""
    lines = cells(table, keys, noise)
    columns = ("times", "w", "of_cluster", "of_label")
    if not lines.collect_schema()["w"].is_integer():
        lines = lines.with_columns(whole(pl.col(name), TOTAL).alias(name) for name in columns)
    rows = TIMES * SHARED
    # The squares of the cells, of the clusters and of the labels, each summed over cells.
    shared, clusters, labels = ((rows * other).sum() for other in (SHARED, OF_CLUSTER, OF_LABEL))
    size = rows.sum()
    values = {
        "n": size,
        "same": _coincide(),
        "tp": (shared - size) // 2,
        "fp": (clusters - shared) // 2,
        "fn": (labels - shared) // 2,
        "tn": (size * size - clusters - labels + shared) // 2,
    }
    return aggregated(lines, keys, values)


def _coincide() -> pl.Expr:
    """Return whether clusters and labels are the same partition under other names."""
    return ((TIMES == 0) | ((SHARED == OF_CLUSTER) & (SHARED == OF_LABEL))).all()


def _weighed_log(whole_of: pl.Expr, part: pl.Expr) -> pl.Expr:
    """Return rows times log(whole / part), which is never negative; null if there are no rows."""
    rows = (TIMES * SHARED).cast(pl.Float64)
    ratio = whole_of.cast(pl.Float64) / part.cast(pl.Float64)
    return pl.when(TIMES > 0).then(rows * ratio.log())


def _phi(lift: pl.Expr) -> pl.Expr:
    """Return (1 + x) log(1 + x) - x, by its series if the two parts would cancel."""
    series = pl.lit(0.0)
    for power in range(8, 1, -1):
        series = series * lift + (-1) ** power / (power * (power - 1))
    return (
        pl.when(lift.abs() < 0.01)
        .then(series * lift * lift)
        .otherwise((1 + lift) * lift.log1p() - lift)
    )


def _information(size: pl.Expr) -> pl.Expr:
    """Return the mutual information in nats as a sum of terms that are not negative.

    Let p be the share of a cell, q the product of its margins and x = p/q - 1. The value is the sum
    of q phi(x) over cells with rows, plus the sum of q over cells without. Differences of entropies
    would lose all digits near independence.
    """
    square = (size * size).cast(pl.Float64)
    empty = (size * size - pl.col("expected").sum()).cast(pl.Float64)
    return (pl.col("excess").sum() + empty.clip(0)) / square


def check_noise(metric: Metric, schema: pl.Schema) -> None:
    """Raise if the label of noise cannot be a value of the cluster column."""
    noise = metric.options.get("noise")
    if noise is not None and "cluster" in schema and not comparable(noise, schema["cluster"]):
        msg = (
            f"`noise={noise!r}` is {type(noise).__name__}, but the cluster column is"
            f" {schema['cluster']}: pass one of the values of that column"
        )
        raise TypeError(msg)
