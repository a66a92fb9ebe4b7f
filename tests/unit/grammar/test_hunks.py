"""Hunks of patches as rules of a grammar."""

from __future__ import annotations

from gi_cuda.grammar import EDIT_SETS, Expansion, Hunk, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText

TEXT = """\
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i] = a[i] / 2;
    }
}
int main() {
    k<<<1, 32>>>(0, 0);
    return 0;
}
"""


def hunk(old: str, new: str) -> Hunk:
    """The lines with a text, which is replaced in them."""
    at = TEXT.index(old)
    start, end = TEXT.rfind("\n", 0, at) + 1, TEXT.index("\n", at + len(old)) + 1
    return Hunk(start, end, TEXT[start:end].replace(old, new))


HALF = hunk("a[i] / 2", "a[i] * 0.5f")
OTHER = hunk("a[i] / 2", "ldexpf(a[i], -1)")
GUARD = hunk("i < n", "i >= 0 && i < n")
HOST = hunk("<<<1, 32>>>", "<<<1, 64>>>")


def read(**hunks: Hunk) -> CudaText:
    return CudaText(convert(Source("k.cu", TEXT), None, EDIT_SETS["transforms"], hunks))


def test_each_place_is_a_rule_with_the_hunks_that_begin_there() -> None:
    grammar = read(idea_K1h1=HALF, idea_K1h2=GUARD, idea_K2h1=OTHER).grammar
    choices = {one.name: one.choices for one in grammar.rules if one.name.startswith("idea")}
    assert choices == {
        "idea_k.cu_3": ("idea_K1h2",),
        "idea_k.cu_4": ("idea_K1h1", "idea_K2h1"),
    }
    assert grammar.donors("idea_k.cu_4") == ("idea_K1h1", "idea_K2h1")
    assert grammar.text("idea_K1h1") == HALF.text


def test_host_code_is_left_out() -> None:
    grammar = read(idea_K1h1=HOST).grammar
    assert not [one.name for one in grammar.rules if one.name.startswith("idea")]


def test_further_ideas_change_no_names() -> None:
    few = read(idea_K1h1=HALF).grammar.rules
    more = read(idea_K1h1=HALF, idea_K2h1=GUARD, idea_K3h1=OTHER).grammar.rules
    assert {one.name for one in few} < {one.name for one in more}


def test_hunks_are_made_beside_each_other_and_beside_line_edits() -> None:
    text = read(idea_K1h1=HALF, idea_K1h2=GUARD)
    both = {
        "idea_k.cu_3": Expansion((), "idea_K1h2"),
        "idea_k.cu_4": Expansion((), "idea_K1h1"),
        "launchbounds_k.cu_1": Expansion((), "launchbounds_K64"),
    }
    expected = (
        TEXT.replace("a[i] / 2", "a[i] * 0.5f")
        .replace("i < n", "i >= 0 && i < n")
        .replace("void k", "__launch_bounds__(64) void k")
    )
    assert text.render(both) == expected


def test_a_hunk_whose_lines_another_edit_changed_is_not_made() -> None:
    text = read(idea_K1h1=HALF)
    gone = {"_k.cu_4": Expansion((), ""), "idea_k.cu_4": Expansion((), "idea_K1h1")}
    assert text.render(gone) == text.render({"_k.cu_4": Expansion((), "")})


def test_transformations_see_the_text_that_hunks_leave() -> None:
    text = read(idea_K1h1=HALF)
    wanted = {
        "idea_k.cu_4": Expansion((), "idea_K1h1"),
        "coarsen_k.cu_1": Expansion((), "coarsen_K2"),
    }
    made = text.render(wanted)
    assert "a[i] * 0.5f" in made
    assert "item < 2" in made
    assert text.shape(wanted) == {"k.items.x": 2}
