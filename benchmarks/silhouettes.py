"""The silhouette: growth with the rows for squared distances, and compared with scikit-learn."""

from __future__ import annotations

import math
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

if TYPE_CHECKING:
    import polars as pl

_CLUSTERS, _FEATURES = 20, 10
_FILE_ROWS = 1_000_000
_FEW = 20_000
_SQUARED, _PLAIN = "polarsfair, squared", "polarsfair, all pairs"
_THEIR_SQUARED, _THEIR_PLAIN = "scikit-learn, squared", "scikit-learn, all pairs"


def point_rows(rows: int, *, seed: tuple[int, ...]) -> pl.DataFrame:
    """Draw rows with ten features around one of twenty centres."""
    import numpy as np
    import polars as pl

    centres = np.random.default_rng(seed[:1]).normal(0, 2, (_CLUSTERS, _FEATURES))
    draw = np.random.default_rng(seed)
    cluster = draw.integers(0, _CLUSTERS, rows)
    values = centres[cluster] + draw.normal(size=(rows, _FEATURES))
    features = {f"x{i}": values[:, i] for i in range(_FEATURES)}
    return pl.DataFrame({"cluster": cluster.astype(np.int32), **features})


def points(path: str, rows: int, seed: int) -> Work:
    """Write a lake of points. Each file has its own seed."""

    def write() -> Figures:
        for number, start in enumerate(range(0, rows, _FILE_ROWS)):
            part = point_rows(min(_FILE_ROWS, rows - start), seed=(seed, number))
            part.write_parquet(Path(path) / f"part-{number:05}.parquet")
        return {}

    return write


def _names() -> list[str]:
    return [f"x{i}" for i in range(_FEATURES)]


def lazily(lake: str) -> Work:
    """Compute the squared silhouette of a lake, in two passes on the streaming engine."""
    import polars as pl

    from polarsfair import clustering

    def work() -> Figures:
        rows = pl.scan_parquet(lake)
        asked = {"cluster": "cluster", "features": _names(), "metric": "sqeuclidean"}
        found = clustering.silhouette(rows, **asked)
        return {"silhouette": found.collect(engine="streaming").item()}

    return work


def eagerly(lake: str, metric: str) -> Work:
    """Compute the silhouette of a frame that is already in memory."""
    import polars as pl

    from polarsfair import clustering

    frame = pl.read_parquet(lake)
    asked = {"cluster": "cluster", "features": _names(), "metric": metric}
    clustering.silhouette(frame.head(100), **asked)

    def work() -> Figures:
        return {metric: clustering.silhouette(frame, **asked)}

    return work


def scikit_learn(lake: str, metric: str) -> Work:
    """Compute scikit-learn's silhouette of arrays in memory."""
    import polars as pl

    scores = import_module("sklearn.metrics")
    frame = pl.read_parquet(lake)
    values, cluster = frame.select(_names()).to_numpy(order="c"), frame["cluster"].to_numpy()
    scores.silhouette_score(values[:100], cluster[:100], metric=metric)

    def work() -> Figures:
        return {metric: float(scores.silhouette_score(values, cluster, metric=metric))}

    return work


def _growth(settings: Settings) -> Contest:
    """Compare the cost per row at the smallest and at the largest number of rows."""
    sizes = sorted(settings.rows)
    made = {
        rows: str(lakes.lake(settings.directory, points, rows=rows, seed=settings.seed))
        for rows in sizes
    }
    names = {rows: f"{rows:,} rows" for rows in sizes}
    few, many = names[sizes[0]], names[sizes[-1]]
    scale = sizes[-1] / sizes[0]
    return Contest(
        f"squared silhouette, {_FEATURES} features, {_CLUSTERS} clusters",
        tuple(Contestant(names[rows], lazily, {"lake": made[rows]}) for rows in sizes),
        baseline=few,
        goals=(
            Goal(
                "cost of a row, most over fewest", lambda o: o[many].wall / o[few].wall / scale, 1.3
            ),
            Goal("peak memory", lambda o: o[many].peak / 1e6, 1000, "MB"),
        ),
        same_rows=False,
    )


def _apart(outcomes: Outcomes) -> float:
    """Return the absolute difference of the two squared silhouettes."""
    values = [outcomes[name].runs[0].figures["sqeuclidean"] for name in (_SQUARED, _THEIR_SQUARED)]
    ours, theirs = (math.nan if value is None else value for value in values)
    return abs(theirs - ours)


def _beside_scikit_learn(settings: Settings) -> Contest:
    lake = str(lakes.lake(settings.directory, points, rows=_FEW, seed=settings.seed))
    ours = {_SQUARED: "sqeuclidean", _PLAIN: "euclidean"}
    theirs = {_THEIR_SQUARED: "sqeuclidean", _THEIR_PLAIN: "euclidean"}
    # scikit-learn is in the `dev` extra, so it does not need its own environment.
    return Contest(
        f"silhouette, {_FEW:,} rows in memory, beside scikit-learn",
        (
            *(Contestant(n, eagerly, {"lake": lake, "metric": m}) for n, m in ours.items()),
            *(Contestant(n, scikit_learn, {"lake": lake, "metric": m}) for n, m in theirs.items()),
        ),
        baseline=_SQUARED,
        goals=(
            Goal(
                "scikit-learn over ours, squared",
                lambda o: o[_THEIR_SQUARED].wall / o[_SQUARED].wall,
                50,
                sense="at least",
            ),
            Goal("scikit-learn less ours, squared", _apart, 1e-9, "in value"),
            Goal(
                "scikit-learn over ours, all pairs",
                lambda o: o[_THEIR_PLAIN].wall / o[_PLAIN].wall,
                1,
                sense="at least",
            ),
        ),
    )


def contests(settings: Settings) -> list[Contest]:
    """Return the contests of this benchmark; the one with scikit-learn if requested."""
    found = [_growth(settings)]
    return [*found, _beside_scikit_learn(settings)] if settings.peers else found


BENCHMARK = Benchmark(
    "silhouettes",
    "the silhouette of many rows, and beside scikit-learn",
    contests,
    rows=(1_000_000, 10_000_000),
    peers=True,
)
