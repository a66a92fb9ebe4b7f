"""Counts of branches in device code, and conclusions from these."""

from __future__ import annotations

import pytest

from gi_cuda.grammar.coverage.branch_text import BranchText
from gi_cuda.grammar.frontends.cuda.coverage.branches import count_branches

KNOWN, TRUE, FALSE = range(3)
"""Counts of a condition, in their order."""


def kernel(body: str) -> BranchText:
    return count_branches(f"__global__ void k(int *out, int n) {{\n{body}\n}}")


def forks(text: BranchText) -> list[str]:
    return [one.text for one in text.forks]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if (n > 9) return;", ["n > 9"]),
        ("out[0] = n > 9 ? 1 : 2;", ["n > 9"]),
        ("int a = n > 9 ? 1 : 2; float b{n < 3 ? 1.f : 2.f};", ["n > 9", "n < 3"]),
        ("while (n > 9) n--; for (; n < 3;) n++;", ["n > 9", "n < 3"]),
        ("bool a = n > 9 && (n < 99);", ["n > 9", "n < 99"]),
        ("auto f = [&](int i) { if (i > n) out[i] = 1; };", ["i > n"]),
        ("switch (n) { case 3: out[0] = 1; break; default: break; }", ["case 3:", "default:"]),
        ("if (int a = n; a > 9) out[0] = a;", ["a > 9"]),
    ],
)
def test_each_way_of_a_kernel_is_counted(body: str, found: list[str]) -> None:
    assert forks(kernel(body)) == found


def test_functions_are_counted_as_a_compiler_for_gpus_preprocesses_them() -> None:
    text = "__attribute__((global)) void k(int *out, int n) { if (n > 9) out[0] = 1; }"
    assert forks(count_branches(text)) == ["n > 9"]


@pytest.mark.parametrize(
    ("condition", "known"),
    [
        ("16 > 32", "(true)"),
        ("N > 32 || sizeof(int) == 4", "(true)"),
        ("N > 32 && n > 9", " || !(N > 32))"),
        ("n > 9 || (N)", " || ((N)))"),
        ("n > 9", "(gi_known(n > 9))"),
    ],
)
def test_it_is_told_which_conditions_a_compiler_knows(condition: str, known: str) -> None:
    head = "template <int N> __global__ void k(int *out, int n)"
    text = count_branches(f"{head} {{ if ({condition}) out[0] = 1; }}").text
    assert f"{known} && gi_loop(0u, 1u)" in text


@pytest.mark.parametrize("condition", ["n-- > 9", "atomicAdd(out, 1) > 9", "(n = 3)"])
def test_what_changes_something_is_evaluated_once(condition: str) -> None:
    text = kernel(f"if ({condition}) out[0] = 1;").text
    assert text.count(condition) == 1
    assert "gi_known(" not in text.split(condition)[0]


@pytest.mark.parametrize(
    "body",
    [
        "if constexpr (sizeof(int) == 4 && sizeof(long) == 8) out[0] = 1;",
        'static_assert(sizeof(int) == 4 && true, "");',
        "constexpr int a = sizeof(int) > 2 ? 1 : 2; int b[a > 1 ? 3 : 4];",
        '((n > 0 && n < 9) ? void(0) : __assert_fail("n", "k.cu", 1, "k"));',
        'asm volatile("mov.u32 %0, %1;" : "=r"(n) : "r"(n > 9 ? 1 : 2));',
    ],
)
def test_what_a_compiler_decides_or_an_assertion_is_not_counted(body: str) -> None:
    assert forks(kernel(body)) == []


def test_methods_and_what_functions_return_are_counted_and_host_code_is_not() -> None:
    text = count_branches(
        """
        struct Sum { __device__ float of(float a) const { return a > 3 ? a : 0; } };
        template <int N> __device__ int part(int i) { return i < N ? i : N; }
        int on_the_host(int n) { return n > 9 ? 1 : 2; }
        constexpr __device__ int fixed(int n) { return n > 8 ? 1 : 2; }
        """
    )
    assert forks(text) == ["a > 3", "i < N"]


def test_places_are_those_that_a_preprocessor_says() -> None:
    text = count_branches(
        '# 1 "v0/k.cu"\n__global__ void k(int *out, int n) {\n# 40 "v0/part.h" 1\n'
        "  if (n > 9)\n    return;\n}\n"
    )
    (fork,) = text.forks
    assert (fork.file, fork.line) == ("part.h", 40)


@pytest.mark.parametrize(
    ("counted", "said"),
    [
        ({FALSE}, "no case makes k.cu:2 (n > 9) true"),
        ({TRUE}, "no case makes k.cu:2 (n > 9) false"),
        ({TRUE, FALSE}, None),
        (set(), None),
        ({KNOWN, FALSE}, None),
    ],
)
def test_a_way_that_no_case_takes_is_told(counted: set[int], said: str | None) -> None:
    text = count_branches(
        '# 1 "v3/k.cu"\n__global__ void k(int *out, int n) {\nif (n > 9) return;\n}'
    )
    gaps = text.gaps([int(at in counted) for at in range(text.counts)])
    assert [str(one) for one in gaps] == ([said] if said else [])


def test_a_loop_need_not_end_by_its_condition_and_a_label_needs_its_switch() -> None:
    loop = kernel("while (n > 9) { if (n < 3) break; }")
    assert not list(loop.gaps([int(at in (TRUE, 4, 5)) for at in range(loop.counts)]))
    labels = kernel("switch (n) { case 3: out[0] = 1; }")
    assert [one.text for one in labels.gaps([1, 0])] == ["case 3:"]
    assert not list(labels.gaps([0, 0]))


def test_code_that_does_not_run_is_what_stands_behind_its_condition() -> None:
    text = kernel("if (n > 9) { out[0] = 1; } else out[1] = 2;\nif (n < 0) return;\nout[2] = 3;")
    true = [int(at in (1, 4)) for at in range(text.counts)]
    false = [int(at in (2, 5)) for at in range(text.counts)]
    assert [one.behind for one in text.gaps(false)] == ["{ out[0] = 1; }", "return;"]
    assert [one.behind for one in text.gaps(true)] == ["else out[1] = 2;", "out[2] = 3; }"]


def test_a_function_that_is_never_called_is_told() -> None:
    text = count_branches(
        "__device__ int twice(int a) { return 2 * a; }\n"
        "__device__ int unused(int a) { return a; }\n"
        "__global__ void k(int *out, int n) { if (n > 9) out[0] = twice(n); }"
    )
    assert forks(text) == ["twice", "n > 9"]
    gaps = list(text.gaps([0, 0, 0, 1]))
    assert [str(one) for one in gaps] == [
        "no case reaches :1 (twice)",
        "no case makes :3 (n > 9) true",
    ]
    assert gaps[0].behind == "{ return 2 * a; }"
