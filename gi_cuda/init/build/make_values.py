"""What make would make of a text, as far as variables and functions of words go."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Mapping

_HERE = {
    "uname": platform.system(),
    "uname -s": platform.system(),
    "uname -m": platform.machine(),
}
"""What the commands would say that most ask for."""

_SHELL = re.compile(r"\$\(shell[ \t]+([\w -]+?)[ \t]*(?:2>[ \t]*/dev/null)?[ \t]*\)")
_INNERMOST = re.compile(r"\$(?:\(([^$(){}]*)\)|\{([^$(){}]*)\})")
_CALL = re.compile(r"([a-z-]+)[ \t]+(.*)", re.S)
_MOST = 256
"""Steps after which a variable that is made of itself is given up."""


def told(text: str) -> str:
    """A text with what commands would say that most ask for. None is run."""
    return _SHELL.sub(lambda one: _HERE.get(one[1], one[0]), text)


def computed(text: str, variables: Mapping[str, str]) -> str | None:
    """A text as make would have it, where variables that nobody sets are empty; None where that
    takes a command, a look at files, or a function that is not one of words."""
    text = told(text)
    for _ in range(_MOST):
        match = _INNERMOST.search(text)
        if match is None:
            return None if "$" in text else text
        inner = match[1] or match[2] or ""
        called = _CALL.fullmatch(inner)
        value = _called(called[1], called[2]) if called else variables.get(inner.strip(), "")
        if value is None:
            return None
        text = told(f"{text[: match.start()]}{value}{text[match.end() :]}")
    return None


def _called(name: str, given: str) -> str | None:
    """What a function gives; None for those that are not known here."""
    if name not in _FUNCTIONS:
        return None
    first, _, text = given.partition(",")
    return _FUNCTIONS[name](first.strip(), text.strip())


def _chosen(patterns: str, text: str, *, wanted: bool) -> str:
    """The words of a text that match one of some patterns, or none of them."""
    whole = "|".join(".*".join(map(re.escape, one.split("%", 1))) for one in patterns.split())
    return " ".join(one for one in text.split() if bool(re.fullmatch(whole, one)) == wanted)


_FUNCTIONS: Mapping[str, Callable[[str, str], str]] = {
    "findstring": lambda part, text: part if part in text else "",
    "filter": lambda patterns, text: _chosen(patterns, text, wanted=True),
    "filter-out": lambda patterns, text: _chosen(patterns, text, wanted=False),
    "strip": lambda text, _: " ".join(text.split()),
}
