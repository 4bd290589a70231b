"""The cost of ``import polarsfair``, compared with ``import polars``."""

from __future__ import annotations

import sys

from benchmarks._contest import Benchmark, Contest, Contestant, Figures, Goal, Settings, Work

_OURS = "import polars, polarsfair"
_POLARS = "import polars"


def polars_alone() -> Work:
    """Import Polars. Here the import itself is timed."""

    def work() -> Figures:
        import polars as pl  # noqa: F401

        return {}

    return work


def polars_and_ours() -> Work:
    """Import Polars and polarsfair, and return which heavy libraries were imported too."""

    def work() -> Figures:
        import polars as pl  # noqa: F401

        import polarsfair  # noqa: F401

        return {f"{name} loaded": name in sys.modules for name in ("numpy", "pyarrow", "scipy")}

    return work


def contests(settings: Settings) -> list[Contest]:
    """Compare the two imports."""
    del settings
    return [
        Contest(
            "import",
            (Contestant(_POLARS, polars_alone), Contestant(_OURS, polars_and_ours)),
            baseline=_POLARS,
            goals=(
                Goal(
                    "polarsfair over polars",
                    lambda o: 1e3 * (o[_OURS].wall - o[_POLARS].wall),
                    50,
                    "ms",
                ),
            ),
        )
    ]


BENCHMARK = Benchmark("import", "what `import polarsfair` costs over `import polars`", contests)
