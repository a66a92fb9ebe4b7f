"""Patches split into hunks: lines of each, dependencies between hunks, invalid ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.grammar import FileSpan, Source
from gi_cuda.grammar.splice import replacing, spliced
from gi_cuda.subject.idea import Idea, cut

KERNEL = """\
#define BLOCK 128
__global__ void k(float *a, int n) {
    int i = threadIdx.x;
    if (i < n) {
        a[i] = a[i] / 2;
    }
}
"""


def hunks(before: str, after: str, *names: str) -> list[tuple[str, str]]:
    """The lines that go and those that come, of each hunk."""
    source = Source("k.cu", before)
    found = cut(source, {"k.cu": after}, names)
    return [(before[one.start : one.end], one.text) for one in found]


CASES = {
    "a line": (
        ("/ 2", "* 0.5f"),
        [("        a[i] = a[i] / 2;\n", "        a[i] = a[i] * 0.5f;\n")],
    ),
    "a line more": (
        ("    if", "    a += 0;\n    if"),
        [("", "    a += 0;\n")],
    ),
    "a line less": (("    int i = threadIdx.x;\n", ""), [("    int i = threadIdx.x;\n", "")]),
    "white space": (("    int i", "\tint  i"), []),
    "lines behind the last": (
        ("    }\n}\n", "    }\n}\nint more;\n"),
        [("}\n", "}\nint more;\n")],
    ),
    "with braces alone between": (
        ("        a[i] = a[i] / 2;\n    }\n}", "        a[i] *= 2;\n    }\n    return;\n}"),
        [("        a[i] = a[i] / 2;\n    }\n", "        a[i] *= 2;\n    }\n    return;\n")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_difference_becomes_hunks(case: str) -> None:
    (old, new), expected = CASES[case]
    assert KERNEL.count(old) == 1
    assert hunks(KERNEL, KERNEL.replace(old, new)) == expected


def test_definitions_of_parameters_are_values_and_no_hunks() -> None:
    after = KERNEL.replace("BLOCK 128", "BLOCK 256")
    assert hunks(KERNEL, after, "BLOCK") == []
    assert hunks(KERNEL, after) == [("#define BLOCK 128\n", "#define BLOCK 256\n")]


def test_files_of_a_source_are_cut_each_by_itself() -> None:
    text = "a\n#line 1\nb\nc\n#line 2\nd\n"
    parts = (FileSpan("k.cu", 1, 0, 2), FileSpan("k.h", 1, 10, 14), FileSpan("k.cu", 2, 22, 24))
    source = Source("k.cu", text, parts)
    assert source.files == {"k.cu": "a\nd\n", "k.h": "b\nc\n"}
    found = list(cut(source, {"k.cu": "a\ne\n", "k.h": "b\nx\n"}))
    assert [(text[one.start : one.end], one.text) for one in found] == [
        ("c\n", "x\n"),
        ("d\n", "e\n"),
    ]


def test_hunks_that_share_a_new_name_need_each_other() -> None:
    after = (
        KERNEL.replace("threadIdx.x;", "threadIdx.x;\n    float half = 0.5f;")
        .replace("a[i] / 2", "a[i] * half")
        .replace("BLOCK 128", "BLOCK 64")
    )
    source = Source("k.cu", KERNEL)
    idea = Idea("an idea", tuple(cut(source, {"k.cu": after})))
    assert idea.groups(source) == ((0,), (1, 2))


LINES = st.lists(st.sampled_from(["a\n", "b\n", "{\n", "}\n", "\n", "c = 1;\n"]), max_size=12)


@given(LINES.filter(bool), LINES)
def test_all_hunks_together_are_the_whole_difference(old: list[str], new: list[str]) -> None:
    source, after = Source("k.cu", "".join(old)), "".join(new)
    splices = [replacing(one.start, one.end, one.text) for one in cut(source, {"k.cu": after})]
    assert spliced(source, splices).text.split() == after.split()
