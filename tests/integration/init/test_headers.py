"""``gi-cuda init`` finds headers as the project does, and leaves out those that are not needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.errors import UserError
from gi_cuda.spec import Target, load_target
from gi_cuda.subject import load_subject
from tests.integration.init.proposing import passes, tree
from tests.sweeps import broad

KERNEL = """
__global__ void scale(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = FACTOR * a[i];
}
"""


def init(source: Path, folder: Path) -> tuple[Target, str]:
    """The target that is proposed, untried, and what is printed."""
    words = ["init", str(source), "--no-trial", "--output", str(folder)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return load_target(folder), done.output


COMMANDS = json.dumps(
    [{"directory": ".", "file": "src/k.cu", "command": "nvcc -I common -DFACTOR=2.0f -c src/k.cu"}]
)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        ({"build/compile_commands.json": COMMANDS.replace('"."', '".."')}, "compile_commands.json"),
        (
            {"src/Makefile": "ROOT = ..\\nINC := -I$(ROOT)/common \\\\\\n  -DUNUSED=1\\n"},
            "Makefile:2",
        ),
        (
            {"make.mk": "# -Inothing\\nINCLUDES += -I ./common -I$(CUDA_PATH)/include\\n"},
            "make.mk:2",
        ),
        ({"src/CMakeLists.txt": "include_directories(../common)"}, "CMakeLists.txt:1"),
        (
            {
                "CMakeLists.txt": "project(p)\\nset(C ${PROJECT_SOURCE_DIR}/common)\\n"
                "target_include_directories(k PRIVATE\\n  ${C})"
            },
            "CMakeLists.txt:3",
        ),
        ({}, "factor.h is there"),
    ],
)
def test_a_header_is_found_where_the_build_has_it(
    build: dict[str, str], said: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    build = {name: text.replace("\\\\", "\\").replace("\\n", "\n") for name, text in build.items()}
    files = {
        "README": "",
        "src/k.cu": f'#include "factor.h"\n{KERNEL}',
        "other/factor.h": "#error\n",
    }
    files["common/factor.h"] = "#ifndef FACTOR\n#define FACTOR 3.0f\n#endif\n"
    if not build:
        del files["other/factor.h"]
    tree(project, {**files, **build})
    target, output = init(project / "src" / "k.cu", tmp_path / "t")
    assert target.build.include == (project / "common",)
    assert target.build.define == ({"FACTOR": "2.0f"} if "json" in said else {})
    assert said in "".join(output.split("\n")).replace(" ", "") or said in output
    assert said in (tmp_path / "t" / "target.toml").read_text()


def test_a_header_is_the_sources_own_wherever_it_is_asked_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "project/k.cu": f'#include "factor.h"\n{KERNEL}',
        "project/factor.h": "#define FACTOR 2.0f\n",
        "elsewhere/factor.h": "#error another one\n",
    }
    tree(tmp_path, files)
    monkeypatch.chdir(tmp_path / "elsewhere")
    init(Path("../project/k.cu"), tmp_path / "t")
    passes(tmp_path / "t", tmp_path / "scratch")


def test_a_folder_that_hides_headers_of_the_system_is_not_looked_in(tmp_path: Path) -> None:
    files = {
        "src/k.cu": f'#include <unistd.h>\n#include "factor.h"\n{KERNEL}',
        "windows/unistd.h": "int for_another_system(;\n",
        "common/factor.h": "#define FACTOR 2.0f\n",
        "src/Makefile": "ifeq ($(OS), Windows_NT)\nFLAGS += -I../windows\nendif\n"
        "FLAGS += -I../common\n",
    }
    tree(tmp_path / "project", files)
    target, _ = init(tmp_path / "project" / "src" / "k.cu", tmp_path / "t")
    assert target.build.include == (tmp_path / "project" / "common",)
    assert target.build.without == ()
    passes(tmp_path / "t", tmp_path / "scratch")


@pytest.mark.parametrize("type_", ["float", "int"])
def test_a_program_that_is_built_with_fast_mathematics_has_it_by_default(
    type_: str, tmp_path: Path
) -> None:
    files = {
        "k.cu": KERNEL.replace("float", type_).replace("FACTOR", "2"),
        "Makefile": "k: k.cu\n\tnvcc -use_fast_math --extended-lambda -o k k.cu\n",
    }
    tree(tmp_path / "project", files)
    target, _ = init(tmp_path / "project" / "k.cu", tmp_path / "t")
    fast = [one.default for one in target.parameters if one.name == "FAST_MATH"]
    options = target.build.options["cuda"]
    # Results that are whole numbers have no such parameter.
    assert fast == (["-use_fast_math"] if type_ == "float" else [])
    assert ("-use_fast_math" in options) == (type_ == "int")
    assert "--extended-lambda" in options
    passes(tmp_path / "t", tmp_path / "scratch")


def test_headers_of_which_nothing_is_needed_are_left_out(tmp_path: Path) -> None:
    lines = [
        "#include <GL/gone.h>",
        '#include "host_only.h"',
        '#include "both.h"',
        "#include <cusparse.h>",
    ]
    files = {
        "k.cu": "\n".join(lines) + KERNEL,
        "host_only.h": "int for_another_compiler(;\n",
        "both.h": "#pragma once\n#include <mpi_gone.h>\n#define FACTOR 2.0f\n",
    }
    tree(tmp_path, files)
    target, output = init(tmp_path / "k.cu", tmp_path / "t")
    left = ["GL/gone.h", "cusparse.h", "host_only.h", "mpi_gone.h"]
    assert sorted(target.build.without) == left
    assert all(
        f"left out, since the kernel needs nothing of it: {name}" in output for name in left[:1]
    )
    passes(tmp_path / "t", tmp_path / "scratch")


def test_a_header_that_cannot_be_read_stays_where_operators_of_it_are_used(tmp_path: Path) -> None:
    kernel = "__global__ void k(float2 *a) { a[0] = a[0] * a[1]; }\n"
    header = "inline __host__ __device__ float2 operator*(float2 a, float2 b) { return a; }\n"
    files = {"k.cu": f'#include "math2.h"\n{kernel}', "math2.h": f"{header}not C++\n"}
    tree(tmp_path, files)
    target, _ = init(tmp_path / "k.cu", tmp_path / "t")
    assert target.build.without == ()


@broad
def test_types_that_a_library_brings_are_there_where_it_is_left_out(tmp_path: Path) -> None:
    header = (
        "#include <cublas_v2.h>\n#pragma once\ntypedef __nv_bfloat16 real;\n"
        "inline void check(cublasStatus_t s) { if (s != CUBLAS_STATUS_SUCCESS) exit(1); }\n"
        "static cublasHandle_t handle;\n"
    )
    kernel = (
        "__global__ void k(const real *a, real *b, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = a[i] * real(2.0f); }\n"
    )
    tree(tmp_path, {"k.cu": f'#include "common.h"\n{kernel}', "common.h": header})
    target, _ = init(tmp_path / "k.cu", tmp_path / "t")
    assert target.build.without == ("cublas_v2.h",)
    assert {one.type.name for one in target.buffers} == {"bfloat16"}
    passes(tmp_path / "t", tmp_path / "scratch")


@broad
def test_what_is_in_a_comment_is_not_included(tmp_path: Path) -> None:
    plain = KERNEL.replace("FACTOR", "2.0f")
    for number, text in enumerate(
        ('/*\n#include "gone.h"\n*/\n', '/*#if OLD\n#include "gone.h"\n#endif*/\n')
    ):
        tree(tmp_path, {f"{number}/k.cu": text + plain})
        target, _ = init(tmp_path / str(number) / "k.cu", tmp_path / f"t{number}")
        assert target.build.without == ()
        passes(tmp_path / f"t{number}", tmp_path / f"scratch{number}")


def test_types_are_those_of_the_branch_that_is_compiled(tmp_path: Path) -> None:
    types = """#pragma once
#include "settings.h"
#if PRECISION == 1 && !defined(WIDE)
typedef float real;
#elif defined(WIDE) && AT_LEAST(2)
typedef double real;
#define MORE double
#else
#error "no precision"
#endif
#ifndef MORE
#define MORE float
#endif
"""
    kernel = """#include "types.h"
#if 0
__global__ void old(real *a) { *a = 1; }
#endif
__global__ void scale(real *a, MORE f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = f * a[i];
}
"""
    settings = "#define PRECISION 2\n#define AT_LEAST(x) (PRECISION >= (x))\n#ifdef __CUDACC__\n"
    settings += "#define WIDE\n#endif\n"
    tree(tmp_path, {"k.cu": kernel, "types.h": types, "settings.h": settings})
    target, _ = init(tmp_path / "k.cu", tmp_path / "t")
    assert target.kernels == ("scale",)
    assert {buffer.name: str(buffer.dtype) for buffer in target.buffers} == {"a": "float64"}
    assert {one.name: str(one.dtype) for one in target.scalars} == {"f": "float64", "n": "int32"}
    passes(tmp_path / "t", tmp_path / "scratch")


def test_a_source_with_a_byte_order_mark_passes(tmp_path: Path) -> None:
    text = "\ufeff#ifdef __CUDACC__\n#include <cuda.h>\n#endif\n"
    tree(tmp_path, {"k.cu": text + KERNEL.replace("FACTOR", "2.0f")})
    init(tmp_path / "k.cu", tmp_path / "t")
    passes(tmp_path / "t", tmp_path / "scratch")
    subject = load_subject(tmp_path / "t", "host")
    grammar = subject.grammar
    rule = next(r.name for r in grammar.rules if "a[i] =" in grammar.text(r.name))
    changed = subject.upstream(subject.read(f"<{rule}>"))
    assert changed.files["k.cu"].startswith("\ufeff#ifdef")


FRAGMENT = """__global__ void scale(real *a, int n)
{
    Range all = {0, n};
    int i = blockIdx.x * TILE + threadIdx.x;
    if (i < all.end)
        a[i] = 2 * a[i];
}
"""
INCLUDER = """typedef float real;
#define TILE 16
struct Range { int begin, end; };
#include "parts/all.h"
__global__ void other(float *b) { b[threadIdx.x] = 1; }
void run(real *a, int n) { scale<<<n / TILE, TILE>>>(a, n); }
"""


@broad
def test_a_part_of_another_file_has_a_target_of_that_file(tmp_path: Path) -> None:
    files = {"README": "", "src/main.cu": INCLUDER, "src/parts/all.h": '#include "scale.cu"\n'}
    tree(tmp_path / "p", {**files, "src/parts/scale.cu": FRAGMENT, "src/b.cu": "int b;\n"})
    source = tmp_path / "p" / "src"
    target, output = init(source / "parts" / "scale.cu", tmp_path / "t")
    assert "scale.cu says what it does not declare: taken as a part of" in output
    assert target.source == source / "main.cu"
    assert target.headers == (source / "parts" / "all.h", source / "parts" / "scale.cu")
    assert target.kernels == ("scale",)
    passes(tmp_path / "t", tmp_path / "scratch")


def test_a_part_of_a_part_has_a_target_of_what_includes_that(tmp_path: Path) -> None:
    # Both look like files that are compiled; neither can be.
    files = {"README": "", "main.cu": INCLUDER.replace("parts/all.h", "all.cu")}
    tree(tmp_path / "p", {**files, "all.cu": '#include "scale.cu"\n', "scale.cu": FRAGMENT})
    target, _ = init(tmp_path / "p" / "scale.cu", tmp_path / "t")
    assert target.source == tmp_path / "p" / "main.cu"


def test_a_file_that_stands_alone_is_its_own_source(tmp_path: Path) -> None:
    alone = f"typedef float real;\n#define TILE 16\nstruct Range {{ int begin, end; }};\n{FRAGMENT}"
    tree(tmp_path / "p", {"README": "", "main.cu": '#include "k.cuh"\n', "k.cuh": alone})
    target, output = init(tmp_path / "p" / "k.cuh", tmp_path / "t")
    assert target.source == tmp_path / "p" / "k.cuh"
    assert "taken as a part" not in output


def test_headers_may_call_a_third_one_by_different_paths(tmp_path: Path) -> None:
    files = {
        "k.cu": '#include "parts/second.h"\n'
        + KERNEL.replace("float *a", "Scale f, float *a").replace("FACTOR", "f.over.by / f.under"),
        "parts/second.h": '#include "../parts/first.h"\n#include "third.h"\n',
        "parts/first.h": "#pragma once\nstruct Whole { float by; };\n",
        "parts/third.h": '#pragma once\n#include "first.h"\n'
        "struct Scale { Whole over; int under; };\n",
    }
    target, _ = init(tree(tmp_path / "project", files), tmp_path / "t")
    assert target.headers == ()
    assert [len(one.members) for one in target.structs] == [2]
    passes(tmp_path / "t", tmp_path / "run")


WRITTEN_BY_THE_BUILD = """
#include "made/config.h"
struct Light;
__global__ void move(Light light, float *out) { out[threadIdx.x] = 1; }
__global__ void halve(float *out) { out[threadIdx.x] /= FACTOR; }
"""


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        ("halve", "the header 'made/config.h' is not found, and what the kernel needs of it"),
        ("move", "which no target can pass while 'made/config.h' is not found"),
    ],
)
def test_a_header_that_the_build_writes_is_told_of(kernel: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "LICENSE").touch()
    (tmp_path / "cmake").mkdir()
    (tmp_path / "cmake" / "config.h.in").write_text("#define FACTOR @factor@\n")
    source = tmp_path / "light.cu"
    source.write_text(WRITTEN_BY_THE_BUILD)
    words = ["init", str(source), "--kernel", kernel, "-o", str(tmp_path / "t")]
    error = CliRunner().invoke(app, words).exception
    assert isinstance(error, UserError)
    assert what in error.what
    assert error.hint is not None
    assert "build writes it (cmake/config.h.in is what it makes it of)" in error.hint
    assert not (tmp_path / "t").exists()
