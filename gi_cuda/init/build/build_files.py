"""Find the build command of a project and the compiler options of its sources in its build files.

Makefiles and CMakeLists.txt are parsed as text for include folders, macros and the language
standard, taking their conditions into account. Nothing is executed; options that only a run of the
build would reveal are missed.
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
    """The commands that build and test a project.

    Attributes:
        folder: the folder to run them in.
        file: the build file that they come from.
        build: the build command.
        check: the test command; "" if the project seems to have no tests.
    """

    folder: Path
    file: Path
    build: str
    check: str = ""


def own_build(
    source: Path, repository: Repository, architectures: Collection[int] = ()
) -> OwnBuild | None:
    """Return the build commands of the program that a source is part of; None without a build file.

    The nearest Makefile is taken, or the nearest CMakeLists.txt that declares a project.

    Args:
        architectures: compute capabilities that the program was built for. If the default of the
            Makefile is not among them, the command sets the variable.
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
    """Return the ``NAME=VALUE`` argument that makes a Makefile build for one of some architectures.

    Returns an empty list if the Makefile's default is one of them.
    """
    for name, prefix, number in _ARCHITECTURE.findall(makefile):
        named = prefix or _OF_ARCHITECTURE.search(name)
        if architectures and named and int(number) not in architectures:
            return [f"{name}={prefix}{max(architectures)}"]
    return []


def said_by_build_files(source: Path, repository: Repository) -> Iterator[Said]:
    """Yield the options in the build files of a source's folder and the folders above, nearest
    first.

    Macros and the standard come from the nearest folder with build files alone.
    """
    nearest = True
    for folder in repository.folders_up(source.resolve().parent):
        found = [*of_makefiles(folder), *of_cmake_list(folder, repository)]
        for one in found:
            if nearest or one.option == "-I":
                yield one
        nearest = nearest and not found
