"""Macros of a CMakeLists.txt, and its conditions on the operating system."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.init.build.build_files import said_by_build_files
from gi_cuda.init.build.repository import Repository

LIST = """
project(light)
set(SOURCES main.c light.cu)
if(WIN32)
  add_definitions(-DWINDOWS)
else()
  add_definitions(-DPLAIN)
  if(NOT MSVC)
    add_definitions(-DNOT_WINDOWS)
  endif()
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


def test_conditions_on_the_operating_system_are_decided(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(LIST)
    macros = ["PLAIN", "NOT_WINDOWS", "PACKAGE", "HELPED", "OWN", "PLUGIN"]
    assert said(tmp_path, "light.cu") == macros
