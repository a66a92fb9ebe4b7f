"""Spellings of launches in host code, with the text that a transformation of the kernel leaves.

Each is a function ``f`` that launches a kernel ``k``; it may use ``j``, another kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KERNELS = """\
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i] = 2 * a[i];
    }
}
__global__ void j(float *a, int n) {
    a[blockIdx.x] = n;
}
"""

HALF = {"k.threads.x": 128}
"""Blocks of 128 threads."""

FOUR = {"k.items.x": 4}
"""The work of four blocks in each."""

BOTH = {**HALF, **FOUR}

FLAT = {"k.threads.x": 32, "k.threads.y": 8}
"""Blocks of 32 x 8 threads."""

ROWS = {"k.times.y": 8}
"""Eight times as many blocks along y."""

WARPS = {"k.times.x": 32}
"""A warp for the work of a thread."""


@dataclass(frozen=True)
class Spelling:
    """A launch before and after a transformation.

    Attributes:
        name: for test ids.
        shape: the change of the launches of ``k``.
        before, after: the text, without the kernels.
        kernels: the kernels before the text.
    """

    name: str
    shape: Mapping[str, int]
    before: str
    after: str
    kernels: str = field(default=KERNELS, repr=False)

    def __str__(self) -> str:
        return self.name


def of(name: str, shape: Mapping[str, int], text: str, kernels: str = KERNELS) -> Spelling:
    """Return a launch in a text with changed lines as in a diff: ``-`` before, ``+`` after."""
    lines = text.strip("\n").split("\n")
    before, after = (
        "".join(f"{one[1:]}\n" for one in lines if one[:1] != not_in) for not_in in "+-"
    )
    return Spelling(name, shape, before, after, kernels)


def line(name: str, shape: Mapping[str, int], before: str, after: str) -> Spelling:
    """Return a launch that is the only line of a function."""
    return of(name, shape, f" void f(float *a, int n) {{\n-    {before}\n+    {after}\n }}")


LITERALS = [
    line(
        "literals, both change",
        BOTH,
        "k<<<(n + 255) / 256, 256>>>(a, n);",
        "k<<<(n + 511) / 512, 128>>>(a, n);",
    ),
    line(
        "shared memory and a stream stay",
        HALF,
        "k<<<(n + 255) / 256, 256, 0, 0>>>(a, n);",
        "k<<<(n + 127) / 128, 128, 0, 0>>>(a, n);",
    ),
    line(
        "no spaces",
        BOTH,
        "k<<<(n+255)/256,256>>>(a,n);",
        "k<<<(n+511)/512,128>>>(a,n);",
    ),
    line(
        "spaces around the brackets",
        FOUR,
        "k <<< (n + 63) / 64, 64 >>> (a, n);",
        "k <<< (n + 255) / 256, 64 >>> (a, n);",
    ),
    line(
        "the block less one, spelled out",
        BOTH,
        "k<<<(n + 256 - 1) / 256, 256>>>(a, n);",
        "k<<<(n + 511) / 512, 128>>>(a, n);",
    ),
    line(
        "one more than a quotient",
        BOTH,
        "k<<<(n - 1) / 256 + 1, 256>>>(a, n);",
        "k<<<(n - 1) / 512 + 1, 128>>>(a, n);",
    ),
    line(
        "a quotient and one more for a rest",
        FOUR,
        "k<<<n / 256 + (n % 256 != 0), 256>>>(a, n);",
        "k<<<n / 1024 + (n % 1024 != 0), 256>>>(a, n);",
    ),
    line(
        "a choice by the rest",
        HALF,
        "k<<<n % 256 == 0 ? n / 256 : n / 256 + 1, 256>>>(a, n);",
        "k<<<n % 128 == 0 ? n / 128 : n / 128 + 1, 128>>>(a, n);",
    ),
    line(
        "a quotient of whole blocks, more of them",
        HALF,
        "k<<<n / 256, 256>>>(a, n);",
        "k<<<n / 128, 128>>>(a, n);",
    ),
    line(
        "a quotient of whole blocks, fewer of them",
        FOUR,
        "k<<<n / 256, 256>>>(a, n);",
        "k<<<(n + 1023) / 1024, 256>>>(a, n);",
    ),
    line(
        "a product in a quotient",
        FOUR,
        "k<<<n * 3 / 64, 64>>>(a, n);",
        "k<<<(n * 3 + 255) / 256, 64>>>(a, n);",
    ),
    line(
        "a number of blocks",
        BOTH,
        "k<<<64, 256>>>(a, n);",
        "k<<<32, 128>>>(a, n);",
    ),
    line(
        "an expression that is no quotient",
        FOUR,
        "k<<<n + 1, 256>>>(a, n);",
        "k<<<(n + 1 + 3) / 4, 256>>>(a, n);",
    ),
    line(
        "an expression that is no quotient, more blocks",
        HALF,
        "k<<<n + 1, 256>>>(a, n);",
        "k<<<(n + 1) * 2, 128>>>(a, n);",
    ),
    line(
        "a quotient by something else",
        FOUR,
        "k<<<(n + 31) / 32, 256>>>(a, n);",
        "k<<<((n + 31) / 32 + 3) / 4, 256>>>(a, n);",
    ),
    line(
        "a shift",
        FOUR,
        "k<<<(n + 255) >> 8, 256>>>(a, n);",
        "k<<<(((n + 255) >> 8) + 3) / 4, 256>>>(a, n);",
    ),
    line(
        "rounded as a floating-point number",
        FOUR,
        "k<<<(int)ceil(n / 256.0f), 256>>>(a, n);",
        "k<<<(int)ceil(n / 1024.0f), 256>>>(a, n);",
    ),
    line(
        "at most so many blocks",
        FOUR,
        "k<<<n < 65536 ? (n + 255) / 256 : 256, 256>>>(a, n);",
        "k<<<((n < 65536 ? (n + 255) / 256 : 256) + 3) / 4, 256>>>(a, n);",
    ),
    line(
        "a warp for each item",
        WARPS,
        "k<<<(n + 255) / 256, 256>>>(a, n);",
        "k<<<(n + 7) / 8, 256>>>(a, n);",
    ),
    line(
        "more blocks along y",
        ROWS,
        "k<<<(n + 255) / 256, 256>>>(a, n);",
        "k<<<dim3((n + 255) / 256, 8), 256>>>(a, n);",
    ),
    line(
        "dim3 at the launch",
        FLAT,
        "k<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, n);",
        "k<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(a, n);",
    ),
    line(
        "dim3 with braces at the launch",
        FOUR,
        "k<<<dim3{(n + 63u) / 64, 2}, dim3{64}>>>(a, n);",
        "k<<<dim3{(n + 255u) / 256, 2}, dim3{64}>>>(a, n);",
    ),
    line(
        "a flat block in the place of a line",
        FLAT,
        "k<<<(n + 255) / 256, 256>>>(a, n);",
        "k<<<(n + 31) / 32, dim3(32, 8)>>>(a, n);",
    ),
]
"""Launches without variables of their own."""
