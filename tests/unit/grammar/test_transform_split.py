"""The family ``split``: loops before and after several blocks share their iterations."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.split import Split
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.split_loops import SHARED

BODY = """
__global__ void kernel(const float *a, const int *c, float *b, int *d, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    STATEMENTS
}
"""

STAYS = {
    "a sum": "for (int j = 0; j < m; j++) sum += a[j]; b[i] = sum;",
    "a sum beside what is written": "for (int j = 0; j < m; j++) { b[j] = a[j]; sum += a[j]; }",
    "an element needs the one before it": "for (int j = 1; j < m; j++) b[j] = b[j - 1] + a[j];",
    "all iterations write one element": "for (int j = 0; j < m; j++) b[i] = a[j];",
    "something is written before": "d[i] = 0; for (int j = 0; j < m; j++) b[j] = a[j];",
    "something is written after": "for (int j = 0; j < m; j++) b[j] = a[j]; atomicAdd(d, 1);",
    "something is printed": 'printf("%d", i); for (int j = 0; j < m; j++) b[j] = a[j];',
    "it is read before": "float x = b[0]; for (int j = 0; j < m; j++) b[j] = a[j] * x;",
    "it is read after": "for (int j = 0; j < m; j++) b[j] = a[j]; if (b[3] > 0) return;",
    "two loops write": "for (int j = 0; j < m; j++) b[j] = a[j];"
    " for (int j = 0; j < m; j++) d[j] = c[j];",
    "a loop is around": "for (int t = 0; t < 9; t++) for (int j = 0; j < m; j++) b[j] += a[j];",
    "a switch is around": "switch (m) { case 3: for (int j = 0; j < m; j++) b[j] = a[j]; }",
    "nothing is written": "for (int j = 0; j < m; j++) sum = a[j];",
    "one iteration": "for (int j = 0; j < 1; j++) b[j] = a[j];",
    "the loop is left early": "for (int j = 0; j < m; j++) { if (c[j]) break; b[j] = a[j]; }",
    "the loop counts down": "for (int j = m - 1; j >= 0; j--) b[j] = a[j];",
    "a narrow variable": "for (unsigned char j = 0; j < 99; j++) b[j] = a[j];",
    "several variables": "for (int j = 0, k = 0; j < m; j++, k += 2) b[k] = a[j];",
    "the variable is read later": "int j; for (j = 0; j < m; j++) b[j] = a[j]; if (j) return;",
    "an array of the thread": "float own[9]; for (int j = 0; j < 9; j++) own[j] = a[j];",
    "a step back": "for (int j = 0; j < m; j += -1) b[j] = a[j];",
}
"""Reason -> statements of a kernel of which no loop can be split."""

NO_AXIS = """
__global__ void kernel(float *b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y, l = threadIdx.z;
    if (i < n) for (int j = 0; j < m; j++) b[((l * n + k) * m + j) * n + i] = j;
}
"""
TOGETHER = """
__global__ void kernel(const float *a, float *b, int n, int m) {
    __shared__ float tile[64];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < m; j++) b[j * n + i] = tile[j % 64];
}
"""


def sites(text: str) -> list[tuple[str, ...]]:
    """The choices of each site in a source."""
    return [one.choices for one in Split().sites(read_code(Source("k.cu", text)))]


@pytest.mark.parametrize("name", SHARED)
def test_rewrite_spreads_a_loop_over_blocks(name) -> None:
    choice, before, after = SHARED[name]
    code = read_code(Source("k.cu", before))
    (site,) = Split().sites(code)
    assert before[site.at :].startswith("for")
    rewrite = Split().rewrite(code, site.at, choice)
    assert rewrite is not None
    assert spliced(code.source, rewrite.splices).text == after


@pytest.mark.parametrize("name", SHARED)
def test_launch_shape_multiplies_blocks_along_the_free_axis(name) -> None:
    choice, before, after = SHARED[name]
    code = read_code(Source("k.cu", before))
    (site,) = Split().sites(code)
    rewrite = Split().rewrite(code, site.at, choice)
    (kernel,) = code.kernels
    axis = "z" if "blockIdx.z" in after else "y"
    assert rewrite is not None
    assert rewrite.shape == {f"{kernel.name}.times.{axis}": int(choice.removeprefix("split_K"))}


@pytest.mark.parametrize("name", STAYS)
def test_no_site_where_a_loop_cannot_be_split(name) -> None:
    assert sites(BODY.replace("STATEMENTS", STAYS[name])) == []


@pytest.mark.parametrize("text", [NO_AXIS, TOGETHER], ids=["no axis is free", "shared memory"])
def test_no_site_where_a_kernel_cannot_have_more_blocks(text) -> None:
    assert sites(text) == []


def test_choices_have_no_more_blocks_than_iterations() -> None:
    loop = "for (int j = 2; j < 20; j += 3) b[j * n + i] = a[j];"
    assert sites(BODY.replace("STATEMENTS", loop)) == [("split_K2", "split_K4")]


def test_only_the_outermost_of_nested_loops_is_a_site() -> None:
    nested = "for (int j = 0; j < m; j++) for (int k = 0; k < m; k++) b[(j * m + k) * n + i] = j;"
    text = BODY.replace("STATEMENTS", nested)
    (site,) = Split().sites(read_code(Source("k.cu", text)))
    assert site.at == text.index("for")


def test_line_edit_may_disable_the_transformation() -> None:
    _, before, after = SHARED["one loop"]
    grammar = convert(Source("k.cu", before), types=EDIT_SETS["all"])
    text = CudaText(grammar)
    (rule,) = (one for one in grammar.rules if one.type is RuleType.SPLIT)
    shared = {rule.name: Expansion((), "split_K8")}
    assert text.render(shared) == after
    assert text.shape(shared) == {"scale.times.y": 8}

    (statement,) = (
        one
        for one in grammar.rules
        if one.type is RuleType.STATEMENT and before[one.start : one.end].startswith("b[")
    )
    edited = {**shared, statement.name: Expansion((), "")}
    assert text.shape(edited) == {}
