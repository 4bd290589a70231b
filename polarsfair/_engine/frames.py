"""Accept any frame, and return the kind of frame that was given.

Everything inside works on lazy frames. Errors raised inside a query are reworded here.
"""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, overload

import polars as pl
from polars.exceptions import InvalidOperationError, ShapeError

from polarsfair._engine.unknown import check_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarsfair._typing import FrameOf, IntoFrame

P = ParamSpec("P")

FAULT = "polarsfair: "
"""Begins the messages that rows raise by a failing cast, so that they are found in its error."""

_CONTEXT = "\n\nThis error occurred"

_OTHER_LENGTH = (
    "an expression that was given for a role or slice does not return a value for every row: filter"
    " the frame first, `frame.filter(...)`, and pass an expression of its columns"
)


class FaultError(InvalidOperationError, ValueError):
    """An error that only the data can cause, raised when the query runs.

    It is a `ValueError`, and also what Polars raises for an invalid operation. Its message is one
    sentence that says what to type.
    """

    def __init__(self, message: str) -> None:
        # Polars makes the error anew, with the expression that it evaluated after our words.
        super().__init__(message.partition(_CONTEXT)[0])


def is_lazy(*frames: object) -> bool:
    """Return whether any frame is lazy; the result is then lazy too."""
    return any(isinstance(frame, pl.LazyFrame) for frame in frames)


def as_lazy(frame: IntoFrame) -> pl.LazyFrame:
    """Return any accepted frame as a lazy frame."""
    if isinstance(frame, pl.LazyFrame):
        return frame
    if isinstance(frame, pl.DataFrame):
        return frame.lazy()
    if _is_frame(frame):
        return pl.DataFrame(frame).lazy()
    read = (
        f", a file with `pl.scan_parquet({str(frame)!r})`" if isinstance(frame, (str, Path)) else ""
    )
    msg = (
        f"expected a Polars frame or one with the Arrow C stream interface (pandas, pyarrow,"
        f" DuckDB), got {type(frame).__name__}: wrap the data in `pl.DataFrame(...)`{read}"
    )
    raise TypeError(msg)


def read_once(frame: Any) -> Any:
    """Return a frame of another library as a Polars frame: its stream can be read only once."""
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)) or not _is_frame(frame):
        return frame
    return pl.DataFrame(frame)


def _is_frame(value: object) -> bool:
    return hasattr(value, "__arrow_c_stream__") and not isinstance(value, pl.Series)


SMALL = 100_000
"""Rows up to which the in-memory engine answers sooner than the streaming one."""


def as_given(
    result: pl.LazyFrame, *sources: object, flat: bool = False
) -> pl.DataFrame | pl.LazyFrame:
    """Return the kind of frame that was given: lazy if any of the sources is, else eager.

    Sources that are not frames do not count. With `flat`, eager results come from the streaming
    engine however few the rows are.
    """
    if is_lazy(*sources):
        return result
    return collect(result, *filter(_is_frame, sources), flat=flat)


@overload
def lazy_or_eager(
    function: Callable[Concatenate[pl.LazyFrame, P], pl.LazyFrame], /
) -> FrameOf[P]: ...
@overload
def lazy_or_eager(
    *, flat: bool
) -> Callable[[Callable[Concatenate[pl.LazyFrame, P], pl.LazyFrame]], FrameOf[P]]: ...
def lazy_or_eager(
    function: Callable[Concatenate[pl.LazyFrame, P], pl.LazyFrame] | None = None,
    /,
    *,
    flat: bool = False,
) -> Any:
    """Let a function of a lazy frame take any frame: lazy in, lazy out, eager in, eager out."""
    if function is None:
        return functools.partial(lazy_or_eager, flat=flat)

    @functools.wraps(function)
    def any_frame(frame: IntoFrame, *args: P.args, **kwargs: P.kwargs) -> Any:
        check_parameters(function, kwargs)
        result = function(as_lazy(frame), *args, **kwargs)
        return as_given(result, frame, *args, *kwargs.values(), flat=flat)

    signature = inspect.signature(function)
    first, *others = signature.parameters.values()
    shown = signature.replace(
        parameters=[first.replace(annotation="IntoFrame"), *others],
        return_annotation="pl.DataFrame | pl.LazyFrame",
    )
    vars(any_frame)["__signature__"] = shown
    return any_frame


def collect(frame: pl.LazyFrame, *sources: object, flat: bool = False) -> pl.DataFrame:
    """Collect a query over eager `sources`; raise a fault of the rows as a `FaultError`."""
    rows = sum(source.height if isinstance(source, pl.DataFrame) else SMALL for source in sources)
    try:
        engine: Literal["in-memory", "streaming", "auto"] = (
            "streaming" if flat else "in-memory" if rows < SMALL else "auto"
        )
        return frame.collect(engine=engine)
    except (InvalidOperationError, ShapeError) as error:
        message = fault_message(error)
        if message is None:
            raise
        raise FaultError(message) from None


def fault_message(error: BaseException) -> str | None:
    """Return our words out of an error that a `Fault` has raised, None for any other error."""
    if isinstance(error, FaultError):
        return str(error)
    if isinstance(error, ShapeError):
        return _OTHER_LENGTH
    found = re.search(rf'\["{FAULT}(.*?)"(?:, "{FAULT}|, …|\]\s*(?:\n|$))', str(error), re.DOTALL)
    return found.group(1).replace('\\"', '"') if found else None
