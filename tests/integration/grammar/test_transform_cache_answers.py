"""Kernels that load and store with streaming hints give the answers of the original, on the host
back end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED, with_lines
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import races
from gi_cuda.grammar import Source
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep
from tests.unit.grammar.cache_arrays import HEAD, KERNELS

SIZES = (0, 1, 2, 3, 31, 32, 33, 61, 64, 97, 127, 129)
"""Items; a kernel may load an item beyond, or four times as many."""
FIRST = "an integer in an array of floats"


@pytest.mark.parametrize("name", sweep(KERNELS, FIRST))
def test_answers_are_those_of_the_original(host: Host, name: str) -> None:
    for size in SIZES:
        data = arguments(size)
        original, found = (run(host, f"{HEAD}{one}\n}}\n", data) for one in KERNELS[name])
        for array, values in original.items():
            np.testing.assert_array_equal(found[array], values, f"{array} of {size} items")


@pytest.mark.parametrize("name", sweep(KERNELS, FIRST))
def test_threads_do_not_race(host: Host, name: str) -> None:
    text = f"{HEAD}{KERNELS[name][1]}\n}}\n"
    outcome = host.run(f'# 1 "v0/kernel.cu"\n{text}', arguments(61), (2,), (32,), options=WATCHED)
    assert (outcome.error, outcome.status) == ("", 0)
    assert races(with_lines(outcome.report), Source("kernel.cu", text)) == []


def arguments(size: int) -> Mapping[str, np.ndarray | np.generic]:
    draw = np.random.default_rng(size)
    count = 4 * (size + 2)
    return {
        "a": draw.integers(-99, 99, count).astype(np.int32),
        "b": draw.normal(size=count).astype(np.float32),
        "c": draw.integers(-99, 99, count).astype(np.int32),
        "d": draw.normal(size=count).astype(np.float32),
        "e": draw.integers(0, 99, count).astype(np.uint8),
        "n": np.int32(size),
    }


def run(
    host: Host, text: str, data: Mapping[str, np.ndarray | np.generic]
) -> Mapping[str, np.ndarray]:
    outcome = host.run(text, data, (max(1, -(-int(data["n"]) // 32)),), (32,))
    assert (outcome.error, outcome.status) == ("", 0)
    return outcome.outputs
