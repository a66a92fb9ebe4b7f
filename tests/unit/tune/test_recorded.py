"""Recorded tunings of three dialects: reading, and messages on mistakes."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.errors import UserError
from gi_cuda.tune.records.recorded import Recorded, read_recorded

Json = dict[str, Any]


def kernel_tuner() -> Json:
    """A cache with a valid, a failed and an invalid configuration, in old and new spellings."""
    return {
        "device_name": "GPU 1",
        "kernel_name": "blur",
        "problem_size": [64, 64],
        "tune_params_keys": ["BLOCK", "MODE"],
        "tune_params": {"BLOCK": [64, 32], "MODE": ["fast", "exact"]},
        "objective": "time",
        "cache": {
            "64,fast": {
                "BLOCK": 64, "MODE": "fast", "time": 1.5, "times": [1.4, 1.6],
                "compile_time": 250.0, "benchmark_time": 40.0,
            },
            "32,fast": {"BLOCK": 32, "MODE": "fast", "time": "CompilationFailedConfig"},
            "64,exact": {"BLOCK": 64, "MODE": "exact", "time": 1e20},
            "32,exact": {"__error__": "InvalidConfig"},
        },
    }  # fmt: skip


def t4_result(block: int, value: object, invalidity: str = "correct", **more: object) -> Json:
    return {
        "configuration": {"BLOCK": block, "PAD": False},
        "times": {"compilation": 250.0, "runtimes": [10.0, 30.0]},
        "measurements": [{"name": "GFLOP/s", "value": 7.0, "unit": ""},
                         {"name": "time", "value": value, "unit": ""}],
        "objectives": ["time"],
        "invalidity": invalidity,
        "correctness": 1,
        **more,
    }  # fmt: skip


def t4() -> Json:
    return {
        "metadata": {"timeunit": "miliseconds"},
        "schema_version": "1.0.0",
        "results": [
            t4_result(64, 1.5),
            t4_result(32, "RuntimeFailedConfig", "runtime", times={"compilation_time": 250.0}),
        ],
    }


def ktt_result(block: int, status: str, duration: float) -> Json:
    return {
        "Configuration": [{"Name": "BLOCK", "Value": block, "ValueType": "UnsignedInt"}],
        "KernelName": "blur",
        "Status": status,
        "TotalDuration": duration,
        "ExtraDuration": 500.0,
        "TotalOverhead": 260_000.0,
        "DataMovementOverhead": 9_000.0,
        "SearcherOverhead": 1_000.0,
        "ComputationResults": [{"Duration": duration}],
    }


def ktt() -> Json:
    return {
        "Metadata": {"TimeUnit": "Microseconds", "Device": "GPU 1"},
        "Results": [
            ktt_result(64, "Ok", 1500.0),
            ktt_result(32, "ComputationFailed", 0.0),
            ktt_result(64, "Ok", 2500.0),
        ],
    }


def written(folder: Path, value: object) -> Path:
    path = folder / "file.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def read(folder: Path, value: object) -> Recorded:
    return read_recorded(written(folder, value))


def by_values(recorded: Recorded) -> dict[tuple[object, ...], float | None]:
    return {
        tuple(recorded.grid.configuration(point).values()): cost
        for point, cost in recorded.costs.items()
    }


def test_cache_of_kernel_tuner(tmp_path: Path) -> None:
    found = read(tmp_path, kernel_tuner())
    assert found.names == ("BLOCK", "MODE")
    assert found.values == ((64, 32), ("fast", "exact"))
    assert by_values(found) == {
        (64, "fast"): 1.5, (32, "fast"): None, (64, "exact"): None, (32, "exact"): None,
    }  # fmt: skip
    assert found.reasons == {
        (1, 0): "CompilationFailedConfig", (0, 1): "ErrorConfig", (1, 1): "InvalidConfig",
    }  # fmt: skip
    assert (found.compile_seconds, found.benchmark_seconds) == ({(0, 0): 0.25}, {(0, 0): 0.04})
    assert (found.kernel, found.device) == ("blur", "GPU 1")


def test_grid_has_all_recorded_points_and_no_others(tmp_path: Path) -> None:
    cache = kernel_tuner()
    del cache["cache"]["64,exact"]
    grid = read(tmp_path, cache).grid
    assert grid.size == 3
    assert not grid.allows((0, 1))
    assert grid.first == (0, 0)


@pytest.mark.parametrize("end", ["", ",", ",\n", ',\n"32,exact": {"BLOCK": 32, "MO'])
def test_cache_that_is_still_written(tmp_path: Path, end: str) -> None:
    cache = kernel_tuner()
    del cache["cache"]["32,exact"]
    text = json.dumps(cache)[: -len("}}")]
    assert len(read(tmp_path, text + end).costs) == 3


def test_t4_results(tmp_path: Path) -> None:
    found = read(tmp_path, t4())
    assert found.names == ("BLOCK", "PAD")
    assert found.values == ((32, 64), (0,))
    assert by_values(found) == {(64, 0): 1.5, (32, 0): None}
    assert found.reasons == {(0, 0): "runtime"}
    assert found.compile_seconds == {(1, 0): 0.25, (0, 0): 0.25}
    assert found.benchmark_seconds == {(1, 0): 0.04}


@pytest.mark.parametrize(
    ("unit", "milliseconds"),
    [("ms", 8.0), ("Microseconds", 0.008), ("ns", 8e-6), ("seconds", 8000.0), ("", 8.0)],
)
def test_unit_of_a_measurement(tmp_path: Path, unit: str, milliseconds: float) -> None:
    measurements = [{"name": "TotalDuration", "value": 8.0, "unit": unit}]
    result = t4_result(64, 0, measurements=measurements, objectives=["TotalDuration"])
    found = read(tmp_path, {"results": [result]})
    assert found.costs[(0, 0)] == pytest.approx(milliseconds)
    assert found.compile_seconds[(0, 0)] == pytest.approx(250 * milliseconds / 8 / 1e3)


def test_mean_of_runs_where_no_time_was_measured(tmp_path: Path) -> None:
    assert read(tmp_path, {"results": [t4_result(64, 0, measurements=[])]}).costs == {(0, 0): 20.0}


@pytest.mark.parametrize(("unit", "cost"), [("Microseconds", 1.5), ("Nanoseconds", 0.0015)])
def test_results_of_ktt_with_the_smaller_of_two_times(
    tmp_path: Path, unit: str, cost: float
) -> None:
    file = ktt()
    file["Metadata"]["TimeUnit"] = unit
    found = read(tmp_path, file)
    assert by_values(found) == {(64,): pytest.approx(cost), (32,): None}
    assert found.reasons == {(0,): "ComputationFailed"}
    assert found.compile_seconds[(1,)] == pytest.approx(0.25 * cost / 1.5)
    assert found.benchmark_seconds[(1,)] == pytest.approx(0.002 * cost / 1.5)
    assert (found.kernel, found.device) == ("blur", "GPU 1")


def test_content_decides_how_a_file_is_packed(tmp_path: Path) -> None:
    text = json.dumps(t4())
    packed = tmp_path / "packed.json"
    packed.write_bytes(gzip.compress(text.encode()))
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("inner.json", text)
    expected = by_values(read(tmp_path, text))
    assert by_values(read_recorded(packed)) == expected
    assert by_values(read_recorded(tmp_path / "packed.zip")) == expected


def changed(value: Json, path: str, new: object) -> Json:
    """A JSON value with one item changed, or removed if `new` is None."""
    *parents, last = [int(key) if key.isdecimal() else key for key in path.split("/")]
    at: Any = value
    for key in parents:
        at = at[key]
    if new is None:
        del at[last]
    else:
        at[last] = new
    return value


BAD = [
    (kernel_tuner, "cache/64,fast/time", "soon", 'cache["64,fast"].time: a number is needed'),
    (kernel_tuner, "cache/64,fast/time", -1, 'cache["64,fast"].time: -1 is no time'),
    (kernel_tuner, "cache/64,fast/time", None, "the key 'time' is missing"),
    (kernel_tuner, "cache/64,fast/BLOCK", [1], 'cache["64,fast"].BLOCK: a parameter'),
    (kernel_tuner, "cache/64,fast", 3, 'cache["64,fast"]: an object'),
    (kernel_tuner, "tune_params/MODE", None, "tune_params: the key 'MODE' is missing"),
    (kernel_tuner, "tune_params/MODE", 3, "tune_params.MODE: a list"),
    (kernel_tuner, "tune_params_keys", None, "the key 'tune_params_keys' is missing"),
    (kernel_tuner, "cache", {}, "no configuration is recorded"),
    (kernel_tuner, "cache", {"7,fast": {"time": 1}}, "value of the parameter 'BLOCK' is missing"),
    (t4, "results/1/configuration/BLOCK", {}, "results[1].configuration.BLOCK: a parameter"),
    (t4, "results/1/configuration/PAD", None, "results[1]: the parameter 'PAD' is missing"),
    (t4, "results/1/configuration/X", 1, "results[1]: the parameter 'X' is unknown elsewhere"),
    (t4, "results/0/invalidity", None, "results[0]: the key 'invalidity' is missing"),
    (t4, "results/0/times/runtimes", "x", "results[0].times.runtimes: a list"),
    (t4, "results", [], "no configuration is recorded"),
    (ktt, "Results/1/Status", None, "Results[1]: the key 'Status' is missing"),
    (ktt, "Results/0/TotalDuration", "1", "Results[0].TotalDuration: a number"),
    (ktt, "Results/0/Configuration", {}, "Results[0].Configuration: a list"),
]


@pytest.mark.parametrize(("make", "path", "new", "said"), BAD)
def test_mistake_is_reported_with_its_path(
    tmp_path: Path, make: Any, path: str, new: object, said: str
) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, changed(make(), path, new))
    assert said in str(caught.value)
    assert str(tmp_path / "file.json") in str(caught.value)


def test_time_counts_where_the_objective_is_another(tmp_path: Path) -> None:
    file = changed(t4(), "results/0/objectives", ["GFLOP/s"])
    assert read(tmp_path, file).costs[(1, 0)] == 1.5


def test_objective_that_is_no_time_is_refused(tmp_path: Path) -> None:
    file = changed(t4(), "results/0/objectives", ["score"])
    file["results"][0]["measurements"] = [{"name": "score", "value": 0.4, "unit": ""}]
    with pytest.raises(UserError, match=r"results\[0\]: the objective score is no time"):
        read(tmp_path, file)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no JSON"),
        (b'{"results": [1,', "file.json:1:"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b"\x1f\x8bdamaged", "damaged"),
        (b"PK\x03\x04damaged", "damaged"),
        (b"[" * 100_000, "JSON"),
        (b"[1]", "no recorded tuning"),
        (b'{"ConfigurationSpace": {}}', "it describes a space (T1)"),
    ],
)
def test_file_of_another_kind_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_recorded(path)
    assert said in str(caught.value)


def test_archive_of_several_files_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.json", "{}")
        archive.writestr("b.json", "{}")
    with pytest.raises(UserError, match="holds 2 files"):
        read_recorded(tmp_path / "two.zip")


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_recorded(tmp_path / "none.json")


def profiled(launches: list[tuple[float, dict[str, float], int]]) -> list[Json]:
    """Launches as KTT records them: duration, raw counters, bytes of local memory."""
    return [
        {
            "Duration": duration,
            "CompilationData": {"PrivateMemorySize": local},
            "ProfilingData": {
                "Counters": [
                    {"Name": name, "Type": "Double", "Value": value} for name, value in raw.items()
                ]
            },
        }
        for duration, raw, local in launches
    ]


ISSUE = ("smsp__issue_active.avg.pct_of_peak_sustained_active", "smsp__inst_executed.sum")


def test_counters_of_ktt_are_those_of_all_launches(tmp_path: Path) -> None:
    results = ktt()
    first, _, again = results["Results"]
    again["ComputationResults"] = profiled(
        [
            (300.0, dict(zip(ISSUE, (80.0, 1e6), strict=True)), 0),
            (100.0, dict(zip(ISSUE, (40.0, 2e6), strict=True)), 64),
        ]
    )
    found = read(tmp_path, results)
    (point,) = found.counters
    assert found.costs[point] == 1.5  # the time of the run that was not profiled
    assert found.counters[point] == pytest.approx({"issue": 3e6, "issue use": 0.7, "local": 64})
    first["ComputationResults"] = [*again["ComputationResults"], {"Duration": 1.0}]
    again["ComputationResults"] = [{"Duration": 1.0}]
    assert not read(tmp_path, results).counters  # one launch was not profiled


def test_a_counter_that_is_no_number_is_a_mistake(tmp_path: Path) -> None:
    results = ktt()
    results["Results"][0]["ComputationResults"] = profiled([(1.0, {"a": "x"}, 0)])  # type: ignore[dict-item]
    at = r"Results\[0\].ComputationResults\[0\].ProfilingData.Counters\[0\].Value"
    with pytest.raises(UserError, match=at):
        read(tmp_path, results)
