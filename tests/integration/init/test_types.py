"""``gi-cuda init`` on parameters of all types: its targets load, and pass ``check``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.spec import Target
from tests.integration.init.proposing import passes
from tests.integration.init.test_init import init, refused, roles, sizes
from tests.sweeps import sweep

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"

SOURCES = {
    "struct by value": """
        struct Image { int width, height, pitch; const float *in; float *out; };
        __device__ float at(Image g, int x, int y) { return g.in[y * g.pitch + x]; }
        __global__ void flip(Image image) {
          int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
          if (x < image.width && y < image.height)
            image.out[y * image.pitch + x] = at(image, image.width - 1 - x, y);
        }
        void run(Image g) {
          dim3 block(16, 16);
          flip<<<dim3((g.width + 15) / 16, (g.height + 15) / 16), block>>>(g);
        }""",
    "vectors, arrays and a union by value": f"""
        union Bits {{ float f; int i; }};
        struct Taps {{ short weight[5]; bool on; Bits bits; double3 shift; }};
        __global__ void weigh(float *a, int n, float4 scale, Taps t, dim3 corner) {{
          {INDEX}
          if (i < n) a[i] = a[i] * (scale.w + t.weight[i % 5] + t.bits.i + t.shift.y + corner.x);
        }}""",
    "pointers to pointers": f"""
        __global__ void rows(float **a, const float *const *b, int n, int m) {{
          {INDEX}
          if (i < n) for (int j = 0; j < m; j++) a[i][j] = 2 * b[i][j] + j;
        }}""",
    "pointers in a struct in memory": f"""
        struct World {{ int n; const float3 *lamps; float *sums; World *next; }};
        __global__ void light(const World *world, int n) {{
          {INDEX}
          if (i < n && !world->next) world->sums[i] += world->lamps[i].y;
        }}""",
    "aliases": f"""
        typedef unsigned long long big;
        using real = double;
        enum Kind {{ SUM, PRODUCT }};
        __global__ void fold(real *a, big n, Kind kind, const volatile bool yes, size_t step) {{
          {INDEX}
          if (i < n && yes) a[i] = kind == SUM ? a[i] + step : a[i] * step;
        }}""",
    "aligned": f"""
        struct __align__(16) Cell {{ float mass; char kind; }};
        __global__ void grow(Cell *cells, int n) {{
          {INDEX}
          if (i < n) {{ cells[i].mass *= 1.5f; cells[i].kind += 1; }}
        }}""",
    "pack": f"""
        template <typename... Ts> __global__ void many(int *a, int n, Ts... more) {{
          {INDEX}
          if (i < n) a[i] += (1 + ... + int(4 * more));
        }}""",
    "qualifiers": f"""
        __global__ void half_of(float const *const __restrict from,
                                float *const __restrict to, int n) {{
          {INDEX}
          if (i < n) to[i] = from[i] / 2;
        }}""",
    "variables only": """
        const int many = 64;
        __device__ int squares[many];
        __device__ unsigned calls = 0;
        __global__ void tabulate(void) {
          if (threadIdx.x < many) squares[threadIdx.x] = threadIdx.x * threadIdx.x;
          atomicAdd(&calls, 1);
        }
        void run() { tabulate<<<1, 64>>>(); }""",
    "written by a macro": f"""
        #define SET(k, v) place[k] = v
        __global__ void fill(float *place, int n) {{
          {INDEX}
          if (i < n) SET(i, i * 2);
        }}""",
    "written by a method": f"""
        struct Pair {{ int a, b; __device__ void turn() {{ int c = a; a = b; b = c; }} }};
        __global__ void turn_all(Pair *pairs, int n) {{
          {INDEX}
          if (i < n) pairs[i].turn();
        }}""",
    "written by a reference": f"""
        __global__ void negate(float *values, int n) {{
          {INDEX}
          if (i < n) {{ auto &one = values[i]; one = -one; }}
        }}""",
    "small floats": f"""
        #include <cuda_bf16.h>
        #include <cuda_fp16.h>
        #include <cuda_fp8.h>
        template <typename T, int N> struct Pack {{ T item[N]; }};
        template <typename T> __global__ void widen(const Pack<T, 2> *pairs, __nv_bfloat16 *sums,
                                                    __nv_fp8_e4m3 *eighth, int n) {{
          {INDEX}
          if (i < n) sums[i] = __float2bfloat16(float(pairs[i].item[0]) + float(pairs[i].item[1]));
          if (i < n) eighth[i] = __nv_fp8_e4m3(float(sums[i]) / 8);
        }}
        void run(Pack<half, 2> *pairs, __nv_bfloat16 *sums, __nv_fp8_e4m3 *eighth, int n) {{
          widen<half><<<(n + 127) / 128, 128>>>(pairs, sums, eighth, n);
        }}""",
    "names of python": f"""
        __global__ void add(float *def, int np, int seed) {{
          {INDEX}
          if (i < np) def[i] += seed;
        }}""",
}

ITERATORS = f"""
    template <class Places, class Output, class Gain>
    __device__ void put(Places places, Output output, Gain gain, const float *a, int i) {{
      output[i] = gain * a[places[i]];
    }}
    template <class Places, class Output, class Gain>
    __global__ void gather(Places places, Output output, Gain gain, const float *a, int n) {{
      {INDEX}
      if (i < n) put(places, output, gain, a, i);
    }}"""


def made(name: str, tmp_path: Path) -> Target:
    source = tmp_path / "k.cu"
    source.write_text(SOURCES[name])
    return init(str(source), tmp_path / "target")


PLAIN = {
    "aliases": ({"a": "inout"}, {"n": "uint64", "kind": "int32", "yes": "uint8", "step": "uint64"}),
    "pack": ({"a": "inout"}, {"n": "int32", "argument3": "float32"}),
    "qualifiers": ({"from": "input", "to": "output"}, {"n": "int32"}),
    "variables only": ({"squares": "output", "calls": "inout"}, {}),
    "written by a macro": ({"place": "inout"}, {"n": "int32"}),
    "written by a method": ({"pairs": "inout"}, {"n": "int32"}),
    "written by a reference": ({"values": "inout"}, {"n": "int32"}),
    "names of python": ({"def": "inout"}, {"np": "int32", "seed": "int32"}),
}
"""Roles of buffers, and types of scalars."""


@pytest.mark.parametrize("name", PLAIN)
def test_parameters_are_buffers_and_scalars(name: str, tmp_path: Path) -> None:
    target = made(name, tmp_path)
    assert (roles(target), {one.name: str(one.dtype) for one in target.scalars}) == PLAIN[name]


@pytest.mark.parametrize("name", sweep(SOURCES, "pointers in a struct in memory"))
def test_what_is_written_runs(name: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(SOURCES[name])
    words = ["init", str(source), "-o", str(tmp_path / "target")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    # With nothing to be mended, but perhaps more to be done: on fast machines these are short.
    passes = r"it ran on the host back end, and passes(; sizes were enlarged to .*)?\n"
    assert re.search(passes, done.output)


def test_a_struct_is_put_together_of_its_members(tmp_path: Path) -> None:
    target = made("struct by value", tmp_path)
    (image,) = target.structs
    assert (image.size, image.align) == (32, 8)
    assert image.members == {
        "image_width": 0,
        "image_height": 4,
        "image_pitch": 8,
        "image_in": 16,
        "image_out": 24,
    }
    assert roles(target) == {"image_in": "input", "image_out": "output"}
    assert set(sizes(target).values()) == {"image_width * image_height"}
    # Rows are as wide as the image, and the launch is that of the host code.
    assert {s.name: s.value.text for s in target.scalars if s.value} == {
        "image_pitch": "image_width"
    }
    (step,) = target.launches[0].steps
    assert step.grid[0].text == "(image_width + 15) / 16"


def test_arrays_of_a_struct_are_scalars_of_several_values(tmp_path: Path) -> None:
    target = made("vectors, arrays and a union by value", tmp_path)
    scale, taps, corner = target.structs
    assert (scale.size, scale.align, len(scale.members)) == (16, 16, 4)
    assert list(taps.members.items())[:3] == [("t_weight", 0), ("t_on", 10), ("t_bits_f", 12)]
    assert (taps.size, corner.size) == (40, 12)
    assert {s.name: s.count for s in target.scalars if s.count > 1} == {"t_weight": 5}


def test_addresses_in_memory_lead_to_buffers(tmp_path: Path) -> None:
    target = made("pointers in a struct in memory", tmp_path)
    world, *others = target.buffers
    # A list ends at once.
    assert world.addresses == {"world_lamps": 8, "world_sums": 16}
    assert [one.name for one in others] == ["world_lamps", "world_sums"]
    rows = made_again("pointers to pointers", tmp_path)
    assert roles(rows) == {"a": "input", "a_data": "inout", "b": "input", "b_data": "input"}


def test_what_elements_are_taken_of_is_a_pointer(tmp_path: Path) -> None:
    source, folder = tmp_path / "k.cu", tmp_path / "target"
    source.write_text(ITERATORS)
    target = init(str(source), folder)
    assert target.launches[0].steps[0].kernel == "gather<int *, float *, float>"
    assert roles(target) == {"places": "input", "output": "output", "a": "input"}
    passes(folder, tmp_path / "run")


def test_a_variable_that_a_parameter_hides_is_none_of_the_kernel(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__constant__ int count; __constant__ int other;\n"
        "__device__ int more() { return other; }\n"
        "__global__ void k(int *a, int count, int other) { a[threadIdx.x] += count + more(); }\n"
    )
    target = init(str(source), tmp_path / "t")
    assert [one.symbol for one in target.buffers] == [None, "other"]


def made_again(name: str, tmp_path: Path) -> Target:
    further = tmp_path / "further"
    further.mkdir()
    return made(name, further)


def test_small_floats_are_floats(tmp_path: Path) -> None:
    target = made("small floats", tmp_path)
    types = {buffer.name: buffer.type.name for buffer in target.buffers}
    assert types == {"pairs": "float16", "sums": "bfloat16", "eighth": "float8_e4m3"}
    assert sizes(target)["pairs"] == "n * 2"


def test_members_are_judged_one_by_one(tmp_path: Path) -> None:
    made("aligned", tmp_path)
    text = (tmp_path / "target" / "target.toml").read_text()
    assert 'members = { mass = ["float32", 0], kind = ["int8", 4] }' in text
    assert "item = 16     # bytes of a struct" in text


def test_a_lambda_that_is_called_is_no_number(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    kernel = "template <typename F>\n__global__ void map(float *a, F f) {{ a[threadIdx.x] {}; }}\n"
    host = "int main() { float *a; map<<<1, 32>>>(a, [=] __device__ (float x) { return x; }); }\n"
    source.write_text(kernel.format("= f(a[threadIdx.x])") + host)
    message = refused(tmp_path, str(source))
    assert "k.cu:2: map calls f, and no launch says of which class it is" in message
    assert "write the lambda as a struct" in message
    source.write_text(kernel.format("*= f /* f (a factor) */"))
    assert init(str(source), tmp_path / "target").kernels == ("map<float>",)


def test_what_writes_nothing_names_another_kernel(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        '__global__ void look(const int *a) { if (*a) printf("%d", *a); }\n'
        "__global__ void count(int *a) { ++*a; }\n"
    )
    message = refused(tmp_path, str(source), "--kernel", "look")
    assert "k.cu:1: look writes nothing that could be judged" in message
    assert "--kernel count" in message


def test_a_body_that_the_host_does_not_know_hides_no_types(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "struct Way { int n; float *at; };\n"
        "__global__ void k(Way way) { known_to_nobody(way.at); way.at[way.n] = 1; }\n"
    )
    (way,) = init(str(source), tmp_path / "t").structs
    assert way.members == {"way_n": 0, "way_at": 8}


def test_each_variable_of_one_declaration_is_seen(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__device__ __managed__ int x, y = 2, z[64];\n"
        "__global__ void k() { x = 10 * y; z[threadIdx.x] = x; }\n"
        "int main() { k<<<1, 64>>>(); }\n"
    )
    target = init(str(source), tmp_path / "t")
    assert roles(target) == {"x": "inout", "z": "output"}
    assert sizes(target) == {"x": "1", "z": "64"}


@pytest.mark.parametrize(
    "declared", ["enum Mode { SUM, PRODUCT };", "typedef enum { SUM, PRODUCT } Mode;"]
)
def test_parameters_of_templates_that_are_constrained_or_enumerators(
    declared: str, tmp_path: Path
) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        f"{declared}\n"
        "template <typename T> concept Real = sizeof(T) > 2;\n"
        "template <Real T, Mode M> __global__ void k(T *a) { a[threadIdx.x] = M + 1; }\n"
    )
    assert init(str(source), tmp_path / "t").kernels == ("k<float, Mode(0)>",)
    text = source.read_text()
    source.write_text(f"{text}void run(float *a) {{ k<float, PRODUCT><<<1, 32>>>(a); }}\n")
    assert init(str(source), tmp_path / "u").kernels == ("k<float, Mode(1)>",)
