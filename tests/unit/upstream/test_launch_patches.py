"""Patches of transformations that change launches: in the file, or described in words."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gi_cuda.subject import Subject, load_subject
from gi_cuda.upstream.steps import elsewhere, whole_patch

SHIPPED = Path(__file__).parents[2] / "targets" / "scale"

KERNEL = """\
__global__ void scale(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 2 * in[i];
    }
}
"""
HOST = """\
void run(const int *in, int *out, int n) {
    scale<<<(n + 63) / 64, 64>>>(in, out, n);
}
"""
TARGET = """\
[target]
name = "scale"
source = "kernel.cu"
kernels = ["scale"]
data = "data.py"

[[buffer]]
name = "in"
type = "int32"
size = "n"
role = "input"

[[buffer]]
name = "out"
type = "int32"
size = "n"
role = "output"

[[scalar]]
name = "n"
type = "int32"

[[launch]]
kernel = "scale"
grid = ["(n + 63) / 64"]
block = ["64"]
args = ["in", "out", "n"]

[oracle]
kind = "exact"

[[case]]
name = "train"
role = "train"
args = { seed = 1, n = 4000 }

[[case]]
name = "held-out"
role = "held-out"
args = { seed = 2, n = 3111 }
"""
BLOCK = "<block_kernel.cu_1><block_K128>"
COARSEN = "<coarsen_kernel.cu_1><coarsen_K4>"


def subject_of(folder: Path, text: str) -> Subject:
    """Return a target with a source."""
    (folder / "kernel.cu").write_text(text)
    (folder / "target.toml").write_text(TARGET)
    shutil.copy(SHIPPED / "data.py", folder)
    return load_subject(folder, "host", edits="transforms")


def changed_lines(subject: Subject, genotype: str) -> list[str]:
    """Return the lines that a patch takes and puts."""
    (step,) = whole_patch(subject, subject.read(genotype))
    diff = step.diff(subject.target.source)
    return [
        line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("---", "+++")
    ]


def test_a_block_is_patched_where_it_is_launched(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, KERNEL + HOST)
    assert changed_lines(subject, BLOCK) == [
        "-    scale<<<(n + 63) / 64, 64>>>(in, out, n);",
        "+    scale<<<(n + 127) / 128, 128>>>(in, out, n);",
    ]
    assert elsewhere(subject, subject.read(BLOCK)) == []


def test_kernel_and_launch_are_patched_together(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, KERNEL + HOST)
    lines = changed_lines(subject, f"{BLOCK} {COARSEN}")
    assert lines[-1] == "+    scale<<<(n + 511) / 512, 128>>>(in, out, n);"
    assert "+    int i = blockIdx.x * 4 * blockDim.x + threadIdx.x;" in lines


@pytest.mark.parametrize("host", ["", HOST.replace("(n + 63) / 64", "blocks_of(n)")])
def test_a_launch_that_is_not_patched_is_told(tmp_path: Path, host: str) -> None:
    subject = subject_of(tmp_path, KERNEL + host)
    assert whole_patch(subject, subject.read(BLOCK)) == []
    assert elsewhere(subject, subject.read(BLOCK)) == [
        "launch scale with grid.x = ceil(old grid.x * old block.x / 128) and blocks of 128 threads"
    ]
    assert elsewhere(subject, subject.read(COARSEN)) == [
        "launch scale with grid.x = ceil(old grid.x / 4)"
    ]
