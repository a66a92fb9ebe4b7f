"""Size expressions that fit the observed accesses of a kernel."""

from __future__ import annotations

import pytest

from gi_cuda.trial.mending.fitting import Need, enough

KNOWN = {"train": {"n": 10000, "m": 30}, "held-out": {"n": 7000, "m": 50}}
THREADS = "((n + 255) / 256) * 256"


def exactly(train: int, held_out: int) -> dict[str, Need]:
    return {"train": Need(train, train), "held-out": Need(held_out, held_out)}


@pytest.mark.parametrize(
    ("first", "needs", "expected"),
    [
        ("n", exactly(10000, 7000), "n"),
        ("n", exactly(10001, 7001), "n + 1"),
        ("n", exactly(20000, 14000), "n * 2"),
        ("n", exactly(299999, 349000), "m * n"),
        ("m", exactly(10000, 7000), "n"),
        ("m", exactly(10240, 7168), THREADS),
        ("1", exactly(3000, 3000), "3000"),
        # Far more than anything that has a name.
        ("m", exactly(10**9, 10**9), "m * 33333334"),
    ],
)
def test_the_plainest_size_that_is_enough(
    first: str, needs: dict[str, Need], expected: str
) -> None:
    assert enough(first, THREADS, needs, KNOWN) == expected


def test_a_number_that_depends_on_nothing_is_the_largest() -> None:
    assert enough("8", None, exactly(30, 50), {"train": {}, "held-out": {}}) == "50"
