"""Versions of kernels for usual values: the text, and where they are not offered."""

from __future__ import annotations

import re

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.usual import Usual
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, read_code
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.usual_kernels import CASES, DECLINED, USUAL


def with_usual(text: str) -> Source:
    """Return a source whose kernel ``k`` usually gets ``USUAL``."""
    listed = re.findall(r"\bk\(([^{;]*)\)\s*\{", text)[-1]
    names = [re.findall(r"\w+", re.sub(r"=.*", "", one))[-1:] for one in listed.split(",")]
    values = tuple(USUAL.get(*one) if one else None for one in names)
    return Source("k.cu", text, usual=(("k", values),))


def made(code: Code, choice: str = "usual_K") -> str:
    """Return the text with a version for usual values."""
    (site,) = Usual().sites(code)
    rewrite = Usual().rewrite(code, site.at, choice)
    assert rewrite is not None
    assert rewrite.shape == {}
    return spliced(code.source, rewrite.splices).text


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str) -> None:
    assert made(read_code(with_usual(CASES[name].before))) == CASES[name].after


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    for values in ((None, 2), (None, 2, None)):
        source = Source("k.cu", DECLINED[name] + "\n", usual=(("k", values),))
        assert list(Usual().sites(read_code(source))) == []


def test_what_is_declined_is_offered_without_its_reason() -> None:
    text = "__global__ void k(float *b, int s) { b[0] = 4 / s; }\n"
    assert len(list(Usual().sites(read_code(with_usual(text))))) == 1


def test_without_usual_values_nothing_is_offered() -> None:
    text = CASES["divisions"].before
    assert list(Usual().sites(read_code(Source("k.cu", text)))) == []
    assert list(Usual().sites(read_code(Source("k.cu", text, usual=(("k", (2, 3)),))))) == []


def test_a_version_for_parameters_that_bound_loops_or_divide_alone() -> None:
    """``s`` multiplies, and ``w`` is where the loop ends."""
    code = read_code(with_usual(CASES["a window with steps"].before))
    (site,) = Usual().sites(code)
    assert site.choices == ("usual_K", "usual_Kloops")
    assert "    if (w == 3)\n        k_with(a, b, n, s, 3);\n" in made(code, "usual_Kloops")


def test_where_all_parameters_bound_loops_or_divide_there_is_one_choice() -> None:
    (site,) = Usual().sites(read_code(with_usual(CASES["divisions"].before)))
    assert site.choices == ("usual_K",)


def test_lines_end_as_they_did() -> None:
    text = CASES["divisions"].before.replace("\n", "\r\n")
    assert made(read_code(with_usual(text))) == CASES["divisions"].after.replace("\n", "\r\n")


def test_in_a_namespace_lines_are_indented() -> None:
    lines = CASES["divisions"].before.splitlines()
    text = "namespace one {\n" + "".join(f"    {line}\n" for line in lines) + "}\n"
    after = "".join(
        f"    {line}\n" if line else "\n" for line in CASES["divisions"].after.splitlines()
    )
    assert made(read_code(with_usual(text))) == f"namespace one {{\n{after}}}\n"


def test_long_lines_are_broken() -> None:
    many = [f"p{n}" for n in range(20, 40)]
    listed = ", ".join(f"int {one}" for one in many)
    text = f"__global__ void k(float *b, {listed}) {{\n    b[0] = {' + '.join(many)};\n}}\n"
    code = read_code(Source("k.cu", text, usual=(("k", (None, *range(20))),)))
    assert made(code).endswith("""
    if (p20 == 0 && p21 == 1 && p22 == 2 && p23 == 3 && p24 == 4 && p25 == 5 && p26 == 6 &&
            p27 == 7 && p28 == 8 && p29 == 9 && p30 == 10 && p31 == 11 && p32 == 12 && p33 == 13 &&
            p34 == 14 && p35 == 15 && p36 == 16 && p37 == 17 && p38 == 18 && p39 == 19)
        k_with(b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
    else
        k_with(b, p20, p21, p22, p23, p24, p25, p26, p27, p28, p29, p30, p31, p32, p33, p34, p35,
                p36, p37, p38, p39);
}
""")


def test_it_comes_after_all_others_and_has_their_body() -> None:
    """A kernel with four items a thread gets a version of that."""
    before = with_usual(CASES["divisions"].before)
    program = CudaText(convert(before, types=EDIT_SETS["all"]))
    edits = {
        f"{family}_k.cu_1": Expansion((), choice)
        for family, choice in (("coarsen", "coarsen_K4"), ("usual", "usual_K"))
    }
    text = program.changed(edits).text
    assert text.index("item < 4") < text.index("__global__")
    assert program.shape(edits) == {"k.items.x": 4}
    assert "k_with(a, b, n, 2, 3);" in text
