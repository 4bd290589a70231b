"""The linear programmes behind mitigation: small, exact, and blind to rows.

Every group has a few variables from 0 to 1 that say how its decisions are made; what has to be
equal between groups, and what the decisions cost, is linear in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]

_ZERO = 1e-9
"""Reduced costs and rates below this are none: the solver's own tolerance is 1e-7."""


@dataclass(frozen=True, eq=False)
class Moment:
    """A number per group, linear in the group's variables: ``factors @ x + start``."""

    factors: Floats
    start: Floats


@dataclass(frozen=True, eq=False)
class Programme:
    """What to choose for every group.

    Attributes
    ----------
    owner
        The group that each variable belongs to.
    costs
        What each variable costs.
    equal
        The moments that must be equal in all groups.
    later
        Decides between choices of the same cost: what each variable changes.
    shares
        Whether the variables of a group are shares that add up to one.
    """

    owner: Integers
    costs: Floats
    equal: Sequence[Moment]
    later: Floats
    shares: bool = False

    def constraints(self) -> tuple[Floats, Floats]:
        """Give the equations: every group's moments are those of the first; shares add up."""
        import numpy as np

        groups = np.arange(1, self.owner.max() + 1)[:, None]
        signs = (self.owner == groups).astype(float) - (self.owner == 0)
        rows = [signs * moment.factors for moment in self.equal]
        values = [moment.start[0] - moment.start[1:] for moment in self.equal]
        if self.shares:
            rows.append((self.owner == np.arange(self.owner.max() + 1)[:, None]).astype(float))
            values.append(np.ones(self.owner.max() + 1))
        return np.concatenate(rows), np.concatenate(values)


def solve(programme: Programme) -> Floats:
    """Give the cheapest choice, and of several the one that changes least."""
    import numpy as np
    from scipy.optimize import linprog

    rows, values = programme.constraints()
    bounds = np.column_stack([np.zeros_like(programme.costs), np.ones_like(programme.costs)])
    scale = max(float(np.abs(programme.costs).max()), 1e-300)
    best = linprog(programme.costs / scale, A_eq=rows, b_eq=values, bounds=bounds, method="highs")
    if best.x is None:
        msg = (
            "no choice of rates makes the groups equal: leave out groups with very few rows, or"
            f" ask for less than this constraint ({best.message})"
        )
        raise ValueError(msg)
    if not programme.later.any():
        return _settled(best.x)
    # A variable with a reduced cost has its value in every cheapest choice; the others may move.
    held = np.abs(best.lower.marginals) + np.abs(best.upper.marginals) > _ZERO
    bounds[held] = best.x[held, None]
    mild = linprog(programme.later, A_eq=rows, b_eq=values, bounds=bounds, method="highs")
    return _settled(best.x if mild.x is None else mild.x)


def _settled(chosen: Floats) -> Floats:
    """Give rates that the solver left beside 0 and 1 as exactly these."""
    import numpy as np

    return np.where(chosen < _ZERO, 0.0, np.where(chosen > 1 - _ZERO, 1.0, chosen))
