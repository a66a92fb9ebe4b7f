"""From a changed source to a patch: configuration winners as new defaults, and the unified diff."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gi_cuda.grammar import Source
from gi_cuda.grammar.macro_values import constants_said, with_values
from gi_cuda.grammar.presence import read_presence

_LINES = re.compile(r"[^\n]*\n|[^\n]+")

NOTHING: Mapping[str, Any] = MappingProxyType({})


def with_defaults(
    source: Source,
    changes: Mapping[str, str | None],
    also: Mapping[str, str] = NOTHING,
    known: Mapping[str, str] = NOTHING,
    kept: Mapping[str, Collection[str]] = NOTHING,
) -> Source:
    """The source with changed configuration defaults.

    A macro that one of its files defines gets its new value where it stands, if that counts: under
    an ``#if`` that does not hold, and in comments, all stays. So does a constant. What none defines
    gets a definition in front of the main file's first line of code, which ``-D`` still overrules.

    Args:
        source: the source; all of its files count.
        changes: new value by name; None for a macro that is no longer to be defined.
        also: values of other macros, for those of their definitions that count.
        known: macros that the build defines.
        kept: for macros, what definitions say that stay as they are.
    """
    missing = dict(changes)
    macros = (macro.name for macro in read_presence(source.text).macros())
    for name in (*macros, *(one.name for one in constants_said(source.text))):
        missing.pop(name, None)
    source = _with_first(source, missing)
    source, found = with_values(source, {**also, **changes}, known, kept)
    return _with_first(source, {n: v for n, v in changes.items() if n not in {*found, *missing}})


def _with_first(source: Source, values: Mapping[str, str | None]) -> Source:
    """The source with definitions in front of its first line of code."""
    texts = [source.text[part.start : part.end] for part in source.stretches]
    first = next(n for n, part in enumerate(source.stretches) if part.file == source.name)
    for name, value in values.items():
        if value is not None:
            texts[first] = _defined_first(texts[first], name, value)
    return source.with_texts(texts)


def _defined_first(text: str, name: str, value: str) -> str:
    """The text with a definition of the macro in front of its first line of code."""
    at = _first_code(text)
    end = "\r\n" if "\r\n" in text else "\n"
    block = end.join([f"#ifndef {name}", f"#define {name} {value}", "#endif", ""])
    return text[:at] + block + text[at:]


_COMMENTS = re.compile(r"(?:\s+|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.S)


def _first_code(text: str) -> int:
    """Start of the first line that is neither blank nor a comment."""
    match = _COMMENTS.match(text)
    assert match is not None
    return text.rfind("\n", 0, match.end()) + 1


def blob(text: str) -> str:
    """The name that git gives a file of this text."""
    data = text.encode("utf-8", "surrogateescape")
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


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
    parts = [f"diff --git a/{path} b/{path}\n", f"index {blob(before)}..{blob(after)}\n"]
    for line in lines:
        parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def text_diff(before: str, after: str, name: str) -> str:
    """The difference of two texts, both called by one name."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(lines)


def files_diff(before: Mapping[str, str], after: Mapping[str, str], main: Path) -> str:
    """The diffs of several files as one, each file under its path in the repository.

    Args:
        before, after: the files' texts, by their paths from the folder of ``main``.
        main: where the main one of them is.
    """
    paths = paths_in_repository(main.resolve().parent / name for name in before)
    return "".join(
        unified_diff(text, after[name], path)
        for (name, text), path in zip(before.items(), paths, strict=True)
    )


def patch_root(source: Source, main: Path) -> Path:
    """Where the paths of a patch of a source start.

    Args:
        main: where the main one of its files is.
    """
    return root_of(main.resolve().parent / name for name in source.files)


def by_path(source: Source, main: Path) -> dict[str, str]:
    """The texts of a source's files by their paths in the repository.

    Args:
        main: where the main one of them is.
    """
    paths = paths_in_repository(main.resolve().parent / name for name in source.files)
    return dict(zip(paths, source.files.values(), strict=True))


def paths_in_repository(files: Iterable[Path]) -> list[str]:
    """The files' paths from :func:`root_of` them."""
    real = [Path(os.path.abspath(file)) for file in files]
    root = root_of(real)
    return [file.relative_to(root).as_posix() for file in real]


def root_of(files: Iterable[Path]) -> Path:
    """Where the paths of a patch of these files start: the root of the git work tree that all are
    in; without one, the innermost folder that holds all of them."""
    common = Path(os.path.commonpath([Path(os.path.abspath(file)).parent for file in files]))
    return work_tree(common) or common


def work_tree(folder: Path) -> Path | None:
    """The root of the git work tree that a folder is in; None if it is in none."""
    return next((f for f in (folder, *folder.parents) if (f / ".git").exists()), None)
