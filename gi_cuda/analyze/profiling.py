"""Read hardware counters of a target's configurations with NVIDIA Nsight Compute (``ncu``)."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.protocol.backend import LogForm, Sanitizer
from gi_cuda.backends.protocol.variants import BuildFailure
from gi_cuda.backends.sanitize import watch
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import as_candidate, build_candidates, unmodified
from gi_cuda.evaluate.reference.baseline import compile_reference, record_reference
from gi_cuda.runs.tools import Tools
from gi_cuda.spec import Configuration
from gi_cuda.tune.counters import LOCAL, NEW, Counters, combined, common

_TIME = "gpu__time_duration.sum"

METRICS = (_TIME, *(name for one in NEW for name in (one.use, *one.work)))
"""Names of the counters in ``ncu``."""

LAUNCHES = 64
"""Largest number of launches of a configuration that are profiled. Each is repeated about ten
times."""


def find_ncu() -> Path:
    """Return the path of ``ncu``: beside nvcc, or on PATH.

    Raises:
        UserError: ``ncu`` or nvcc is not found.
    """
    found = find_toolkit().tool("ncu")
    if found is None:
        raise UserError(
            "hardware counters are read by ncu, which is neither beside nvcc nor on PATH",
            where="--train-model",
            hint="install NVIDIA Nsight Compute, or train on a recorded tuning: --from RECORDED",
        )
    return found


def read_ncu(log: str) -> dict[str, float]:
    """Return the counters of all launches together, from a log of ``ncu --csv``.

    The result is empty if the log has no counters.
    """
    launches: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(line for line in log.splitlines() if line.startswith('"')):
        # A counter that this GPU lacks has the value n/a.
        if re.fullmatch(r"[\d.,]+", value := row.get("Metric Value") or ""):
            launches.setdefault(row["ID"], {})[row["Metric Name"]] = float(value.replace(",", ""))
    return combined([(raw.get(_TIME, 1.0), common(raw)) for raw in launches.values()])


def counters_of(
    tools: Tools, ncu: Path, configurations: Sequence[Configuration], tell: Callable[[str], None]
) -> Iterator[tuple[Configuration, Counters]]:
    """Yield the configurations that compile and are right, with their hardware counters.

    Counters are read on the first timed train case.

    Args:
        tools: the tools of the target.
        ncu: the path of ``ncu``.
        configurations: the configurations.
        tell: callback that receives progress messages.

    Raises:
        UserError: the reference fails, or no configuration has counters.
    """
    subject, folder = tools.subject, tools.scratch("profiled")
    tell("running the reference")
    source = unmodified(subject)
    (binary,) = compile_reference(subject, tools.compiler, [source.text], folder / "reference")
    whole = source.program(binary, tools.session.cases)
    record_reference(subject, tools.pool, whole, tools.reference)
    tell(f"compiling {len(configurations)} configurations")
    candidates = [as_candidate(subject, subject.reference, one) for one in configurations]
    built = build_candidates(tools.compiler, candidates, folder)
    names = "|".join(map(re.escape, subject.target.kernels))

    def command(program: Sequence[str], log: Path) -> tuple[list[str], Mapping[str, str]]:
        words = [str(ncu), "--csv", "--print-units", "base", "--target-processes", "all"]
        words += ["--kernel-name", f"regex:{names}", "--launch-count", str(LAUNCHES)]
        words += ["--metrics", ",".join(METRICS), "--log-file", str(log)]
        return [*words, *program], {"LC_ALL": "C"}

    profiler = Sanitizer("ncu", tools.compiler, LogForm.FROM_OUTSIDE, command)
    session = replace(tools.session, cases=subject.timed_cases[:1])
    found, said = False, ""
    for number, (one, made) in enumerate(zip(candidates, built, strict=True), 1):
        tell(f"profiling configuration {number} of {len(candidates)}")
        if isinstance(made, BuildFailure):
            said = said or made.message
            continue
        watched = watch(profiler, session, one.program(made, session.cases))
        counters = read_ncu(watched.log)
        if counters and not watched.failure:
            found = True
            yield one.configuration, {LOCAL: made.resources.get("local", 0), **counters}
        error = re.search(r"==ERROR== .*", watched.log)
        said = said or (error[0] if error else watched.failure)
    if not found:
        raise UserError(
            f"no configuration has counters: {said or 'ncu profiled no launch'}",
            where="--train-model",
            hint="if ncu says ERR_NVGPUCTRPERM, only root may read counters on this machine",
        )
