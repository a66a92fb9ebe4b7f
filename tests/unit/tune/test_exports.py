"""Results exported for other tuners are read back with the same costs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.errors import UserError
from gi_cuda.spec.parameters import Value
from gi_cuda.tune.records.exports import (
    ERRORS,
    Measured,
    kernel_tuner_cache,
    t4_results,
    write_json,
)
from gi_cuda.tune.records.recorded import Recorded, read_recorded

VALUES: Mapping[str, tuple[Value, ...]] = {
    "BLOCK": (32, 64, 128),
    "SCALE": (0.5, 2.0),
    "MODE": ("fast", "exact"),
}


@st.composite
def rows(draw: st.DrawFn) -> list[Measured]:
    configurations = draw(
        st.lists(
            st.tuples(*map(st.sampled_from, VALUES.values())), min_size=1, max_size=8, unique=True
        )
    )
    times = st.floats(0, 1e6)
    return [
        Measured(
            dict(zip(VALUES, one, strict=True)),
            draw(st.none() | times),
            draw(st.sampled_from(sorted(ERRORS))),
            draw(st.lists(times, max_size=3)),
            draw(times),
            draw(times),
            draw(times),
        )
        for one in configurations
    ]


def again(folder: Path, name: str, value: dict[str, Any]) -> Recorded:
    write_json(folder / name, value)
    return read_recorded(folder / name)


def by_values(recorded: Recorded, found: Mapping[Any, Any]) -> dict[Any, Any]:
    points = {p: tuple(sorted(recorded.grid.configuration(p).items())) for p in recorded.costs}
    return {points[point]: one for point, one in found.items()}


def expected(measured: list[Measured], field: str) -> dict[Any, Any]:
    return {tuple(sorted(one.configuration.items())): getattr(one, field) for one in measured}


@given(rows())
def test_costs_and_times_survive_t4(
    tmp_path_factory: pytest.TempPathFactory, measured: list[Measured]
) -> None:
    found = again(tmp_path_factory.mktemp("t4"), "x.json", t4_results(measured, "blur", "GPU 1"))
    assert by_values(found, found.costs) == expected(measured, "cost")
    assert by_values(found, found.compile_seconds) == pytest.approx(expected(measured, "compile_s"))
    assert by_values(found, found.benchmark_seconds) == pytest.approx(
        expected(measured, "benchmark_s")
    )
    assert set(found.reasons.values()) <= set(ERRORS)
    assert (found.kernel, found.device) == ("blur", "GPU 1")


@given(rows())
def test_costs_and_times_survive_a_cache_of_kernel_tuner(
    tmp_path_factory: pytest.TempPathFactory, measured: list[Measured]
) -> None:
    cache = kernel_tuner_cache(VALUES, measured, "blur", "GPU 1")
    found = again(tmp_path_factory.mktemp("cache"), "x.json.gz", cache)
    assert by_values(found, found.costs) == expected(measured, "cost")
    assert by_values(found, found.compile_seconds) == pytest.approx(expected(measured, "compile_s"))
    assert (found.names, found.values) == (tuple(VALUES), tuple(VALUES.values()))
    assert (found.kernel, found.device) == ("blur", "GPU 1")


def test_a_cache_says_when_a_result_was_stored() -> None:
    measured = [
        Measured({"BLOCK": 32}, 1.0, finished=1_800_000_000.25),
        Measured({"BLOCK": 64}, 1.0),
    ]
    cache = kernel_tuner_cache({"BLOCK": (32, 64)}, measured, "blur", "GPU 1")["cache"]
    assert cache["32"]["timestamp"] == "2027-01-15 08:00:00.250000+00:00"
    assert cache["64"]["timestamp"] == ""


def test_result_in_t4() -> None:
    wrong = Measured({"BLOCK": 32}, None, "correctness", compile_s=0.25, verify_s=0.1)
    (result,) = t4_results([wrong])["results"]
    assert result == {
        "configuration": {"BLOCK": 32},
        "times": {
            "compilation": 250.0,
            "benchmark": 0.0,
            "framework": 0.0,
            "search_algorithm": 0.0,
            "validation": 100.0,
            "runtimes": [],
        },
        "invalidity": "correctness",
        "correctness": 0,
        "measurements": [{"name": "time", "value": "RuntimeFailedConfig", "unit": "ms"}],
        "objectives": ["time"],
    }


def test_cache_can_be_opened_for_more(tmp_path: Path) -> None:
    """Kernel Tuner replaces the last three characters of a cache by a comma, and appends."""
    configuration: dict[str, Value] = {"BLOCK": 32, "SCALE": 0.5, "MODE": "fast"}
    path = tmp_path / "cache.json"
    write_json(path, kernel_tuner_cache(VALUES, [Measured(configuration, 1.5)], "blur", "GPU 1"))
    text = path.read_text()
    assert text.endswith("}\n}")
    more = json.dumps({"64,0.5,fast": configuration | {"BLOCK": 64, "time": 2.5}})[1:-1]
    path.write_text(f"{text[:-3]},\n{more},")
    assert sorted(filter(None, read_recorded(path).costs.values())) == [1.5, 2.5]


def test_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        write_json(tmp_path / "none" / "x.json", {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="cannot be written"):
        write_json(tmp_path / "folder", {})
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]
