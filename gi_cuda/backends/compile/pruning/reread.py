"""Parse a text of which most declarations are known: only changed ones are parsed.

A variant is its reference except for a few lines, and parsing time is proportional to the length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from gi_cuda.backends.compile.pruning.declarations import KEYWORDS, WORD
from gi_cuda.backends.compile.pruning.items import Item, Kind, read_items

_NAMED = re.compile(
    r"\b(?:__global__|__device__|global|device)\b[^;{}=]*\([^;{}=]*\)[^;{}=()]*\{\s*\Z"
)
"""The head of a function up to its opening brace, if that ends a line."""
_UNUSUAL = re.compile(
    r"[\"'#\\]|//|/\*|\b(?:static|thread_local|extern|using|namespace|struct|class)\b"
)
_UNROLLED = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(?:no)?unroll\b[^\n\\]*$", re.M)
_BOUNDS = re.compile(r"__attribute__\(\(launch_bounds\([^()\n]*\)\)\) *")
_BRACKET = re.compile(r"[(){}\[\]]")
_OPENS = {")": "(", "]": "[", "}": "{"}


def changed_lines(before: Sequence[str], now: Sequence[str]) -> tuple[int, int]:
    """Return the range of lines in ``before`` that changed: first index, and index after the last.

    The lines after the range are the same in both texts.
    """
    most = min(len(before), len(now))
    first = next((at for at in range(most) if before[at] != now[at]), most)
    behind = next((n for n in range(most - first) if before[-1 - n] != now[-1 - n]), most - first)
    return first, len(before) - behind


def read_beside(old: Sequence[Item], text: str) -> Sequence[Item] | None:
    """Return the declarations in the text that replaces others; only changed ones are parsed.

    If brackets match and a declaration ends, another one begins. So the text between two unchanged
    declarations can be parsed alone. None if the declarations cannot be told in this way.
    """
    if any(one.last >= other.first for one, other in pairwise(old)):
        return None
    found: list[Item] = []
    waiting: list[Item] = []
    whole, at, line = f"\n{text}\n", 0, 0
    for item in (*old, None):
        here = whole.find(f"\n{item.text}\n", at) if item else len(whole) - 1
        if item and here < 0:
            waiting.append(item)
            continue
        if here > at:
            for some, piece in _pieces(waiting, whole[at + 1 : here]):
                new = _function(some, piece) or read_anew(piece)
                if new is None:
                    return None
                found += (_moved(one, line) for one in new)
                line += piece.count("\n") + 1
        if item:
            found.append(_moved(item, line - item.first))
            line += item.last - item.first + 1
            at = here + len(item.text) + 1
        waiting = []
    return found


@lru_cache(maxsize=512)
def read_anew(text: str) -> tuple[Item, ...] | None:
    """Return the declarations in a text; None if there is anything else.

    Cached, since variants share edits.
    """
    read = read_items(text.split("\n"))
    if read is None or read.gaps or not (read.complete or not read.items):
        return None
    return read.items


def _pieces(old: Sequence[Item], text: str) -> Iterator[tuple[Sequence[Item], str]]:
    """Split the text that replaces declarations where functions with known heads begin.

    Yields each piece with the declarations that it replaces.
    """
    begin = 0
    waiting: list[Item] = []
    for item in old:
        head = _like("\n".join(item.text.split("\n")[: _head(item.text)]))
        found = [match.start() for match in head.finditer(text)] if head else []
        if len(found) == 1 and found[0] >= begin:
            if found[0] > begin:
                yield waiting, text[begin : found[0] - 1]
            waiting, begin = [], found[0]
        waiting.append(item)
    yield waiting, text[begin:]


@lru_cache(maxsize=512)
def _like(head: str) -> re.Pattern[str] | None:
    """Return a pattern for a function's head with any launch bounds; None if it is no head."""
    if not _NAMED.search(head):
        return None
    some = map(re.escape, _BOUNDS.split(head))
    return re.compile(rf"^{f'(?:{_BOUNDS.pattern})?'.join(some)}$", re.M)


def _function(old: Sequence[Item], text: str) -> Sequence[Item] | None:
    """Parse the changed lines of one function only; None if in doubt.

    Its used names are those of the old function and those in new lines.
    """
    if len(old) != 1 or old[0].kind is not Kind.PLAIN:
        return None
    before, now = old[0].text.split("\n"), text.split("\n")
    end, behind = _head(old[0].text), _head(text)
    like = old[0] if before[:end] == now[:behind] else _headed("\n".join(now[:behind]))
    if like is None or not _NAMED.search("\n".join(before[:end])):
        return None
    before, body = before[end:], now[behind:]
    first, last = changed_lines(before, body)
    new = "\n".join(body[first : last + len(body) - len(before)])
    left_open = _left_open("\n".join(before[first:last]))
    ends = body != before and last == len(before)
    if ends or left_open is None or left_open != _left_open(new):
        return None
    said = like.said | old[0].said | (set(WORD.findall(new)) - KEYWORDS)
    last_line, scope = len(now) - 1, old[0].scope
    return [replace(like, first=0, last=last_line, text=text, said=said, scope=scope)]


def _head(text: str) -> int:
    """Return the number of lines before the body of what may be a function."""
    return text[: text.find("{")].count("\n") + 1 if "{" in text else 0


@lru_cache(maxsize=512)
def _headed(head: str) -> Item | None:
    """Return a function, parsed from its head alone; None if that is not possible."""
    read = read_anew(f"{head}\n}}") if _NAMED.search(head) else None
    if read is None or len(read) != 1 or read[0].kind is not Kind.PLAIN:
        return None
    return read[0]


def _left_open(text: str) -> str | None:
    """Return the unmatched brackets in statements; None if there is anything besides statements."""
    if _UNUSUAL.search(_UNROLLED.sub("", text)):
        return None
    left: list[str] = []
    for bracket in _BRACKET.findall(text):
        opening = _OPENS.get(bracket)
        if opening and left and left[-1] not in _OPENS:
            if left.pop() != opening:
                return None
        else:
            left.append(bracket)
    return "".join(left)


def _moved(item: Item, by: int) -> Item:
    return replace(item, first=item.first + by, last=item.last + by)
