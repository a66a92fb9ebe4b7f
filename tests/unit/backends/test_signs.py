"""Signs that confined code leaves, their meanings, and its requirements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gi_cuda.backends.cuda.device.confinement import Confinement
from gi_cuda.backends.cuda.ptx.harmless import CONTROL, SIGNS
from gi_cuda.backends.protocol.device import LaunchRefused


@pytest.fixture
def launched() -> list[Any]:
    return []


@pytest.fixture
def confinement(launched: list[Any]) -> Confinement:
    context: Any = SimpleNamespace(
        function=lambda *_: "gi_begin", launch=lambda *arguments: launched.append(arguments)
    )
    return Confinement(context, None)


def test_each_sign_is_looked_at_and_stands_for_something(confinement: Confinement) -> None:
    checks = confinement.signs(CONTROL, confined=True)
    assert sorted(check.address for check in checks) == sorted(SIGNS.values())
    for at, check in enumerate(checks):
        (fate,) = confinement.fates([at])
        assert SIGNS[fate.kind] == check.address


def test_of_several_signs_none_hides_another(confinement: Confinement) -> None:
    addresses = [check.address for check in confinement.signs(CONTROL, confined=True)]
    failing = [addresses.index(SIGNS[kind]) for kind in ("beside", "parted", "late")]
    assert [fate.kind for fate in confinement.fates(failing)] == ["late", "parted", "beside"]
    assert confinement.fates([]) == ()


def test_confined_code_runs_only_where_all_is_there_that_it_looks_for(
    confinement: Confinement, launched: list[Any]
) -> None:
    for control, shadowed in ((CONTROL, False), (CONTROL + 4096, True), (0, False)):
        with pytest.raises(LaunchRefused, match="no memory where confined code needs it"):
            confinement.begin(control, 1.0, shadowed=shadowed)
    assert not launched
    confinement.begin(CONTROL, 1.0, shadowed=True)
    assert launched
