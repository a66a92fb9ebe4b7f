"""Patches of a changed source: winning configuration values as new defaults, and unified diffs."""

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
    """Return the source with changed configuration defaults.

    A macro that the source defines gets its new value in its active definitions. Definitions in
    comments and under a false ``#if`` stay. A constant is changed in the same way. A macro that no
    file defines gets a definition in an ``#ifndef``, before the main file's first line of code, so
    ``-D`` still overrides it.

    Args:
        source: the source with all of its files.
        changes: new value by name; None for a macro that is to be undefined.
        also: values of other macros, for their active definitions.
        known: macros that the build defines.
        kept: by macro, texts of definitions that stay.
    """
    missing = dict(changes)
    macros = (macro.name for macro in read_presence(source.text).macros())
    for name in (*macros, *(one.name for one in constants_said(source.text))):
        missing.pop(name, None)
    source = _with_first(source, missing)
    source, found = with_values(source, {**also, **changes}, known, kept)
    return _with_first(source, {n: v for n, v in changes.items() if n not in {*found, *missing}})


def _with_first(source: Source, values: Mapping[str, str | None]) -> Source:
    """Return the source with definitions before the first line of code of its main file."""
    texts = [source.text[part.start : part.end] for part in source.stretches]
    first = next(n for n, part in enumerate(source.stretches) if part.file == source.name)
    for name, value in values.items():
        if value is not None:
            texts[first] = _defined_first(texts[first], name, value)
    return source.with_texts(texts)


def _defined_first(text: str, name: str, value: str) -> str:
    """Return the text with a guarded definition of a macro before its first line of code."""
    at = _first_code(text)
    end = "\r\n" if "\r\n" in text else "\n"
    block = end.join([f"#ifndef {name}", f"#define {name} {value}", "#endif", ""])
    return text[:at] + block + text[at:]


_COMMENTS = re.compile(r"(?:\s+|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.S)


def _first_code(text: str) -> int:
    """Return the offset of the first line that is neither blank nor a comment."""
    match = _COMMENTS.match(text)
    assert match is not None
    return text.rfind("\n", 0, match.end()) + 1


def blob(text: str) -> str:
    """Return the git object name of a file with this text."""
    data = text.encode("utf-8", "surrogateescape")
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def unified_diff(before: str, after: str, path: str) -> str:
    """Return a diff that ``git apply`` accepts; "" if the texts are equal.

    Args:
        before, after: both texts, with the line ends of the file.
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
    """Return the unified diff of two texts with the same name."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(lines)


def files_diff(before: Mapping[str, str], after: Mapping[str, str], main: Path) -> str:
    """Return one diff of several files, each under its path in the repository.

    Args:
        before, after: the files' texts, by their paths from the folder of ``main``.
        main: path of the main file.
    """
    paths = paths_in_repository(main.resolve().parent / name for name in before)
    return "".join(
        unified_diff(text, after[name], path)
        for (name, text), path in zip(before.items(), paths, strict=True)
    )


def patch_root(source: Source, main: Path) -> Path:
    """Return the folder that the paths in a patch of a source are relative to.

    Args:
        main: path of the source's main file.
    """
    return root_of(main.resolve().parent / name for name in source.files)


def by_path(source: Source, main: Path) -> dict[str, str]:
    """Return the texts of a source's files by their paths in the repository.

    Args:
        main: path of the source's main file.
    """
    paths = paths_in_repository(main.resolve().parent / name for name in source.files)
    return dict(zip(paths, source.files.values(), strict=True))


def paths_in_repository(files: Iterable[Path]) -> list[str]:
    """Return the files' paths relative to :func:`root_of` them."""
    real = [Path(os.path.abspath(file)) for file in files]
    root = root_of(real)
    return [file.relative_to(root).as_posix() for file in real]


def root_of(files: Iterable[Path]) -> Path:
    """Return the folder that the paths in a patch of these files are relative to.

    It is the root of the git work tree that holds all files, else their innermost common folder.
    """
    common = Path(os.path.commonpath([Path(os.path.abspath(file)).parent for file in files]))
    return work_tree(common) or common


def work_tree(folder: Path) -> Path | None:
    """Return the root of the git work tree that a folder is in; None if it is in none."""
    return next((f for f in (folder, *folder.parents) if (f / ".git").exists()), None)
