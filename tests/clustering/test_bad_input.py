"""Clusterings that are degenerate or wrong, eager and lazy: undefined, or an error that says so."""

import math
import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError, InvalidOperationError
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import clustering, fairness

Make = Callable[[pl.DataFrame], pl.DataFrame | pl.LazyFrame]
BOTH = pytest.mark.parametrize(
    "make", [pl.DataFrame.clone, pl.DataFrame.lazy], ids=["eager", "lazy"]
)
ROLES: dict[str, Any] = {"cluster": "c", "label": "y"}
EXTERNAL = [m for m in pf.metrics() if m.tally is clustering.contingency and not m.keys]
OF_GROUPS = [m for m in pf.metrics() if m.tally is fairness.clusters]
EDGES = [m for m in pf.metrics() if m.tally is clustering.edges]
ROWS = pl.DataFrame(
    {
        "c": [1, 1, 2, 2, 2],
        "y": ["a", "a", "b", "b", "a"],
        "g": ["F", "M", "F", "M", "M"],
        "w": [1.0, 2.0, 1.0, 1.0, 1.0],
        "x": [0.0, 1.0, 5.0, 6.0, 7.0],
        "z": [1.0, 1.0, 2.0, 2.0, 2.0],
    }
)
CENTRES = pl.DataFrame({"x": [0.0, 6.0], "z": [1.0, 2.0]})
NEAR: dict[str, Any] = {"group": "g", "features": ["x", "z"], "centroids": CENTRES}


def row(result: Any) -> dict[str, Any]:
    """The one row of a result of either kind."""
    (found,) = (result.collect() if isinstance(result, pl.LazyFrame) else result).to_dicts()
    return found


def refused_by_rows(call: Callable[[Any], Any], frame: pl.DataFrame, words: str) -> None:
    """Check the two ways in which rows refuse, and that both use the same words."""
    with pytest.raises(ValueError, match=re.escape(words)) as eager:
        call(frame)
    query = call(frame.lazy())  # nothing has been read yet
    assert isinstance(query, pl.LazyFrame)
    with pytest.raises(InvalidOperationError) as lazy:
        query.collect()
    assert str(eager.value) in str(lazy.value).replace('\\"', '"')


# degenerate partitions


@BOTH
def test_empty(make: Make) -> None:
    frame = make(ROWS.clear())
    assert set(row(pf.evaluate(frame, EXTERNAL, **ROLES)).values()) == {None}
    sliced = pf.evaluate(frame, EXTERNAL, **ROLES, by="g")
    assert (sliced.collect() if isinstance(sliced, pl.LazyFrame) else sliced).is_empty()
    assert row(clustering.pair_counts(frame, **ROLES)) == {"tp": 0, "fp": 0, "fn": 0, "tn": 0}
    by_cluster = clustering.purity_by_cluster(frame, **ROLES)
    assert by_cluster.lazy().collect().is_empty()
    assert set(row(pf.evaluate(frame, OF_GROUPS, group="g", cluster="c")).values()) == {None}
    assert set(row(pf.evaluate(frame, EDGES, cluster="c", other="c")).values()) == {None}
    assert fairness.cluster_shares(frame, group="g", cluster="c").lazy().collect().is_empty()
    near = fairness.social_fairness_ratio.alias("value")(frame, **NEAR)
    assert row(near)["value"] is None if isinstance(near, pl.LazyFrame) else math.isnan(near)


@BOTH
def test_one_cluster(make: Make) -> None:
    found = row(pf.evaluate(make(ROWS), EXTERNAL, cluster=pl.lit(1), label="y"))
    assert found["purity"] == found["maximum_matching"] == pytest.approx(3 / 5)
    assert found["entropy"] == found["mutual_information"] == found["nmi"] == 0
    assert found["completeness"] == 1
    assert found["homogeneity"] == found["v_measure"] == 0
    assert found["adjusted_rand"] == found["adjusted_mutual_information"] == 0
    assert found["normalized_hubert"] is None


@BOTH
def test_every_row_alone(make: Make) -> None:
    alone = ROWS.with_row_index("id")
    found = row(pf.evaluate(make(alone), EXTERNAL, cluster="id", label="y"))
    assert found["purity"] == found["homogeneity"] == 1
    assert found["conditional_entropy"] == 0
    assert found["maximum_matching"] == pytest.approx(2 / 5)
    assert found["jaccard"] == found["fowlkes_mallows"] == found["hubert"] == 0
    assert found["adjusted_rand"] == found["adjusted_mutual_information"] == 0
    assert found["normalized_hubert"] is None


@BOTH
def test_one_row(make: Make) -> None:
    found = row(pf.evaluate(make(ROWS.head(1)), EXTERNAL, **ROLES))
    assert found.pop("hubert") is found.pop("normalized_hubert") is None
    zero = {"entropy", "joint_entropy", "mutual_information"}
    zero |= {"conditional_entropy", "variation_of_information"}
    assert {name for name, value in found.items() if value == 0} == zero
    assert {value for name, value in found.items() if name not in zero} == {1.0}


@BOTH
def test_nothing_is_known(make: Make) -> None:
    frame = ROWS.with_columns(y=pl.lit(None, pl.String))
    found = row(pf.evaluate(make(frame), EXTERNAL, **ROLES))
    # Of the clusters alone something is known.
    assert found.pop("entropy") == pytest.approx(0.4 * math.log(2.5) + 0.6 * math.log(5 / 3))
    assert set(found.values()) == {None}
    untyped = pf.evaluate(make(ROWS), EXTERNAL, cluster=pl.lit(None), label=pl.lit(None))
    assert set(row(untyped).values()) == {None}


@BOTH
def test_a_slice_without_anything_known_stays(make: Make) -> None:
    frame = ROWS.with_columns(y=pl.when(pl.col("g") == "M").then("y"))
    found = pf.evaluate(make(frame), [clustering.purity], **ROLES, by="g").lazy().collect()
    assert found.rows() == [("F", None), ("M", pytest.approx(2 / 3))]


@BOTH
def test_nan_is_unknown(make: Make) -> None:
    number = pl.when(pl.col("c") == 2).then(float("nan")).otherwise(pl.col("c"))
    found = row(
        pf.evaluate(make(ROWS), [clustering.purity, clustering.rand], cluster=number, label="y")
    )
    assert found == {"purity": 1.0, "rand": 1.0}


# weights


def test_weights_that_are_no_frequencies() -> None:
    halves = {**ROLES, "weight": pl.col("w") / 2}
    for metric in (
        clustering.adjusted_rand,
        clustering.jaccard,
        clustering.adjusted_mutual_information,
    ):
        refused_by_rows(lambda f, m=metric: m(f, **halves), ROWS, "`weight` holds a fraction")
    refused_by_rows(
        lambda f: clustering.pair_counts(f, **halves), ROWS, "`weight` holds a fraction"
    )
    noisy = {**halves, "noise": 2}
    refused_by_rows(lambda f: clustering.purity(f, **noisy), ROWS, "`weight` holds a fraction")
    assert clustering.purity(ROWS, **halves) == pytest.approx(5 / 6)
    assert clustering.nmi(ROWS, **halves) == pytest.approx(
        clustering.nmi(ROWS, **ROLES, weight="w")
    )


def test_a_fraction_does_not_matter_to_shares_without_optimisation() -> None:
    query = pf.evaluate(ROWS.lazy(), [clustering.nmi], **ROLES, weight=pl.col("w") / 2)
    assert query.collect(optimizations=pl.QueryOptFlags.none()).item() > 0


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), None])
def test_bad_weights(bad: float | None) -> None:
    frame = ROWS.with_columns(w=pl.Series([1.0, 1.0, bad, 1.0, 1.0]))
    words = "`weight` holds a value that is not a number of at least 0"
    refused_by_rows(lambda f: clustering.purity(f, **ROLES, weight="w"), frame, words)
    roles = {"group": "g", "cluster": "c", "weight": "w"}
    refused_by_rows(lambda f: fairness.cluster_balance(f, **roles), frame, words)
    near = {**NEAR, "weight": "w"}
    refused_by_rows(lambda f: fairness.social_fairness_ratio(f, **near), frame, words)


@pytest.mark.parametrize("metric", [clustering.purity, clustering.entropy, clustering.rand])
def test_noise_that_weighs_nothing_is_no_fraction(metric: Any) -> None:
    frame = pl.DataFrame({"c": [-1, 1, 1], "y": ["a", "a", "a"], "w": [0.0, 1.0, 1.0]})
    roles = {**ROLES, "weight": "w", "noise": -1}
    assert metric(frame, **roles) == metric(frame[1:], **ROLES)
    assert math.isnan(metric(frame[:1], **roles))


def test_large_whole_floats_are_frequencies() -> None:
    exact = clustering.pair_counts(ROWS, **ROLES, weight=pl.lit(10.0**10)).row(0)
    # Clusters of 2 and 3 times 10^10 rows; cells of 2, 2 and 1; labels of 3 and 2.
    big = 10**10
    shared = (4 + 4 + 1) * big**2
    tp = (shared - 5 * big) // 2
    assert exact[:3] == (tp, (13 * big**2 - shared) // 2, (13 * big**2 - shared) // 2)
    assert sum(exact) == 5 * big * (5 * big - 1) // 2


# options


@BOTH
@pytest.mark.parametrize(
    ("metric", "option", "words"),
    [
        (clustering.nmi, {"average": "mean"}, '`average` is one of "geometric"'),
        (clustering.adjusted_mutual_information, {"average": "joint"}, "`average` is one of"),
        (clustering.entropy, {"base": 1}, "`base` is a positive number other than 1"),
        (clustering.mutual_information, {"base": -2}, "`base` is a positive number"),
        (clustering.v_measure, {"beta": -1}, "`beta` is a number of at least 0"),
        (clustering.v_measure, {"beta": float("nan")}, "`beta` is a number of at least 0"),
    ],
)
def test_options_out_of_range(make: Make, metric: Any, option: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        metric(make(ROWS), **ROLES, **option)


@BOTH
def test_noise_of_another_dtype(make: Make) -> None:
    words = r"`noise='none'` is str, but the cluster column is Int64"
    with pytest.raises(TypeError, match=words):
        clustering.purity(make(ROWS), **ROLES, noise="none")
    with pytest.raises(TypeError, match=words):
        clustering.pair_counts(make(ROWS), **ROLES, noise="none")


def test_noise_that_is_not_there_changes_nothing() -> None:
    plain, noisy = (pf.evaluate(ROWS, EXTERNAL, **ROLES, **more) for more in ({}, {"noise": -1}))
    assert_frame_equal(plain, noisy)


@BOTH
def test_missing_roles_and_columns(make: Make) -> None:
    with pytest.raises(TypeError, match=r"`purity` needs the role `label`"):
        clustering.purity(make(ROWS), cluster="c")
    with pytest.raises(ColumnNotFoundError, match=r"`cluster` names the column 'cc'"):
        clustering.entropy(make(ROWS), cluster="cc")
    with pytest.raises(TypeError, match=r"`edge_modularity` needs the role `other`"):
        clustering.edge_modularity(make(ROWS), cluster="c")
    with pytest.raises(TypeError, match=r"`clustering.edges` needs both ends"):
        clustering.edges(make(ROWS), cluster="c")
    with pytest.raises(TypeError, match=r"cannot be grouped by"):
        clustering.purity(make(ROWS), cluster=pl.concat_list("x", "z"), label="y")


def test_a_table_without_labels_tells_no_purity() -> None:
    table = clustering.contingency(ROWS, cluster="c")
    assert pf.measure(table, [clustering.entropy]).item() > 0
    with pytest.raises(ValueError, match=r"`purity` reads a table of `clustering.contingency`"):
        pf.measure(table, [clustering.purity])


# edges


@BOTH
def test_ends_of_different_dtypes(make: Make) -> None:
    frame = make(ROWS.with_columns(small=pl.col("c").cast(pl.Int8)))
    both = pf.evaluate(frame, EDGES, cluster="c", other="small")
    assert row(both)["edge_normalized_cut"] == 0.0
    with pytest.raises(TypeError, match=r"`cluster` is Int64 and `other` is String"):
        clustering.edge_modularity(frame, cluster="c", other="y")


# groups in clusters


@BOTH
def test_groups_that_cannot_be_compared(make: Make) -> None:
    frame = make(ROWS.with_columns(g=pl.lit("F")))
    found = row(pf.evaluate(frame, OF_GROUPS, group="g", cluster="c"))
    assert found.pop("cluster_entropy") > 0
    assert found.pop("cluster_balance") == 1.0
    assert set(found.values()) == {None}


def test_a_reference_that_nobody_has() -> None:
    words = "`ref='X'` is not among the groups, which are: F, M"
    for metric in (
        fairness.cluster_balance,
        fairness.cluster_total_variation,
        fairness.cluster_kl,
    ):
        refused_by_rows(lambda f, m=metric: m(f, group="g", cluster="c", ref="X"), ROWS, words)
    refused_by_rows(lambda f: fairness.social_fairness_ratio(f, **NEAR, ref="X"), ROWS, words)


@BOTH
def test_a_reference_whose_rows_have_no_cluster(make: Make) -> None:
    frame = make(pl.DataFrame({"g": ["F"], "c": [None]}, schema_overrides={"c": pl.Int64}))
    found = row(pf.evaluate(frame, OF_GROUPS, group="g", cluster="c", ref="F"))
    assert set(found.values()) == {None}


@BOTH
def test_a_reference_of_another_dtype(make: Make) -> None:
    for metric in (fairness.min_cluster_ratio, fairness.cluster_balance):
        with pytest.raises(TypeError, match=r"`ref=1` is int, but the group column is String"):
            metric(make(ROWS), group="g", cluster="c", ref=1)


@BOTH
def test_centroids_that_are_not_given(make: Make) -> None:
    with pytest.raises(TypeError, match="needs the role `centroids`: add `centroids=<frame>`"):
        fairness.social_fairness_ratio(make(ROWS), group="g", features=["x", "z"])


def test_infinite_and_absent() -> None:
    apart = pl.DataFrame({"g": ["F", "F", "M"], "c": [1, 2, 2]})
    roles = {"group": "g", "cluster": "c"}
    assert fairness.cluster_balance(apart, **roles) == 0.0
    assert fairness.cluster_kl(apart, **roles, ref="M") == math.inf
    assert fairness.cluster_kl(apart, **roles, ref="F") == pytest.approx(math.log(2))
    assert fairness.min_cluster_ratio(apart, **roles, ref="M") == 1.0  # the other is infinite
    assert fairness.min_cluster_ratio(apart, **roles, ref="F") == 0.0
    assert fairness.min_cluster_ratio(apart, **roles) == 0.0


# features and centroids


@BOTH
@pytest.mark.parametrize(
    ("roles", "error", "words"),
    [
        ({"features": []}, ValueError, "`features` is empty"),
        ({"features": ["x", "y"]}, TypeError, "the feature 'y' is String, not a number"),
        ({"features": ["x", "q"]}, ColumnNotFoundError, "`features` names the column 'q'"),
        ({"features": ["x", "w"]}, ColumnNotFoundError, "`centroids` lacks the feature 'w'"),
        ({"centroids": CENTRES.select("x")}, ColumnNotFoundError, "lacks the feature 'z'"),
        (
            {"centroids": CENTRES.with_columns(z=pl.lit("a"))},
            TypeError,
            "the column 'z' of `centroids` is String, not a number",
        ),
        ({"centroids": None}, TypeError, "needs the role `centroids`"),
        ({"centroids": "x"}, TypeError, "expected a Polars frame"),
    ],
)
def test_features_and_centroids_that_do_not_fit(
    make: Make, roles: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=re.escape(words)):
        fairness.social_fairness_ratio(make(ROWS), **NEAR | roles)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_features_that_are_not_finite(bad: float) -> None:
    frame = ROWS.with_columns(z=pl.Series([1.0, bad, 2.0, 2.0, 2.0]))
    words = "the feature 'z' holds NaN or an infinite value"
    refused_by_rows(lambda f: fairness.social_fairness_ratio(f, **NEAR), frame, words)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None])
def test_centroids_that_are_not_finite(bad: float | None) -> None:
    centres = CENTRES.with_columns(z=pl.Series([1.0, bad]))
    words = "`centroids` holds a value that is null, NaN or infinite"
    call = {**NEAR, "centroids": centres}
    refused_by_rows(lambda f: fairness.social_fairness_ratio(f, **call), ROWS, words)


@BOTH
def test_a_row_that_lacks_a_feature_is_left_out(make: Make) -> None:
    lacking = ROWS.with_columns(z=pl.when(pl.col("x") != 7).then("z"))
    metric = fairness.social_fairness_ratio.alias("value")
    ours, dropped = (metric(make(f), **NEAR) for f in (lacking, lacking.drop_nulls("z")))
    if isinstance(ours, pl.LazyFrame):
        assert row(ours) == row(dropped)
        return
    # F: (0 + 1) / 2, M: (1 + 0) / 2
    assert ours == dropped == pytest.approx(1.0)
    assert metric(ROWS, **NEAR, ref="M") == pytest.approx((1 / 2) / (2 / 3))


def test_lazy_centroids_make_a_lazy_result() -> None:
    query = fairness.social_fairness_ratio(ROWS, **{**NEAR, "centroids": CENTRES.lazy()})
    assert isinstance(query, pl.LazyFrame)
    assert query.collect().item() == fairness.social_fairness_ratio(ROWS, **NEAR)


@BOTH
def test_without_centroids_there_is_no_distance(make: Make) -> None:
    result = fairness.social_fairness_ratio(make(ROWS), **{**NEAR, "centroids": CENTRES.clear()})
    value = result.collect().item() if isinstance(result, pl.LazyFrame) else result
    assert value is None or math.isnan(value)


@pytest.mark.parametrize("name", ["total", "times", "alone", "of_cluster", "of_group", "same"])
def test_a_slice_may_be_called_like_a_column_of_a_view(name: str) -> None:
    frame = ROWS.with_columns(day=pl.Series([1, 2, 1, 2, 2]))
    for call in (
        lambda rows, by: clustering.pair_counts(rows, **ROLES, by=by, noise=2),
        lambda rows, by: fairness.cluster_shares(rows, group="g", cluster="c", by=by),
    ):
        plain = call(frame, "day")
        assert_frame_equal(call(frame.rename({"day": name}), name).rename({name: "day"}), plain)


def test_a_slice_may_not_be_called_like_a_column_of_the_result() -> None:
    with pytest.raises(ValueError, match="two columns would be called 'tp'"):
        clustering.pair_counts(ROWS, **ROLES, by=pl.col("g").alias("tp"))
    with pytest.raises(ValueError, match="two columns would be called 'share'"):
        fairness.cluster_shares(ROWS, group="g", cluster="c", by=pl.col("g").alias("share"))
