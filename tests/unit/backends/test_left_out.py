"""Empty files for headers that are left out."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.backends.compile.left_out import empty_headers


def test_each_header_is_an_empty_file_also_one_whose_name_climbs(tmp_path: Path) -> None:
    names = ("GL/gl.h", "mpi.h", "../../common/x.h", "sub/../y.h", "/usr/z.h")
    folder = empty_headers(names, tmp_path)
    for name in names[:-1]:
        assert (folder / name).read_text() == ""
    assert all(tmp_path in file.resolve().parents for file in folder.rglob("*"))
    assert empty_headers(reversed(names), tmp_path) == folder
    assert empty_headers(names[:1], tmp_path) != folder
