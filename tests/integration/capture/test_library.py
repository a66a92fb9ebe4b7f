"""The library that CUDA loads into applications, as far as a machine without a GPU can tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from gi_cuda.capture.launches.library import build_library
from gi_cuda.errors import UserError


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return build_library(tmp_path_factory.mktemp("cache"))
    except UserError as error:
        pytest.skip(error.what)


def test_it_needs_the_driver_or_cuda_would_not_load_it(library: Path) -> None:
    with library.open("rb") as file:
        elf = ELFFile(file)
        tags = list(elf.get_section_by_name(".dynamic").iter_tags())
        names = [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
        symbols = elf.get_section_by_name(".dynsym")
        exported = {one.name for one in symbols.iter_symbols() if one["st_shndx"] != "SHN_UNDEF"}
    assert "libcuda.so.1" in names
    assert any(name.startswith("libcupti.so") for name in names)
    assert "InitializeInjection" in exported


def test_it_is_compiled_once(library: Path) -> None:
    before = library.stat().st_mtime_ns
    assert build_library(library.parent) == library
    assert library.stat().st_mtime_ns == before
