"""The layers of the house, read off the source: who may import whom, and how names are hidden."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import polarsfair

PACKAGE = Path(polarsfair.__file__).parent
SOURCES = {
    ".".join(("polarsfair", *file.relative_to(PACKAGE).with_suffix("").parts)): file
    for file in sorted(PACKAGE.rglob("*.py"))
}
LAYERS = (
    ("_typing", "_formula", "_aliases"),
    ("_engine",),
    ("fairness", "ranking", "clustering"),
    ("_audit",),
    ("_cli", "cli", "namespace", "__main__"),
)
"""Lowest first. The package itself, `polarsfair`, may be imported by the last layer alone."""

ENGINE = (
    *(
        "unknown",
        "frames",
        "slices",
        "columns",
        "faults",
        "groups",
        "rows",
        "tally",
        "stored",
        "metric",
        "request",
    ),
    *(
        "reference",
        "group_pairs",
        "counts",
        "read",
        "tables",
        "compare",
        "evaluate",
        "by_group",
        "catalog",
    ),
)
"""The import order of the engine, which is its reading order."""

FAMILIES = LAYERS[2]
LENT = {("fairness", "clustering._internal"), ("fairness", "clustering._external")}
"""What a family may import of another family."""


def layer_of(module: str) -> int:
    """Return the number of a module's layer; the package itself stands above the families."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] == "__init__":
        return len(LAYERS) - 1
    return next(i for i, layer in enumerate(LAYERS) if parts[1] in layer)


def imports_of(module: str) -> Iterator[str]:
    """List the modules of the package that a module imports, type imports included."""
    for node in ast.walk(ast.parse(SOURCES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("polarsfair"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polarsfair"):
            for name in node.names:
                submodule = f"{node.module}.{name.name}"
                package = f"{submodule}.__init__"
                yield submodule if {submodule, package} & SOURCES.keys() else str(node.module)


GRAPH = {module: sorted(set(imports_of(module))) for module in SOURCES}


@pytest.mark.parametrize("module", sorted(GRAPH.keys() - {"polarsfair.__init__"}))
def test_no_module_imports_a_higher_layer(module: str) -> None:
    assert [name for name in GRAPH[module] if layer_of(name) > layer_of(module)] == []


def test_there_is_no_cycle() -> None:
    """Neither at run time nor through imports for type checkers."""
    packages = {name.removesuffix(".__init__"): name for name in SOURCES}
    graph = {module: [packages.get(n, n) for n in names] for module, names in GRAPH.items()}
    # The package imports families and evidence for type checkers; at run time on demand.
    families = {f"polarsfair.{family}.__init__" for family in FAMILIES}
    root = "polarsfair.__init__"
    lazy = (*families, "polarsfair._audit.")
    graph[root] = [name for name in graph[root] if not name.startswith(lazy)]
    assert len(list(TopologicalSorter(graph).static_order())) == len(SOURCES)


def test_the_engine_imports_in_reading_order() -> None:
    files = {file.stem for file in (PACKAGE / "_engine").glob("*.py")} - {"__init__"}
    assert files == set(ENGINE)
    for place, name in enumerate(ENGINE):
        imported = {n.split(".")[-1] for n in GRAPH[f"polarsfair._engine.{name}"] if "_engine" in n}
        assert imported <= set(ENGINE[:place]), name


@pytest.mark.parametrize("family", FAMILIES)
def test_families_know_only_what_is_lent(family: str) -> None:
    for module, names in GRAPH.items():
        if not module.startswith(f"polarsfair.{family}."):
            continue
        for name in names:
            other = name.removeprefix("polarsfair.")
            if other.startswith(FAMILIES) and not other.startswith(family):
                lent = ".".join(other.split(".")[:2])
                assert (family, lent) in LENT, f"{module} imports {name}"


FOLDERS = [p for p in PACKAGE.rglob("*") if (p / "__init__.py").exists() and p.name != "_engine"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_folders_are_small(folder: Path) -> None:
    files = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
    assert len(files) <= 10


def plain_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """List the strings of a module that are not docstrings, parts of f-strings included."""
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


PATTERNS = {
    "polarsfair._engine.slices": "the mark itself",
    "polarsfair._engine.frames": "a regular expression",
    "polarsfair._engine.catalog": "a regular expression",
    "polarsfair._cli.parse": "regular expressions",
    "polarsfair._cli.flags": "regular expressions",
    "polarsfair._cli.lakes": "regular expressions",
    "polarsfair._cli.sql": "regular expressions",
}
"""Modules in which a bar in a string is not part of a name, and what it is."""


@pytest.mark.parametrize("module", sorted(SOURCES.keys() - PATTERNS.keys()))
def test_hidden_names_are_spelt_by_hidden(module: str) -> None:
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    assert [found for found in plain_strings(tree) if "|" in found[1]] == []


def test_nothing_is_called_by_a_word_that_says_nothing() -> None:
    words = {"utils", "helpers", "base", "common", "_core", "core", "misc", "legacy"}
    assert [name for name in SOURCES if words & set(name.split("."))] == []
