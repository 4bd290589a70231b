"""Ranked lists: four metrics at k compared with peers, several k, diversity, and memory."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import lakes
from benchmarks._contest import (
    Benchmark,
    Contest,
    Contestant,
    Figures,
    Goal,
    Outcomes,
    Settings,
    Work,
)
from benchmarks._environments import peer

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import polars as pl

_OURS, _FIVE = "polarsfair, k=10", "polarsfair, five k"
_USERS, _LENGTH, _ACTUAL = 100_000, 10, 1_000_000
_LARGE_USERS, _LARGE_ACTUAL = 1_000_000, 5_000_000
_IN_A_GIGABYTE, _ITEMS = 60_000_000, 20_000
_PEERS = {"Jurity": 35.0, "RecTools": 2.5, "RePlay": 7.0}
"""How many times faster than each peer polarsfair should be."""


def ours(lake: str, k: str) -> Work:
    """Evaluate precision, recall, MAP and NDCG lazily, on the streaming engine."""
    import polars as pl

    import polarsfair as pf
    from polarsfair import ranking

    metrics = [ranking.precision, ranking.recall, ranking.map, ranking.ndcg]
    asked = [int(one) for one in k.split()]

    def work() -> Figures:
        recs, actual = (pl.scan_parquet(f"{lake}/{side}") for side in ("recs", "actual"))
        roles = {"actual": actual, "user": "user_id", "item": "item_id", "score": "score"}
        cut = asked if len(asked) > 1 else asked[0]
        values = pf.evaluate(recs, metrics, k=cut, **roles).collect(engine="streaming")
        return values.tail(1).select(m.name for m in metrics).row(0, named=True)

    return work


def diversity(lake: str, repeats: str) -> Work:
    """Compute the mean distance of all pairs of lists, lazily, on the streaming engine."""
    import polars as pl

    from polarsfair import ranking

    def work() -> Figures:
        recs = pl.scan_parquet(f"{lake}/recs")
        asked = recs.pipe(
            ranking.inter_list_diversity, user="user_id", item="item_id", repeats=repeats
        )
        return asked.collect(engine="streaming").row(0, named=True)

    return work


def jurity(lake: str) -> Work:
    """Compute the four metrics with Jurity's CombinedMetrics; it reads files inside the clock."""
    frames, recommenders = map(import_module, ("pandas", "jurity.recommenders"))
    names = ("Precision", "Recall", "MAP", "NDCG")

    def work() -> Figures:
        recs = frames.read_parquet(f"{lake}/recs").rename(columns={"score": "click"})
        actual = frames.read_parquet(f"{lake}/actual").assign(click=1)
        four = [
            getattr(recommenders.RankingRecoMetrics, n)(click_column="click", k=10) for n in names
        ]
        found = recommenders.CombinedMetrics(*four).get_score(actual, recs)
        return {name.partition("@")[0].lower(): value for name, value in found.items()}

    return work


def rectools(lake: str) -> Work:
    """Compute the four metrics with RecTools' calc_metrics, from ranks that are given."""
    frames, metrics = map(import_module, ("pandas", "rectools.metrics"))
    ranks = frames.read_parquet(f"{lake}/recs")
    ranks["rank"] = ranks.groupby("user_id")["score"].rank("first", ascending=False).astype(int)
    ranks.drop(columns="score").to_parquet(f"{lake}/ranks.parquet")
    four = {
        "precision": metrics.Precision(k=10),
        "recall": metrics.Recall(k=10),
        "rectools map": metrics.MAP(k=10),
        "rectools ndcg": metrics.NDCG(k=10),
    }

    def work() -> Figures:
        recs = frames.read_parquet(f"{lake}/ranks.parquet")
        actual = frames.read_parquet(f"{lake}/actual")
        found = metrics.calc_metrics(four, recs, actual)
        return {name: float(value) for name, value in found.items()}

    return work


def replay(lake: str) -> Work:
    """Compute the four metrics with RePlay's OfflineMetrics on Polars frames."""
    pl, metrics = map(import_module, ("polars", "replay.metrics"))
    names = ("Precision", "Recall", "MAP", "NDCG")
    columns = {"query_column": "user_id", "item_column": "item_id", "rating_column": "score"}

    def work() -> Figures:
        recs, actual = (pl.read_parquet(f"{lake}/{side}/*.parquet") for side in ("recs", "actual"))
        four = [getattr(metrics, name)(10) for name in names]
        found = metrics.OfflineMetrics(four, **columns)(recs, actual)
        values = {name.partition("@")[0].lower(): float(v) for name, v in found.items()}
        # RePlay cuts the ideal list at k, unlike polarsfair and Jurity.
        return {"replay ndcg" if name == "ndcg" else name: v for name, v in values.items()}

    return work


def shown_lake(path: str, users: int, length: int, actual: int, seed: int) -> Work:
    """Write lists of `length` distinct items, and interactions. Both prefer popular items."""
    import polars as pl

    def write() -> Figures:
        for side in ("recs", "actual"):
            (Path(path) / side).mkdir(parents=True)
        step = max(1, 1_000_000 // length)
        for part, start in enumerate(range(0, users, step)):
            size = min(step, users - start)
            shown = _shown(size, length, (seed, part, 0)).with_columns(pl.col("user_id") + start)
            bought = _bought(size, actual * size // users, (seed, part, 1))
            bought = bought.with_columns(pl.col("user_id") + start)
            for side, rows in (("recs", shown), ("actual", bought)):
                rows.write_parquet(Path(path) / side / f"part-{part:05}.parquet")
        return {}

    return write


def _popular(draw: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw items of a catalogue whose first items are the most popular."""
    return (_ITEMS * draw.random(shape) ** 3).astype("int64")


def _shown(users: int, length: int, seed: tuple[int, ...]) -> pl.DataFrame:
    """Draw more items than needed, and keep `length` distinct ones per user, shuffled."""
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(seed)
    items = np.sort(_popular(draw, (users, 2 * length + 20)), axis=1)
    turn = draw.random(items.shape)
    turn[:, 1:][items[:, 1:] == items[:, :-1]] = 2
    kept = np.argpartition(turn, length - 1, axis=1)[:, :length]
    recs = {
        "user_id": np.arange(users).repeat(length),
        "item_id": np.take_along_axis(items, kept, axis=1).ravel(),
        "score": draw.random(users * length),
    }
    return pl.DataFrame(recs).sample(fraction=1, shuffle=True, seed=seed[0])


def _bought(users: int, rows: int, seed: tuple[int, ...]) -> pl.DataFrame:
    """Draw distinct interactions: draw again until there are enough."""
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(seed)
    found = pl.DataFrame(schema={"user_id": pl.Int64, "item_id": pl.Int64})
    while found.height < rows:
        more = {"user_id": draw.integers(0, users, rows), "item_id": _popular(draw, (rows,))}
        found = pl.concat([found, pl.DataFrame(more)]).unique(maintain_order=True)
    return found.head(rows)


def _lake(settings: Settings, users: int, length: int, actual: int) -> str:
    made = {"users": users, "length": length, "actual": actual, "seed": settings.seed}
    return str(lakes.lake(settings.directory, shown_lake, **made))


def _faster(name: str) -> Callable[[Outcomes], float]:
    return lambda outcomes: outcomes[name].wall / outcomes[_OURS].wall


def _quality(settings: Settings) -> Contest:
    lake = _lake(settings, _USERS, _LENGTH, _ACTUAL)
    contestants = [
        Contestant(_OURS, ours, {"lake": lake, "k": "10"}),
        Contestant(_FIVE, ours, {"lake": lake, "k": "1 3 5 7 10"}),
    ]
    goals = [Goal("CPU of five k over one", lambda o: o[_FIVE].cpu / o[_OURS].cpu, 1.2)]
    if settings.peers:
        where = {"lake": lake}
        contestants += [
            peer(settings, Contestant("Jurity", jurity, where), "jurity", "pandas<3", "pyarrow"),
            peer(settings, Contestant("RecTools", rectools, where), "rectools", "pyarrow<22"),
            peer(settings, Contestant("RePlay", replay, where), "replay-rec", "polars", "pyarrow"),
        ]
        goals += [
            Goal(f"faster than {name}", _faster(name), limit, sense="at least")
            for name, limit in _PEERS.items()
        ]
    title = f"lists, {_USERS:,} users x {_LENGTH} recommendations, {_ACTUAL:,} interactions"
    return Contest(title, tuple(contestants), baseline=_OURS, goals=tuple(goals))


def _memory(settings: Settings, rows: int) -> Contest:
    """Up to 60 million recommendations must fit into a gigabyte; more must finish."""
    users = max(1, min(_LARGE_USERS, rows // _LENGTH))
    length = rows // users
    lake = _lake(settings, users, length, _LARGE_ACTUAL * users // _LARGE_USERS)
    peak = Goal("peak memory", lambda o: o[_OURS].peak / 1e6, 1000, "MB")
    finished = Goal("runs that finish", lambda o: len(o[_OURS].runs), settings.runs, "", "at least")
    return Contest(
        f"lists, {users * length:,} recommendations of {users:,} users, from scores",
        (Contestant(_OURS, ours, {"lake": lake, "k": "10"}),),
        baseline=_OURS,
        goals=(peak, finished) if rows <= _IN_A_GIGABYTE else (finished,),
    )


def _diversity(settings: Settings) -> Contest:
    """Ten million recommendations. Most of the work is to find repeated ones."""
    lake = _lake(settings, _LARGE_USERS, _LENGTH, _LARGE_ACTUAL)
    once, trusting = "polarsfair", 'polarsfair, repeats="none"'
    return Contest(
        f"inter-list diversity, {_LARGE_USERS:,} users x {_LENGTH} recommendations",
        (
            Contestant(once, diversity, {"lake": lake, "repeats": "once"}),
            Contestant(trusting, diversity, {"lake": lake, "repeats": "none"}),
        ),
        baseline=once,
        goals=(
            Goal("wall time", lambda o: o[once].wall, 3, "s"),
            Goal("wall time without looking for repeats", lambda o: o[trusting].wall, 3, "s"),
        ),
    )


def contests(settings: Settings) -> list[Contest]:
    """Return the contests of quality and diversity, and one of memory per number of rows."""
    large = [_memory(settings, rows) for rows in settings.rows]
    return [_quality(settings), _diversity(settings), *large]


BENCHMARK = Benchmark(
    "ranking",
    "precision, recall, MAP and NDCG of ranked lists from Parquet",
    contests,
    rows=(60_000_000, 200_000_000),
    peers=True,
)
