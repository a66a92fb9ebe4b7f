"""Kernels with packed accesses give the answers of the original kernel, and compile."""

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
from tests.unit.grammar.pack_kernels import HEAD, KERNELS

SIZES = (0, 1, 2, 3, 31, 37, 63, 64, 65, 101, 130)
"""Items: none, one, prime and odd numbers, multiples of a block and their neighbours. Rows of an
odd number of elements are not aligned."""
THREADS = 32
BYTES = "".join(f"    q[16 * i + {k}] = n + {k};\n" for k in range(16))
TEXTS = {
    **{name: f"{HEAD}{before}}}\n" for name, (_, before, _) in KERNELS.items()},
    "bytes": f"{HEAD}    char *q = (char *)b;\n{BYTES}}}\n",
}


def inputs(n: int, text: str) -> Mapping[str, np.ndarray | np.generic]:
    """Small whole numbers, in arrays that are as long as the kernel needs."""
    draw = np.random.default_rng(n)
    long = 4 * n * n if "4 * n + j" in text else n * n + 1 if "* n" in text else 0
    counts = {"a": max(long, 4 * n), "b": 4 * n, "c": 2 * n + 1}
    given = {
        name: draw.integers(0, 8, max(1, count)).astype(np.float32)
        for name, count in counts.items()
    }
    return {**given, "n": np.int32(n)}


@pytest.mark.parametrize("name", sweep(TEXTS, *list(TEXTS)[:4], "bytes"))
def test_answers_stay_the_same_and_no_threads_race(host: Host, name: str) -> None:
    text = TEXTS[name]
    changed = list(variants(text, RuleType.PACK))
    assert changed
    for n in SIZES:
        grid, given = (n // THREADS + 1, 1, 1), inputs(n, text)
        expected = host.run(text, given, grid, (THREADS, 1, 1), options=WATCHED)
        assert (expected.error, expected.status, expected.report) == ("", 0, "")
        for one in changed:
            found = host.run(one, given, grid, (THREADS, 1, 1), options=WATCHED)
            assert (found.error, found.status, found.report) == ("", 0, ""), (n, one)
            for array in ("b", "c"):
                assert np.array_equal(found.outputs[array], expected.outputs[array], True), one


def test_all_compile_with_nvcc(toolkit: Toolkit, tmp_path: Path) -> None:
    texts = [
        f"namespace case{number}_{at} {{\n{one}}}\n"
        for number, text in enumerate(TEXTS.values())
        for at, one in enumerate(variants(text, RuleType.PACK))
    ]
    (tmp_path / "k.cu").write_text("".join(texts))
    command = [str(toolkit.nvcc), "-arch=sm_90", "-std=c++17", "-c", "-o", "k.o", "k.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
