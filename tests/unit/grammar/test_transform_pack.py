"""Packed accesses: the text that they leave, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Grammar, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.rule import Rule
from tests.unit.grammar.pack_kernels import HEAD, KERNELS, after

PAIR = "c[i] = a[2 * i] + a[2 * i + 1];"
DECLINED = {
    "elements that neighbouring threads share": "c[i] = a[i] + a[i + 1];",
    "the same elements for all threads": "c[i] = a[0] + a[1];",
    "items of three elements": "c[i] = a[3 * i] + a[3 * i + 1] + a[3 * i + 2];",
    "an index that counts up by 1": "for (int j = 0; j < n; j++) c[i] += a[i * n + j] + a[j + 1];",
    "elements with one between": "c[i] = a[4 * i] + a[4 * i + 2];",
    "a pair that begins at an odd offset": "c[i] = a[4 * i + 1] + a[4 * i + 2];",
    "an element that is loaded in some cases": "c[i] = a[2 * i] > 0 ? a[2 * i + 1] : 0;",
    "an operand that may be skipped": "c[i] = a[2 * i] > 0 && a[2 * i + 1] > 0;",
    "a store in a branch": "b[2 * i] = 1; if (i > 3) b[2 * i + 1] = 2;",
    "a store in some cases between stores": (
        "b[2 * i + 1] = 3; if (i > 3) b[2 * i + 1] = 7; b[2 * i] = 1;"
    ),
    "a store in a block between stores": "b[2 * i + 1] = 3; { b[2 * i + 1] = 7; } b[2 * i] = 1;",
    "a barrier between": "float x = a[2 * i]; __syncthreads(); c[i] = x + a[2 * i + 1];",
    "a return between": "c[i] = a[2 * i]; if (i > 3) return; c[i] += a[2 * i + 1];",
    "an index that changes": "int j = 2 * i; float x = a[j]; j += 4; c[i] = x + a[j + 1];",
    "a store between loads": "float x = b[2 * i]; b[i * n] = 2; c[i] = x + b[2 * i + 1];",
    "a load between stores": "b[2 * i] = 1; c[i] = b[n]; b[2 * i + 1] = 2;",
    "an element that is changed": "b[2 * i] += 1; b[2 * i + 1] += 2;",
    "another pointer to the same array": (
        "float *p = b + n; float x = b[2 * i]; p[i] = 2; c[i] = x + b[2 * i + 1];"
    ),
    "an index that calls a function": "c[i] = a[2 * min(i, n)] + a[2 * min(i, n) + 1];",
    "an index that is loaded": "const int *at = (const int *)b; c[i] = a[at[i]] + a[at[i] + 1];",
    "volatile memory": "volatile float *p = b + 2 * i; p[0] = 1; p[1] = 2;",
    "a pointer that is passed": f"{PAIR} f(a);",
    "a pointer that moves": f"a += n; {PAIR} a++; c[i] += *a;",
    "structures": "const S *s = (const S *)a + 2 * i; c[i] = s[0].x + s[1].x;",
    "a part that is compiled on a condition": (
        "float x = a[2 * i];\n#if WIDE\nb[0] = 1;\n#endif\nc[i] = x + a[2 * i + 1];"
    ),
    "a label between": (
        "if (i > 3) goto end; c[i] = a[2 * i]; end: c[i] += a[2 * i + 1]; c[i] += a[2 * i];"
    ),
    "elements of an unknown type": "auto *p = a + 2 * i; c[i] = p[0] + p[1];",
    "a case": "switch (n) { case 3: b[2 * i] = 1; b[2 * i + 1] = 2; }",
}


def of(text: str) -> Grammar:
    return convert(Source("k.cu", text), types=EDIT_SETS["transforms"])


def sites(grammar: Grammar) -> list[Rule]:
    return [rule for rule in grammar.rules if rule.type is RuleType.PACK]


@pytest.mark.parametrize("name", KERNELS)
def test_neighbouring_elements_are_accessed_at_once(name: str) -> None:
    choice, before, _ = KERNELS[name]
    grammar = of(f"{HEAD}{before}}}\n")
    (site,) = sites(grammar)
    found = CudaText(grammar).render({site.name: Expansion((), choice)})
    assert found == f"{HEAD}{after(name)}}}\n"


@pytest.mark.parametrize("name", DECLINED)
def test_other_elements_are_left_as_they_are(name: str) -> None:
    structure = "struct S { float x, y; };\n__device__ void f(const float *);\n"
    assert sites(of(f"{structure}{HEAD}{DECLINED[name]}\n}}\n")) == []


@pytest.mark.parametrize(
    ("type_", "choices"),
    [
        ("double", ["pack_K2"]),
        ("int", ["pack_K2", "pack_K4"]),
        ("short", ["pack_K2", "pack_K4", "pack_K8"]),
        ("unsigned char", ["pack_K4", "pack_K8", "pack_K16"]),
        ("__half", ["pack_K2", "pack_K4", "pack_K8"]),
        ("float2", ["pack_K2"]),
        ("float4", []),
    ],
)
def test_a_vector_has_from_four_to_sixteen_bytes(type_: str, choices: list[str]) -> None:
    stores = " ".join(f"b[16 * i + {k}] = a[i];" for k in range(16))
    grammar = of(f"{HEAD.replace('float', type_)}{stores}\n}}\n")
    assert [choice for site in sites(grammar) for choice in site.choices] == choices


def test_a_function_that_a_kernel_calls_has_places_too() -> None:
    function = "__device__ float f(const float *p, int i) { return p[2 * i] + p[2 * i + 1]; }\n"
    (site,) = sites(of(f"{function}{HEAD}c[i] = f(a, i);\n}}\n"))
    assert (site.name, site.function) == ("pack_k.cu_1", "f")
    for one in (function.replace("2 * i", "i"), f"constexpr {function}"):
        assert sites(of(f"{one}{HEAD}c[i] = f(a, i);\n}}\n")) == []


def test_the_sentence_says_which_function_and_how_many() -> None:
    said = RuleType.PACK.kind.specials["pack_K4"].format(function="k")
    assert said == "k accesses 4 neighbouring elements of an array at once"
