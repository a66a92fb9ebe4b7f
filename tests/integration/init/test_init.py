"""``gi-cuda init`` on sources in the style of public code: its targets pass ``check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.spec import BufferRole, Parameter, ParameterKind, Target, load_case, load_target
from gi_cuda.subject import load_subject
from tests.integration.init.proposing import (
    HEADERS,
    SOURCES,
    init,
    passes,
    refused,
    roles,
    sizes,
    tree,
)
from tests.sweeps import sweep

SIMPLE = (
    *("add_vectors", "saxpy", "jacobi", "histogram", "multiply", "attract"),
    *("filter_rows", "transpose", "sum_blocks", "life", "wave", "look_up"),
    *("sums/main", "srad/main", "given", "group_sums"),
)


@pytest.mark.parametrize(
    "name", sweep(SIMPLE, "jacobi", "histogram", "look_up", "sums/main", "srad/main")
)
def test_simple_kernels_pass_check_unchanged(name: str, tmp_path: Path) -> None:
    init(f"{name}.cu", tmp_path / "target", *HEADERS)
    passes(tmp_path / "target", tmp_path / "scratch")


def test_texture_objects_are_inputs_of_the_type_that_is_fetched(tmp_path: Path) -> None:
    target = init("look_up.cu", tmp_path / "target")
    assert roles(target) == {
        **{"table_data": "input", "places_data": "input"},
        **{"weights": "input", "out": "output"},
    }
    assert [str(buffer.dtype) for buffer in target.buffers[:2]] == ["float32", "uint16"]
    assert sizes(target)["table_data"] == "n * 4"
    found = [(t.name, t.buffer, str(t.dtype), t.components) for t in target.textures]
    assert found == [
        ("table", "table_data", "float32", 4),
        ("places", "places_data", "uint16", 1),
    ]
    (step,) = target.launches[0].steps
    assert step.args == ("table", "places", "weights", "out", "n")
    lines = (tmp_path / "target" / "target.toml").read_text().splitlines()
    (mark,) = [line for line in lines if "each texture" in line]
    assert "FILL IN" in mark


def test_templates_shared_memory_and_headers(tmp_path: Path) -> None:
    target = init("sum_blocks.cu", tmp_path / "t", *HEADERS)
    assert target.kernels == ("sum_blocks<float, threads>",)
    assert target.launches[0].steps[0].shared.text == "threads * 4"
    assert target.build.include == (SOURCES / "include",)


def of_the_source(target: Target) -> list[Parameter]:
    """The parameters that the source has, without those that are options of nvcc."""
    return [one for one in target.parameters if one.kind is not ParameterKind.OPTION]


def test_options_of_the_compiler_are_parameters_where_results_may_differ(tmp_path: Path) -> None:
    def options(name: str) -> list[str]:
        found = init(f"{name}.cu", tmp_path / name).parameters
        return [one.name for one in found if one.kind is ParameterKind.OPTION]

    assert options("saxpy") == ["REGISTERS", "FAST_MATH"]
    assert options("histogram") == ["REGISTERS"]


def test_headers_that_hold_what_the_kernel_reaches_evolve(tmp_path: Path) -> None:
    target = init("sums/main.cu", tmp_path / "sums")
    assert [path.relative_to(SOURCES).as_posix() for path in target.headers] == [
        "sums/reduce.cuh",
        "sums/detail/warp.cuh",
    ]
    assert target.kernels == ("sums::reduce<float, kBlock>",)
    assert {p.name for p in of_the_source(target)} == {"ITEMS_PER_THREAD", "kBlock"}
    files = {rule.file for rule in load_subject(target.folder, "host").grammar.rules}
    assert files == {"reduce.cuh", "detail/warp.cuh"}


def test_files_that_are_included_like_headers(tmp_path: Path) -> None:
    """Kernels in ``.cu`` files that rely on what stands before them, as older code has it; one has
    the macro of the block's size."""
    target = init("srad/main.cu", tmp_path / "srad")
    names = [path.name for path in target.headers]
    assert names == ["define.c", "device_functions.cu", "srad_kernel.cu"]
    assert {s.name: s.value and s.value.text for s in target.scalars if s.value} == {
        "d_Ne": "d_Nr * d_Nc"
    }
    assert sizes(target) == dict.fromkeys(["d_dN", "d_c", "d_I"], "(d_Nr * d_Nc)")
    (step,) = target.launches[0].steps
    assert [e.text for e in step.block] == ["NUMBER_THREADS"]


HEADER = "#pragma once\nstatic __device__ int twice(int x) { x += x; return x; }\n"


KERNEL = "__global__ void k(int *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = twice(1); }\n"


def listed(source: Path, folder: Path, *options: str) -> list[str]:
    found = init(str(source), folder, *options).headers
    return [path.relative_to(source.parent.resolve()).as_posix() for path in found]


def test_headers_are_only_those_needed(tmp_path: Path) -> None:
    source = tree(
        tmp_path / "src",
        {
            "k.cu": '#include "all.h"\n#include "other.h"\n#include "late.h"\n' + KERNEL,
            "all.h": '#pragma once\n#include "detail/twice.cuh"\nstruct pair { int a, b; };\n',
            "detail/twice.cuh": HEADER,
            "other.h": "#pragma once\nstatic inline int unused() { return 3; }\n",
            "late.h": "#pragma once\nstatic inline int first(pair p) { return p.a; }\n",
        },
    )
    # all.h includes what evolves; late.h needs what all.h declares.
    assert listed(source, tmp_path / "t") == ["all.h", "detail/twice.cuh", "late.h"]


def test_a_kernel_without_headers_of_its_own_has_none(tmp_path: Path) -> None:
    assert init("sum_blocks.cu", tmp_path / "t", *HEADERS).headers == ()


def test_headers_that_have_to_stay_includes_are_named(tmp_path: Path) -> None:
    source = tree(
        tmp_path / "src",
        {
            "k.cu": '#ifdef A\n#include "t.cuh"\n#else\n#include "t.cuh"\n#endif\n' + KERNEL,
            "t.cuh": HEADER,
        },
    )
    words = ["init", str(source), "--no-trial", "--output", str(tmp_path / "t")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert "t.cuh stays an include: k.cu:4 includes it again, under other" in done.output
    assert load_target(tmp_path / "t").headers == ()


def test_constant_memory_is_a_buffer(tmp_path: Path) -> None:
    target = init("filter_rows.cu", tmp_path / "t")
    taps = next(b for b in target.buffers if b.name == "taps")
    assert (taps.symbol, taps.role, taps.size and taps.size.text) == (
        "taps",
        BufferRole.INPUT,
        "17",
    )


def test_accumulators_and_updates_are_told_from_outputs(tmp_path: Path) -> None:
    assert roles(init("saxpy.cu", tmp_path / "s")) == {"x": "input", "y": "inout"}
    histogram = init("histogram.cu", tmp_path / "h")
    assert roles(histogram) == {"data": "input", "bins": "inout"}
    assert not load_case(histogram, histogram.cases[0]).buffers["bins"].any()


def test_macros_that_the_source_defines_without_a_guard_are_parameters(tmp_path: Path) -> None:
    (parameter,) = of_the_source(init("multiply.cu", tmp_path / "t"))
    assert (parameter.name, parameter.default) == ("TILE_WIDTH", 16)
    text = (tmp_path / "t" / "target.toml").read_text()
    assert 'block = ["TILE_WIDTH", "TILE_WIDTH", "1"]' in text


def test_the_source_stays_where_it_is(tmp_path: Path) -> None:
    target = init("saxpy.cu", tmp_path / "deep" / "down")
    assert target.source == SOURCES / "saxpy.cu"
    assert sorted(p.name for p in (tmp_path / "deep" / "down").iterdir()) == [
        "README.md",
        "data.py",
        "target.toml",
    ]


def test_macros_given_win_over_those_of_the_source(tmp_path: Path) -> None:
    target = init("jacobi.cu", tmp_path / "t", "-D", "BLOCK_X=64", "-D", "OTHER", "-D", "USE_LDG")
    assert {p.name: p.default for p in of_the_source(target)} == {
        "BLOCK_X": 64,
        "BLOCK_Y": 8,
        "USE_LDG": 1,
    }
    assert target.build.define == {"OTHER": "1"}


@pytest.mark.parametrize("joined", [True, False])
def test_a_compilation_database_gives_folders_and_macros(joined: bool, tmp_path: Path) -> None:
    words = ["nvcc", "-Iinclude", "-I", "missing", "-D", "A=2", "-DB", "-std=c++14", "-c"]
    entry: dict[str, object] = {"directory": str(SOURCES), "file": "sum_blocks.cu"}
    entry |= {"command": " ".join(words)} if joined else {"arguments": words}
    database = tmp_path / "compile_commands.json"
    database.write_text(json.dumps([{"directory": "/", "file": "other.cu"}, entry]))
    target = init("sum_blocks.cu", tmp_path / "t", "--compile-commands", str(database), "-D", "A=3")
    assert target.build.include == (SOURCES / "include",)
    assert target.build.define == {"A": "3", "B": "1"}
    assert target.build.standard == "c++14"


def test_bad_input_ends_in_one_message(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    several = str(SOURCES / "several.cu")
    assert "there is no file" in refused(tmp_path, str(source))
    source.write_bytes(b"\0binary")
    assert "not text" in refused(tmp_path, str(source))
    source.write_text("int main() { return 0; }\n__global__ void declared(int);\n")
    assert "no kernel" in refused(tmp_path, str(source))
    source.write_text('#include "gone.h"\n__global__ void k(int *a) { *a = GONE; }\n')
    message = refused(tmp_path, str(source))
    assert f"{source}:1: the header 'gone.h' is not found, and what the kernel" in message
    assert "needs of it: GONE" in message
    source.write_text("\n__global__ void k(int (*f)(int), int *a) { *a = f(1); }\n")
    message = refused(tmp_path, str(source))
    assert "k.cu:2: the parameter 'f' of k is of type `int (*f)(int)`" in message
    assert "let the kernel name the function itself" in message
    source.write_text("__global__ void k(int a) { assert(a); }\n__global__ void l(int *a);")
    assert "k writes nothing that could be judged" in refused(tmp_path, str(source))
    assert "'scale' is ambiguous" in refused(tmp_path, several, "--kernel", "scale")
    assert "there is no kernel 'x'" in refused(tmp_path, several, "--kernel", "x")
    assert "no such folder" in refused(tmp_path, several, "-I", str(tmp_path / "no"))
    assert "not the name of a macro" in refused(tmp_path, several, "-D", "3=4")


def test_a_database_that_is_none_or_does_not_know_the_source(tmp_path: Path) -> None:
    database = tmp_path / "compile_commands.json"
    words = (str(SOURCES / "saxpy.cu"), "--compile-commands", str(database))
    assert "cannot be read" in refused(tmp_path, *words)
    for text in ("{", '{"a": 1}', '[{"directory": "/"}]', "[3]"):
        database.write_text(text)
        assert "not a compilation database" in refused(tmp_path, *words)
    database.write_text("[]")
    assert "no entry for saxpy.cu" in refused(tmp_path, *words)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert "nothing is overwritten" in refused(tmp_path, str(SOURCES / "saxpy.cu"))


def test_headers_of_the_toolkit_are_only_noted(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    lines = ["#include <thrust/random.h>", "__global__ void k(int *a) {"]
    source.write_text("\n".join([*lines, "thrust::minstd_rand dice; *a = dice();", "}", ""]))
    init(str(source), tmp_path / "t")
    assert "no <thrust/random.h>" in (tmp_path / "t" / "target.toml").read_text()


def test_what_a_format_says_of_a_variable_is_not_done_to_it(tmp_path: Path) -> None:
    """So it keeps the value that the source gives it, and no data takes its place."""
    source = tmp_path / "k.cu"
    source.write_text(
        "#include <cstdio>\n__device__ int step = 1;\n__device__ int sum[2];\n"
        "__global__ void k() {\n    sum[0] += step;\n    sum[1] -= step;\n"
        '    printf("step = %d\\n", step);\n}\n'
        "int main() { k<<<1, 1>>>(); return 0; }\n"
    )
    target = init(str(source), tmp_path / "t")
    assert [one.symbol for one in target.buffers] == ["sum"]


def test_how_often_the_program_launches_the_kernel_is_said(tmp_path: Path) -> None:
    source = tmp_path / "heat.cu"
    source.write_text(
        "#define STEPS 1000\n"
        "__global__ void heat(const float *u, float *v, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i > 0 && i < n - 1) v[i] = 0.5f * (u[i - 1] + u[i + 1]);\n"
        "}\n"
        "int main() {\n"
        "    int n = 1 << 20; float *u, *v;\n"
        "    cudaMalloc(&u, n * sizeof(float)); cudaMalloc(&v, n * sizeof(float));\n"
        "    for (int step = 0; step < STEPS; step++)\n"
        "        heat<<<(n + 255) / 256, 256>>>(u, v, n);\n"
        "}\n"
    )
    words = ["init", str(source), "--no-trial", "-o", str(tmp_path / "t")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    said = " ".join(done.output.split())
    assert "heat.cu:10: the program launches heat 1000 times in a loop" in said
    assert (
        load_target(tmp_path / "t").description == "heat of heat.cu, which launches it 1000 times"
    )
    assert "launches it 1000 times there" in (tmp_path / "t/target.toml").read_text()
