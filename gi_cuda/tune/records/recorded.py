"""Recorded tunings of other tuners: the cost of each configuration of a space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gi_cuda.spec.parameters import Value
from gi_cuda.tune.counters import Counters
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.records.dialects import Row, Table, read_kernel_tuner, read_ktt, read_t4
from gi_cuda.tune.t1.json_node import Node, read_json


@dataclass(frozen=True, eq=False)
class Recorded:
    """A recorded tuning.

    Attributes:
        names: names of the parameters.
        values: values of each parameter; points hold indices into them.
        costs: milliseconds of the kernel, for each recorded point; None: the configuration is
            invalid, does not compile, fails or gives wrong results.
        reasons: reason for a missing cost, in the file's words, e.g. ``CompilationFailedConfig``.
        compile_seconds: compile times, for points that have one.
        benchmark_seconds: total times of all runs, for points that have one.
        counters: hardware counters, for points that have some.
        kernel, device: names of the kernel and the device; "" if the file does not give them.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    costs: Mapping[Point, float | None] = field(repr=False)
    reasons: Mapping[Point, str] = field(default_factory=dict, repr=False)
    compile_seconds: Mapping[Point, float] = field(default_factory=dict, repr=False)
    benchmark_seconds: Mapping[Point, float] = field(default_factory=dict, repr=False)
    counters: Mapping[Point, Counters] = field(default_factory=dict, repr=False)
    kernel: str = ""
    device: str = ""

    @cached_property
    def optimum(self) -> float:
        """Smallest cost, milliseconds."""
        return min(cost for cost in self.costs.values() if cost is not None)

    @cached_property
    def grid(self) -> Grid:
        """Grid of the recorded points, including invalid ones."""
        return Grid(self.names, self.values, listed=frozenset(self.costs))


def read_recorded(path: Path) -> Recorded:
    """Read a recorded tuning: a cache of Kernel Tuner, T4 results, or KTT's results.

    The content tells which of the three it is. The file may be compressed (``.json.gz``), or in
    an archive (``.zip``). Of a configuration that was measured several times the smallest cost
    counts.

    Raises:
        UserError: the file cannot be read, or is none of these, or has a mistake: the error names
            the path inside the file, as ``results[12].configuration.BLOCK``.
    """
    return _recorded(_table(read_json(path)))


def _table(root: Node) -> Table:
    if "cache" in root:
        return read_kernel_tuner(root)
    if "results" in root:
        return read_t4(root)
    if "Results" in root:
        return read_ktt(root)
    what = "this is no recorded tuning"
    if "ConfigurationSpace" in root:
        what += ": it describes a space (T1), without results"
    raise root.mistake(
        what, "read are: caches of Kernel Tuner ('cache'), T4 ('results') and KTT ('Results')"
    )


def _recorded(table: Table) -> Recorded:
    """Turn rows into points, and check that all have the same parameters."""
    if not table.rows:
        raise table.root.mistake("no configuration is recorded")
    names = table.names or tuple(table.rows[0].configuration)
    known: dict[str, dict[Value, None]] = {
        name: dict.fromkeys(table.values.get(name, ())) for name in names
    }
    for row in table.rows:
        if row.configuration.keys() != known.keys():
            odd = sorted(row.configuration.keys() ^ known.keys())[0]
            kind = "is missing" if odd in known else "is unknown elsewhere"
            raise row.node.mistake(f"the parameter {odd!r} {kind}")
        for name, value in row.configuration.items():
            known[name].setdefault(value)
    values = {n: tuple(v) if n in table.values else _ordered(v) for n, v in known.items()}
    places = {name: {value: at for at, value in enumerate(values[name])} for name in names}
    best: dict[Point, Row] = {}
    counters: dict[Point, Counters] = {}
    for row in table.rows:
        point = tuple(places[name][row.configuration[name]] for name in names)
        if row.counters:  # KTT profiles a configuration in a run of its own
            counters[point] = row.counters
        before = best.get(point)
        if before is None or _rank(row) < _rank(before):
            best[point] = row
    return Recorded(
        names,
        tuple(values[name] for name in names),
        {point: row.cost for point, row in best.items()},
        {point: row.reason for point, row in best.items() if row.cost is None},
        {p: row.compile_s for p, row in best.items() if row.compile_s is not None},
        {p: row.benchmark_s for p, row in best.items() if row.benchmark_s is not None},
        counters,
        table.kernel,
        table.device,
    )


def _rank(row: Row) -> float:
    return float("inf") if row.cost is None else row.cost


def _ordered(values: Mapping[Value, None]) -> tuple[Value, ...]:
    """Order values by size; texts keep the order in which they appear."""
    numbers = [value for value in values if not isinstance(value, str)]
    return tuple(sorted(numbers)) if len(numbers) == len(values) else tuple(values)
