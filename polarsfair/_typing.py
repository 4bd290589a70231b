"""Types that several rooms share: frames, columns, and what calls take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import polars as pl


class ArrowStream(Protocol):
    """Anything that exports its rows through the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows."""
        ...


EagerFrame: TypeAlias = pl.DataFrame | ArrowStream


IntoFrame: TypeAlias = pl.DataFrame | pl.LazyFrame | ArrowStream


IntoColumn: TypeAlias = str | pl.Expr


IntoSlices: TypeAlias = str | pl.Expr | Sequence[str | pl.Expr]


IntoGroup: TypeAlias = str | pl.Expr | Sequence[str | pl.Expr] | Mapping[Any, str | pl.Expr]


Better: TypeAlias = Literal["lower", "higher", "ideal"] | None


Kind: TypeAlias = Literal["outcome", "opportunity", "individual", "quality"]


Sums: TypeAlias = Mapping[str, pl.Expr]
