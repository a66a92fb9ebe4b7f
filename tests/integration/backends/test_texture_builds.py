"""Textures with real tools: the driver's structs as in its header, kernels as source and PTX."""

from __future__ import annotations

import ctypes
import re
import subprocess
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.device.textures import (
    FORMATS,
    Linear,
    Resource,
    TextureDescription,
    described,
)
from gi_cuda.backends.cuda.ptx.confine import confined_module
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.sampling import draw, try_out
from gi_cuda.genome import mutate
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.spec import Texture
from gi_cuda.subject import Subject

TEXTURES = Path(__file__).parents[2] / "targets" / "textures"
FETCH = re.compile(r"\btex\.1d\.v4\.(\w+)\.s32\s[^;]*;")


@cache
def evolvable(level: str) -> Subject:
    return open_subject(TEXTURES, "cuda", level)


def facts() -> dict[str, int]:
    """Sizes, offsets and constants as this back end has them, by their C expression."""
    found = {"sizeof(CUDA_RESOURCE_DESC)": ctypes.sizeof(Resource)}
    found["sizeof(CUDA_TEXTURE_DESC)"] = ctypes.sizeof(TextureDescription)
    found["sizeof(CUtexObject)"] = 8
    start = Resource.res.offset
    members = {
        "CUDA_RESOURCE_DESC": [("resType", Resource.resType), ("flags", Resource.flags)],
        "CUDA_TEXTURE_DESC": [
            (name, getattr(TextureDescription, name)) for name, _ in TextureDescription._fields_
        ],
    }
    for kind, fields in members.items():
        for name, field in fields:
            found[f"offsetof({kind}, {name})"] = field.offset
            found[f"sizeof((({kind} *)0)->{name})"] = field.size
    for name, _ in Linear._fields_:
        field = getattr(Linear, name)
        found[f"offsetof(CUDA_RESOURCE_DESC, res.linear.{name})"] = start + field.offset
        found[f"sizeof(((CUDA_RESOURCE_DESC *)0)->res.linear.{name})"] = field.size
    for name, value in FORMATS.items():
        word = {"u": "UNSIGNED_INT", "i": "SIGNED_INT"}.get(name[0])
        form = f"{word}{8 * np.dtype(name).itemsize}" if word else "HALF"
        found[f"CU_AD_FORMAT_{'FLOAT' if name == 'float32' else form}"] = value
    resource, reading = described(Texture("t", "b", np.dtype("int8")), 0, 0)
    found["CU_RESOURCE_TYPE_LINEAR"] = resource.resType
    found["CU_TRSF_READ_AS_INTEGER"] = reading.flags
    return found


def test_the_drivers_structs_are_laid_out_as_in_its_header(
    toolkit: Toolkit, tmp_path: Path
) -> None:
    texts = [f'_Static_assert({left} == {right}, "{left}");' for left, right in facts().items()]
    source = tmp_path / "layout.c"
    source.write_text("\n".join(["#include <cuda.h>", "#include <stddef.h>", *texts, ""]))
    # It hands C to the C compiler, and knows where its headers are.
    command = [str(toolkit.nvcc), "-c", str(source), "-o", str(tmp_path / "layout.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "cuda.h: No such file" in done.stderr:
        pytest.skip("there is no cuda.h")
    assert done.returncode == 0, done.stderr
    assert len(texts) > 40
    source.write_text(source.read_text().replace("== 144", "== 143"))
    assert subprocess.run(command, capture_output=True, check=False).returncode


@pytest.mark.parametrize(
    ("texture", "form", "channels", "flags"),
    [
        (Texture("t", "b", np.dtype("uint32"), 4), 0x03, 4, 1),
        (Texture("t", "b", np.dtype("int8"), 1, True), 0x08, 1, 0),
        (Texture("t", "b", np.dtype("float32"), 2), 0x20, 2, 0),
        (Texture("t", "b", np.dtype("float16")), 0x10, 1, 0),
    ],
)
def test_a_texture_as_the_driver_is_told_of_it(
    texture: Texture, form: int, channels: int, flags: int
) -> None:
    resource, reading = described(texture, 0x7F0000010000, 4096)
    linear = resource.res.linear
    assert (linear.devPtr, linear.sizeInBytes) == (0x7F0000010000, 4096)
    assert (linear.format, linear.numChannels, reading.flags) == (form, channels, flags)
    assert bytes(reading).count(0) == ctypes.sizeof(reading) - bool(flags)


@pytest.mark.usefixtures("toolkit")
@pytest.mark.parametrize("level", ["source", "ptx"])
def test_random_edits_of_a_kernel_with_textures_compile(level: str, tmp_path: Path) -> None:
    subject = evolvable(level)
    trials = try_out(subject, open_compiler(subject, 2), list(draw(subject, 40, 1, 1)), tmp_path)
    assert trials.rate >= 0.97
    assert len(trials.tried) > 20


@pytest.mark.usefixtures("toolkit")
def test_fetches_in_ptx_are_rules_that_stay_whole_when_confined(tmp_path: Path) -> None:
    subject, rng = evolvable("ptx"), Random(2)
    fetches = [found[0] for found in FETCH.finditer(subject.reference)]
    assert {FETCH.match(text)[1] for text in fetches} == {"u32", "f32"}  # type: ignore[index]
    rules = {rule.name for rule in subject.grammar.rules}
    lines = subject.reference.splitlines()
    for number, line in enumerate(lines, 1):
        assert f"_kernel.ptx_{number}" in rules or not FETCH.search(line)
    genotypes = [subject.original]
    drawn = (mutate(subject.original, subject.grammar, rng, PAPER) for _ in range(8))
    genotypes += [found for found in drawn if found]
    texts = [subject.render(one, {}) for one in genotypes]
    assert [found[0] for found in FETCH.finditer(confined_module(texts[0]))] == fetches
    variants = [
        Variant(number, text, {}, subject.options(subject.original.configuration))
        for number, text in enumerate(texts, 1)
    ]
    built = build_batch(open_compiler(subject, 2).rehearsing()[0], variants, tmp_path)
    assert isinstance(built[1], CudaBinary)
    assert built[1].kernels.keys() == {"weigh", "spread"}
    assert built[1].confined
    assert sum(isinstance(one, CudaBinary) for one in built.values()) >= len(built) - 1
