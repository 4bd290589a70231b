"""Distances to the nearest centroid, and their ratio between groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import ColumnNotFoundError

from polarsfair._engine.compare import known_as, ratio
from polarsfair._engine.frames import as_lazy, is_lazy
from polarsfair._engine.legacy import (
    BAD,
    fault,
    gather_group,
    group_parts,
    resolve_columns,
    row_key,
    stopping,
    weight_columns,
    weight_fault,
)
from polarsfair._engine.metric import define
from polarsfair._engine.rows import WEIGHTED_SUMS
from polarsfair._engine.slices import summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.points import FEATURE, features_of
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoFrame, IntoGroup

__all__ = ["nearest", "social_fairness_ratio"]

_CENTRE = "c|"
"""Begins the columns that hold a feature of all centroids."""


def _count_nearest(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    features: IntoFeatures | None = None,
    centroids: IntoFrame | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Sum the distances of rows to the nearest centroid, per group.

    ``centroids`` is a frame with a row per centroid and the columns of ``features``; others are
    ignored. The table has the slices, ``group``, ``n`` rows, with ``weight`` also ``w`` and
    ``w2``, and ``distance``, the sum of the Euclidean distances. Rows that lack a feature are left
    out. Tables of the same centroids add up.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", "M"], "x": [0.0, 3.0, 9.0], "y": [0.0, 4.0, 0.0]})
    >>> centres = pl.DataFrame({"x": [0.0, 10.0], "y": [0.0, 0.0]})
    >>> table = fairness.nearest(df, group="sex", features=["x", "y"], centroids=centres)
    >>> table.sort("group")
    shape: (2, 3)
    ┌───────┬─────┬──────────┐
    │ group ┆ n   ┆ distance │
    │ ---   ┆ --- ┆ ---      │
    │ str   ┆ i64 ┆ f64      │
    ╞═══════╪═════╪══════════╡
    │ F     ┆ 1   ┆ 0.0      │
    │ M     ┆ 2   ┆ 6.0      │
    └───────┴─────┴──────────┘
    """
    if centroids is None:
        msg = "`fairness.nearest` needs `centroids=`, a frame with the columns of `features`"
        raise TypeError(msg)
    parts = {f"|{name}": part for name, part in group_parts(rows, group).items()}
    columns = resolve_columns(rows, by, {**parts, "weight": weight})
    weighed = columns.pop("weight", None)
    given, names = features_of(rows, features)
    keys = {name: row_key(column) for name, column in columns.items()}
    weights = weight_columns(weighed) if weighed else {}
    lines = _with_distance(rows.select(**keys, **weights, **given), names, centroids)
    sums = ["n", *(("w", "w2") if weighed else ()), "distance"]
    bad = [*map(_bad, names), "bad_centre|", *([BAD] if weighed else [])]
    faults = [_bad_feature(name) for name in names] + [_BAD_CENTRE]
    faults += [weight_fault(weighed)] if weighed else []
    table = stopping(summed(lines, list(keys), [*sums, *bad]), faults, sums)
    kept = [column.meta.output_name() for column in by] + ["group"] * bool(parts)
    return gather_group(table, list(parts)).select(*kept, *sums)


def _with_distance(rows: pl.LazyFrame, names: Sequence[str], centroids: IntoFrame) -> pl.LazyFrame:
    """Put the distance to the nearest centroid beside every row; unknown rows weigh nothing."""
    line = _one_line(as_lazy(centroids), names)
    # What is in memory is a constant of the query; what is lazy stays lazy.
    line = line if is_lazy(centroids) else line.collect().lazy()
    beside = rows.join(line, how="cross")
    gaps = [pl.col(_CENTRE + name) - pl.col(FEATURE + name) for name in names]
    square = gaps[0] * gaps[0]
    for gap in gaps[1:]:
        square = square + gap * gap
    distance = square.list.min().sqrt()
    known = pl.all_horizontal(pl.col(FEATURE + name).is_not_null() for name in names)
    weights = [name for name in ("w", "w2") if name in rows.collect_schema()]
    weight = pl.col("w") if weights else pl.lit(1)
    return beside.with_columns(
        *(pl.when(known).then(pl.col(name)).otherwise(0).alias(name) for name in weights),
        *((~pl.col(FEATURE + n).is_finite()).cast(pl.Int64).alias(_bad(n)) for n in names),
        n=known.cast(pl.Int64),
        distance=pl.when(known & (weight > 0)).then(weight * distance),
    )


def _one_line(centroids: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Give all centroids as one line: a list per feature."""
    schema = centroids.collect_schema()
    for name in names:
        if name not in schema:
            msg = (
                f"`centroids` lacks the feature {name!r}: it is a frame with a row per centroid and"
                f" the columns of `features`, and has {schema.names()}"
            )
            raise ColumnNotFoundError(msg)
        if not schema[name].is_numeric():
            msg = f"the column {name!r} of `centroids` is {schema[name]}, not a number"
            raise TypeError(msg)
    values = {_CENTRE + name: pl.col(name).cast(pl.Float64) for name in names}
    finite = pl.all_horizontal(
        value.is_finite().fill_null(value=False) for value in values.values()
    )
    return centroids.select(
        *(value.implode().alias(name) for name, value in values.items()),
        (~finite).any().cast(pl.Int64).alias("bad_centre|"),
    )


def _bad(name: str) -> str:
    return f"bad|{name}"


def _bad_feature(name: str) -> pl.Expr:
    return fault(
        pl.col(_bad(name)) > 0,
        f"the feature {name!r} holds NaN or an infinite value: make it null to leave the row out,"
        f' such as `pl.col("{name}").fill_nan(None)`',
    )


_BAD_CENTRE = fault(
    pl.col("bad_centre|") > 0, "`centroids` holds a value that is null, NaN or infinite"
)

nearest = Tally(
    name="fairness.nearest",
    count=_count_nearest,
    cells=("group",),
    sums={**WEIGHTED_SUMS, "distance": pl.col("distance").sum()},
)


@define(
    nearest, "outcome", ("features", "centroids"), of=FairnessMetric, bounds=(0.0, float("inf"))
)
def _mean_distance() -> pl.Expr:
    """Mean distance to the nearest centroid."""
    return quotient(pl.col("distance").sum(), pl.col("w").sum())


@known_as()
def social_fairness_ratio() -> FairnessMetric:
    """Ratio of the groups' mean distances to the nearest centroid.

    Whom do the centroids serve? ``centroids=`` is a frame with a row per centroid and the columns
    of ``features=``; clusters play no part, rows that lack a feature are left out.

    Formula: D_g / D_r, D the mean over rows of the least Euclidean distance to a centroid. With
    ``ref`` every other group over it, the one farthest from 1 by the logarithm; without, the
    smallest over the largest.

    Range 0 to inf; ideal 1; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (everyone of known group) or ``pf.REST`` (everyone else).

    Notes
    -----
    HolisticAI's page shows a mean of ratios; its code computes the ratio of means, as here, with
    the nearest centroid rather than the assigned one and distances that are not squared. NaN in the
    features gives NaN there and is an error here.

    References
    ----------
    Ghadiri, Samadi, Vempala (2021). Socially Fair k-Means Clustering. FAccT 2021.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M"], "x": [1.0, 2.0, 13.0]})
    >>> centres = pl.DataFrame({"x": [0.0, 10.0]})
    >>> roles = {"group": "sex", "features": "x", "centroids": centres}
    >>> df.pipe(fairness.social_fairness_ratio, **roles, ref="M")
    0.5
    """
    return ratio(_mean_distance)
