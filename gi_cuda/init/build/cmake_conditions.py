"""Which conditions of CMake's lists hold where nobody sets anything.

Decided are plain texts, variables that the lists set, options as they are by themselves, and what
says which system this is. What a package that was or was not found decides is not known.
"""

from __future__ import annotations

import platform
import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence

_WORD = re.compile(r"[()]|[^\s()]+")
_VARIABLE = re.compile(r"\$\{([\w.-]+)\}")
_TRUE = {"1", "ON", "YES", "TRUE", "Y"}
_FALSE = {"0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND", ""}
_WINDOWS = platform.system() == "Windows"
_HERE = {
    "WIN32": _WINDOWS,
    "MSVC": _WINDOWS,
    "APPLE": platform.system() == "Darwin",
    "UNIX": not _WINDOWS,
    "LINUX": platform.system() == "Linux",
    **dict.fromkeys(("MINGW", "CYGWIN", "MSYS", "IOS", "ANDROID", "XCODE"), False),
}
"""What CMake says of the system it runs on."""

_UNSET = {"CMAKE_BUILD_TYPE": ""}
"""What is empty unless somebody sets it, though it may look as if something else did."""

_SET_ELSEWHERE = re.compile(r"[A-Z][A-Z0-9]*(?:_\w+)+")
"""What CMake itself, or a package, may have set."""

_COMPARED: Mapping[str, Callable[[str, str], bool]] = {
    "STREQUAL": lambda one, other: one == other,
    "MATCHES": lambda one, other: re.search(other, one) is not None,
}


_FOR_CUDA = re.compile(
    r"(?:\w*_)?(?:(?:USE|WITH|ENABLE|BUILD)_(?:CUDA|NVIDIA|GPU)|(?:CUDA|NVIDIA)_BACKEND)", re.I
)
_FOR_OTHERS = re.compile(r"(?:\w*_)?(?:AMD|HIP|ROCM|SYCL|ONEAPI|OPENCL|MUSA)(?:_BACKEND)?", re.I)


def by_itself(option: str, value: str) -> str:
    """What an option is where nobody sets it, but somebody builds for CUDA.

    Args:
        value: that the list gives it.
    """
    if _FOR_CUDA.fullmatch(option):
        return "ON"
    return "OFF" if _FOR_OTHERS.fullmatch(option) else value


def holds(words: Sequence[str], variables: Mapping[str, str]) -> bool | None:
    """Whether a condition does; None where that cannot be told.

    Args:
        words: of an ``if`` or ``elseif``.
        variables: what the lists set until then.
    """
    try:
        reading = _Reading(_WORD.findall(" ".join(words)), variables)
        found = reading.any_of()
    except (IndexError, re.error):
        return None
    return None if reading.words else found


def _either(one: bool | None, other: bool | None) -> bool | None:
    if one or other:
        return True
    return None if one is None or other is None else False


def _opposite(one: bool | None) -> bool | None:
    return None if one is None else not one


class _Reading:
    """What is still to be read of a condition: ``OR`` of ``AND`` of ``NOT`` of tests."""

    def __init__(self, words: list[str], variables: Mapping[str, str]) -> None:
        self.words = words
        self._variables = ChainMap({**variables}, _UNSET)

    def any_of(self) -> bool | None:
        found = self._all_of()
        while self._next_is("OR"):
            found = _either(found, self._all_of())
        return found

    def _all_of(self) -> bool | None:
        found = _opposite(self._test())
        while self._next_is("AND"):
            found = _either(found, _opposite(self._test()))
        return _opposite(found)

    def _test(self) -> bool | None:
        if self._next_is("NOT"):
            return _opposite(self._test())
        if self._next_is("("):
            found = self.any_of()
            return found if self._next_is(")") else None
        if self._next_is("DEFINED"):
            return True if self.words.pop(0) in self._variables else None
        word = self.words.pop(0)
        if self.words and self.words[0] not in ("AND", "OR", ")"):
            operator, other = self.words.pop(0), self.words.pop(0)
            left, right = self._text(word), self._text(other)
            if left == word and _SET_ELSEWHERE.fullmatch(word):
                return None
            compare = _COMPARED.get(operator)
            return None if not compare or left is None or right is None else compare(left, right)
        return self._truth(word)

    def _next_is(self, word: str) -> bool:
        found = self.words[:1] == [word]
        if found:
            self.words.pop(0)
        return found

    def _text(self, word: str) -> str | None:
        """A side of a comparison: a variable's value where it is the name of one."""
        unknown = [name for name in _VARIABLE.findall(word) if name not in self._variables]
        if unknown:
            return None
        plain = _VARIABLE.sub(lambda one: self._variables[one[1]], word).strip('"')
        return self._variables.get(plain, plain)

    def _truth(self, word: str) -> bool | None:
        text = self._text(word)
        if text is None:
            return None
        if text.upper() in _TRUE | _FALSE or text.upper().endswith("-NOTFOUND"):
            return text.upper() in _TRUE
        return _HERE.get(text)
