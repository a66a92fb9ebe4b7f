"""Kernels with a version for usual values give the same answers for these and for all others."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.host.running.races import WATCHED
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep
from tests.unit.grammar.usual_kernels import CASES, Case

BLOCK = (64, 1, 1)
SIZES = (1, 33, 64, 127, 257)
"""Numbers of items: odd and prime ones, a block and its neighbours."""
VALUES = ((2, 3), (1, 3), (2, 5), (3, 1), (7, 64))
"""Values of ``s`` and ``w``: the usual ones first, then one of them, then none."""
PLAIN = [name for name, one in CASES.items() if "template" not in one.head]


def inputs(case: Case, n: int, s: int, w: int) -> Mapping[str, np.ndarray | np.generic]:
    """Return what a kernel gets, in the order of its parameters."""
    draw = np.random.default_rng(n)
    a, b = (draw.random(n, dtype=np.float32) for _ in range(2))
    narrow = np.uint8(s) if "unsigned char" in case.head else np.int32(s)
    known = {"a": a, "b": b, "n": np.int32(n), "s": narrow, "w": np.int32(w), "on": np.uint8(s < 3)}
    known |= {"the_first_of_two_numbers": np.int32(4), "the_other_one": np.int32(1)}
    names = [name for name in re.findall(r"\w+", case.head.partition("k(")[2]) if name in known]
    return {name: known[name] for name in names}


@pytest.mark.parametrize("name", sweep(PLAIN, "shared memory and barriers", "a window with steps"))
def test_answers_stay_the_same_and_no_threads_race(host: Host, name: str) -> None:
    case = CASES[name]
    for n in SIZES:
        for s, w in VALUES:
            given, grid = inputs(case, n, s, w), ((n + 63) // 64, 1, 1)
            expected = host.run(case.before, given, grid, BLOCK, options=WATCHED)
            found = host.run(case.after, given, grid, BLOCK, options=WATCHED)
            assert (expected.error, expected.status) == (found.error, found.status) == ("", 0)
            assert (expected.report, found.report) == ("", "")
            assert np.array_equal(found.outputs["b"], expected.outputs["b"]), (n, s, w)


def test_all_compile_with_nvcc_and_shared_memory_is_there_once(
    toolkit: Toolkit, tmp_path: Path
) -> None:
    """The kernel with a tile of 64 floats has 256 bytes of shared memory, as before."""
    texts = []
    for number, one in enumerate(CASES.values()):
        instance = "template __global__ void k<float>(const float *, float *, int, size_t);\n"
        text = one.after + (instance if "template" in one.head else "")
        texts.append(f"namespace case{number} {{\n{text}}}\n#undef FROM\n")
    (tmp_path / "k.cu").write_text("".join(texts))
    command = [str(toolkit.nvcc), "-arch=sm_90", "-std=c++17", "-Xptxas", "-v", "-cubin", "k.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(\d+) bytes smem", done.stderr) == ["256"]
