"""Seeded generators of Parquet lakes, written file by file in constant memory, kept for reuse."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._contest import Contestant, Figures, Work
from benchmarks._runner import fresh

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

_GROUPS = ("North", "South", "East", "West", "Overseas")
_SHARES = (0.42, 0.27, 0.18, 0.10, 0.03)
_BASE_RATES = (0.36, 0.33, 0.30, 0.26, 0.22)


def lake(directory: Path, generator: Callable[..., Work], **arguments: str | float) -> Path:
    """Return the directory of a lake, written on first use and named after its parameters.

    A separate process writes it under another name, and it is renamed when it is complete.
    """
    name = "-".join([generator.__name__, *(f"{key}{value}" for key, value in arguments.items())])
    path = directory / "lakes" / name
    if not path.exists():
        partial = path.with_name(f"{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        fresh(Contestant(name, generator, {"path": str(partial), **arguments}))
        partial.rename(path)
    return path


def decision_rows(rows: int, *, nulls: float, seed: tuple[int, ...]) -> pl.DataFrame:
    """Draw decisions about people: one of five groups, a score, a 0/1 prediction and label.

    ``nulls`` is the share of nulls in each of group, prediction and label. The score is a column
    that a scan can skip.
    """
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(seed)
    group = draw.choice(len(_GROUPS), rows, p=_SHARES)
    label = draw.random(rows) < np.array(_BASE_RATES)[group]
    score = (draw.beta(2, 3, rows) + 0.2 * label - 0.01 * group).clip(0, 1).round(4)
    full = pl.DataFrame(
        {
            "group": pl.Series(_GROUPS).gather(group),
            "score": pl.Series(score, dtype=pl.Float32),
            "pred": pl.Series(score > 0.5).cast(pl.Int8),
            "label": pl.Series(label).cast(pl.Int8),
        }
    )
    known = {name: draw.random(rows) >= nulls for name in ("group", "pred", "label")}
    return full.with_columns(
        pl.when(pl.Series(mask)).then(name).alias(name) for name, mask in known.items()
    )


def decisions(path: str, rows: int, seed: int, nulls: float, file_rows: int) -> Work:
    """Write a lake of decisions. Each file has its own seed, so a longer lake begins the same."""

    def write() -> Figures:
        for number, start in enumerate(range(0, rows, file_rows)):
            height = min(file_rows, rows - start)
            part = decision_rows(height, nulls=nulls, seed=(seed, number))
            part.write_parquet(Path(path) / f"part-{number:05}.parquet")
        return {}

    return write
