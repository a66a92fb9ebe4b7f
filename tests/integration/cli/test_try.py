"""``gi-cuda try``: single genotypes given by the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import gi_cuda
from tests.integration.runs.conftest import copy_scale

SCALE = Path(__file__).parents[2] / "targets" / "scale"


def answers(said: str) -> dict[int, str]:
    """Return the message on each genotype, by its number."""
    lines = (line.partition(": ") for line in said.splitlines() if line[:1].isdigit())
    return {int(number): text for number, _, text in lines}


def test_each_is_told_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "ideas.txt").write_text("# mine\n\nBLOCK=128\n<_kernel.cu_22>\n")
    done = gi_cuda("try", str(SCALE), "", "--file", "ideas.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("reference: ")
    found = answers(done.stdout)
    assert sorted(found) == [1, 2, 3]
    assert ": speed-up " in found[1]
    assert ": speed-up " in found[2]
    assert found[3].startswith("wrong: train: out[")
    assert "    (no changes)\n" in done.stdout
    assert "    <_kernel.cu_22>" in done.stdout


@pytest.mark.parametrize("include", ["", "#include <cuda_runtime.h>\n"])
def test_larger_blocks_than_launch_bounds_allow_are_refused(include: str, tmp_path: Path) -> None:
    """A GPU would refuse them, too, whether or not the source includes a header of CUDA."""
    target = copy_scale(tmp_path / "scale")
    kernel = target / "kernel.cu"
    kernel.write_text(include + kernel.read_text("utf-8"), "utf-8")
    line = 16 + bool(include)
    bounds = f"<launchbounds_kernel.cu_{line}><launchbounds_K64>"
    words = (bounds, f"BLOCK=128 {bounds}", f"BLOCK=128 {bounds.replace('K64', 'K128')}")
    done = gi_cuda("try", str(target), *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = answers(done.stdout)
    assert ": speed-up " in found[1]
    assert found[2] == (
        "refused: kernel scale: __launch_bounds__ allows blocks of 64 threads, and the"
        " launch has blocks of 128"
    )
    assert ": speed-up " in found[3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "gi-cuda try: no genotype is named"),
        (("BLOCK=128", "<_kernel.cu_1>"), "genotype 2, column 1: there is no rule"),
        (("--file", "nowhere.txt"), "nowhere.txt: cannot be read: No such file"),
    ],
)
def test_what_cannot_be_tried_is_told_before_anything_runs(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = gi_cuda("try", str(SCALE), *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert not done.stdout
