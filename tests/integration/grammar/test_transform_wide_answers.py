"""Loops with wide accesses give the answers of the original kernel, and compile."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.host.running.races import WATCHED
from gi_cuda.grammar import RuleType
from tests.integration.backends.conftest import Host
from tests.integration.grammar.conftest import variants
from tests.sweeps import sweep
from tests.unit.grammar.wide_elements import OF_HEADER
from tests.unit.grammar.wide_loops import HEAD, LOOPS

SIZES = (1, 2, 3, 31, 64, 101, 128, 256, 257, 259)
"""Elements of a row: one, odd and prime numbers, multiples of a block's turns and their neighbours.
Rows of an odd number of elements are not aligned."""
TYPE = "-DDTYPE=float"
"""The macro that a header would define for the kernel with elements of ``DTYPE``."""
BLOCKS, THREADS = 3, (32, 2, 1)
INSTANCE = "template __global__ void k<double>(const double *, const float *, double *, int);\n"


def source(head: str, body: str, loop: str) -> str:
    """A kernel with a loop."""
    return f"{head}{body.replace('LOOP', loop)}}}\n"


TEXTS = {
    name: source(head, body, before)
    for name, (_, head, body, before, _) in LOOPS.items()
    if head in (HEAD, OF_HEADER)
}


def inputs(n: int) -> Mapping[str, np.ndarray | np.generic]:
    """Small whole numbers, of which sums are exact, for a row of each thread."""
    draw, count = np.random.default_rng(n), BLOCKS * 64 * n
    a, b, c = (draw.integers(0, 8, count).astype(np.float32) for _ in range(3))
    return {"a": a, "b": b, "c": c, "n": np.int32(n)}


@pytest.mark.parametrize("name", sweep(TEXTS, *list(TEXTS)[:3]))
def test_answers_stay_the_same_and_no_threads_race(host: Host, name: str) -> None:
    text = TEXTS[name]
    flat = "threadIdx.y" not in text
    block = (THREADS[0] * THREADS[1], 1, 1) if flat else THREADS
    changed = list(variants(text, RuleType.WIDE))
    assert changed
    for n in SIZES:
        expected = host.run(text, inputs(n), (BLOCKS, 1, 1), block, options=("-O2", TYPE))
        assert (expected.error, expected.status) == ("", 0)
        for one in changed:
            found = host.run(one, inputs(n), (BLOCKS, 1, 1), block, options=(*WATCHED, TYPE))
            assert (found.error, found.status, found.report) == ("", 0, "")
            assert np.array_equal(found.outputs["c"], expected.outputs["c"], True), (n, one)


def test_all_compile_with_nvcc(toolkit: Toolkit, tmp_path: Path) -> None:
    texts = []
    for number, (_, head, body, before, _) in enumerate(LOOPS.values()):
        for at, one in enumerate(variants(source(head, body, before), RuleType.WIDE)):
            instance = INSTANCE if "<typename T>" in head else ""
            texts.append(f"namespace case{number}_{at} {{\n{one}{instance}}}\n")
    (tmp_path / "k.cu").write_text("".join(texts))
    command = [str(toolkit.nvcc), TYPE, "-arch=sm_90", "-std=c++17", "-c", "-o", "k.o", "k.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
