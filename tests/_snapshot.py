"""What a change of structure must not change: plans, values, names, the catalogue, pickles.

``python -m tests._snapshot before.json`` writes a snapshot; with a second file it compares the two
and names what differs. Names of hidden columns and Polars' random cache numbers are left out, so
that only the shape of a plan counts.
"""

import json
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polarsfair as pf
from polarsfair import clustering, fairness, ranking
from polarsfair.fairness import mitigation
from tests._oracle import Case, path_of
from tests.test_queries import cases_of

MODULES = (pf, fairness, ranking, clustering, mitigation)


def without_cache_ids(plan: str) -> str:
    """Leave out the numbers of caches, which Polars draws at random."""
    return re.sub(r"CACHE\[id: [-0-9a-f]+\]", "CACHE", plan)


def shape_of(plan: str) -> str:
    """Leave out the names of hidden columns, and lists of columns, which Polars cuts by length."""
    plan = re.sub(r"simple π (\d+/\d+) \[.*?\]\n", r"simple π \1\n", without_cache_ids(plan))
    return re.sub(r'"(?:[^"\\]|\\.)*\|(?:[^"\\]|\\.)*"', '"|"', plan)


def requests(metric: pf.Metric) -> Iterator[tuple[str, Case, dict[str, Any]]]:
    """Ask three cases, each without options and with the last value of every option."""
    cases = cases_of(metric)
    sliced = [case for case in cases if case.by is not None]
    for case in {id(c): c for c in (*cases[:1], *sliced[:1], *cases[-1:])}.values():
        asked = list(case.requests(metric))
        for options in (asked[0], asked[-1]):
            yield f"{case.name} {options}", case, options


def snapshot() -> dict[str, Any]:
    """Take the snapshot."""
    plans, values, pickles = {}, {}, {}
    for metric in pf.metrics():
        for name, case, options in requests(metric):
            lazy = pf.evaluate(case.frame.lazy(), [metric], by=case.by, **case.roles, **options)
            key = f"{path_of(metric)}: {name}"
            plans[key] = shape_of(lazy.explain())
            values[key] = repr([*map(rounded, lazy.collect().to_dicts())])
        pickles[path_of(metric)] = pickle.loads(pickle.dumps(metric)) is metric
    return {
        "plans": plans,
        "values": values,
        "pickles": pickles,
        "public": {module.__name__: public(module) for module in MODULES},
        "catalog": repr(pf.catalog().to_dicts()),
    }


def rounded(line: dict[str, Any]) -> dict[str, Any]:
    """Round floats to what does not depend on the order of sums."""
    return {k: float(f"{v:.11e}") + 0.0 if isinstance(v, float) else v for k, v in line.items()}


def public(module: Any) -> list[str]:
    """List the public names of a module."""
    return sorted(name for name in dir(module) if not name.startswith("_"))


def main(*files: str) -> None:
    """Write a snapshot, or compare two."""
    if len(files) == 1:
        Path(files[0]).write_text(json.dumps(snapshot(), indent=1, default=str))
        return
    before, after = (json.loads(Path(file).read_text()) for file in files)
    for part in before:
        if isinstance(before[part], dict):
            keys = {**before[part], **after[part]}
            differ = [key for key in keys if before[part].get(key) != after[part].get(key)]
            print(f"{part}: {len(differ)} of {len(keys)} differ")
            print("".join(f"  {key}\n" for key in differ), end="")
        else:
            print(f"{part}: {'equal' if before[part] == after[part] else 'differ'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
