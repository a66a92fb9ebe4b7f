"""Acceptable answers that a worker has seen: one object for the same bits, one copy of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.cuda.device.memory_layout import answers as on_device
from gi_cuda.backends.cuda.device.memory_layout.answers import Answers
from gi_cuda.backends.cuda.device.memory_layout.memory import Region
from gi_cuda.backends.protocol.agreement import NOTHING
from gi_cuda.backends.workers.cases import case_runner
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.oracles import Allowed, Exact, Oracle, ValueRule

TARGET: Any = SimpleNamespace(cases=(), buffers=(), oracle=Oracle((Exact(),)))
BUFFER: Any = SimpleNamespace(name="out", addresses={})
BYTES = 4000


def values(first: float) -> dict[str, np.ndarray]:
    return {"out": np.arange(first, first + BYTES // 8)}


@pytest.fixture
def runner() -> CaseRunner:
    device: Any = None  # nothing runs
    return CaseRunner(device, TARGET, {}, Path())


def test_the_same_bits_are_one_object(runner: CaseRunner) -> None:
    kept = runner.kept("train", values(1))
    assert runner.kept("train", values(1)) is kept
    assert runner.kept("other", values(1)) is not kept
    other = values(1)
    other["out"][-1] = np.nextafter(other["out"][-1], 0)
    assert runner.kept("train", other) is not kept


def test_what_is_kept_stays_as_it_was(runner: CaseRunner) -> None:
    landing = values(1)
    kept = runner.kept("train", landing)
    landing["out"][:] = 0
    assert np.array_equal(kept["out"], values(1)["out"])


def test_what_nobody_asked_for_lately_is_forgotten_first(
    runner: CaseRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case_runner, "_KEPT", 2 * BYTES)
    first, second = (runner.kept("train", values(one)) for one in (1, 2))
    assert runner.kept("train", values(1)) is first
    runner.kept("train", values(3))
    assert runner.kept("train", values(1)) is first
    assert runner.kept("train", values(2)) is not second


class Memory:
    """Says what was copied to a device."""

    def __init__(self, free: int = 1 << 30) -> None:
        self.copied: list[np.ndarray] = []
        self.free = free

    def has_room(self, size: int) -> bool:
        return size <= self.free

    def upload(self, name: str, array: np.ndarray) -> int:
        self.copied.append(array)
        return 4096 * len(self.copied)


def checked(answers: Answers, wanted: np.ndarray) -> int:
    """Return the address of the device's copy of an answer, in a new round."""
    answers.forget_old()
    region = Region("out", 64, wanted.nbytes, True)
    checks = answers.checks("train", [(BUFFER, region)], {"out": wanted}, lambda _, one: one)
    assert checks is not None
    (check,) = checks
    assert (check.address, check.size) == (64, wanted.nbytes)
    return check.expected


def test_answers_are_copied_to_the_device_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device, "MOST", 2 * BYTES)
    memory: Any = Memory()
    answers = Answers(memory)
    some = [values(number)["out"] for number in range(4)]
    places = [checked(answers, one) for one in some[:3]]
    assert len(set(places)) == 3
    assert [checked(answers, one) for one in some[:3]] == places
    assert len(memory.copied) == 3
    checked(answers, some[3])  # one more than there is room for
    assert checked(answers, some[0]) == places[0], "what is expected first stays"
    assert checked(answers, some[2]) == places[2]
    assert checked(answers, some[1]) != places[1], "nobody had asked for it lately"


def test_answers_of_another_size_are_not_compared() -> None:
    memory: Any = Memory()
    region = Region("out", 64, BYTES + 8, True)
    told = Answers(memory).checks("train", [(BUFFER, region)], values(1), lambda _, one: one)
    assert told is None
    assert memory.copied == []


def test_answers_for_which_a_device_has_no_room_are_compared_here() -> None:
    memory: Any = Memory(free=4 * BYTES)
    region = Region("out", 64, BYTES, True)
    told = Answers(memory).checks("train", [(BUFFER, region)], values(1), lambda _, one: one)
    assert told is None
    assert memory.copied == []


def test_each_rule_is_a_check_and_addresses_are_compared_bit_for_bit() -> None:
    memory: Any = Memory()
    region = Region("out", 64, BYTES, True)
    rule = ValueRule(Allowed.NEAR, NumberType("float64"), absolute=0.5)
    defined = ValueRule(Allowed.DEFINED, NumberType("float64"))
    pointers: Any = SimpleNamespace(name="out", addresses={"next": 0})
    answers, expected = Answers(memory), values(1)

    def rules(buffer: Any, *some: ValueRule) -> list[bytes]:
        judged = [(buffer, region)]
        found = answers.checks("train", judged, expected, lambda _, one: one, {"out": some})
        return [check.rule for check in found or ()]

    assert len(set(rules(BUFFER, rule, defined))) == 2
    assert rules(BUFFER) == []
    assert rules(pointers, rule) == [NOTHING]
