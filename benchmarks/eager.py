"""Small data: the cost of a call on an eager frame, and of merging many stored tables."""

from __future__ import annotations

from pathlib import Path

from benchmarks import lakes
from benchmarks._contest import Benchmark, Contest, Contestant, Figures, Goal, Settings, Work
from benchmarks.decisions import decision_metrics, decisions_lake, numbers

_ROWS = 1_000
_TABLES = 1_000
_CALLS = 100
_ONE = "one metric"
_ALL = "all metrics"
_FILES = "from their files"


def one_metric(lake: str) -> Work:
    """Call one metric on an eager frame."""
    import polars as pl

    from polarsfair import fairness

    frame = pl.read_parquet(lake)

    def work() -> Figures:
        return {"stat_parity": fairness.stat_parity(frame, group="group", pred="pred")}

    return work


def all_metrics(lake: str) -> Work:
    """Evaluate all decision metrics on an eager frame."""
    import polars as pl

    import polarsfair as pf

    frame = pl.read_parquet(lake)
    metrics = decision_metrics()

    def work() -> Figures:
        return numbers(pf.evaluate(frame, metrics, group="group", pred="pred", label="label"))

    return work


def tables(path: str, files: int, seed: int) -> Work:
    """Write one stored table of decisions per file, as a daily job does."""
    from polarsfair import fairness

    def write() -> Figures:
        for number in range(files):
            rows = lakes.decision_rows(_ROWS, nulls=0.01, seed=(seed, number))
            table = fairness.decisions(rows, group="group", pred="pred", label="label")
            table.write_parquet(Path(path) / f"table-{number:05}.parquet")
        return {}

    return write


def merged_files(stored: str) -> Work:
    """Read, merge and measure the stored tables, lazily."""
    import polars as pl

    import polarsfair as pf

    metrics = decision_metrics()

    def work() -> Figures:
        return numbers(pf.measure(pl.scan_parquet(stored), metrics).collect())

    return work


def merged_frames(stored: str) -> Work:
    """Merge and measure tables that are frames in memory."""
    import polars as pl

    import polarsfair as pf

    frames = [pl.read_parquet(file) for file in sorted(Path(stored).glob("*.parquet"))]
    metrics = decision_metrics()

    def work() -> Figures:
        return numbers(pf.measure(frames, metrics))

    return work


def _calls(settings: Settings) -> Contest:
    """Compare the first call of a process with later ones."""
    where = {"lake": str(decisions_lake(settings, _ROWS))}
    return Contest(
        f"eager frame of {_ROWS:,} rows",
        (
            Contestant(_ONE, one_metric, where, calls=_CALLS),
            Contestant(_ALL, all_metrics, where, calls=_CALLS),
            Contestant(f"{_ONE}, first call", one_metric, where),
            Contestant(f"{_ALL}, first call", all_metrics, where),
        ),
        baseline=_ONE,
        goals=(
            Goal(_ONE, lambda o: 1e3 * o[_ONE].median, 5, "ms"),
            Goal(_ALL, lambda o: 1e3 * o[_ALL].median, 25, "ms"),
        ),
    )


def _merges(settings: Settings) -> Contest:
    """Merge stored tables, from files and from frames."""
    path = lakes.lake(settings.directory, tables, files=_TABLES, seed=settings.seed)
    where = {"stored": str(path)}
    return Contest(
        f"all decision metrics of {_TABLES:,} merged tables",
        (
            Contestant(_FILES, merged_files, where),
            Contestant("from frames in memory", merged_frames, where),
        ),
        baseline=_FILES,
        goals=(Goal("merging from files", lambda o: 1e3 * o[_FILES].wall, 1000, "ms"),),
    )


def contests(settings: Settings) -> list[Contest]:
    """Return the contests of this benchmark."""
    return [_calls(settings), _merges(settings)]


BENCHMARK = Benchmark("eager", "calls on small eager frames, merging stored tables", contests)
