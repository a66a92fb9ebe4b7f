"""Of a list of CMake what counts is what its conditions let in, where nobody sets anything."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from gi_cuda.init.build.build_files import said_by_build_files
from gi_cuda.init.build.cmake_conditions import by_itself, holds
from gi_cuda.init.build.repository import Repository

SET = {"GPU": "ON", "MEX": "OFF", "KIND": "double", "EMPTY": ""}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("GPU", True),
        ("MEX", False),
        ("EMPTY", False),
        ("NOT MEX", True),
        ("${GPU}", True),
        ("Matlab_FOUND", None),
        ("${Matlab_FOUND}", None),
        ("GPU AND Matlab_FOUND", None),
        ("MEX AND Matlab_FOUND", False),
        ("GPU OR Matlab_FOUND", True),
        ("NOT ( MEX OR NOT GPU )", True),
        ("MEX AND GPU OR GPU", True),
        ("NOT MEX AND NOT GPU", False),
        ("KIND STREQUAL double", True),
        ("${KIND} STREQUAL single", False),
        ("CMAKE_BUILD_TYPE STREQUAL Debug", False),
        ("CUDA_VERSION_MAJOR STREQUAL 11", None),
        ("KIND MATCHES ^dou", True),
        ("KIND VERSION_LESS 3", None),
        ("DEFINED GPU", True),
        ("DEFINED OTHER", None),
        ("TARGET gpu", None),
        ("WIN32", platform.system() == "Windows"),
        ("UNIX AND NOT APPLE", platform.system() not in ("Windows", "Darwin")),
        ("GPU AND", None),
        ("( GPU", None),
        ("GPU )", None),
        ("KIND MATCHES (", None),
        ("", None),
    ],
)
def test_what_holds(words: str, *, found: bool | None) -> None:
    assert holds(words.split(), SET) is found


@pytest.mark.parametrize(
    ("option", "value", "found"),
    [
        ("USE_CUDA", "OFF", "ON"),
        ("FAST_WITH_CUDA", "OFF", "ON"),
        ("light_nvidia_backend", "OFF", "ON"),
        ("ENABLE_GPU", "OFF", "ON"),
        ("USE_HIP", "ON", "OFF"),
        ("LIGHT_AMD_BACKEND", "ON", "OFF"),
        ("NO_CUDA", "OFF", "OFF"),
        ("CUDA_FAST_MATH", "OFF", "OFF"),
        ("USE_CUDA_GRAPHS", "OFF", "OFF"),
        ("SHIP", "ON", "ON"),
    ],
)
def test_who_evolves_a_kernel_builds_for_cuda(option: str, value: str, found: str) -> None:
    assert by_itself(option, value) == found


def test_a_condition_may_be_anything() -> None:
    assert holds(["GPU", "AND", "(", "MEX)", "OR", "(GPU)"], SET) is True


LIST = """
project(light)
option(BUILD_PLUGIN "for another program" ON)
option(BUILD_DEBUG "slow")
set(SOURCES main.c light.cu)
if(WIN32)
  add_definitions(-DWINDOWS)
elseif(BUILD_DEBUG)
  add_definitions(-DDEBUG)
else()
  add_definitions(-DPLAIN)
  if(Package_FOUND)
    add_definitions(-DPACKAGE)
  endif()
endif()
add_library(helper STATIC helper.c)
target_compile_definitions(helper PUBLIC HELPED)
add_executable(light ${SOURCES})
target_link_libraries(light helper)
target_compile_definitions(light PRIVATE OWN)
if(BUILD_PLUGIN)
  add_library(plugin MODULE plugin.c ${SOURCES})
  target_compile_definitions(plugin PUBLIC PLUGIN)
endif()
"""


def said(root: Path, source: str) -> list[str]:
    """The macros that a source is compiled with."""
    found = said_by_build_files(root / source, Repository(root))
    return [one.value for one in found if one.option == "-D"]


def test_macros_are_those_of_the_build_that_is_made_here(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(LIST)
    assert said(tmp_path, "light.cu") == ["PLAIN", "PACKAGE", "HELPED", "OWN", "PLUGIN"]


def test_an_option_of_the_list_above_decides(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    above = 'project(a)\noption(FAST "" OFF)\nif(NOT FAST)\n  set(MODE slow)\nendif()\n'
    (tmp_path / "CMakeLists.txt").write_text(f"{above}add_subdirectory(src)\n")
    (tmp_path / "src" / "CMakeLists.txt").write_text(
        "if(FAST)\nadd_definitions(-DFAST)\nendif()\nadd_definitions(-DMODE=${MODE})\n"
    )
    assert said(tmp_path, "src/a.cu") == ["MODE=slow"]
