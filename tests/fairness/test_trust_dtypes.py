"""Columns of unusual dtypes in every role: the number of a plain column, or one of our errors."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from polars.exceptions import InvalidOperationError

import polarsfair as pf
from polarsfair import clustering, fairness
from polarsfair.fairness.mitigation import DemographicParity

SIZE = 24
ROWS = pl.DataFrame(
    {
        "g": [i % 3 for i in range(SIZE)],
        "p": [i * 7 % 5 % 2 for i in range(SIZE)],
        "y": [i * 11 % 7 % 2 for i in range(SIZE)],
        "s": [i * 29 % 17 / 16 for i in range(SIZE)],
        "c": [i * 5 % 7 % 3 for i in range(SIZE)],
        "t": [i * 3 % 5 % 3 for i in range(SIZE)],
        "w": [1 + i % 3 for i in range(SIZE)],
        "x": [float(i * 13 % 11) for i in range(SIZE)],
        "z": [float(i * 17 % 13) for i in range(SIZE)],
        "d": [i % 2 for i in range(SIZE)],
    }
)
WORDS = sorted({str(v) for column in ROWS for v in column})
TEXT = ("Categorical", "Enum", "String")


def columns(name: str) -> dict[str, pl.Series]:
    """Return a column in unusual dtypes."""
    column, text = ROWS[name], ROWS[name].cast(pl.String)
    return {
        "Decimal": column.cast(pl.Decimal(38, 6)),
        "Decimal of whole numbers": column.round().cast(pl.Decimal(38, 0)),
        "Int128": column.cast(pl.Int128),
        "Boolean": column > 0,
        "String": text,
        "Categorical": text.cast(pl.Categorical),
        "Enum": text.cast(pl.Enum(WORDS)),
        "Object": pl.Series(name, [object()] * SIZE, dtype=pl.Object),
        "Null": pl.Series(name, [None] * SIZE, dtype=pl.Null),
    }


def plain(name: str, dtype: str, column: pl.Series) -> pl.DataFrame:
    """Return the rows with a column in the dtype that everyone uses for such values."""
    number = pl.Float64 if name in "sxz" else pl.Int64
    return ROWS.with_columns(column.cast(pl.String if dtype in TEXT else number).alias(name))


CENTROIDS = pl.DataFrame({"x": [0.0, 5.0], "z": [1.0, 9.0]})
SCORED = {"group": "g", "score": "s", "label": "y", "weight": "w", "by": "d"}
NUMBERS = {"group": "g", "pred": "s", "label": "x", "weight": "w", "by": "d"}
CALLS: list[tuple[Any, dict[str, Any]]] = [
    (fairness.equalized_odds, {"group": "g", "pred": "p", "label": "y", "weight": "w", "by": "d"}),
    (fairness.theil, {"pred": "p", "label": "y", "weight": "w"}),
    (fairness.theil, {"score": "s", "label": "y", "weight": "w"}),
    (fairness.multiclass_average_odds, {"group": "g", "pred": "c", "label": "t", "weight": "w"}),
    (fairness.label_js, {"group": "g", "label": "t", "weight": "w", "by": "d"}),
    (fairness.precision_by_class, {"group": "g", "pred": "c", "label": "t"}),
    (fairness.abroca, SCORED),
    (fairness.brier, SCORED),
    (fairness.roc, SCORED),
    (
        fairness.conditional_demographic_disparity,
        {"group": "g", "label": "y", "strata": "c", "weight": "w", "by": "d"},
    ),
    (fairness.rmse_ratio, NUMBERS),
    (fairness.max_statistical_parity, {**NUMBERS, "label": "x"}),
    (fairness.consistency, {"pred": "p", "features": "x", "by": "d"}),
    (fairness.cluster_kl, {"group": "g", "cluster": "c", "weight": "w", "by": "d"}),
    (fairness.cluster_shares, {"group": "g", "cluster": "c", "weight": "w", "by": "d"}),
    (
        fairness.social_fairness_ratio,
        {"group": "g", "features": ["x", "z"], "centroids": CENTROIDS, "weight": "w", "by": "d"},
    ),
    (
        fairness.silhouette_difference,
        {"group": "g", "cluster": "c", "features": ["x", "z"], "weight": "w", "by": "d"},
    ),
]
CASES = [
    pytest.param(call, roles, role, dtype, id=f"{call.__name__}-{role}-{dtype}")
    for call, roles in CALLS
    for role in roles
    if role != "centroids"
    for dtype in columns("g")
]


KEYS = ("class", "group", "cluster", "d", "threshold")


def values(result: Any) -> list[float | None]:
    """Return all numbers of a result that are not keys, sorted."""
    if isinstance(result, (pl.DataFrame, pl.LazyFrame)):
        frame = result.lazy().collect()
        found = [v for name in frame.columns if name not in KEYS for v in frame[name]]
    else:
        found = [None if math.isnan(result) else result]
    return sorted(found, key=lambda v: (v is None, v))


def answer(call: Any, frame: pl.DataFrame | pl.LazyFrame, roles: dict[str, Any]) -> Any:
    """Return the numbers, or the error if it is one of ours; any other error is raised."""
    try:
        return values(call(frame, **roles))
    except (TypeError, ValueError) as error:
        return str(error)
    except InvalidOperationError as error:
        if "polarsfair: " not in str(error):
            raise
        return str(error)


@pytest.mark.parametrize(("call", "roles", "role", "dtype"), CASES)
def test_a_column_of_any_dtype_is_read_right_or_refused(
    call: Callable[..., Any], roles: dict[str, Any], role: str, dtype: str
) -> None:
    name = roles[role] if isinstance(roles[role], str) else roles[role][0]
    column = columns(name)[dtype]
    frame = ROWS.with_columns(column.alias(name))
    found, lazy = answer(call, frame, roles), answer(call, frame.lazy(), roles)
    if isinstance(found, str):
        assert dtype not in ("Decimal", "Decimal of whole numbers", "Int128"), found
        assert found.startswith(("`", "the feature")), found
        assert found in lazy.replace('\\"', '"')
        return
    assert dtype != "Object"
    assert lazy == pytest.approx(found)
    assert answer(call, plain(name, dtype, column), roles) == pytest.approx(found)


def test_an_object_column_that_no_role_names_changes_nothing() -> None:
    other = pl.Series("other", [object()] * SIZE, dtype=pl.Object)
    for call, roles in CALLS:
        assert values(call(ROWS.with_columns(other), **roles)) == values(call(ROWS, **roles))


BIG = 2**53
MIXED = {
    # Floats have no 2**53 + 1, and 64 bits no 2**63.
    "Decimal": (
        pl.Series([BIG, BIG + 1, BIG, BIG + 1]),
        pl.Series([Decimal(BIG)] * 3 + [Decimal(BIG + 1)], dtype=pl.Decimal(38, 0)),
        [0.5, None, 1.0, 1.0],
    ),
    "UInt64": (
        pl.Series([1, 2**63, 1, 2**63], dtype=pl.UInt64),
        pl.Series([1, 1, 1, 2**63], dtype=pl.Int128),
        [0.5, None, 1.0, 1.0],
    ),
    "Enum": (
        pl.Series(["a", "b", "a", "b"], dtype=pl.Enum(["b", "a"])),
        pl.Series(["a", "a", "a", "b"], dtype=pl.Enum(["c", "a", "b"])),
        [0.5, None, 1.0, 1.0],
    ),
    "Categorical": (
        pl.Series(["a", "b", "a", "b"], dtype=pl.Categorical),
        pl.Series(["a", "a", "a", "b"]),
        [0.5, None, 1.0, 1.0],
    ),
}


@pytest.mark.parametrize("case", MIXED)
def test_classes_of_two_dtypes_are_compared_exactly(case: str) -> None:
    said, was, expected = MIXED[case]
    rows = pl.DataFrame({"g": list("aabb"), "said": said, "was": was})
    recall = fairness.recall_by_class(rows, group="g", pred="said", label="was")
    assert recall["recall_by_class"].to_list() == expected
    lazy = fairness.recall_by_class(rows.lazy(), group="g", pred="said", label="was").collect()
    assert lazy.equals(recall)


def test_a_key_whose_hash_differs_between_runs_is_refused() -> None:
    fair = DemographicParity().fit(ROWS, label="y", pred="p", group="g")
    rows = ROWS.with_columns(pl.Series("o", [object()] * SIZE, dtype=pl.Object))
    with pytest.raises(TypeError, match="`key` is Object"):
        fair.transform(rows, key="o")
    assert fair.transform(rows, key="w").height == SIZE


def test_a_surrogate_is_named_in_its_error() -> None:
    rows = ROWS.with_columns(pl.Series("o", [object()] * SIZE, dtype=pl.Object), q=1 - pl.col("s"))
    with pytest.raises(TypeError, match="`surrogate` is Object, which cannot be grouped by"):
        fairness.surrogate_rates(rows, surrogate="o", group={"a": "s", "b": "q"}, pred="p")


def test_references_in_unusual_dtypes() -> None:
    for dtype, ref in (("Decimal", Decimal(1)), ("Categorical", "1"), ("Enum", "1"), ("Int128", 1)):
        rows = ROWS.with_columns(columns("g")[dtype])
        for metric, roles in CALLS:
            if isinstance(metric, pf.Metric) and "ref" in metric.option_names:
                found = metric(rows, **roles, ref=ref)
                assert values(found) == pytest.approx(values(metric(ROWS, **roles, ref=1)))


@pytest.mark.parametrize("start", [2**53, 2**62], ids=["53 bits", "62 bits"])
@pytest.mark.parametrize("fraction", [pl.Float64, pl.Decimal(38, 2)], ids=str)
def test_numbers_that_floats_do_not_hold_are_not_compared_with_fractions(
    start: int, fraction: pl.DataType
) -> None:
    rows = pl.DataFrame({"g": ["a", "b"], "p": [start, start + 1], "y": [start, start]})
    mixed = rows.with_columns(pl.col("y").cast(fraction))
    with pytest.raises(ValueError, match="more digits than a float has"):
        fairness.multiclass_equal_opportunity(mixed, group="g", pred="p", label="y")
    with pytest.raises(ValueError, match="more digits than a float has"):
        clustering.edge_modularity(mixed, cluster="p", other="y")
    small = rows.with_columns(pl.col("p", "y") - start)
    roles = {"group": "g", "pred": "p", "label": "y"}
    expected = fairness.recall_by_class(small, **roles)
    found = fairness.recall_by_class(small.with_columns(pl.col("y").cast(fraction)), **roles)
    assert found["recall_by_class"].to_list() == expected["recall_by_class"].to_list()
