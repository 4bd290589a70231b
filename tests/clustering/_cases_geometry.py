"""Generated points in clusters: every degenerate situation is a slice of a seeded frame."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

import polarsfair as pf
from tests._oracle import Case

SIZE = 14
EVERY = (None, "manhattan", "sqeuclidean", "cosine", "hamming")


def points(clusters: Sequence[Any], seed: int) -> pl.DataFrame:
    """Rows with a cluster, two features, a group and a frequency; a situation per slice."""
    draw = random.Random(seed)
    one, two, three = clusters[:3]

    def near(cluster: Any, wide: float = 2.0) -> tuple[Any, ...]:
        place = 3.0 * clusters.index(cluster)
        return cluster, place + draw.uniform(-wide, wide), 1 + draw.uniform(-wide, wide)

    def some(size: int = SIZE, of: Sequence[Any] = clusters, **how: float) -> list[tuple[Any, ...]]:
        return [near(draw.choice(of), **how) for _ in range(size)]

    situations: dict[str | None, list[tuple[Any, ...]]] = {
        "apart": some(wide=0.5),
        "overlapping": some(wide=6.0),
        "grid": [
            (draw.choice(clusters), draw.randint(0, 3), draw.randint(1, 3)) for _ in range(SIZE)
        ],
        "nulls": [
            *[(draw.choice([c, None]), x, draw.choice([y, y, None])) for c, x, y in some()],
            (one, None, 1.0),
        ],
        "one cluster": some(of=[two]),
        "one alone": [*some(of=[one, two]), near(three)],
        "all alone": [near(c) for c in clusters],
        "one row": some(1),
        "two rows": [near(one), near(two)],
        "points": [(c, float(i), 2.0 * i + 1) for i, c in enumerate(clusters) for _ in range(3)],
        "the same point": [(c, 2.0, 1.0) for c in clusters for _ in range(2)],
        "the same mean": [(one, -1.0, 1.0), (one, 1.0, 1.0), (two, 0.0, -1.0), (two, 0.0, 3.0)],
        "zeros": [*some(of=[one, two]), (one, 0.0, 0.0), (two, 0.0, 0.0), (two, 0.0, 0.0)],
        "no clusters": [(None, 1.0, 2.0)] * 2,
        None: some(wide=3.0),
    }
    lines = [(name, *point) for name, found in situations.items() for point in found]
    draw.shuffle(lines)
    frame = pl.DataFrame(
        lines, schema=["part", "c", "x", "y"], orient="row", infer_schema_length=None
    )
    return frame.with_columns(
        pl.col("x", "y").cast(pl.Float64),
        pl.Series("times", [draw.choice((0, 1, 1, 2)) for _ in lines], dtype=pl.UInt8),
        pl.Series("who", [draw.choice(("f", "m", "d", None)) for _ in lines]),
    )


def _table(frame: pl.DataFrame, weight: str | None, by: str | None) -> pl.DataFrame:
    return frame.select(
        (pl.lit(None, pl.String) if by is None else pl.col(by)).alias("slice"),
        pl.col("who").alias("group"),
        "x",
        "y",
        cluster="c",
        weight=pl.lit(1) if weight is None else pl.col(weight).cast(pl.Int64),
    )


def _asks(*names: str) -> Callable[[pf.Metric], bool]:
    return lambda metric: metric.name in names


ASKED: list[tuple[Callable[[pf.Metric], bool], Sequence[Any]]] = [
    (
        _asks("silhouette", "silhouette_by_cluster", "beta_cv", "normalized_cut", "modularity"),
        EVERY,
    ),
    (_asks("dunn", "c_index"), EVERY[:-1]),
    (_asks("hubert_distances", "normalized_hubert_distances"), EVERY[:-2]),
    (
        _asks("ball_hall", "calinski_harabasz", "davies_bouldin", "dunn_centroid", "xie_beni"),
        (None,),
    ),
]


def _cases(
    name: str, frame: pl.DataFrame, *, by: str | None = "part", weight: str | None = None
) -> list[Case]:
    roles = {"cluster": "c", "features": ["x", "y"]} | ({"weight": weight} if weight else {})
    tables = {"points": _table(frame, weight, by)}
    return [
        Case(
            f"points {name}",
            frame,
            roles,
            tables,
            asked,
            by,
            {"metric": kinds, "dispersion": (None, "mean")},
        )
        for asked, kinds in ASKED
    ]


def _fairness_cases() -> list[Case]:
    frame = points(["a", "b", "c"], 9)
    cases = []
    for name, weight in (("plain", None), ("weighted", "times")):
        roles = {"group": "who", "cluster": "c", "features": ["x", "y"]}
        roles |= {"weight": weight} if weight else {}
        options = {"ref": (None, pf.OVERALL, pf.REST, "f"), "metric": EVERY}
        tables = {"rows": _table(frame, weight, "part")}
        asked = _asks("silhouette_difference")
        cases.append(Case(f"silhouettes {name}", frame, roles, tables, asked, "part", options))
    return cases


CASES = [
    *_cases("of integers", points([3, -1, 0, 10], 1)),
    *_cases("of text weighted", points(["a", "b", "c"], 2), weight="times"),
    *_cases("without slices", points(["u", "v", "w"], 3), by=None),
    *_cases("of no rows", points([1, 2, 3], 4).clear(), by=None),
]
FAIRNESS = _fairness_cases()
"""Cases of `fairness`: its metric of silhouettes."""
