"""Generated lists with ground truth and a catalogue: the cases of serendipity."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

import polarsfair as pf
from polarsfair import ranking
from tests._oracle import Case
from tests.ranking._cases import ROLES, crossed, lists, plain, sliced

ITEMS = pl.DataFrame(
    {
        "item": [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 40, None],
        "sold": [9.0, 2.5, 2.5, 0.0, 7.0, 1.0, 1.0, 0.0, 30.0, 9.0, 4.0, 0.5, 2.5, 99.0],
    },
    schema={"item": pl.Int64, "sold": pl.Float64},
)
"""Items 2 and 11 are not in the catalogue, some are equally popular, some not at all."""


def case(
    name: str,
    recs: pl.DataFrame,
    actual: pl.DataFrame,
    *,
    by: str | None = None,
    items: pl.DataFrame = ITEMS,
    more: Mapping[str, Any] | None = None,
    written: tuple[pl.DataFrame, pl.DataFrame] | None = None,
    **options: Sequence[Any],
) -> Case:
    """Make a case; `written` are the frames as DuckDB sees them, where they differ."""

    def serves(metric: pf.Metric) -> bool:
        return metric.tally is ranking.finds

    order = {"rank": "rank"} if "rank" in recs.columns else {"score": "score"}
    shown, truth = written or (recs, actual)
    catalogue = {"items": items, "popularity": "sold"}
    return Case(
        name=name,
        frame=recs,
        roles={"actual": actual, **ROLES, **order, **catalogue, **(more or {})},
        tables={
            "recs": plain(shown, by),
            "actual": plain(truth, by),
            "items": items.select("item", popularity="sold"),
        },
        serves=serves,
        by=by,
        options=options,
    )


def _by_frames() -> list[Case]:
    """Slices of one frame alone, and of a frame of users."""
    recs, actual = lists(23, clean=True)
    models = pl.concat(
        part.with_columns(model=pl.lit(name))
        for name, part in (("old", recs), ("new", recs.filter(pl.col("user") != 7)))
    ).with_columns(
        score=pl.when(pl.col("model") == "old").then("score").otherwise(1 - pl.col("score"))
    )
    shops = actual.with_columns(shop=(pl.col("item") % 3).cast(pl.String))
    homes = pl.DataFrame({"user": range(19), "home": [["A", "B", None][u % 3] for u in range(19)]})
    at_home = (recs.join(homes, on="user", how="left"), actual.join(homes, on="user", how="left"))
    ks, in_models = {"k": (None, 3)}, (models, crossed(actual, models["model"]))
    in_shops = (crossed(recs, shops["shop"]), shops)
    return [
        case("models", models, actual, by="model", written=in_models, **ks),
        case("shops", recs, shops, by="shop", written=in_shops, **ks),
        case("homes", recs, actual, by="home", more={"users": homes}, written=at_home, **ks),
    ]


def _cases() -> list[Case]:
    days = sliced(["mon", "tue", "wed", None], 1)
    tied = sliced(["mon", "tue"], 31, ties=True, clean=True)
    again = sliced(["mon", "tue"], 41, repeats=True)
    recs, actual = sliced(["mon", "tue"], 61, clean=True)
    place = pl.col("score").rank("ordinal", descending=True).over("day", "user").cast(pl.Int64)
    gaps = recs.with_columns(rank=2 * place - 1)
    short, plans = (None, 1, 4), ("hits first", "window")
    return [
        case("days", *days, by="day", k=(None, 1, 3, 10)),
        case("all", *lists(11), k=(None, 1, 2, 64, 2000)),
        case("unpopular", *days, by="day", items=ITEMS.with_columns(sold=pl.lit(0.0)), k=short),
        case("no catalogue", *days, by="day", items=ITEMS.clear(), k=short),
        case("ties", *tied, by="day", ties=("item", "optimistic", "pessimistic"), k=short),
        case("repeats", *again, by="day", repeats=("once", "drop"), plan=plans, k=short),
        case("ranks", gaps, actual, by="day", k=short),
        case("empty", days[0].clear(), days[1].clear(), k=(None, 3)),
        case("no recommendations", days[0].clear(), days[1], by="day", k=(None, 3)),
        case("no truth", days[0], days[1].clear(), by="day", k=(None, 3)),
        *_by_frames(),
    ]


CASES = _cases()
