"""Printing results as tables, and writing them as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from benchmarks._runner import disagreements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from benchmarks._contest import Contest, Outcome, Outcomes

_COLUMNS = ("wall", "median", "ratio", "CPU", "ratio", "peak MB")
_CAPTION = (
    "Wall and CPU: minima over the runs, each a fresh process whose clock starts after "
    "its imports; ratios are of minima, to the line that shows 1.00; peak is the largest "
    "resident size of any run."
)


@dataclass(frozen=True)
class Played:
    """A contest and its outcomes."""

    contest: Contest
    outcomes: Outcomes

    @property
    def sound(self) -> bool:
        """Whether every contestant finished and all agree."""
        return not self.disagreements and not any(o.failed for o in self.outcomes.values())

    @property
    def disagreements(self) -> list[str]:
        """Values that contestants computed differently from the same rows."""
        return disagreements(self.outcomes) if self.contest.same_rows else []

    def goals(self) -> Iterator[tuple[str, float, bool]]:
        """Yield each goal with a value: its text, the value, and whether it is reached."""
        for goal in self.contest.goals:
            try:
                value = goal.value(self.outcomes)
            except ValueError:  # a contestant that has not run has no minimum
                continue
            yield f"{goal.text} ({goal.sense} {goal.limit:g} {goal.unit})", value, goal.met(value)


def machine() -> dict[str, object]:
    """Return the facts about the machine that a reader needs, including its current load."""
    return {
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _seconds(value: float) -> str:
    return f"{1e3 * value:.3g} ms" if value < 1 else f"{value:.2f} s"


def _cells(outcome: Outcome, baseline: Outcome) -> list[str]:
    if not outcome.runs:
        return ["-"] * len(_COLUMNS)
    known = bool(baseline.runs)
    return [
        _seconds(outcome.wall),
        _seconds(outcome.median),
        f"{outcome.wall / baseline.wall:.2f}" if known else "-",
        _seconds(outcome.cpu),
        f"{outcome.cpu / baseline.cpu:.2f}" if known else "-",
        f"{outcome.peak / 1e6:.0f}",
    ]


def _versions(outcomes: Outcomes) -> str:
    found = {pair for o in outcomes.values() for run in o.runs for pair in run.versions.items()}
    return ", ".join(f"{name} {version}" for name, version in sorted(found))


def show(played: Played, console: Console) -> None:
    """Print the table of a contest, then its goals, failures and disagreements."""
    caption = f"{_CAPTION} With {_versions(played.outcomes)}."
    table = Table(
        title=played.contest.title, caption=caption, box=SIMPLE_HEAD, padding=(0, 0, 0, 1)
    )
    # On a narrow terminal names are wrapped; numbers are not, because a cut number is wrong.
    table.add_column("", overflow="fold", max_width=34)
    for name in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    baseline = played.outcomes[played.contest.baseline]
    for outcome in played.outcomes.values():
        table.add_row(escape(outcome.name), *_cells(outcome, baseline))
    console.print(table)
    for text, value, met in played.goals():
        verdict = "[green]met" if met else "[red]missed"
        console.print(f"{escape(text)}: {value:.3g}, {verdict}", highlight=False)
    for outcome in played.outcomes.values():
        for word in ("failed", "skipped"):
            if reason := getattr(outcome, word):
                console.print(f"[yellow]{escape(outcome.name)} {word}: {escape(reason)}")
    for line in played.disagreements:
        console.print(f"[red]disagreement: {escape(line)}")


def save(path: Path, benchmark: str, played: Sequence[Played], where: dict[str, object]) -> None:
    """Write all measurements, including every run, as JSON."""
    contests = [
        {
            "title": one.contest.title,
            "baseline": one.contest.baseline,
            "goals": [
                dict(zip(("goal", "value", "met"), goal, strict=True)) for goal in one.goals()
            ],
            "disagreements": one.disagreements,
            "contestants": [outcome.as_json() for outcome in one.outcomes.values()],
        }
        for one in played
    ]
    content = {"benchmark": benchmark, "command": sys.argv[1:], "machine": where}
    path.write_text(json.dumps({**content, "contests": contests}, indent=2) + "\n")
