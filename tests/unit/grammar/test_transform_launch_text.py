"""Launches in host code are rewritten as transformations of their kernels want them."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launch_text import launch_splices
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import launch_words
from tests.unit.grammar.launch_spellings import BOTH, KERNELS, Spelling
from tests.unit.grammar.launch_variables import SPELLINGS


def rewritten(
    text: str, shape: dict[str, int], varied: frozenset[str] = frozenset()
) -> tuple[str, tuple[str, ...]]:
    """Return a text with other launches, and the kernels of which none is changed."""
    source = Source("k.cu", text, varied=varied)
    found = launch_splices(read_code(source), shape)
    return spliced(source, found.splices).text, found.unknown


@pytest.mark.parametrize("spelling", SPELLINGS, ids=str)
def test_a_launch_is_rewritten_as_it_is_spelled(spelling: Spelling) -> None:
    text, unknown = rewritten(spelling.kernels + spelling.before, dict(spelling.shape))
    assert text.removeprefix(spelling.kernels) == spelling.after
    assert unknown == ()


@pytest.mark.parametrize("declared", ["const int", "int"])
def test_a_constant_that_is_a_parameter_keeps_its_number(declared: str) -> None:
    """A patch writes the parameter's value there."""
    kernel = "__global__ void k(float *a, int n) {}\n"
    text = (
        f"void f(float *a, int n) {{\n    {declared} t = 256;\n"
        "    int b = (n + t - 1) / t;\n    k<<<b, t>>>(a, n);\n}\n"
    )
    after, unknown = rewritten(kernel + text, {"k.items.x": 4}, frozenset({"t"}))
    assert after == kernel + text.replace("(n + t - 1) / t", "(n + t * 4 - 1) / (t * 4)")
    assert unknown == ()
    after, unknown = rewritten(kernel + text, {"k.threads.x": 128}, frozenset({"t"}))
    assert f"{declared} t = 256;" in after
    assert "k<<<b, 128>>>(a, n);" in after
    assert "(n + 127) / 128" in after
    assert unknown == ()


UNKNOWN = {
    "no launch in this file": "void f(float *a, int n) { launch(a, n); }",
    "a function of the runtime": """
        void f(float *a, int n) {
            void *given[] = {&a, &n};
            cudaLaunchKernel((const void *)k, dim3(n), dim3(256), given, 0, 0);
        }
    """,
    "a macro with the launch": """
        #define RUN(n) k<<<(n + 255) / 256, 256>>>(a, n)
        void f(float *a, int n) { RUN(n); }
    """,
    "a macro that is given the kernel": """
        #define LAUNCH(kernel, n) kernel<<<(n + 255) / 256, 256>>>(a, n)
        void f(float *a, int n) { LAUNCH(k, n); }
    """,
    "a macro with the geometry": """
        #define GEOMETRY(n) (n + 255) / 256, 256
        void f(float *a, int n) { k<<<GEOMETRY(n)>>>(a, n); }
    """,
    "a pointer to the kernel": """
        void f(float *a, int n) {
            void (*kernel)(float *, int) = n > 100 ? k : j;
            kernel<<<(n + 255) / 256, 256>>>(a, n);
        }
    """,
    "a type that is not known": """
        #include "plan.h"
        void f(float *a, int n, const Plan &plan) { k<<<plan.grid, 256>>>(a, n); }
    """,
    "a function that is not known": """
        #include "plan.h"
        void f(float *a, int n) { k<<<grid_of(n), 256>>>(a, n); }
    """,
    "a grid that a function makes": """
        dim3 grid_of(int n) { return dim3(n, 2); }
        void f(float *a, int n) { k<<<grid_of(n), 256>>>(a, n); }
    """,
    "a block that a function chooses": """
        int threads_for(int n) { return n > 100 ? 256 : 64; }
        void f(float *a, int n, int blocks) { k<<<blocks, threads_for(n)>>>(a, n); }
    """,
    "two kernels of one name": """
        __global__ void k(double *a, int n) { a[blockIdx.x] = n; }
        void f(float *a, int n) { k<<<(n + 255) / 256, 256>>>(a, n); }
    """,
    "one launch that is not understood beside another": """
        void f(float *a, int n) {
            k<<<(n + 255) / 256, 256>>>(a, n);
            k<<<other(n), 256>>>(a, n);
        }
    """,
    "a launch in a branch that is not compiled": """
        void f(float *a, int n) {
            #ifdef SMALL
            if (n < 100) { k<<<1, 256>>>(a, n); } else {
            #else
            {
            #endif
                k<<<(n + 255) / 256, 256>>>(a, n);
            }
        }
    """,
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_a_launch_that_is_not_understood_stays(text: str) -> None:
    text = KERNELS + text
    assert rewritten(text, BOTH) == (text, ("k",))


def test_a_launch_of_another_kernel_stays() -> None:
    text = KERNELS + "void f(float *a, int n) { j<<<n, 256>>>(a, n); k<<<n, 64>>>(a, n); }\n"
    assert rewritten(text, {"j.items.x": 4}) == (
        text.replace("j<<<n, 256>>>", "j<<<(n + 3) / 4, 256>>>"),
        (),
    )


def test_each_kernel_is_rewritten_by_itself() -> None:
    text = KERNELS + "void f(float *a, int n) { j<<<n, 64>>>(a, n); k<<<more(n), 64>>>(a, n); }\n"
    after, unknown = rewritten(text, {"k.items.x": 2, "j.items.x": 4})
    assert after == text.replace("j<<<n,", "j<<<(n + 3) / 4,")
    assert unknown == ("k",)


def test_two_kernels_that_share_variables_leave_them() -> None:
    text = """\
void f(float *a, int n) {
    dim3 grid((n + 255) / 256), block(256);
    j<<<grid, block>>>(a, n);
    k<<<grid, block>>>(a, n);
}
"""
    after, unknown = rewritten(KERNELS + text, {"j.items.x": 2, "k.threads.x": 128})
    assert not unknown
    assert after.removeprefix(KERNELS) == text.replace(
        "j<<<grid, block>>>", "j<<<dim3((grid.x + 1) / 2), block>>>"
    ).replace("k<<<grid, block>>>", "k<<<dim3((n + 127) / 128), dim3(128)>>>")


def test_a_block_that_is_right_already_keeps_its_name() -> None:
    text = KERNELS + "void f(float *a, int n) { int t = 128; use(&n, t); k<<<n, t>>>(a, n); }\n"
    after, _ = rewritten(text, BOTH)
    assert after == text.replace("k<<<n, t>>>", "k<<<(n + 3) / 4, t>>>")


@pytest.mark.parametrize("text", ["int b = b;", "int b, c; b = c; c = b;"])
def test_variables_that_come_from_each_other_are_no_trap(text: str) -> None:
    text = KERNELS + f"void f(float *a, int n) {{ {text} k<<<b, 256>>>(a, n); }}\n"
    after, unknown = rewritten(text, BOTH)
    assert "k<<<b, 128>>>(a, n);" in after
    assert unknown == ()


def test_a_macro_for_the_block_gets_parentheses() -> None:
    text = KERNELS + "#define T 60 + 4\nvoid f(float *a, int n, int b) { k<<<b, T>>>(a, n); }\n"
    assert "k<<<(b * (T) + 511) / 512, 128>>>" in rewritten(text, BOTH)[0]


@pytest.mark.parametrize(
    ("between", "launch"),
    [
        ("cudaMemset(a, 0, n);", "k<<<(n + 127) / 128, 128>>>(a, n);"),
        ("read_size(n);", "k<<<blocks * 2, 128>>>(a, n);"),
        ("n++;", "k<<<blocks * 2, 128>>>(a, n);"),
        ("{ int n = 3; j<<<n, 3>>>(a, n); }", "k<<<(n + 127) / 128, 128>>>(a, n);"),
    ],
)
def test_a_formula_is_copied_where_its_variables_are_the_same(between: str, launch: str) -> None:
    text = f"""\
void f(float *a, int n) {{
    int blocks = (n + 255) / 256;
    j<<<blocks, 256>>>(a, n);
    {between}
    k<<<blocks, 256>>>(a, n);
}}
"""
    after, _ = rewritten(KERNELS + text, {"k.threads.x": 128})
    assert launch in after


SOURCE = """\
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i] = 2 * a[i];
    }
}
void f(float *a, int n) {
    k<<<(n + 255) / 256, 256>>>(a, n);
}
"""


def test_a_variant_has_its_launches() -> None:
    program = CudaText(convert(Source("k.cu", SOURCE), types=EDIT_SETS["all"]))
    edits = {
        "block_k.cu_1": Expansion((), "block_K128"),
        "coarsen_k.cu_1": Expansion((), "coarsen_K4"),
    }
    edits["_k.cu_4"] = Expansion(("_k.cu_4",), "_k.cu_4")
    text = program.changed(edits).text
    assert "k<<<(n + 511) / 512, 128>>>(a, n);" in text
    assert text.count("a[i] = 2 * a[i];") == 2
    assert program.unknown_launches(edits) == ()
    assert program.render(edits) == text


def test_a_variant_tells_of_launches_elsewhere() -> None:
    kernel = SOURCE[: SOURCE.index("void f")]
    program = CudaText(convert(Source("k.cu", kernel), types=EDIT_SETS["all"]))
    edits = {"block_k.cu_1": Expansion((), "block_K128")}
    assert program.changed(edits).text == kernel
    assert program.unknown_launches(edits) == ("k",)
    assert program.unknown_launches({}) == ()


def test_a_kernel_that_launches_another_keeps_up_with_its_own_edits() -> None:
    text = """\
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i] = 2 * a[i];
    }
}
__global__ void outer(float *a, int n) {
    a[0] = n;
    k<<<(n + 255) / 256, 256>>>(a, n);
}
"""
    program = CudaText(convert(Source("k.cu", text), types=EDIT_SETS["all"]))
    edits = {"block_k.cu_1": Expansion((), "block_K128")}
    twice = {**edits, "_k.cu_8": Expansion(("_k.cu_8",), "_k.cu_8")}
    assert "(n + 127) / 128, 128>>>" in program.changed(twice).text
    assert program.changed(twice).text.count("a[0] = n;") == 2
    gone = {**edits, "_k.cu_9": Expansion((), "_k.cu_8")}
    assert program.unknown_launches(gone) == ("k",)


def test_transformations_of_one_kernel_multiply() -> None:
    text = SOURCE.replace("(n + 255) / 256", "dim3(n, n)").replace(
        "if (i < n) {", "int y = blockIdx.y * blockDim.y + threadIdx.y;\n    if (i < n && y < n) {"
    )
    program = CudaText(convert(Source("k.cu", text), types=EDIT_SETS["all"]))
    edits = {
        "coarsen_k.cu_1": Expansion((), "coarsen_K4y"),
        "block_k.cu_1": Expansion((), "block_K32x8"),
    }
    assert program.shape(edits) == {"k.items.y": 4, "k.threads.x": 32, "k.threads.y": 8}
    assert "k<<<dim3(n * 8, (n + 31) / 32), dim3(32, 8)>>>" in program.changed(edits).text


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"k.items.x": 4}, "launch k with grid.x = ceil(old grid.x / 4)"),
        ({"k.times.y": 8}, "launch k with grid.y = old grid.y * 8"),
        (
            BOTH,
            "launch k with grid.x = ceil(old grid.x * old block.x / 512) and blocks of 128 threads",
        ),
        (
            {"k.threads.x": 32, "k.threads.y": 8},
            "launch k with grid.x = ceil(old grid.x * old block.x / 32),"
            " grid.y = ceil(old grid.y * old block.y / 8) and blocks of 32 x 8 threads",
        ),
        (
            {"k.threads.y": 8, "k.times.y": 4},
            "launch k with grid.y = ceil(old grid.y * old block.y * 4 / 8)"
            " and blocks of 8 threads along y",
        ),
    ],
)
def test_a_launch_is_told_in_words(shape: dict[str, int], words: str) -> None:
    assert launch_words("k", shape) == words
