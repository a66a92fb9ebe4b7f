"""Rewritten launches have the grid and block that the shape says, for any amount of work.

The host code of each spelling is rewritten for each shape, compiled with a C++ compiler, with a
function that records grid and block in the place of each launch, and run before and after.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launch_text import launch_splices
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import Shape
from tests.unit.grammar.launch_spellings import (
    BOTH,
    FLAT,
    FOUR,
    HALF,
    ROWS,
    WARPS,
    Spelling,
)
from tests.unit.grammar.launch_variables import SPELLINGS

COMPILER = shutil.which("g++") or shutil.which("clang++")
SIZES = (1, 2, 31, 255, 256, 257, 509, 1024, 4096, 65536, 65537, 100003)

HEAD = """\
#include <cmath>
#include <cstdio>
#include <initializer_list>
#define __global__
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
const int cudaFuncCachePreferL1 = 0;
inline void cudaFuncSetCacheConfig(int, int) {}
inline void record(dim3 g, dim3 b, int = 0, int = 0) {
    std::printf(" %u %u %u %u %u %u;", g.x, g.y, g.z, b.x, b.y, b.z);
}
"""

Extents = tuple[int, ...]


def host_code(text: str) -> str:
    """Return the code without kernels, and with records in the place of the launches of ``k``."""
    text = re.sub(r"\bj\s*<<<.*?>>>\s*\([^;]*\);", ";", text, flags=re.S)
    return re.sub(
        r"[\w:]*\bk(?:<float>)?\s*<<<(.*?)>>>\s*\([^;]*\);", r"record(\1);", text, flags=re.S
    )


def after(spelling: Spelling, shape: Mapping[str, int]) -> str:
    """Return the text of a spelling with its launches rewritten."""
    source = Source("k.cu", spelling.kernels + spelling.before)
    found = launch_splices(read_code(source), shape)
    assert not found.unknown
    return spliced(source, found.splices).text.removeprefix(spelling.kernels)


def records(folder: Path, texts: Sequence[str]) -> list[dict[int, list[Extents]]]:
    """Return the grids and blocks of the launches of each text, by the amount of work."""
    code, calls = [HEAD], []
    for number, text in enumerate(texts):
        code.append(f"namespace s{number} {{ const int k = 0;\n{host_code(text)}}}\n")
        calls.append(f'std::printf("{number} %d:", n); s{number}::f(0, n); std::printf("\\n");\n')
    sizes = ", ".join(map(str, SIZES))
    code.append(f"int main() {{ for (int n : {{{sizes}}}) {{\n{''.join(calls)} }} }}\n")
    (folder / "launches.cpp").write_text("".join(code))
    build = [str(COMPILER), "-std=c++17", "-w", "-O0", "-o", "launches", "launches.cpp"]
    subprocess.run(build, cwd=folder, check=True)
    said = subprocess.run([folder / "launches"], capture_output=True, text=True, check=True).stdout
    found: list[dict[int, list[Extents]]] = [{} for _ in texts]
    for line in said.splitlines():
        head, _, rest = line.partition(":")
        number, size = map(int, head.split())
        launches = [tuple(map(int, one.split())) for one in rest.split(";") if one.strip()]
        found[number][size] = launches
    return found


def bounds(blocks: int, threads: int, shape: Shape, *, whole: bool) -> tuple[int, int]:
    """Return the fewest and the most blocks after a rewrite.

    The work is known only up to a block: ``(n + 255) / 256`` blocks are for more than one block
    less would do, and ``n / 256`` blocks may be for nearly one more.

    Args:
        whole: whether the blocks before are for no more than their own work.
    """
    per_block = (shape.threads or threads) * shape.items
    fewest = max(0, (blocks - 1) * threads + 1) * shape.times
    most = (blocks if whole else blocks + 1) * threads * shape.times
    return -(-fewest // per_block), -(-most // per_block)


def check(before: Extents, after: Extents, shape: Mapping[str, int], *, whole: bool) -> None:
    """Compare a launch with the one that the shape makes of it."""
    for axis, letter in enumerate("xyz"):
        own = Shape.of("k", letter, shape)
        blocks, threads = before[axis], before[axis + 3]
        assert after[axis + 3] == (own.threads or threads)
        fewest, most = bounds(blocks, threads, own, whole=whole)
        if own == Shape():
            fewest = most = blocks
        assert fewest <= after[axis] <= most


SHAPES: list[dict[str, int]] = [
    HALF,
    FOUR,
    BOTH,
    FLAT,
    ROWS,
    WARPS,
    {**HALF, **WARPS},
    {"k.threads.x": 512, "k.items.x": 2, "k.items.y": 2},
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[dict[int, list[Extents]]]:
    """Return the records of all spellings, first as they are and then by shape."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    texts = [one.before for one in SPELLINGS]
    texts += [after(one, shape) for shape in SHAPES for one in SPELLINGS]
    return records(tmp_path_factory.mktemp("launches"), texts)


@pytest.mark.parametrize("number", range(len(SHAPES)), ids=map(str, SHAPES))
def test_rewritten_launches_cover_the_work(
    number: int, recorded: list[dict[int, list[Extents]]]
) -> None:
    count = len(SPELLINGS)
    own = recorded[count * (number + 1) : count * (number + 2)]
    for spelling, before, found in zip(SPELLINGS, recorded, own, strict=False):
        whole = re.search(r"n(?: \* 3)? / \d+[,;]", spelling.before) is None
        for size in SIZES:
            assert before[size]
            for one, other in zip(before[size], found[size], strict=True):
                check(one, other, SHAPES[number], whole=whole)
