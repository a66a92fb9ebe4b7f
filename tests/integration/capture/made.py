"""Launches of the kernels in sources/ and of the example, and targets captured from them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gi_cuda.capture import Capture, Wish, capture, list_kernels
from gi_cuda.capture.launches.uses import chosen
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.checks.answers import compare_answers
from gi_cuda.evaluate.reference.baseline import compile_reference, in_silence, record_reference
from gi_cuda.init import from_options, write_folder
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject
from tests.command import gi_cuda
from tests.recorded import Made, Recorded

SOURCES = Path(__file__).parent / "sources"
MIXED = SOURCES / "mixed.cu"
HEAT = Path(__file__).parents[3] / "examples" / "heat"
POINTER = b"\1" * 8
NULL = b"\0" * 8
WEIGHTS = np.array([1, 2, 3, 4], np.float32)


def wish(source: Path | None, folder: Path, **more: object) -> Wish:
    """Return the request for a target of a kernel's launches, at most four."""
    given = {"launches": "best", "cases": 4, "limit": 1 << 30, "repeat": 2, **more}
    return Wish(from_options((), ()), None, source, folder=folder, **given)  # type: ignore[arg-type]


def weigh(n: int, seed: int, *, twice: bool = False, in_place: bool = False) -> Made:
    """Return a launch of the template."""
    rng = np.random.default_rng(seed)
    values, before = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)
    after = values * WEIGHTS[np.arange(n) % 4] * np.float32(2 if twice else 1)
    calls = np.array([seed], np.int32)
    memories = [(values, values), (before, after), (WEIGHTS, WEIGHTS), (calls, calls + 1)]
    if in_place:
        memories[:2] = [(values, after), (before, before)]
    return Made(
        "_Z5weighIfLi64EEvPKT_PS0_S2_ib",
        (-(-n // 64), 1, 1),
        (64, 1, 1),
        [POINTER, POINTER, NULL, struct.pack("i", n), struct.pack("?", twice)],
        [(0, 0, 0, 0), (1, 0, 0 if in_place else 1, 0)],
        memories,
        {2: "weights", 3: "counted::calls"},
    )


def rows(n: int, seed: int, addresses: int = 0) -> Made:
    """Return a launch on structs with pointers of the host, or of the device."""
    layout = np.dtype([("host", "uint64"), ("sum", "float32"), ("unused", "uint32")])
    before = np.zeros(n, layout)
    before["host"] = 0x5555_0000_1000
    before["sum"] = np.random.default_rng(seed).random(n, dtype=np.float32)
    after = before.copy()
    after["sum"] *= 2
    return Made(
        "_Z4rowsP3Rowi",
        (-(-n // 32), 1, 1),
        (32, 1, 1),
        [POINTER, struct.pack("i", n)],
        [(0, 0, 0, 0)],
        [(before, after)],
        addresses=addresses,
    )


def sample(width: int, height: int) -> Made:
    """Return a launch that reads bytes as floats, through a two-dimensional texture."""
    image = np.random.default_rng(width).integers(0, 256, width * height, dtype=np.uint8)
    after = np.float32(2) * (image.astype(np.float32) / np.float32(255))
    texture = {
        "parameter": 0,
        "format": 1,
        "channels": 1,
        "size": [width, height, 0],
        "layered": 0,
        "linear": 0,
        "address": [3, 1, 0],
        "filter": 0,
        "flags": 0,
    }
    return Made(
        "_Z6sampleyPfii",
        (-(-width // 64), height, 1),
        (64, 1, 1),
        [POINTER, POINTER, struct.pack("i", width), struct.pack("i", height)],
        [(1, 0, 0, 0)],
        [(np.zeros_like(after), after), (image, image)],
        textures={1: texture},
    )


def smooth(n: int, seed: int) -> Made:
    """Return a launch whose first pointer points into an array, before which it reads."""
    values = np.random.default_rng(seed).random(n + 2, dtype=np.float32)
    before = np.zeros(n, np.float32)
    after = values[:-2] + values[1:-1] + values[2:]
    return Made(
        "_Z6smoothPKfPfi",
        (-(-n // 128), 1, 1),
        (128, 1, 1),
        [POINTER, POINTER, struct.pack("i", n)],
        [(0, 0, 0, 4), (1, 0, 1, 0)],
        [(values, values), (before, after)],
    )


def total(n: int) -> Made:
    """Return a launch that adds numbers of both signs, with errors larger than usual."""
    values = np.random.default_rng(n).random(n, dtype=np.float32)
    values[: n // 2] += np.float32(100)
    values[n // 2 :] -= np.float32(100)
    sums = np.full(n, np.cumsum(values, dtype=np.float32)[-1])
    return Made(
        "_Z5totalPKfPfi",
        (-(-n // 128), 1, 1),
        (128, 1, 1),
        [POINTER, POINTER, struct.pack("i", n)],
        [(0, 0, 0, 0), (1, 0, 1, 0)],
        [(values, values), (np.zeros(n, np.float32), sums)],
    )


def heat(width: int, height: int, steps: int) -> tuple[Made, ...]:
    """Return all launches of the example's first kernel in one run."""
    rng = np.random.default_rng(width)
    plate = rng.random((height, width), dtype=np.float32)
    conductivity = rng.random((height, width), dtype=np.float32)
    other, found = np.zeros_like(plate), []
    for _ in range(steps):
        after = _spread(plate, conductivity)
        found.append(
            Made(
                "_Z7diffuse4GridPKfS1_Pf",
                (-(-width // 8), -(-height // 4), 1),
                (8, 4, 1),
                [struct.pack("iif", width, height, 0.2), POINTER, POINTER, POINTER],
                [(1, 0, 0, 0), (2, 0, 1, 0), (3, 0, 2, 0)],
                [(plate, plate), (conductivity, conductivity), (other, after)],
            )
        )
        plate, other = after, plate
    return tuple(found)


def heat_and_change(width: int, height: int, steps: int, *, between: float = 0.0) -> list[Made]:
    """Return all launches of the example in one run.

    Args:
        between: added by the host to a plate before the launch of the second kernel.
    """
    cells, found = width * height, []
    blocks = -(-cells // 256)
    largest = np.zeros(blocks, np.float32)
    for one in heat(width, height, steps):
        before, to = one.memories[0][0], one.memories[2][1] + np.float32(between)
        off = np.zeros(blocks * 256, np.float32)
        off[:cells] = np.abs(to - before).ravel()
        after = off.reshape(blocks, 256).max(axis=1)
        found += [
            one,
            Made(
                "_Z6changePKfS0_Pfi",
                (blocks, 1, 1),
                (256, 1, 1),
                [POINTER, POINTER, POINTER, struct.pack("i", cells)],
                [(0, 0, 0, 0), (1, 0, 2, 0), (2, 0, 3, 0)],
                [(before, before), one.memories[1], (to, to), (largest, after)],
            ),
        ]
        largest = after
    return found


def _spread(plate: np.ndarray, conductivity: np.ndarray) -> np.ndarray:
    after, inner = plate.copy(), plate[1:-1, 1:-1]
    around = plate[1:-1, :-2] + plate[1:-1, 2:] + plate[:-2, 1:-1] + plate[2:, 1:-1]
    share = np.float32(0.2) * np.exp(-conductivity[1:-1, 1:-1])
    after[1:-1, 1:-1] = inner + share * (around - 4 * inner)
    return after


def took(
    folder: Path, kernel: str, wanted: Wish, *runs: Sequence[Made], program: str = "./app"
) -> Capture:
    """Capture and write a target for a kernel."""
    application = Recorded((program, "1"), runs=tuple(map(tuple, runs)))
    uses, _ = list_kernels(application, folder / "scratch")
    found = capture(application, [chosen(uses, kernel)], wanted, folder / "kept", in_silence)[0]
    write_folder(found.folder, found.files)
    return found


def checked(target: Path) -> str:
    """Check a target, which must pass; return the text that the command prints."""
    done = gi_cuda("check", target, "--backend", "host", "--no-cache")
    assert done.returncode == 0, done.stderr
    assert "ready to evolve" in done.stdout
    return done.stdout


def answered(target: Path) -> list[bool]:
    """Run the reference of a target on the host, and compare its answers with the application's.

    Returns:
        For each case, whether the answers are equal in all bits; none may be wrong.
    """
    subject = load_subject(target, "host")
    with open_tools(subject, target.parent / "answered", workers=1, jobs=1) as tools:
        place = tools.scratch("reference")
        (binary,) = compile_reference(subject, tools.compiler, [subject.reference], place)
        program = unmodified(subject).program(binary, tools.session.cases)
        record_reference(subject, tools.pool, program, tools.reference)
        compared = compare_answers(subject, tools.pool)
    assert not [one.wrong for one in compared.values() if one.wrong]
    return [one.exact for one in compared.values()]
