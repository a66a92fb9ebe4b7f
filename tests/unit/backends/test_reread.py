"""Parsing only changed declarations gives the same result as parsing everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gi_cuda.backends.compile.pruning import reread
from gi_cuda.backends.compile.pruning.items import Item, Items, read_items
from gi_cuda.backends.compile.pruning.reread import read_beside

SOURCE = """\
typedef int cell;
static __device__ int twice(int x)
{
    return 2 * x;
}
__attribute__((global)) void __attribute__((launch_bounds(128))) one(cell *out, int width)
{
    extern __shared__ cell kept[];
    for (int i = 0; i < width; i++) {
        kept[i] = twice(i);
        out[i] = kept[i];
    }
}
__attribute__((global)) void __attribute__((launch_bounds(128))) two(cell *out)
{
    static __shared__ cell last;
    if (out[0] > 1) {
        last = out[1];
        out[0] = last;
    } else {
        out[0] = 0;
    }
}"""

IN_PLACE = [
    [("out[i] = kept[i];", "out[i] = width;")],
    [("i < width", "i < last_of_all")],
    [("if (out[0] > 1) {", "if (0) {"), ("i < width", "i < 1")],
    [("    for (int i", "#pragma unroll 4\n    for (int i")],
    [("        out[0] = last;\n    } else {\n", "    } else {\n        last = 3;\n")],
    [("launch_bounds(128))) one", "launch_bounds(512))) one"), ("2 * x", "3 * x")],
    [("launch_bounds(128", "launch_bounds(64, 2"), ("i < width", "i < 1"), ("out[1]", "out[2]")],
    [("__attribute__((launch_bounds(128))) two", "two"), ("kept[i];", "0;"), ("out[1]", "*out")],
]
"""Edits that need not be read with all of their function."""

READ_ANEW = [
    [("typedef int cell", "typedef short cell")],
    [("        out[0] = 0;\n", "        static int counter;\n")],
    [("        out[0] = 0;\n", '        asm("trap;");\n')],
    [("    return 2 * x;\n}", "    return 2 * x;\n}\nstatic __device__ int more()\n{\n}")],
    [("int twice(int x)\n{\n    return 2 * x;", "int twice(int x) {\n    return x;")],
    [("    return 2 * x;", "    return 2 * x; } int other; void f() {")],
    [("one(cell *out, int width)", "one(cell *out, int width, struct own *more)")],
]
"""Others."""


def read(text: str) -> Items:
    found = read_items(text.split("\n"))
    assert found is not None
    assert found.complete
    return found


def edited(edits: Sequence[tuple[str, str]]) -> str:
    text = SOURCE
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


def without_said(items: Sequence[Item]) -> list[Item]:
    return [replace(item, said=frozenset()) for item in items]


@pytest.mark.parametrize("edits", IN_PLACE + READ_ANEW)
def test_it_finds_what_reading_everything_finds(edits: Sequence[tuple[str, str]]) -> None:
    text = edited(edits)
    found, whole = read_beside(read(SOURCE).items, text), read(text).items
    assert found is not None
    assert without_said(found) == without_said(whole)
    assert all(one.said >= other.said for one, other in zip(found, whole, strict=True))


@pytest.mark.parametrize("edits", IN_PLACE)
def test_of_a_function_that_has_other_lines_only_these_are_read(
    edits: Sequence[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = 0

    def measured(lines: Sequence[str]) -> Items | None:
        nonlocal longest
        longest = max(longest, len(lines))
        return read_items(lines)

    before = read(SOURCE).items
    reread.read_anew.cache_clear()
    monkeypatch.setattr(reread, "read_items", measured)
    assert read_beside(before, edited(edits)) is not None
    assert longest <= 3  # a head and its closing brace


@pytest.mark.parametrize("edits", IN_PLACE)
def test_it_stays_in_its_namespace(edits: Sequence[tuple[str, str]]) -> None:
    before = read(f"namespace n {{\n{SOURCE}\n}}").items
    found = read_beside(before, edited(edits))
    assert found is not None
    assert {item.scope for item in found} == {"n"}


def test_what_does_not_end_is_not_told() -> None:
    assert read_beside(read(SOURCE).items, SOURCE.replace("    return 2 * x;", "    {")) is None
