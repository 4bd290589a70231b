"""The depths `k` at which lists are cut, and the lines of a table that belong to them."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.faults import Fault, raise_faults

if TYPE_CHECKING:
    from collections.abc import Sequence


_BEYOND = 2**63
"""The first whole number that is no rank: ranks are Int64."""


def depths(k: Any) -> list[int | None]:
    """List the distinct depths in `k`: one, several, or lists of them; None is the whole list."""
    if several(k):
        found = list(dict.fromkeys(one for part in k for one in depths(part)))
        if not found:
            msg = "`k` is an empty list: pass the number of ranks to look at, such as `k=[5, 10]`"
            raise ValueError(msg)
        return found
    if k is None:
        return [None]
    # NumPy's integers are whole numbers too.
    if isinstance(k, bool) or not isinstance(k, Integral) or not 0 < int(k) < _BEYOND:
        msg = f"`k` is the number of ranks to look at, a whole number from 1 (or None): got {k!r}"
        raise ValueError(msg)
    return [int(k)]


def several(k: Any) -> bool:
    """Return whether `k` is a list, so that ``k`` is a key of the result."""
    return isinstance(k, (list, tuple, range))


def with_k(keys: Sequence[str], k: Any) -> list[str]:
    """Return the keys, and ``k`` if it is a key of the result."""
    return [*keys, *["k"] * several(k)]


def deepest(ks: Sequence[int | None]) -> int | None:
    """Return the largest depth; None if a whole list is requested."""
    known = [k for k in ks if k is not None]
    return max(known) if len(known) == len(ks) else None


def within(rank: pl.Expr, k: int | None) -> pl.Expr:
    """Return whether a rank is among the first k."""
    return pl.lit(value=True) if k is None else rank <= k


def at_every_k(lines: pl.LazyFrame, ks: Sequence[int | None], name: str = "k") -> pl.LazyFrame:
    """Repeat every line for every depth, in the column `name`."""
    if len(ks) == 1:
        return lines.with_columns(pl.lit(ks[0], dtype=pl.Int64).alias(name))
    return lines.join(pl.LazyFrame({name: ks}, schema={name: pl.Int64}), how="cross")


def lines_of(k: Any, like: pl.Expr | None = None) -> tuple[pl.Expr, pl.Expr]:
    """Return the mask of the lines at the requested depths, and whether a depth has no line.

    The lines must also fulfil `like`.
    """
    known = pl.lit(value=True) if like is None else like
    each = [pl.col("k").eq_missing(pl.lit(one, dtype=pl.Int64)) & known for one in depths(k)]
    held = pl.all_horizontal(one.any() for one in each)
    return pl.any_horizontal(each), ~held & (pl.len() > 0)


def lines_at(table: pl.LazyFrame, k: Any, sums: Sequence[str]) -> pl.LazyFrame:
    """Return the lines at the requested depths; a depth that the table lacks is a fault."""
    mine, lacking = lines_of(k)
    message = f"the table has no rows for k={k}: make it with `k={k}`, or pass the `k` of the table"
    present = [name for name in sums if name in table.collect_schema()]
    lines = raise_faults(table, [Fault(lacking, message)], present).filter(mine)
    return lines if several(k) else lines.drop("k")
