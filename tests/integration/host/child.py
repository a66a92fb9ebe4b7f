"""Runs one launch: a job comes in on standard input, an answer goes out on standard output."""

from __future__ import annotations

import pickle
import sys
from contextlib import nullcontext

import numpy as np

from gi_cuda.host import LaunchError, Runtime


def main() -> None:
    job = pickle.load(sys.stdin.buffer)
    runtime = Runtime(job["library"])
    runtime.report(2)
    runtime.limit(job["limit"])
    shard = runtime.open(job["shard"])
    for name, value in job["symbols"].items():
        shard.symbol("v0", name)[:] = value.view(np.uint8)

    buffers = {}
    arguments = []
    for name, value in job["arguments"].items():
        if not isinstance(value, np.ndarray):
            arguments.append(value)
            continue
        buffer = runtime.alloc(name, value.dtype, value.size)
        buffer[:] = value.ravel()
        buffers[name] = buffer
        if name in job["textures"]:
            dtype, components, normalized = job["textures"][name]
            texture = runtime.texture(name, buffer, dtype, components, normalized=normalized)
            arguments.append(texture)
        else:
            arguments.append(buffer)

    kernel = shard.kernel("v0", "k")
    error = ""
    try:
        with runtime.backwards() if job["backwards"] else nullcontext():
            runtime.launch(kernel, arguments, job["grid"], job["block"], job["shared"])
    except LaunchError as problem:
        error = f"{type(problem).__name__}: {problem}"
    answer = {
        "error": error,
        "outputs": {name: buffer.copy() for name, buffer in buffers.items()},
        "switches": runtime.switches,
    }
    sys.stdout.buffer.write(pickle.dumps(answer))


main()
