"""Change the code at random and see whether a test notices; not part of the suite.

``python -m tests._mutants --count 100 --seed 0`` draws mutants of formulas and engine, applies each
to a temporary copy of the project, and runs the tests of its family there, the quick ones first.
It prints the mutants that no test notices. Each of them is a missing test, or a change that cannot
be noticed. ``--only 3,17`` runs these of the drawn mutants again.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
SOURCES = ("_formula.py", "_engine", "fairness", "ranking", "clustering")
LIMIT = 400
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
        case ast.Call(func=ast.Attribute(value=value, attr=word)) if word in DROPPED:
            yield value
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


def runs_of(mutant: Mutant) -> list[list[str]]:
    """Return the arguments of pytest, one run after the other, for the file of a mutant."""
    family = mutant.file.parts[1]
    if family not in ("fairness", "ranking", "clustering"):
        return [
            [str(mutant.file), "tests/engine", "tests/test_references.py", "tests/test_surface.py"],
            ["tests/ranking", "tests/fairness", "tests/clustering", "tests/test_plans.py"],
            ["tests/test_queries.py"],
            ["tests/test_laws.py"],
        ]
    own = ["tests/engine/test_uncertain.py"] if family == "fairness" else []
    return [
        [str(mutant.file), f"tests/{family}", *own],
        ["tests/test_queries.py", "-k", family],
        ["tests/test_laws.py", "tests/test_surface.py", "tests/test_references.py", "-k", family],
        ["tests/test_plans.py", "tests/test_scale.py"],
    ]


def noticed(mutant: Mutant, tree: Path) -> str | None:
    """Apply a mutant to the copy and return what notices it, None if nothing does."""
    target = tree / mutant.file
    source = target.read_bytes()
    target.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
    try:
        for run in runs_of(mutant):
            if found := _failed(run, tree):
                return found
    finally:
        target.write_bytes(source)
    return None


def _failed(run: list[str], tree: Path) -> str | None:
    """Run tests in the copy; return the last lines of a failure, None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *run]
    # Two sources of one second and one size would share their bytecode.
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return "out of time"
    if done.returncode in (0, 5):
        return None
    if done.returncode == 4 and b"ERROR" not in done.stdout + done.stderr:
        raise RuntimeError(done.stderr.decode())
    lines = done.stdout.decode(errors="replace").splitlines()
    return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), "error")[:150]


def main() -> None:
    """Draw mutants, run them, print those that nothing notices."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="numbers of drawn mutants, with commas")
    given = parser.parse_args()
    chosen = {int(number) for number in given.only.split(",") if number}
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        for number, mutant in enumerate(drawn(given.count, given.seed)):
            if chosen and number not in chosen:
                continue
            text = mutant.shown((ROOT / mutant.file).read_bytes())
            found = noticed(mutant, tree)
            survivors += [] if found else [f"{number}. {text}"]
            print(f"{number}. {text}\n    {found or 'SURVIVES'}", flush=True)
    print(f"\n{len(survivors)} survivors:", *survivors, sep="\n")


if __name__ == "__main__":
    main()
