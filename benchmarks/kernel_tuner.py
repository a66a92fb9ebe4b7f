"""Compare configurations per second with Kernel Tuner: same kernel, space, inputs and device.

Draws configurations of a target at random. gi-cuda evaluates them as a search does, in one batch:
preprocess, compile, verify, time beside the reference, verify again. Then Kernel Tuner, with its
PyCUDA and with its NVRTC back end, each in a process of its own, evaluates a random sample of the
same space: compile, verify against the same answers, benchmark (7 runs, its default). The result
is the time from configurations to results: wall time for gi-cuda; for Kernel Tuner the sum of the
times that it reports for its results, so that building its search space is left out. Kernel Tuner
is not one of the project's dependencies: ``pip install kernel-tuner cuda-python``.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.table import open_backend
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.reference.baseline import establish
from gi_cuda.genome import Configuration, Genotype
from gi_cuda.genome.variation import mutate_configuration
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.spec import CaseData, buffer_sizes, find_case, load_case, plan
from gi_cuda.subject import Subject, load_subject

TARGET = Path(__file__).parent.parent / "targets" / "bwt_exact"
THEIR_BACKENDS = {"PyCUDA": "PYCUDA", "NVRTC": "NVCUDA"}
PARTS = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")
"""Times in milliseconds that Kernel Tuner reports for each result."""

STEPS = 30
"""Number of values changed to get from the default to a random configuration."""

FIXED_TYPES = (
    "typedef unsigned int uint32_t; typedef int int32_t; typedef unsigned char uint8_t;"
    " typedef unsigned long long uint64_t;"
)
"""Definitions of integer types, for NVRTC, which has no system headers."""


def drawn(subject: Subject, number: int, seed: int) -> list[Configuration]:
    """Return distinct random configurations that satisfy the constraints."""
    rng = random.Random(seed)
    found: dict[Configuration, None] = {}
    configuration = subject.space.default
    while len(found) < number:
        for _ in range(STEPS):
            configuration = mutate_configuration(configuration, rng, PAPER) or configuration
        found[configuration] = None
    return list(found)


def ours(tools: Tools, configurations: Sequence[Configuration]) -> tuple[float, dict[str, int]]:
    """Evaluate configurations; return the seconds, and the number of each outcome."""
    subject = tools.subject
    baseline = establish(
        subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference
    )
    evaluator = Evaluator(
        subject,
        tools.equipment(),
        Bounds(baseline.loops, Sampling(floor=baseline.floor, limit=baseline.limit)),
    )
    batch = {i: Genotype(one) for i, one in enumerate(configurations, 1)}
    begun = time.perf_counter()
    evaluations = dict(evaluator.evaluate(evaluator.prepare(batch)))
    seconds = time.perf_counter() - begun
    best = min((e.ratio for e in evaluations.values() if e.selectable and e.ratio), default=1.0)
    print(f"reference {baseline.seconds * 1e3:.3f} ms, best {1 / best:.2f} times as fast")
    return seconds, dict(Counter(str(e.outcome) for e in evaluations.values()))


def theirs(job: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate configurations by Kernel Tuner; called in a process of its own."""
    import kernel_tuner
    import numpy as np

    subject = load_subject(job["target"], "cuda")
    target = subject.target
    case = load_case(target, find_case(target, job["case"]))
    answers = {name: array[0] for name, array in np.load(job["answers"]).items()}
    default = dict(subject.space.default)
    (launch,) = plan(target, default, case.scalars)
    sizes = buffer_sizes(target, default, case)
    arguments, expected = [], []
    for argument in launch.args:
        if isinstance(argument, str):
            buffer = next(b for b in target.buffers if b.name == argument)
            given = case.buffers.get(argument)
            room = np.zeros(sizes[argument], buffer.dtype) if given is None else given
            arguments.append(np.ascontiguousarray(room))
            expected.append(answers.get(argument))
        else:
            arguments.append(argument)
            expected.append(None)
    results, _ = kernel_tuner.tune_kernel(
        launch.kernel,
        _source(subject, job["language"]),
        lambda p: _grid(subject, p, case),
        arguments,
        {parameter.name: list(parameter.values) for parameter in target.parameters},
        grid_div_x=[],
        block_size_names=["BLOCK_W"],
        restrictions=[_in_python(constraint.that.text) for constraint in target.constraints],
        strategy="random_sample",
        strategy_options={"max_fevals": job["number"]},
        answer=expected,
        atol=0,
        lang=job["language"],
        compiler_options=["-std=c++17"],
        verbose=False,
        quiet=True,
    )
    times = [r["time"] for r in results if isinstance(r["time"], float)]
    return {
        "version": version("kernel_tuner"),
        "seconds": sum(result.get(part, 0.0) for result in results for part in PARTS) / 1e3,
        "evaluated": len(results),
        "right": len(times),
        "best": min(times, default=0.0),
        "parts": {part: sum(result.get(part, 0.0) for result in results) / 1e3 for part in PARTS},
    }


def _source(subject: Subject, language: str) -> str:
    text = subject.reference
    # Kernel Tuner defines every parameter, so a flag has to be asked for its value.
    for parameter in subject.target.parameters:
        if parameter.kind.value == "flag":
            text = text.replace(f"#ifdef {parameter.name}", f"#if {parameter.name}")
    if language == "NVCUDA":
        text = f'extern "C" {{\n{text.replace("#include <stdint.h>", FIXED_TYPES)}\n}}\n'
    return text


def _in_python(constraint: str) -> str:
    """Translate a constraint from C to Python, for Kernel Tuner."""
    python = constraint.replace("&&", " and ").replace("||", " or ")
    return re.sub(r"!(?!=)", " not ", python)


def _grid(subject: Subject, values: Mapping[str, Any], case: CaseData) -> tuple[int, ...]:
    names = [parameter.name for parameter in subject.target.parameters]
    (launch,) = plan(subject.target, {name: int(values[name]) for name in names}, case.scalars)
    return tuple(int(size) for size in launch.grid)


def run_theirs(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run :func:`theirs` in a process of its own; the result has a key ``error`` if that fails."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, "--child"],
        input=pickle.dumps(job),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return {"error": done.stderr.decode(errors="replace")[-1500:]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", type=int, default=1000, help="configurations for gi-cuda")
    parser.add_argument("--theirs", type=int, default=64, help="for Kernel Tuner")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(theirs(pickle.load(sys.stdin.buffer))))
        return
    subject = load_subject(TARGET, "cuda")
    configurations = drawn(subject, options.ours, options.seed)
    cores = len(os.sched_getaffinity(0))
    table = Table("tool", "configurations", "right", "seconds", "a second", "gi-cuda is")
    with tempfile.TemporaryDirectory(prefix="gi-cuda-bench-") as scratch:
        workers = open_backend("cuda").workers(0, cores)
        with open_tools(subject, Path(scratch), workers=workers, jobs=cores) as tools:
            (case,) = tools.train()
            seconds, outcomes = ours(tools, configurations)
            device = tools.backend.device()
        rate = len(configurations) / seconds
        right = sum(outcomes.get(word, 0) for word in ("faster", "slower", "same", "uncertain"))
        table.add_row(
            "gi-cuda", str(len(configurations)), str(right), f"{seconds:.2f}", f"{rate:.1f}", ""
        )
        for name, language in THEIR_BACKENDS.items():
            job = {
                "target": TARGET,
                "case": case,
                "number": options.theirs,
                "answers": Path(scratch) / "reference" / f"{case}.npz",
                "language": language,
            }
            found = run_theirs(job)
            if "error" in found:
                table.add_row(f"Kernel Tuner, {name}", "failed")
                print(found["error"])
                continue
            print(name, found)
            each = found["evaluated"] / found["seconds"]
            table.add_row(
                f"Kernel Tuner {found['version']}, {name}",
                str(found["evaluated"]),
                str(found["right"]),
                f"{found['seconds']:.2f}",
                f"{each:.1f}",
                f"{rate / each:.0f} times as fast",
            )
    console = Console(width=110)
    console.print(table)
    console.print(f"on {device}, compiled on {cores} cores; {outcomes}", highlight=False)


if __name__ == "__main__":
    main()
