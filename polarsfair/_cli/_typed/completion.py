"""What a shell completes: names of metrics, tallies and functions, behind commas as well."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# What is completed is looked up only then: a shell calls these functions, not a command.


def metrics(incomplete: str) -> list[str]:
    """Complete the last of several metrics, also inside `ratio(...)`."""
    from polarsfair._cli._typed.names import COMBINATORS

    before, last = _split(incomplete)
    inner = re.fullmatch(r"(\w+\()(.*)", last)
    if inner and inner[1][:-1] in COMBINATORS:
        return [
            f"{before}{inner[1]}{name})" for name in _metric_names() if name.startswith(inner[2])
        ]
    names = [*_metric_names(), *(f"{name}(" for name in COMBINATORS)]
    return [before + name for name in names if name.startswith(last)]


def words(incomplete: str) -> list[str]:
    """Complete what `polarsfair metrics` explains."""
    from polarsfair._typing import FAMILIES

    names = [*FAMILIES, *_metric_names()]
    return [*(name for name in names if name.startswith(incomplete)), *functions(incomplete)]


def tallies(incomplete: str) -> list[str]:
    """Complete the name of a tally."""
    from polarsfair._cli._typed import names

    return [name for name in sorted(names.tallies()) if name.startswith(incomplete)]


def functions(incomplete: str) -> list[str]:
    """Complete the name of a function that returns a frame, with or without its family."""
    from polarsfair._cli._typed import functions as found

    names = list(found.functions())
    bare = [name.partition(".")[2] for name in names]
    return [name for name in [*bare, *names] if name.startswith(incomplete)]


def _split(incomplete: str) -> tuple[str, str]:
    before, comma, last = incomplete.rpartition(",")
    return before + comma, last


def _metric_names() -> Iterator[str]:
    """List metrics, without their family where one name is one metric."""
    import polarsfair as pf

    known = pf.metrics()
    families = Counter(metric.name for metric in known)
    yield from (metric.name for metric in known if families[metric.name] == 1)
    yield from (f"{metric.family}.{metric.name}" for metric in known)
