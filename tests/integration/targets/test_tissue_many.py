"""tissue_many: right under every configuration, by a model in Python; faults are caught."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.spec import CaseData, CaseRole, Configuration, cases_for, find_case, load_case, plan
from gi_cuda.subject import Subject, load_subject
from tests.sweeps import broad

from .batches import (
    Built,
    Outputs,
    built,
    compiled_for_the_device,
    configurations,
    outputs,
    outputs_apart,
    penalty_of,
    phenotypes,
    replaced,
)
from .tissue_many_model import DEAD, MOST_ENERGY, VESSEL, Tissue

FOLDER = Path(__file__).parents[3] / "targets" / "tissue_many"

# Faults as edits might make them, in each of the kernels: what is replaced, and by what.
FAULTS = {
    "diffuse: one corner is left out": ("direction < last; direction++", "++direction < last;"),
    "diffuse: openness of this site alone": ("(open_here + open_there)", "(open_here + open_here)"),
    "diffuse: all media are one": (
        "media[medium], width, height);\n#endif",
        "media[0], width, height);\n#endif",
    ),
    "exchange: vessels bring nothing": ("if (now == VESSEL) {", "if (false) {"),
    "exchange: energy has no end": ("clamp(left, 0.0f, MOST_ENERGY)", "fmaxf(left, 0.0f)"),
    "exchange: acid does no harm": ("if (acid <= ACID_TOLERATED)", "if (true)"),
    "exchange: all call": ("if (oxygen < HYPOXIC)\n                signal", "signal"),
    "border: half an edge": ("number < edges &&", "number < edges / 2 &&"),
    "border: the right edge is the left": (
        "width - 1;\n        site.y = rest - ",
        "0;\n        site.y = rest - ",
    ),
    "regulate: hungry clocks run": (" && cell.energy >= rules->rest_energy)", ")"),
    "regulate: the dead stay": ("                cell = decay(cell);\n", ""),
    "regulate: no wish is written": ("        wish[site.i] = wanted;", "        ;"),
    "choose: taken sites": ("if (kind[next.i] != EMPTY)\n            continue;", ""),
    "choose: nobody keeps together": ("if (trait.adhesion != 0.0f) {", "if (false) {"),
    "choose: lots are alike": (
        "lot = draw(seed, step, site.i, FOR_RANK);",
        "lot = 1;",
    ),
    "settle: the lowest lot": ("rank[next.i] > highest)", "rank[next.i] < highest)"),
    "settle: who moves stays as well": (
        "} else if (goes) {\n                cell = no_cell();",
        "} else if (goes) {\n                ;",
    ),
    "settle: clones never change": (
        "child.clone = scramble(parent.clone + word);",
        ";",
    ),
    "settle: vessels sprout anywhere": ("if (vessels == 0 || vessels > 2)", "if (vessels > 2)"),
    "settle: kills are not counted": (
        "atomicAdd(&events[KILLS - SUMS], 1u);",
        ";",
    ),
    "settle: events are not set to 0": ("        events[thread] = 0;", "        ;"),
    "census: half of the tree": ("half = THREADS / 2", "half = THREADS / 4"),
    "census: some wait in the tree": (
        "thread + half];\n        }\n        __syncthreads();",
        "thread + half];\n        __syncthreads();\n        }",
    ),
    "census: a site is not counted": (
        "int now = LOAD(kind + site.i);",
        "if (site.i == 777) continue; int now = LOAD(kind + site.i);",
    ),
}


@cache
def subject() -> Subject:
    return load_subject(FOLDER, "host")


@cache
def case_of(name: str) -> CaseData:
    return load_case(subject().target, find_case(subject().target, name))


@cache
def expected(name: str) -> Outputs:
    return Tissue(case_of(name).values).run()


def penalty(name: str, answers: Outputs | str) -> float:
    return penalty_of(subject(), case_of(name), answers, expected(name))


def chosen_configurations() -> list[Configuration]:
    """The default, and a few that have every value of every parameter between them."""
    changed: list[dict[str, int]] = [
        {},
        {"BLOCK_X": 8, "BLOCK_Y": 4, "ROWS": 2, "TILE": 1, "EDGE_BLOCK": 32},
        {"ROWS": 4, "TILE": 1, "FUSED": 1, "EDGE_BLOCK": 64, "USE_LDG": 1},
        {"BLOCK_X": 16, "BLOCK_Y": 16, "REDUCE": 0, "LOOK_FIRST": 1, "EDGE_BLOCK": 256},
        {"BLOCK_X": 128, "BLOCK_Y": 2, "REDUCE": 2, "SHARED_TRAITS": 1},
        {"BLOCK_X": 64, "BLOCK_Y": 1, "REDUCE": 2, "FUSED": 1, "LOOK_FIRST": 1},
    ]
    return [{**subject().space.default, **one} for one in changed]


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> list[Built]:
    variants = [(one, subject().reference) for one in chosen_configurations()]
    return built(subject(), variants, tmp_path_factory.mktemp("configured"), "-O0")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> list[Built]:
    default, source = subject().space.default, subject().reference
    variants = [(default, replaced(source, *change)) for change in FAULTS.values()]
    return built(subject(), variants, tmp_path_factory.mktemp("faulty"), "-O0")


@pytest.mark.parametrize("name", ["small", "small-wide", "small-tall"])
def test_every_configuration_does_what_the_model_does(configured: list[Built], name: str):
    found = outputs(subject(), configured, case_of(name))
    wrong = [
        dict(one) for (one, _), row in zip(configured, found, strict=True) if penalty(name, row)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ["small", "small-wide", "small-tall"])
def test_all_that_can_happen_does(name: str):
    totals = expected(name)["totals"].reshape(-1, 16)
    kinds = totals[:, :7].astype(int)
    before = np.bincount(case_of(name).values["kind"], minlength=7)
    assert kinds.min() > 0
    # Cells die, vessels sprout; cells divide, wander and are killed; clones arise.
    assert (np.diff(kinds[:, DEAD]) > 0).any()
    assert kinds[-1, VESSEL] > before[VESSEL]
    assert min(totals.sum(axis=0)[12:15]) >= 3
    assert (expected(name)["clone"] > case_of(name).values["clone"].max()).any()
    assert (expected(name)["energy"] == MOST_ENERGY).any()


def test_few_configurations_have_every_value():
    found = chosen_configurations()
    for parameter in subject().space.parameters:
        assert {one[parameter.name] for one in found} == set(parameter.values), parameter.name
    assert all(subject().space.allows(one) for one in found)


@broad
def test_faults_in_every_kernel_are_caught_by_the_train_case(faulty: list[Built]):
    found = outputs_apart(subject(), faulty, case_of("small"))
    passed = [name for name, row in zip(FAULTS, found, strict=True) if not penalty("small", row)]
    assert passed == []
    assert {name.split(":")[0] for name in FAULTS} == set(subject().target.kernels)


def test_configurations_differ_in_code():
    chosen = configurations(subject())
    assert phenotypes(subject(), chosen) == len(chosen)


@broad
def test_configurations_compile_for_the_device(toolkit: Toolkit, tmp_path: Path):
    chosen = chosen_configurations()
    some = [chosen[0], chosen[2], {**chosen[4], "REGISTERS": 32}]
    assert compiled_for_the_device(FOLDER, some, toolkit, tmp_path) == []


def test_a_step_is_seven_kernels_and_cases_for_the_device_are_large():
    target = subject().target
    (train,) = cases_for(target, "cuda", CaseRole.TRAIN)
    held_out = cases_for(target, "cuda", CaseRole.HELD_OUT)
    assert len(held_out) == 2
    for case in (train, *held_out):
        loaded = load_case(target, case)
        launches = plan(target, subject().space.default, loaded.scalars)
        assert [one.kernel for one in launches[:7]] == list(target.kernels)
        assert len(launches) == 7 * case.args["steps"]
        assert loaded.scalars["width"] * loaded.scalars["height"] >= 400_000
