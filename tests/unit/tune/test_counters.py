"""Hardware counters under common names, and the bottlenecks that they show."""

from __future__ import annotations

import pytest

from gi_cuda.tune.counters import NEW, OLD, UNITS, combined, common, pressures, use_of


def test_both_generations_of_names_tell_of_all_units() -> None:
    for table, scale in ((NEW, 0.01), (OLD, 0.1)):
        raw = {name: 3.0 for one in table for name in one.work}
        raw |= {one.use: 0.5 / one.scale for one in table}
        found = common(raw)
        assert found.keys() == {*UNITS, *map(use_of, UNITS)}
        assert found["dram"] == 6.0  # reads and writes
        assert all(found[use_of(unit)] == pytest.approx(0.5) for unit in UNITS)
        assert table[0].scale == scale


def test_units_with_a_counter_missing_are_left_out() -> None:
    assert common({"inst_executed": 5.0, "dram_utilization": 3.0, "other": 1.0}) == {}


def test_launches_add_up_and_uses_are_weighted_by_time() -> None:
    launches = [(3.0, {"l2": 10.0, "l2 use": 0.8, "l1": 1.0}), (1.0, {"l2": 5.0, "l2 use": 0.4})]
    assert combined(launches) == pytest.approx({"l2": 15.0, "l2 use": 0.7})
    assert combined([]) == {}


def test_pressures_are_uses_and_local_memory_is_as_bad_as_the_memory_behind_it() -> None:
    counters = {"l2": 1e6, "l2 use": 0.6, "dram use": 0.2, "issue use": 0.9}
    assert pressures(counters) == {"l2": 0.6, "dram": 0.2, "issue": 0.9}
    assert pressures({**counters, "local": 32.0})["local"] == 0.6
    assert "local" not in pressures({**counters, "local": 0.0})
