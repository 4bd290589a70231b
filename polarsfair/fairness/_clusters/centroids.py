"""Distances to the nearest centroid, and their ratio between groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import ColumnNotFoundError

from polarsfair._engine.columns import exactly, feature_shown, opened_feature
from polarsfair._engine.compare import known_as, ratio
from polarsfair._engine.faults import counted
from polarsfair._engine.frames import as_lazy, is_lazy
from polarsfair._engine.metric import define
from polarsfair._engine.rows import WEIGHTED_SUMS, Rows
from polarsfair._engine.slices import hidden
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.points import features_of, not_finite
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoFrame, IntoGroup

__all__ = ["nearest", "social_fairness_ratio"]

_BAD_CENTROIDS = hidden("bad centroids")


def _count_nearest(
    frame: pl.LazyFrame,
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
    out. Tables of the same centroids can be merged.

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
    columns, names = features_of(frame, features)
    rows = Rows.of(frame, by, group=group, weight=weight, more=columns)
    lines = _with_distance(rows, dict(zip(names, columns, strict=True)), centroids)
    faults = [not_finite(name, pl.col(_bad(name)) > 0) for name in names]
    message = "`centroids` holds a value that is null, NaN or infinite"
    faults.append(counted(_BAD_CENTROIDS, message))
    bad = [*map(_bad, names), _BAD_CENTROIDS]
    return rows.count(lines, sums=["distance"], faults=faults, bad=bad)


def _with_distance(rows: Rows, features: Mapping[str, str], centroids: IntoFrame) -> pl.LazyFrame:
    """Add the distance to the nearest centroid; rows that lack a feature count as 0.

    `features` maps names to columns of the rows.
    """
    line = _one_line(as_lazy(centroids), list(features))
    # Eager centroids become a constant of the query; lazy ones stay lazy.
    line = line if is_lazy(centroids) else line.collect().lazy()
    gaps = [pl.col(_centroid(name)) - pl.col(column) for name, column in features.items()]
    square = gaps[0] * gaps[0]
    for gap in gaps[1:]:
        square = square + gap * gap
    known = pl.all_horizontal(pl.col(column).is_not_null() for column in features.values())
    weight = pl.col("w" if rows.weighted else "n")
    return rows.frame.join(line, how="cross").with_columns(
        *(pl.when(known).then(name).otherwise(0).alias(name) for name in rows.sums),
        *((~pl.col(c).is_finite()).cast(pl.Int64).alias(_bad(n)) for n, c in features.items()),
        distance=pl.when(known & (weight > 0)).then(weight * square.list.min().sqrt()),
    )


def _one_line(centroids: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Return all centroids as one line: a list per feature."""
    centroids = _with_members(centroids, names)
    schema = centroids.collect_schema()
    for name in names:
        if name not in schema:
            msg = (
                f"`centroids` lacks the feature {feature_shown(name)}: it is a frame with a row per"
                f" centroid and the columns of `features`, and has {schema.names()}"
            )
            raise ColumnNotFoundError(msg)
        if not schema[name].is_numeric():
            msg = f"the column {name!r} of `centroids` is {schema[name]}, not a number"
            raise TypeError(msg)
    values = {_centroid(name): pl.col(name).cast(pl.Float64) for name in names}
    finite = pl.all_horizontal(
        value.is_finite().fill_null(value=False) for value in values.values()
    )
    return centroids.select(
        *(value.implode().alias(name) for name, value in values.items()),
        (~finite).any().cast(pl.Int64).alias(_BAD_CENTROIDS),
    )


def _with_members(centroids: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Add the members of arrays that are features, each as a column."""
    added: dict[str, pl.Expr] = {}
    for array, dtype in centroids.collect_schema().items():
        members = (
            opened_feature(array, exactly(array), dtype) if dtype.base_type() == pl.Array else {}
        )
        if any(name in names for name in members):
            if not set(members) <= set(names):
                width = sum(name in names for name in members)
                msg = (
                    f"`centroids` has {array!r} as {dtype}, and the rows have arrays of width"
                    f" {width}: pass centroids of the same features"
                )
                raise TypeError(msg)
            added |= members
    return centroids.with_columns(**added)


def _centroid(feature: str) -> str:
    return hidden("centroid", feature)


def _bad(feature: str) -> str:
    return hidden("bad feature", feature)


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

    It shows which groups the centroids serve best. ``centroids=`` is a frame with a row per
    centroid and the columns of ``features=``. Clusters are not read. Rows that lack a feature are
    left out.

    Formula: D_g / D_r, D the mean over rows of the smallest Euclidean distance to a centroid. With
    ``ref``, every other group over the reference: the ratio farthest from 1 by the logarithm.
    Without, the smallest over the largest.

    Range 0 to inf; ideal 1; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all others).

    Notes
    -----
    HolisticAI's page shows a mean of ratios; its code computes the ratio of means, as here. It uses
    the nearest centroid, not the assigned one, and distances that are not squared. NaN in the
    features returns NaN there and is an error here.

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
