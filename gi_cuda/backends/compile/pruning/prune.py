"""Remove from headers all declarations that variants cannot use.

The headers of a CUDA source are a megabyte once preprocessed. Variants use a fraction of that, but
a shard's compiler spends more time on the headers than on a handful of variants. This module
removes the declarations at namespace scope of a preprocessed text that are not needed.

Names alone decide what is needed: code that uses a name needs every declaration of that name, in
any namespace, and the names that these use in turn. So overloads stay together. An operator is
needed if the types of its operands are. Declarations that are not understood stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from itertools import pairwise
from typing import Any

from gi_cuda.backends.compile.pruning.declarations import (
    TYPE_KEYS,
    WORD,
    ScopeDeclaration,
    Tokens,
    declarations,
    keys_of,
    read_once,
)
from gi_cuda.backends.helpers import GONE, Helper, serve

_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*)", re.M)
_MARKER = re.compile(r'^# \d+ ("(?:\\.|[^"\\\n])*")([ \d]*)$', re.M)
_GAP = re.compile(rf"\n(?:[ \t]*\n|{_MARKER.pattern[1:-1]}\n)+")
_SAID = re.compile(rf"{WORD.pattern}|<<<")
_IMPLICIT: Mapping[str, str] = {
    "": """initializer_list type_info align_val_t nothrow_t destroying_delete_t terminate abort
        malloc free memcpy memmove memset dim3 uint3""",
    "<<<": """cudaStream_t cudaConfigureCall cudaSetupArgument cudaLaunch cudaLaunchDevice
        cudaLaunchDeviceV2 cudaGetParameterBuffer cudaGetParameterBufferV2
        __cudaPushCallConfiguration __cudaPopCallConfiguration""",
    "auto": "get tuple_size tuple_element",
    "for": "begin end",
    "printf": "vprintf",
    "operator": "strong_ordering weak_ordering partial_ordering",
}
"""Names that compilers look up without a use in the source, by the word that causes this."""

_PATIENCE = 60.0
"""Seconds to wait for a helper's answer, which takes one to three seconds."""


def identifiers(text: str) -> frozenset[str]:
    """Return all words in a text (in comments and literals, too), and ``<<<``."""
    return frozenset(_SAID.findall(text))


def expanded(names: Iterable[str], macros: str) -> frozenset[str]:
    """Return names and, for those that are macros, all names that they may expand to.

    Args:
        macros: definitions, one per line.
    """
    bodies = dict(_MACRO.findall(macros))
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += WORD.findall(bodies.get(name, ""))
    return frozenset(found)


def pruned(text: str, names: Iterable[str], opened: frozenset[str] | None = None) -> str:
    """Return a preprocessed text without unneeded declarations. Line markers and pragmas stay.

    Args:
        text: declarations. It is returned unchanged if brackets do not match.
        names: the names that the text's users use.
        opened: namespaces whose declarations may stay, with the code that uses these namespaces;
            None: all. In a library one name leads to most others, and some names are always used:
            the declaration of ``operator new`` uses ``std``. The caller has to try whether the
            result still compiles.
    """
    tokens = read_once(text)
    if tokens is None:
        return text
    parts, at = [], 0
    for item in _unreached(tokens, names, opened):
        first, last = tokens.starts[item.begin], tokens.ends[item.end - 1]
        parts += [text[at:first], *tokens.directives_in(first, last)]
        at = last
    left = "".join([*parts, text[at:]])
    # Empty lines matter in raw strings.
    return left if 'R"' in left else _GAP.sub(_narrowed, left)


def pruned_by_a_helper(
    text: str, names: Iterable[str], opened: frozenset[str] | None = None
) -> str:
    """Call :func:`pruned` in a helper process, or here if that fails.

    Meanwhile this process's other threads need not wait for the interpreter.
    """
    with suppress(*GONE), closing(Helper(__name__)) as helper:
        helper.give_way()
        answer: str = helper.ask((text, frozenset(names), opened), _PATIENCE)
        return answer
    return pruned(text, names, opened)


def _answer(asked: Any) -> str:
    text, names, opened = asked
    return pruned(text, names, opened)


def _narrowed(gap: re.Match[str]) -> str:
    """Return only the last line marker of a gap, without its flags for a file's begin or end."""
    markers = _MARKER.findall(gap[0])
    if not markers:
        return "\n"
    file, flags = markers[-1]
    return "\n# 1 " + " ".join([file, *(flag for flag in flags.split() if flag in "34")]) + "\n"


def _unreached(
    tokens: Tokens, names: Iterable[str], opened: frozenset[str] | None
) -> list[ScopeDeclaration]:
    """Return the declarations that no name leads to, in order."""
    waiting: list[str] = []
    by_name: dict[str, list[int]] = {}
    items = list(declarations(tokens))
    keys_of_all = [keys_of(tokens, item) for item in items]
    left_out = set() if opened is None else _closed(tokens, items, keys_of_all, opened)
    kept = [False] * len(items)
    at = 0
    for number, (item, keys) in enumerate(zip(items, keys_of_all, strict=True)):
        last = tokens.ends[item.end - 1]
        if tokens.unknown_in(at, last):
            keys = set()
        at = last
        if number in left_out:
            continue
        if not keys:
            kept[number] = True
            waiting += tokens.names(item.begin, item.end)
        for key in keys:
            by_name.setdefault(key, []).append(number)
    waiting += ["", *names]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        waiting += _IMPLICIT.get(name, "").split()
        for number in by_name.get(name, ()):
            if not kept[number]:
                kept[number] = True
                waiting += tokens.names(items[number].begin, items[number].end)
    return [item for item, stays in zip(items, kept, strict=True) if not stays]


def _closed(
    tokens: Tokens,
    items: Sequence[ScopeDeclaration],
    keys: Sequence[set[str]],
    opened: frozenset[str],
) -> set[int]:
    """Return the numbers of the declarations that closed namespaces rule out.

    These are the declarations in namespaces that are not opened, those that use such a namespace,
    and those that use a type defined, or a name declared only, by a declaration that is ruled out.
    """
    closed = {item.scope.partition("::")[0] for item in items} - opened - {""}
    found, lost, known = set[int](), set[str](), set[str]()
    for number, (item, mine) in enumerate(zip(items, keys, strict=True)):
        if item.scope.partition("::")[0] in closed:
            found.add(number)
            continue
        words = tokens.words[item.begin : item.end]
        said = {one for one, behind in pairwise(words) if behind == "::"}
        if words[:2] == ["using", "namespace"]:
            said.add(words[-2])
        if closed & said or not lost.isdisjoint(words):
            found.add(number)
            lost |= mine if TYPE_KEYS & set(item.words) and "{" in item.words else mine - known
        else:
            known |= mine
    return found


if __name__ == "__main__":
    serve(_answer, _PATIENCE)
