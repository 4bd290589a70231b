"""Peak memory of the decision metrics as the lake grows."""

from __future__ import annotations

from benchmarks._contest import Benchmark, Contest, Contestant, Goal, Settings
from benchmarks.decisions import bare, decisions_lake, ours


def contests(settings: Settings) -> list[Contest]:
    """Measure polarsfair and the bare group_by over lakes of several sizes."""
    where = {rows: {"lake": str(decisions_lake(settings, rows))} for rows in settings.rows}
    small, large = min(where), max(where)
    return [
        Contest(
            "peak memory of the decision metrics",
            (
                *(Contestant(_ours(rows), ours, lake) for rows, lake in where.items()),
                *(Contestant(f"bare group_by, {rows:,}", bare, at) for rows, at in where.items()),
            ),
            baseline=_ours(small),
            same_rows=False,
            goals=(
                Goal(
                    f"peak at {large:,} rows over that at {small:,}",
                    lambda o: o[_ours(large)].peak / o[_ours(small)].peak,
                    1.2,
                ),
                Goal(f"peak at {large:,} rows", lambda o: o[_ours(large)].peak / 1e6, 1000, "MB"),
            ),
        )
    ]


def _ours(rows: int) -> str:
    return f"polarsfair, {rows:,}"


BENCHMARK = Benchmark(
    "memory",
    "peak memory of the decision metrics as the lake grows",
    contests,
    # Small files, so that even the smaller lake has more files than the reader reads ahead.
    file_rows=500_000,
    rows=(10_000_000, 100_000_000),
)
