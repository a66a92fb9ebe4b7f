"""Faults of launches, and how they end the process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.protocol.session import CRASHED_STATUS, HUNG_STATUS

KERNEL = "__global__ void k(int *out, int n) { STATEMENT }"


def run(cuda: Any, statement: str, **options: Any) -> Any:
    arguments = {"out": np.zeros(1001, np.int32), "n": np.int32(1001)}
    text = KERNEL.replace("STATEMENT", statement)
    return cuda.run(text, arguments, (1,), (32,), limit=0.2, **options)


@pytest.mark.parametrize(
    ("statement", "status", "word"),
    [
        ("while (true) __threadfence();", HUNG_STATUS, "limit"),
        ("out[(size_t)1 << 40] = 1;", CRASHED_STATUS, "illegal"),
        ("*(volatile int *)8 = n;", CRASHED_STATUS, ""),
        ("__trap();", CRASHED_STATUS, ""),
    ],
)
def test_what_ends_the_process(cuda: Any, statement: str, status: int, word: str) -> None:
    outcome = run(cuda, statement)
    assert outcome.status == status
    assert word in outcome.report


@pytest.mark.parametrize(
    ("statement", "damaged"),
    [
        ("out[n] = 1;", ["behind out"]),
        ("((char *)(out + n))[0] = 1;", ["behind out"]),
        ("out[-1] = 1;", ["before out"]),
        ("out[n + 10000] = out[-10000] = 1;", ["before out", "behind out"]),
        ("out[n - 1] = out[0] = 1;", []),
    ],
)
def test_writes_beside_a_buffer_are_found(cuda: Any, statement: str, damaged: list[str]) -> None:
    outcome = run(cuda, statement)
    assert outcome.status == 0
    assert outcome.damaged == damaged


def test_what_is_copied_from_beside_one_buffer_to_beside_another_is_found(cuda: Any) -> None:
    text = "__global__ void k(int *a, int *b, int n) { b[n] = a[n]; b[-1] = a[-1]; }"
    arguments = {"a": np.zeros(8, np.int32), "b": np.zeros(8, np.int32), "n": np.int32(8)}
    outcome = cuda.run(text, arguments, (1,), (1,))
    assert outcome.status == 0
    assert outcome.damaged == ["before b", "behind b"]


def test_memory_that_nothing_was_written_to_is_poison_to_its_last_byte(cuda: Any) -> None:
    sizes = range(1, 10)
    names = [f"b{size}" for size in sizes]
    parameters = ", ".join(f"char *{name}" for name in names)
    arguments = {name: np.zeros(size, np.uint8) for name, size in zip(names, sizes, strict=True)}
    text = f"__global__ void k({parameters}) {{ }}"
    outcome = cuda.run(text, arguments, (1,), (1,), unwritten=names)
    assert outcome.status == 0
    assert outcome.damaged == []
    words = np.full(3, POISON, np.uint32).view(np.uint8)
    for name, size in zip(names, sizes, strict=True):
        assert outcome.outputs[name].tolist() == words[:size].tolist()


def test_too_much_shared_memory_is_refused(cuda: Any) -> None:
    outcome = run(cuda, "extern __shared__ int s[]; out[0] = s[n];", shared=2**20)
    assert outcome.error.startswith("LaunchRefused")
    assert not outcome.outputs["out"].any()


def test_geometry_that_the_device_refuses(cuda: Any) -> None:
    arguments = {"out": np.zeros(1, np.int32), "n": np.int32(1)}
    outcome = cuda.run(KERNEL.replace("STATEMENT", "*out = n;"), arguments, (1,), (2048,))
    assert outcome.error.startswith("LaunchRefused")
    assert outcome.outputs["out"] == 0


def test_dynamic_shared_memory_beyond_48_kilobytes(cuda: Any) -> None:
    statement = (
        "extern __shared__ int s[]; s[15000 + threadIdx.x] = n; __syncwarp();"
        " out[threadIdx.x] = s[15031 - threadIdx.x];"
    )
    outcome = run(cuda, statement, shared=64 * 1024)
    assert (outcome.outputs["out"][:32] == 1001).all()
