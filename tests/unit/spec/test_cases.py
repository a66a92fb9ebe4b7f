"""Inputs of cases from a data module, or one clear message."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.errors import UserError
from gi_cuda.spec import CaseData, CaseRole, confirm_cases, load_case, load_target, siblings
from gi_cuda.spec.case_data.cases import Confirming, reseeded

from .conftest import DATA, TARGET, Write


def test_a_case(write: Write) -> None:
    target = load_target(write())
    small, other = (load_case(target, case) for case in target.cases)
    assert (small.name, small.role) == ("small", CaseRole.TRAIN)
    assert list(small.buffers) == ["a", "table"]
    assert small.buffers["a"].shape == (1000,)
    assert other.buffers["a"].shape == (777,)
    assert small.scalars == {"n": 1000, "gain": 1.5, "steps": 3}
    assert [type(value) for value in small.scalars.values()] == [np.int32, np.float32, np.int32]
    assert set(small.values) == {"a", "table", "n", "gain", "steps"}


def cases(*several: str) -> tuple[tuple[str, str], ...]:
    """A change of the target: its cases, each as role and args."""
    begin = TARGET.index("[[case]]")
    text = "".join(
        f'[[case]]\nname = "{role}{at}"\nrole = "{role}"\nargs = {{ n = {100 + at}{args} }}\n\n'
        for at, (role, _, args) in enumerate(one.partition(":") for one in several)
    )
    return ((TARGET[begin:], text),)


def test_cases_that_confirm(write: Write) -> None:
    """Confirm cases are those of that role, else train cases with other seeds, else held-out."""

    def found(*several: str) -> Confirming:
        data = DATA.replace("def case(seed, n", "def case(n, seed=0")
        return confirm_cases(load_target(write(*cases(*several), data=data)), "host")

    own = found("train:", "held-out:", "confirm:")
    assert [case.name for case in own.cases] == ["confirm2"]
    fresh = found("train:, seed = 4", "held-out:, seed = 9", "train:, seed = 1")
    assert [case.name for case in fresh.cases] == ["train0-seed-10", "train2-seed-11"]
    assert [case.args for case in fresh.cases] == [{"n": 100, "seed": 10}, {"n": 102, "seed": 11}]
    assert {case.role for case in fresh.cases} == {CaseRole.CONFIRM}
    assert "another seed" in fresh.words
    others = found("train:", "held-out:, seed = 9")
    assert [case.name for case in others.cases] == ["held-out1"]
    assert "no others" in others.words


def test_cases_with_other_seeds(write: Write) -> None:
    """None of them has the seed of another case, or of one that confirms."""
    data = DATA.replace("def case(seed, n", "def case(n, seed=0")
    several = cases("train:, seed = 4", "held-out:, seed = 9", "train:")
    target = load_target(write(*several, data=data))
    found = reseeded(target, ("train0", "train2"), 2)
    assert {case.args["n"] for case in found} == {100}
    taken = {4, 9, *(case.args["seed"] for case in confirm_cases(target, "host").cases)}
    seeds = {case.args["seed"] for case in found}
    assert len(seeds) == 2
    assert not seeds & taken
    assert len({case.name for case in (*target.cases, *found)}) == 5


def test_siblings_of_the_held_out_cases(write: Write) -> None:
    """They have a seed that nothing else has, and there are none where it is not a seed's to say
    what a case holds."""
    data = DATA.replace("def case(seed, n", "def case(n, seed=0")
    several = cases("train:, seed = 4", "held-out:, seed = 9", "held-out:")
    target = load_target(write(*several, data=data))
    (found,) = siblings(target, "host")
    assert {**found.args, "seed": 9} == target.cases[1].args
    others = (*confirm_cases(target, "host").cases, *reseeded(target, ("train0", "held-out1"), 3))
    taken = {case.args.get("seed") for case in (*target.cases, *others)}
    assert found.args["seed"] not in taken
    assert found.name not in {case.name for case in (*target.cases, *others)}


def test_inputs_are_flat_and_cannot_be_changed(write: Write) -> None:
    data = DATA.replace("np.ones(4, np.float32)", "np.ones((4, 2), np.float32, order='F')")
    target = load_target(write(data=data))
    table = load_case(target, target.cases[0]).buffers["table"]
    assert table.shape == (8,)
    assert table.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 3


def test_extras_are_for_the_oracle_alone(write: Write) -> None:
    oracle = 'kind = "python"\nfunction = "data.py:penalty"\nuses = ["truth"]'
    data = DATA.replace('"n": n,', '"n": n, "truth": [1, 2],')
    data += "\n\ndef penalty(case, outputs, reference):\n    return len(case['truth'])\n"
    folder = write(('kind = "tolerance"\nabsolute = 1e-6\nrelative = 1e-5', oracle), data=data)
    target = load_target(folder)
    case = load_case(target, target.cases[0])
    assert isinstance(case, CaseData)
    assert case.extras == {"truth": [1, 2]}
    outputs = {"a": case.buffers["a"]}
    assert target.oracle.penalty(case.values, outputs, target.oracle.reference([outputs])) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"n": n,', "", "did not return 'n'"),
        ('"n": n,', '"n": n, "gains": 1,', "returned 'gains', which nothing asks for"),
        ('"n": n,', '"n": n, "b": 1,', 'role "scratch", whose contents no case gives'),
        ('"n": n,', '"n": n, "blocks": 1,', "returned 'blocks', which nothing asks for"),
        ('"n": n,', '"n": float(n),', "the scalar 'n' is 1000.0, not of type Integral"),
        ('"n": n,', '"n": True,', "the scalar 'n' is True"),
        ('"n": n,', '"n": 2**31,', "does not fit into int32"),
        ('"gain": 1.5', '"gain": "1.5"', "the scalar 'gain' is '1.5', not of type Real"),
        ('"n": n,', '"n": n + 1,', "'a' has 1000 elements, but its size `n` is 1001"),
        ("np.ones(4, np.float32)", "np.ones(4)", "holds float64, but is declared as float32"),
        ("np.ones(4, np.float32)", "[1.0, 2.0]", "is of type list, not a numpy array"),
        ("np.ones(4, np.float32)", "np.ones(0, np.float32)", "'table' is empty"),
        ("    return {", "    return 3\n    return {", "returned int, not a dictionary"),
        ("    return {", "    return {}['x']\n    return {", "case() failed: KeyError: 'x'"),
    ],
)
def test_what_a_data_module_gets_wrong(old: str, new: str, message: str, write: Write) -> None:
    assert old in DATA
    folder = write(data=DATA.replace(old, new))
    target = load_target(folder)
    with pytest.raises(UserError) as caught:
        load_case(target, target.cases[0])
    assert message in str(caught.value)
    assert str(folder.resolve() / "data.py") in str(caught.value.where)


def test_a_changed_data_module_is_read_again(write: Write) -> None:
    folder = write()
    target = load_target(folder)
    load_case(target, target.cases[0])
    write(data=DATA.replace("1.5", "2.5"))
    assert load_case(target, target.cases[0]).scalars["gain"] == 2.5
