"""Docstrings say in their first words what the thing is or does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RIDDLES = {
    *("As", "By", "How", "If", "Of", "That", "Those", "What", "When", "Where", "Whether", "Which"),
    *("Who", "Why", "With"),
}
"""First words after which a reader does not know yet whether it is a value, a class or an action.

Instead of "What a kernel is launched with": "Launch configuration of a kernel".
"""


def riddles(file: Path) -> Iterator[str]:
    """Yield the place and the first line of each docstring, those of constants and attributes
    among them, that begins with such a word.
    """
    for node in ast.walk(ast.parse(file.read_text())):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        text = node.value.value
        if isinstance(text, str) and text.split()[:1] and text.split()[0] in RIDDLES:
            yield f"{file.relative_to(ROOT)}:{node.lineno}: {text.splitlines()[0]}"


@pytest.mark.parametrize("folder", ["gi_cuda", "benchmarks", "tests"])
def test_no_docstring_begins_with_a_riddle(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert [one for file in files for one in riddles(file)] == []
