"""Generated clusterings: every degenerate situation is a slice of a seeded frame."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

import polarsfair as pf
from tests._oracle import Case

Point = tuple[Any, Any]
"""Cluster and label."""

SIZE = 24
AVERAGES = (None, "geometric", "arithmetic", "min", "max")


def partitions(clusters: Sequence[Any], labels: Sequence[Any], seed: int) -> pl.DataFrame:
    """Rows with a cluster and a label, at least three of each, a situation per slice."""
    draw = random.Random(seed)

    def point(c: Sequence[Any] = clusters, y: Sequence[Any] = labels) -> Point:
        return draw.choice(c), draw.choice(y)

    pairs = list(zip(clusters, labels, strict=False))
    maybe, perhaps = [*clusters, *clusters, None], [*labels, *labels, None]
    situations: dict[str | None, list[Point]] = {
        "plain": [point() for _ in range(SIZE)],
        "alike": [draw.choice(pairs) if draw.random() < 0.8 else point() for _ in range(SIZE)],
        "the same": [draw.choice(pairs) for _ in range(SIZE)],
        "nulls": [point(maybe, perhaps) for _ in range(SIZE)],
        "one cluster": [point(clusters[:1]) for _ in range(SIZE)],
        "one label": [point(y=labels[:1]) for _ in range(SIZE)],
        "one of each": [point(clusters[:1], labels[:1]) for _ in range(5)],
        "independent": [(c, y) for c in clusters[:2] for y in labels[:2] for _ in range(3)],
        "ties": [(clusters[0], y) for y in labels[:2] for _ in range(2)]
        + [(clusters[1], labels[0])] * 4,
        "all apart": list(zip(clusters, [labels[0], labels[0], labels[1]], strict=False)),
        "both apart": pairs,
        "two rows": [(clusters[0], labels[0]), (clusters[0], labels[1])],
        "one row": [point()],
        "no clusters": [point([None]) for _ in range(4)],
        "no labels": [point(y=[None]) for _ in range(4)],
        None: [point(maybe, perhaps) for _ in range(SIZE)],
    }
    lines = [(name, *pair) for name, found in situations.items() for pair in found]
    draw.shuffle(lines)
    frame = pl.DataFrame(lines, schema=["part", "c", "y"], orient="row", infer_schema_length=None)
    times = [draw.choice((0, 1, 2, 3)) for _ in lines]
    return frame.with_columns(pl.Series("times", times, dtype=pl.UInt8))


def points_of(frame: pl.DataFrame, roles: Mapping[str, Any], by: str | None) -> pl.DataFrame:
    """Give the table `points` that the statements read, as `queries/README.md` has it."""
    frame = frame.with_columns(pl.selectors.float().fill_nan(None))
    return frame.select(
        (pl.lit(None, pl.String) if by is None else pl.col(by)).alias("slice"),
        cluster="c",
        label="y",
        weight=pl.col(roles["weight"]).cast(pl.Int64) if "weight" in roles else pl.lit(1),
    )


def _external(metric: pf.Metric) -> bool:
    return metric.tally.name == "clustering.contingency" and not _adjusted(metric)


def _adjusted(metric: pf.Metric) -> bool:
    return metric.name == "adjusted_mutual_information"


def _cases(
    name: str, frame: pl.DataFrame, *, noise: Any, by: str | None = "part", **more: Any
) -> list[Case]:
    """Make two cases, because the adjusted measure knows one average less."""
    roles = {"cluster": "c", "label": "y", **more}
    tables = {"points": points_of(frame, roles, by)}
    options: dict[str, Sequence[Any]] = {
        "noise": (None, noise),
        "base": (None, 2),
        "beta": (None, 0, 0.5, 3),
        "average": AVERAGES,
    }
    every = {**options, "average": (*AVERAGES, "joint")}
    asked: list[tuple[Callable[[pf.Metric], bool], Any]] = [
        (_external, every),
        (_adjusted, options),
    ]
    return [Case(name, frame, roles, tables, serves, by, tried) for serves, tried in asked]


def _external_cases() -> list[Case]:
    whole = partitions([3, -1, 0, 10**12], [1, 2, 5], 1)
    text = partitions(["a", "ж", "", "c"], ["x", "y", "z", "性"], 2)
    flags = partitions([0, 1, 2], [0, 1, 2], 3).with_columns(pl.col("y") > 0)
    number = pl.col("c").cast(pl.Float64).fill_null(float("nan"))
    fixed = pl.col("c").cast(pl.Enum(["d", "c", "b", "a"]))
    kinds = partitions(["a", "b", "c", "d"], ["x", "y", "z"], 4).with_columns(
        fixed, pl.col("y").cast(pl.Categorical)
    )
    return [
        *_cases("integers", whole, noise=-1),
        *_cases("integers weighted", whole, noise=-1, weight="times"),
        *_cases("text", text, noise="ж", weight="times"),
        *_cases("Booleans and NaN", flags.with_columns(number), noise=2),
        *_cases("categories", kinds, noise="c"),
        *_cases("no slices", text, noise="a", by=None),
        *_cases("no rows", text.clear(), noise="a", by=None),
        *_cases("no rows sliced", whole.clear(), noise=3),
    ]


# --- edges --------------------------------------------------------------------------------------


def edge_list(names: Sequence[Any], seed: int) -> pl.DataFrame:
    """Edges by the clusters of their two ends, a situation per slice."""
    draw = random.Random(seed)

    def edge(ends: Sequence[Any] = names, inside: float = 0.0) -> Point:
        one = draw.choice(ends)
        return one, one if draw.random() < inside else draw.choice(ends)

    situations: dict[str | None, list[Point]] = {
        "plain": [edge() for _ in range(SIZE)],
        "communities": [edge(inside=0.8) for _ in range(SIZE)],
        "one cluster": [edge(names[:1]) for _ in range(5)],
        "only between": [(names[0], names[1]), (names[2], names[0]), (names[1], names[2])],
        "nulls": [edge([*names, None]) for _ in range(SIZE)],
        "no ends": [edge([None]) for _ in range(3)],
        "one edge": [edge()],
        None: [edge([*names, None], inside=0.5) for _ in range(SIZE)],
    }
    lines = [(name, *pair) for name, found in situations.items() for pair in found]
    draw.shuffle(lines)
    frame = pl.DataFrame(lines, schema=["part", "a", "b"], orient="row", infer_schema_length=None)
    near = [draw.choice((0.0, 0.5, 1.0, draw.random())) for _ in lines]
    return frame.with_columns(pl.Series("near", near))


def _edge_case(name: str, frame: pl.DataFrame, by: str | None = "part", **more: Any) -> Case:
    roles = {"cluster": "a", "other": "b", **more}
    table = frame.select(
        (pl.lit(None, pl.String) if by is None else pl.col(by)).alias("slice"),
        cluster="a",
        other="b",
        weight="near" if more else pl.lit(1.0),
    )
    return Case(name, frame, roles, {"edges": table}, _of_edges, by)


def _of_edges(metric: pf.Metric) -> bool:
    return metric.tally.name == "clustering.edges"


def _edge_cases() -> list[Case]:
    whole, text = edge_list([1, -1, 7, 3], 5), edge_list(["a", "", "ж"], 6)
    return [
        _edge_case("edges", whole),
        _edge_case("edges weighted", whole, weight="near"),
        _edge_case("edges of text", text, weight="near"),
        _edge_case("edges without slices", text, by=None),
        _edge_case("no edges", text.clear(), by=None),
    ]


# --- groups in clusters -------------------------------------------------------------------------


def members(groups: Sequence[Any], clusters: Sequence[Any], seed: int) -> pl.DataFrame:
    """Rows with a group, a cluster and a place, a situation per slice."""
    draw = random.Random(seed)
    first, second, third = groups[:3]

    def row(g: Sequence[Any] = groups, c: Sequence[Any] = clusters) -> Point:
        return draw.choice(g), draw.choice(c)

    situations: dict[str | None, list[Point]] = {
        "plain": [row() for _ in range(2 * SIZE)],
        "nulls": [row([*groups, None], [*clusters, None]) for _ in range(2 * SIZE)],
        "balanced": [(g, c) for g in groups for c in clusters for _ in range(2)],
        "apart": [(first, clusters[0])] * 3 + [(second, clusters[1])] * 2,
        "absent": [(first, c) for c in clusters] + [(second, clusters[0]), (third, clusters[0])],
        "cluster of the unknown": [
            (first, clusters[0]),
            (second, clusters[0]),
            (None, clusters[1]),
        ],
        "uneven": [row() for _ in range(SIZE)] + [(first, c) for c in clusters for _ in range(9)],
        "no reference": [row([second, third]) for _ in range(SIZE)],
        "one group": [row([first]) for _ in range(6)],
        "unknown groups": [row([None]) for _ in range(6)],
        "unknown clusters": [row(c=[None]) for _ in range(6)],
        "a group without clusters": [(first, None), (second, clusters[0]), (third, clusters[1])],
        "one cluster": [row(c=clusters[:1]) for _ in range(SIZE)],
        None: [row([*groups, None], [*clusters, None]) for _ in range(SIZE)],
    }
    lines = [(name, *pair) for name, found in situations.items() for pair in found]
    draw.shuffle(lines)
    frame = pl.DataFrame(lines, schema=["part", "g", "c"], orient="row", infer_schema_length=None)
    places = [[draw.choice((None, *[round(draw.gauss(0, 3), 2)] * 9)) for _ in lines] for _ in "xy"]
    return frame.with_columns(
        pl.Series("times", [draw.choice((0, 1, 2, 5)) for _ in lines], dtype=pl.UInt16),
        pl.Series("mass", [draw.choice((0.0, 0.5, draw.random(), 7.25)) for _ in lines]),
        pl.Series("x", places[0], dtype=pl.Float64),
        pl.Series("y", places[1], dtype=pl.Float64),
    )


CENTROIDS = pl.DataFrame({"x": [0.0, 4.0, -3.0], "y": [0.0, 1.0, 5.0], "number": [1, 2, 3]})


def _member_case(
    name: str, frame: pl.DataFrame, *, ref: Any = None, by: str | None = "part", **more: Any
) -> Case:
    roles = {"group": "g", "cluster": "c", "features": ["x", "y"], "centroids": CENTROIDS, **more}
    weight = pl.col(more["weight"]).cast(pl.Float64) if "weight" in more else pl.lit(1.0)
    group = roles["group"] if isinstance(roles["group"], str) else None
    known = pl.all_horizontal(pl.col(part).is_not_null() for part in ("g", "c"))
    table = frame.select(
        (pl.lit(None, pl.String) if by is None else pl.col(by)).alias("slice"),
        (pl.when(known).then(pl.struct("g", "c")) if group is None else pl.col(group)).alias(
            "group"
        ),
        "x",
        "y",
        cluster="c",
        weight=weight,
    )
    places = CENTROIDS.select(cx="x", cy="y")
    options = {"ref": [None, pf.OVERALL, pf.REST, *([ref] if ref else [])], "base": (None, 2)}
    tables = {"rows": table, "centroids": places}
    return Case(name, frame, roles, tables, _of_groups, by, options)


def _of_groups(metric: pf.Metric) -> bool:
    return metric.tally.name in {"fairness.clusters", "fairness.nearest"}


def _member_cases() -> list[Case]:
    text = members(["M", "Frau", "ж"], [1, -1, 5], 7)
    whole = members([2, 1, 3, 10**12], ["a", "", "性"], 8)
    return [
        _member_case("clusters", text, ref="M"),
        _member_case("clusters weighted", text, ref="Frau", weight="mass"),
        _member_case("clusters of text", whole, ref=2, weight="times"),
        _member_case("clusters without slices", whole, ref=1, by=None),
        _member_case("groups that are pairs", text, ref={"g": "M", "c": 5}, group=["g", "c"]),
        _member_case("no members", text.clear(), by=None),
        _member_case("no members sliced", text.clear()),
    ]


CASES = [*_external_cases(), *_edge_cases()]
FAIRNESS = _member_cases()
"""Cases of `fairness`: its metrics of clusters."""
