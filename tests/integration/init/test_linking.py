"""Device code that other files of the repository define is linked with a source."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.init import find_source, from_options, propose
from gi_cuda.trial import Attempts, Outcome, mended
from tests.integration.init.proposing import tree

FILES = {
    "src/k.cu": """#include "cell.h"
extern __device__ float weight(float by, float x);
extern __device__ float table[16];
__global__ void scale(Cell *cells, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        cells[i].grow(weight(by, table[i % 16]));
}
""",
    "src/cell.h": """#pragma once
struct Cell {
    float size;
    __device__ void grow(float by);
};
""",
    "src/cell.cpp": """#include "cell.h"
#include <cstdio>
__device__ float checked(float x);
__device__ void Cell::grow(float by) { size += checked(by); }
int main() { std::printf("an application"); }
""",
    "other/weight.cu": """__device__ float table[16];
static __device__ float half_of(float x) { return x / 2; }
__device__ float weight(float by, float x) { return by * half_of(x); }
__device__ float checked(float x) { return x > 0 ? x : 0; }
""",
    "alone/other.cu": "__device__ float weight(float by, float x) { return 0; }\n"
    "__global__ void scale(float *a) { *a = weight(1, 2); }\n",
    "README": "",
}


def tried(files: dict[str, str], folder: Path) -> Outcome:
    """The target for the first of some files, tried."""
    built = find_source(tree(folder / "p", files), from_options((), ()))
    proposal = propose(built.source, None, built.compilation)
    (folder / "attempts").mkdir()
    attempts = Attempts(folder / "attempts", 1, None)
    return mended(proposal, attempts.attempt, 60)


def test_files_that_define_what_is_declared_evolve_with_it(tmp_path: Path) -> None:
    outcome = tried(FILES, tmp_path)
    assert outcome.passes, outcome.trouble
    evolving = [path.relative_to(tmp_path / "p").as_posix() for path in outcome.proposal.evolving]
    assert {"src/cell.h", "src/cell.cpp", "other/weight.cu"} == set(evolving)
    assert {"grow", "weight", "half_of", "checked"} <= {f.name for f in outcome.proposal.functions}
    assert "table" in {buffer.symbol for buffer in outcome.proposal.buffers}


def test_what_nothing_defines_is_said(tmp_path: Path) -> None:
    files = {name: FILES[name] for name in ("src/k.cu", "src/cell.h", "README")}
    outcome = tried(files, tmp_path)
    assert not outcome.passes
    said = "\n".join(outcome.lines())
    assert "is declared, but nothing that is compiled defines it" in said
    assert "among the `headers` of target.toml" in said
    assert "tried:" not in said


METHODS = {
    "k.cu": """extern __constant__ float gains[8];
struct Gain {
    int at;
    __device__ float of(float x) const { return gains[at % 8] * x; }
};
struct Both { Gain first, second; };
__global__ void scale(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Both both{{i}, {i + 1}};
    if (i < n)
        a[i] = both.first.of(both.second.of(a[i]));
}
""",
    "gains.cu": "__constant__ float gains[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n",
    "README": "",
}


def test_what_methods_of_a_class_use_is_linked(tmp_path: Path) -> None:
    outcome = tried(METHODS, tmp_path)
    assert outcome.passes, outcome.trouble
    assert [path.name for path in outcome.proposal.evolving] == ["gains.cu"]
