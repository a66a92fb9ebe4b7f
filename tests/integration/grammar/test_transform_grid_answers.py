"""Kernels with grid-stride loops give the same answers with any number of blocks."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.host.running.races import WATCHED
from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.grid import Grid
from gi_cuda.spec.launching.shape import Extent, shaped
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep
from tests.unit.grammar.grid_loops import CASES, HEAD, HOST, OTHER

SIZES = (0, 1, 33, 127, 128, 129, 191, 257, 1009)
"""Numbers of items: none, one, odd and prime ones, multiples of a block and their neighbours."""
GRIDS: tuple[Extent, ...] = ((1, 1, 1), (2, 3, 1), (5, 1, 1), (3, 2, 1))
BLOCK = (64, 1, 1)


def inputs(n: int) -> Mapping[str, np.ndarray | np.generic]:
    """Small whole numbers, of which sums are exact; one element more, for a sum."""
    a, b = (np.random.default_rng(n).integers(0, 8, n + 1).astype(np.float32) for _ in range(2))
    return {"a": a, "b": b, "n": np.int32(n)}


@pytest.mark.parametrize("name", sweep(CASES, "warps", "tiles with barriers"))
def test_answers_stay_the_same_and_no_threads_race(host: Host, name: str) -> None:
    text = f"{HEAD}{CASES[name].body}}}\n"
    program = CudaText(convert(Source("k.cu", text), types=EDIT_SETS["transforms"]))
    (site,) = Grid().sites(read_code(program.grammar.source))
    shapes = [program.shape({"grid_k.cu_2": Expansion((), one)}) for one in site.choices]
    for at, n in enumerate(SIZES):
        x, y, _ = GRIDS[at % len(GRIDS)]
        old = (x, y if "gridDim.y" in text else 1, 1)
        expected = host.run(text, inputs(n), old, BLOCK)
        assert (expected.error, expected.status) == ("", 0)
        for grid in {shaped("k", old, BLOCK, shape)[0] for shape in shapes}:
            found = host.run(text, inputs(n), grid, BLOCK, options=WATCHED)
            assert (found.error, found.status, found.report) == ("", 0, "")
            assert np.array_equal(found.outputs["b"], expected.outputs["b"]), (n, grid)


def test_launches_of_all_compile_with_nvcc(toolkit: Toolkit, tmp_path: Path) -> None:
    texts = ["#include <algorithm>\nusing std::min;\n"]
    for number, one in enumerate(CASES.values()):
        text = f"{HEAD}{one.body}}}\n{OTHER}{HOST.format(one.after)}"
        texts.append(f"namespace case{number} {{\n{text}}}\n")
    (tmp_path / "k.cu").write_text("".join(texts))
    command = [str(toolkit.nvcc), "-arch=sm_90", "-std=c++17", "-c", "-o", "k.o", "k.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
