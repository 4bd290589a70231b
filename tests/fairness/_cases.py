"""Generated decisions and classes: every degenerate situation is a slice of a seeded frame."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

import polarsfair as pf
from tests._oracle import Case
from tests.fairness import _cases_outcomes, _cases_scores

Row = tuple[Any, ...]
"""Group, prediction, label."""

ALPHAS = (None, 0, -1, 0.5, 1, 3)
SIZE = 36


@dataclass(frozen=True)
class Draw:
    """Draws rows from a seeded stream."""

    stream: random.Random
    groups: Sequence[Any]
    outcomes: Sequence[Any]

    def rows(
        self,
        size: int = SIZE,
        *,
        groups: Sequence[Any] | None = None,
        pred: Sequence[Any] | None = None,
        label: Sequence[Any] | None = None,
    ) -> list[Row]:
        """Draw rows; what is not narrowed down is drawn from everything."""
        sources = (groups or self.groups, pred or self.outcomes, label or self.outcomes)
        return [tuple(map(self.stream.choice, sources)) for _ in range(size)]

    def with_nulls(self) -> list[Row]:
        """Draw rows with nulls in every role."""
        maybe = [*self.outcomes, *self.outcomes, None]
        return self.rows(2 * SIZE, groups=[*self.groups, None], pred=maybe, label=maybe)

    def usual(self) -> dict[str | None, list[Row]]:
        """Give the situations that any kind of outcome can be in."""
        first, *others = self.groups
        return {
            "plain": self.rows(),
            "nulls": self.with_nulls(),
            "small": self.rows(5),
            "no reference": self.rows(groups=others),
            "one group": self.rows(groups=[first]),
            "one group and the unknown": self.rows(groups=[first, None]),
            "unknown groups": self.rows(groups=[None]),
            "no predictions": self.rows(pred=[None]),
            "no labels": self.rows(label=[None]),
            None: self.with_nulls(),
        }


def decisions(groups: Sequence[Any], seed: int) -> pl.DataFrame:
    """Rows of 0/1 decisions for at least three groups, a situation per slice."""
    draw = Draw(random.Random(seed), groups, (0, 1))
    first, second, third = groups[:3]
    tied = {first: 3, second: 1, third: 5}
    situations = draw.usual() | {
        "all positive": draw.rows(label=[1]),
        "all negative": draw.rows(label=[0]),
        "all selected": draw.rows(pred=[1]),
        "none selected": draw.rows(pred=[0]),
        "all false negatives": draw.rows(pred=[0], label=[1]),
        "perfect": [(g, y, y) for g, _, y in draw.rows()],
        "reference never selected": [(g, p * (g != first), y) for g, p, y in draw.rows()],
        "one group without benefit": [
            (g, 0, 1) if g == second else (g, p, y) for g, p, y in draw.rows()
        ],
        "classes apart": [(first, 1, 1), (first, 0, 0), (second, 1, 1), (third, 1, 0)] * 3,
        # Rates of 1/5, 3/5 and 1: the two differences are equal, but not as floats.
        "tie": [(g, int(i < n), i % 2) for g, n in tied.items() for i in range(5)],
    }
    return _frame(situations, draw.stream)


def classes(groups: Sequence[Any], names: Sequence[Any], seed: int) -> pl.DataFrame:
    """Rows of predictions among at least three classes, a situation per slice."""
    draw = Draw(random.Random(seed), groups, names)
    first, second, third = groups[:3]
    one, two, three = names[:3]
    situations = draw.usual() | {
        "one class": draw.rows(pred=[two], label=[two]),
        "class never predicted": draw.rows(pred=[one, two]),
        "class never true": draw.rows(label=[three]),
        "class of the unknown": [(first, one, one), (second, two, one), (None, three, three)] * 3,
        "true classes partly shared": [
            *draw.rows(groups=[first], label=[one, two]),
            *draw.rows(groups=[second], label=[two, three]),
            *draw.rows(groups=[third], label=[three]),
        ],
        "no true class shared": [
            *draw.rows(9, groups=[first], label=[one]),
            *draw.rows(9, groups=[second], label=[two]),
        ],
    }
    return _frame(situations, draw.stream)


def _frame(situations: Mapping[str | None, Sequence[Row]], draw: random.Random) -> pl.DataFrame:
    """Put the situations in one frame with weights and scores, in no order."""
    lines = [(name, *row) for name, rows in situations.items() for row in rows]
    draw.shuffle(lines)
    # The small samples weigh less than a row each: they have no degrees of freedom.
    scale = [0.1 if line[0] == "small" else 1.0 for line in lines]
    return pl.DataFrame(lines, schema=["part", "who", "said", "was"], orient="row").with_columns(
        pl.Series("times", [draw.choice((0, 1, 2, 5)) for _ in lines], dtype=pl.UInt16),
        pl.Series("mass", [x * draw.choice((0.0, 0.5, draw.random(), 7.25)) for x in scale]),
        pl.Series("chance", [draw.choice((0.0, 1.0, draw.random(), None)) for _ in lines]),
    )


def rows_of(
    frame: pl.DataFrame, roles: Mapping[str, Any], by: str | None, *, binary: bool
) -> pl.DataFrame:
    """Give the table `rows` that the statements read, as `queries/README.md` has it."""
    frame = frame.with_columns(pl.selectors.float().fill_nan(None))
    given = {role: frame[column] for role, column in roles.items() if role != "group"}
    pred, label = (given.get(role, _missing(frame)) for role in ("pred", "label"))
    several = isinstance(pred.dtype, pl.List)
    outcome = pl.Boolean if binary else label.dtype
    table = frame.select(
        (pl.lit(None, pl.String) if by is None else pl.col(by)).alias("slice"),
        _group(roles["group"]).alias("group"),
        pred=pl.lit(None, outcome) if several else pred.cast(outcome),
        label=label.cast(outcome),
        score=given.get("score", _missing(frame)).cast(pl.Float64),
        weight=given.get("weight", pl.repeat(1, frame.height, eager=True)).cast(pl.Float64),
    )
    alone = pl.when(pl.col("pred").is_not_null()).then(pl.concat_list("pred"))
    return table.with_columns(preds=pred if several else alone)


def _missing(frame: pl.DataFrame) -> pl.Series:
    return pl.repeat(None, frame.height, dtype=pl.Null, eager=True)


def _group(group: str | Sequence[str]) -> pl.Expr:
    if isinstance(group, str):
        return pl.col(group)
    known = pl.all_horizontal(pl.col(part).is_not_null() for part in group)
    return pl.when(known).then(pl.struct(group))


def _case(
    name: str,
    frame: pl.DataFrame,
    serves: Callable[[pf.Metric], bool],
    *,
    ref: Any = None,
    thorough: bool = False,
    by: str | None = "part",
    binary: bool = True,
    **roles: Any,
) -> Case:
    """Make a case; `ref` is a group to try as the reference. Thorough ones try every option."""
    roles = {"group": "who", "pred": "said", "label": "was", **roles}
    roles = {role: column for role, column in roles.items() if column is not None}
    references = [None, pf.OVERALL, pf.REST, ref] if thorough else [ref, pf.REST]
    options = {
        "ref": references,
        "alpha": ALPHAS if thorough else ALPHAS[:2],
        "reduce": (None, "max"),
        "unseen": (None, "uniform"),
        "p": (None, 1, 3.5) if thorough else (None,),
    }
    table = rows_of(frame, roles, by, binary=binary)
    return Case(name, frame, roles, {"rows": table}, serves, by, options)


def _decides(metric: pf.Metric) -> bool:
    return metric.tally.name == "fairness.decisions"


def _classifies(metric: pf.Metric) -> bool:
    return metric.tally.name == "fairness.classes" and "strata" not in metric.roles


def _individual(metric: pf.Metric) -> bool:
    return metric.kind == "individual" and "features" not in metric.roles


def _by_class(metric: pf.Metric) -> bool:
    return _classifies(metric) and "class" in metric.keys


def _decision_cases() -> list[Case]:
    """Weights of every kind, slices and none, no rows at all, soft predictions."""
    text = decisions(["M", "Frau", "ж", "性"], 1)
    whole = decisions([3, -7, 0, 10**12], 2)
    soft = {"serves": _individual, "pred": None, "score": "chance", "thorough": True}
    return [
        _case("text", text, _decides, ref="M", thorough=True),
        _case("integers", whole, _decides, ref=3, weight="times", thorough=True),
        _case("text weighted", text, _decides, ref="Frau", weight="mass", thorough=True),
        _case("no slices", text, _decides, ref="ж", by=None),
        _case("no rows", text.clear(), _decides, by=None),
        _case("no rows sliced", text.clear(), _decides),
        _case("scores", text, **soft),
        _case("scores weighted", whole, weight="mass", **soft),
    ]


def _dtype_cases() -> list[Case]:
    """Groups, predictions and labels of every dtype."""
    letters, numbers = ["a", "b", "c"], [0, 1, 2, 3]
    real = pl.col("said", "was").cast(pl.Float64).fill_null(float("nan"))
    boolean = pl.col("said", "was").cast(pl.Boolean)
    who = pl.col("who")
    pairs = decisions(numbers, 7).with_columns(
        sex=pl.when(pl.col("part").str.len_chars() % 7 != 0).then(who % 2),
        race=who.replace_strict({0: "x", 1: "x", 2: "y", 3: "y"}, default=None),
    )
    frames: dict[str, tuple[pl.DataFrame, Any]] = {
        "Booleans": (decisions(numbers, 3).with_columns(who != 1, real), True),
        "categories": (decisions(letters, 5).with_columns(who.cast(pl.Categorical)), "a"),
        "enumerated": (decisions(letters, 6).with_columns(who.cast(pl.Enum("cbaz"))), "b"),
        "NaN": (
            decisions(numbers, 6).with_columns(
                who.cast(pl.Float64).fill_null(float("nan")), boolean
            ),
            2.0,
        ),
    }
    return [
        *(_case(name, frame, _decides, ref=ref) for name, (frame, ref) in frames.items()),
        _case("pairs", pairs, _decides, ref={"sex": 1, "race": "y"}, group=["sex", "race"]),
    ]


def _class_cases() -> list[Case]:
    """Classes of every dtype, one or several a row."""
    text = classes(["M", "Frau", "ж", "性"], ["cat", "dog", "", "Ω"], 11)
    whole = classes([2, 1, 0], [10, -1, 0], 12)
    categories = text.with_columns(pl.col("who", "said", "was").cast(pl.Categorical))
    flags = decisions(["a", "b", "c"], 13).with_columns(pl.col("said", "was").cast(pl.Boolean))
    others = (pl.col("said").shift(1), pl.col("was").shift(2))
    chosen = pl.concat_list("said", *others).list.drop_nulls().list.head(pl.col("times") - 1)
    several = text.with_columns(said=pl.when(pl.col("times") > 0).then(chosen))
    asked = {"serves": _classifies, "binary": False}
    lists = {"serves": _by_class, "binary": False}
    return [
        _case("text classes", text, ref="M", thorough=True, **asked),
        _case("integer classes", whole, ref=2, weight="times", thorough=True, **asked),
        _case("Boolean classes", flags, ref="a", weight="mass", **asked),
        _case("categories of classes", categories, ref="ж", by=None, weight="mass", **asked),
        _case("no class rows", text.clear(), by=None, **asked),
        _case("lists of classes", several, ref="M", thorough=True, **lists),
        _case("lists of classes weighted", several, ref="ж", weight="mass", **lists),
    ]


CASES = [
    *_decision_cases(),
    *_dtype_cases(),
    *_class_cases(),
    *_cases_scores.cases(decisions),
    *_cases_outcomes.cases(decisions),
]
