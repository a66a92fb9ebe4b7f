"""How a source is compiled: the options given, a compilation database, a project's build files."""

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
from gi_cuda.init.build.build_options import is_toolkit, of_nvcc
from gi_cuda.init.build.repository import Repository

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
STANDARD = "c++17"
"""What nvcc takes by itself."""
_STANDARD = re.compile(r"(?:c|gnu)\+\+\d[\da-z]")

Compiled = Mapping[Path, frozenset[int]]
"""By a file's path the lines, from 1, of which the preprocessor leaves something."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """Options that matter to a target.

    Attributes:
        include: folders, absolute.
        define: macros with their replacement text.
        standard: the C++ standard.
        options: of nvcc, without values.
        origins: where folders, macros, options and the standard come from that nobody gave by hand:
            each folder (as a text), macro, option or ``-std`` with a file and line, or words.
        compiled: what of the source and its headers is compiled at all; nothing of a file of which
            that is not known.
        fragment: the file that was asked for, where it is only a part of the source.
    """

    include: tuple[Path, ...] = ()
    define: Mapping[str, str] = field(default_factory=dict)
    standard: str = STANDARD
    origins: Mapping[str, str] = field(default_factory=dict)
    compiled: Compiled = field(default_factory=dict)
    fragment: Path | None = None
    options: tuple[str, ...] = ()


def from_options(include: Iterable[Path], define: Iterable[str]) -> Compilation:
    """What ``-I`` and ``-D`` say.

    Raises:
        UserError: a folder that is not there, or a macro that has no name.
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
    """Name and value of ``NAME=VALUE``; that of ``NAME`` alone is 1.

    Raises:
        UserError: that is no name of a macro.
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
    """What a ``compile_commands.json`` says of a source.

    Raises:
        UserError: the file cannot be read, is no such database, or does not have the source.
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
    """Both, with what was given by hand first."""
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
    """What was given, and what the project's own files say: a compilation database that has the
    source, else its build files. What was given comes before all else.
    """
    for folder in repository.folders_up(source.resolve().parent):
        for place in (folder, *sorted(folder.glob("*build*")), folder / "out"):
            database = place / "compile_commands.json"
            if not database.is_file():
                continue
            try:
                found = from_database(database, source)
            except UserError:
                # It has other sources, or is none.
                continue
            include = tuple(one for one in found.include if not is_toolkit(one))
            names = [*map(str, include), *found.define, *found.options, "-std"]
            origins = dict.fromkeys(names, str(database))
            newest = found.standard if found.standard[-2:] > "17" else STANDARD
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
    # What is built in several ways has no value of its own.
    agreed = {name: min(values) for name, values in define.items() if len(values) == 1}
    standard = next(iter(standards), STANDARD)
    return Compilation(tuple(include), agreed, standard, origins, options=tuple(options))
