"""Compiler options of a source: from the command line, a compilation database, or build files."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gi_cuda.errors import UserError
from gi_cuda.init.build.build_files import said_by_build_files
from gi_cuda.init.build.build_options import is_newer_standard, is_toolkit, of_nvcc
from gi_cuda.init.build.repository import Repository

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
STANDARD = "c++17"
"""The C++ standard that nvcc uses by default."""
_STANDARD = re.compile(r"(?:c|gnu)\+\+\d[\da-z]")

Compiled = Mapping[Path, frozenset[int]]
"""For each file, its lines (from 1) that are not empty after preprocessing."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """Compiler options that a target needs.

    Attributes:
        include: folders, absolute.
        define: macros with their replacement text.
        standard: the C++ standard.
        options: options of nvcc, without values.
        origins: file and line, or a remark, for each setting that the user did not give. Keys are
            folders (as text), macro names, options, and ``-std``.
        compiled: the lines of the source and its headers that the preprocessor keeps; files for
            which
            they are not known are missing.
        fragment: the file that the user named, if it is only a part of the source.
    """

    include: tuple[Path, ...] = ()
    define: Mapping[str, str] = field(default_factory=dict)
    standard: str = STANDARD
    origins: Mapping[str, str] = field(default_factory=dict)
    compiled: Compiled = field(default_factory=dict)
    fragment: Path | None = None
    options: tuple[str, ...] = ()


def from_options(include: Iterable[Path], define: Iterable[str]) -> Compilation:
    """Return the compilation that ``-I`` and ``-D`` options describe.

    Raises:
        UserError: a folder does not exist, or a macro has no name.
    """
    folders = []
    for folder in include:
        if not folder.is_dir():
            raise UserError(
                "there is no such folder",
                where=f"-I {folder}",
                hint="name one that is there, or leave it out",
            )
        folders.append(folder.resolve())
    return Compilation(tuple(folders), dict(definition(text) for text in define))


def definition(text: str) -> tuple[str, str]:
    """Return name and value of ``NAME=VALUE``; the value of ``NAME`` alone is 1.

    Raises:
        UserError: the name is not one of a macro.
    """
    name, equals, value = text.partition("=")
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name!r} is not the name of a macro",
            where=f"-D {text}",
            hint="write -D NAME or -D NAME=VALUE",
        )
    return name, value if equals else "1"


def from_database(database: Path, source: Path) -> Compilation:
    """Return the compiler options of a source in a ``compile_commands.json``.

    Raises:
        UserError: the file cannot be read, is not a compilation database, or has no entry for the
            source.
    """
    try:
        entries = json.loads(database.read_text(encoding="utf-8"))
        found = [entry for entry in entries if _file(entry, database) == source.resolve()]
        words = _words(found[0]) if found else []
        start = _folder(found[0], database) if found else database.parent
    except OSError as error:
        raise UserError(
            f"cannot be read: {error.strerror}",
            where=str(database),
            hint="name the file itself, compile_commands.json; or give -I DIR, -D NAME[=VALUE]",
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UserError(
            "this is not a compilation database",
            where=str(database),
            hint="CMake writes one, compile_commands.json in its build folder, with"
            " -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; or give the options themselves: -I DIR,"
            " -D NAME[=VALUE]",
        ) from None
    if not found:
        raise UserError(
            f"the compilation database has no entry for {source.name}",
            where=str(database),
            hint="give the options themselves: -I DIR, -D NAME[=VALUE]",
        )
    return _parsed(words, start)


def _folder(entry: Mapping[str, Any], database: Path) -> Path:
    return database.parent.resolve() / str(entry.get("directory", "."))


def _file(entry: Mapping[str, Any], database: Path) -> Path:
    return (_folder(entry, database) / str(entry["file"])).resolve()


def _words(entry: Mapping[str, Any]) -> list[str]:
    if "arguments" in entry:
        return [str(word) for word in entry["arguments"]]
    return shlex.split(entry["command"])


def _parsed(words: Sequence[str], start: Path) -> Compilation:
    include: list[Path] = []
    define: dict[str, str] = {}
    standard = STANDARD
    rest = iter(words)
    for word in rest:
        for option in ("-I", "-isystem", "--include-path", "-D", "--define-macro", "-std", "--std"):
            if not word.startswith(option):
                continue
            value = word[len(option) :].removeprefix("=") or next(rest, "")
            if option in ("-D", "--define-macro"):
                name, text = definition(value)
                define[name] = text
            elif option in ("-std", "--std"):
                standard = value if _STANDARD.fullmatch(value) else standard
            elif (folder := (start / value).resolve()).is_dir() and folder not in include:
                include.append(folder)
            break
    options = tuple(dict.fromkeys(option for _, option in of_nvcc(" ".join(words))))
    return Compilation(tuple(include), define, standard, options=options)


def joined(given: Compilation, database: Compilation) -> Compilation:
    """Merge two compilations; what the user gave takes precedence."""
    include = tuple(dict.fromkeys([*given.include, *database.include]))
    define = {**database.define, **given.define}
    said = given.standard != STANDARD
    standard = given.standard if said else database.standard
    origins = {**database.origins, **given.origins}
    for name in (*map(str, given.include), *given.define, *(["-std"] if said else [])):
        origins.pop(name, None)
    options = tuple(dict.fromkeys([*given.options, *database.options]))
    return Compilation(include, define, standard, origins, options=options)


def of_project(source: Path, given: Compilation, repository: Repository) -> Compilation:
    """Complete the options that the user gave by those of the project.

    These come from a compilation database with an entry for the source, otherwise from the build
    files. What the user gave takes precedence.
    """
    for folder in repository.folders_up(source.resolve().parent):
        for place in (folder, *sorted(folder.glob("*build*")), folder / "out"):
            database = place / "compile_commands.json"
            if not database.is_file():
                continue
            try:
                found = from_database(database, source)
            except UserError:
                # No entry for this source, or not a compilation database.
                continue
            include = tuple(one for one in found.include if not is_toolkit(one))
            names = [*map(str, include), *found.define, *found.options, "-std"]
            origins = dict.fromkeys(names, str(database))
            newest = found.standard if is_newer_standard(found.standard) else STANDARD
            found = replace(found, include=include, standard=newest, origins=origins)
            return joined(given, found)
    return joined(given, _of_build_files(source, repository))


def _of_build_files(source: Path, repository: Repository) -> Compilation:
    include: dict[Path, None] = {}
    define: dict[str, set[str]] = {}
    standards: dict[str, None] = {}
    options: dict[str, None] = {}
    origins: dict[str, str] = {}
    for said in said_by_build_files(source, repository):
        if said.option == "-I":
            include.setdefault(Path(said.value))
            origins.setdefault(said.value, said.place)
        elif said.option == "-std":
            standards.setdefault(said.value)
            origins.setdefault("-std", said.place)
        elif said.option == "nvcc":
            options.setdefault(said.value)
            origins.setdefault(said.value, said.place)
        else:
            name, value = definition(said.value)
            define.setdefault(name, set()).add(value)
            origins.setdefault(name, said.place)
    # A macro that builds define differently has no single value.
    agreed = {name: min(values) for name, values in define.items() if len(values) == 1}
    standard = next(iter(standards), STANDARD)
    return Compilation(tuple(include), agreed, standard, origins, options=tuple(options))
