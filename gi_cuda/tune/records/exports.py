"""Writers of results for other tuners: T4 results, and caches of Kernel Tuner."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gi_cuda.errors import UserError
from gi_cuda.spec.parameters import Value

ERRORS = {
    "compile": "CompilationFailedConfig",
    "runtime": "RuntimeFailedConfig",
    "timeout": "RuntimeFailedConfig",
    "correctness": "RuntimeFailedConfig",
    "constraints": "InvalidConfig",
}
"""Kernel Tuner's name of the error, by T4's reason why a configuration has no cost."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A configuration that was tried.

    Attributes:
        configuration: the values of all parameters.
        cost: milliseconds of the kernel; None: the configuration is not valid.
        reason: reason for a missing cost, a key of :data:`ERRORS`; ignored if there is a cost.
        times: milliseconds of each timed run.
        compile_s, verify_s, benchmark_s: seconds for compiling, for verifying, for all runs.
        finished: time of storing the result, in seconds since 1970; None: unknown.
    """

    configuration: Mapping[str, Value]
    cost: float | None
    reason: str = "runtime"
    times: Sequence[float] = ()
    compile_s: float = 0.0
    verify_s: float = 0.0
    benchmark_s: float = 0.0
    finished: float | None = None

    @property
    def time(self) -> float | str:
        """The cost, or the name of Kernel Tuner's error."""
        return ERRORS[self.reason] if self.cost is None else self.cost


def t4_results(rows: Sequence[Measured], kernel: str = "", device: str = "") -> dict[str, Any]:
    """Return T4 results; all times are milliseconds.

    The kernel and the device go into the metadata, for people: T4 has no key for these.
    """
    metadata = {"timeunit": "milliseconds", "kernel": kernel, "device": device}
    results = [_t4_result(row) for row in rows]
    return {"schema_version": "1.0.0", "metadata": metadata, "results": results}


def _t4_result(row: Measured) -> dict[str, Any]:
    wrong = row.cost is None and row.reason == "correctness"
    return {
        "configuration": dict(row.configuration),
        "times": {
            "compilation": row.compile_s * 1e3,
            "benchmark": row.benchmark_s * 1e3,
            "framework": 0.0,
            "search_algorithm": 0.0,
            "validation": row.verify_s * 1e3,
            "runtimes": list(row.times),
        },
        "invalidity": row.reason if row.cost is None else "correct",
        "correctness": 0 if wrong else 1,
        "measurements": [{"name": "time", "value": row.time, "unit": "ms"}],
        "objectives": ["time"],
    }


def kernel_tuner_cache(
    values: Mapping[str, Sequence[Value]], rows: Sequence[Measured], kernel: str, device: str
) -> dict[str, Any]:
    """Return a cache of Kernel Tuner; all times are milliseconds.

    Args:
        values: the parameters, in order, and the values that each may take.
    """
    return {
        "device_name": device,
        "kernel_name": kernel,
        "problem_size": [],
        "tune_params_keys": list(values),
        "tune_params": {name: list(those) for name, those in values.items()},
        "objective": "time",
        "cache": {
            ",".join(str(row.configuration[name]) for name in values): _cached(row, values)
            for row in rows
        },
    }


def _cached(row: Measured, names: Mapping[str, object]) -> dict[str, Any]:
    failed = {"__error__": row.time} if row.cost is None else {"times": list(row.times)}
    return {
        **{name: row.configuration[name] for name in names},
        "time": row.time,
        **failed,
        "compile_time": row.compile_s * 1e3,
        "verification_time": row.verify_s * 1e3,
        "benchmark_time": row.benchmark_s * 1e3,
        "strategy_time": 0.0,
        "framework_time": 0.0,
        "timestamp": "" if row.finished is None else str(datetime.fromtimestamp(row.finished, UTC)),
    }


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all; compressed where its name ends in ``.gz``.

    Kernel Tuner appends to caches: it takes the last brackets off, which have to be on lines of
    their own.

    Raises:
        UserError: the file cannot be written.
    """
    content = json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False).encode()
    making = path.with_name(f".{path.name}.{os.getpid()}.making")
    try:
        making.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        making.replace(path)
    except OSError as error:
        making.unlink(missing_ok=True)
        raise UserError(f"cannot be written: {error.strerror}", where=str(path)) from None
