"""The sample lake of `polarsfair demo`: made-up loan decisions with a known disparity.

The ability to repay does not depend on sex or age, but the score behind the decisions does. It
marks women down, a little more every day, and people of 60 and over slightly. One country has
corrected its score.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

DAYS = tuple(date(2026, 1, 5) + timedelta(days=i) for i in range(7))
FILES_PER_DAY = 2
FILES = len(DAYS) * FILES_PER_DAY

COUNTRIES = {"DE": 0.35, "FR": 0.25, "PL": 0.2, "PT": 0.1, "SE": 0.1}
CORRECTED = "SE"
AGES = {"18-29": 0.3, "30-44": 0.35, "45-59": 0.22, "60+": 0.13}
SEXES = {"F": 0.49, "M": 0.495, None: 0.015}


def write_lake(directory: Path, rows: int = 1_000_000, *, seed: int = 0) -> Iterator[Path]:
    """Write the lake file by file, ``day=.../part-N.parquet``, and yield the path of each file.

    The same `rows` and `seed` make the same lake. Only one file is in memory at a time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     files = list(write_lake(Path(directory), 1000))
    ...     rows = pl.read_parquet(directory).height
    >>> len(files), rows
    (14, 1000)
    """
    for file in range(FILES):
        day, part = divmod(file, FILES_PER_DAY)
        path = directory / f"day={DAYS[day]}" / f"part-{part}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = rows * (file + 1) // FILES - rows * file // FILES
        loans(size, day, seed=[seed, file]).write_parquet(path)
        yield path


def loans(rows: int, day: int, *, seed: list[int]) -> pl.DataFrame:
    """Draw `rows` loan decisions of one day."""
    import numpy as np

    rng = np.random.default_rng(seed)
    people = pl.DataFrame(
        {
            "country": draw(rng, COUNTRIES, rows),
            "sex": draw(rng, SEXES, rows),
            "age": draw(rng, AGES, rows),
            "ability": rng.normal(0.3, 1.0, rows),
            "luck": rng.normal(0.0, 0.8, rows),
            "error": rng.normal(0.0, 0.5, rows),
            "weight": rng.gamma(8.0, 0.125, rows).round(3),
        }
    )
    score = (1 / (1 + (-pl.col("ability") - pl.col("error") + markdown(day)).exp())).round(3)
    return people.select(
        "country",
        "sex",
        "age",
        score.alias("score"),
        (score > 0.5).alias("approved"),
        (pl.col("ability") + pl.col("luck") > 0).alias("repaid"),
        "weight",
    )


def markdown(day: int) -> pl.Expr:
    """Return by how much the score is too low, in standard deviations of the ability."""
    woman = pl.col("sex").eq_missing("F") & (pl.col("country") != CORRECTED)
    return woman * (0.35 + 0.03 * day) + (pl.col("age") == "60+") * 0.2


def draw(
    rng: np.random.Generator, shares: dict[str, float] | dict[str | None, float], rows: int
) -> pl.Series:
    """Draw a text column of values with the given shares."""
    picked: NDArray[np.int64] = rng.choice(len(shares), size=rows, p=list(shares.values()))
    return pl.Series(list(shares), dtype=pl.String).gather(pl.Series(picked))
