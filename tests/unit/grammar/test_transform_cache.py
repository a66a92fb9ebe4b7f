"""Streaming hints: the text that they leave, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Expansion, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.access.cache import Cache
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.cache_arrays import DECLINED, HEAD, KERNELS, OTHER_TYPES, STREAMED


@pytest.mark.parametrize("name", KERNELS)
def test_before_and_after(name: str) -> None:
    before, after = KERNELS[name]
    code = read_code(Source("k.cu", f"{HEAD}    {before}\n}}\n"))
    (site,) = Cache().sites(code)
    rewrite = Cache().rewrite(code, site.at, "cache_K")
    assert rewrite is not None
    assert spliced(code.source, rewrite.splices).text == f"{HEAD}    {after}\n}}\n"
    assert rewrite.shape == {}


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    code = read_code(Source("k.cu", f"{HEAD}    {DECLINED[name]}\n}}\n"))
    assert list(Cache().sites(code)) == []


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_where_there_is_no_hint(name: str) -> None:
    called = "__global__ void other(int *p) { k(p, p); }\n" if "device" in name else ""
    text = OTHER_TYPES[name].replace("BODY", "p[threadIdx.x] = q[threadIdx.x];")
    assert list(Cache().sites(read_code(Source("k.cu", text + called)))) == []


@pytest.mark.parametrize("type_", STREAMED)
def test_types_with_hints(type_: str) -> None:
    text = f"#include <cstdint>\n__global__ void k({type_} *p, const {type_} *q) {{\n"
    text += "    p[threadIdx.x] = q[threadIdx.x];\n}\n"
    code = read_code(Source("k.cu", text))
    places = [one.at for one in Cache().sites(code)]
    assert [text[at] for at in places] == ["p", "q"]


def test_each_array_has_a_gene_of_its_own() -> None:
    text = f"{HEAD}    if (i < n) {{ c[i] = a[i]; d[i] = b[i]; }}\n}}\n"
    grammar = convert(Source("k.cu", text), types=frozenset({RuleType.CACHE}))
    names = [rule.name for rule in grammar.rules]
    assert names == ["cache_k.cu_5", "cache_k.cu_5.2", "cache_k.cu_5.3", "cache_k.cu_5.4"]
    made = {name: Expansion((), "cache_K") for name in names}
    changed = "__stcs(&c[i], __ldcs(&a[i])); __stcs(&d[i], __ldcs(&b[i]));"
    assert changed in CudaText(grammar).render(made)


def test_place_that_is_gone_is_not_rewritten() -> None:
    code = read_code(Source("k.cu", f"{HEAD}    c[i] += a[i];\n}}\n"))
    assert Cache().rewrite(code, code.text.index("c, float"), "cache_K") is None
