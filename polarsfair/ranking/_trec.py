"""Files of TREC: runs (recommendations) and qrels (relevant items), as lazy frames."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

import polars as pl

from polarsfair._engine.faults import Fault, checked_rows
from polarsfair._engine.slices import hidden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Source: TypeAlias = str | Path | IO[bytes] | bytes
    Sources: TypeAlias = Source | Sequence[Source]

__all__ = ["scan_qrels", "scan_run"]

_LINE, _NUMBER, _FILE, _FIELDS = map(hidden, ("line", "number", "file", "fields"))

_FIELD = r"[^ \t\r\v\f]+"
"""Whatever is not a blank of ASCII; quotes are letters."""

_NO_SEPARATOR = "\x1f"
"""Separates units, and does not occur in text: every line is one column."""


class _Layout(NamedTuple):
    """The fields of a line, and the dtypes of those that are kept."""

    name: str
    fields: tuple[str, ...]
    kept: Mapping[str, Any]


_RUN = _Layout(
    "run",
    ("user", "Q0", "item", "rank", "score", "tag"),
    {
        "user": pl.String,
        "item": pl.String,
        "rank": pl.Int64,
        "score": pl.Float64,
        "tag": pl.String,
    },
)
_QRELS = _Layout(
    "qrels",
    ("user", "0", "item", "relevance"),
    {"user": pl.String, "item": pl.String, "relevance": pl.Int64},
)


def scan_run(source: Sources) -> pl.LazyFrame:
    r"""Read recommendations from a run file of TREC, lazily.

    A line is ``user Q0 item rank score tag``, with any blanks between. Empty lines are skipped, and
    quotes are letters. A line of other fields is an error that names its number.

    Parameters
    ----------
    source
        A path, several, a pattern or a directory, as `pl.scan_csv` takes them.

    Returns
    -------
    pl.LazyFrame
        ``user``, ``item`` and ``tag`` (String), ``rank`` (Int64) and ``score`` (Float64).

    Notes
    -----
    ``trec_eval`` ignores the rank and orders by the score: pass ``score="score"`` to do the same.
    Some runs number ranks from 0, which ``rank=pl.col("rank") + 1`` repairs.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polarsfair import ranking
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "model.run")
    ...     _ = path.write_text("q1 Q0 d7 1 0.9 model\\nq1 Q0 d8 2 0.4 model\\n")
    ...     ranking.scan_run(path).collect()
    shape: (2, 5)
    ┌──────┬──────┬──────┬───────┬───────┐
    │ user ┆ item ┆ rank ┆ score ┆ tag   │
    │ ---  ┆ ---  ┆ ---  ┆ ---   ┆ ---   │
    │ str  ┆ str  ┆ i64  ┆ f64   ┆ str   │
    ╞══════╪══════╪══════╪═══════╪═══════╡
    │ q1   ┆ d7   ┆ 1    ┆ 0.9   ┆ model │
    │ q1   ┆ d8   ┆ 2    ┆ 0.4   ┆ model │
    └──────┴──────┴──────┴───────┴───────┘
    """
    return _scanned(source, _RUN)


def scan_qrels(source: Sources) -> pl.LazyFrame:
    r"""Read the relevance of items from a qrels file of TREC, lazily.

    A line is ``user 0 item relevance``, with any blanks between. Empty lines are skipped, and
    quotes are letters. A line of other fields is an error that names its number.

    Parameters
    ----------
    source
        A path, several, a pattern or a directory, as `pl.scan_csv` takes them.

    Returns
    -------
    pl.LazyFrame
        ``user`` and ``item`` (String), and ``relevance`` (Int64), which is relevant if above 0.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polarsfair import ranking
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "test.qrels")
    ...     _ = path.write_text("q1 0 d7 2\\nq1 0 d9 0\\n")
    ...     ranking.scan_qrels(path).collect()
    shape: (2, 3)
    ┌──────┬──────┬───────────┐
    │ user ┆ item ┆ relevance │
    │ ---  ┆ ---  ┆ ---       │
    │ str  ┆ str  ┆ i64       │
    ╞══════╪══════╪═══════════╡
    │ q1   ┆ d7   ┆ 2         │
    │ q1   ┆ d9   ┆ 0         │
    └──────┴──────┴───────────┘
    """
    return _scanned(source, _QRELS)


def _scanned(source: Any, layout: _Layout) -> pl.LazyFrame:
    """Read the fields of every line that has any."""
    lines = pl.concat([_lines(one) for one in _files(source)])
    fields = pl.col(_LINE).str.extract_all(_FIELD).alias(_FIELDS)
    values = {
        name: pl.col(_FIELDS)
        .list.get(layout.fields.index(name), null_on_oob=True)
        .cast(dtype, strict=False)
        for name, dtype in layout.kept.items()
    }
    number = pl.col(_FIELDS).list.len()
    wrong = pl.any_horizontal(value.is_null() for value in values.values())
    bad = (number > 0) & ((number != len(layout.fields)) | wrong)
    message = pl.format(
        "line {} of {} is not a line of a {} file, `{}`: correct it or leave it out: {}",
        pl.col(_NUMBER),
        pl.col(_FILE),
        pl.lit(layout.name),
        pl.lit(" ".join(layout.fields)),
        pl.col(_LINE).str.head(60),
    )
    fault = Fault((number.is_not_null() & bad).fill_null(value=False), message)
    # A filter reads its condition whatever columns are requested.
    there = checked_rows(number.fill_null(0) > 0, [fault])
    return lines.with_columns(fields).filter(there).select(**values)


def _lines(source: Any) -> pl.LazyFrame:
    """Return the lines of a file, with their numbers; an empty line is null."""
    return pl.scan_csv(
        source,
        has_header=False,
        schema={_LINE: pl.String},
        separator=_NO_SEPARATOR,
        quote_char=None,
        row_index_name=_NUMBER,
        row_index_offset=1,
        include_file_paths=_FILE,
    )


def _files(source: Any) -> list[Any]:
    """List the files of a source one by one, so that lines are counted in each of them."""
    if isinstance(source, (list, tuple)):
        if not source:
            msg = '`source` is an empty list: name at least one file, such as `"model.run"`'
            raise ValueError(msg)
        return [file for one in source for file in _files(one)]
    if not isinstance(source, (str, Path)):
        return [source]
    pattern = str(Path(source, "**", "*")) if Path(source).is_dir() else str(source)
    found = [one for one in sorted(glob.glob(pattern, recursive=True)) if Path(one).is_file()]
    # What is not found here may be in a cloud: Polars looks for it, or raises.
    return found or [source]
