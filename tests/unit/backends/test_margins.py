"""Memory beside a buffer is filled with a word of its own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.protocol.device import POISON, margin_of


@given(st.text())
def test_it_is_as_poison_is_and_not_poison(name: str) -> None:
    word = np.array([margin_of(name)], np.uint32)
    assert word[0] != POISON
    assert np.isnan(word.view(np.float32))[0]
    assert np.isnan(np.resize(word, 2).view(np.float64))[0]
    assert word.view(np.int32)[0] < 0


def test_names_of_one_kernel_have_words_of_their_own() -> None:
    names = [*"abcdefghijklmnopqrstuvwxyz", *(f"buffer_{number}" for number in range(16))]
    assert len({margin_of(name) for name in names}) == len(names)


def test_it_is_the_hash_that_the_host_runtime_has() -> None:
    # FNV-1a of "a", published with the algorithm, is 0xE40C292C.
    assert margin_of("a") == POISON - 1 - 0xE40C292C % 32749
