"""Functions that templates use before their declaration get a declaration before the template."""

from __future__ import annotations

import pytest

from gi_cuda.backends.compile.pruning.dependent_lookup import says_late
from gi_cuda.backends.compile.pruning.reachable_code import Reach


def declared(text: str) -> list[str]:
    """Return the declarations before the template, after unreachable code is removed."""
    found = Reach(frozenset({"k"}), late=True).reached(text).text
    assert found.count("\n") == text.count("\n")
    line = next(line for line in found.split("\n") if "template" in line)
    return [part.strip() for part in line.partition("template <typename P>")[0].split(";")[:-1]]


KERNEL = "__global__ void k(const Pole *p, float *a) {\n  a[0] = total(p[0]);\n}\n"
TOTAL = "template <typename P> __device__ float total(P p) {\n  return weigh(p, 2) + 1;\n}\n"
WEIGH = "__device__ float weigh(Pole p, int n) {\n  return p.a * n;\n}\n"


def test_a_definition_behind_its_template_is_declared() -> None:
    assert declared(TOTAL + KERNEL + WEIGH) == ["__device__ float weigh(Pole p, int n)"]


def test_a_kernel_with_launch_bounds_may_be_the_template() -> None:
    text = (
        "template <typename P> __attribute__((global)) void __attribute__((launch_bounds(64)))"
        " k(const P *p, float *a) {\n  a[0] = weigh(p[0], 2);\n}\n"
    )
    assert declared(text + WEIGH) == ["__device__ float weigh(Pole p, int n)"]


def test_what_one_variant_does_not_need_another_one_may() -> None:
    reach = Reach(frozenset({"k"}), late=says_late(TOTAL + KERNEL + WEIGH))
    without = TOTAL.replace("weigh(p, 2) + 1", "1")
    assert "n); template" not in reach.reached(without + KERNEL + WEIGH).text
    assert "n); template" in reach.reached(TOTAL + KERNEL + WEIGH).text
    assert not says_late(WEIGH + TOTAL + KERNEL)


def test_a_declaration_that_comes_late_is_repeated() -> None:
    text = f"{TOTAL}__device__ float weigh(Pole p, int n = 3);\n{KERNEL}{WEIGH}"
    assert declared(text) == []
    assert declared(text.replace(" = 3", "")) == ["__device__ float weigh(Pole p, int n)"]


@pytest.mark.parametrize(
    "text",
    [
        f"__device__ float weigh(Pole p, int n);\n{TOTAL}{KERNEL}{WEIGH}",
        f"{WEIGH}{TOTAL}{KERNEL}",
        f"{TOTAL}{KERNEL}struct Own {{\n  int x;\n}};\n{WEIGH.replace('int n', 'Own n')}",
        f"{TOTAL}{KERNEL}{WEIGH.replace('float', 'auto')}",
    ],
)
def test_what_needs_none_or_can_have_none_gets_none(text: str) -> None:
    assert declared(text) == []
