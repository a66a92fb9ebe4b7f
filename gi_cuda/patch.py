"""From a changed source to a patch: configuration winners as new defaults, and the unified diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def with_defaults(text: str, changes: Mapping[str, str | None]) -> str:
    """The source with changed configuration defaults.

    A macro the source defines gets its new value where it stands; one that it does not define gets
    a definition in front of the first line of code, which ``-D`` still overrules.

    Args:
        text: the source.
        changes: new value by macro name; None for a macro that is no longer to be defined.
    """
    for name, value in changes.items():
        text = _without(text, name) if value is None else _with(text, name, value)
    return text


def _definition(name: str) -> re.Pattern[str]:
    tail = r"(?P<tail>[ \t]*(?://[^\r\n]*|/\*[^\r\n]*)?\r?)$"
    return re.compile(
        rf"^(?P<head>[ \t]*#[ \t]*define[ \t]+{re.escape(name)}\b)"
        rf"(?P<gap>[ \t]*)(?P<value>(?:\\\r?\n|\\(?!\r?\n)|[^\\\r\n])*?){tail}",
        re.M,
    )


def _with(text: str, name: str, value: str) -> str:
    def changed(match: re.Match[str]) -> str:
        gap = match["gap"] or " "
        return f"{match['head']}{gap}{value}{match['tail']}"

    text, count = _definition(name).subn(changed, text)
    if count:
        return text
    at = _first_code(text)
    end = "\r\n" if "\r\n" in text else "\n"
    block = end.join([f"#ifndef {name}", f"#define {name} {value}", "#endif", ""])
    return text[:at] + block + text[at:]


def _without(text: str, name: str) -> str:
    return _definition(name).sub(lambda m: f"/* {m['head'].strip()} */{m['tail']}", text)


_COMMENTS = re.compile(r"(?:\s+|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.S)


def _first_code(text: str) -> int:
    """Start of the first line that is neither blank nor a comment."""
    match = _COMMENTS.match(text)
    assert match is not None
    return text.rfind("\n", 0, match.end()) + 1


def unified_diff(before: str, after: str, path: str) -> str:
    """A diff in git's form that ``git apply`` takes; empty where nothing changed.

    Args:
        before, after: both texts, line ends as in the file.
        path: the file's path from the root of its repository, with ``/``.
    """
    old, new = _LINES.findall(before), _LINES.findall(after)
    lines = list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"))
    if not lines:
        return ""
    parts = [f"diff --git a/{path} b/{path}\n"]
    for line in lines:
        parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def path_in_repository(source: Path) -> str:
    """The source's path from the root of the git work tree it is in, else from its folder."""
    source = source.resolve()
    for folder in source.parents:
        if (folder / ".git").exists():
            return source.relative_to(folder).as_posix()
    return source.name
