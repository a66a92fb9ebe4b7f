"""Addresses of libraries on the host: different at each load, in memory of their own."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.host.running.device import HostDevice
from gi_cuda.backends.host.running.placement import elsewhere
from gi_cuda.backends.host.running.program import HostProgram
from gi_cuda.backends.protocol.device_lock import DeviceLock, WorkerSlot
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.backends.table import open_compiler
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.spec import CaseRole, load_case
from gi_cuda.subject import Subject


@pytest.fixture
def reference(scale: Subject, tmp_path: Path) -> Binary:
    compiler = open_compiler(scale, 1)
    return compile_reference(scale, compiler, [scale.reference], tmp_path / "b")[0]


def address(loaded: HostProgram) -> int:
    """Return the address of the library of a loaded binary."""
    (memory,) = loaded.library.shard.memories((0, 1))
    return memory.ctypes.data


def test_one_binary_is_loaded_in_several_places_and_does_the_same_in_all(
    scale: Subject, reference: Binary, tmp_path: Path
) -> None:
    cases = {one.name: load_case(scale.target, one) for one in scale.target.cases}
    slot = WorkerSlot(os.open(os.devnull, os.O_WRONLY), DeviceLock(), 0)
    device = HostDevice(scale.target, cases, slot)
    before = sorted(reference.path.parent.iterdir())
    loads = [device.load(reference), *(device.load_elsewhere(reference) for _ in range(3))]
    assert len({address(one) for one in loads}) == 4
    assert sorted(reference.path.parent.iterdir()) == before
    program = unmodified(scale).program(reference, scale.cases(CaseRole.TRAIN))
    (plan,) = CaseRunner(device, scale.target, cases, tmp_path).plans(program)
    answers = []
    for one in loads:
        device.prepare(plan)
        device.run(one, plan, 10.0)
        answers.append({name: array.copy() for name, array in device.outputs(plan).items()})
    for answer in answers[1:]:
        assert all(np.array_equal(array, answers[0][name]) for name, array in answer.items())
    places = set()
    for one in loads[1:]:
        device.unload(one)
    for _ in range(4):
        again = device.load_elsewhere(reference)
        places.add(address(again))
        device.unload(again)
    assert len(places) == 4  # not where the one before it was


def test_a_copy_is_gone_when_it_is_no_longer_needed(tmp_path: Path) -> None:
    library = tmp_path / "some.so"
    library.write_bytes(b"text")
    with elsewhere(library) as copy:
        assert copy.read_bytes() == b"text"
        assert copy != library
    assert list(tmp_path.iterdir()) == [library]
