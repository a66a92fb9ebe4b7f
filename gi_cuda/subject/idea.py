"""External ideas: patches cut into hunks, each of which a search may take or leave.

The BarraCUDA work also grafted code that people had written onto an evolving kernel (Langdon et
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
    """An external patch, as hunks and parameter values that a search may take.

    Attributes:
        name: name for messages, usually that of the patch file.
        hunks: its changes, in the order of the source.
        values: parameter values that it sets, in notation.
        path: path of the patch file; "" for the answer of a program.
    """

    name: str
    hunks: tuple[Hunk, ...]
    values: str = ""
    path: str = ""

    def groups(self, source: Source) -> tuple[tuple[int, ...], ...]:
        """Return groups of hunks that need each other, by position.

        Hunks need each other if they share names that the source does not contain.
        """
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
    """Return the name of the donor that stands for a hunk, e.g. ``idea_K1h2``; both count from
    1.
    """
    return f"idea_K{idea}h{hunk}"


def donors(ideas: Sequence[Idea]) -> dict[str, Hunk]:
    """Return all hunks of some ideas, by donor name."""
    return {
        donor(n, k): hunk for n, idea in enumerate(ideas, 1) for k, hunk in enumerate(idea.hunks, 1)
    }


def cut(before: Source, after: Mapping[str, str], names: Sequence[str] = ()) -> Iterator[Hunk]:
    """Cut the difference of two versions of a source into hunks.

    Changes that are separated by nothing but braces form one hunk. Changes of white space alone,
    and changes that only define the macros in `names`, form no hunk.

    Args:
        after: the new texts of the source's files, by file name.
        names: macros whose definitions count as parameter values, not as changes.
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
            if i == len(old):  # text is appended to the file: include its last line
                i, j, lines = i - 1, j - 1, [old[-1][0]]
            start, end = old[i][1], old[i][1] + sum(map(len, lines))
            if before.text[start:end] == "".join(lines):
                found.append(Hunk(start, end, "".join(new[j:j_end])))
    return iter(sorted(found, key=lambda hunk: hunk.start))


def _placed(source: Source, file: str) -> Iterator[tuple[str, int]]:
    """Yield the lines of a file with their offsets in the source's text."""
    for part in source.stretches:
        if part.file == file:
            for one in _LINES.finditer(source.text, part.start, part.end):
                yield one[0], one.start()


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return the spans of differing lines in both texts; spans with no word between them are
    merged.
    """
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
