"""Texture objects over linear memory: results of tex1Dfetch, and invalid uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

BEFORE, FETCHES = 3, 12
"""Fetches begin so many texels before a texture, and go on behind its end."""

_BYTES = np.random.default_rng(1).integers(0, 256, 96, dtype=np.uint8)
# All integers come up, and so do zeros, infinities and the smallest numbers; NaNs are not compared.
_HALVES = np.array([0x0000, 0x8000, 0x3C00, 0xC500, 0x0001, 0x83FF, 0x7C00, 0x7BFF], np.uint16)

FORMATS: dict[str, tuple[str, str, int, bool]] = {
    "of_uchar": ("unsigned char", "uint8", 1, False),
    "of_schar": ("signed char", "int8", 1, False),
    "of_uchar4": ("uchar4", "uint8", 4, False),
    "of_char2": ("char2", "int8", 2, False),
    "of_ushort": ("unsigned short", "uint16", 1, False),
    "of_short4": ("short4", "int16", 4, False),
    "of_int": ("int", "int32", 1, False),
    "of_uint1": ("uint1", "uint32", 1, False),
    "of_uint2": ("uint2", "uint32", 2, False),
    "of_uint4": ("uint4", "uint32", 4, False),
    "of_float": ("float", "float32", 1, False),
    "of_float2": ("float2", "float32", 2, False),
    "of_float4": ("float4", "float32", 4, False),
    "of_half2": ("float2", "float16", 2, False),
    "of_unit_uchar": ("float", "uint8", 1, True),
    "of_unit_char4": ("float4", "int8", 4, True),
    "of_unit_ushort": ("float", "uint16", 1, True),
    "of_unit_short2": ("float2", "int16", 2, True),
}
"""Fetched type, component type, number of components, normalized or not, by name of the texture."""


def memory(dtype: str) -> np.ndarray:
    """Return the memory behind a texture."""
    if dtype == "float32":
        return np.linspace(-1e10, 1e10, 24, dtype=np.float32)
    return _HALVES.view(np.float16) if dtype == "float16" else _BYTES.view(dtype)


def expected(dtype: str, components: int, normalized: bool) -> np.ndarray:
    """The fetches, by numpy: zeros on both sides."""
    texels = memory(dtype).reshape(-1, components)
    if normalized:
        texels = np.maximum(texels.astype(np.float32) / np.float32(np.iinfo(dtype).max), -1)
    if dtype == "float16":
        texels = texels.astype(np.float32)
    rows = np.zeros((FETCHES, components), texels.dtype)
    inside = texels[: FETCHES - BEFORE]
    rows[BEFORE : BEFORE + len(inside)] = inside
    return rows


def kernel() -> str:
    """Fetches from a texture of each format, in both forms of tex1Dfetch."""
    parameters = ", ".join(
        f"cudaTextureObject_t {name}, {fetched} *{name}_out"
        for name, (fetched, *_) in FORMATS.items()
    )
    lines = [
        f"{{ {fetched} value; tex1Dfetch(&value, {name}, at); {name}_out[threadIdx.x] = value; }}"
        if number % 2
        else f"{name}_out[threadIdx.x] = tex1Dfetch<{fetched}>({name}, at);"
        for number, (name, (fetched, *_)) in enumerate(FORMATS.items())
    ]
    head = f"__global__ void k({parameters}) {{ int at = (int)threadIdx.x - {BEFORE};"
    return "\n".join([head, *lines, "}"])


def test_textures_of_every_format(host: Any) -> None:
    arguments: dict[str, np.ndarray] = {}
    textures, wanted = {}, {}
    for name, (_, *form) in FORMATS.items():
        dtype, components, normalized = form
        textures[name], wanted[name] = (dtype, components, normalized), expected(*form)
        # Eight halves, so that some fetches are behind the end.
        arguments[name] = memory(dtype)[: 8 * components].copy()
        arguments[f"{name}_out"] = np.ones_like(wanted[name])
    got = host.run(kernel(), arguments, (1,), (FETCHES,), textures=textures)
    assert not got.error
    for name, rows in wanted.items():
        rows[BEFORE + len(arguments[name]) // rows.shape[1] :] = 0
        found = got.outputs[f"{name}_out"].reshape(rows.shape)
        # A device multiplies where the host divides.
        accuracy = 2e-7 if textures[name][2] else 0
        np.testing.assert_allclose(found, rows, rtol=accuracy, err_msg=name)


def test_far_indices_are_outside(host: Any) -> None:
    text = """
    __global__ void k(cudaTextureObject_t t, cudaTextureObject_t v, int *out) {
      const int at[] = {-1, -2147483647 - 1, 2147483647, 1 << 28, 1 << 30, 3, 4, 0};
      int i = threadIdx.x;
      uint4 four = tex1Dfetch<uint4>(v, at[i]);
      out[2 * i] = tex1Dfetch<int>(t, at[i]);
      out[2 * i + 1] = four.x | four.y | four.z | four.w;
    }"""
    arguments = {
        "t": np.full(4, 7, np.int32),
        "v": np.full(4, 9, np.uint32),
        "out": np.ones(16, np.int32),
    }
    textures = {"t": ("int32", 1, False), "v": ("uint32", 4, False)}
    got = host.run(text, arguments, (1,), (8,), textures=textures).outputs["out"].reshape(8, 2)
    assert got.tolist() == [[0, 0]] * 5 + [[7, 0], [0, 0], [7, 9]]


def test_integers_of_other_widths_and_fewer_components(host: Any) -> None:
    text = """
    __global__ void k(cudaTextureObject_t bytes, cudaTextureObject_t words, int *out) {
      out[0] = tex1Dfetch<int>(bytes, 0);
      out[1] = tex1Dfetch<unsigned>(bytes, 0);
      out[2] = tex1Dfetch<short2>(bytes, 0).x;
      out[3] = tex1Dfetch<int>(words, 1);
      out[4] = tex1Dfetch<unsigned char>(words, 1);
    }"""
    arguments = {
        "bytes": np.array([-3, 5], np.int8),
        "words": np.array([1, 2, 3, 4, 2**32 - 250, 6, 7, 8], np.uint32),
        "out": np.zeros(5, np.int32),
    }
    textures = {"bytes": ("int8", 2, False), "words": ("uint32", 4, False)}
    got = host.run(text, arguments, (1,), (1,), textures=textures)
    assert got.outputs["out"].tolist() == [-3, -3, -3, -250, 6]


@pytest.mark.parametrize(
    ("fetch", "message"),
    [
        ("tex1Dfetch<float>(bytes, 0)", "tex1Dfetch<float> of the texture 'bytes', whose texels"),
        ("tex1Dfetch<ushort4>(bytes, 0).x", "<ushort4> of the texture 'bytes', whose texels are u"),
        ("tex1Dfetch<int>(unit, 0)", "whose texels are short2, read as normalized floats"),
        ("tex1Dfetch<int>(0, 0)", "tex1Dfetch of 0x0, which is no texture object"),
        ("tex1Dfetch<float>(unit + 7, 0)", "which is no texture object"),
        ("tex1Dfetch<int>((cudaTextureObject_t)out, 0)", "which is no texture object"),
    ],
)
def test_what_is_no_such_texture_ends_the_launch(host: Any, fetch: str, message: str) -> None:
    text = """__global__ void k(cudaTextureObject_t bytes, cudaTextureObject_t unit, int *out) {
      __syncthreads();
      out[threadIdx.x] = FETCH;
    }"""
    arguments = {
        "bytes": np.ones(8, np.uint8),
        "unit": np.ones(8, np.int16),
        "out": np.zeros(32, np.int32),
    }
    textures = {"bytes": ("uint8", 1, False), "unit": ("int16", 2, True)}
    got = host.run(text.replace("FETCH", fetch), arguments, (1,), (32,), textures=textures)
    assert got.status == 0
    assert got.error.startswith("BadFetch")
    assert message in got.error
    assert not got.outputs["out"].any()


@pytest.mark.parametrize("kind", ["double", "uint3", "long long"])
def test_what_no_texture_holds_does_not_compile(host: Any, kind: str) -> None:
    text = f"__global__ void k(cudaTextureObject_t t, int *out) {{ tex1Dfetch<{kind}>(t, *out); }}"
    with pytest.raises(RuntimeError, match="textures give numbers of 8, 16 and 32 bits"):
        host.compile(text, ["k"])
