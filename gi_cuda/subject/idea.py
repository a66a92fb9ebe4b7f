"""Ideas from outside: a patch cut into hunks, each of which a search may take or leave.

So the BarraCUDA work grafted code that people had written onto a kernel that evolved (Langdon et
al. 2015, section 2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

from gi_cuda.grammar import Hunk, Source
from gi_cuda.grammar.source import BYTE_ORDER_MARK

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Idea:
    """A patch of somebody else as what a search may take of it.

    Attributes:
        name: what it is called, for people: its file's name, as a rule.
        hunks: its changes, in the order of the source.
        values: of the parameters that it defines otherwise, in notation.
        path: of its file; "" of a program's answer.
    """

    name: str
    hunks: tuple[Hunk, ...]
    values: str = ""
    path: str = ""

    def groups(self, source: Source) -> tuple[tuple[int, ...], ...]:
        """The hunks that need each other, by their positions: they share names that the source does
        not have."""
        known = frozenset(_WORD.findall(source.text))
        new = [frozenset(_WORD.findall(one.text)) - known for one in self.hunks]
        group = list(range(len(self.hunks)))
        for first, second in combinations(range(len(group)), 2):
            if new[first] & new[second]:
                group = [group[first] if one == group[second] else one for one in group]
        return tuple(
            tuple(at for at, one in enumerate(group) if one == number)
            for number in dict.fromkeys(group)
        )


def donor(idea: int, hunk: int) -> str:
    """The special donor that stands for a hunk, e.g. ``idea_K1h2``; both count from 1."""
    return f"idea_K{idea}h{hunk}"


def donors(ideas: Sequence[Idea]) -> dict[str, Hunk]:
    """All hunks of some ideas, by their donors."""
    return {
        donor(n, k): hunk for n, idea in enumerate(ideas, 1) for k, hunk in enumerate(idea.hunks, 1)
    }


def cut(before: Source, after: Mapping[str, str], names: Sequence[str] = ()) -> Iterator[Hunk]:
    """Cut the difference of two versions of a source into hunks.

    Changes with nothing but braces between them are one hunk; those of white space alone, and
    those that only define macros, are none.

    Args:
        after: the new texts of its files, by their names.
        names: of macros whose definitions count as values, and not as changes.
    """
    defined = re.compile(rf"\s*#\s*(?:define|undef)\s+(?:{'|'.join(names) or '(?!)'})\b")
    found = []
    for file, text in after.items():
        old = list(_placed(before, file))
        new = _LINES.findall(text.removeprefix(BYTE_ORDER_MARK))
        for i, i_end, j, j_end in _changes([line for line, _ in old], new):
            lines = [line for line, _ in old[i:i_end]]
            if all(map(defined.match, [*lines, *new[j:j_end]])) or not _differ(lines, new[j:j_end]):
                continue
            if i == len(old):  # behind the last line, so that line comes along
                i, j, lines = i - 1, j - 1, [old[-1][0]]
            start, end = old[i][1], old[i][1] + sum(map(len, lines))
            if before.text[start:end] == "".join(lines):
                found.append(Hunk(start, end, "".join(new[j:j_end])))
    return iter(sorted(found, key=lambda hunk: hunk.start))


def _placed(source: Source, file: str) -> Iterator[tuple[str, int]]:
    """The lines of a file, with their offsets in the source's text."""
    for part in source.stretches:
        if part.file == file:
            for one in _LINES.finditer(source.text, part.start, part.end):
                yield one[0], one.start()


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """The spans of lines that differ, in both texts; spans with no word between them are one."""
    found: list[tuple[int, int, int, int]] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if found and not any(map(_WORD.search, old[found[-1][1] : i])):
            first_i, _, first_j, _ = found.pop()
            i, j = first_i, first_j
        found.append((i, i_end, j, j_end))
    return found


def _differ(old: Sequence[str], new: Sequence[str]) -> bool:
    return "".join(old).split() != "".join(new).split()
