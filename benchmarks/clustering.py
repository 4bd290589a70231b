"""External measures of a clustering from one lake, compared with a bare count of its cells."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import lakes
from benchmarks._contest import Benchmark, Contest, Contestant, Figures, Goal, Settings, Work
from benchmarks._environments import peer

if TYPE_CHECKING:
    import polars as pl

    import polarsfair as pf

_OURS = "polarsfair, all external measures"
_BARE = "bare group_by"
_TABLE = "adjusted mutual information"
_EAGER = "polarsfair, eager frame"
_CLUSTERS, _LABELS, _ALIKE = 20, 10, 0.7
_PEER_ROWS = 1_000_000
_FILE_ROWS = 2_500_000
_BILLION = 1_000_000_000


def partition_rows(rows: int, *, seed: tuple[int, ...]) -> pl.DataFrame:
    """Draw rows with one of 20 clusters and one of 10 labels, which agree in most rows."""
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(seed)
    cluster = draw.integers(0, _CLUSTERS, rows)
    label = np.where(draw.random(rows) < _ALIKE, cluster % _LABELS, draw.integers(0, _LABELS, rows))
    return pl.DataFrame({"cluster": cluster, "label": label}, schema_overrides={"label": pl.Int32})


def partitions(path: str, rows: int, seed: int) -> Work:
    """Write a lake of partitions. Each file has its own seed."""

    def write() -> Figures:
        for number, start in enumerate(range(0, rows, _FILE_ROWS)):
            part = partition_rows(min(_FILE_ROWS, rows - start), seed=(seed, number))
            part.write_parquet(Path(path) / f"part-{number:05}.parquet")
        return {}

    return write


def external_measures() -> list[pf.Metric]:
    """Return every measure that is one number computed from the contingency table."""
    import polarsfair as pf

    table = pf.clustering.contingency
    return [metric for metric in pf.metrics() if metric.tally is table and not metric.keys]


def _warm_up(measures: list[pf.Metric]) -> None:
    """Import SciPy, which the measures import on first use: clocks start after imports."""
    import polars as pl

    import polarsfair as pf

    frame = pl.DataFrame({"cluster": [0, 0, 1], "label": [0, 1, 1]})
    pf.evaluate(frame, measures, cluster="cluster", label="label")


def ours(lake: str) -> Work:
    """Evaluate all external measures lazily, on the streaming engine."""
    import polars as pl

    import polarsfair as pf

    measures = external_measures()
    _warm_up(measures)

    def work() -> Figures:
        values = pf.evaluate(pl.scan_parquet(lake), measures, cluster="cluster", label="label")
        return values.collect(engine="streaming").row(0, named=True)

    return work


def bare(lake: str) -> Work:
    """Count rows per cell and nothing else: the cost of any method that uses counts."""
    import polars as pl

    def work() -> Figures:
        cells = pl.scan_parquet(lake).group_by("cluster", "label").len()
        return {"cells": cells.collect(engine="streaming").height}

    return work


def eager(lake: str) -> Work:
    """Evaluate all external measures on a frame that is already in memory."""
    import polars as pl

    import polarsfair as pf

    frame, measures = pl.read_parquet(lake), external_measures()
    _warm_up(measures)

    def work() -> Figures:
        values = pf.evaluate(frame, measures, cluster="cluster", label="label")
        return values.row(0, named=True)

    return work


def scikit_learn(lake: str) -> Work:
    """Compute the seven measures that scikit-learn also has, from arrays in memory."""
    frames, scores = map(import_module, ("pandas", "sklearn.metrics"))
    frame = frames.read_parquet(lake)
    cluster, label = frame["cluster"].to_numpy(), frame["label"].to_numpy()

    def work() -> Figures:
        h, c, v = scores.homogeneity_completeness_v_measure(label, cluster)
        return {
            "homogeneity": float(h),
            "completeness": float(c),
            "v_measure": float(v),
            "mutual_information": float(scores.mutual_info_score(label, cluster)),
            "rand": float(scores.rand_score(label, cluster)),
            "adjusted_rand": float(scores.adjusted_rand_score(label, cluster)),
            "fowlkes_mallows": float(scores.fowlkes_mallows_score(label, cluster)),
        }

    return work


def of_a_table(size: int) -> Work:
    """Measure a stored table of a billion rows."""
    import polars as pl

    import polarsfair as pf

    cells = [(i, j, 1 + (i * 7 + j * 3) % 11) for i in range(size) for j in range(size)]
    scale = _BILLION // sum(n for _, _, n in cells)
    table = pl.DataFrame(cells, schema=["cluster", "label", "n"], orient="row")
    table = table.with_columns(pl.col("n") * scale)
    measures = [pf.clustering.adjusted_mutual_information, pf.clustering.maximum_matching]
    _warm_up(measures)

    def work() -> Figures:
        values = pf.measure(table, measures).row(0, named=True)
        return {f"{name}, {size} x {size}": value for name, value in values.items()}

    return work


def _lake_contest(settings: Settings, rows: int) -> Contest:
    made = {"rows": rows, "seed": settings.seed}
    where = {"lake": str(lakes.lake(settings.directory, partitions, **made))}
    return Contest(
        f"external measures, {rows:,} rows from Parquet",
        (Contestant(_BARE, bare, where), Contestant(_OURS, ours, where)),
        baseline=_BARE,
        goals=(
            Goal("ours over the bare group_by", lambda o: o[_OURS].wall / o[_BARE].wall, 1.15),
            Goal("peak memory of ours", lambda o: o[_OURS].peak / 1e6, 1000, "MB"),
        ),
    )


def _table_contest() -> Contest:
    sizes = (3, 100)
    contestants = [Contestant(f"{_TABLE}, {n} x {n}", of_a_table, {"size": n}) for n in sizes]
    goals = [
        Goal(f"{one.name} of 1e9 rows", lambda o, name=one.name: o[name].wall, 1, "s")
        for one in contestants
    ]
    title = "a stored table of a billion rows"
    return Contest(title, tuple(contestants), baseline=contestants[0].name, goals=tuple(goals))


def _peer_contest(settings: Settings) -> Contest:
    made = {"rows": _PEER_ROWS, "seed": settings.seed}
    where = {"lake": str(lakes.lake(settings.directory, partitions, **made))}
    known = Contestant("scikit-learn", scikit_learn, where)
    return Contest(
        f"external measures, {_PEER_ROWS:,} rows, peers",
        (
            Contestant(_EAGER, eager, where),
            peer(settings, known, "scikit-learn", "pandas", "pyarrow"),
        ),
        baseline=_EAGER,
    )


def contests(settings: Settings) -> list[Contest]:
    """Return the contests of this benchmark; those with peers if requested."""
    found = [*(_lake_contest(settings, rows) for rows in settings.rows), _table_contest()]
    return [*found, _peer_contest(settings)] if settings.peers else found


BENCHMARK = Benchmark(
    "clustering",
    "all external measures of a clustering over a Parquet lake",
    contests,
    rows=(100_000_000,),
    peers=True,
)
