"""Stand-ins for headers that are left out."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.compile.pruning.left_out import stand_in, stand_ins


def test_each_header_is_an_empty_file_also_one_whose_name_climbs(tmp_path: Path) -> None:
    names = ("GL/gl.h", "mpi.h", "../../common/x.h", "sub/../y.h", "/usr/z.h")
    folder = stand_ins(names, tmp_path)
    for name in names[:-1]:
        assert (folder / name).read_text() == ""
    assert all(tmp_path in file.resolve().parents for file in folder.rglob("*"))
    assert stand_ins(reversed(names), tmp_path) == folder
    assert stand_ins(names[:1], tmp_path) != folder


def test_small_floats_that_a_library_brings_are_there_without_it(tmp_path: Path) -> None:
    folder = stand_ins(("cublas_v2.h", "torch/extension.h", "cudnn.h"), tmp_path)
    assert "#include <cuda_bf16.h>" in (folder / "cublas_v2.h").read_text()
    assert "using c10::Half;" in (folder / "torch/extension.h").read_text()
    assert (folder / "cudnn.h").read_text() == ""
    assert prelude("#include <cublas_v2.h>\n", {}, ("cublas_v2.h",)) == stand_in("cublas_v2.h")
