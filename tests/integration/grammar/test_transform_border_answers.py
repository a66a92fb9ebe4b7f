"""Kernels whose interior has no border tests give the answers of the original, on the host."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.library import build_library
from gi_cuda.backends.host.races import WATCHED, with_lines
from gi_cuda.evaluate.scrutiny.sanitizer_logs import races
from gi_cuda.grammar import Source
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep
from tests.unit.grammar.border_loops import HEAD, KERNELS

WHOLE = HEAD.replace("template <int N>\n", "constexpr int N = 5;\n")
SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33)
"""Columns of an image; rows are drawn of the same sizes."""
REACHES = (0, 1, 2, 3, 5)
FIRST = "a nest with clamps in variables"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return Host(tmp_path_factory.mktemp("shards"), build_library(), {})


@pytest.mark.parametrize("name", sweep(KERNELS, FIRST))
def test_answers_are_those_of_the_original(host: Host, name: str) -> None:
    draw = np.random.default_rng(len(name))
    for columns in SIZES:
        rows, reach = int(draw.choice(SIZES)), int(draw.choice(REACHES))
        data = arguments(columns, rows, reach)
        original, found = (run(host, f"{WHOLE}{one}}}\n", data) for one in KERNELS[name])
        case = f"{rows} x {columns}, reach {reach}"
        np.testing.assert_array_equal(found["out"], original["out"], case)


@pytest.mark.parametrize("name", sweep(KERNELS, FIRST))
def test_threads_do_not_race(host: Host, name: str) -> None:
    text = f"{WHOLE}{KERNELS[name][1]}}}\n"
    source = f'# 1 "v0/kernel.cu"\n{text}'
    outcome = host.run(source, arguments(19, 11, 2), (3, 2), (8, 8), options=WATCHED)
    assert (outcome.error, outcome.status) == ("", 0)
    assert races(with_lines(outcome.report), Source("kernel.cu", text)) == []


def arguments(columns: int, rows: int, reach: int) -> Mapping[str, np.ndarray | np.generic]:
    draw = np.random.default_rng([columns, rows, reach])
    count = max(columns * rows, 1)
    return {
        "in": draw.integers(-99, 99, count).astype(np.int32),
        "out": draw.integers(-99, 99, count).astype(np.int32),
        "w": np.int32(columns),
        "h": np.int32(rows),
        "r": np.int32(reach),
        "u": np.uint32(columns),
    }


def run(
    host: Host, text: str, data: Mapping[str, np.ndarray | np.generic]
) -> Mapping[str, np.ndarray]:
    grid = (max(1, -(-int(data["w"]) // 8)), max(1, -(-int(data["h"]) // 8)))
    outcome = host.run(text, data, grid, (8, 8))
    assert (outcome.error, outcome.status) == ("", 0)
    return outcome.outputs
