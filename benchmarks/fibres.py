"""Measure the host runtime: fibre switches, threads, reading the header, compiling a variant.

    python benchmarks/fibres.py [--compile]

Times are processor time, the best of several. Kernels that only wait measure the switches;
``--compile`` adds the compile time of a variant of ``targets/bwt_exact`` in batches, on one core.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gi_cuda.backends.host.build.library import (
    COMPILE_OPTIONS,
    INCLUDE,
    build_library,
    find_compiler,
)
from gi_cuda.backends.host.build.prepare import prepare, variant_text
from gi_cuda.backends.host.running.runtime import Runtime
from gi_cuda.backends.host.running.shard import Shard

KERNELS = """
__global__ void nothing(int *out, int n) {}
__global__ void store(int *out, int n) { out[threadIdx.x] = blockIdx.x; }
__global__ void sleep(int *out, int n) { for (int i = 0; i < n; ++i) __nanosleep(1); }
__global__ void barrier(int *out, int n) { for (int i = 0; i < n; ++i) __syncthreads(); }
__global__ void shuffle(int *out, int n) {
  int v = threadIdx.x;
  for (int i = 0; i < n; ++i) v += __shfl_xor_sync(0xffffffffu, v, 1);
  out[threadIdx.x] = v;
}
"""
TARGET = Path(__file__).parent.parent / "targets" / "bwt_exact" / "kernel.cu"
NAMES = ("nothing", "store", "sleep", "barrier", "shuffle")
REPEATS = 7


def best(measure: Callable[[], float], repeats: int = REPEATS) -> float:
    return min(measure() for _ in range(repeats))


def compile_seconds(source: Path, *options: str) -> float:
    """Return the processor time of one compiler process and its children."""
    output = source.with_suffix(".so")
    command = [find_compiler(), *COMPILE_OPTIONS, *options, f"-I{INCLUDE}", str(source)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "-o", str(output)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def batch(text: str, kernels: Sequence[str], variants: int) -> str:
    parts = [variant_text(f"v{i}", prepare(text), kernels) for i in range(variants)]
    return "\n".join(['#include "gi_cuda_host.hpp"', *parts])


def measure_threads(folder: Path) -> None:
    source = folder / "kernels.cpp"
    source.write_text(batch(KERNELS, NAMES, 1))
    compile_seconds(source, "-O2")
    runtime = Runtime(build_library())
    shard = Shard(source.with_suffix(".so"))
    out = runtime.alloc("out", "int32", 1024)

    print("a thread of a block without barriers")
    for name in NAMES[:2]:
        for threads in (32, 256, 1024):
            blocks = 2**18 // threads
            call = runtime.call(shard.kernel("v0", name), [out, np.int32(0)], (blocks,), (threads,))
            seconds = best(lambda call=call: runtime.run(call))
            print(f"  {name:8} {threads:5} threads {seconds / 2**18 * 1e9:7.1f} ns a thread")

    print("a wait, with the switch to another fibre")
    for name in NAMES[2:]:
        for threads in (2, 32, 256, 1024):
            waits = 2**18 // threads
            kernel = shard.kernel("v0", name)
            call = runtime.call(kernel, [out, np.int32(waits)], (1,), (threads,))
            before = runtime.switches
            runtime.run(call)
            switches = runtime.switches - before
            seconds = best(lambda call=call: runtime.run(call))
            print(
                f"  {name:8} {threads:5} threads {seconds / switches * 1e9:7.1f} ns a switch, "
                f"{seconds / 2**18 * 1e9:6.1f} ns a wait"
            )


def preprocessed() -> str:
    """Return the target's kernel file in its default configuration, without includes."""
    body = re.sub(r"^[ \t]*#[ \t]*include.*$", "", TARGET.read_text(), flags=re.MULTILINE)
    command = [find_compiler(), "-E", "-P", "-x", "c++", "-"]
    return subprocess.run(command, input=body, capture_output=True, text=True, check=True).stdout


def measure_compiler(folder: Path) -> None:
    source = folder / "batch.cpp"

    def seconds(text: str, *options: str, repeats: int = 3) -> float:
        source.write_text(text)
        return best(lambda: compile_seconds(source, *options), repeats)

    empty = seconds("", "-fsyntax-only", repeats=REPEATS)
    header = seconds('#include "gi_cuda_host.hpp"\n', "-fsyntax-only", repeats=REPEATS)
    print(f"reading the header: {(header - empty) * 1e3:.1f} ms")
    text = preprocessed()
    lines = sum(bool(line.strip()) for line in text.splitlines())
    print(f"a variant of {TARGET.parent.name} ({lines} lines preprocessed)")
    for option in ("-O1", "-O2"):
        for variants in (50, 100):
            cost = seconds(batch(text, ["bwt_match"], variants), option) / variants
            print(f"  {option} in a batch of {variants:3}: {cost * 1e3:6.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true", help="measure the compiler as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure_threads(Path(folder))
        if options.compile:
            measure_compiler(Path(folder))


if __name__ == "__main__":
    main()
