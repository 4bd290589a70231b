"""References that are chosen by the data: the largest group, or the one with the best value."""

from __future__ import annotations

import enum


class Chosen(enum.Enum):
    """References that every slice and attribute chooses among its groups that are not small."""

    LARGEST = "largest"
    BEST = "best"

    def __repr__(self) -> str:
        return f"pf.{self.name}"


LARGEST, BEST = Chosen.LARGEST, Chosen.BEST
