"""What is measured: contestants, contests between them, and benchmarks that build the contests."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

Figures = Mapping[str, float | None]
"""Values that a contestant computed, by name. Values with the same name must agree."""

Work = Callable[[], Figures]
"""The timed part of a contestant."""


@dataclass(frozen=True)
class Contestant:
    """One way to do the work.

    ``prepare(**arguments)`` runs outside the clock (imports, a frame that should already be in
    memory) and returns the work that is timed. It must be a function of a module, because a fresh
    process finds it by name.
    """

    name: str
    prepare: Callable[..., Work]
    arguments: Mapping[str, str | float] = field(default_factory=dict)
    calls: int = 1
    packages: tuple[str, ...] = ("polars",)
    python: Path | None = None
    skipped: str | None = None


@dataclass(frozen=True)
class Run:
    """One fresh process: seconds of each call, CPU seconds per call, bytes at the peak."""

    walls: tuple[float, ...]
    cpu: float
    peak: int
    peak_before: int
    figures: Figures
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Outcome:
    """All runs of one contestant, or the reason why it has not run."""

    name: str
    runs: tuple[Run, ...] = ()
    failed: str | None = None
    skipped: str | None = None

    @property
    def wall(self) -> float:
        """Seconds of the fastest call."""
        return min(wall for run in self.runs for wall in run.walls)

    @property
    def median(self) -> float:
        """Seconds of the median call."""
        return statistics.median(wall for run in self.runs for wall in run.walls)

    @property
    def cpu(self) -> float:
        """CPU seconds per call, in the run with the fewest."""
        return min(run.cpu for run in self.runs)

    @property
    def peak(self) -> int:
        """Bytes of resident memory at the peak of the run with the highest peak."""
        return max(run.peak for run in self.runs)

    def as_json(self) -> dict[str, object]:
        """Return the summary and every run as plain values."""
        summary = None
        if self.runs:
            names = ("wall", "median", "cpu", "peak")
            summary = {name: getattr(self, name) for name in names}
        return {**asdict(self), "summary": summary}


Outcomes = Mapping[str, Outcome]


@dataclass(frozen=True)
class Goal:
    """A goal of the project, checked against a value computed from the outcomes of a contest."""

    text: str
    value: Callable[[Outcomes], float]
    limit: float
    unit: str = "x"
    sense: Literal["at most", "at least"] = "at most"

    def met(self, value: float) -> bool:
        """Return whether a value reaches the goal."""
        return value <= self.limit if self.sense == "at most" else value >= self.limit


@dataclass(frozen=True)
class Contest:
    """Contestants that are measured in turns and compared with one of them.

    If they read the same rows (`same_rows`), values with the same name must agree.
    """

    title: str
    contestants: tuple[Contestant, ...]
    baseline: str
    goals: tuple[Goal, ...] = ()
    same_rows: bool = True


@dataclass(frozen=True)
class Settings:
    """The options of the command line."""

    directory: Path
    runs: int
    seed: int
    out: Path | None
    rows: tuple[int, ...] = ()
    file_rows: int = 2_500_000
    peers: bool = False


@dataclass(frozen=True)
class Benchmark:
    """A command of the runner; `rows` and `file_rows` are the defaults of its options.

    A benchmark without `rows` has neither option.
    """

    name: str
    summary: str
    contests: Callable[[Settings], list[Contest]]
    rows: tuple[int, ...] = ()
    file_rows: int = Settings.file_rows
    peers: bool = False
