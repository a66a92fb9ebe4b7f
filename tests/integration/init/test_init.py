"""``gi-cuda init`` on sources in the style of public code: what it writes passes ``check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.errors import UserError
from gi_cuda.evaluate.baseline import establish, try_broken
from gi_cuda.runs.tools import open_tools
from gi_cuda.spec import BufferRole, Target, load_case, load_target
from gi_cuda.subject import load_subject

SOURCES = Path(__file__).parent / "sources"
HEADERS = ("-I", str(SOURCES / "include"))


def init(name: str, folder: Path, *options: str) -> Target:
    """The target that init writes, with all of its inputs made once."""
    words = ["init", str(SOURCES / name), "--no-trial", "-o", str(folder), *options]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    target = load_target(folder)
    for case in target.cases:
        if "host" in case.backends:
            load_case(target, case)
    return target


def roles(target: Target) -> dict[str, str]:
    return {buffer.name: str(buffer.role) for buffer in target.buffers}


def sizes(target: Target) -> dict[str, str]:
    return {buffer.name: buffer.size.text for buffer in target.buffers if buffer.size}


@pytest.mark.parametrize(
    "name",
    [
        *("add_vectors", "saxpy", "jacobi", "histogram", "multiply", "attract"),
        *("filter_rows", "transpose", "sum_blocks", "life", "wave", "look_up"),
        *("sums/main", "srad/main", "given", "group_sums"),
    ],
)
def test_simple_kernels_pass_check_unchanged(name: str, tmp_path: Path) -> None:
    init(f"{name}.cu", tmp_path / "target", *HEADERS)
    passes(tmp_path / "target", tmp_path / "scratch")


def passes(folder: Path, scratch: Path) -> None:
    """Check a target: the reference runs, and a broken variant is caught."""
    subject = load_subject(folder, "host")
    with open_tools(subject, scratch, workers=1, jobs=1) as tools:
        arguments = (subject, tools.compiler, tools.pool)
        baseline = establish(*arguments, tools.scratch("baseline"), tools.reference)
        assert set(baseline.penalties.values()) == {0}
        caught = try_broken(*arguments, tools.scratch("broken"), baseline)
    assert caught.penalty


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


def test_sizes_and_geometry_come_from_the_host_code(tmp_path: Path) -> None:
    target = init("jacobi.cu", tmp_path / "jacobi")
    (step,) = target.launches[0].steps
    assert [e.text for e in step.grid] == [
        "(width + BLOCK_X - 1) / BLOCK_X",
        "(height + BLOCK_Y - 1) / BLOCK_Y",
    ]
    assert [e.text for e in step.block] == ["BLOCK_X", "BLOCK_Y"]
    assert sizes(target) == {"in": "width * height", "out": "width * height"}
    assert roles(target) == {"in": "input", "out": "output"}
    found = {p.name: (p.kind, p.default) for p in target.parameters}
    assert found == {"BLOCK_X": ("macro", 32), "BLOCK_Y": ("macro", 8), "USE_LDG": ("flag", 0)}
    assert target.constraints[0].that.text == "BLOCK_X * BLOCK_Y <= 1024"


def test_geometry_is_guessed_from_the_kernel_where_the_host_code_does_not_say(
    tmp_path: Path,
) -> None:
    (wave,) = init("wave.cu", tmp_path / "wave").launches[0].steps
    assert [e.text for e in wave.block] == ["32", "8"]
    assert [e.text for e in wave.grid] == ["(nx + 32 - 1) / 32", "(ny + 8 - 1) / 8"]


def test_a_launch_by_a_macro_is_read(tmp_path: Path) -> None:
    (life,) = init("life.cu", tmp_path / "life").launches[0].steps
    assert [e.text for e in life.grid] == ["128 / 16", "128 / 16"]
    assert [e.text for e in life.block] == ["16", "16"]


DOUBLE = """__global__ void twice(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}
"""
DRIVER = """void go(float *a, int count) {
    int blocks = (count + 95) / 96;
    twice<<<blocks, 96>>>(a, count);
}
"""


@pytest.mark.parametrize("place", ["driver.cpp", "host/driver.cu", "../src/deep.cpp"])
def test_a_launch_in_another_file_is_found(place: str, tmp_path: Path) -> None:
    source = tmp_path / "kernels" / "twice.cu"
    driver = source.parent / place
    for path, text in ((source, DOUBLE), (driver, DRIVER)):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    said(source, tmp_path / "t")
    (step,) = load_target(tmp_path / "t").launches[0].steps
    assert ([e.text for e in step.grid], step.block[0].text) == (["(n + 95) / 96"], "96")
    assert f"As in line 3 of {place}" in (tmp_path / "t" / "target.toml").read_text()


def test_a_file_that_launches_is_read_with_its_headers(tmp_path: Path) -> None:
    source = tmp_path / "twice.cu"
    source.write_text(DOUBLE)
    (tmp_path / "sizes.h").write_text("#define THREADS 96\n")
    driver = '#include "sizes.h"\n' + DRIVER.replace("blocks, 96", "blocks, THREADS")
    (tmp_path / "driver.cpp").write_text(driver)
    said(source, tmp_path / "t")
    assert load_target(tmp_path / "t").launches[0].steps[0].block[0].text == "96"


def test_a_file_that_launches_can_be_named(tmp_path: Path) -> None:
    source, far = tmp_path / "a" / "twice.cu", tmp_path / "b" / "c" / "far.cpp"
    for path, text in ((source, DOUBLE), (far, DRIVER)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    said(source, tmp_path / "t", "--host", str(far))
    (step,) = load_target(tmp_path / "t").launches[0].steps
    assert step.block[0].text == "96"
    message = refused(tmp_path, str(source), "--host", str(source))
    assert "twice.cu: there is no launch of twice in this file" in message
    assert "cannot read" in refused(tmp_path, str(source), "--host", str(tmp_path / "no.cpp"))


NUMBERS = """int main(int argc, char **argv) {{
    int n = 100000, threads = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * sizeof(float));
    {launch}
}}
"""


def test_what_only_a_run_tells_is_assumed_and_said(tmp_path: Path) -> None:
    source = tmp_path / "twice.cu"
    launch = "twice<<<(n + threads - 1) / threads, threads, 3 * threads * sizeof(double)>>>(a, n);"
    source.write_text(DOUBLE + NUMBERS.format(launch=launch))
    said(source, tmp_path / "t")
    (step,) = load_target(tmp_path / "t").launches[0].steps
    assert (step.grid[0].text, step.block[0].text) == ("(n + 128 - 1) / 128", "128")
    assert step.shared.text == "3 * 128 * 8"
    text = (tmp_path / "t" / "target.toml").read_text()
    assert "FILL IN: what only a run of the host code tells; assumed: threads = 128." in text


WINDOW = """__global__ void window(const float *in, float *out, int M, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N - M + 1) {
        float s = 0.0f;
        for (int k = 0; k < M; k++) s += in[i + k];
        out[i] = s;
    }
}
int main() {
    int M = 10, N = 100000;
    float *in, *out;
    cudaMalloc(&in, sizeof(float) * N);
    cudaMalloc(&out, sizeof(float) * (N - M + 1));
    window<<<(N - M + 1 + 255) / 256, 256>>>(in, out, M, N);
}
"""
SHARED = """#define ROW 17
__global__ void rows(const float *in, float *out, int n) {
    extern __shared__ double s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < ROW; k++) s[threadIdx.x * ROW + k] = 0.0;
    if (i < n) out[i] = in[i] + (float)s[threadIdx.x * ROW];
}
int main(int argc, char **argv) {
    int n = 100000, wgs = atoi(argv[1]);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    rows<<<(n + wgs - 1) / wgs, wgs, ROW * wgs * sizeof(double)>>>(in, out, n);
}
"""
MACRO = """template <int N> __global__ void scale(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = N * a[i];
}
#define LAUNCH(N)                    \\
    scale<N>                         \\
        <<<(n + 255) / 256, 256>>>(a, \\
                                   n);

void run(float *a, int n) {
    LAUNCH(4)
}
"""


@pytest.mark.parametrize("text", [WINDOW, SHARED, MACRO])
def test_launches_that_are_hard_to_read_pass_check(text: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(text)
    said(source, tmp_path / "target")
    passes(tmp_path / "target", tmp_path / "scratch")


def test_templates_shared_memory_and_headers(tmp_path: Path) -> None:
    target = init("sum_blocks.cu", tmp_path / "t", *HEADERS)
    assert target.kernels == ("sum_blocks<float, 256>",)
    assert target.launches[0].steps[0].shared.text == "256 * 4"
    assert target.build.include == (SOURCES / "include",)


def test_headers_that_hold_what_the_kernel_reaches_evolve(tmp_path: Path) -> None:
    target = init("sums/main.cu", tmp_path / "sums")
    assert [path.relative_to(SOURCES).as_posix() for path in target.headers] == [
        "sums/reduce.cuh",
        "sums/detail/warp.cuh",
    ]
    assert target.kernels == ("sums::reduce<float, 128>",)
    assert [p.name for p in target.parameters] == ["ITEMS_PER_THREAD"]
    files = {rule.file for rule in load_subject(target.folder, "host").grammar.rules}
    assert files == {"reduce.cuh", "detail/warp.cuh"}


def test_files_that_are_included_like_headers(tmp_path: Path) -> None:
    """Kernels in ``.cu`` files that rely on what stands before them, as older code has it."""
    target = init("srad/main.cu", tmp_path / "srad")
    assert [path.name for path in target.headers] == ["device_functions.cu", "srad_kernel.cu"]
    assert {s.name: s.value and s.value.text for s in target.scalars if s.value} == {
        "d_Ne": "d_Nr * d_Nc"
    }
    assert sizes(target) == dict.fromkeys(["d_dN", "d_c", "d_I"], "(d_Nr * d_Nc)")
    (step,) = target.launches[0].steps
    assert [e.text for e in step.block] == ["256"]


def tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / next(iter(files))


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
    words = ["init", str(source), "--output", str(tmp_path / "t")]
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


def test_macros_that_cannot_be_set_from_outside_are_only_offered(tmp_path: Path) -> None:
    assert init("multiply.cu", tmp_path / "t").parameters == ()
    text = (tmp_path / "t" / "target.toml").read_text()
    assert '# name = "TILE_WIDTH"' in text
    assert "#ifndef TILE_WIDTH" in text
    assert 'block = ["TILE_WIDTH", "TILE_WIDTH", "1"]' in text


def test_the_source_stays_where_it_is(tmp_path: Path) -> None:
    target = init("saxpy.cu", tmp_path / "deep" / "down")
    assert target.source == SOURCES / "saxpy.cu"
    assert sorted(p.name for p in (tmp_path / "deep" / "down").iterdir()) == [
        "README.md",
        "data.py",
        "target.toml",
    ]


def test_kernels_are_chosen_by_namespace_and_by_types(tmp_path: Path) -> None:
    assert init("several.cu", tmp_path / "1", "--kernel", "b::scale").kernels == ("b::scale",)
    chosen = init("several.cu", tmp_path / "2", "--kernel", "shift(double*,int)")
    assert chosen.kernels == ("shift(double *, int)",)
    assert chosen.buffers[0].dtype == "float64"
    words = init("several.cu", tmp_path / "3", "--kernel", "whole")
    assert [s.name for s in words.scalars] == ["in", "N"]


def said(source: Path, folder: Path, *options: str) -> list[str]:
    """What init says of a target that it writes."""
    done = CliRunner().invoke(
        app,
        ["init", str(source), "--no-trial", "-o", str(folder), *options],
        catch_exceptions=False,
    )
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_of_several_kernels_one_is_chosen(tmp_path: Path) -> None:
    lines = said(SOURCES / "several.cu", tmp_path / "t")
    assert lines[0] == "chose a::scale: no launch of it was found, most work"
    assert lines[1].startswith("other kernels, each taken by --kernel NAME: b::scale, shift(")
    assert load_target(tmp_path / "t").kernels == ("a::scale",)


def test_what_cannot_become_a_target_is_passed_over(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    best = (
        "__global__ void best(int (*f)(int), int *a) { for (int i = 0; i < 9; i++) a[i] = f(i); }\n"
    )
    worse = "__global__ void worse(int (*f)(int), int *a) { a[0] = f(1); }\n"
    source.write_text(best + worse + "__global__ void simple(int *a) { a[0] = 1; }\n")
    lines = said(source, tmp_path / "t")
    assert lines[0].startswith("passed over best (no launch of it was found, most work): the para")
    assert lines[1].startswith("passed over worse (no launch of it was found): the parameter 'f'")
    assert lines[2] == "chose simple: no launch of it was found"
    assert not lines[3].startswith("other kernels")
    source.write_text(best + worse)
    message = refused(tmp_path, str(source))
    assert "k.cu:1: best: the parameter 'f' of best is of type `int (*f)(int)`" in message
    assert "none of its 1 other kernels can become a target either" in message


def test_macros_given_win_over_those_of_the_source(tmp_path: Path) -> None:
    target = init("jacobi.cu", tmp_path / "t", "-D", "BLOCK_X=64", "-D", "OTHER", "-D", "USE_LDG")
    assert {p.name: p.default for p in target.parameters} == {
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


def refused(tmp_path: Path, *words: str) -> str:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError) as caught:
        CliRunner().invoke(
            app, ["init", *words, "--output", str(tmp_path / "out")], catch_exceptions=False
        )
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left behind"
    return str(caught.value)


def test_bad_input_ends_in_one_message(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    several = str(SOURCES / "several.cu")
    assert "cannot read" in refused(tmp_path, str(source))
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
    lines = ["#include <mma.h>", "__global__ void k(int *a) {", "nvcuda::wmma::layout_t l; *a = l;"]
    source.write_text("\n".join([*lines, "}", ""]))
    init(str(source), tmp_path / "t")
    assert "no <mma.h>" in (tmp_path / "t" / "target.toml").read_text()


SORT = """const unsigned WIDE = 512;
__global__ void local(float *a) { a[blockIdx.x * WIDE + threadIdx.x] += 1; }
__global__ void merge(float *a, int n, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; a[2 * i] += size; }
__global__ void odd(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1; }
int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1 << 14; float *a;
  cudaMalloc(&a, n * sizeof *a);
  local<<<n / WIDE, WIDE / 2>>>(a);
  for (int size = 2 * WIDE; size <= n; size <<= 1) merge<<<n / 512, 256>>>(a, n, size);
  odd<<<guess(), WIDE / 2>>>(a, n);
}
"""


@pytest.mark.parametrize(
    ("kernel", "grid"),
    [
        ("local", "n / 512"),
        ("merge", "n / 512"),
        ("odd", "(n + (512 / 2) - 1) / (512 / 2)"),
    ],
)
def test_every_case_of_a_launch_has_a_block(tmp_path: Path, kernel: str, grid: str) -> None:
    source = tree(tmp_path, {"sort.cu": SORT})
    done = CliRunner().invoke(
        app, ["init", str(source), "--no-trial", "--kernel", kernel, "-o", str(tmp_path / "t")]
    )
    assert done.exit_code == 0, done.output
    target = load_target(tmp_path / "t")
    (step,) = target.launches[0].steps
    assert [e.text for e in step.grid] == [grid]
    assert sizes(target) == {"a": "n"}
    for case in target.cases:
        assert set(case.args) == {"seed", "n"}
        assert step.grid[0].evaluate({"n": case.args["n"]}) >= 1
    marked = (tmp_path / "t" / "data.py").read_text().splitlines()
    listed = done.output.splitlines()[-2]
    assert all(
        f"data.py:{number}" in listed for number, line in enumerate(marked, 1) if "FILL IN" in line
    )
    assert "data.py:1," in f"{listed},"


def test_guarded_macros_of_a_block_are_parameters_that_the_launch_is_written_with(
    tmp_path: Path,
) -> None:
    source = tmp_path / "flip.cu"
    source.write_text(
        "#ifndef TX\n#define TX 16\n#endif\n#ifndef TY\n#define TY 8\n#endif\n"
        "enum { PER = 2 };\n"
        "__global__ void flip(float *a, int w, int h) {\n"
        "    int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "    if (x < w && y < h) a[y * w + x] *= -1; }\n"
        "void run(float *a, int w, int h) {\n"
        "    dim3 block(TX, TY), grid((w + TX - 1) / TX, PER * h / TY);\n"
        "    flip<<<grid, block>>>(a, w, h); }\n"
    )
    said(source, tmp_path / "t")
    target = load_target(tmp_path / "t")
    assert {p.name: (p.default, p.values) for p in target.parameters} == {
        "TX": (16, (8, 16, 32)),
        "TY": (8, (4, 8, 16)),
    }
    (step,) = target.launches[0].steps
    assert [e.text for e in step.block] == ["TX", "TY"]
    assert [e.text for e in step.grid] == ["(w + TX - 1) / TX", "2 * h / TY"]
    assert [c.that.text for c in target.constraints] == ["TX * TY <= 1024"]


CHAIN = """__global__ void add(const float *x, const float *y, float *z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
__global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
__global__ void count(const int *x, int *n, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) n[i] = x[i] + 1;
}
int main() {
    int m = 5000, *from, *to;
    float *a, *b, *c;
    cudaMalloc(&a, m * sizeof(float));
    cudaMalloc(&b, m * sizeof(float));
    cudaMalloc(&c, m * sizeof(float));
    cudaMalloc(&from, m * sizeof(int));
    cudaMalloc(&to, m * sizeof(int));
    add<<<(m + 255) / 256, 256>>>(a, b, c, m);
    scale<<<(m + 63) / 64, 64>>>(c, 0.5f, m);
    count<<<(m + 127) / 128, 128>>>(from, to, m);
}
"""


def test_several_kernels_are_launched_as_host_code_does(tmp_path: Path) -> None:
    source = tmp_path / "chain.cu"
    source.write_text(CHAIN)
    named = [word for name in ("count", "scale", "add") for word in ("--kernel", name)]
    lines = said(source, tmp_path / "t", *named)
    assert lines[0] == (
        "launches add, then scale, then count: once each, in the order of the host code"
    )
    assert lines[1] == "  z is shared by add, scale"
    target = load_target(tmp_path / "t")
    assert target.kernels == ("add", "scale", "count")
    steps = [step for sequence in target.launches for step in sequence.steps]
    assert [step.args for step in steps] == [
        ("x", "y", "z", "n"),
        ("z", "by", "n"),
        ("from", "to", "n"),
    ]
    assert [step.grid[0].text for step in steps] == [
        *("(n + 255) / 256", "(n + 63) / 64", "(n + 127) / 128")
    ]
    assert roles(target) == {
        **{"x": "input", "y": "input", "z": "output"},
        **{"from": "input", "to": "output"},
    }
    passes(tmp_path / "t", tmp_path / "scratch")


def test_several_kernels_without_host_code_share_by_name(tmp_path: Path) -> None:
    source = tmp_path / "chain.cu"
    source.write_text(CHAIN.partition("int main")[0])
    lines = said(source, tmp_path / "t", "--kernel", "scale", "--kernel", "add")
    assert lines[0] == "launches scale, then add: once each, in an order that is to be confirmed"
    assert roles(load_target(tmp_path / "t")) == {"x": "inout", "y": "input", "z": "output"}
    message = refused(tmp_path, str(source), "--kernel", "add", "--kernel", "count")
    assert "count takes `x` as int32, and another kernel as float32" in message
    assert "name fewer kernels" in message
