"""The linear programmes of mitigation: small and exact; they do not read rows.

Every group has a few variables from 0 to 1, which determine its decisions. The rates that have to
be equal between groups, and the cost of the decisions, are linear in these variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]

_ZERO = 1e-9
"""Reduced costs and rates below this are treated as 0; the solver's own tolerance is 1e-7."""


@dataclass(frozen=True, eq=False)
class Moment:
    """A number per group, linear in the group's variables: ``factors @ x + start``."""

    factors: Floats
    start: Floats


@dataclass(frozen=True, eq=False)
class Programme:
    """The variables of all groups, what they cost, and what they must satisfy.

    Attributes
    ----------
    owner
        The group that each variable belongs to.
    costs
        The cost of each variable.
    equal
        The moments that must be equal in all groups.
    later
        A second cost, which decides between solutions of the same cost: the change that each
        variable makes.
    shares
        Whether the variables of a group are shares that add up to one.
    """

    owner: Integers
    costs: Floats
    equal: Sequence[Moment]
    later: Floats
    shares: bool = False

    def constraints(self) -> tuple[csr_array, Floats]:
        """Return the equations: all groups have the moments of the first; shares add up to one."""
        import numpy as np
        from scipy.sparse import csr_array, vstack

        groups, columns = int(self.owner.max()) + 1, np.arange(len(self.owner))
        whose = csr_array((np.ones(len(columns)), (self.owner, columns)))
        # Sparse: a group has few variables, and a full matrix would be groups times variables.
        signs = whose[1:] - vstack([whose[:1]] * (groups - 1), format="csr")
        rows = [signs.multiply(moment.factors[None, :]) for moment in self.equal]
        values = [moment.start[0] - moment.start[1:] for moment in self.equal]
        if self.shares:
            rows.append(whose)
            values.append(np.ones(groups))
        return csr_array(vstack(rows, format="csr")), np.concatenate(values)


def solve(programme: Programme) -> Floats:
    """Return the cheapest solution; of several, the one with the smallest change."""
    import numpy as np
    from scipy.optimize import linprog

    rows, values = programme.constraints()
    bounds = np.column_stack([np.zeros_like(programme.costs), np.ones_like(programme.costs)])
    scale = max(float(np.abs(programme.costs).max()), 1e-300)
    best = linprog(programme.costs / scale, A_eq=rows, b_eq=values, bounds=bounds, method="highs")
    if best.x is None:
        msg = (
            "no flip rates satisfy the constraint for all groups: drop groups with very few rows,"
            f" or choose a weaker constraint ({best.message})"
        )
        raise ValueError(msg)
    if not programme.later.any():
        return _rounded(best.x)
    # A variable with a reduced cost has the same value in every cheapest solution; the others may
    # change.
    held = np.abs(best.lower.marginals) + np.abs(best.upper.marginals) > _ZERO
    bounds[held] = best.x[held, None]
    mild = linprog(programme.later, A_eq=rows, b_eq=values, bounds=bounds, method="highs")
    return _rounded(best.x if mild.x is None else mild.x)


def _rounded(chosen: Floats) -> Floats:
    """Return rates within the tolerance of 0 or 1 as exactly 0 or 1."""
    import numpy as np

    return np.where(chosen < _ZERO, 0.0, np.where(chosen > 1 - _ZERO, 1.0, chosen))
