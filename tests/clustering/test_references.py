"""External measures beside scikit-learn and brute force, and the laws of two partitions."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn import metrics as scikit
from sklearn.metrics.cluster import expected_mutual_information, pair_confusion_matrix

import polarsfair as pf
from polarsfair import clustering, fairness
from polarsfair.clustering._external import by_chance

ROLES: dict[str, Any] = {"cluster": "c", "label": "y"}
few = settings(max_examples=12, deadline=None, derandomize=True)

SCALARS = {
    metric.name: metric
    for metric in pf.metrics()
    if metric.tally is clustering.contingency and not metric.keys
}
SYMMETRIC = [
    clustering.maximum_matching,
    clustering.joint_entropy,
    clustering.mutual_information,
    *(clustering.nmi.bind(average=a) for a in ("geometric", "arithmetic", "min", "max", "joint")),
    clustering.variation_of_information,
    clustering.v_measure,
    *(clustering.adjusted_mutual_information.bind(average=a) for a in ("arithmetic", "max")),
    clustering.jaccard,
    clustering.pair_f1,
    clustering.rand,
    clustering.adjusted_rand,
    clustering.fowlkes_mallows,
    clustering.hubert,
    clustering.normalized_hubert,
]
SIMILARITIES = [
    metric for name, metric in SCALARS.items() if metric.ideal == 1 and name != "normalized_hubert"
]
DISTANCES = [metric for metric in SCALARS.values() if metric.ideal == 0]

partitions = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
    )
)


def frame_of(c: Sequence[Any], y: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame({"c": c, "y": y})


def same(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


# scikit-learn, where the definitions coincide

SCIKIT: dict[str, tuple[pf.Metric, Callable[[Any, Any], float]]] = {
    "mutual_information": (clustering.mutual_information, scikit.mutual_info_score),
    **{
        f"nmi {a}": (
            clustering.nmi.bind(average=a),
            lambda y, c, a=a: scikit.normalized_mutual_info_score(y, c, average_method=a),
        )
        for a in ("geometric", "arithmetic", "min", "max")
    },
    **{
        f"ami {a}": (
            clustering.adjusted_mutual_information.bind(average=a),
            lambda y, c, a=a: scikit.adjusted_mutual_info_score(y, c, average_method=a),
        )
        for a in ("geometric", "arithmetic", "min", "max")
    },
    "homogeneity": (clustering.homogeneity, scikit.homogeneity_score),
    "completeness": (clustering.completeness, scikit.completeness_score),
    **{
        f"v_measure {beta}": (
            clustering.v_measure.bind(beta=beta),
            lambda y, c, beta=beta: scikit.v_measure_score(y, c, beta=beta),
        )
        for beta in (0.3, 1, 4)
    },
    "rand": (clustering.rand, scikit.rand_score),
    "adjusted_rand": (clustering.adjusted_rand, scikit.adjusted_rand_score),
    "fowlkes_mallows": (clustering.fowlkes_mallows, scikit.fowlkes_mallows_score),
}


@pytest.mark.parametrize("name", SCIKIT)
@pytest.mark.parametrize(("seed", "rows", "near"), [(1, 60, 0.5), (2, 200, 0.0), (3, 500, 0.9)])
def test_scikit_learn(name: str, seed: int, rows: int, near: float) -> None:
    draw = random.Random(seed)
    y = [draw.randrange(6) for _ in range(rows)]
    c = [label if draw.random() < near else draw.randrange(5) for label in y]
    metric, peer = SCIKIT[name]
    value = metric(frame_of(c, y), **ROLES)
    assert value == pytest.approx(peer(y, c), rel=1e-8, abs=1e-12)


@few
@given(partitions)
def test_pair_counts_are_half_of_the_pair_confusion_matrix(both: Any) -> None:
    c, y = both
    (found,) = clustering.pair_counts(frame_of(c, y), **ROLES).rows()
    (tn, fp), (fn, tp) = (pair_confusion_matrix(y, c) // 2).tolist()
    assert found == (tp, fp, fn, tn)


def test_expected_information_of_scikit_learn() -> None:
    draw = np.random.default_rng(4)
    for rows, height, width in ((40, 4, 5), (300, 12, 7), (5000, 6, 6)):
        table = draw.multinomial(rows, np.full(height * width, 1 / (height * width)))
        table = table.reshape(height, width)
        i, j = np.nonzero(table)
        sizes = (table[i, j], table.sum(1)[i], table.sum(0)[j])
        found = by_chance.expected_information(np.ones(len(i)), *(s.astype(float) for s in sizes))
        assert found == pytest.approx(expected_mutual_information(table, rows), rel=1e-10)


@pytest.mark.parametrize(
    ("size", "drawn", "marked"),
    [
        (2, 1, 1),
        (50, 7, 30),
        (600, 10, 590),
        (1000, 300, 400),
        (3000, 1500, 1500),
        (4000, 700, 3900),
    ],
)
def test_expected_information_of_a_cell_by_exact_fractions(
    size: int, drawn: int, marked: int
) -> None:
    """Also where the sum takes every h-th count only, and at the ends of the support."""
    mean, exact = drawn * marked / size, 0.0
    for count in range(max(0, drawn + marked - size), min(drawn, marked) + 1):
        ways = math.comb(marked, count) * math.comb(size - marked, drawn - count)
        lift = count / mean
        term = (lift * math.log(lift) if lift else 0.0) - lift + 1
        exact += float(Fraction(ways, math.comb(size, drawn))) * term
    given_sizes = np.array([float(drawn)]), np.array([float(marked)]), float(size)
    assert by_chance._mean_excess(*given_sizes)[0] == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("count", [19, 20, 21, 30])
def test_log_factorials_have_every_digit(count: int) -> None:
    """The series begins at 20, where a wrong fourth term would be an error of 1e-12."""
    exact = math.lgamma(count + 1) - count * math.log(count) + count
    assert by_chance._beyond_power(np.array([float(count)]))[0] == pytest.approx(exact, abs=1e-13)


# maximum matching, which no statement can say


def best_matching(table: np.ndarray) -> int:
    """Try every way to name the rows of a small table."""
    if table.shape[0] > table.shape[1]:
        table = table.T
    rows = range(table.shape[0])
    ways = itertools.permutations(range(table.shape[1]), table.shape[0])
    return max(sum(table[i, way[i]] for i in rows) for way in ways)


@few
@given(partitions)
def test_maximum_matching_by_brute_force(both: Any) -> None:
    c, y = both
    table = np.zeros((5, 4), dtype=int)
    np.add.at(table, (c, y), 1)
    found = clustering.maximum_matching(frame_of(c, y), **ROLES)
    assert found == pytest.approx(best_matching(table) / len(c))


@few
@given(partitions)
def test_the_sparse_assignment_equals_the_dense_one(both: Any) -> None:
    c, y = both
    cells = frame_of(c, y).group_by("c", "y").len()
    arrays = [cells[name].cast(pl.Float64).to_numpy() for name in ("c", "y", "len")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_chance, "_DENSE", 0)
        sparse = by_chance.matched(*arrays)
    assert sparse == by_chance.matched(*arrays)


def test_greedy_matching_is_not_enough() -> None:
    rows = [(1, "a")] * 6 + [(1, "b")] * 5 + [(2, "a")] * 5 + [(2, "b")]
    c, y = zip(*rows, strict=True)
    assert clustering.maximum_matching(frame_of(c, y), **ROLES) == pytest.approx(10 / 17)


def test_maximum_matching_of_noise() -> None:
    """Of five rows of noise, each alone, two can be named: one "a" and one "b"."""
    frame = frame_of([-1, -1, -1, -1, -1, 3], ["a", "a", "a", "b", "b", "c"])
    assert clustering.maximum_matching(frame, **ROLES, noise=-1) == pytest.approx(3 / 6)
    assert clustering.maximum_matching(frame, **ROLES) == pytest.approx(4 / 6)


def seventeen() -> pl.DataFrame:
    """Figure 16.4 of Manning, Raghavan, Schütze: of 136 pairs tp 20, fp 20, fn 24, tn 72."""
    clusters = {1: "xxxxxo", 2: "xoooo+", 3: "xx+++"}
    rows = [(c, y) for c, labels in clusters.items() for y in labels]
    c, y = zip(*rows, strict=True)
    return frame_of(c, y)


def test_pairs_of_the_textbook() -> None:
    frame = seventeen()
    assert clustering.pair_counts(frame, **ROLES).row(0) == (20, 20, 24, 72)
    assert clustering.pair_f1(frame, **ROLES) == pytest.approx(2 * 20 / (2 * 20 + 20 + 24))
    assert clustering.purity(frame, **ROLES) == pytest.approx(12 / 17)


@few
@given(partitions)
def test_pair_f1_follows_from_the_pairs(both: Any) -> None:
    c, y = both
    (_, fp), (fn, tp) = pair_confusion_matrix(y, c)
    found = clustering.pair_f1(frame_of(c, y), **ROLES)
    assert found == pytest.approx(2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 1, abs=1e-12)
    jaccard = clustering.jaccard(frame_of(c, y), **ROLES)
    assert found == pytest.approx(2 * jaccard / (1 + jaccard))


def test_pair_f1_of_billions_of_rows() -> None:
    """Numbers of pairs exceed 64 bits from 6 10^9 rows on."""
    table = pl.DataFrame({"cluster": [1, 1, 2], "label": ["a", "b", "b"], "n": [6 * 10**9] * 3})
    # tp 3, fp 2, fn 2 in units of n^2 / 2
    assert pf.measure(table, clustering.pair_f1).item() == pytest.approx(6 / 10, rel=1e-9)


# the matching itself


def matched_share(frame: pl.DataFrame, pairs: pl.DataFrame) -> float:
    return float(pairs["n"].sum() / frame.drop_nulls().height)


@few
@given(partitions, st.randoms())
def test_matching_is_one_to_one_and_optimal(both: Any, order: random.Random) -> None:
    c, y = both
    frame = frame_of(c, y)
    pairs = clustering.matching(frame, **ROLES)
    assert pairs["cluster"].is_unique().all()
    assert pairs["label"].is_unique().all()
    assert pairs.rows() == sorted(pairs.rows())
    counts = {(i, j): n for i, j, n in frame.group_by("c", "y").len().iter_rows()}
    assert all(counts[cluster, label] == n for cluster, label, n in pairs.iter_rows())
    found = matched_share(frame, pairs)
    assert found == pytest.approx(clustering.maximum_matching(frame, **ROLES), abs=1e-12)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=order.randint(0, 99))
    assert_frame_equal(clustering.matching(shuffled, **ROLES), pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_chance, "_DENSE", 0)
        sparse = clustering.matching(frame, **ROLES)
    assert sparse["n"].sum() == pairs["n"].sum()


# laws of two partitions


@few
@given(partitions)
def test_symmetric_measures_are_symmetric(both: Any) -> None:
    frame = frame_of(*both)
    for metric in SYMMETRIC:
        value = metric(frame, **ROLES)
        assert same(value, metric(frame, cluster="y", label="c")), metric


@few
@given(partitions, st.permutations(["ж", "b", "", "d", "a"]))
def test_names_do_not_matter(both: Any, names: list[str]) -> None:
    c, y = both
    plain = pf.evaluate(frame_of(c, y), list(SCALARS.values()), **ROLES)
    other = frame_of([names[i] for i in c], [9.5 - i for i in y])
    renamed = pf.evaluate(other, list(SCALARS.values()), **ROLES)
    for name in SCALARS:
        x, z = (frame[name].fill_null(math.nan).item() for frame in (plain, renamed))
        assert same(x, z), name


@few
@given(partitions)
def test_a_partition_is_like_itself(both: Any) -> None:
    c, _ = both
    frame = pl.DataFrame({"c": c, "y": [f"label {i}" for i in c]})
    for metric in SIMILARITIES:
        assert metric(frame, **ROLES) == 1.0, metric
    for metric in DISTANCES:
        assert metric(frame, **ROLES) == 0.0, metric
    value = clustering.normalized_hubert(frame, **ROLES)
    varies = 1 < len(set(c)) < len(c)
    assert value == pytest.approx(1.0) if varies else math.isnan(value)


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_independent_partitions_have_nothing_in_common(rows: int) -> None:
    pairs = [(c, y) for c in range(3) for y in range(4) for _ in range(rows)]
    c, y = zip(*pairs, strict=True)
    frame = frame_of(c, y)
    assert clustering.mutual_information(frame, **ROLES) == 0.0
    for average in ("geometric", "arithmetic", "min", "max", "joint"):
        assert clustering.nmi(frame, **ROLES, average=average) == 0.0
    for metric in (clustering.homogeneity, clustering.completeness, clustering.v_measure):
        assert metric(frame, **ROLES) == 0.0
    left = clustering.conditional_entropy(frame, **ROLES)
    assert left == pytest.approx(clustering.entropy(frame, cluster="y"))
    assert clustering.adjusted_rand(frame, **ROLES) < 0
    assert clustering.adjusted_mutual_information(frame, **ROLES) < 0


@few
@given(partitions)
def test_identities_between_measures(both: Any) -> None:
    frame = frame_of(*both)

    def of(metric: pf.Metric, **options: Any) -> float:
        return float(metric(frame, **ROLES, **options))

    joint, clusters = of(clustering.joint_entropy), of(clustering.entropy)
    labels = clustering.entropy(frame, cluster="y")
    common = of(clustering.mutual_information)
    assert joint == pytest.approx(clusters + of(clustering.conditional_entropy), abs=1e-12)
    assert common == pytest.approx(clusters + labels - joint, abs=1e-12)
    assert of(clustering.variation_of_information) == pytest.approx(
        2 * joint - clusters - labels, abs=1e-12
    )
    averages = ("min", "geometric", "arithmetic", "max", "joint")
    values = [of(clustering.nmi, average=average) for average in averages]
    assert all(x >= y - 1e-12 for x, y in itertools.pairwise(values))
    assert of(clustering.v_measure) == pytest.approx(values[2], abs=1e-12)
    assert of(clustering.maximum_matching) <= of(clustering.purity) + 1e-12
    assert of(clustering.entropy, base=2) == pytest.approx(clusters / math.log(2))
    parts = pf.evaluate(frame, [clustering.purity_by_cluster], **ROLES)
    sizes = frame.group_by(cluster="c").len()
    weighed = parts.join(sizes, on="cluster").select(
        (pl.col("purity_by_cluster") * pl.col("len")).sum() / pl.col("len").sum()
    )
    assert weighed.item() == pytest.approx(of(clustering.purity))
    means = pf.evaluate(frame, [clustering.f_measure_by_cluster], **ROLES)
    assert means["f_measure_by_cluster"].mean() == pytest.approx(of(clustering.f_measure))


@few
@given(partitions)
def test_noise_is_a_cluster_for_every_row(both: Any) -> None:
    c, y = both
    frame = frame_of(c, y)
    apart = frame_of([f"row {i}" if x == 0 else str(x) for i, x in enumerate(c)], y)
    metrics = list(SCALARS.values())
    ours = pf.evaluate(frame, metrics, **ROLES, noise=0)
    by_hand = pf.evaluate(apart, metrics, **ROLES)
    for name in SCALARS:
        x, z = (found[name].fill_null(math.nan).item() for found in (ours, by_hand))
        assert same(x, z), name
    counts = clustering.pair_counts(frame, **ROLES, noise=0)
    assert counts.rows() == clustering.pair_counts(apart, **ROLES).rows()


@few
@given(partitions, st.sampled_from([0.25, 3.5, 1e6]))
def test_measures_of_shares_do_not_depend_on_the_scale_of_weights(both: Any, scale: float) -> None:
    frame = frame_of(*both).with_columns(w=pl.col("c") % 3 + 0.5)
    counting = {"adjusted_mutual_information", *(m.name for m in pf.metrics() if m.view is PAIRS)}
    metrics = [metric for name, metric in SCALARS.items() if name not in counting]
    plain = pf.evaluate(frame, metrics, **ROLES, weight="w")
    scaled = pf.evaluate(frame, metrics, **ROLES, weight=pl.col("w") * scale)
    for metric in metrics:
        x, z = (found[metric.name].fill_null(math.nan).item() for found in (plain, scaled))
        assert math.isclose(x, z, rel_tol=1e-9, abs_tol=1e-9), metric


PAIRS = clustering.adjusted_rand.view


def test_slices_with_an_assignment_stay_lazy() -> None:
    draw = random.Random(5)
    rows = [(draw.choice("xyz"), draw.randrange(4), draw.randrange(3)) for _ in range(300)]
    frame = pl.DataFrame(rows, schema=["part", "c", "y"], orient="row")
    metrics = [clustering.maximum_matching, clustering.adjusted_mutual_information]
    query = pf.evaluate(frame.lazy(), metrics, **ROLES, by="part")
    assert query.collect_schema() == {
        "part": pl.String,
        "maximum_matching": pl.Float64,
        "adjusted_mutual_information": pl.Float64,
    }
    found = query.collect(engine="streaming")
    for line in found.to_dicts():
        alone = frame.filter(pl.col("part") == line["part"])
        for metric in metrics:
            assert line[metric.name] == pytest.approx(metric(alone, **ROLES))


def test_groups_are_compared_by_any_measure() -> None:
    frame = pl.DataFrame(
        {"g": ["a", "a", "a", "b", "b"], "c": [1, 1, 2, 1, 2], "y": [1, 1, 1, 1, 2]}
    )
    gap = clustering.difference(clustering.conditional_entropy)
    # b is told apart, and so is a, whose labels are all one; purity differs for neither.
    assert gap(frame, **ROLES, group="g") == 0.0
    gap = clustering.difference(clustering.completeness)
    assert gap(frame, **ROLES, group="g", ref="b") == pytest.approx(-1.0)


def test_frames_by_slice_eager_and_lazy() -> None:
    draw = random.Random(6)
    rows = [(draw.choice("xy"), draw.randrange(3), draw.choice("ab")) for _ in range(80)]
    frame = pl.DataFrame(rows, schema=["part", "c", "y"], orient="row")
    pairs = clustering.pair_counts(frame, **ROLES, by="part")
    shares = fairness.cluster_shares(frame, group="y", cluster="c", by="part")
    for part in "xy":
        alone = frame.filter(pl.col("part") == part)
        here = pl.col("part") == part
        own = clustering.pair_counts(alone, **ROLES)
        assert_frame_equal(pairs.filter(here).drop("part"), own)
        own = fairness.cluster_shares(alone, group="y", cluster="c")
        assert_frame_equal(shares.filter(here).drop("part"), own)
        within = alone["c"].value_counts().rename({"count": "size"})
        counted = own.join(within, left_on="cluster", right_on="c")
        assert (
            counted.select((pl.col("n") / pl.col("size") - pl.col("share")).abs().max()).item()
            < 1e-12
        )
    lazy = clustering.pair_counts(frame.lazy(), **ROLES, by="part")
    assert_frame_equal(lazy.collect(), pairs)
    lazy = fairness.cluster_shares(frame.lazy(), group="y", cluster="c", by="part")
    assert_frame_equal(lazy.collect(), shares)
