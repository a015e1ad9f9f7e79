"""The benchmark of growth: exponents of curves, and bytes by part."""

from __future__ import annotations

import pytest
from benchmarks.growth import by_part, exponent

SIZES = [1_000, 10_000, 100_000]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, -0.25])
def test_the_exponent_of_a_power_is_found_whatever_its_factor(power: float) -> None:
    assert exponent(SIZES, [7.5 * size**power for size in SIZES]) == pytest.approx(power, abs=1e-9)


def test_a_fixed_cost_makes_the_exponent_smaller() -> None:
    assert 0 < exponent(SIZES, [5_000 + size for size in SIZES]) < 1


def test_each_byte_is_counted_in_one_part() -> None:
    found = by_part({"events": 1, "events_id": 2, "event_tags": 4, "fact_claims": 8, "fold_edges": 16, "spaces": 32})
    assert {part: size for part, size in found.items() if size} == {
        "text and log": 3,
        "statements": 4,
        "names and facts": 8,
        "concepts": 16,
        "the rest": 32,
    }
