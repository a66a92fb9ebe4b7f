"""Kernels that do not compare their index give the same answers with exact launches.

Rewritten host code launches exactly the old work for any size. See also
``test_transform_launch_answers.py``, which has the compiler and the spellings.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED
from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launch_text import launch_splices
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import Extent, InexactLaunch, Shape, shaped
from tests.integration.backends.conftest import Host
from tests.integration.grammar.test_transform_launch_answers import COMPILER, SIZES, records
from tests.sweeps import sweep
from tests.unit.grammar.launch_variables import SPELLINGS

HEAD = "__global__ void k(const float *a, float *b, int m) {\n"
X = "    const int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
Y = "    int y = threadIdx.y + blockDim.y * blockIdx.y;\n"

KERNELS = {
    "one statement": HEAD + X + "    b[x] = 2 * a[x];\n}",
    "no variable": HEAD
    + "    b[blockIdx.x * blockDim.x + threadIdx.x] +="
    + " a[threadIdx.x + blockIdx.x * blockDim.x];\n}",
    "a return that the data decides": HEAD
    + X
    + "    const float old = a[x];\n    if (old < 4) return;\n    b[x] = old - 1;\n}",
    "rows": HEAD
    + "    float sum = 1;\n"
    + X
    + "    for (int j = 0; j < m; j++) sum += a[x / m * m + j];\n    b[x] = sum;\n}",
    "neighbours": HEAD
    + X
    + "    const int last = gridDim.x * blockDim.x - 1;\n"
    + "    b[x] = a[last - x];\n}",
    "two dimensions": HEAD + X + Y + "    b[y * m + x] = a[y * m + x] + y;\n}",
    "two, one of them compared": HEAD
    + X
    + Y
    + "    if (y >= m) return;\n    b[y * m + x] += a[y * m + x];\n}",
}

BLOCKS = [(32, 1), (64, 2), (256, 1), (24, 4), (1, 1)]
EDITS = [
    {"block": "64"},
    {"block": "32"},
    {"coarsen": "2"},
    {"coarsen": "8"},
    {"block": "32", "coarsen": "2"},
]
FLAT = {"32": "32x1", "64": "64x2"}


def inputs(width: int, height: int) -> Mapping[str, np.ndarray | np.generic]:
    """Small whole numbers, one for each thread and no more."""
    draw = np.random.default_rng(width * 1000 + height)
    a, b = (draw.integers(0, 8, width * height).astype(np.float32) for _ in range(2))
    return {"a": a, "b": b, "m": np.int32(width)}


def changed(text: str, edits: Mapping[str, str], two: bool) -> tuple[str, Mapping[str, int]]:
    """Return a kernel after some transformations, and the shape of its launches."""
    program = CudaText(convert(Source("k.cu", text), types=EDIT_SETS["all"]))
    names = {one.name for one in program.grammar.rules}
    found = {
        f"{family}_k.cu_1": Expansion((), f"{family}_K{FLAT.get(n, n) if two else n}")
        for family, n in edits.items()
        if f"{family}_k.cu_1" in names
    }
    return program.changed(found).text, program.shape(found)


@pytest.mark.parametrize("name", sweep(KERNELS, "neighbours"))
def test_answers_are_the_same_or_the_launch_is_refused(host: Host, name: str) -> None:
    two = "threadIdx.y" in KERNELS[name]
    refused = 0
    for edits in EDITS:
        text, shape = changed(KERNELS[name], edits, two)
        for number, (width, height) in enumerate(BLOCKS):
            block: Extent = (width, height if two else 1, 1)
            grid: Extent = (number + 1, 2 if two else 1, 1)
            try:
                new = shaped("k", grid, block, shape)
            except InexactLaunch:
                refused += 1
                continue
            given = inputs(grid[0] * block[0], grid[1] * block[1])
            expected = host.run(KERNELS[name], given, grid, block)
            assert (expected.error, expected.status) == ("", 0)
            found = host.run(text, given, *new, options=WATCHED)
            assert (found.error, found.status, found.report) == ("", 0, "")
            assert np.array_equal(found.outputs["b"], expected.outputs["b"]), (edits, grid, block)
    assert 0 < refused < len(EDITS) * len(BLOCKS)


SHAPES: list[dict[str, int]] = [
    {"k.threads.x": 64, "k.exact.x": 1},
    {"k.items.x": 4, "k.exact.x": 1},
    {"k.threads.x": 32, "k.items.x": 2, "k.exact.x": 1},
    {"k.threads.x": 8, "k.threads.y": 4, "k.exact.x": 1, "k.exact.y": 1},
    {"k.threads.x": 16, "k.items.y": 2, "k.exact.x": 1, "k.exact.y": 1},
]


def test_host_code_launches_just_the_old_work(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The spellings are those of guarded kernels too; many are refused here."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    pairs = []
    for shape in SHAPES:
        for one in SPELLINGS:
            source = Source("k.cu", one.kernels + one.before)
            found = launch_splices(read_code(source), shape)
            if not found.unknown:
                after = spliced(source, found.splices).text.removeprefix(one.kernels)
                pairs.append((shape, one.before, after))
    assert len(pairs) > 2 * len(SPELLINGS)
    texts = [text for _, before, after in pairs for text in (before, after)]
    said = records(tmp_path_factory.mktemp("launches"), texts)
    for (shape, _, text), before, found in zip(pairs, said[::2], said[1::2], strict=True):
        for size in SIZES:
            assert len(found[size]) == len(before[size]) > 0
            for old, new in zip(before[size], found[size], strict=True):
                for axis, letter in enumerate("xyz"):
                    own = Shape.of("k", letter, shape)
                    extents = own.extents(old[axis], old[axis + 3])
                    assert (new[axis], new[axis + 3]) == extents, (text, size)
