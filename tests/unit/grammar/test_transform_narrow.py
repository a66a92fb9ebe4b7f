"""Versions of kernels that divide in 32 bits: the text, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.narrow import Narrow
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.narrow_kernels import CASES, DECLINED, INDEX, PARAMETERS


def made(text: str) -> str:
    """Return the text with its one kernel rewritten."""
    code = read_code(Source("k.cu", text))
    (site,) = Narrow().sites(code)
    rewrite = Narrow().rewrite(code, site.at, "narrow_K")
    assert rewrite is not None
    assert rewrite.shape == {}
    return spliced(code.source, rewrite.splices).text


def offered(body: str) -> bool:
    text = f"__global__ void k({PARAMETERS}) {{\n{INDEX}\n{body}\n}}\n"
    return bool(list(Narrow().sites(read_code(Source("k.cu", text)))))


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str) -> None:
    assert made(CASES[name].source) == CASES[name].expected


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    assert not offered(DECLINED[name])


def test_what_is_declined_is_offered_without_its_reason() -> None:
    assert offered("b[i] = i / w;")


def test_lines_end_as_they_did() -> None:
    case = CASES["an index"]
    assert made(case.source.replace("\n", "\r\n")) == case.expected.replace("\n", "\r\n")


def test_a_version_for_usual_values_has_its_body() -> None:
    usual = (("k", (None, None, None, None, 2, None)),)
    program = CudaText(
        convert(Source("k.cu", CASES["turns"].source, usual=usual), types=EDIT_SETS["all"])
    )
    edits = {f"{x}_k.cu_1": Expansion((), f"{x}_K") for x in ("narrow", "usual")}
    text = program.changed(edits).text
    assert "k_with(true, a, b, n, w, s, u);" in text
    assert "        k_with2(a, b, n, w, 2, u);" in text


def test_the_sentence_says_which_kernel() -> None:
    said = RuleType.NARROW.kind.specials["narrow_K"].format(function="k")
    assert said == "k has a version that divides in 32 bits"
