"""How often limits hold the truth, in simulated data: cells are drawn, not rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import polarsfair as pf
from polarsfair import fairness
from polarsfair._audit import limits

if TYPE_CHECKING:
    from polarsfair._audit.limits import Floats, Limits

pytestmark = pytest.mark.slow
MANY = 20_000
Q = limits.quantile(0.95)


def held(found: Limits, truth: float) -> float:
    return float(np.mean((found.low <= truth) & (truth <= found.high)))


def shares(draw: np.random.Generator, n: int, p: float, q: Floats = Q) -> Limits:
    size = np.full(MANY, float(n))
    return limits.wilson(draw.binomial(n, p, MANY) / n, size, q)


def least(*expected: float) -> tuple[float, float]:
    """Return how often limits must hold the truth: discreteness of few events widens them."""
    return 0.93, 0.97 if min(expected) >= 10 else 1.0


@pytest.mark.parametrize(("n", "p"), [(30, 0.1), (100, 0.1), (100, 0.5), (1000, 0.02), (5000, 0.3)])
def test_rates(n: int, p: float) -> None:
    low, high = least(n * p, n * (1 - p))
    assert low <= held(shares(np.random.default_rng(1), n, p), p) <= high


@pytest.mark.parametrize(
    ("n", "p", "m", "q"),
    [(30, 0.1, 30, 0.1), (100, 0.2, 100, 0.3), (50, 0.1, 500, 0.15), (5000, 0.02, 300, 0.05)],
)
def test_differences_and_ratios(n: int, p: float, m: int, q: float) -> None:
    draw = np.random.default_rng(2)
    own, other = shares(draw, n, p), shares(draw, m, q)
    low, high = least(n * p, m * q, n * (1 - p), m * (1 - q))
    assert low <= held(limits.difference(own, other), p - q) <= high
    ratio = limits.ratio(own, other)
    assert low <= held(ratio, p / q) <= high


@pytest.mark.parametrize("groups", [2, 4, 8, 20])
@pytest.mark.parametrize(("n", "p"), [(100, 0.1), (1000, 0.5)])
def test_gaps_at_parity(groups: int, n: int, p: float) -> None:
    draw, many = np.random.default_rng(3), 4_000
    q = limits.quantile(limits.share_of_pairs(0.95, limits.pairs_of(groups)))
    hits = draw.binomial(n, p, (many, groups))
    found = limits.wilson(hits / n, np.full((many, groups), float(n)), q)
    low, high = limits.worst_difference(found)
    assert np.mean((low <= 0) & (high >= 0)) >= 0.93
    low, high = limits.worst_ratio(found)
    assert np.mean((low <= 1) & (high >= 1)) >= 0.93


@pytest.mark.parametrize(("n", "p"), [(200, 0.05), (200, 0.3), (1000, 0.05)])
def test_weighted_rates(n: int, p: float) -> None:
    draw, many = np.random.default_rng(4), 4_000
    weight, hit = draw.exponential(size=(many, n)), draw.random((many, n)) < p
    squares = weight * weight
    sums = [(weight * hit).sum(1), weight.sum(1), (squares * hit).sum(1), squares.sum(1)]
    size, degrees = limits.weighted_size(*sums)
    found = limits.wilson(sums[0] / sums[1], size, limits.quantile(0.95, degrees))
    assert held(found, p) >= 0.91


@pytest.mark.parametrize("units", [30, 100])
@pytest.mark.parametrize("p", [0.1, 0.4])
def test_units(units: int, p: float) -> None:
    draw, sets, alike = np.random.default_rng(5), 400, 0.3
    each = draw.integers(10, 31, (sets, units))
    scale = (1 - alike) / alike
    rate = draw.beta(p * scale, (1 - p) * scale, (sets, units))
    hits = draw.binomial(each, rate)
    ids = np.arange(sets).repeat(units), np.tile(np.arange(units), sets)
    cells = [
        pl.DataFrame({"set": ids[0], "unit": ids[1], "pred": value, "n": count.reshape(-1)})
        for value, count in ((True, hits), (False, each - hits))
    ]
    table = pl.concat(cells).rename({"unit": "house"}).filter(pl.col("n") > 0)
    found = pf.interval_table(table, fairness.selection_rate, by="set", unit="house")
    assert set(found["method"]) == {"unit"}
    assert found.select(pl.lit(p).is_between("low", "high").mean()).item() >= 0.91 - 0.015


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_draws_of_f1(n: int) -> None:
    draw, sets = np.random.default_rng(6), 500
    chances = {(True, True): 0.4, (True, False): 0.1, (False, True): 0.05, (False, False): 0.45}
    counts = draw.multinomial(n, list(chances.values()), sets)
    table = pl.concat(
        pl.DataFrame({"set": np.arange(sets), "n": counts[:, i]}).with_columns(
            pred=pl.lit(pred), label=pl.lit(label)
        )
        for i, (pred, label) in enumerate(chances)
    )
    found = pf.interval_table(table.filter(pl.col("n") > 0), fairness.f1, by="set", draws=1_000)
    truth = 0.8 / (0.8 + 0.1 + 0.05)
    assert set(found["method"]) == {"draws"}
    assert found.select(pl.lit(truth).is_between("low", "high").mean()).item() >= 0.92
