"""Generated points with decisions: ties on a grid, repeated rows, unknown parts, small slices."""

import random

import polars as pl

import polarsfair as pf
from tests._oracle import Case

PARTS = {"plain": 30, "ties": 30, "small": 4, "one": 1, "nulls": 25, None: 12}


def points(seed: int) -> pl.DataFrame:
    """Rows of two features and a decision; whole coordinates, so that distances can be equal."""
    draw = random.Random(seed)
    lines = []
    for part, size in PARTS.items():
        side = 3 if part == "ties" else 1000
        unknown = [None] if part == "nulls" else []
        for _ in range(size):
            place = [float(draw.randrange(side)) for _ in range(2)]
            said = draw.choice([0, 1, *unknown])
            lines.append((part, draw.choice([place[0], place[0], *unknown]), place[1], said))
    lines += [("no decisions", 1.0, 2.0, None)] * 3
    draw.shuffle(lines)
    schema = {"part": pl.String, "x": pl.Float64, "y": pl.Float64, "said": pl.Int64}
    return pl.DataFrame(lines, schema=schema, orient="row")


def _case(name: str, frame: pl.DataFrame, by: str | None) -> Case:
    complete = pl.all_horizontal(pl.col("x", "y").is_not_null())
    table = frame.select(
        (pl.lit(None, pl.String) if by is None else pl.col(by)).alias("slice"),
        pred=pl.col("said").cast(pl.Boolean),
        features=pl.when(complete).then(pl.concat_list("x", "y")),
    )
    roles = {"pred": "said", "features": ["x", "y"]}
    counts = {"n_neighbors": (None, 1, 2, 3, 7)}
    return Case(name, frame, roles, {"rows": table}, _compares, by, counts)


def _compares(metric: pf.Metric) -> bool:
    return metric.tally.name == "fairness.neighbours"


CASES = [
    _case("points", points(1), "part"),
    _case("points without slices", points(2), None),
    _case("no points", points(3).clear(), None),
    _case("no points sliced", points(4).clear(), "part"),
]
