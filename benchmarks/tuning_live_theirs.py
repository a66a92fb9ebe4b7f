"""Tune a T1 file by Kernel Tuner in a process of its own, on the data of a target of gi-cuda.

:mod:`benchmarks.tuning_live` starts it, and gives it the job on standard input. Kernel Tuner is not
a dependency of this project.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gi_cuda.spec import buffer_sizes, find_case, load_case, load_target, plan


def theirs(job: Mapping[str, Any]) -> None:
    """Tune a T1 file.

    Args:
        job: see :func:`benchmarks.tuning_live.beside`.
    """
    import kernel_tuner.core
    import kernel_tuner.interface
    import kernel_tuner.util

    os.chdir(job["run"].parent)  # Kernel Tuner keeps sources that fail in the working folder
    target = load_target(job["target"])
    case = load_case(target, find_case(target, job["case"]))
    default = {one.name: one.default for one in target.parameters}
    (launch,) = plan(target, default, case.scalars)
    sizes = buffer_sizes(target, default, case)
    kinds = {one.name: one for one in target.buffers}
    with np.load(job["run"] / "reference" / f"{job['case']}.npz") as stored:
        answers = {name: stored[name][0] for name in stored.files}
    arguments: list[Any] = []
    expected = []
    for one in launch.args:
        if isinstance(one, str):
            held = case.buffers.get(one)
            room = np.zeros(sizes[one], kinds[one].dtype) if held is None else held
            arguments.append(np.ascontiguousarray(room))
        else:
            arguments.append(one)
        expected.append(answers.get(one) if isinstance(one, str) else None)
    constant = {one.symbol: case.buffers[one.name] for one in target.buffers if one.symbol}
    ours = {"lang": "PYCUDA", "cmem_args": constant, "answer": expected if job["verify"] else None}
    tune, measure = (
        kernel_tuner.interface.tune_kernel,
        kernel_tuner.core.DeviceInterface.compile_and_benchmark,
    )

    read = kernel_tuner.interface.get_input_file

    def get_input_file(path: Path) -> Any:
        """Leave out the arguments, of which Kernel Tuner reads floats alone: it gets ours."""
        inputs = read(path)
        inputs["KernelSpecification"]["Arguments"] = []
        return inputs

    def tune_kernel(
        name: str, source: Path, size: object, _: object, space: object, **options: object
    ) -> object:
        return tune(name, source, size, arguments, space, **{**options, **ours})

    def compile_and_benchmark(*given: Any, **named: Any) -> Any:
        try:
            return measure(*given, **named)
        except Exception as error:
            print("failed:", str(error)[:300], flush=True)
            spent = dict.fromkeys(("compile_time", "verification_time", "benchmark_time"), 0)
            return {"__error__": kernel_tuner.util.RuntimeFailedConfig(), **spent}

    kernel_tuner.interface.get_input_file = get_input_file
    kernel_tuner.interface.tune_kernel = tune_kernel
    kernel_tuner.core.DeviceInterface.compile_and_benchmark = compile_and_benchmark
    kernel_tuner.interface.tune_kernel_T1(
        job["t1"],
        cache_filepath=job["cache"],
        device=0,
        strategy=job["strategy"],
        strategy_options={"time_limit": job["seconds"]},
        output_T4=False,
    )


if __name__ == "__main__":
    theirs(pickle.load(sys.stdin.buffer))
