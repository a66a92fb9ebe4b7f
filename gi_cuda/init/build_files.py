"""What a project's own build files say of how its sources are compiled.

Makefiles and CMake's lists are read for what stands in them plainly: folders of headers, macros,
the language standard; of a Makefile, where its conditions let that in. Nothing is run, and what
only a run would tell is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from gi_cuda.init.build_variables import expanded
from gi_cuda.init.make_conditions import counting
from gi_cuda.init.repository import Repository

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile", "*.mk", "*.mak")
_ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*[:?+]{0,2}=[ \t]*(.*)$", re.M)
_OPTION = re.compile(
    r"""(?<![\w-])(?:-I|-isystem|-D|--?std=)\s*
        (?:"[^"\n]*"|'[^'\n]*'|(?:\$\([\w.-]+\)|[^\s"';|&)])+)""",
    re.VERBOSE,
)
_PARTS = re.compile(r"(-I|-isystem|-D|--?std=)\s*[\"']?([^\"']*)")
_COMMAND = re.compile(r"^[ \t]*(\w+)[ \t]*\(((?:[^()]|\([^()]*\))*)\)", re.M)
_WORDS = re.compile(r'"([^"]*)"|([^\s"]+)')
_GENERATED = re.compile(r"\$<(?:BUILD_INTERFACE|COMPILE_LANGUAGE:\w+):([^<>]*)>")
_SCOPES = {"PUBLIC", "PRIVATE", "INTERFACE", "SYSTEM", "BEFORE", "AFTER"}
_DEFINITION = re.compile(r"(?:-D)?([A-Za-z_]\w*)(?:=([\w.+-]*))?")
_ELSEWHERE = re.compile(
    r"(?!\w*(?:NO|DISABLE|WITHOUT)_)(?:\w*_)?(?:HIP|ROCM|SYCL|ONEAPI|MUSA)(?:_\w*)?(?:=|$)"
)
"""Macros of builds for devices that are none of CUDA's: what they switch on is another program."""

_STANDARD = re.compile(r"(?:c|gnu)\+\+(\d\d)")
_PROJECT = re.compile(r"(?im)^\s*project\s*\(")
_GENERATED_MAKEFILE = re.compile(r"\A(?:#.*\n)*# CMAKE generated file")
_TEST_RULE = re.compile(r"^(test|check)[ \t]*::?(?!=)", re.M)
_CTEST = re.compile(r"(?im)^\s*(?:enable_testing|include\s*\(\s*CTest|add_test)\b")
_OLDEST = 17
"""The C++ that nvcc takes without being told; what asks for an older one is compiled as this."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a build file says.

    Attributes:
        option: ``-I``, ``-D`` or ``-std``.
        value: the folder, the definition, the standard.
        place: file and line.
    """

    option: str
    value: str
    place: str


@dataclass(frozen=True, slots=True)
class OwnBuild:
    """How a project is built, as people would do it who find its build files.

    Attributes:
        folder: where.
        file: what says so.
        build: the command.
        check: that which runs its tests; "" where there seem to be none.
    """

    folder: Path
    file: Path
    build: str
    check: str = ""


def own_build(source: Path, repository: Repository) -> OwnBuild | None:
    """How the program that a source is part of is built; None where no build file tells.

    The nearest Makefile says it, or the nearest list of CMake that is one of a whole project.
    """
    for folder in repository.folders_up(source.resolve().parent):
        for file in (folder / name for name in ("GNUmakefile", "makefile", "Makefile")):
            text = _text(file)
            if text and not _GENERATED_MAKEFILE.search(text):
                tests = _TEST_RULE.search(text)
                return OwnBuild(folder, file, "make", f"make {tests[1]}" if tests else "")
        text = _text(file := folder / "CMakeLists.txt")
        if _PROJECT.search(text):
            check = "ctest --test-dir build" if _CTEST.search(text) else ""
            return OwnBuild(folder, file, "cmake -S . -B build && cmake --build build", check)
    return None


def said_by_build_files(source: Path, repository: Repository) -> Iterator[Said]:
    """What the build files beside a source and above it say, the nearest first.

    Macros and the standard are taken of the nearest folder alone that has such a file.
    """
    nearest = True
    for folder in repository.folders_up(source.resolve().parent):
        found = said_in(folder, repository)
        for one in found:
            if nearest or one.option == "-I":
                yield one
        nearest = nearest and not found


def is_toolkit(folder: Path) -> bool:
    """Whether a folder has the headers of CUDA itself, of which each back end has its own."""
    return (folder / "cuda_runtime_api.h").is_file()


def is_of_elsewhere(macro: str) -> bool:
    """Whether a macro is one of builds for other devices, ``WITH_HIP`` or ``WITH_HIP=1``."""
    return _ELSEWHERE.match(macro) is not None


def said_in(folder: Path, repository: Repository) -> list[Said]:
    """What the build files of one folder say."""
    return [*_of_makefiles(folder), *_of_cmake(folder, repository)]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _of_makefiles(folder: Path) -> Iterator[Said]:
    files = sorted({file for name in _MAKEFILES for file in folder.glob(name) if file.is_file()})
    # A continued line stays as many lines as it is.
    texts = {file: re.sub(r"\\\r?\n", "  ", _without_comments(_text(file))) for file in files}
    here = {"CURDIR": str(folder), "PWD": str(folder)}
    everywhere = _assigned(texts.values(), here)
    texts = {file: counting(text, everywhere) for file, text in texts.items()}
    variables = _assigned(texts.values(), here)
    for file, text in texts.items():
        original = _text(file)
        for match in _OPTION.finditer(text):
            part = _PARTS.match(match[0])
            value = None if part is None else expanded(part[2], variables)
            if part is not None and value is not None:
                at = original.find(match[0])
                place = f"{file}:{_line(original, at)}" if at >= 0 else str(file)
                yield from _said(part[1], value, folder, place)


def _assigned(texts: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """What variables are set to at first, besides those that are known."""
    variables = dict(known)
    for text in texts:
        for name, value in _ASSIGNED.findall(text):
            if "+=" in value or f"$({name})" in value:
                continue
            variables.setdefault(name, value.strip())
    return variables


def _without_comments(text: str) -> str:
    return re.sub(r"(?m)(?<!\\)#.*$", "", text)


def _said(option: str, value: str, folder: Path, place: str) -> Iterator[Said]:
    if option in ("-I", "-isystem"):
        found = (folder / value.strip()).resolve()
        if value.strip() and found.is_dir() and not is_toolkit(found):
            yield Said("-I", str(found), place)
    elif option == "-D":
        if _DEFINITION.fullmatch(value) and not is_of_elsewhere(value):
            yield Said("-D", value, place)
    elif (match := _STANDARD.fullmatch(value)) and _OLDEST < int(match[1]) < 90:
        yield Said("-std", value, place)


def _of_cmake(folder: Path, repository: Repository) -> Iterator[Said]:
    file = folder / "CMakeLists.txt"
    if not file.is_file():
        return
    variables = _set_above(folder, repository)
    for command, words, line in _commands(_text(file)):
        place = f"{file}:{line}"
        if command == "set" and len(words) > 1:
            _set(variables, words, variables)
            if words[0] in ("CMAKE_CUDA_STANDARD", "CMAKE_CXX_STANDARD"):
                yield from _said("-std", f"c++{words[1]}", folder, place)
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
            value = expanded(_GENERATED.sub(r"\1", word), variables)
            for one in (value or "").replace(";", " ").split():
                plain = one.removeprefix("-D") if option == "-D" else one
                yield from _said(option, plain, folder, place)


def _commands(text: str) -> Iterator[tuple[str, list[str], int]]:
    """The commands of a list of CMake, each with its words and its line."""
    plain = re.sub(r"(?m)#.*$", "", text)
    for match in _COMMAND.finditer(plain):
        words = [quoted or bare for quoted, bare in _WORDS.findall(match[2])]
        yield match[1].lower(), words, _line(plain, match.start())


def _set(variables: dict[str, str], words: Sequence[str], known: Mapping[str, str]) -> None:
    """Remember what a ``set`` says, if nothing nearer says it; `known` is what it may use."""
    said = takewhile(lambda word: word not in ("CACHE", "PARENT_SCOPE"), words[1:])
    value = expanded(" ".join(said), known)
    if value is not None:
        variables.setdefault(words[0], value)


def _set_above(folder: Path, repository: Repository) -> dict[str, str]:
    """What CMake's own variables say of a folder, and what the lists above it set."""
    variables = _cmake_folders(folder, repository)
    for up in [*repository.folders_up(folder)][1:]:
        for command, words, _ in _commands(_text(up / "CMakeLists.txt")):
            if command == "set" and len(words) > 1:
                _set(variables, words, {**variables, **_cmake_folders(up, repository)})
    return variables


def _cmake_folders(folder: Path, repository: Repository) -> dict[str, str]:
    """What CMake's own variables say of folders."""
    lists = [up for up in repository.folders_up(folder) if (up / "CMakeLists.txt").is_file()]
    projects = (
        up for up in lists if re.search(r"(?im)^\s*project\s*\(", _text(up / "CMakeLists.txt"))
    )
    project = str(next(projects, lists[-1]))
    top = str(lists[-1])
    return {
        "CMAKE_CURRENT_SOURCE_DIR": str(folder),
        "CMAKE_CURRENT_LIST_DIR": str(folder),
        "PROJECT_SOURCE_DIR": project,
        "CMAKE_SOURCE_DIR": top,
        "CMAKE_HOME_DIRECTORY": top,
    }
