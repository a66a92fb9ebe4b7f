"""How a project is built, and how its sources are compiled, by its own build files.

Makefiles and CMake's lists are read for what stands in them plainly: folders of headers, macros,
the language standard, where their conditions let that in. Nothing is run, and what only a run would
tell is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.init.build.build_options import Said, text_of
from gi_cuda.init.build.cmake_lists import is_project, of_cmake_list
from gi_cuda.init.build.makefiles import of_makefiles
from gi_cuda.init.build.repository import Repository

_GENERATED_MAKEFILE = re.compile(r"\A(?:#.*\n)*# CMAKE generated file")
_TEST_RULE = re.compile(r"^(test|check)[ \t]*::?(?!=)", re.M)
_ARCHITECTURE = re.compile(
    r"^[ \t]*(\w+)[ \t]*[:?]?=[ \t]*(sm_|compute_)?(\d{2,3})[ \t]*(?:#.*)?$", re.M
)
_OF_ARCHITECTURE = re.compile(r"(?i)arch|^sms?$|capability")
_CTEST = re.compile(r"(?im)^\s*(?:enable_testing|include\s*\(\s*CTest|add_test)\b")


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


def own_build(
    source: Path, repository: Repository, architectures: Collection[int] = ()
) -> OwnBuild | None:
    """How the program that a source is part of is built; None where no build file tells.

    The nearest Makefile says it, or the nearest list of CMake that is one of a whole project.

    Args:
        architectures: that the program was built for; a Makefile that has another one by itself
            was told so.
    """
    for folder in repository.folders_up(source.resolve().parent):
        for file in (folder / name for name in ("GNUmakefile", "makefile", "Makefile")):
            text = text_of(file)
            if text and not _GENERATED_MAKEFILE.search(text):
                tests = _TEST_RULE.search(text)
                make = " ".join(["make", *_told(text, architectures)])
                return OwnBuild(folder, file, make, f"{make} {tests[1]}" if tests else "")
        text = text_of(file := folder / "CMakeLists.txt")
        if is_project(text):
            check = "ctest --test-dir build" if _CTEST.search(text) else ""
            return OwnBuild(folder, file, "cmake -S . -B build && cmake --build build", check)
    return None


def _told(makefile: str, architectures: Collection[int]) -> list[str]:
    """The variable that a Makefile was told for a program of some architectures; nothing where its
    own value is one of them."""
    for name, prefix, number in _ARCHITECTURE.findall(makefile):
        named = prefix or _OF_ARCHITECTURE.search(name)
        if architectures and named and int(number) not in architectures:
            return [f"{name}={prefix}{max(architectures)}"]
    return []


def said_by_build_files(source: Path, repository: Repository) -> Iterator[Said]:
    """What the build files beside a source and above it say, the nearest first.

    Macros and the standard are taken of the nearest folder alone that has such a file.
    """
    nearest = True
    for folder in repository.folders_up(source.resolve().parent):
        found = [*of_makefiles(folder), *of_cmake_list(folder, repository)]
        for one in found:
            if nearest or one.option == "-I":
                yield one
        nearest = nearest and not found
