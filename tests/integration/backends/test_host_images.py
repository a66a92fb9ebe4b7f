"""Textures of one to three dimensions, layers, filters, and surfaces: values read and written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gi_cuda.spec import Surface, Texture, View

PIXELS = np.random.default_rng(3).integers(0, 256, (5, 7), dtype=np.uint8)
VALUES = np.random.default_rng(4).random((3, 5, 6), dtype=np.float32)
PLACES = np.concatenate(
    [
        np.linspace(-2.3, 3.4, 96, dtype=np.float32),
        np.array([0, 1, 0.5, -0.5, 1e20, -1e20, np.inf, -np.inf, np.nan], np.float32),
    ]
)


def view(data: np.ndarray, *, layers: int = 0, components: int = 1, **more: Any) -> View:
    """A texture "t" of an array whose last dimension is x, without its layers and components."""
    extent = data.shape[: data.ndim - (components > 1)][bool(layers) :][::-1]
    return View(Texture("t", "t", data.dtype, components, **more), "t", extent, layers)


def outside(index: np.ndarray, size: int, mode: str) -> np.ndarray:
    """The index of the texel that stands for one outside; -1 for none."""
    if mode == "clamp":
        return np.clip(index, 0, size - 1)
    if mode == "border":
        return np.where((index < 0) | (index >= size), -1, index)
    if mode == "wrap":
        return index % size
    return np.where(index % (2 * size) < size, index % size, size - 1 - index % size)


def sampled(
    data: np.ndarray, places: tuple[np.ndarray, ...], mode: str, *, linear: bool
) -> np.ndarray:
    """The programming guide's formulas; ``places`` in texels, x first."""
    texels = np.pad(data.astype(np.float64), 1)  # what is at -1 is zero
    sides = []
    for place, size in zip(places, data.shape[::-1], strict=True):
        shifted = place.astype(np.float64) - (0.5 if linear else 0)
        index = np.floor(shifted).astype(np.int64)
        way = np.floor((shifted - index) * 256 + 0.5) / 256
        sides.append([(outside(index, size, mode), 1 - way), (outside(index + 1, size, mode), way)])
    if not linear:
        return texels[tuple(one[0][0] + 1 for one in sides[::-1])]
    total = np.zeros(places[0].shape)
    for corner in range(2 ** len(sides)):
        chosen = [one[corner >> number & 1] for number, one in enumerate(sides)]
        weight = np.prod([weight for _, weight in chosen], axis=0)
        total += weight * texels[tuple(index + 1 for index, _ in chosen[::-1])]
    return total


def launched(host: Any, body: str, texture: View, data: np.ndarray, *places: np.ndarray) -> Any:
    """The results of an expression of ``x``, ``y``, ``z`` at each place."""
    names = ["x", "y", "z"][: len(places)]
    parameters = "".join(f", const float *{name}s" for name in names)
    values = " ".join(f"float {name} = {name}s[i];" for name in names)
    kernel = (
        f"__global__ void k(cudaTextureObject_t t, float *out{parameters})"
        f" {{ int i = threadIdx.x; {values} out[i] = {body}; }}"
    )
    arguments = {"t": data, "out": np.zeros(len(places[0]), np.float32)}
    arguments |= {f"{name}s": place for name, place in zip(names, places, strict=True)}
    got = host.run(kernel, arguments, (1,), (len(places[0]),), textures={"t": texture})
    assert (got.error, got.status) == ("", 0), got.report
    return got.outputs["out"]


@pytest.mark.parametrize("mode", ["clamp", "border", "wrap", "mirror"])
@pytest.mark.parametrize("linear", [False, True])
def test_two_dimensions_with_normalized_coordinates(host: Any, mode: str, linear: bool) -> None:
    data = VALUES[0]
    places = PLACES[:96], PLACES[95::-1].copy()
    shape = {"normalized": True, "address": (mode,), "filter": "linear" if linear else "point"}
    found = launched(host, "tex2D<float>(t, x, y)", view(data, **shape), data, *places)
    scaled = []
    for place, size in zip(places, data.shape[::-1], strict=True):
        whole = np.floor(place)
        if mode == "wrap":
            place = place - whole
        elif mode == "mirror":
            place = np.where(whole % 2 == 0, place - whole, 1 - (place - whole))
        scaled.append(place * np.float32(size))
    wanted = sampled(data, tuple(scaled), mode, linear=linear)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("linear", [False, True])
def test_each_dimension_with_an_address_mode_of_its_own(host: Any, linear: bool) -> None:
    data = VALUES[1]
    x, y = 3 * PLACES[:96], 2 * PLACES[95::-1].copy()
    shape = view(data, address=("border", "clamp"), filter="linear" if linear else "point")
    found = launched(host, "tex2D<float>(t, x, y)", shape, data, x, y)
    wide = np.pad(data, ((0, 0), (9, 9)))
    wanted = sampled(wide, (x + np.float32(9), y), "clamp", linear=linear)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["clamp", "border", "wrap", "mirror"])
@pytest.mark.parametrize("linear", [False, True])
def test_texels_as_coordinates_know_no_wrap(host: Any, mode: str, linear: bool) -> None:
    x = 4 * PLACES[:96]
    shape = {"address": (mode,), "filter": "linear" if linear else "point"}
    known = "border" if mode == "border" else "clamp"
    row = VALUES[0, 0]
    found = launched(host, "tex1D<float>(t, x)", view(row, **shape), row, x)
    np.testing.assert_allclose(found, sampled(row, (x,), known, linear=linear), rtol=1e-6)
    places = x, x[::-1].copy(), np.roll(x, 31)
    found = launched(host, "tex3D<float>(t, x, y, z)", view(VALUES, **shape), VALUES, *places)
    np.testing.assert_allclose(found, sampled(VALUES, places, known, linear=linear), rtol=1e-5)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("mode", ["clamp", "border", "wrap", "mirror"])
def test_no_coordinate_does_harm(host: Any, mode: str, normalized: bool) -> None:
    shape = view(VALUES, normalized=normalized, address=(mode,), filter="linear")
    places = PLACES, PLACES[::-1].copy(), np.roll(PLACES, 50)
    found = launched(host, "tex3D<float>(t, x, y, z)", shape, VALUES, *places)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (found <= 1.0001).all()


def test_bytes_as_floats_between_texels(host: Any) -> None:
    x, y = 2 * PLACES[:96], 2 * PLACES[95::-1].copy()
    shape = view(PIXELS, as_float=True, filter="linear")
    found = launched(host, "tex2DLod<float>(t, x, y, 0.0f)", shape, PIXELS, x, y)
    wanted = sampled(PIXELS / 255, (x, y), "clamp", linear=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def test_vectors_of_one_two_and_four_components(host: Any) -> None:
    data = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    body = "({ uchar4 p = tex2D<uchar4>(t, x, y); p.x + 2 * p.y + 4 * p.z + 8 * p.w; })"
    x, y = np.array([0, 1, 2.9], np.float32), np.array([0, 1, 0.1], np.float32)
    found = launched(host, body, view(data, components=4), data, x, y)
    wanted = data[[0, 1, 0], [0, 1, 2]] @ np.array([1, 2, 4, 8])
    np.testing.assert_array_equal(found, wanted)
    pairs = np.arange(8, dtype=np.float32).reshape(4, 2)
    found = launched(host, "tex1D<float2>(t, x).y", view(pairs, components=2), pairs, x)
    np.testing.assert_array_equal(found, pairs[[0, 1, 2], 1])


def test_behind_the_layers_is_the_last_and_so_is_before_them(host: Any) -> None:
    # PTX takes the index of a layer as unsigned.
    layer = np.array([-3, 0, 1, 2, 3, 99], np.float32)
    x, y = np.full(6, 2.5, np.float32), np.full(6, 1.5, np.float32)
    body = "tex2DLayered<float>(t, x, y, (int)z)"
    found = launched(host, body, view(VALUES, layers=3), VALUES, x, y, layer)
    np.testing.assert_array_equal(found, VALUES[[2, 0, 1, 2, 2, 2], 1, 2])
    rows = VALUES[0]
    found = launched(
        host, "tex1DLayered<float>(t, x, (int)y)", view(rows, layers=5), rows, x, layer
    )
    np.testing.assert_array_equal(found, rows[[4, 0, 1, 2, 3, 4], 2])


def test_gather_gives_one_component_of_four_texels(host: Any) -> None:
    text = """__global__ void k(cudaTextureObject_t t, float *out) {
      float4 four = tex2Dgather<float4>(t, 2.0f, 3.0f, 0);
      out[0] = four.x; out[1] = four.y; out[2] = four.z; out[3] = four.w;
    }"""
    data = VALUES[0]
    arguments = {"t": data, "out": np.zeros(4, np.float32)}
    got = host.run(text, arguments, (1,), (1,), textures={"t": view(data)})
    wanted = [data[3, 1], data[3, 2], data[2, 2], data[2, 1]]
    np.testing.assert_array_equal(got.outputs["out"], np.array(wanted))


@pytest.mark.parametrize(
    ("fetch", "message"),
    [
        ("tex3D<float>(t, 0, 0, 0)", "tex3D of the texture 't', which has 2 dimensions"),
        ("tex1Dfetch<float>(t, 0)", "tex1Dfetch of the texture 't', which has 2 dimensions"),
        ("tex2D<int>(t, 0, 0)", "tex2D<int> of the texture 't', whose texels are float"),
        ("tex2DLayered<float>(t, 0, 0, 0)", "tex2DLayered of the texture 't', which has 2"),
        ("surf2Dread<float>(t, 0, 0)", "which is no surface object"),
        ("tex2D<float>(s, 0, 0)", "which is no texture object"),
        ("surf1Dread<float>(s, 0)", "surf1Dread of the surface 's', which has 2 dimensions"),
        ("tex2D<float>(l, 0, 0)", "tex2D of the texture 'l', which is linear"),
    ],
)
def test_what_is_no_such_texture_ends_the_launch(host: Any, fetch: str, message: str) -> None:
    text = f"""
    __global__ void k(cudaTextureObject_t t, cudaSurfaceObject_t s, CUtexObject l, float *out) {{
      out[0] = {fetch};
    }}"""
    data = VALUES[0]
    arguments = {"t": data, "s": data, "l": data, "out": np.zeros(1, np.float32)}
    textures = {
        "t": view(data),
        "s": View(Surface("s", "s", (), data.dtype), "s", data.shape[::-1]),
        "l": ("float32", 1, False),
    }
    got = host.run(text, arguments, (1,), (1,), textures=textures)
    assert got.error.startswith("BadFetch")
    assert message in got.error


def surface(data: np.ndarray, *, components: int = 1, layers: int = 0) -> View:
    """A surface "s" over an array."""
    extent = data.shape[: data.ndim - (components > 1)][bool(layers) :][::-1]
    return View(Surface("s", "s", (), data.dtype, components), "s", extent, layers)


@pytest.mark.parametrize(
    ("body", "data", "options", "wanted"),
    [
        (
            "surf2Dwrite(surf2Dread<float>(s, 4 * (5 - i), j) + i, s, 4 * (5 - i), j);",
            VALUES[0],
            {},
            VALUES[0] + np.arange(6, dtype=np.float32)[::-1],
        ),
        (
            "float v; surf3Dread(&v, s, 4 * i, j, 2); surf3Dwrite<float>(v, s, 4 * i, j, 0);",
            VALUES,
            {},
            np.concatenate([VALUES[2:], VALUES[1:]]),
        ),
        (
            "surf2DLayeredwrite(i + 0.5f, s, i * (int)sizeof(float), j, 1);",
            VALUES,
            {"layers": 3},
            np.stack([VALUES[0], np.tile(np.arange(6) + 0.5, (5, 1)), VALUES[2]]),
        ),
        (
            "if (j == 0) surf1Dwrite(make_uchar4(i, 1, 2, 3), s, 4 * i);",
            np.zeros((6, 4), np.uint8),
            {"components": 4},
            np.stack([[i, 1, 2, 3] for i in range(6)]),
        ),
    ],
)
def test_surfaces_are_read_and_written(
    host: Any, body: str, data: np.ndarray, options: dict[str, int], wanted: np.ndarray
) -> None:
    text = f"""__global__ void k(cudaSurfaceObject_t s) {{
      int i = threadIdx.x, j = threadIdx.y;
      {body}
    }}"""
    got = host.run(text, {"s": data}, (1,), (6, 5), textures={"s": surface(data, **options)})
    assert not got.error
    np.testing.assert_array_equal(got.outputs["s"].reshape(data.shape), wanted)


def test_what_lies_beyond_a_surface(host: Any) -> None:
    text = """__global__ void k(cudaSurfaceObject_t s, float *out) {
      out[0] = surf2Dread<float>(s, -4, 2, cudaBoundaryModeZero);
      out[1] = surf2Dread<float>(s, 24, 2, cudaBoundaryModeClamp);
      out[2] = surf2Dread<float>(s, 0, 99, cudaBoundaryModeClamp);
      out[3] = surf2Dread<float>(s, 20, 4);
      surf2Dwrite(7.0f, s, 24, 0, cudaBoundaryModeZero);
      surf2Dwrite(8.0f, s, -4, -1, cudaBoundaryModeClamp);
    }"""
    data = VALUES[0]
    arguments = {"s": data, "out": np.ones(4, np.float32)}
    got = host.run(text, arguments, (1,), (1,), textures={"s": surface(data)})
    assert not got.error
    assert got.outputs["out"].tolist() == [0, data[2, 5], data[4, 0], data[4, 5]]
    written = got.outputs["s"].reshape(data.shape)
    assert written[0, 0] == 8
    np.testing.assert_array_equal(written.ravel()[1:], data.ravel()[1:])


@pytest.mark.parametrize("at", ["24, 0", "0, 5", "-4, 0", "2, 0"])
def test_a_trap_beyond_a_surface(host: Any, at: str) -> None:
    text = f"__global__ void k(cudaSurfaceObject_t s) {{ surf2Dwrite(1.0f, s, {at}); }}"
    got = host.run(text, {"s": VALUES[0]}, (1,), (1,), textures={"s": surface(VALUES[0])})
    assert got.error.startswith("BadFetch")
    assert "surf2Dwrite of 4 bytes beyond the surface 's'" in got.error
    np.testing.assert_array_equal(got.outputs["s"].reshape(5, 6), VALUES[0])
