"""Quality of decisions, classes and numbers: beside scikit-learn, by hand, and at large counts."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn import metrics as scikit

import polarsfair as pf
from polarsfair import fairness

draw = np.random.default_rng(23)
SIZE = 500
ROWS = pl.DataFrame(
    {
        "g": draw.choice(["a", "b", "c"], SIZE),
        "p": draw.integers(0, 2, SIZE),
        "c": draw.choice(["red", "green", "blue"], SIZE),
        "x": draw.normal(0, 1, SIZE),
        "w": draw.integers(0, 4, SIZE),
        "m": draw.random(SIZE),
    }
).with_columns(
    # Mostly right.
    y=pl.when(pl.Series(draw.random(SIZE)) < 0.7).then("p").otherwise(1 - pl.col("p")),
    t=pl.when(pl.Series(draw.random(SIZE)) < 0.6).then("c").otherwise(pl.lit("black")),
    z=pl.col("x") + pl.Series(draw.normal(0.1, 0.4, SIZE)),
)
DECIDED, CLASSED, NUMBERED = (
    {"pred": pred, "label": label} for pred, label in (("p", "y"), ("c", "t"), ("x", "z"))
)
PEERS: list[tuple[pf.Metric, dict[str, str], Callable[..., float]]] = [
    (fairness.mcc, DECIDED, scikit.matthews_corrcoef),
    (fairness.cohen_kappa, DECIDED, scikit.cohen_kappa_score),
    (fairness.multiclass_accuracy, CLASSED, scikit.accuracy_score),
    (
        fairness.macro_f1,
        CLASSED,
        lambda y, p, **more: scikit.f1_score(y, p, average="macro", **more),
    ),
    (fairness.macro_recall, CLASSED, scikit.balanced_accuracy_score),
    (fairness.multiclass_accuracy, DECIDED, scikit.accuracy_score),
    (fairness.macro_recall, DECIDED, scikit.balanced_accuracy_score),
    (fairness.mae, NUMBERED, scikit.mean_absolute_error),
    (fairness.rmse, NUMBERED, scikit.root_mean_squared_error),
    (fairness.r2, NUMBERED, scikit.r2_score),
    (
        fairness.mean_prediction,
        {"pred": "x"},
        lambda _, p, **more: np.average(p, weights=more.get("sample_weight")),
    ),
]
every_peer = pytest.mark.parametrize(
    ("metric", "roles", "peer"), PEERS, ids=[f"{m.name}-{r['pred']}" for m, r, _ in PEERS]
)


@every_peer
@pytest.mark.parametrize("weight", [None, "w", "m"])
@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
def test_scikit_learn_agrees(metric: Any, roles: Any, peer: Any, weight: str | None) -> None:
    def theirs(rows: pl.DataFrame) -> float:
        pred = rows[roles["pred"]].to_numpy()
        label = rows[roles.get("label", roles["pred"])].to_numpy()
        return float(peer(label, pred, **({"sample_weight": rows[weight]} if weight else {})))

    # scikit-learn counts a class that only rows of weight 0 have.
    rows = ROWS if weight != "w" else ROWS.filter(pl.col("w") > 0)
    close = {"rel": 1e-12, "abs": 1e-12}
    assert metric(rows, **roles, weight=weight) == pytest.approx(theirs(rows), **close)
    groups = rows.partition_by("g", as_dict=True)
    expected = {name: theirs(part) for (name,), part in sorted(groups.items())}
    found = metric(rows, **roles, weight=weight, by="g")
    assert dict(found.iter_rows()) == pytest.approx(expected, **close)
    compared = pf.by_group(rows, metric, group="g", **roles, weight=weight, ref="a")
    assert compared["value"].to_list() == pytest.approx(found[metric.name].to_list(), **close)
    assert compared["n"].to_list() == [groups[name,].height for name in "abc"]
    low, high = min(expected.values()), max(expected.values())
    more = {**roles, "weight": weight, "group": "g"}
    assert pf.difference(metric)(rows, **more) == pytest.approx(high - low, **close)
    assert pf.ratio(metric)(rows, **more) == pytest.approx(low / high, rel=1e-10)
    tables = [metric.tally(rows[i::3], **more) for i in range(3)]
    merged = pf.measure(tables, [metric, pf.group_max(metric)], counts=True)
    assert merged.row(0) == pytest.approx(
        (theirs(rows), rows.height, high, rows.height), rel=1e-11, abs=1e-11
    )


def decided(*pairs: tuple[int | None, int | None]) -> pl.DataFrame:
    return pl.DataFrame(pairs, schema={"p": pl.Int64, "y": pl.Int64}, orient="row")


@pytest.mark.parametrize(
    ("rows", "mcc", "kappa"),
    [
        ([(1, 1), (1, 1)], math.nan, math.nan),
        ([(0, 0), (0, 0)], math.nan, math.nan),
        ([(1, 1), (1, 0)], math.nan, 0.0),
        ([(0, 1), (1, 1)], math.nan, 0.0),
        ([(0, 1), (0, 1)], math.nan, 0.0),
        ([(0, 1), (1, 0)], -1.0, -1.0),
        ([(1, 1), (0, 0), (0, 0)], 1.0, 1.0),
        ([(1, 1), (1, 0), (0, 1), (0, 0)], 0.0, 0.0),
        ([(1, None), (None, 1)], math.nan, math.nan),
        ([], math.nan, math.nan),
    ],
    ids=str,
)
def test_agreement_at_its_edges(rows: Any, mcc: float, kappa: float) -> None:
    frame = decided(*rows)
    assert fairness.mcc(frame, **DECIDED) == pytest.approx(mcc, nan_ok=True, abs=0)
    assert fairness.cohen_kappa(frame, **DECIDED) == pytest.approx(kappa, nan_ok=True, abs=0)


@pytest.mark.filterwarnings("ignore")
def test_degenerate_cases_in_which_scikit_learn_differs() -> None:
    one_class, constant = decided((1, 1), (1, 1)), decided((1, 1), (1, 0))
    for frame in (one_class, constant):
        assert math.isnan(fairness.mcc(frame, **DECIDED))
        assert scikit.matthews_corrcoef(frame["y"], frame["p"]) == 0
    assert math.isnan(scikit.cohen_kappa_score(one_class["y"], one_class["p"]))
    for pred, ours, theirs, infinite in (
        ([1.0, 1.0], math.nan, 1, math.nan),
        ([1, 2], -math.inf, 0, -math.inf),
    ):
        numbers = pl.DataFrame({"p": pred, "y": [1.0, 1.0]}, strict=False)
        assert fairness.r2(numbers, **DECIDED) == pytest.approx(ours, nan_ok=True)
        assert scikit.r2_score(numbers["y"], numbers["p"]) == theirs
        found = scikit.r2_score(numbers["y"], numbers["p"], force_finite=False)
        assert found == pytest.approx(infinite, nan_ok=True)
    rows = pl.DataFrame({"c": ["u", "v"], "t": ["u", "u"]})
    assert fairness.macro_recall(rows, **CLASSED) == 1 / 2
    assert scikit.recall_score(rows["t"], rows["c"], average="macro") == 1 / 4


@pytest.mark.parametrize("scale", [1, 10**9, 10**10, 10**12, 10**18])
def test_products_of_counts_beyond_64_bits(scale: int) -> None:
    """Products of counts reach 10^36, and the four counts together the end of 64 bits."""
    cells = [(True, True, 3), (True, False, 1), (False, True, 2), (False, False, 2)]
    table = pl.DataFrame(cells, schema=["pred", "label", "n"], orient="row")
    large = table.with_columns(n=pl.col("n") * scale)
    metrics = [fairness.mcc, fairness.cohen_kappa, fairness.macro_f1, fairness.macro_recall]
    found = pf.measure(large, metrics, counts=True)
    # 3 2 - 1 2 = 4; sqrt(4 5 3 4); 4 3 + 5 4.
    assert found["mcc"].item() == pytest.approx(4 / math.sqrt(240), rel=1e-15)
    assert found["cohen_kappa"].item() == pytest.approx(8 / 32, rel=1e-15)
    assert found["macro_f1"].item() == pytest.approx((6 / 9 + 4 / 7) / 2, rel=1e-15)
    assert found["macro_recall"].item() == pytest.approx((3 / 5 + 2 / 3) / 2, rel=1e-15)
    assert found["mcc_n"].item() == 8 * scale


def test_independence_is_exactly_zero_and_agreement_exactly_one() -> None:
    cells = [(True, True, 3), (True, False, 7), (False, True, 9), (False, False, 21)]
    table = pl.DataFrame(cells, schema=["pred", "label", "n"], orient="row")
    for scale in (1, 12_345_678_901, 98_765_432_109_876):
        large = table.with_columns(n=pl.col("n") * scale)
        assert pf.measure(large, fairness.mcc).item() == 0
        assert pf.measure(large, fairness.cohen_kappa).item() == 0
        right = large.filter(pl.col("pred") == pl.col("label"))
        assert pf.measure(right, fairness.mcc).item() == 1
        assert pf.measure(right, fairness.cohen_kappa).item() == 1


def test_classes_seen_on_one_side_only() -> None:
    """F1 is 0 for a class that is only predicted, or only true; recall skips the first."""
    rows = pl.DataFrame({"c": ["u", "u", "v", None, "x"], "t": ["u", "z", "u", "y", None]})
    # u: 2 1 / (2 + 2), v and z: 0; x and y are in rows that lack the other side.
    assert fairness.macro_f1(rows, **CLASSED) == pytest.approx((1 / 2 + 0 + 0) / 3)
    assert fairness.macro_recall(rows, **CLASSED) == pytest.approx((1 / 2 + 0) / 2)
    assert fairness.multiclass_accuracy(rows, **CLASSED) == pytest.approx(1 / 3)
    assert pf.evaluate(rows, fairness.macro_f1, **CLASSED, counts=True)["macro_f1_n"].item() == 3


def test_a_class_without_weight_is_not_there() -> None:
    rows = pl.DataFrame({"c": ["u", "v"], "t": ["u", "z"], "w": [1.0, 0.0]})
    for metric in (fairness.macro_f1, fairness.macro_recall, fairness.multiclass_accuracy):
        assert metric(rows, **CLASSED, weight="w") == 1


def test_classes_of_a_group_are_its_own() -> None:
    rows = pl.DataFrame({"g": list("aab"), "c": list("uvu"), "t": list("uuu")})
    found = pf.by_group(rows, fairness.macro_f1, group="g", **CLASSED)
    assert found["value"].to_list() == pytest.approx([(2 / 3 + 0) / 2, 1])


@pytest.mark.parametrize(
    "dtype", [pl.Categorical, pl.Enum(["black", "blue", "green", "red"])], ids=str
)
def test_classes_of_other_dtypes(dtype: Any) -> None:
    metrics = [fairness.macro_f1, fairness.macro_recall, fairness.multiclass_accuracy]
    roles = {**CLASSED, "by": "g"}
    cast = ROWS.with_columns(pl.col("c", "t").cast(dtype))
    assert_frame_equal(pf.evaluate(cast, metrics, **roles), pf.evaluate(ROWS, metrics, **roles))
    lazy = pf.evaluate(cast.lazy(), metrics, **roles)
    assert_frame_equal(lazy.collect(engine="streaming"), pf.evaluate(ROWS, metrics, **roles))


def test_a_list_of_classes_is_refused() -> None:
    several = pl.concat_list("c", "t")
    for metric in (fairness.macro_f1, fairness.macro_recall, fairness.multiclass_accuracy):
        with pytest.raises(TypeError, match=rf"`{metric.name}` expects one class per row"):
            metric(ROWS.lazy(), pred=several, label="t")


def test_many_classes_and_groups() -> None:
    rows = pl.DataFrame({"c": draw.integers(0, 2000, 20_000), "t": draw.integers(0, 2000, 20_000)})
    theirs = scikit.f1_score(rows["t"], rows["c"], average="macro")
    assert fairness.macro_f1(rows, **CLASSED) == pytest.approx(theirs, rel=1e-12)
    groups = rows.with_columns(g=pl.int_range(pl.len()) % 10_000)
    assert fairness.macro_f1(groups, **CLASSED, by="g").height == 10_000


# numbers


def test_comparisons_of_errors_are_those_of_the_public_rates() -> None:
    roles = {"group": "g", **NUMBERED}
    for weight in (None, "m"):
        for ref in (None, "a", pf.OVERALL, pf.REST):
            more = {**roles, "weight": weight, "ref": ref}
            for rate, ratio in (
                (fairness.mae, fairness.mae_ratio),
                (fairness.rmse, fairness.rmse_ratio),
            ):
                assert pf.ratio(rate)(ROWS, **more) == pytest.approx(ratio(ROWS, **more), rel=1e-12)
            mean = fairness.mean_prediction
            assert pf.ratio(mean)(ROWS, **more) == pytest.approx(
                fairness.mean_ratio(ROWS, **more), rel=1e-12
            )
            assert pf.difference(mean)(ROWS, **more) == pytest.approx(
                fairness.mean_difference(ROWS, **more), rel=1e-12
            )


OFFSETS = {"near zero": {"a": 0.0, "b": 0.0, "c": 0.0}, "far": {"a": 1e8, "b": 1e8, "c": 1e8},
           "apart": {"a": 1e8, "b": 0.0, "c": -1e8}}  # fmt: skip


@pytest.mark.parametrize("offsets", OFFSETS.values(), ids=OFFSETS)
@pytest.mark.parametrize("weight", [None, "w", "m"])
def test_r2_far_from_zero(offsets: dict[str, float], weight: str | None) -> None:
    """Groups may be far from zero, and from one another: sums of squares would have no digits."""
    off = pl.col("g").replace_strict(offsets, return_dtype=pl.Float64)
    far = ROWS.with_columns(pl.col("x", "z") + off)
    roles = {"group": "g", **NUMBERED, "weight": weight}
    found = pf.by_group(far, fairness.r2, **roles)
    tables = [fairness.outcomes(far[i::4], **roles) for i in range(4)]
    merged = [pf.measure(tables, way(fairness.r2)).item() for way in (pf.group_min, pf.group_max)]
    expected = []
    for name in "abc":
        part = far.filter(pl.col("g") == name)
        more = {"sample_weight": part[weight]} if weight else {}
        expected.append(scikit.r2_score(part["z"], part["x"], **more))
    assert found["value"].to_list() == pytest.approx(expected, rel=1e-8)
    assert merged == pytest.approx([min(expected), max(expected)], rel=1e-8)


def test_numbers_at_their_edges() -> None:
    one = pl.DataFrame({"p": [2.0], "y": [2.0]})
    assert [fairness.mae(one, **DECIDED), fairness.rmse(one, **DECIDED)] == [0, 0]
    assert math.isnan(fairness.r2(one, **DECIDED))
    part = pl.DataFrame({"p": [1.0, 5.0, None, math.nan], "y": [2.0, None, 3.0, 4.0]})
    assert fairness.mean_prediction(part, pred="p") == 3
    assert fairness.mae(part, **DECIDED) == 1
    found = pf.evaluate(
        part, [fairness.mean_prediction, fairness.mae, fairness.r2], **DECIDED, counts=True
    )
    assert found.select(r"^.*_n$").row(0) == (2, 1, 1)
    # The mean of three equal floats may be another float.
    thirds = pl.DataFrame({"p": [0.1, 0.2, 0.3], "y": [0.1] * 3})
    assert fairness.r2(thirds, **DECIDED) == -math.inf
    assert math.isnan(fairness.r2(thirds.with_columns(p="y"), **DECIDED))
    infinite = pl.DataFrame({"p": [math.inf, 1.0], "y": [0.0, 1.0]})
    assert fairness.mae(infinite, **DECIDED) == math.inf
    none = pl.DataFrame({"p": [1.0], "y": [1.0], "w": [0.0]})
    for metric in (fairness.mae, fairness.rmse, fairness.r2, fairness.mean_prediction):
        assert math.isnan(metric(none, **DECIDED, weight="w"))


def test_decimals_and_small_integers() -> None:
    rows = pl.DataFrame({"p": [100, 100, 27], "y": [-100, 100, 28]})
    for dtype in (pl.Int8, pl.Decimal(10, 2), pl.Float32):
        cast = rows.with_columns(pl.all().cast(dtype))
        assert fairness.mae(cast, **DECIDED) == pytest.approx(201 / 3)
        assert fairness.rmse(cast, **DECIDED) == pytest.approx(math.sqrt(40_001 / 3))
        theirs = scikit.r2_score(rows["y"], rows["p"])
        assert fairness.r2(cast, **DECIDED) == pytest.approx(theirs, rel=1e-12)
