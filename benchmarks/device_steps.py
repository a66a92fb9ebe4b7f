"""Time the steps around a launch on a device: ``python -m benchmarks.device_steps``.

Runs a target's reference on its first train case, in a process of its own as workers do. Prints
the time of each step, from opening the device to the oracle's judgement, and whether slightly wrong
answers are detected. With ``--large 64`` the target is a small kernel with an output of 64 MiB.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gi_cuda import BACKENDS
from gi_cuda.backends.protocol.device import TimedRun
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import Record
from gi_cuda.backends.workers.answering.recording import record
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.worker import WorkerContext
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.runs.tools import open_tools

ROOT = Path(__file__).parent.parent
LARGE = {
    "kernel.cu": """
__global__ void mix(const float *in, float *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = in[i & 4095] * 0.5f + (float)(i & 15);
}
""",
    "data.py": """
import numpy as np

def case(n, seed):
    return {"in": np.random.default_rng(seed).random(4096, np.float32), "n": n}
""",
    "target.toml": """
target = { name = "large", source = "kernel.cu", kernels = ["mix"], data = "data.py" }
buffer = [
    { name = "in", type = "float32", size = "4096", role = "input" },
    { name = "out", type = "float32", size = "n", role = "output" },
]
scalar = [{ name = "n", type = "int32" }]
launch = [{ kernel = "mix", grid = "1024", block = "256", args = ["in", "out", "n"] }]
oracle = { kind = "tolerance", absolute = 1e-5, relative = 1e-5 }
case = [
    { name = "train", role = "train", args = { n = SIZE, seed = 1 } },
    { name = "held-out", role = "held-out", args = { n = SIZE, seed = 2 } },
]
""",
}
"""Files of the target for ``--large``; SIZE is the number of values it writes."""

LIMIT = 60.0
"""Seconds that a launch may take."""


def lap(name: str, times: int, step: Callable[[], object]) -> None:
    """Run a step several times, and print the time of each."""
    begun = time.perf_counter()
    for _ in range(times):
        step()
    print(f"{name:32} {(time.perf_counter() - begun) / times * 1e3:9.3f} ms", flush=True)


def near(array: np.ndarray) -> np.ndarray:
    """Return values that differ in the last bit."""
    return (array.view(f"u{array.itemsize}") ^ 1).view(array.dtype)


def steps(context: WorkerContext, program: Program, times: int) -> None:
    """Run the steps, in a process that has not opened a device yet.

    Args:
        context: what workers load.
        program: the reference.
        times: number of repetitions of each step.
    """
    target, folder, slot = context.session.target, context.session.reference, WorkerSlot(2)
    begun = time.perf_counter()
    device = context.device(target, context.cases, slot)
    print(f"{'making the device':32} {(time.perf_counter() - begun) * 1e3:9.3f} ms", flush=True)
    runner = CaseRunner(device, target, context.cases, folder)
    lap("upload, launches, recording", 1, lambda: record(runner, Record(program, folder, 2, LIMIT)))
    loaded, (plan,) = device.load(program.binary), runner.plans(program)
    seconds: list[float] = []

    def run() -> None:
        device.prepare(plan)
        seconds.append(device.run(loaded, plan, LIMIT))

    with device.turn():
        lap("prepare and run", times, run)
        together = [TimedRun(loaded, plan)] * times
        lap(f"{times} of them in a round", 1, lambda: device.run_round(together, LIMIT))
        expected = {name: array.copy() for name, array in device.outputs(plan).items()}
        lap("damaged", times, lambda: device.damaged(plan))
        lap("outputs", times, lambda: device.outputs(plan))
        verified = [TimedRun(loaded, plan, expected)] * times
        lap("verify", times, lambda: device.verify(verified[:1], LIMIT))
        lap(f"verify {times} of them", 1, lambda: device.verify(verified, LIMIT))
        lap("judge", times, lambda: runner.judge(plan))

        def judged(words: str, answers: dict[str, np.ndarray]) -> None:
            """Time verification against other answers, which the oracle judges."""
            run = TimedRun(loaded, plan, answers, runner.rules)

            def look() -> None:
                (seen,) = device.verify([run], LIMIT)
                runner.opinion(plan, seen.outputs) if seen.outputs else None

            lap(f"verify and judge {words}", 1, look)  # brings the answers to the device
            lap(f"verify and judge {words} again", times, look)

        judged("what is near", {name: near(array) for name, array in expected.items()})
        far = {name: ~array.view(np.uint8) for name, array in expected.items()}
        judged("what is not", far)  # it is copied, and known to the oracle
        assert all(
            not one.damaged and one.outputs is None for one in device.verify(verified, LIMIT)
        ), "the reference does not agree with itself"
        wrong = {name: np.bitwise_not(array.view(np.uint8)) for name, array in expected.items()}
        (other,) = device.verify([TimedRun(loaded, plan, wrong)], LIMIT)
        assert other.outputs is not None, "it agrees with what it does not answer"
    low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
    print(f"the kernels: {middle * 1e3:.4f} ms ({low * 1e3:.4f} to {high * 1e3:.4f})")


def main() -> None:
    """Compile the reference, and fork the process that runs it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=ROOT / "targets" / "bwt_exact")
    parser.add_argument("--backend", choices=BACKENDS, default=BACKENDS[0])
    parser.add_argument("--times", type=int, default=10, help="how often a step is taken")
    parser.add_argument("--large", type=int, metavar="MIB", help="a target with such an output")
    options = parser.parse_args()
    if options.large:
        options.target = Path(tempfile.mkdtemp(prefix="gi-cuda-"))
        for name, text in LARGE.items():
            (options.target / name).write_text(text.replace("SIZE", str(options.large << 18)))
    subject = open_subject(options.target, options.backend)
    with (
        tempfile.TemporaryDirectory(prefix="gi-cuda-") as folder,
        open_tools(subject, Path(folder), workers=1, jobs=1) as tools,
    ):
        scratch = tools.scratch("reference")
        (binary,) = compile_reference(subject, tools.compiler, [subject.reference], scratch)
        program = Program(binary, dict(subject.original.configuration), tools.train()[:1])
        context = WorkerContext.open(tools.session)
        arguments = (context, program, options.times)
        process = multiprocessing.get_context("fork").Process(target=steps, args=arguments)
        process.start()
        process.join()
    sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
