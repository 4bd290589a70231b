"""Shrunken shares: what groups with few rows borrow from all groups together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polarsfair._audit.limits import Floats


def shrunken(numerator: Floats, denominator: Floats, size: Floats) -> Floats:
    """Return shares drawn towards that of all groups; the groups are in the last axis.

    The prior is a Beta distribution of the pooled share. Its weight comes from the moments of the
    groups (DerSimonian and Laird 1986): groups that differ no more than by chance get the pooled
    share. There are no limits: those of the posterior are too narrow when groups do not differ.

    Parameters
    ----------
    numerator, denominator
        The parts of the shares, weighted or not.
    size
        The effective size of every group.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = numerator / denominator
        pooled = np.sum(numerator, axis=-1, keepdims=True) / np.sum(
            denominator, axis=-1, keepdims=True
        )
        weight = size / (pooled * (1 - pooled))
        total = np.sum(weight, axis=-1, keepdims=True)
        # Chance makes the squared distances as many as there are groups, less one.
        beyond = np.sum(weight * (share - pooled) ** 2, axis=-1, keepdims=True)
        beyond = beyond - (share.shape[-1] - 1)
        between = beyond / (total - np.sum(weight * weight, axis=-1, keepdims=True) / total)
        prior = pooled * (1 - pooled) / between - 1
        drawn = (size * share + prior * pooled) / (size + prior)
    flat = ~(between > 0) | ~(prior < np.inf)
    drawn = np.where(flat, pooled, np.where(prior > 0, drawn, share))
    return np.where(np.isnan(share), np.nan, drawn)
