"""Generated lists with a catalogue: the cases of coverage, exposure and diversity."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

import polarsfair as pf
from polarsfair import ranking
from tests._oracle import Case

ITEMS, GROUPS = {ranking.exposure.name}, {ranking.group_exposure.name}
SPREADS = {ranking.spreads.name}
LISTS = {ranking.overlaps.name, *SPREADS}
ALL = {*ITEMS, *GROUPS, *LISTS, ranking.shown_scores.name}
SURPRISES = {ranking.surprises.name}
"""Of metrics that need an option, so that a case has to name them."""

RECS = {
    "user": pl.Int64,
    "item": pl.Int64,
    "score": pl.Float64,
    "sex": pl.String,
    "day": pl.String,
}


def recommended(
    days: Sequence[Any], seed: int, *, ties: bool = False, repeats: bool = False
) -> pl.DataFrame:
    """Recommendations of some users a day; two items are in no catalogue."""
    draw = random.Random(seed)
    rows: list[tuple[Any, ...]] = []
    for number, day in enumerate(days):
        stock = [1, 1, 2, 2, 3, 4, 5, 6, 20][: 9 - number]
        for user in range(24):
            sex = ("F", "M", "X", None)[user % 4]
            shown = draw.sample(stock, draw.choice((1, 4, 5)))
            for item in dict.fromkeys(shown):
                score = None if user == 6 else round(draw.random(), 1 if ties else 9)
                rows.append((user, item, score, sex, day))
        rows += [(None, 3, 0.5, "F", day), (3, None, 0.5, "F", day)]
    if repeats:
        rows += [(u, i, s and s - 0.3, x, d) for u, i, s, x, d in draw.sample(rows, 15)]
    draw.shuffle(rows)
    return pl.DataFrame(rows, schema=RECS, orient="row")


def catalogue(seed: int) -> pl.DataFrame:
    """A catalogue of eleven items, some without a group, one without features."""
    draw = random.Random(seed)
    size = 11
    return pl.DataFrame(
        {
            "item": range(1, size + 1),
            "sold": [draw.choice((1, 3, 3, 8, 20)) for _ in range(size)],
            "maker": [("big", "small", "big", "own", None)[i % 5] for i in range(size)],
            "x": [None if i == 4 else draw.gauss(0, 1) for i in range(size)],
            "y": [0.0 if i == 2 else draw.gauss(0, 1) for i in range(size)],
            "z": [0.0 if i == 2 else 1.0 + i for i in range(size)],
        }
    ).with_columns(x=pl.when(pl.col("item") == 3).then(0.0).otherwise("x"))


def truth(days: Sequence[Any], seed: int) -> pl.DataFrame:
    """Ground truth, of which only the items matter."""
    draw = random.Random(seed)
    rows = [(user, draw.randrange(1, 15), day) for day in days for user in range(5)]
    rows += [(None, 40, days[0]), (1, None, days[0])]
    schema = {"user": pl.Int64, "item": pl.Int64, "day": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def tables(
    recs: pl.DataFrame, items: pl.DataFrame | None, actual: pl.DataFrame | None, by: str | None
) -> dict[str, pl.DataFrame]:
    """Give the columns that the statements read; without a catalogue, `items` is empty."""
    piece = (pl.col(by) if by else pl.lit(None, dtype=pl.String)).alias("slice")
    null = pl.lit(None)
    no_slice = null.cast(pl.String).alias("slice")
    rank = pl.col("rank") if "rank" in recs.columns else null.cast(pl.Int64)
    score = pl.col("score") if "score" in recs.columns else null.cast(pl.Float64)
    given = catalogue(0).clear() if items is None else items
    seen = truth(["mon"], 0).clear() if actual is None else actual
    return {
        "recs": recs.select(piece, "user", "item", group="sex", score=score, rank=rank),
        "items": given.select("item", "x", "y", "z", popularity="sold", item_group="maker"),
        "actual": seen.select(piece if by in seen.columns else no_slice, "user", "item"),
    }


def case(
    name: str,
    recs: pl.DataFrame,
    items: pl.DataFrame | None = None,
    actual: pl.DataFrame | None = None,
    *,
    by: str | None = None,
    of: set[str] = ALL,
    popularity: bool = True,
    more: Mapping[str, Any] | None = None,
    written: tuple[pl.DataFrame, pl.DataFrame | None] | None = None,
    **options: Sequence[Any],
) -> Case:
    """Make a case; `written` are the frames as DuckDB sees them, where they differ."""
    roles: dict[str, Any] = {"user": "user", "item": "item", "group": "sex", **(more or {})}
    roles["rank" if "rank" in recs.columns else "score"] = (
        "rank" if "rank" in recs.columns else "score"
    )
    if items is not None:
        roles |= {"items": items, "item_group": "maker", "features": ["x", "y", "z"]}
        roles |= {"popularity": "sold"} if popularity else {}
    told = (
        None
        if items is None
        else items.with_columns(sold=pl.col("sold") if popularity else pl.lit(None, dtype=pl.Int64))
    )
    shown, seen = written or (recs, actual)
    needed = ALL | SURPRISES if items is not None else ALL - GROUPS - SPREADS

    def serves(metric: pf.Metric) -> bool:
        asked = set(options) - {"k", "ref"}
        taken = not asked or asked & set(metric.option_names)
        return metric.tally.name in of & needed and bool(taken)

    return Case(
        name=name,
        frame=recs,
        roles=roles if actual is None else {**roles, "actual": actual},
        tables=tables(shown, told, seen, by),
        serves=serves,
        by=by,
        options=options,
    )


def _by_frames(items: pl.DataFrame) -> list[Case]:
    """Slices of the recommendations alone, and of a frame of users."""
    recs, seen = recommended(["mon"], 21), truth(["mon"], 22)
    models = pl.concat(
        part.with_columns(model=pl.lit(name))
        for name, part in (("old", recs), ("new", recs.filter(pl.col("user") != 4)))
    ).with_columns(
        score=pl.when(pl.col("model") == "old").then("score").otherwise(-pl.col("score"))
    )
    homes = pl.DataFrame({"user": list(range(12)), "home": ["A", "B", None, "A"] * 3})
    at_home = recs.join(homes, on="user", how="left").filter(pl.col("user").is_not_null())
    each = models.select("model").unique(), at_home.select("home").unique()
    written = seen.join(each[0], how="cross"), seen.join(each[1], how="cross")
    users = {"users": homes}
    return [
        case("models", models, None, seen, by="model", written=(models, written[0]), k=(None, 2)),
        case("homes", recs, None, seen, by="home", more=users, written=(at_home, written[1])),
        case("homes and items", recs, items, by="home", more=users, written=(at_home, None)),
        case(
            "homes and popularity",
            recs,
            items,
            by="home",
            of=SURPRISES,
            more=users,
            written=(at_home, None),
            n_users=(40,),
            k=(None, 2),
        ),
    ]


def _cases() -> list[Case]:
    days, names = ["mon", "tue", "wed", None], ["mon", "tue"]
    recs, items, seen = recommended(days, 1), catalogue(3), truth([*days, "sun"], 4)
    known = recs.filter(pl.all_horizontal(pl.col("user", "item").is_not_null()))
    place = pl.col("score").rank("ordinal", descending=True).over("day", "user").cast(pl.Int64)
    ranked = known.filter(pl.col("score").is_not_null()).with_columns(rank=2 * place - 1)
    gaps = ranked.drop("score")
    discounts = ("log", "late_log", "reciprocal", "geometric")
    targets = (None, {"big": 0.5, "small": 0.5}, {"big": 1.0, "small": 2.0, "own": 1.0, "new": 4})
    refs, makers = (None, "M", pf.OVERALL, pf.REST), (None, "big", pf.OVERALL, pf.REST)
    again = recommended(names, 41, repeats=True)
    others = ALL - GROUPS
    coarse = items.with_columns(
        x=pl.when(pl.col("x").is_not_null()).then(pl.col("item") % 2 - 0.5),
        y=pl.col("item") % 3 * 1.0,
        z=pl.col("item") * 7 % 4 * 1.0,
    )
    unsold = items.with_columns(sold=pl.col("sold") - 1)
    users, bits = {"n_users": (20, 1000)}, {"normalized": (None, True, False)}
    return [
        case("surprises", recs, items, by="day", of=SURPRISES, k=(None, 1, 3), **users, **bits),
        case("unsold", recs, unsold, of=SURPRISES, k=(None, 2), **users, **bits),
        case("surprising ranks", gaps, items, by="day", of=SURPRISES, k=(None, 1, 4), **users),
        case("surprises twice", again, items, by="day", of=SURPRISES, k=(None, 2), **users),
        case("one user", recs, items.clear(), of=SURPRISES, n_users=(1,), **bits),
        case("no surprises", recs.clear(), items, by="day", of=SURPRISES, k=(None, 2), **users),
        case("days", recs, items, by="day", of=others, k=(None, 1, 3), ref=refs),
        case("makers", recs, items, by="day", of=GROUPS, k=(None, 1, 3), ref=makers),
        case(
            "all", recs.filter(pl.col("day") == "mon"), items, of=others, k=(None, 2, 9), ref=refs
        ),
        case("truth", recs, None, seen, by="day", of=ITEMS, k=(None, 2)),
        case("alone", recs, by="day", k=(None, 1, 2), ref=refs),
        case("shown", recs, items, by="day", of=ITEMS, popularity=False, k=(None, 2)),
        case("heads", recs, items, by="day", of=ITEMS, head=(None, 0.1, 0.5, 0.9), k=(None, 2)),
        case("discounts", recs, items, by="day", of=GROUPS, discount=discounts, p=(None, 0.5)),
        case("targets", recs, items, by="day", of=GROUPS, target=targets, k=(None, 3)),
        case("ties", recommended(names, 31, ties=True), items, by="day", k=(None, 2)),
        case("repeats", again, items, by="day", of=LISTS, repeats=("once", "drop"), k=(None, 2)),
        case("no repeats", recs, items, by="day", of=LISTS, repeats=("none",), k=(None, 2)),
        case("twice", again, items, by="day", of=ITEMS | GROUPS, k=(None, 2)),
        case("ranks", gaps, items, by="day", of=ITEMS | GROUPS | LISTS, k=(None, 1, 4)),
        case(
            "distances",
            again,
            coarse,
            by="day",
            of=SPREADS,
            metric=("cosine", "hamming"),
            repeats=("once", "drop"),
            k=(None, 2, 4),
        ),
        case("empty", recs.clear(), items.clear(), k=(None, 2)),
        *_by_frames(items),
    ]


CASES = _cases()
