"""Read compiler options from a CMakeLists.txt.

The file is parsed as text; nothing is executed. Conditions on the operating system
(``if(WIN32)``) are decided. All branches of any other condition count.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TypeAlias

from gi_cuda.init.build.branches import Branches
from gi_cuda.init.build.build_options import Said, line_at, of_nvcc, option_said, text_of
from gi_cuda.init.build.build_variables import expanded
from gi_cuda.init.build.repository import Repository

_COMMAND = re.compile(r"^[ \t]*(\w+)[ \t]*\(((?:[^()]|\([^()]*\))*)\)", re.M)
_WORDS = re.compile(r'"([^"]*)"|([^\s"]+)')
_PROJECT = re.compile(r"(?im)^\s*project\s*\(")
_OPTIONS = {"set", "add_compile_options", "target_compile_options"}
_SCOPES = {"PUBLIC", "PRIVATE", "INTERFACE", "SYSTEM", "BEFORE", "AFTER"}

_WINDOWS = platform.system() == "Windows"
_HERE = {
    "WIN32": _WINDOWS,
    "MSVC": _WINDOWS,
    "APPLE": platform.system() == "Darwin",
    "UNIX": not _WINDOWS,
    "LINUX": platform.system() == "Linux",
}
"""CMake's variables for the operating system that it runs on."""

_Command: TypeAlias = tuple[str, list[str], int]
"""A command: its name, its words, its line."""


def is_project(text: str) -> bool:
    """Tell whether a CMakeLists.txt declares a project."""
    return _PROJECT.search(text) is not None


def of_cmake_list(folder: Path, repository: Repository) -> Iterator[Said]:
    """Yield the options in the CMakeLists.txt of a folder, of all its targets together."""
    file = folder / "CMakeLists.txt"
    if not file.is_file():
        return
    variables = _cmake_folders(folder, repository)
    for command, words, line in _counting(text_of(file), variables):
        place = f"{file}:{line}"
        if command == "set" and words[:1] in (["CMAKE_CUDA_STANDARD"], ["CMAKE_CXX_STANDARD"]):
            yield from option_said("-std", f"c++{' '.join(words[1:2])}", folder, place)
            continue
        if command in _OPTIONS and (command != "set" or words[:1] == ["CMAKE_CUDA_FLAGS"]):
            for _, one in of_nvcc(" ".join(words)):
                yield Said("nvcc", one, place)
            continue
        option = {
            "include_directories": "-I",
            "target_include_directories": "-I",
            "cuda_include_directories": "-I",
            "add_definitions": "-D",
            "add_compile_definitions": "-D",
            "target_compile_definitions": "-D",
        }.get(command)
        if option is None:
            continue
        for word in words[command.startswith("target") :]:
            if word in _SCOPES:
                continue
            value = expanded(word, variables)
            for one in (value or "").replace(";", " ").split():
                plain = one.removeprefix("-D") if option == "-D" else one
                yield from option_said(option, plain, folder, place)


def _counting(text: str, variables: dict[str, str]) -> Iterator[_Command]:
    """Yield the commands whose conditions hold; add variables that they set to `variables`."""
    branches = Branches()
    for command, words, line in _commands(text):
        if command == "if":
            branches.enter(_holds(words))
        elif branches and command in ("elseif", "else"):
            branches.otherwise(_holds(words) if command == "elseif" else True)
        elif branches and command == "endif":
            branches.leave()
        elif branches.count:
            if command == "set" and len(words) > 1:
                _set(variables, words)
            yield command, words, line


def _holds(words: Sequence[str]) -> bool | None:
    """Return whether ``if(WIN32)`` or ``if(NOT WIN32)`` holds; None for any other condition."""
    negated = words[:1] == ["NOT"]
    tested = words[negated:]
    here = _HERE.get(tested[0]) if len(tested) == 1 else None
    return None if here is None else here != negated


def _commands(text: str) -> Iterator[_Command]:
    """Yield the commands of a CMakeLists.txt, each with its words and its line."""
    plain = re.sub(r"(?m)#.*$", "", text)
    for match in _COMMAND.finditer(plain):
        words = [quoted or bare for quoted, bare in _WORDS.findall(match[2])]
        yield match[1].lower(), words, line_at(plain, match.start())


def _set(variables: dict[str, str], words: Sequence[str]) -> None:
    """Store the value of a ``set`` command, unless an earlier one set the variable."""
    said = takewhile(lambda word: word not in ("CACHE", "PARENT_SCOPE"), words[1:])
    value = expanded(" ".join(said), variables)
    if value is not None:
        variables.setdefault(words[0], value)


def _cmake_folders(folder: Path, repository: Repository) -> dict[str, str]:
    """Return CMake's built-in variables for folders."""
    lists = [up for up in repository.folders_up(folder) if (up / "CMakeLists.txt").is_file()]
    projects = (up for up in lists if is_project(text_of(up / "CMakeLists.txt")))
    project = str(next(projects, lists[-1]))
    top = str(lists[-1])
    return {
        "CMAKE_CURRENT_SOURCE_DIR": str(folder),
        "CMAKE_CURRENT_LIST_DIR": str(folder),
        "PROJECT_SOURCE_DIR": project,
        "CMAKE_SOURCE_DIR": top,
        "CMAKE_HOME_DIRECTORY": top,
    }
