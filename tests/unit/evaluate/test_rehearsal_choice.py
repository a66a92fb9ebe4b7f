"""The reference's own signs in rehearsals, and the choice of the way to rehearse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gi_cuda.backends.protocol.programs import Program, Siblings
from gi_cuda.backends.protocol.requests import Measure
from gi_cuda.evaluate.batches.rehearsal_choice import _Pair, _ran_all, preferred
from gi_cuda.results.measurement import Measurement, Survival


@pytest.mark.parametrize(
    ("signs", "overlooked"),
    [
        (set(), frozenset()),
        ({"beside"}, frozenset({"beside"})),
        ({"parted", "beside"}, frozenset({"beside", "parted"})),
        ({"strayed", "beside"}, None),
    ],
)
def test_of_signs_those_are_overlooked_that_the_reference_leaves(
    signs: set[str], overlooked: frozenset[str] | None
) -> None:
    asked = []

    def measured(request: Measure) -> Measurement:
        asked.append(request)
        if signs <= request.sampling.overlooked:
            return Measurement(0, Survival.NORMAL, 0.0)
        return Measurement(0, Survival.CRASHED)

    def measured_all(
        requests: Iterable[tuple[int, Measure]],
    ) -> Iterator[tuple[int, Measurement]]:
        return ((number, measured(request)) for number, request in requests)

    equipment: Any = SimpleNamespace(pool=SimpleNamespace(one=measured, map=measured_all))
    binary: Any = None
    program = Program(binary, {}, ("train",))
    first, second = _ran_all([_Pair(program, program)] * 2, equipment, Siblings())
    assert first == second
    assert (first and first.overlooked) == overlooked
    assert overlooked is not None or len(asked) == 2 * 3


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [([], None), ([9.0], 0), ([1.4, 1.0], 0), ([1.6, 1.0], 1), ([3.0, 2.5, 1.0], 2)],
)
def test_the_first_way_is_chosen_unless_another_takes_clearly_less(
    seconds: list[float], chosen: int | None
) -> None:
    assert preferred(list(zip(seconds, range(len(seconds)), strict=True))) == chosen
