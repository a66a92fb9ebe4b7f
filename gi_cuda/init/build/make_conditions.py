"""Evaluate the conditions of a Makefile, with variables at their defaults.

Conditions are decided as make would decide them here, as far as plain text and variables go. A
condition that calls a function or a command is not decided: all of its branches count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gi_cuda.init.build.branches import Branches
from gi_cuda.init.build.build_variables import expanded

_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<word>ifn?eq|ifn?def|else|endif)\b[ \t]*(?P<rest>.*)$"
)
_CONDITION = re.compile(r"(ifn?eq|ifn?def)\b[ \t]*(.*)")
_ASSIGNED = re.compile(
    r"^[ ]*(?:(?:export|override)[ ]+)*([\w.-]+)[ \t]*(\?|\+|:{0,2})=[ \t]*(.*)$"
)


def counting(text: str) -> str:
    """Return a Makefile with the lines that its conditions exclude replaced by empty ones.

    Args:
        text: the Makefile, with continued lines joined.
    """
    variables: dict[str, str] = {}
    branches, tabs = Branches(), list[bool]()
    lines = []
    for line in text.split("\n"):
        match = _DIRECTIVE.match(line)
        if match and _follow(branches, tabs, match, variables):
            lines.append("")
            continue
        counts = branches.count
        if counts and (found := _ASSIGNED.match(line)):
            _assign(variables, *found.groups())
        lines.append(line if counts else "")
    return "\n".join(lines)


def _assign(variables: dict[str, str], name: str, kind: str, value: str) -> None:
    if kind == "+":
        variables[name] = f"{variables.get(name, '')} {value}".strip()
    elif kind != "?" or name not in variables:
        variables[name] = value.strip()


def _follow(
    branches: Branches, tabs: list[bool], match: re.Match[str], variables: Mapping[str, str]
) -> bool:
    """Enter or leave a branch; return False if the line is no directive of this condition.

    Args:
        tabs: for each open condition, True if its first line is indented by a tab, as the lines of
            a recipe are.
    """
    word, rest, tab = match["word"], match["rest"].strip(), "\t" in match["indent"]
    if word.startswith("if"):
        branches.enter(_decided(word, rest, variables))
        tabs.append(tab)
        return True
    if not tabs or (tab and not tabs[-1]):
        return False
    if word == "endif":
        branches.leave()
        tabs.pop()
    elif condition := _CONDITION.match(rest):
        branches.otherwise(_decided(condition[1], condition[2].strip(), variables))
    else:
        branches.otherwise()
    return True


def _decided(word: str, rest: str, variables: Mapping[str, str]) -> bool | None:
    """Tell whether a condition holds; None if only a command or a function could tell."""
    if word in ("ifdef", "ifndef"):
        name = expanded(rest, variables, unset="")
        return None if name is None else bool(variables.get(name)) == (word == "ifdef")
    sides = _sides(rest)
    if sides is None:
        return None
    left, right = (expanded(one.strip(), variables, unset="") for one in sides)
    if left is None or right is None:
        return None
    return (left.strip() == right.strip()) == (word == "ifeq")


def _sides(rest: str) -> tuple[str, str] | None:
    """Return both sides of a comparison ``(a,b)``; None for another form."""
    if not (rest.startswith("(") and rest.endswith(")")):
        return None
    depth, inner = 0, rest[1:-1]
    for at, character in enumerate(inner):
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            return inner[:at], inner[at + 1 :]
    return None
