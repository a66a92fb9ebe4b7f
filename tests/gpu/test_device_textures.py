"""Texture objects on the device: the target for tests, its limits, and a search over PTX."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
)
from gi_cuda.evaluate.reference.baseline import compile_reference, establish
from gi_cuda.results.measurement import Measurement
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject
from tests.command import gi_cuda

TEXTURES = Path(__file__).parent.parent / "targets" / "textures"

VARIANTS = {
    # what is replaced by what, and whether the answers stay right
    "the other form of tex1Dfetch": (
        "float weight;\n            tex1Dfetch(&weight, weights, i);",
        "float weight = tex1Dfetch<float>(weights, i);",
        True,
    ),
    "zeros from far outside": (
        "sum += weight * bits(text, i);",
        "sum += weight * bits(text, i) + bits(text, i - (1 << 30)) + bits(text, 1 << 30);",
        True,
    ),
    "the next texel": ("bits(text, i)", "bits(text, i + 1)", False),
    "another texture": ("tex1Dfetch(&weight, weights, i)", "tex1Dfetch(&weight, text, i)", False),
}

# In a process of its own, since workers are forked from one that has not spoken to the driver.
LIMITS = """
import numpy as np
from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory_layout.memory import GUARD, Region
from gi_cuda.backends.cuda.device.textures import Textures
from gi_cuda.backends.protocol.device import LaunchRefused
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.spec import Texture, View

context = Context(WorkerSlot(2))
textures = Textures(context)
memory = context.allocate("a test", 2 * GUARD)
start = int(memory) + GUARD
texture = View(Texture("tex", "data", np.dtype("uint32"), 4), "data")
most = textures._most(texture.of)
assert most >= 2**27, most
one = textures.object(texture, Region("data", start, GUARD, False))
assert one and textures.object(texture, Region("data", start, GUARD, False)) == one
for region in (
    Region("data", start, 16 * (most + 1), False),
    Region("data", start + 4, 1024, False),
):
    try:
        textures.object(texture, region)
    except LaunchRefused as refusal:
        print(refusal)
textures.close()
del memory
context.close()
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject = load_subject(TEXTURES, "cuda")
    with open_tools(subject, tmp_path_factory.mktemp("textures"), workers=1, jobs=4) as tools:
        yield tools


def test_a_baseline_whose_answers_are_numpys(tools: Tools) -> None:
    baseline = establish(
        tools.subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference
    )
    assert baseline.penalties == {"train": 0.0, "held-out": 0.0}, baseline
    assert baseline.verdict not in (Verdict.FASTER, Verdict.SLOWER)


def test_images_and_a_surface_whose_answers_are_numpys(tmp_path: Path) -> None:
    subject = load_subject(TEXTURES.parent / "images", "cuda")
    with open_tools(subject, tmp_path, workers=1, jobs=4) as tools:
        found = establish(
            subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference
        )
    assert found.penalties == {"train": 0.0, "held-out": 0.0}, found


def test_variants_with_other_fetches_are_judged(tools: Tools) -> None:
    source = tools.subject.reference
    texts = [source]
    for name, (old, new, _) in VARIANTS.items():
        assert source.count(old) == 1, name
        texts.append(source.replace(old, new))
    binaries = compile_reference(tools.subject, tools.compiler, texts, tools.scratch("variants"))
    cases = (*tools.train(), *tools.held_out())
    configuration = dict(tools.subject.original.configuration)
    reference, *variants = (Program(binary, configuration, cases) for binary in binaries)
    recorded = tools.pool.one(Record(reference, tools.reference, 2, 10.0))
    assert set(recorded.penalties.values()) == {0}, recorded.reasons
    sampling = Sampling(screen=3, most=3, limit=5.0)
    for variant, (name, (_, _, right)) in zip(variants, VARIANTS.items(), strict=True):
        answer = tools.pool.one(Measure(variant, reference, sampling))
        assert isinstance(answer, Measurement), (name, answer)
        assert answer.correct == right, (name, answer.message)


def test_what_the_device_cannot_make_is_refused() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    too_long, crooked = done.stdout.splitlines()
    assert "texels, and a texture on this device at most" in too_long
    assert "is not aligned to" in crooked


def test_a_search_over_ptx_with_fetches(tmp_path: Path) -> None:
    words = ("evolve", TEXTURES, "--backend", "cuda", "--level", "ptx", "--run", tmp_path / "run")
    done = gi_cuda(*words, "--population", 16, "--generations", 2)
    assert done.returncode == 0, done.stderr
    shown = gi_cuda("show", tmp_path / "run")
    assert shown.returncode == 0, shown.stderr
