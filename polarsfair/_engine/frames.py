"""Accept any frame, and return the kind of frame that was given.

Everything inside works on lazy frames. Errors that a query raises leave here in our words.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl
from polars.exceptions import InvalidOperationError

if TYPE_CHECKING:
    from polarsfair._typing import IntoFrame

FAULT = "polarsfair: "
"""Begins every message that rows can raise, so that it is found again in Polars' error."""


def is_lazy(*frames: object) -> bool:
    """Say whether any of `frames` is lazy, and the result therefore too."""
    return any(isinstance(frame, pl.LazyFrame) for frame in frames)


def as_lazy(frame: IntoFrame) -> pl.LazyFrame:
    """Give `frame` as a lazy frame, whatever it was."""
    if isinstance(frame, pl.LazyFrame):
        return frame
    if isinstance(frame, pl.DataFrame):
        return frame.lazy()
    if hasattr(frame, "__arrow_c_stream__") and not isinstance(frame, pl.Series):
        return pl.DataFrame(frame).lazy()
    read = (
        f", a file with `pl.scan_parquet({str(frame)!r})`" if isinstance(frame, (str, Path)) else ""
    )
    msg = (
        f"expected a Polars frame or one with the Arrow C stream interface (pandas, pyarrow,"
        f" DuckDB), got {type(frame).__name__}: wrap the data in `pl.DataFrame(...)`{read}"
    )
    raise TypeError(msg)


SMALL = 100_000
"""Rows up to which the in-memory engine answers sooner than the streaming one."""


def collect(frame: pl.LazyFrame, *sources: object, flat: bool = False) -> pl.DataFrame:
    """Collect what eager `sources` gave; a fault of the rows is a `ValueError` in our words.

    With `flat`, on the streaming engine however few the rows are.
    """
    rows = sum(source.height if isinstance(source, pl.DataFrame) else SMALL for source in sources)
    try:
        engine: Literal["in-memory", "streaming", "auto"] = (
            "streaming" if flat else "in-memory" if rows < SMALL else "auto"
        )
        return frame.collect(engine=engine)
    except InvalidOperationError as error:
        message = fault_message(error)
        if message is None:
            raise
        raise ValueError(message) from None


def fault_message(error: BaseException) -> str | None:
    """Give our words out of an error that `fault` has caused, None for any other error."""
    found = re.search(rf'\["{FAULT}(.*?)"(?:, "{FAULT}|, …|\]\s*(?:\n|$))', str(error), re.DOTALL)
    return found.group(1).replace('\\"', '"') if found else None
