"""Wide accesses in loops: the text that they leave, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Grammar, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from tests.unit.grammar.wide_loops import HEAD, LOOPS

TURNS = "for (int j = threadIdx.x; j < n; j += blockDim.x)"
DECLINED = {
    "a barrier in the loop": "TURNS { c[j] = a[j]; __syncthreads(); }",
    "a shuffle in the loop": "TURNS c[j] = __shfl_sync(~0u, a[j], 0);",
    "a loop that ends early": "TURNS { if (a[j] < 0) break; c[j] = 1; }",
    "a loop in the loop": "TURNS for (int i = 0; i < 3; i++) c[j] = a[j] + i;",
    "another index": "TURNS c[2 * j] = a[n - j];",
    "an offset that changes": "int from = 0; TURNS { c[0] += a[from + j]; from++; }",
    "a limit that changes": "int m = n; for (int j = 0; j < m; j++) { c[0] += a[j]; m--; }",
    "an element in some turns only": "TURNS if (j > 3) c[0] += a[j];",
    "other elements of what is written": "TURNS c[j] = c[j + 1];",
    "threads that do not begin one after the other": (
        "for (int j = 2 * threadIdx.x; j < n; j += 2 * blockDim.x) c[j] = a[j];"
    ),
    "two items in a turn": (
        "for (int j = threadIdx.x; j < n; j += 2 * blockDim.x) c[j] = a[j] + a[j + blockDim.x];"
    ),
    "blocks that share a loop, of which each adds up its items": (
        "for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < n; j += blockDim.x * gridDim.x)"
        " c[blockIdx.x] += a[j];"
    ),
    "a step of each thread's own": (
        "for (int j = threadIdx.x; j < n; j += threadIdx.x + 1) c[j] = a[j];"
    ),
    "an array of the thread that later code reads": (
        "float kept[8]; TURNS kept[j / 64] = a[j]; c[0] = kept[0];"
    ),
    "memory that the thread itself reads back": (
        "__shared__ float s[64]; TURNS s[j] = a[j]; /* __syncthreads */ TURNS c[j] = s[j];"
    ),
    "a variable that the loop does not declare": (
        "int j; for (j = threadIdx.x; j < n; j += blockDim.x) c[j] = a[j];"
    ),
    "a part that is compiled on a condition": (
        "TURNS {\n#if WIDE\nc[j] = 1;\n#endif\nc[j] = a[j]; }"
    ),
}


def of(text: str) -> Grammar:
    return convert(Source("k.cu", text), types=EDIT_SETS["transforms"])


def sites(grammar: Grammar) -> list[str]:
    return [rule.name for rule in grammar.rules if rule.type is RuleType.WIDE]


@pytest.mark.parametrize("name", LOOPS)
def test_a_turn_handles_consecutive_items(name: str) -> None:
    choice, head, body, before, after = LOOPS[name]
    grammar = of(f"{head}{body.replace('LOOP', before)}}}\n")
    site = sites(grammar)[0]
    expected = f"{head}{body.replace('LOOP', after)}}}\n"
    assert CudaText(grammar).render({site: Expansion((), choice)}) == expected


@pytest.mark.parametrize("name", DECLINED)
def test_another_loop_has_no_site(name: str) -> None:
    assert sites(of(f"{HEAD}{DECLINED[name].replace('TURNS', TURNS)}\n}}\n")) == []


def test_a_loop_over_all_items_is_left_to_the_kernels_own_vectors() -> None:
    loop = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)"
    grammar = of(f"{HEAD}{loop} c[i] = a[i];\n}}\n")
    assert sites(grammar) == []
    assert any(rule.type is RuleType.VECTOR for rule in grammar.rules)


def test_a_loop_between_barriers_may_read_what_another_one_wrote() -> None:
    shared = "__shared__ float s[64];"
    text = f"{TURNS} s[j] = a[j];\n__syncthreads();\n{TURNS} c[j] = s[63 - j];"
    assert len(sites(of(f"{HEAD}{shared} {text}\n}}\n"))) == 2
    around = f"for (int t = 0; t < 3; t++) {{ {text} }}"
    assert sites(of(f"{HEAD}{shared}\n{around}\n}}\n")) == []
    around = f"for (int t = 0; t < 3; t++) {{ {text} __syncthreads(); }}"
    assert len(sites(of(f"{HEAD}{shared}\n{around}\n}}\n"))) == 2


def test_a_function_that_a_kernel_calls_has_loops_of_one_thread_alone() -> None:
    body = "{ float sum = 0; LOOP sum += a[j]; return sum; }"
    kernel = "__global__ void k(const float *a, float *c, int n) { c[threadIdx.x] = f(a, n); }\n"
    for loop, count in ((TURNS, 0), ("for (int j = 0; j < n; j++)", 1)):
        function = f"__device__ float f(const float *a, int n) {body.replace('LOOP', loop)}\n"
        assert len(sites(of(function + kernel))) == count


def test_the_sentence_says_which_function_and_how_many() -> None:
    said = RuleType.WIDE.kind.specials["wide_K4"].format(function="k")
    assert said == "a loop of k handles 4 items in each turn, loaded together"
