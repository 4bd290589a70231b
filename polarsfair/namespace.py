"""Opt-in accessors: ``import polarsfair.namespace`` registers ``df.fair`` and ``lf.fair``.

Examples
--------
>>> import polars as pl
>>> import polarsfair.namespace
>>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
>>> df.fair.stat_parity(group="sex", pred="hired")
0.5
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine import catalog
from polarsfair._engine.by_group import by_group
from polarsfair._engine.evaluate import evaluate, measure
from polarsfair._engine.unknown import advice
from polarsfair._typing import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarsfair._engine.metric import Metric


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "evaluate": evaluate,
    "measure": measure,
    "by_group": by_group,
}


def _method(function: Callable[..., Any], frame: pl.DataFrame | pl.LazyFrame) -> Any:
    """Bind the frame as first argument. The docstring and signature stay those of the function."""

    def method(*args: Any, **keywords: Any) -> Any:
        return function(frame, *args, **keywords)

    signature = inspect.signature(function)
    named = {"__name__": getattr(function, "__name__", ""), "__doc__": function.__doc__}
    rest = list(signature.parameters.values())[1:]
    for name, value in (*named.items(), ("__signature__", signature.replace(parameters=rest))):
        setattr(method, name, value)
    return method


@pl.api.register_dataframe_namespace("fair")
@pl.api.register_lazyframe_namespace("fair")
class FairNamespace:
    """Every metric as a method of the frame: ``df.fair.stat_parity(...)``.

    If two families have a metric of that name, add the family: ``df.fair.ranking.precision(...)``.
    """

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame, family: str | None = None) -> None:
        self._frame = frame
        self._families = FAMILIES if family is None else (family,)

    def __getattr__(self, name: str) -> Any:
        """Return a metric, a family or a function such as `evaluate`, bound to the frame."""
        if name in FAMILIES:
            return FairNamespace(self._frame, name)
        if name in _FUNCTIONS:
            return _method(_FUNCTIONS[name], self._frame)
        found = [known[name] for known in self._members() if name in known]
        if len(found) == 1:
            return _method(found[0], self._frame)
        families = zip(self._families, self._members(), strict=True)
        where = [f"`fair.{family}.{name}`" for family, known in families if name in known]
        hint = f"write {' or '.join(where)}" if where else advice(name) or "see `pf.catalog()`"
        msg = f"`fair` has {len(found) or 'no'} metrics called {name!r}: {hint}"
        raise AttributeError(msg)

    def __dir__(self) -> list[str]:
        """List the metrics, families and functions, for completion."""
        return sorted(
            {*_FUNCTIONS, *self._families, *(n for known in self._members() for n in known)}
        )

    def _members(self) -> list[dict[str, Metric]]:
        return [catalog.family_members(family) for family in self._families]
