"""Textures with real tools: the driver's structs as in its header, kernels as source and PTX."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.device.driver_structs import (
    ADDRESS_MODES,
    FORMATS,
    GATHER,
    LAYERED,
    SURFACE,
    ArrayDescription,
    Copy,
    Linear,
    Resource,
    TextureDescription,
    array_of,
    copy_in,
    copy_out,
    linear_memory,
    of_array,
    reading,
)
from gi_cuda.backends.cuda.ptx.confine import confined_module
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.sampling import draw, try_out
from gi_cuda.genome import mutate
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.spec import Surface, Texture, View
from gi_cuda.spec.expression import parse
from gi_cuda.subject import Subject

TEXTURES = Path(__file__).parents[2] / "targets" / "textures"
FETCH = re.compile(r"\btex\.1d\.v4\.(\w+)\.s32\s[^;]*;")


@cache
def evolvable(level: str) -> Subject:
    return open_subject(TEXTURES, "cuda", level)


BYTES = Texture("t", "b", np.dtype("int8"))


def facts() -> dict[str, int]:
    """Sizes, offsets and constants as this back end has them, by their C expression."""
    found = {"sizeof(CUDA_RESOURCE_DESC)": ctypes.sizeof(Resource)}
    found["sizeof(CUDA_TEXTURE_DESC)"] = ctypes.sizeof(TextureDescription)
    found["sizeof(CUtexObject)"] = 8
    found["sizeof(CUDA_ARRAY3D_DESCRIPTOR)"] = ctypes.sizeof(ArrayDescription)
    found["sizeof(CUDA_MEMCPY3D)"] = ctypes.sizeof(Copy)
    start = Resource.res.offset
    found["offsetof(CUDA_RESOURCE_DESC, res.array.hArray)"] = start
    members = {
        "CUDA_RESOURCE_DESC": [("resType", Resource.resType), ("flags", Resource.flags)],
        "CUDA_TEXTURE_DESC": [
            (name, getattr(TextureDescription, name)) for name, _ in TextureDescription._fields_
        ],
        "CUDA_ARRAY3D_DESCRIPTOR": [
            (name, getattr(ArrayDescription, name)) for name, _ in ArrayDescription._fields_
        ],
        "CUDA_MEMCPY3D": [(name, getattr(Copy, name)) for name, _ in Copy._fields_],
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
    for name, value in ADDRESS_MODES.items():
        found[f"CU_TR_ADDRESS_MODE_{name.upper()}"] = value
    found["CU_RESOURCE_TYPE_LINEAR"] = linear_memory(BYTES, 0, 0).resType
    found["CU_RESOURCE_TYPE_ARRAY"] = of_array(0).resType
    found["CU_TRSF_READ_AS_INTEGER"] = reading(BYTES).flags
    smooth = replace(BYTES, as_float=True, size=(parse("8"),), normalized=True, filter="linear")
    found["CU_TRSF_NORMALIZED_COORDINATES"] = reading(smooth).flags
    found["CU_TR_FILTER_MODE_LINEAR"] = reading(smooth).filterMode
    found |= {"CUDA_ARRAY3D_LAYERED": LAYERED, "CUDA_ARRAY3D_SURFACE_LDST": SURFACE}
    found["CUDA_ARRAY3D_TEXTURE_GATHER"] = GATHER
    copy = copy_in(View(BYTES, "b", (8,)), 0, 0)
    found["CU_MEMORYTYPE_DEVICE"] = copy.srcMemoryType
    found["CU_MEMORYTYPE_ARRAY"] = copy.dstMemoryType
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
    linear = linear_memory(texture, 0x7F0000010000, 4096).res.linear
    read = reading(texture)
    assert (linear.devPtr, linear.sizeInBytes) == (0x7F0000010000, 4096)
    assert (linear.format, linear.numChannels, read.flags) == (form, channels, flags)
    assert bytes(read).count(0) == ctypes.sizeof(read) - bool(flags)


def test_a_filtered_texture_as_the_driver_is_told_of_it() -> None:
    size = (parse("w"), parse("h"))
    texture = replace(BYTES, as_float=True, size=size, filter="linear", address=("wrap", "border"))
    read = reading(texture)
    assert (list(read.addressMode), read.filterMode, read.flags) == ([0, 3, 3], 1, 0)
    read = reading(replace(texture, address=("mirror",), normalized=True))
    assert (list(read.addressMode), read.flags) == ([2, 2, 2], 2)


@pytest.mark.parametrize(
    ("extent", "layers", "written", "shape"),
    [
        ((7,), 0, False, (7, 0, 0, 0)),
        ((7, 5), 0, False, (7, 5, 0, GATHER)),
        ((70000, 5), 0, False, (70000, 5, 0, 0)),
        ((7, 5, 3), 0, False, (7, 5, 3, 0)),
        ((7,), 4, False, (7, 0, 4, LAYERED)),
        ((7, 5), 4, True, (7, 5, 4, LAYERED | SURFACE)),
        ((7, 5), 0, True, (7, 5, 0, SURFACE)),
    ],
)
def test_an_array_and_copies_as_the_driver_is_told_of_them(
    extent: tuple[int, ...], layers: int, written: bool, shape: tuple[int, ...]
) -> None:
    view = View(Surface("s", "b", (), np.dtype("uint16"), 4), "b", extent, layers)
    wanted = array_of(view, written=written)
    assert (wanted.Width, wanted.Height, wanted.Depth, wanted.Flags) == shape
    assert (wanted.Format, wanted.NumChannels) == (0x02, 4)
    into, out = copy_in(view, 0x7000, 0x9000), copy_out(view, 0x7000, 0x9000)
    rows, planes = max(1, shape[1]), max(1, shape[2])
    for copy in (into, out):
        assert (copy.WidthInBytes, copy.Height, copy.Depth) == (8 * shape[0], rows, planes)
        assert copy.WidthInBytes * copy.Height * copy.Depth == view.bytes
    assert (into.srcMemoryType, into.srcDevice, into.dstMemoryType, into.dstArray) == (
        *(2, 0x7000, 3, 0x9000),
    )
    assert (out.srcMemoryType, out.srcArray, out.dstMemoryType, out.dstDevice) == (
        *(3, 0x9000, 2, 0x7000),
    )
    assert (into.srcPitch, into.srcHeight, into.dstPitch) == (8 * shape[0], rows, 0)
    assert (out.dstPitch, out.dstHeight, out.srcPitch) == (8 * shape[0], rows, 0)


@pytest.mark.usefixtures("toolkit")
@pytest.mark.parametrize("level", ["source", "ptx"])
def test_random_edits_of_a_kernel_with_textures_compile(level: str, tmp_path: Path) -> None:
    subject = evolvable(level)
    trials = try_out(subject, open_compiler(subject, 2), list(draw(subject, 60, 1, 1)), tmp_path)
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
