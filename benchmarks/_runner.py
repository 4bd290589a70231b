"""Running contests: every measurement in a fresh process, contestants in turns."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._contest import Contest, Contestant, Outcome, Outcomes, Run

if TYPE_CHECKING:
    from collections.abc import Callable

_PROJECT = Path(__file__).resolve().parent.parent
_TOLERANCE = 1e-9


class ContestantError(Exception):
    """Raised if a fresh process fails. The message is the last line that it printed."""


def _environment() -> dict[str, str]:
    """Return this process's environment variables, with the project on the import path."""
    environment = {**os.environ, "PYTHONPATH": str(_PROJECT)}
    # Store byte code; otherwise every import would include its compilation.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def fresh(contestant: Contestant) -> Run:
    """Run a contestant in a fresh process and return what it cost."""
    request = {
        "module": contestant.prepare.__module__,
        "function": contestant.prepare.__name__,
        "arguments": dict(contestant.arguments),
        "calls": contestant.calls,
        "packages": contestant.packages,
    }
    python = str(contestant.python or sys.executable)
    command = [python, "-m", "benchmarks._worker", json.dumps(request)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=_PROJECT, env=_environment()
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise ContestantError(lines[-1])
    answer = json.loads(done.stdout.splitlines()[-1])
    return Run(**{**answer, "walls": tuple(answer["walls"])})


def _turn(contestant: Contestant, so_far: Outcome) -> Outcome:
    """Add one run to the outcome of a contestant, unless it has failed or is skipped."""
    if so_far.failed or so_far.skipped:
        return so_far
    try:
        run = fresh(contestant)
    except ContestantError as error:
        return Outcome(contestant.name, failed=str(error))
    return Outcome(contestant.name, runs=(*so_far.runs, run))


def play(contest: Contest, runs: int, say: Callable[[str], None]) -> Outcomes:
    """Measure every contestant ``runs`` times, one after the other in each round."""
    outcomes = {c.name: Outcome(c.name, skipped=c.skipped) for c in contest.contestants}
    for number in range(runs):
        say(f"{contest.title}: round {number + 1} of {runs}")
        # Shuffle, so that no contestant always runs after the same other one.
        for contestant in random.Random(number).sample(contest.contestants, len(outcomes)):
            outcomes[contestant.name] = _turn(contestant, outcomes[contestant.name])
    return outcomes


def disagreements(outcomes: Outcomes) -> list[str]:
    """List the values that two contestants computed differently."""
    found: list[str] = []
    first: dict[str, tuple[str, float | None]] = {}
    for outcome in outcomes.values():
        for name, value in (outcome.runs[-1].figures if outcome.runs else {}).items():
            other, expected = first.setdefault(name, (outcome.name, value))
            if not _same(value, expected):
                found.append(f"{name}: {other} says {expected}, {outcome.name} says {value}")
    return found


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
