"""Judgement of variants by a GPU's worker, with a driver that needs no GPU: see ``driver.py``."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.cuda.backend import nvcc_compiler
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.device import device as cuda_device
from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.device import CudaDevice
from gi_cuda.backends.cuda.device.memory_layout.buffers import Buffers
from gi_cuda.backends.cuda.device.memory_layout.memory import Memory
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.programs import CasePlan, Program, Sampling, Siblings
from gi_cuda.backends.protocol.requests import (
    Rehearse,
    SharedMeasurement,
)
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.backends.workers.answering.measuring import measure_together
from gi_cuda.backends.workers.answering.rehearsing import rehearse
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.results.measurement import Measurement, Sample
from gi_cuda.spec import load_case, load_target
from tests.integration.backends.driver import Driver, Kernel, installed, numbered

KERNEL = """\
__global__ void twice(float *in, float *out, unsigned char *large, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = 2 * in[i];
  large[i] = in[i] > 0.5f;
}
"""

DATA = """\
import numpy as np

def case(seed, n):
    return {"in": np.random.default_rng(seed).random(n, dtype=np.float32) + 1, "n": n}
"""

# No size is a multiple of a word.
TARGET = """\
target = { name = "twice", source = "kernel.cu", kernels = ["twice"], data = "data.py" }
buffer = [
    { name = "in", type = "float32", size = "n", role = "input" },
    { name = "out", type = "float32", size = "n", role = "output" },
    { name = "large", type = "uint8", size = "n", role = "output" },
]
scalar = [{ name = "n", type = "int32" }]
launch = [
    { kernel = "twice", grid = "(n + 63) / 64", block = "64", args = ["in", "out", "large", "n"] },
]
oracle = [
    { kind = "tolerance", relative = 1e-3, buffers = ["out"] },
    { kind = "exact", buffers = ["large"] },
]
case = [
    { name = "train", role = "train", args = { seed = 1, n = 1001 } },
    { name = "held-out", role = "held-out", args = { seed = 2, n = 1003 } },
]
"""

TRAIN, SIBLING = "train", "held-out"
NOWHERE = Siblings()


@dataclass(frozen=True)
class Given:
    """The arguments of a launch."""

    driver: Driver
    ins: int
    outs: int
    larges: int
    n: int

    @property
    def values(self) -> np.ndarray:
        return self.driver.array(self.ins, self.n, np.float32)

    @property
    def out(self) -> np.ndarray:
        return self.driver.array(self.outs, self.n, np.float32)

    @property
    def large(self) -> np.ndarray:
        return self.driver.at(self.larges, self.n)

    @property
    def behind_out(self) -> np.ndarray:
        return self.driver.array(self.outs + 4 * self.n, 1, np.float32)

    @property
    def behind_large(self) -> np.ndarray:
        """The first whole word."""
        return self.driver.array(self.larges + self.n + -self.n % 4, 1, np.float32)


def right(driver: Driver, arguments: bytes) -> Given:
    """Do what the reference does."""
    memory = Given(driver, *struct.unpack_from("@PPPi", arguments))
    memory.out[:] = 2 * memory.values
    memory.large[:] = memory.values > 0.5
    return memory


def as_it_should(driver: Driver, arguments: bytes) -> None:
    right(driver, arguments)


def rounding_otherwise(driver: Driver, arguments: bytes) -> None:
    right(driver, arguments).out[:] *= np.float32(1 + 1e-6)


def wrong(driver: Driver, arguments: bytes) -> None:
    right(driver, arguments).out[3] = 7


def wrong_at_the_end(driver: Driver, arguments: bytes) -> None:
    right(driver, arguments).large[-1] ^= 1


def writing_behind(driver: Driver, arguments: bytes) -> None:
    right(driver, arguments).behind_out[:] = 1


def copying_margins(driver: Driver, arguments: bytes) -> None:
    memory = right(driver, arguments)
    memory.behind_large[:] = memory.behind_out


def changing_its_input(driver: Driver, arguments: bytes) -> None:
    right(driver, arguments).values[0] = 5


def leaving_one_out(driver: Driver, arguments: bytes) -> None:
    memory = right(driver, arguments)
    memory.out[500] = np.array([0xFFFDA5A5], np.uint32).view(np.float32)[0]


class EachTimeOtherwise:
    """Rounds otherwise from run to run."""

    runs = 0

    def __call__(self, driver: Driver, arguments: bytes) -> None:
        self.runs += 1
        right(driver, arguments).out[:] *= np.float32(1 + self.runs * 1e-6)


class WrongLater:
    """Is right so often, and then wrong."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, driver: Driver, arguments: bytes) -> None:
        memory = right(driver, arguments)
        self.left -= 1
        if self.left < 0:
            memory.out[5] = 0


@dataclass
class Worker:
    """A worker of a GPU that is not there."""

    driver: Driver
    runner: CaseRunner
    binary: CudaBinary
    folder: Path

    def program(self, kernel: Kernel) -> Program:
        """A variant whose launches do this."""
        number = len(self.driver.kernels)
        self.driver.kernels[number] = kernel
        cubin = self.folder / f"variant{number}.cubin"
        cubin.write_bytes(numbered(self.binary.path.read_bytes(), number))
        return Program(replace(self.binary, path=cubin, ident=number), {}, (TRAIN,))

    def measured(self, *programs: Program, siblings: Siblings = NOWHERE) -> tuple[Measurement, ...]:
        sampling = Sampling(limit=1.0, floor=0.01, siblings=siblings)
        shared = SharedMeasurement(programs, self.reference, sampling)
        return self._measurements(measure_together(self.runner, shared))

    def rehearsed(self, *programs: Program) -> tuple[Measurement, ...]:
        return self._measurements(rehearse(self.runner, Rehearse(programs, Sampling().untimed())))

    def _measurements(self, answers: tuple[object, ...]) -> tuple[Measurement, ...]:
        found = tuple(one for one in answers if isinstance(one, Measurement))
        assert len(found) == len(answers)
        return found

    def __post_init__(self) -> None:
        self.reference = self.program(as_it_should)


@pytest.fixture(scope="module")
def compiled(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CudaBinary]:
    """The target's folder, and its kernel as nvcc compiles it."""
    folder = tmp_path_factory.mktemp("twice")
    for name, text in (("kernel.cu", KERNEL), ("data.py", DATA), ("target.toml", TARGET)):
        (folder / name).write_text(text)
    subject = open_subject(folder, "cuda")
    variant = Variant(0, subject.reference, {}, ())
    compiler = nvcc_compiler(subject, 1, toolkit, "sm_90")
    binary = build_batch(compiler, [variant], tmp_path_factory.mktemp("built"))[0]
    assert isinstance(binary, CudaBinary)
    return folder, binary


@pytest.fixture
def worker(
    compiled: tuple[Path, CudaBinary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Worker]:
    folder, binary = compiled
    target = open_subject(folder, "cuda").target
    cases = {one.name: load_case(target, one) for one in target.cases}
    driver = Driver({})
    monkeypatch.setattr(cuda_device, "build_helpers", lambda *about: binary.path)
    with installed(driver):
        device = CudaDevice(target, cases, WorkerSlot(2))
        runner = CaseRunner(device, target, cases, tmp_path)
        for name, case in cases.items():
            values = case.buffers["in"]
            answers = {"out": 2 * values, "large": (values > 0.5).astype(np.uint8)}
            runner.store(name, [answers], tmp_path)
        yield Worker(driver, runner, binary, tmp_path)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (wrong, "train: out[3] is 7.0"),
        (wrong_at_the_end, "train: large[1000] is 0"),
        (writing_behind, "train: wrote where it must not: memory behind out"),
        (copying_margins, "train: wrote where it must not: memory behind large"),
        (changing_its_input, "train: wrote where it must not: in"),
        (leaving_one_out, "train: out[500] is "),
        (WrongLater(3), "train: out[5] is 0.0"),
    ],
)
def test_what_is_wrong_is_said_of_it_and_of_no_other(
    worker: Worker, kernel: Kernel, said: str
) -> None:
    before, it, behind = worker.measured(
        worker.program(as_it_should), worker.program(kernel), worker.program(rounding_otherwise)
    )
    assert it.message.startswith(said)
    assert not it.correct
    assert before.correct
    assert behind.correct


def test_a_rehearsal_says_the_same(worker: Worker) -> None:
    kernels = [as_it_should, wrong, copying_margins, rounding_otherwise, changing_its_input, wrong]
    found = worker.rehearsed(*map(worker.program, kernels))
    assert [one.correct for one in found] == [True, False, False, True, False, False]
    assert found[1].message == found[5].message


def test_what_is_right_is_timed_beside_the_reference(worker: Worker) -> None:
    (found,) = worker.measured(worker.program(as_it_should))
    assert found.correct
    assert set(found.samples) == {Sample(TRAIN, 1e-3, 1e-3)}
    assert len(found.samples) == Sampling().screen


def test_what_rounds_otherwise_each_time_is_right(worker: Worker) -> None:
    (found,) = worker.measured(worker.program(EachTimeOtherwise()))
    assert found.correct
    assert len(found.samples) == Sampling().screen


def test_answers_leave_the_device_only_where_one_is_not_near_enough(worker: Worker) -> None:
    size = 1001  # of the smaller output, in bytes
    near = worker.program(EachTimeOtherwise())
    (found,) = worker.measured(near)
    assert found.correct
    assert worker.driver.read < size, "nothing but what was found"
    worker.rehearsed(worker.program(wrong))
    assert worker.driver.read > 5 * size


def test_of_large_answers_the_stretch_with_the_first_wrong_value_is_copied_alone(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gi_cuda.backends.cuda.device.steps.WHOLE", 0)
    for place in (
        "gi_cuda.backends.cuda.device.memory_layout.memory",
        "gi_cuda.backends.cuda.device.steps",
    ):
        monkeypatch.setattr(f"{place}.STRETCH", 256)
    monkeypatch.setattr("tests.integration.backends.driver.STRETCH", 256)
    early, late, several, fine = worker.rehearsed(
        *map(worker.program, (wrong, wrong_at_the_end, leaving_one_out, rounding_otherwise))
    )
    assert early.message.startswith("train: out[3] is 7.0, expected ")
    assert early.message.endswith(" (1 of 64 values that were looked at wrong)")
    assert late.message.startswith("train: large[1000] is 0, expected 1 (1 of 233 values")
    assert several.message.startswith("train: out[500] is ")
    assert early.penalty == late.penalty == several.penalty == 1
    assert fine.correct
    assert worker.driver.read < 1001


def test_answers_that_a_device_has_no_room_to_compare_are_judged_here(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memory, "has_room", lambda *_: False)
    fine, it = worker.measured(worker.program(rounding_otherwise), worker.program(wrong))
    assert fine.correct
    assert it.message.startswith("train: out[3] is 7.0")


def test_one_that_is_wrong_on_a_sibling_is_found_there(worker: Worker) -> None:
    def for_one_size(driver: Driver, arguments: bytes) -> None:
        memory = right(driver, arguments)
        memory.out[1001:] = 0

    siblings = Siblings((SIBLING,), limit=1.0)
    programs = [worker.program(one) for one in (rounding_otherwise, for_one_size)]
    fine, it = worker.measured(*programs, siblings=siblings)
    assert fine.correct
    assert fine.elsewhere
    assert it.message.startswith("held-out: out[1001] is 0.0")


def test_a_worker_takes_no_memory_for_what_it_has_seen(worker: Worker) -> None:
    """Whoever takes memory of a device waits for whoever opens it."""
    kernels = (as_it_should, rounding_otherwise, wrong, rounding_otherwise)
    siblings = Siblings((SIBLING,), limit=1.0)
    for _ in range(2):
        worker.measured(*map(worker.program, kernels), siblings=siblings)
        worker.rehearsed(*map(worker.program, kernels))
    worker.driver.calls.clear()
    worker.measured(*map(worker.program, kernels), siblings=siblings)
    worker.rehearsed(*map(worker.program, kernels))
    assert worker.driver.calls == {}


LINKED = """\
target = { name = "linked", source = "kernel.cu", kernels = ["twice"], data = "data.py" }
buffer = [
    { name = "links", type = "uint64", size = "n", role = "inout", addresses = { links = 0 } },
    { name = "heads", type = "uint64", size = 1, role = "input", addresses = { links = 0 } },
]
scalar = [{ name = "n", type = "int32" }]
launch = [{ kernel = "twice", grid = "1", block = "64", args = ["links", "heads", "n"] }]
oracle = { kind = "exact" }
case = [{ name = "train", role = "train" }, { name = "held-out", role = "held-out" }]
"""

LINKS = """\
import numpy as np

def case():
    ring = np.array([1, 2, 2**64 - 1, 0], np.uint64)
    return {"links": ring, "heads": np.array([3], np.uint64), "n": 4}
"""


def test_pointers_may_lead_into_their_own_buffer(
    compiled: tuple[Path, CudaBinary], tmp_path: Path
) -> None:
    (tmp_path / "target.toml").write_text(LINKED)
    (tmp_path / "data.py").write_text(LINKS)
    (tmp_path / "kernel.cu").write_text(KERNEL)
    target = load_target(tmp_path)
    cases = {TRAIN: load_case(target, target.cases[0])}
    plan = CasePlan(TRAIN, (), {"links": 4, "heads": 1}, {})
    with installed(driver := Driver({})):
        context = Context(WorkerSlot(2))
        memory = Memory(context, context.module(compiled[1].path))
        buffers = Buffers(target, cases, context, memory)
        buffers.make_room(plan)
        links, heads = (buffers.region(plan, name).address for name in ("links", "heads"))
        assert driver.array(links, 4, np.uint64).tolist() == [links + 8, links + 16, 0, links]
        assert driver.array(heads, 1, np.uint64).tolist() == [links + 24]
