"""The frame of matched clusters and labels: slices, noise, weights, dtypes and bad input."""

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import clustering

ROLES: dict[str, Any] = {"cluster": "c", "label": "y"}
ROWS = pl.DataFrame(
    {
        "d": ["x"] * 6 + ["y"] * 4 + [None] * 2 + ["z"],
        "c": [1, 1, 1, 2, 2, 3, 7, 7, -1, -1, 1, None, None],
        "y": ["a", "a", "a", "a", "a", "b", "b", "b", "a", "b", "a", "a", "a"],
        "w": [1, 1, 1, 2, 2, 1, 1, 3, 1, 1, 1, 1, 1],
    }
)


def test_by_slice() -> None:
    found = clustering.matching(ROWS, **ROLES, by="d")
    # Slice z has no row of known cluster, and so no pair.
    pairs = [(None, 1, "a", 1), ("x", 1, "a", 3), ("x", 3, "b", 1)]
    assert found.rows() == [*pairs, ("y", -1, "a", 1), ("y", 7, "b", 2)]
    shares = clustering.maximum_matching(ROWS, **ROLES, by="d").drop_nulls("maximum_matching")
    sizes = ROWS.drop_nulls("c").group_by("d").len().sort("d")
    sums = found.group_by("d").agg(pl.col("n").sum()).sort("d")
    assert (sums["n"] / sizes["len"]).to_list() == shares["maximum_matching"].to_list()


def test_weights_change_the_matching() -> None:
    found = clustering.matching(ROWS, **ROLES, by="d", weight="w")
    assert found.filter(pl.col("d") == "x").rows() == [("x", 2, "a", 4), ("x", 3, "b", 1)]
    assert found.schema["n"] == pl.Int64
    halves = clustering.matching(ROWS, **ROLES, weight=pl.col("w") / 2)
    whole = clustering.matching(ROWS, **ROLES, weight="w")
    assert halves.schema["n"] == pl.Float64
    assert halves["n"].to_list() == [n / 2 for n in whole["n"]]
    nothing = clustering.matching(ROWS, **ROLES, weight=pl.lit(0))
    assert nothing.is_empty()


def test_a_row_of_noise_is_matched_alone() -> None:
    rows = pl.DataFrame({"c": [-1, -1, -1, 3, 3], "y": ["a", "a", "b", "c", "c"]})
    assert clustering.matching(rows, **ROLES).rows() == [(-1, "a", 2), (3, "c", 2)]
    found = clustering.matching(rows, **ROLES, noise=-1)
    assert found.rows() == [(-1, "a", 1), (-1, "b", 1), (3, "c", 2)]
    assert found["n"].sum() / 5 == clustering.maximum_matching(rows, **ROLES, noise=-1)


def test_equally_good_matchings_do_not_depend_on_the_rows() -> None:
    rows = pl.DataFrame({"c": [1, 1, 2, 2] * 3, "y": ["a", "b"] * 6})
    found = clustering.matching(rows, **ROLES)
    assert found["n"].to_list() == [3, 3]
    for seed in range(5):
        mixed = rows.sample(fraction=1, shuffle=True, seed=seed)
        assert_frame_equal(clustering.matching(mixed, **ROLES), found)


@pytest.mark.parametrize("by", [None, "d"])
def test_lazy_in_lazy_out(by: str | None) -> None:
    for weight in (None, "w"):
        for rows in (ROWS, ROWS.clear()):
            lazy = clustering.matching(rows.lazy(), **ROLES, by=by, weight=weight)
            eager = clustering.matching(rows, **ROLES, by=by, weight=weight)
            assert isinstance(lazy, pl.LazyFrame)
            assert lazy.collect_schema() == eager.schema
            for engine in ("in-memory", "streaming"):
                assert_frame_equal(lazy.collect(engine=engine), eager)  # type: ignore[call-overload]
    assert clustering.matching(ROWS.clear(), **ROLES).schema == {
        "cluster": pl.Int64, "label": pl.String, "n": pl.Int64,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "label"),
    [
        (pl.col("c").cast(pl.String).cast(pl.Categorical), pl.col("y").cast(pl.Enum(["b", "a"]))),
        (pl.col("c").cast(pl.Float64), pl.col("y") == "a"),
        (pl.col("c") + 2**63, pl.col("y").cast(pl.Binary)),
        (pl.col("c").cast(pl.Decimal(10, 2)), pl.lit(None)),
    ],
    ids=["categories", "float and Boolean", "UInt64", "Decimal and null"],
)
def test_columns_keep_their_dtypes(cluster: pl.Expr, label: pl.Expr) -> None:
    rows = (
        ROWS.filter(pl.col("c") > 0)
        .with_columns(pl.col("c").cast(pl.UInt64))
        .select(c=cluster, y=label)
    )
    found = clustering.matching(rows, **ROLES)
    assert found.schema["cluster"] == rows.schema["c"]
    assert found.schema["label"] == rows.schema["y"]
    share = clustering.maximum_matching(rows, **ROLES)
    if found.height:
        assert found["n"].sum() / rows.drop_nulls().height == share


def test_a_stored_table_is_read_by_its_count() -> None:
    table = clustering.contingency(ROWS, **ROLES)
    stored = clustering.matching(table, cluster="cluster", label="label", weight="n")
    assert_frame_equal(stored, clustering.matching(ROWS, **ROLES))


def test_bad_input() -> None:
    for frame in (ROWS, ROWS.lazy()):
        for name in ("cluster", "label", "n"):
            with pytest.raises(ValueError, match=rf"a slice cannot be named '{name}'"):
                clustering.matching(frame, **ROLES, by=pl.col("d").alias(name))
        with pytest.raises(TypeError, match="`noise='a'` is str"):
            clustering.matching(frame, **ROLES, noise="a")
        with pytest.raises(pl.exceptions.ColumnNotFoundError, match="`cluster`"):
            clustering.matching(frame, cluster="k", label="y")
    with pytest.raises(ValueError, match="`weight` holds a fraction"):
        clustering.matching(ROWS, **ROLES, weight=pl.col("w") / 2, noise=-1)


def test_names_of_columns_are_names() -> None:
    rows = ROWS.rename({"c": "^c$", "y": "<b>", "d": "line"})
    found = clustering.matching(rows, cluster="^c$", label="<b>", by="line")
    assert found.drop("line").rows() == [
        row[1:] for row in clustering.matching(ROWS, **ROLES, by="d").rows()
    ]


def test_many_clusters() -> None:
    """Above four million cells of the full matrix the sparse form is used."""
    size = 3000
    rows = pl.DataFrame(
        {"c": [*range(size), *range(size)], "y": [*range(size), *range(1, size + 1)]}
    )
    found = clustering.matching(rows, **ROLES)
    assert found.height == size
    assert found["n"].sum() / rows.height == clustering.maximum_matching(rows, **ROLES) == 1 / 2
    assert pf.evaluate(rows, clustering.maximum_matching, **ROLES).item() == 1 / 2
