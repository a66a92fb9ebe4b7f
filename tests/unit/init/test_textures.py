"""What a kernel fetches from a texture object, as its text tells."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.element_types import read_element_types
from gi_cuda.grammar.frontends.cuda.file import CudaFile, kernels
from gi_cuda.init.access import Access
from gi_cuda.init.textures import is_object, memory_of

HELPERS = """
typedef unsigned char byte_t;
typedef cudaTextureObject_t Tex;
struct Pair { short a, b; };
#define FETCH(from, at) (tex1Dfetch<uint2>(from, at).x)
__device__ float get(int i, Tex from) { return tex1Dfetch<float>(from, i); }
__device__ float4 four(Tex from) { float4 v; v.x = 0; tex1Dfetch(&v, from, 3); return v; }
__device__ int down(Tex from, int i) { return i ? down(from, i - 1) : tex1Dfetch<int>(from, 0); }
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("i = tex1Dfetch<int>(t, i);", ("int32", 1)),
        ("uint4 v = tex1Dfetch<uint4>(t, i + 1);", ("uint32", 4)),
        ("i += tex1Dfetch< unsigned char >(t, 0);", ("uint8", 1)),
        ("i += tex1Dfetch<byte_t>(t, 0);", ("uint8", 1)),
        ("short2 a, b; tex1Dfetch(&b, t, i);", ("int16", 2)),
        ("ushort v[4]; tex1Dfetch(&(v), t, i);", ("uint16", 1)),
        ("float x = get(tex1Dfetch<int>(u, i), t);", ("float32", 1)),
        ("float x = four(t).x;", ("float32", 4)),
        ("i = down(t, i);", ("int32", 1)),
        ("i = FETCH(t, i);", ("uint32", 2)),
        ("const Tex w = i ? u : t; i = tex1Dfetch<int>(w, i);", ("int32", 1)),
        ("Tex w = t; Tex x = w; i = tex1Dfetch<short>(x, i);", ("int16", 1)),
        # Not of this one, or not what a texture holds.
        ("i = tex1Dfetch<int>(u, t);", None),
        ("Pair v; tex1Dfetch(&v, u, i);", None),
        ("double v = tex1Dfetch<double>(t, i);", None),
        ("float3 v = tex1Dfetch<float3>(t, i);", None),
        ("other(t);", None),
        ("", None),
    ],
)
def test_what_is_fetched(
    body: str, expected: tuple[str, int] | None, read: Callable[[str], CudaFile]
) -> None:
    code = read(HELPERS + f"__global__ void k(Tex t, Tex u, int i) {{ {body} }}\n")
    (kernel,) = kernels(code)
    types = read_element_types([code])
    assert [is_object(types, one) for one in kernel.arguments] == [True, True, False]
    found = memory_of(code, kernel.definition, kernel.arguments[0], types, ["t", "u", "t_data"])
    assert (found.name, found.texture, found.role) == ("t_data_", "t", "input")
    assert (found.element.type, found.element.parts) == (expected or ("float32", 1))
    assert found.access == (Access.READ if expected else Access.NONE)
