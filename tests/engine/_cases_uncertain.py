"""Generated decisions of people whose group is known as probabilities alone.

For the statements every row stands once per class, with its probability as weight.
"""

import itertools
import random

import polars as pl

import polarsfair as pf
from tests._oracle import Case

CHANCES = {"a": "in_a", "b": "in_b", "ж": "in_c"}


def people(seed: int) -> pl.DataFrame:
    """Rows in a few slices; probabilities in sixteenths, some of them 0 or 1."""
    draw = random.Random(seed)
    lines = []
    for part, classes in {"plain": 3, "two classes": 2, "certain": 1, None: 3}.items():
        for _ in range(40):
            cuts = sorted(draw.randrange(17) for _ in range(classes - 1))
            edges = [0, *cuts, 16]
            chances = [(high - low) / 16 for low, high in itertools.pairwise(edges)]
            chances += [0.0] * (3 - classes)
            if classes == 1:
                draw.shuffle(chances)
            outcomes = [draw.choice([0, 1, 0, 1, None]) for _ in range(2)]
            lines.append((part, *chances, *outcomes, draw.choice([0.0, 0.5, 1.0, 3.25])))
    names = ["part", *CHANCES.values(), "said", "was", "mass"]
    return pl.DataFrame(lines, schema=names, orient="row")


def _case(name: str, frame: pl.DataFrame, by: str | None, weight: str | None) -> Case:
    weighed = pl.col(weight) if weight else pl.lit(1.0)
    table = pl.concat(
        frame.select(
            (pl.lit(None, pl.String) if by is None else pl.col(by)).alias("slice"),
            pl.lit(who).alias("group"),
            pred=pl.col("said").cast(pl.Boolean),
            label=pl.col("was").cast(pl.Boolean),
            score=pl.lit(None, pl.Float64),
            weight=weighed * pl.col(chance),
        )
        for who, chance in CHANCES.items()
    )
    roles = {"group": CHANCES, "pred": "said", "label": "was", "weight": weight}
    given = {role: column for role, column in roles.items() if column is not None}
    options = {"ref": (None, pf.OVERALL, pf.REST, "b"), "alpha": (None, 0)}
    return Case(name, frame, given, {"rows": table}, _decides, by, options)


def _decides(metric: pf.Metric) -> bool:
    return metric.tally.name == "fairness.decisions"


CASES = [
    _case("probabilities", people(1), "part", None),
    _case("probabilities weighted", people(2), "part", "mass"),
    _case("probabilities without slices", people(3), None, None),
]
