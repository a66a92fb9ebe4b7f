"""The tuning targets: spaces as their READMEs say, and configurations that are right."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.spec import CaseRole, Configuration, cases_for, find_case, load_case
from gi_cuda.spec.case_data.modules import has_function, load_function
from gi_cuda.subject import Subject, load_subject
from gi_cuda.tune.grid import Grid
from tests.sweeps import broad

from .batches import built, compiled_for_the_device, outputs, penalty_of

TUNING = Path(__file__).parents[3] / "targets" / "tuning"
NAMES = (
    *("bicg", "convolution_2d", "coulomb_3d", "gemm", "hotspot", "nbody", "reduction"),
    "transpose",
)
each = pytest.mark.parametrize("name", NAMES)

CASE = "odd"
"""The small case of each target, whose sizes are no multiples of tiles."""


@cache
def subject(name: str) -> Subject:
    return load_subject(TUNING / name, "host")


def configurations(name: str, number: int, seed: int) -> list[Configuration]:
    """Return random configurations that keep all constraints."""
    space, rng = subject(name).space, random.Random(seed)
    found: list[Configuration] = []
    while len(found) < number:
        one = {parameter.name: rng.choice(parameter.values) for parameter in space.parameters}
        if space.allows(space.chosen(one)):
            found.append(one)
    return found


def wrong(name: str, chosen: list[Configuration], folder: Path) -> list[Configuration]:
    """Return those whose answers the oracle rejects, beside answers in double precision."""
    one = subject(name)
    case = find_case(one.target, CASE)
    data = one.target.data
    function = "answers" if has_function(data, "answers") else "expected"
    known = load_function(data, function, str(data))(**case.args)
    binaries = built(one, [(values, one.reference) for values in chosen], folder, "-O0")
    loaded = load_case(one.target, case)
    answers = zip(chosen, outputs(one, binaries, loaded), strict=True)
    return [values for values, found in answers if penalty_of(one, loaded, found, known) != 0]


def test_the_set_is_complete() -> None:
    assert sorted(path.parent.name for path in TUNING.glob("*/target.toml")) == list(NAMES)


@each
def test_space_is_as_large_as_its_readme_says(name: str) -> None:
    space = subject(name).space
    assert space.allows(space.default)
    (said,) = re.findall(r"([\d,]+) allowed", (TUNING / name / "README.md").read_text())
    size = Grid.of_space(space).size
    assert size == int(said.replace(",", ""))
    assert 500 <= size <= 200_000


@each
@pytest.mark.parametrize("backend", ["host", "cuda"])
def test_each_back_end_has_timed_cases_of_both_roles(name: str, backend: str) -> None:
    target = subject(name).target
    timed = {
        role: [case for case in cases_for(target, backend, role) if case.timed]
        for role in (CaseRole.TRAIN, CaseRole.HELD_OUT)
    }
    assert [len(cases) for cases in timed.values()] == [1, 2]


@each
def test_some_configurations_are_right(name: str, tmp_path: Path) -> None:
    chosen = [dict(subject(name).space.default), *configurations(name, 8, seed=1)]
    assert wrong(name, chosen, tmp_path) == []


@broad
@each
def test_many_configurations_are_right(name: str, tmp_path: Path) -> None:
    assert wrong(name, configurations(name, 40, seed=2), tmp_path) == []


@broad
@each
def test_configurations_compile_for_the_device(name: str, toolkit: Toolkit, tmp_path: Path) -> None:
    chosen = configurations(name, 4, seed=3)
    assert compiled_for_the_device(TUNING / name, chosen, toolkit, tmp_path) == []
