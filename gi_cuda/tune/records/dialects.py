"""Readers of the files in which other tuners record the costs of configurations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from gi_cuda.spec.parameters import Value
from gi_cuda.tune.counters import LOCAL, Counters, combined, common
from gi_cuda.tune.t1.json_node import Node

_MILLISECONDS = {"nanosecond": 1e-6, "microsecond": 1e-3, "millisecond": 1.0, "second": 1e3}
_UNITS = {
    **_MILLISECONDS,
    **{"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "milisecond": 1.0},
}
"""Milliseconds of a unit of time, in the singular; the last spelling is common in T4 files."""

_FAILED_COST = 1e20
"""Time that old versions of Kernel Tuner record for a failed configuration."""

_TIME_WORDS = ("time", "duration")
"""Words that identify an objective as a time if it has no unit."""


@dataclass(frozen=True, slots=True)
class Row:
    """One recorded configuration.

    Attributes:
        node: its JSON value in the file.
        cost: milliseconds; None: it is not valid.
        reason: reason why it is not valid, in the file's words.
        compile_s, benchmark_s: seconds; None: not recorded.
        counters: hardware counters; empty: not recorded.
    """

    node: Node
    configuration: Mapping[str, Value]
    cost: float | None
    reason: str = ""
    compile_s: float | None = None
    benchmark_s: float | None = None
    counters: Counters = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a file.

    Attributes:
        names: the parameters in order; empty: as in the first row.
        values: the values of each parameter in order, where the file lists them.
    """

    root: Node
    rows: list[Row]
    names: tuple[str, ...] = ()
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    kernel: str = ""
    device: str = ""


def read_kernel_tuner(root: Node) -> Table:
    """Read a cache of Kernel Tuner; its times are milliseconds."""
    names = tuple(one.text() for one in root["tune_params_keys"].items())
    given = root["tune_params"]
    values = {name: tuple(v.parameter_value() for v in given[name].items()) for name in names}
    cache = root["cache"]
    rows = [
        _cached(Node(entry, root.file, f'cache["{key}"]'), key, values)
        for key, entry in cache.object().items()
    ]
    return Table(root, rows, names, values, _text(root, "kernel_name"), _text(root, "device_name"))


def _cached(entry: Node, key: str, values: Mapping[str, tuple[Value, ...]]) -> Row:
    entry.object()
    parts = dict(zip(values, key.split(","), strict=False))
    configuration = {}
    for name, allowed in values.items():
        if name in entry:
            configuration[name] = entry[name].parameter_value()
            continue
        spelled = {str(value): value for value in allowed}
        if len(parts) != len(values) or parts[name] not in spelled:
            raise entry.mistake(f"the value of the parameter {name!r} is missing")
        configuration[name] = spelled[parts[name]]
    cost, reason = _cost(entry, "time")
    return Row(
        entry,
        configuration,
        cost,
        reason,
        _seconds(entry, 1.0, "compile_time"),
        _seconds(entry, 1.0, "benchmark_time"),
    )


def _cost(entry: Node, key: str) -> tuple[float | None, str]:
    """Return the milliseconds of an entry; None and the reason if the entry is not valid."""
    failed = entry.optional("__error__")
    if failed is not None:
        return None, failed.text()
    if key not in entry:
        raise entry.mistake(
            f"the key {key!r} is missing", "only tunings for the time of a kernel can be read"
        )
    return _valid(entry[key])


def _valid(time: Node) -> tuple[float | None, str]:
    """Return a time; None and the reason if it is an error's name or `_FAILED_COST`."""
    value = time.value
    if isinstance(value, str) and (value == "" or value.endswith("Config")):
        return None, value or "ErrorConfig"
    if isinstance(value, float | int) and (not math.isfinite(value) or value >= _FAILED_COST):
        return None, "ErrorConfig"
    return time.time(), ""


def read_t4(root: Node) -> Table:
    """Read T4 results."""
    metadata = root.optional("metadata") or Node({}, root.file)
    rows = [_result(one, _unit(metadata.optional("timeunit"))) for one in root["results"].items()]
    return Table(root, rows, kernel=_text(metadata, "kernel"), device=_text(metadata, "device"))


def _result(result: Node, unit: float | None) -> Row:
    given = result["configuration"]
    configuration = {name: given[name].parameter_value() for name in given.object()}
    times, invalidity = result["times"], result["invalidity"].text()
    cost, reason = None, invalidity
    if invalidity == "correct":
        cost, reason, unit = _measured(result, unit)
    scale = 1.0 if unit is None else unit
    benchmark = _seconds(times, scale, "benchmark")
    if benchmark is None and (runs := times.list_of("runtimes")):
        benchmark = sum(one.time() for one in runs) * scale / 1e3
    compiled = _seconds(times, scale, "compilation", "compilation_time")
    return Row(result, configuration, cost, reason, compiled, benchmark)


def _measured(result: Node, unit: float | None) -> tuple[float | None, str, float | None]:
    """Return the cost of a valid result or None, the reason for None, and the unit of times."""
    objectives = [one.text() for one in result.list_of("objectives")]
    measurements = {one["name"].text(): one for one in result.list_of("measurements")}
    for name in (*objectives, "time", "TotalDuration"):
        found = measurements.get(name)
        said = None if found is None else _unit(found.optional("unit"))
        if found is None or not (said or any(word in name.lower() for word in _TIME_WORDS)):
            continue
        cost, reason = _valid(found["value"])
        scale = said or unit or 1.0
        return None if cost is None else cost * scale, reason, unit or scale
    runs = [one.time() for one in result["times"].list_of("runtimes")]
    if not runs or not set(objectives) <= {"time"}:
        raise result.mistake(
            f"the objective {', '.join(objectives) or '(none)'} is no time",
            "only tunings for the time of a kernel can be read",
        )
    return fmean(runs) * (unit or 1.0), "", unit


def read_ktt(root: Node) -> Table:
    """Read KTT's results, whose times have the unit that the metadata name."""
    metadata = root.optional("Metadata") or Node({}, root.file)
    unit = _unit(metadata.optional("TimeUnit")) or 1.0
    rows = [_tuned(one, unit) for one in root["Results"].items()]
    kernel = next((_text(row.node, "KernelName", "KernelFunctionName") for row in rows), "")
    return Table(root, rows, kernel=kernel, device=_text(metadata, "Device"))


def _tuned(result: Node, unit: float) -> Row:
    pairs = list(result["Configuration"].items())
    configuration = {one["Name"].text(): one["Value"].parameter_value() for one in pairs}
    status = result["Status"].text()
    if status != "Ok":
        return Row(result, configuration, None, status)
    if "TotalDuration" in result:
        duration = result["TotalDuration"].time()
    else:
        duration = sum(one["Duration"].time() for one in result["ComputationResults"].items())
    extra = result["ExtraDuration"].time() if "ExtraDuration" in result else 0.0
    compiled = None
    if "TotalOverhead" in result:
        others = ("DataMovementOverhead", "SearcherOverhead", "ValidationOverhead")
        known = sum(result[name].time() for name in others if name in result)
        compiled = max(0.0, result["TotalOverhead"].time() - known) * unit / 1e3
    benchmark = (duration + extra) * unit / 1e3
    launches = result.list_of("ComputationResults")
    return Row(result, configuration, duration * unit, "", compiled, benchmark, _profile(launches))


def _profile(launches: Sequence[Node]) -> dict[str, float]:
    """Return the counters of launches; nothing where one of them was not profiled."""
    measured, local = [], 0.0
    for one in launches:
        given = one["ProfilingData"].list_of("Counters") if "ProfilingData" in one else []
        counters = common({each["Name"].text(): each["Value"].number() for each in given})
        if not counters:
            return {}
        about = one.optional("CompilationData")
        if about is not None and "PrivateMemorySize" in about:
            local = max(local, about["PrivateMemorySize"].number())
        measured.append((one["Duration"].time(), counters))
    return {**combined(measured), LOCAL: local} if measured else {}


def _unit(node: Node | None) -> float | None:
    """Return the milliseconds of a unit; None: none is named, or it is no unit of time."""
    if node is None:
        return None
    said = node.text().strip().lower()
    return _UNITS.get(said) or _UNITS.get(said.removesuffix("s"))


def _seconds(times: Node, unit: float, *keys: str) -> float | None:
    """Return the first of some times that is there, in seconds."""
    found = next((times[key] for key in keys if key in times), None)
    return None if found is None else found.time() * unit / 1e3


def _text(node: Node, *keys: str) -> str:
    return next((node[key].text() for key in keys if key in node), "")
