"""Indices and numbers that a kernel compares, and their values in the cases."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from gi_cuda.evaluate.checks.parameters.launched import one_sided
from gi_cuda.spec import Given
from gi_cuda.subject import Subject, load_subject


def told(subject: Subject, *sizes: int) -> list[str]:
    cases = [Given({}, {"n": np.int32(n)}, {}, {}) for n in sizes]
    return [one.what for one in one_sided(subject, cases)]


def changed(scale: Subject, folder: Path, old: str, new: str) -> Subject:
    """The target with another text in its kernel."""
    shutil.copytree(scale.target.file.parent, folder / "target")
    kernel = folder / "target" / "kernel.cu"
    kernel.write_text(kernel.read_text("utf-8").replace(old, new), "utf-8")
    return load_subject(folder / "target", "host")


def test_indices_that_are_always_zero(scale: Subject, tmp_path: Path) -> None:
    assert told(scale, 32, 48) == [], "one block along x may be meant"
    group = "cooperative_groups::this_thread_block()"
    grouped = changed(scale, tmp_path, "mine = 0;", f"mine = {group}.thread_index().y;")
    assert told(grouped, 32, 640) == [
        "scale reads threadIdx.y, which is 0 in all launches of all cases"
    ]


def test_numbers_that_a_kernel_asks_for(scale: Subject, tmp_path: Path) -> None:
    asking = changed(scale, tmp_path, "if (at < n) {", "if (at < n) { mine += n == 640 ? 1 : 0;")
    assert told(asking, 640, 320) == []
    assert told(asking, 320, 330) == ["the kernel asks whether n is 640, and it is so in no case"]
