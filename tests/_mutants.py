"""Change the code at random and see whether a test notices; not part of the suite.

``python -m tests._mutants --count 100 --seed 0`` draws mutants of formulas and engine, applies each
to a temporary copy of the project, and runs tests there in rounds: first the doctest of the file
and the queries of metrics that call the changed function, then the tests that mention them, the
family, all its queries, its laws, and the rest. A round runs only the mutants that are left. It
prints the mutants that no test notices. Each of them is a missing test, or a change that cannot be
noticed. ``--only 3,17`` runs these of the drawn mutants again, ``--first`` and ``--last`` some of
the rounds. Tests that fail without a change notice everything: make them pass first, or name them
in ``PYTEST_ADDOPTS="--deselect ..."``.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import copy
import os
import py_compile
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, TypeAlias

from polarsfair import Metric
from tests._oracle import actual
from tests.test_queries import METRICS, PAIRS, cases_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

Callers: TypeAlias = dict[tuple[Path, int, int], list[Metric]]
"""Metrics by the function that they call: file, first and last line."""

ROOT = Path(__file__).parents[1]
FAMILIES = ("fairness", "ranking", "clustering")
SOURCES = ("_formula.py", "_engine", *FAMILIES)
FEW = 5
"""Metrics whose queries are asked in the first round."""

LIMIT = 600
"""Seconds for one run of pytest; a mutant that takes longer is noticed."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Add, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
WORDS = {
    "min": "max", "max": "min", "sum": "mean", "mean": "sum", "any": "all", "all": "any",
    "min_horizontal": "max_horizontal", "max_horizontal": "min_horizontal",
    "all_horizontal": "any_horizontal", "any_horizontal": "all_horizontal",
    "first": "last", "last": "first", "is_null": "is_not_null", "is_not_null": "is_null",
    "cum_sum": "cum_max", "floor": "ceil", "ceil": "floor", "semi": "anti", "anti": "semi",
}  # fmt: skip
DROPPED = {"fill_null", "fill_nan", "abs", "clip", "unique", "drop_nulls", "sort", "filter"}
"""Methods whose call is left out."""


@dataclass(frozen=True)
class Mutant:
    """One expression of one file, and the text that replaces it."""

    file: Path
    line: int
    start: int
    end: int
    new: str

    def shown(self, source: bytes) -> str:
        """Return place and change in one line."""
        old = source[self.start : self.end].decode()
        before, after = (" ".join(text.split())[:110] for text in (old, self.new))
        return f"{self.file}:{self.line}: {before}  ->  {after}"


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the changed forms of one node, without those of its children."""
    match node:
        case ast.Compare(ops=[operator]):
            other = copy.deepcopy(node)
            other.ops = [COMPARISONS[type(operator)]()]
            yield other
        case ast.BinOp(op=operator) if type(operator) in OPERATORS and not _is_text(node):
            yield ast.BinOp(node.left, OPERATORS[type(operator)](), node.right)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str(value)) if value in WORDS:
            yield ast.Constant(WORDS[value])
        case ast.Attribute(attr=word) if word in WORDS:
            yield ast.Attribute(node.value, WORDS[word], ast.Load())
        case ast.Call(func=ast.Attribute(value=value, attr=word), args=args) if word in DROPPED:
            yield args[0] if isinstance(value, ast.Name) and value.id == "np" else value
        case ast.List(elts=[_, _, *_]) | ast.Tuple(elts=[_, _, *_]) if _all_text(node):
            yield type(node)(node.elts[:-1], ast.Load())


def _is_text(node: ast.BinOp) -> bool:
    texts = (ast.JoinedStr, ast.Constant)
    return any(isinstance(side, texts) and not _is_number(side) for side in (node.left, node.right))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _all_text(node: ast.List | ast.Tuple) -> bool:
    return all(isinstance(e, ast.Constant) and isinstance(e.value, str) for e in node.elts)


def reached(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions that change what the code does: no annotation, message or import."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            skipped = name in ("annotation", "returns") or isinstance(child, _SKIPPED)
            if not isinstance(child, ast.AST) or skipped or _is_message(child):
                continue
            yield child
            yield from reached(child)


_SKIPPED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Raise, ast.ClassDef)


def _is_message(node: ast.AST) -> bool:
    """Check for `msg = ...`, `__all__ = ...`, docstrings, types and imports for checkers."""
    match node:
        case ast.Assign(targets=[ast.Name(id="msg" | "__all__")]):
            return True
        case ast.Expr(value=ast.Constant(value=str())) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(value=ast.BinOp(op=ast.BitOr(), left=ast.Name())):
            return True
    return False


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    source = file.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in reached(ast.parse(source)):
        if not isinstance(node, ast.expr):
            continue
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        for change in changes(node):
            text = ast.unparse(ast.fix_missing_locations(change))
            new = text if isinstance(change, (ast.Constant, ast.List)) else f"({text})"
            yield Mutant(file.relative_to(ROOT), node.lineno, start, end, new)


def drawn(count: int, seed: int) -> list[Mutant]:
    """Draw mutants, every one with the same probability."""
    folders = [ROOT / "polarsfair" / name for name in SOURCES]
    files = sorted(
        f for folder in folders for f in ([folder], folder.rglob("*.py"))[folder.is_dir()]
    )
    every = [mutant for file in files for mutant in mutants_of(file)]
    print(f"{len(every)} mutants in {len(files)} files", flush=True)
    return random.Random(seed).sample(every, count)


def callers() -> Callers:
    """Ask every metric once, and return which metrics call which functions of the package."""
    found: Callers = {}
    package = str(ROOT / "polarsfair")
    for metric in METRICS:
        seen: set[CodeType] = set()

        def note(frame: FrameType, _event: str, _arg: object, seen: set[CodeType] = seen) -> None:
            seen.add(frame.f_code)

        sys.setprofile(note)
        try:
            for case in cases_of(metric)[:1]:
                actual(case, metric, {})
        finally:
            sys.setprofile(None)
        for code in seen:
            if code.co_filename.startswith(package):
                lines = [line for *_, line in code.co_lines() if line]
                place = Path(code.co_filename).relative_to(ROOT), min(lines), max(lines)
                found.setdefault(place, []).append(metric)
    return found


def metrics_at(mutant: Mutant, found: Callers) -> list[Metric]:
    """Return the metrics that call the function of a mutant, else any function of its file.

    A function that only a thread of Polars calls is not seen, nor is code that runs at import.
    """
    here = {place: metrics for place, metrics in found.items() if place[0] == mutant.file}
    around = [place for place in here if place[1] <= mutant.line <= place[2]]
    if around:
        return here[min(around, key=lambda place: place[2] - place[1])]
    every = {id(metric): metric for metrics in here.values() for metric in metrics}
    # The metrics that reach few of these functions are the ones that the file is about.
    return sorted(every.values(), key=lambda one: sum(len(m) for m in here.values() if one in m))


def names_at(mutant: Mutant, asked: list[Metric]) -> set[str]:
    """Return the words for what a mutant changes: metrics, public names of the file, the file."""
    names = {metric.name for metric in asked} | {mutant.file.stem.strip("_")}
    names |= set() if asked else {mutant.file.parent.name.strip("_")}
    for node in ast.parse((ROOT / mutant.file).read_bytes()).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=public)):
                names |= {str(one.value) for one in public if isinstance(one, ast.Constant)}
    return names


def tests_about(names: set[str], folder: str) -> list[str]:
    """Return arguments of pytest: tests of all folders that mention a name, and the ids with it."""
    mention = re.compile(r"\b(" + "|".join(sorted(names)) + r")(\b|_)")
    tests: dict[str, Path] = {}
    for file in (ROOT / "tests").glob("*/test_*.py"):
        for node in ast.parse(file.read_bytes()).body:
            if isinstance(node, ast.FunctionDef) and mention.search(ast.unparse(node)):
                tests |= {node.name: file} if node.name.startswith("test_") else {}
    files = {str(file.relative_to(ROOT)) for file in tests.values()}
    others = sorted(file for file in files if not file.startswith(folder))
    chosen = " or ".join(sorted(names | set(tests)))
    return [folder, *others, "tests/test_docstrings.py", "-k", chosen]


def rounds_of(mutant: Mutant, found: Callers) -> list[list[str]]:
    """Return the arguments of pytest, one round after the other, the most telling tests first."""
    family = mutant.file.parts[1]
    own = family in FAMILIES
    asked = metrics_at(mutant, found)
    few = random.Random(0).sample(asked, min(len(asked), FEW))
    queries = [
        f"tests/test_queries.py::test_metric_equals_query[{pair.id}]"
        for pair in random.Random(0).sample(PAIRS, len(PAIRS))
        if pair.values[0] in few
    ]
    here = f"tests/{family if own else 'engine'}"
    sets = sorted({f"[{metric.tally.name}" for metric in asked}) or [f"[{family}"]
    rest = [f"tests/{name}" for name in ("engine", *FAMILIES) if f"tests/{name}" != here]
    return [
        [str(mutant.file), *queries[: 2 * FEW]],
        tests_about(names_at(mutant, few), here),
        queries[2 * FEW :],
        [here, "tests/test_surface.py", "tests/test_references.py", "tests/test_docstrings.py"],
        ["tests/test_queries.py", *(["-k", family] if own else [])],
        ["tests/test_laws.py", *(["-k", " or ".join(sets)] if own else [])],
        ["tests/test_plans.py", "tests/test_scale.py", "tests/test_cli.py", *rest],
    ]


def noticed(mutant: Mutant, run: list[str], tree: Path) -> str | None:
    """Apply a mutant to a copy and return what notices it in one round, None if nothing does."""
    target = tree / mutant.file
    source = target.read_bytes()
    target.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
    try:
        return _failed(run, tree)
    finally:
        target.write_bytes(source)


def _failed(run: list[str], tree: Path) -> str | None:
    """Run tests in the copy; return the line of a failure, None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *run]
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=_environment(tree),
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "out of time"
    if done.returncode in (0, 5):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    told = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if done.returncode == 4 and not told:
        # A mutant of a fact can change which cases there are: later rounds run whole files.
        if b"not found: " in done.stderr:
            return None
        raise RuntimeError(done.stderr.decode())
    return (told or ["error"])[0][:150]


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}


def copied(folder: Path, number: int) -> Path:
    """Copy the project, with bytecode that is used only where it fits the text of its source.

    Python goes by time and size otherwise, which two mutants can share.
    """
    tree = folder / str(number)
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    for part in ("polarsfair", "tests"):
        checked = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(tree / part, quiet=1, invalidation_mode=checked)
    return tree


def survivors_of(mutants: dict[int, Mutant], jobs: int, rounds: range) -> dict[int, Mutant]:
    """Run all mutants round by round, each round on those that are left."""
    found = callers()
    alive = dict(mutants)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees: Queue[Path] = Queue()
        for number in range(jobs):
            trees.put(copied(Path(folder), number))

        def try_one(number: int, at: int) -> None:
            mutant, tree = mutants[number], trees.get()
            run = rounds_of(mutant, found)[at]
            try:
                told = noticed(mutant, run, tree) if run else None
            finally:
                trees.put(tree)
            if told:
                del alive[number]
            text = mutant.shown((ROOT / mutant.file).read_bytes())
            print(f"{at}/{number}. {text}\n    {told or 'survives'}", flush=True)

        for at in rounds:
            list(pool.map(lambda number, at=at: try_one(number, at), list(alive)))
    return alive


def main() -> None:
    """Draw mutants, run them, print those that nothing notices."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="numbers of drawn mutants, with commas")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--first", type=int, default=0, help="the first round")
    parser.add_argument("--last", type=int, default=6, help="the last round")
    given = parser.parse_args()
    mutants = dict(enumerate(drawn(given.count, given.seed)))
    if given.only:
        mutants = {int(number): mutants[int(number)] for number in given.only.split(",")}
    alive = survivors_of(mutants, given.jobs, range(given.first, given.last + 1))
    print(f"\n{len(mutants) - len(alive)} noticed, {len(alive)} survivors:")
    for number, mutant in sorted(alive.items()):
        print(f"{number}. {mutant.shown((ROOT / mutant.file).read_bytes())}")


if __name__ == "__main__":
    main()
