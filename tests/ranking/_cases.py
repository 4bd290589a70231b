"""Generated lists: every degenerate situation of users is in every slice of seeded frames.

DuckDB's side is always written out: a slice that only one frame has becomes a copy of the other
frame for each of its values, and what `users` says of a user is written into every row.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

import polarsfair as pf
from polarsfair import ranking
from polarsfair.ranking._lists.list_values import Mean
from tests._oracle import Case

ITEMS = list(range(14))
QUALITY = {ranking.lists.name, ranking.gains.name}
ROLES = {"user": "user", "item": "item", "relevance": "grade"}

RECS = {"user": pl.Int64, "item": pl.Int64, "score": pl.Float64}
ACTUAL = {"user": pl.Int64, "item": pl.Int64, "grade": pl.Float64}


def is_linear(metric: pf.Metric) -> bool:
    """Whether a metric is a sum over hits, so that it has a mean over all orders of ties."""
    return isinstance(metric.formula, Mean) and not metric.formula.in_order


def is_graded(metric: pf.Metric) -> bool:
    """Whether a metric has graded forms."""
    return "gain" in metric.option_names


def lists(seed: int, *, ties: bool = False, repeats: bool = False, clean: bool = False) -> Any:
    """Recommendations and ground truth of some twenty users, many of them odd ones."""
    draw = random.Random(seed)
    recs: list[tuple[Any, ...]] = []
    actual: list[tuple[Any, ...]] = []
    for user in range(20):
        shown = draw.sample(ITEMS, draw.choice((1, 2, 5, 8, 12)))
        relevant = draw.sample(ITEMS, draw.choice((1, 2, 3, 7, 11)))
        scores = [round(draw.random(), 1 if ties else 9) for _ in shown]
        grades: list[Any] = [draw.choice((1.0, 1.0, 2.0, 3.0)) for _ in relevant]
        if user % 5 == 1:
            grades = [draw.choice((0.0, 1.0, None, float("nan"), -1.0)) for _ in relevant]
        if user not in (3, 17):
            recs += [(user, i, s) for i, s in zip(shown, scores, strict=True)]
        if user not in (4, 18):
            actual += [(user, i, g) for i, g in zip(relevant, grades, strict=True)]
    if repeats:
        recs += [(u, i, s - 0.3) for u, i, s in draw.sample(recs, 12)]
        actual += [(u, i, 2.0) for u, i, _ in draw.sample(actual, 12)]
    if not clean:
        recs += [(None, 3, 0.5), (2, None, 0.9), (5, 13, None), (5, 12, float("nan"))]
        actual += [(None, 3, 1.0), (6, None, 1.0), (4, None, 1.0)]
    draw.shuffle(recs)
    draw.shuffle(actual)
    return (
        pl.DataFrame(recs, schema=RECS, orient="row").unique(maintain_order=True),
        pl.DataFrame(actual, schema=ACTUAL, orient="row"),
    )


def sliced(names: Sequence[Any], seed: int, **how: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Stack the frames of several seeds, each under a slice of both."""
    parts = [lists(seed + i, **how) for i in range(len(names))]
    recs, actual = (
        pl.concat(
            part[side].with_columns(pl.lit(name, dtype=pl.String).alias("day"))
            for name, part in zip(names, parts, strict=True)
        )
        for side in (0, 1)
    )
    return recs, actual


def plain(frame: pl.DataFrame, slices: str | None) -> pl.DataFrame:
    """Give the columns that the statements read."""
    score = pl.col("score" if "score" in frame.columns else "grade").fill_nan(None)
    return frame.select(
        (pl.col(slices) if slices else pl.lit(None, dtype=pl.String)).alias("slice"),
        "user",
        "item",
        score.alias("score"),
        score.alias("grade"),
        (pl.col("rank") if "rank" in frame.columns else pl.lit(None, dtype=pl.Int64)).alias("rank"),
    )


def crossed(frame: pl.DataFrame, values: pl.Series) -> pl.DataFrame:
    """Copy a frame for each value of a slice that it does not have."""
    return frame.join(values.unique(maintain_order=True).to_frame(), how="cross")


def case(
    name: str,
    recs: pl.DataFrame,
    actual: pl.DataFrame,
    *,
    by: str | None = None,
    only: Callable[[pf.Metric], bool] = lambda _: True,
    more: Mapping[str, Any] | None = None,
    written: tuple[pl.DataFrame, pl.DataFrame] | None = None,
    **options: Sequence[Any],
) -> Case:
    """Make a case; `written` are the frames as DuckDB sees them, where they differ."""

    def serves(metric: pf.Metric) -> bool:
        asked = set(options) - {"k"}
        taken = not asked or asked & set(metric.option_names)
        return metric.tally.name in QUALITY and bool(taken) and only(metric)

    order = {"rank": "rank"} if "rank" in recs.columns else {"score": "score"}
    shown, truth = written or (recs, actual)
    return Case(
        name=name,
        frame=recs,
        roles={"actual": actual, **ROLES, **order, **(more or {})},
        tables={"recs": plain(shown, by), "actual": plain(truth, by)},
        serves=serves,
        by=by,
        options=options,
    )


def _by_frames() -> list[Case]:
    """Slices of one frame alone, and of a frame of users."""
    recs, actual = lists(21, clean=True)
    models = pl.concat(
        part.with_columns(model=pl.lit(name))
        for name, part in (("old", recs), ("new", recs.filter(pl.col("user") != 7)))
    ).with_columns(
        score=pl.when(pl.col("model") == "old").then("score").otherwise(1 - pl.col("score"))
    )
    shops = actual.with_columns(shop=(pl.col("item") % 3).cast(pl.String))
    homes = pl.DataFrame(
        {"user": list(range(19)), "home": [["A", "B", None][u % 3] for u in range(19)]}
    )
    at_home = (recs.join(homes, on="user", how="left"), actual.join(homes, on="user", how="left"))
    over = {"average_over": (None, "all"), "empty": (None, 0), "k": (None, 3)}
    return [
        case(
            "models",
            models,
            actual,
            by="model",
            written=(models, crossed(actual, models["model"])),
            **over,
        ),
        case(
            "shops", recs, shops, by="shop", written=(crossed(recs, shops["shop"]), shops), **over
        ),
        case("homes", recs, actual, by="home", more={"users": homes}, written=at_home, **over),
    ]


def _cases() -> list[Case]:
    days = sliced(["mon", "tue", "wed", None], 1)
    tied = sliced(["mon", "tue"], 31, ties=True, clean=True)
    again = sliced(["mon", "tue"], 41, repeats=True)
    graded = sliced(["mon", "tue", "wed"], 51)
    places = pl.col("score").rank("ordinal", descending=True).over("day", "user").cast(pl.Int64)
    ranked = (
        sliced(["mon", "tue"], 61, clean=True)[0].with_columns(rank=places),
        sliced(["mon", "tue"], 61, clean=True)[1],
    )
    conventions = (
        "jurity",
        "rectools",
        "ranx",
        "trec",
        "replay",
        "recommenders",
        "spark",
        "lenskit",
    )
    short = (None, 1, 4)
    by_metric = [
        case("days", *days, by="day", k=(None, 1, 3, 10)),
        case("all", *lists(11), k=(None, 1, 2, 5, 64, 65)),
        case("conventions", *days, by="day", convention=conventions, k=short),
        case(
            "users",
            *days,
            by="day",
            average_over=("relevant", "both", "all"),
            empty=("drop", 0, 1, "null"),
            k=(3,),
        ),
        case(
            "precision by",
            *days,
            by="day",
            precision_by=("retrieved", "k", "min(k, n_rel)", "n_rel"),
            k=short,
        ),
        case("recall by", *days, by="day", recall_by=("n_rel", "min(k, n_rel)"), k=short),
        case(
            "map by",
            *days,
            by="day",
            map_by=("min(k, n_rel)", "n_rel", "k", "hits", "min(n_rel, retrieved)"),
            k=short,
        ),
        case("ideal over", *days, by="day", ideal_over=("n_rel", "min(k, n_rel)", "k"), k=short),
        case(
            "discounts",
            *days,
            by="day",
            discount=("late_log", "reciprocal", "geometric"),
            k=(None, 4),
        ),
        case("options", *days, by="day", gain=("binary",), max_grade=(3,), p=(0.5,), k=(None, 4)),
        case("plans", *days, by="day", plan=("hits first", "window"), k=(None, 4)),
        case(
            "grades",
            *graded,
            by="day",
            only=is_graded,
            gain=("linear", "exponential"),
            max_grade=(3,),
            discount=(None, "reciprocal"),
            k=short,
        ),
        case(
            "grades cut",
            *graded,
            by="day",
            only=lambda metric: is_graded(metric) and "ideal_over" in metric.option_names,
            gain=("linear",),
            ideal_over=("min(k, n_rel)",),
            k=short,
        ),
        case("ties", *tied, by="day", ties=("item", "optimistic", "pessimistic"), k=short),
        case(
            "ties of grades",
            *tied,
            by="day",
            only=is_graded,
            ties=("optimistic", "pessimistic"),
            gain=("linear", "exponential"),
            max_grade=(3,),
            k=short,
        ),
        case("expected", *tied, by="day", only=is_linear, ties=("expected",), k=(None, 1, 4)),
        case(
            "expected grades",
            *tied,
            by="day",
            only=lambda metric: is_graded(metric) and is_linear(metric),
            ties=("expected",),
            gain=("exponential",),
            k=(None, 3),
        ),
        case(
            "repeats",
            *again,
            by="day",
            repeats=("once", "drop"),
            plan=("hits first", "window"),
            k=short,
        ),
        case(
            "repeats of grades",
            *again,
            by="day",
            only=is_graded,
            repeats=("once", "drop"),
            gain=("linear", "exponential"),
            max_grade=(3,),
            k=short,
        ),
        case("ranks", *ranked, by="day", k=(None, 1, 2, 64, 65)),
        case("empty", days[0].clear(), days[1].clear(), k=(None, 3)),
        case("no recommendations", days[0].clear(), days[1], by="day", k=(None, 3)),
        case(
            "no truth",
            days[0],
            days[1].clear(),
            by="day",
            average_over=(None, "all"),
            empty=(None, 0),
            k=(None, 3),
        ),
    ]
    return by_metric + _by_frames()


CASES = _cases()
