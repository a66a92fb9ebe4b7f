"""How a source is compiled: the options given, a compilation database, the headers it reads."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.compile.process import run
from gi_cuda.backends.cuda.toolkit import HEADERS
from gi_cuda.backends.host.library import INCLUDE, NVCC_MACROS, find_compiler
from gi_cuda.errors import UserError
from gi_cuda.grammar import Source

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_STANDARD = re.compile(r"(?:c|gnu)\+\+\d[\da-z]")
_DEPENDENCY = re.compile(r"(?:\\ |[^\s\\]|\\(?!\r?\n))+")
_LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class Compilation:
    """Options that matter to a target.

    Attributes:
        include: folders, absolute.
        define: macros with their replacement text.
        standard: the C++ standard.
    """

    include: tuple[Path, ...] = ()
    define: Mapping[str, str] = field(default_factory=dict)
    standard: str = "c++17"


@dataclass(frozen=True, slots=True)
class Headers:
    """What a source includes.

    Attributes:
        own: files that are not the system's, absolute.
        toolkit: headers of CUDA's toolkit that the host back end does not have.
    """

    own: tuple[Path, ...]
    toolkit: tuple[str, ...]


def from_options(include: Iterable[Path], define: Iterable[str]) -> Compilation:
    """What ``-I`` and ``-D`` say.

    Raises:
        UserError: a folder that is not there, or a macro that has no name.
    """
    folders = []
    for folder in include:
        if not folder.is_dir():
            raise UserError("there is no such folder", where=f"-I {folder}")
        folders.append(folder.resolve())
    return Compilation(tuple(folders), dict(_definition(text) for text in define))


def _definition(text: str) -> tuple[str, str]:
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
        raise UserError(f"cannot be read: {error.strerror}", where=str(database)) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UserError(
            "this is not a compilation database",
            where=str(database),
            hint="CMake writes one with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
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
    standard = "c++17"
    rest = iter(words)
    for word in rest:
        for option in ("-I", "-isystem", "--include-path", "-D", "--define-macro", "-std", "--std"):
            if not word.startswith(option):
                continue
            value = word[len(option) :].removeprefix("=") or next(rest, "")
            if option in ("-D", "--define-macro"):
                name, text = _definition(value)
                define[name] = text
            elif option in ("-std", "--std"):
                standard = value if _STANDARD.fullmatch(value) else standard
            elif (folder := (start / value).resolve()).is_dir() and folder not in include:
                include.append(folder)
            break
    return Compilation(tuple(include), define, standard)


def joined(given: Compilation, database: Compilation) -> Compilation:
    """Both, with what was given by hand first."""
    include = tuple(dict.fromkeys([*given.include, *database.include]))
    return Compilation(include, {**database.define, **given.define}, database.standard)


def find_headers(path: Path, source: Source, compilation: Compilation) -> Headers:
    """The headers that a source includes, found as a compiler finds them.

    Args:
        path: where its main file is.
        source: the source; headers that stand in it are none of those it includes.

    Raises:
        UserError: one is not there; the message names it.
    """
    text = source.text
    own = [Path(n).resolve() for n in _listed(path, text, compilation, "-MM") if Path(n).exists()]
    missing = [n for n in _listed(path, text, compilation, "-M") if not Path(n).exists()]
    toolkit = tuple(name for name in missing if HEADERS.match(name))
    for name in missing:
        if name not in toolkit:
            raise UserError(
                f"the header {name!r} is not found",
                where=_line(path, source, name),
                hint="say where it is: -I DIR, or --compile-commands compile_commands.json",
            )
    return Headers(tuple(own), toolkit)


def _listed(source: Path, text: str, compilation: Compilation, how: str) -> list[str]:
    """What a compiler lists as included: all (``-M``), or all but the system's (``-MM``)."""
    command = [find_compiler(), "-x", "c++", how, "-MG", f"-std={compilation.standard}"]
    command += [f"-I{folder}" for folder in (*compilation.include, source.parent.resolve())]
    command += ["-isystem", str(INCLUDE), *NVCC_MACROS, "-"]
    finished = run(command, limit=_LIMIT, stdin=prelude(text, compilation.define))
    if not finished.ok:
        errors = [line for line in finished.stderr.splitlines() if "error" in line]
        raise UserError(
            f"its directives cannot be preprocessed: {errors[0] if errors else 'no message'}",
            where=str(source),
            hint="macros that it needs are given with -D NAME[=VALUE]",
        )
    _, _, names = finished.stdout.replace("\\\n", " ").partition(":")
    found = [name.replace("\\ ", " ") for name in _DEPENDENCY.findall(names)]
    return [name for name in found if name != "-"]


def _line(path: Path, source: Source, header: str) -> str:
    for file, text in source.files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(rf"\s*#\s*include\s*[<\"]{re.escape(header)}[>\"]", line):
                return f"{path if file == source.name else path.parent / file}:{number}"
    return str(path)
