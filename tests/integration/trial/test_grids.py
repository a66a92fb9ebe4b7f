"""Grids of fixed size, and buffers with an item for each of their threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.init import from_options, propose
from gi_cuda.trial import Outcome
from gi_cuda.trial.facts import plan
from tests.sweeps import broad

from .conftest import INDEX, host, sizes


def test_large_buffers_of_a_fixed_size_get_smaller(trial: Callable[[str], Outcome]) -> None:
    outcome = trial(
        f"__global__ void k(float *a) {{ {INDEX} a[i] += 1; }}\n"
        + host("k<<<16384, 512>>>(a);", "8888888")
    )
    assert outcome.passes, outcome.trouble
    (buffer,) = outcome.proposal.buffers
    assert int(buffer.items(())) < 8888888
    assert "the 8888888 of the source" in buffer.notes.size
    (blocks,) = outcome.proposal.extents
    assert outcome.proposal.launching.grid[0] == blocks.name
    assert 1 < blocks.held_out < blocks.train < 16384
    # On a GPU there is a launch as the source has it, and the memory for it.
    assert blocks.device == 16384


def test_buffers_have_as_much_as_the_blocks_that_there_are(
    trial: Callable[[str], Outcome],
) -> None:
    outcome = trial(
        "__global__ void k(const float *a, float *b, const float *table) {"
        f" {INDEX} __shared__ float s[64];"
        " s[threadIdx.x] = a[2 * i] + a[2 * i + 1] + table[i % 64];"
        " __syncthreads(); if (threadIdx.x == 0) b[blockIdx.x] = s[0] + s[63]; }\n"
        + host("k<<<N, 64>>>(a, b, c);", "2 * N * 64", "N", "64", values="const int N = 65536;")
    )
    assert outcome.passes, outcome.trouble
    blocks = outcome.proposal.launching.grid[0]
    assert sizes(outcome.proposal) == {"a": f"{blocks} * 128", "b": blocks, "table": "64"}
    assert plan(outcome.proposal, "large").items["a"] == 2 * 65536 * 64


@broad
def test_where_nothing_says_how_much_there_is_each_thread_has_its_items(
    trial: Callable[[str], Outcome],
) -> None:
    outcome = trial(
        "#define SIDE 1024\n"
        "struct Bitmap { int bytes() const; };\n"
        "__global__ void k(unsigned char *image) {"
        " int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
        " int at = x + y * gridDim.x * blockDim.x; float far = sqrtf((x - SIDE / 2) * (y + 1.0f));"
        " image[4 * at] = far; image[4 * at + 3] = 255; }\n"
        "int main() { Bitmap made; unsigned char *image; cudaMalloc(&image, made.bytes());"
        " dim3 grid(SIDE / 16, SIDE / 16), block(16, 16); k<<<grid, block>>>(image); }\n"
    )
    assert outcome.passes, outcome.trouble
    assert sizes(outcome.proposal) == {"image": "blocks * blocks_y * 1024"}
    assert all(one.blocks for one in outcome.proposal.extents)


@pytest.mark.parametrize(("launch", "items"), [("<<<1, 2>>>", 8), ("<<<64, 64>>>", 4096)])
def test_a_constant_launch_has_an_item_for_each_thread_or_several_for_few(
    launch: str, items: int, tmp_path: Path
) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        f"__global__ void k(int *a) {{ {INDEX} a[i] = i; }}\nvoid run(int *a) {{ k{launch}(a); }}\n"
    )
    proposal = propose(source, None, from_options((), ()))
    assert plan(proposal, "train").items == {"a": items}
