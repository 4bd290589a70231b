"""The runner: ``python -m benchmarks decisions --rows 1e8``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks import (
    clustering,
    decisions,
    eager,
    imports,
    memory,
    mitigation,
    ranking,
    scores,
    silhouettes,
)
from benchmarks._contest import Benchmark, Settings
from benchmarks._report import Played, machine, save, show
from benchmarks._runner import play

BENCHMARKS = [
    family.BENCHMARK
    for family in (
        decisions,
        scores,
        ranking,
        clustering,
        silhouettes,
        eager,
        imports,
        memory,
        mitigation,
    )
]


def _count(text: str) -> int:
    """Parse a number of rows or runs, ``100000`` or ``1e5``."""
    number = float(text)
    if not number.is_integer() or number < 1:
        msg = f"a whole number of at least 1, not {text}"
        raise argparse.ArgumentTypeError(msg)
    return int(number)


def _add(commands: argparse._SubParsersAction[argparse.ArgumentParser], one: Benchmark) -> None:
    """Add the command of a benchmark, with its options."""
    cache = Path(tempfile.gettempdir()) / "polarsfair-benchmarks"
    command = commands.add_parser(one.name, help=one.summary, description=one.summary)
    command.add_argument(
        "--runs", type=_count, default=6, help="fresh processes for each contestant"
    )
    command.add_argument("--dir", type=Path, default=cache, help="keeps lakes and environments")
    command.add_argument("--seed", type=int, default=0, help="seed of the generators")
    command.add_argument("--out", type=Path, help="JSON file for everything that was measured")
    if one.rows:
        command.add_argument(
            "--rows",
            type=_count,
            nargs="+",
            default=list(one.rows),
            help="rows of the lake, as 1e8",
        )
        command.add_argument(
            "--file-rows", type=_count, default=one.file_rows, help="rows of each of its files"
        )
    if one.peers:
        command.add_argument(
            "--peers", action="store_true", help="also peers, in environments made for them"
        )


def _settings(asked: argparse.Namespace) -> Settings:
    return Settings(
        directory=asked.dir.resolve(),
        runs=asked.runs,
        seed=asked.seed,
        out=asked.out,
        rows=tuple(getattr(asked, "rows", ())),
        file_rows=getattr(asked, "file_rows", Settings.file_rows),
        peers=getattr(asked, "peers", False),
    )


def main(arguments: list[str] | None = None) -> int:
    """Run one benchmark. Return 1 if a contestant failed or two disagree, else 0."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="benchmark", required=True)
    for one in BENCHMARKS:
        _add(commands, one)
    asked = parser.parse_args(arguments)
    benchmark = next(one for one in BENCHMARKS if one.name == asked.benchmark)
    settings = _settings(asked)
    console, progress = Console(), Console(stderr=True)
    where = machine()
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        progress.print("[yellow]this machine is busy: read ratios, not seconds, and run again")
    with progress.status("preparing") as status:
        played = [
            Played(contest, play(contest, settings.runs, status.update))
            for contest in benchmark.contests(settings)
        ]
    for one in played:
        show(one, console)
    if settings.out is not None:
        save(settings.out, benchmark.name, played, where)
    return 0 if all(one.sound for one in played) else 1


if __name__ == "__main__":
    sys.exit(main())
