"""The fresh process: import, start the clock, work, stop the clock, print one line of JSON.

It imports only the standard library, because it also runs in the environments of peers.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import resource
import sys
import time
from pathlib import Path


def _peak() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux `ru_maxrss` starts at the peak of the parent; this value is the process's own.
        mark = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(mark.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts in bytes, Linux in kibibytes.
    return peak if sys.platform == "darwin" else peak * 1024


def main(request: str) -> None:
    """Run a request: JSON with ``module``, ``function``, ``arguments``, ``calls``, ``packages``."""
    asked = json.loads(request)
    prepare = getattr(importlib.import_module(asked["module"]), asked["function"])
    work = prepare(**asked["arguments"])
    peak_before = _peak()
    walls = []
    figures = {}
    cpu = time.process_time()
    for _ in range(asked["calls"]):
        start = time.perf_counter()
        figures = work()
        walls.append(time.perf_counter() - start)
    cpu = (time.process_time() - cpu) / asked["calls"]
    answer = {"walls": walls, "cpu": cpu, "peak": _peak(), "peak_before": peak_before}
    versions = {name: importlib.metadata.version(name) for name in asked["packages"]}
    print(json.dumps({**answer, "figures": dict(figures), "versions": versions}))


if __name__ == "__main__":
    main(sys.argv[1])
