"""Kernels that divide in 32 bits give the same answers for small numbers and for all others."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.host.running.races import WATCHED
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep
from tests.unit.grammar.narrow_kernels import CASES, PARAMETERS

BLOCK = 64
SIZES = (0, 1, 63, 64, 65, 257, 2**40)
"""Limits of an index: a block and its neighbours, odd and prime ones, and more than 32 bits."""
MOST_ITEMS = 300
WIDTHS = (1, 7, 2**31 - 1, 2**31, 2**32 + 1, 2**40, -1, -3, -(2**31), -(2**32) - 5)
STEPS = (1, 3, 2**31 - 1, -2)
EXTENTS = (1, 5, 2**31 - 1, 2**31, 2**33 + 1, 2**64 - 1)
PLAIN = [name for name, one in CASES.items() if not one.ahead]


def numbers(body: str) -> Iterator[tuple[int, int, int, int]]:
    """Return values of ``n``, ``w``, ``s`` and ``u``, with which a kernel ends and overflows no
    number: each with the first ones of the others, and some together."""
    lists = (SIZES, WIDTHS, STEPS, EXTENTS)
    usual = (257, 7, 3, 5)
    single = [(*usual[:at], one, *usual[at + 1 :]) for at in range(4) for one in lists[at]]
    draw = np.random.default_rng(7)
    mixed = [tuple(one[draw.integers(len(one))] for one in lists) for _ in range(8)]
    for n, w, s, u in (*single, *mixed):
        endless = ("i < n; i +=" in body and n > MOST_ITEMS) or ("j += s" in body and s < 1)
        if not endless and not ("w * s" in body and abs(w * s) >= 2**63):
            yield n, w, s, u


def inputs(n: int, w: int, s: int, u: int, count: int) -> Mapping[str, np.ndarray | np.generic]:
    """Return what a kernel gets; data has the largest and smallest numbers of which 7 can be
    subtracted."""
    a = np.random.default_rng(n).integers(-(2**31) + 7, 2**31, count).astype(np.int32)
    a[: min(count, 4)] = (7, -(2**31) + 7, 2**31 - 1, 6)[: min(count, 4)]
    scalars = {"n": np.int64(n), "w": np.int64(w), "s": np.int32(s), "u": np.uint64(u)}
    return {"a": a, "b": np.zeros(count), **scalars}


@pytest.mark.parametrize("name", sweep(PLAIN, "turns", "numbers with a sign", "a chain"))
def test_answers_stay_the_same_and_no_threads_race(host: Host, name: str) -> None:
    case = CASES[name]
    for n, w, s, u in numbers(case.before):
        blocks = (min(n, MOST_ITEMS) + BLOCK - 1) // BLOCK or 1
        given = inputs(n, w, s, u, blocks * BLOCK)
        for grid in {blocks, (blocks + 1) // 2} if "i < n; i +=" in case.before else {blocks}:
            outcomes = [
                host.run(text, given, (grid, 1, 1), (BLOCK, 1, 1), options=WATCHED)
                for text in (case.source, case.expected)
            ]
            assert all((one.error, one.status, one.report) == ("", 0, "") for one in outcomes)
            expected, found = (one.outputs["b"] for one in outcomes)
            assert np.array_equal(found, expected), (n, w, s, u)


def test_all_compile_with_nvcc(toolkit: Toolkit, tmp_path: Path) -> None:
    """A kernel with an index alone keeps code for divisions in 64 bits, of other launches."""
    texts = ["#include <cstdint>\n"]
    for number, one in zip(itertools.count(), CASES.values(), strict=False):
        text = one.expected
        if one.ahead:
            text += f"template __global__ void k<int>({PARAMETERS});\n"
        texts.append(f"namespace case{number} {{\n{text}}}\n")
    (tmp_path / "k.cu").write_text("".join(texts))
    command = [str(toolkit.nvcc), "-arch=sm_90", "-std=c++17", "-ptx", "k.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ptx = (tmp_path / "k.ptx").read_text()
    entry = ptx.partition(".entry _ZN5case01k")[2].partition(".entry")[0]
    assert entry.count("div.u32") == 2
    assert entry.count("div.s64") == 1
