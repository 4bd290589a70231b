"""Generated lists with outcomes, propensities and predictions: the cases of matched pairs."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

import polarsfair as pf
from polarsfair import ranking
from tests._oracle import Case

TALLIES = {ranking.matches.name, ranking.match_scores.name, ranking.user_matches.name}
ROLES = {"user": "user", "item": "item"}
SCORED = {"ctr_dr", "auc", "user_auc", "rmse_ratio", "mae_ratio"}
"""Metrics that need a score: ranks will not do."""

RECS = {
    "user": pl.Int64,
    "item": pl.Int64,
    "score": pl.Float64,
    "guess": pl.Float64,
    "sex": pl.String,
    "day": pl.String,
}
ACTUAL = {
    "user": pl.Int64,
    "item": pl.Int64,
    "click": pl.Float64,
    "chance": pl.Float64,
    "day": pl.String,
}


def logs(days: Sequence[Any], seed: int, *, ties: bool = False, repeats: bool = False) -> Any:
    """Recommendations and logged outcomes of a few users a day, many pairs in both."""
    draw = random.Random(seed)
    recs: list[tuple[Any, ...]] = []
    actual: list[tuple[Any, ...]] = []
    for day in days:
        for user in range(9):
            sex = ("F", "M", "X", None)[user % 4]
            shown = [] if user == 7 else draw.sample(range(9), draw.choice((1, 3, 6)))
            seen = [] if user == 8 else draw.sample(range(11), draw.choice((2, 5, 8)))
            for item in shown:
                score = round(draw.random(), 1 if ties else 9)
                recs.append((user, item, score, draw.random(), sex, day))
            for item in seen:
                click = draw.choice((0.0, 1.0, 1.0, None if user == 2 else 0.0))
                actual.append((user, item, click, draw.choice((0.1, 0.5, 0.25, 1.0)), day))
        recs += [(None, 3, 0.5, 0.1, "F", day), (3, None, 0.5, 0.2, "F", day)]
        actual += [(None, 3, 1.0, 0.5, day), (1, None, 1.0, 0.5, day)]
    if repeats:
        recs += [(u, i, s - 0.3, g, x, d) for u, i, s, g, x, d in draw.sample(recs, 9)]
        actual += [(u, i, 1.0, 0.5, d) for u, i, _, _, d in draw.sample(actual, 9)]
    draw.shuffle(recs)
    draw.shuffle(actual)
    return (
        pl.DataFrame(recs, schema=RECS, orient="row"),
        pl.DataFrame(actual, schema=ACTUAL, orient="row"),
    )


def tables(
    recs: pl.DataFrame, actual: pl.DataFrame, by: str | None, *, chances: bool, guesses: bool
) -> dict[str, pl.DataFrame]:
    """Give the columns that the statements read."""
    null = pl.lit(None, dtype=pl.Float64)
    piece = (pl.col(by) if by else pl.lit(None, dtype=pl.String)).alias("slice")
    score = pl.col("score").fill_nan(None) if "score" in recs.columns else null
    rank = pl.col("rank") if "rank" in recs.columns else pl.lit(None, dtype=pl.Int64)
    guess = pl.col("guess") if guesses else score
    value = pl.col("click").fill_nan(None)
    shown = {"group": pl.col("sex"), "score": score, "rank": rank, "predicted": guess}
    chance = pl.col("chance") if chances else null
    return {
        "recs": recs.select(piece, "user", "item", **shown),
        "actual": actual.select(piece, "user", "item", grade=value, value=value, propensity=chance),
    }


def case(
    name: str,
    recs: pl.DataFrame,
    actual: pl.DataFrame,
    *,
    by: str | None = None,
    only: Sequence[str] = (),
    but: Sequence[str] = (),
    chances: bool = False,
    guesses: bool = False,
    more: Mapping[str, Any] | None = None,
    written: tuple[pl.DataFrame, pl.DataFrame] | None = None,
    **options: Sequence[Any],
) -> Case:
    """Make a case; `written` are the frames as DuckDB sees them, where they differ."""
    order = {"rank": "rank"} if "rank" in recs.columns else {"score": "score"}
    given = {"relevance": "click", "group": "sex", **(more or {})}
    given |= {"propensity": "chance"} if chances else {}
    given |= {"predicted": "guess"} if guesses else {}

    def serves(metric: pf.Metric) -> bool:
        return (
            metric.tally.name in TALLIES
            and (not only or metric.name in only)
            and metric.name not in but
        )

    return Case(
        name=name,
        frame=recs,
        roles={"actual": actual, **ROLES, **order, **given},
        tables=tables(*(written or (recs, actual)), by, chances=chances, guesses=guesses),
        serves=serves,
        by=by,
        options=options,
    )


def _by_frames() -> list[Case]:
    """Slices of one frame alone, and of a frame of users."""
    recs, actual = logs(["mon"], 21)
    models = pl.concat(
        part.with_columns(model=pl.lit(name))
        for name, part in (("old", recs), ("new", recs.filter(pl.col("user") != 4)))
    ).with_columns(
        score=pl.when(pl.col("model") == "old").then("score").otherwise(1 - pl.col("score"))
    )
    known = actual.filter(pl.col("item").is_not_null())
    shops = known.with_columns(shop=(pl.col("item") % 3).cast(pl.String))
    homes = pl.DataFrame({"user": list(range(8)), "home": ["A", "B", None, "A"] * 2})
    names = models.select("model").unique(), shops.select("shop").unique()
    at_home = (recs.join(homes, on="user", how="left"), actual.join(homes, on="user", how="left"))
    ks = {"k": (None, 2)}
    # The default propensity counts the items of `actual`, which a slice of users does not filter.
    chances = {"chances": True, "more": {"users": homes}}
    return [
        case(
            "models",
            models,
            actual,
            by="model",
            written=(models, actual.join(names[0], how="cross")),
            **ks,
        ),
        case(
            "shops", recs, shops, by="shop", written=(recs.join(names[1], how="cross"), shops), **ks
        ),
        case("homes", recs, actual, by="home", written=at_home, **chances, **ks),
    ]


def _cases() -> list[Case]:
    days = logs(["mon", "tue", "wed", None], 1)
    tied = logs(["mon", "tue"], 31, ties=True)
    again = logs(["mon", "tue"], 41, repeats=True)
    place = pl.col("score").rank("ordinal", descending=True).over("day", "user").cast(pl.Int64)
    known = days[0].filter(pl.all_horizontal(pl.col("user", "item").is_not_null()))
    ranked = known.with_columns(rank=place).drop("score")
    refs = (None, "M", pf.OVERALL, pf.REST)
    short = (None, 1, 3)
    return [
        case("days", *days, by="day", k=short, ref=refs),
        case("all", *logs(["mon"], 11), k=(None, 1, 2, 5, 70), ref=refs),
        case(
            "averages",
            *tied,
            by="day",
            only=["user_auc"],
            average=("impressions", "clicks", "users"),
            k=short,
        ),
        case("propensities", *days, by="day", chances=True, k=short),
        case("predictions", *days, by="day", chances=True, guesses=True, k=short),
        case("ties", *tied, by="day", ties=("item", "optimistic", "pessimistic"), k=short),
        case(
            "expected", *tied, by="day", but=["auc", "user_auc"], ties=("expected",), k=(None, 1, 4)
        ),
        case("repeats", *again, by="day", repeats=("once", "drop"), k=short),
        case("ranks", ranked, days[1], by="day", but=SCORED, k=(None, 1, 2)),
        case(
            "ranks and predictions",
            ranked,
            days[1],
            by="day",
            only=["ctr_dr"],
            guesses=True,
            k=short,
        ),
        case("nobody", days[0].clear(), days[1], by="day", k=(None, 3)),
        case("no outcomes", days[0], days[1].clear(), by="day", k=(None, 3)),
        case("empty", days[0].clear(), days[1].clear(), k=(None, 3)),
        *_by_frames(),
    ]


CASES = _cases()
