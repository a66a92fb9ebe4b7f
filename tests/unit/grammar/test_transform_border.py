"""Border tests taken out of the interior: the text, and where they are not taken out."""

from __future__ import annotations

import re

import pytest

from gi_cuda.grammar import Expansion, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.border import Border
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.border_loops import DECLINED, HEAD, KERNELS


@pytest.mark.parametrize("name", KERNELS)
def test_before_and_after(name: str) -> None:
    before, after = KERNELS[name]
    code = read_code(Source("k.cu", f"{HEAD}{before}}}\n"))
    (site,) = Border().sites(code)
    rewrite = Border().rewrite(code, site.at, "border_K")
    assert rewrite is not None
    assert spliced(code.source, rewrite.splices).text == f"{HEAD}{after}}}\n"
    assert rewrite.shape == {}


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    code = read_code(Source("k.cu", f"{HEAD}    {DECLINED[name]}\n}}\n"))
    assert list(Border().sites(code)) == []


@pytest.mark.parametrize(
    "clamp",
    [
        "int clamp(int v, int low, int high) { return max(v, min(low, high)); }",
        "int clamp(int low, int v, int high) { return max(low, min(v, high)); }",
        "float clamp(float v, float low, int high) { return max(low, min(v, high)); }",
        "float clamp(float v, float low, float high) { return max(low, min(v, high)); }",
        "int clamp(int v, int low, int high) { return v < low ? low : v; }",
    ],
)
def test_function_that_is_no_clamp_stays(clamp: str) -> None:
    head = re.sub(r"inline int clamp.*", clamp, HEAD)
    body = "    for (int i = 0; i < r; i++) sum += in[clamp(x + i, 0, w - 1)];\n}\n"
    assert list(Border().sites(read_code(Source("k.cu", head + body)))) == []


def test_loops_one_after_the_other_have_a_gene_each() -> None:
    body = "    for (int i = 0; i < 2; i++) if (x + i < w) sum += in[x + i];\n"
    grammar = convert(Source("k.cu", f"{HEAD}{body}{body}}}\n"), types=frozenset({RuleType.BORDER}))
    first, second = (rule.name for rule in grammar.rules)
    changed = CudaText(grammar).render({second: Expansion((), "border_K")})
    assert changed.startswith(f"{HEAD}{body}    if (x + 1 < w) {{\n")
    both = CudaText(grammar).render({one: Expansion((), "border_K") for one in (first, second)})
    assert both.count("if (x + 1 < w) {") == 2


def test_loop_whose_test_is_gone_is_not_rewritten() -> None:
    code = read_code(Source("k.cu", f"{HEAD}    for (int i = 0; i < 2; i++) sum += in[x];\n}}\n"))
    assert Border().rewrite(code, code.text.index("for ("), "border_K") is None
