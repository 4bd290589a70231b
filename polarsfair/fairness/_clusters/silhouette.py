"""How well each group is clustered: the silhouettes of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.compare import difference, known_as
from polarsfair._engine.metric import define
from polarsfair._engine.tally import Tally
from polarsfair.clustering._internal.silhouette import (
    mean_silhouette,
    silhouette_sums,
    silhouette_table,
)
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoGroup

__all__ = ["silhouette_difference", "silhouettes"]


def _count_silhouettes(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
    metric: str = "euclidean",
) -> pl.LazyFrame:
    """Sum the silhouettes of the rows of every group and cluster.

    The same table as ``clustering.silhouettes``, with the ``group``. A row's silhouette is computed
    among the rows of all groups, including those of unknown group. The rows are read twice, so that
    tables cannot be merged. ``metric`` is ``"euclidean"`` (default) or ``"manhattan"``, which
    compare all pairs of rows, at most 50,000 rows per slice; or ``"sqeuclidean"``, ``"cosine"``,
    ``"hamming"``, which are exact at any size.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"g": ["a", "b", "a"], "c": [1, 1, 2], "x": [0.0, 2.0, 5.0]})
    >>> table = fairness.silhouettes(df, group="g", cluster="c", features="x")
    >>> table.select("group", "cluster", "n", "silhouette").sort("group", "cluster")
    shape: (3, 4)
    ┌───────┬─────────┬─────┬────────────┐
    │ group ┆ cluster ┆ n   ┆ silhouette │
    │ ---   ┆ ---     ┆ --- ┆ ---        │
    │ str   ┆ i64     ┆ i64 ┆ f64        │
    ╞═══════╪═════════╪═════╪════════════╡
    │ a     ┆ 1       ┆ 1   ┆ 0.6        │
    │ a     ┆ 2       ┆ 1   ┆ 0.0        │
    │ b     ┆ 1       ┆ 1   ┆ 0.333333   │
    └───────┴─────────┴─────┴────────────┘
    """
    roles = {"group": group, "cluster": cluster, "features": features, "weight": weight}
    return silhouette_table(rows, by, metric, **roles)


silhouettes = Tally(
    name="fairness.silhouettes",
    count=_count_silhouettes,
    cells=("group", "cluster"),
    sums=silhouette_sums,
    defaults={"w": pl.col("n")},
    mergeable=False,
    single=("metric",),
)


@define(
    silhouettes,
    "quality",
    ("cluster", "features"),
    of=FairnessMetric,
    ideal=1.0,
    bounds=(-1.0, 1.0),
    better="higher",
)
def _silhouette() -> pl.Expr:
    """Mean silhouette of the rows of a group."""
    return mean_silhouette()


@known_as()
def silhouette_difference() -> FairnessMetric:
    """Difference of mean silhouettes between groups.

    It shows whether the rows of one group are better separated by the clustering than those of
    another. The silhouette of a row compares its mean distance to its own cluster with that to the
    next cluster, among the rows of all groups.

    Formula: mean of (b - a) / max(a, b) over the rows of the group, minus the same over the
    reference's. With ``ref=``, signed, of the group farthest from it; without, the largest
    difference of two groups.

    Range -2 to 2; ideal 0; nearer is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default) and ``"manhattan"`` compare all pairs of rows, at most 50,000 rows
        per slice; ``"sqeuclidean"``, ``"cosine"`` and ``"hamming"`` are exact at any size.
    ref
        The reference group, ``pf.OVERALL`` or ``pf.REST``.

    Notes
    -----
    If it is positive, the group is better separated than the reference. By its code, HolisticAI's
    ``silhouette_diff`` is half of this value; its page does not halve it and has the opposite sign.
    HolisticAI raises if there is one cluster or a cluster per row; here the value is undefined, or
    0.

    References
    ----------
    Rousseeuw (1987). Silhouettes: A Graphical Aid to the Interpretation and Validation of Cluster
    Analysis. Journal of Computational and Applied Mathematics 20, 53-65.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"g": ["a", "b", "a", "b"], "c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> roles = {"group": "g", "cluster": "c", "features": ["x"]}
    >>> round(df.pipe(fairness.silhouette_difference, **roles, ref="b"), 4)
    -0.0789
    """
    return difference(_silhouette)
