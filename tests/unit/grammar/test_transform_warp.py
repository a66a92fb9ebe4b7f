"""The family ``warp``: kernels before and after each row gets a group of lanes."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.warp import Warp
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.warp_memory import MEMORY
from tests.unit.grammar.warp_sums import SUMS

LANES = {**SUMS, **MEMORY}

BODY = """
__global__ void kernel(const float *a, const int *c, float *b, int *d, int rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    STATEMENTS
}
"""

STAYS = {
    "the sum depends on its order": "for (int j = 0; j < n; j++) sum = a[j] + 2 * sum; b[i] = sum;",
    "an element needs the one before it": "for (int j = 1; j < n; j++) b[j] = b[j - 1] + a[j];",
    "an inner loop reads what other iterations write": "for (int j = 0; j < n; j++) {"
    " b[j] = a[j]; for (int k = 0; k < 3; k++) sum += b[k]; } d[i] = sum;",
    "all iterations write one element": "for (int j = 0; j < n; j++) b[i] = a[j];",
    "iterations may write one element": "for (int j = 0; j < n; j++) d[i * 9 + c[j]]++;",
    "halves of the iterations write one element": "for (int j = 0; j < n; j++) b[j / 2] += a[j];",
    "the loop is left early": "for (int j = 0; j < n; j++) { if (c[j]) break; sum += a[j]; }",
    "the kernel is left": "for (int j = 0; j < n; j++) { if (c[j]) return; sum += a[j]; }",
    "the variable is read later": "int j; for (j = 0; j < n; j++) sum += a[j]; b[i] = sum / j;",
    "the last value is read later": "int t = 0; for (int j = 0; j < n; j++) t = c[j]; d[i] = t;",
    "the value of the iteration before is read": "int t = 0; for (int j = 0; j < n; j++) {"
    " if (t) sum += a[j]; t = c[j]; } b[i] = sum;",
    "the sum is read in the loop": "for (int j = 0; j < n; j++) { sum += a[j]; b[j] = sum; }",
    "a sum of integers is rounded": "int t = 0; for (int j = 0; j < n; j++) t += a[j]; d[i] = t;",
    "no shuffle takes the type": "short t = 0; for (int j = 0; j < n; j++) t += c[j]; d[i] = t;",
    "the place of the largest value": "int at = 0; for (int j = 0; j < n; j++)"
    " if (a[j] > sum) { sum = a[j]; at = j; } d[i] = at;",
    "the limit changes": "for (int j = 0; j < n; j++) { sum += a[j]; if (c[j]) n--; }",
    "the variable changes": "for (int j = 0; j < n; j++) { sum += a[j]; if (c[j]) j++; }",
    "the loop counts down": "for (int j = n - 1; j >= 0; j--) sum += a[j]; b[i] = sum;",
    "the loop ends at one value": "for (int j = 0; j != n; j++) sum += a[j]; b[i] = sum;",
    "the variable is a fraction": "for (float x = 0; x < 1; x += 0.1f) sum += x; b[i] = sum;",
    "there are fewer iterations than lanes": "for (int j = 0; j < 3; j++) sum += a[j]; b[i] = sum;",
    "an array of the thread is written": "float own[9]; for (int j = 0; j < 9; j++) own[j] = a[j];"
    " b[i] = own[n];",
    "variables are exchanged": "float t = 0; for (int j = 0; j < n; j++) swap(t, sum); b[i] = t;",
    "a library may read all elements": "for (int j = 0; j < n; j++) b[j] = a[j] + norm(b, n);",
    "there is no loop": "b[i] = sum;",
}
"""Reason -> statements of a kernel of which lanes cannot share a loop."""

EFFECTS = {
    "each lane would get a number": "int at = atomicAdd(d, 1); b[at] = sum;",
    "a write is part of a condition": "if (d[i]++ < 3) b[i] = sum;",
    "a write counts": "int k = i; b[k++] = sum;",
    "a write is part of a loop's header": "for (int k = 0; k < 3; b[k] = sum, k++) ;",
    "a library changes what it is given": "b[i] = noise(&d[i]) + sum;",
    "a function writes, and its result is used": "sum += next(d + i); b[i] = sum;",
    "a function writes a variable of the file": "b[i] = counted(sum);",
    "a pointer leads to a variable": "float *p = &sum; *p = 3; b[i] = sum;",
    "a pointer comes from nowhere": "float *p; p[i] = sum;",
    "a lambda may do anything": "auto f = [&](float x) { b[i] = x; }; f(sum);",
    "a macro assigns": "SET(b[i], sum);",
    "a macro uses a variable": "b[i] = TWICE;",
    "a reference may be written": "float &last = b[i]; last = sum;",
    "a declaration may call a function": "half small(sum); b[i] = small;",
}
"""Reason -> statements that cannot be left to one lane."""

FUNCTIONS = """
#define SET(x, y) x = y
#define TWICE (2 * sum)
__device__ int count;
__device__ int next(int *seed) { return *seed = *seed * 5 + 1; }
__device__ float counted(float x) { count++; return x; }
"""

LOOP = "for (int j = 0; j < n; j++) sum += a[i * n + j];"
KERNELS = {
    "two dimensions": """
__global__ void kernel(const float *a, float *b, int rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || k >= rows) return;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += a[i * n + j];
    b[k * rows + i] = sum;
}
""",
    "threads that work together": """
__global__ void kernel(const float *a, float *b, int rows, int n) {
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += a[i * n + j];
    b[i] = tile[0] + sum;
}
""",
    "a place in the block": """
__global__ void kernel(const float *a, float *b, int rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += a[i * n + j];
    b[i] = sum + threadIdx.x;
}
""",
    "an index with something added": """
__global__ void kernel(const float *a, float *b, int rows, int n, int first) {
    int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += a[i * n + j];
    b[i] = sum;
}
""",
    "an index that nothing is compared with": """
__global__ void kernel(const float *a, float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < n; j++) sum += a[i * n + j];
    b[i] = sum;
}
""",
    "a loop over rows alone": """
__global__ void kernel(const float *a, float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    for (; i < n; i += all) b[i] = a[i];
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += all) b[k] += a[k];
}
""",
}
"""Reason -> kernel without one independent thread for each row."""


def sites(text: str) -> list[tuple[str, ...]]:
    """The choices of each site in a source."""
    return [one.choices for one in Warp().sites(read_code(Source("k.cu", text)))]


@pytest.mark.parametrize("name", LANES)
def test_rewrite_gives_each_row_a_group_of_lanes(name) -> None:
    choice, before, after = LANES[name]
    code = read_code(Source("k.cu", before))
    (site,) = Warp().sites(code)
    rewrite = Warp().rewrite(code, site.at, choice)
    assert rewrite is not None
    assert spliced(code.source, rewrite.splices).text == after


@pytest.mark.parametrize("name", LANES)
def test_launch_shape_multiplies_threads_by_lanes(name) -> None:
    choice, before, _ = LANES[name]
    code = read_code(Source("k.cu", before))
    (site,) = Warp().sites(code)
    rewrite = Warp().rewrite(code, site.at, choice)
    (kernel,) = code.kernels
    assert rewrite is not None
    assert rewrite.shape == {
        f"{kernel.name}.times.x": int(choice.removeprefix("warp_K").rstrip("i"))
    }


@pytest.mark.parametrize("name", STAYS)
def test_no_site_where_no_loop_can_be_shared(name) -> None:
    assert sites(BODY.replace("STATEMENTS", STAYS[name])) == []


@pytest.mark.parametrize("name", EFFECTS)
def test_no_site_where_an_effect_cannot_be_left_to_one_lane(name) -> None:
    kernel = FUNCTIONS + BODY.replace("STATEMENTS", LOOP + "\n    " + EFFECTS[name])
    assert sites(kernel) == []
    assert sites(kernel.replace(EFFECTS[name], "b[i] = sum;")) != []


@pytest.mark.parametrize("name", KERNELS)
def test_no_site_where_a_kernel_has_no_thread_for_each_row(name) -> None:
    assert sites(KERNELS[name]) == []


def test_choices_have_no_more_lanes_than_iterations() -> None:
    kernel = BODY.replace("STATEMENTS", LOOP.replace("< n", "< 12") + " b[i] = sum;")
    assert sites(kernel) == [("warp_K4", "warp_K8", "warp_K4i", "warp_K8i")]


def test_effects_of_functions_of_the_source_are_known() -> None:
    helpers = """
__device__ float weight(const float *p, float3 v) { v.x = p[0]; return v.x + v.y; }
__device__ void put(float *p, float x) { *p = x; }
__device__ void half_of(float &x) { x /= 2; }
"""
    statements = "sum += weight(a, make_float3(1, 2, 3)); half_of(sum); put(b + i, sum);"
    kernel = helpers + BODY.replace("STATEMENTS", f"{LOOP} {statements}")
    code = read_code(Source("k.cu", kernel))
    (site,) = Warp().sites(code)
    rewrite = Warp().rewrite(code, site.at, "warp_K32")
    assert rewrite is not None
    assert " half_of(sum); if (lane == 0) put(b + i, sum);" in (
        spliced(code.source, rewrite.splices).text
    )


def test_line_edit_may_disable_the_transformation() -> None:
    _, before, after = LANES["one sum"]
    grammar = convert(Source("k.cu", before), types=EDIT_SETS["all"])
    text = CudaText(grammar)
    (rule,) = (one for one in grammar.rules if one.type is RuleType.WARP)
    lanes = {rule.name: Expansion((), "warp_K32")}
    assert text.render(lanes) == after
    assert text.shape(lanes) == {"row_sums.times.x": 32}

    (condition,) = (one for one in grammar.rules if one.type is RuleType.IF)
    edited = {**lanes, condition.name: Expansion((), "")}
    assert text.render(edited) == before.replace("i < rows", "0")
    assert text.shape(edited) == {}
