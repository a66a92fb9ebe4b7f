"""The verdict on a contestant that was measured in several builds."""

from __future__ import annotations

import random

import pytest

from gi_cuda.results.measurement import Sample
from gi_cuda.results.verdict import Verdict, verdict_on_builds


def builds(*ratios: float, noise: float = 0.003, seed: int = 0) -> list[list[Sample]]:
    """Fifteen pairs in each build, with so much noise around the build's own ratio."""
    rng = random.Random(seed)
    return [
        [Sample("one", ratio * rng.gauss(1, noise), 1.0) for _ in range(15)] for ratio in ratios
    ]


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ((0.9,) * 5, Verdict.FASTER),
        ((1.1,) * 5, Verdict.SLOWER),
        ((1.0,) * 5, Verdict.SAME),
        ((0.995, 1.0, 1.004, 0.998, 1.002), Verdict.SAME),
        ((0.975, 0.98, 0.99, 1.0, 1.01), Verdict.UNCERTAIN),
        ((0.9, 0.9, 0.9, 1.1, 1.1), Verdict.UNCERTAIN),
        ((0.9,), Verdict.FASTER),
    ],
)
def test_only_what_is_certain_is_said(ratios: tuple[float, ...], said: Verdict) -> None:
    for seed in range(10):
        assert verdict_on_builds(builds(*ratios, seed=seed), 0.01) is said


def test_what_lies_within_the_noise_floor_is_the_same() -> None:
    assert verdict_on_builds(builds(*(0.9,) * 5), 0.2) is Verdict.SAME
