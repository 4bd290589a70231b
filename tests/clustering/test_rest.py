"""Against the rest, a measure of clusters is that of all other rows."""

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import clustering

ROWS = pl.DataFrame(
    {
        "g": ["a"] * 4 + ["b"] * 4 + ["c"] * 4,
        "c": [1, 1, 2, 2] * 3,
        "x": [0.0, 1.0, 5.0, 6.0, 1.0, 3.0, 7.0, 7.5, 2.0, 2.5, 9.0, 8.0],
    }
)
ROLES = {"cluster": "c", "features": "x"}


@pytest.mark.parametrize("metric", [clustering.davies_bouldin, clustering.calinski_harabasz])
def test_the_rest_is_merged_cluster_by_cluster(metric: pf.Metric) -> None:
    found = pf.by_group(ROWS, metric, group="g", ref=pf.REST, **ROLES)
    for group, difference in found.select("group", "difference").rows():
        own = metric(ROWS.filter(pl.col("g") == group), **ROLES)
        rest = metric(ROWS.filter(pl.col("g") != group), **ROLES)
        assert difference == pytest.approx(own - rest, rel=1e-12)
