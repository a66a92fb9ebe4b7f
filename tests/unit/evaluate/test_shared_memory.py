"""A race detector for shared memory is not started for programs without any."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_runs import has_shared_memory
from gi_cuda.spec import load_target
from gi_cuda.spec.expression import parse
from tests.conftest import TARGETS


@pytest.mark.parametrize(
    ("resources", "shared", "lent", "expected"),
    [
        ({"shared": 0}, "0", (), False),
        ({"shared": 256}, "0", (), True),
        ({"shared": 0}, "4 * n", (), True),
        ({"shared": 0}, "0", ("other",), True),
        ({}, "0", (), True),
    ],
)
def test_a_program_has_shared_memory_unless_all_is_known(resources, shared, lent, expected) -> None:
    target = load_target(TARGETS / "scale")
    (launch,) = target.launches
    step = replace(launch.steps[0], shared=parse(shared))
    target = replace(target, launches=(replace(launch, steps=(step,)),))
    binary = Binary(1, Path("none"), resources=resources, lent=frozenset(lent))
    assert has_shared_memory(binary, target) is expected
