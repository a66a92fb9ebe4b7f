"""Fetches of a kernel from a texture object, from its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.element_types import read_element_types
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels
from gi_cuda.init.kernel.access import Access
from gi_cuda.init.proposing.buffers import Image, ProposedBuffer
from gi_cuda.init.proposing.texture_setup import set_up, shaped
from gi_cuda.init.proposing.textures import is_object, memory_of

HELPERS = """
typedef unsigned char byte_t;
typedef cudaTextureObject_t Tex;
struct Pair { short a, b; };
__device__ float get(int i, Tex from) { return tex1Dfetch<float>(from, i); }
__device__ int down(Tex from, int i) { return i ? down(from, i - 1) : tex1Dfetch<int>(from, 0); }
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("i = tex1Dfetch<int>(t, i);", ("int32", 1)),
        ("uint4 v = tex1Dfetch<uint4>(t, i + 1);", ("uint32", 4)),
        ("i += tex1Dfetch< unsigned char >(t, 0);", ("uint8", 1)),
        ("i += tex1Dfetch<byte_t>(t, 0);", ("uint8", 1)),
        ("float x = get(tex1Dfetch<int>(u, i), t);", ("float32", 1)),
        ("i = down(t, i);", ("int32", 1)),
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


def proposed(code: CudaFile, counts: Sequence[str], passed: Mapping[str, str]) -> ProposedBuffer:
    """The buffer of the kernel's first parameter, with all that the text says."""
    (kernel,) = kernels(code)
    types = read_element_types([code])
    memory = memory_of(code, kernel.definition, kernel.arguments[0], types, [])
    return shaped(set_up(memory, [code.text], passed.get("t", ""), types), counts, passed)


@pytest.mark.parametrize(
    ("kind", "body", "element", "image"),
    [
        ("cudaTextureObject_t", "tex2D<float4>(t, x, y);", ("float32", 4), Image(dimensions=2)),
        ("CUtexObject", "tex3DLod<float>(t, x, y, 0, 0);", ("float32", 1), Image(dimensions=3)),
        (
            "cudaTextureObject_t",
            "tex1DLayered<ushort2>(t, x, 1);",
            ("uint16", 2),
            Image(dimensions=1, layered=True),
        ),
        ("cudaTextureObject_t", "of<uchar, float>(t, x);", ("uint8", 1), Image(dimensions=2)),
        (
            "cudaSurfaceObject_t",
            "surf2Dwrite<uchar4>(make_uchar4(0, 0, 0, 0), t, 4 * x, y);",
            ("uint8", 4),
            Image(True, dimensions=2),
        ),
        (
            "CUsurfObject",
            "surf3Dwrite<int>(x + 1, t, x * sizeof(int), y, 0);",
            ("int32", 1),
            Image(True, dimensions=3),
        ),
    ],
)
def test_dimensions_and_types_by_the_fetching_function(
    kind: str,
    body: str,
    element: tuple[str, int],
    image: Image,
    read: Callable[[str], CudaFile],
) -> None:
    helper = """typedef unsigned char uchar;
    template <class T, class R> __device__ R of(const CUtexObject image, int x) {
      return tex2D<T>(image, x, x);
    }"""
    code = read(f"{helper}\n__global__ void k({kind} t, int x, int y) {{ {body} }}")
    (kernel,) = kernels(code)
    types = read_element_types([code])
    found = memory_of(code, kernel.definition, kernel.arguments[0], types, [])
    assert (found.element.type, found.element.parts) == element
    assert found.image == image
    assert found.role == ("output" if image.surface else "input")


HOST = """
void start(int w, int h) {
  cudaChannelFormatDesc pixel = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
  cudaMallocArray(&memory, &pixel, w, h);
  cudaResourceDesc from = {};
  from.res.array.array = memory;
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeMirror;
  how.filterMode = cudaFilterModeLinear;
  how.readMode = cudaReadModeNormalizedFloat;  // how.readMode = cudaReadModeElementType;
  how.normalizedCoords = 1;
  cudaCreateTextureObject(&first, &from, &how, NULL);
  how.addressMode[1] = cudaAddressModeBorder;
  how.filterMode = cudaFilterModePoint;
  how.normalizedCoords = 0;
  CHECK(cudaCreateTextureObject(&second, &from, &how, nullptr));
}
"""
KERNEL = "__global__ void k(CUtexObject t, float *o, int width, int rows) { *o = BODY; }\n"


@pytest.mark.parametrize(
    ("name", "address", "smooth"),
    [("first", ("mirror",), True), ("second", ("mirror", "border"), False)],
)
def test_what_host_code_sets_up(
    name: str, address: tuple[str, ...], smooth: bool, read: Callable[[str], CudaFile]
) -> None:
    code = read(KERNEL.replace("BODY", "tex2D<float4>(t, 0, 0).x") + HOST)
    passed = {"t": name, "width": "w", "rows": "h"}
    found = proposed(code, ["rows", "width"], passed)
    assert (found.element.type, found.element.parts) == ("uint8", 4)
    assert found.elements == "width * rows"
    image = found.image
    assert image is not None
    assert (image.size, image.address, image.as_float) == (("width", "rows"), address, True)
    assert (image.filter, image.normalized) == ("linear" if smooth else "point", smooth)


@pytest.mark.parametrize(
    ("body", "counts", "size", "layers"),
    [
        ("tex2D<float>(t, 0, 0)", ["height", "width"], ("width", "height"), None),
        ("tex2D<float>(t, 0, 0)", ["a", "b", "c"], ("a", "b"), None),
        ("tex2D<float>(t, 0, 0)", ["n"], ("64", "64"), None),
        ("tex2DLayered<float>(t, 0, 0, 0)", ["w", "h", "layers"], ("w", "h"), "layers"),
        ("tex2DLayered<float>(t, 0, 0, 0)", ["w", "h"], ("w", "h"), "4"),
        ("tex1D<float>(t, 0)", ["n"], ("n",), None),
        ("tex1Dfetch<float>(t, 0)", ["n"], (), None),
    ],
)
def test_sizes_by_what_counts(
    body: str,
    counts: list[str],
    size: tuple[str, ...],
    layers: str | None,
    read: Callable[[str], CudaFile],
) -> None:
    image = proposed(read(KERNEL.replace("BODY", body)), counts, {}).image
    assert image is not None
    assert (image.size, image.layers) == (size, layers)
    assert (image.filter, image.address, image.normalized) == ("point", ("clamp",), False)
