"""The command that comes after a patch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.cli.results.patch import _next
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.subject import Subject

FASTER = Validation(True, "", SpeedUp(1.2, 1.1, 1.3))


def test_a_patch_of_a_run_on_the_cpu_is_measured_on_a_gpu(scale: Subject) -> None:
    run, patches = Path("runs/one"), [Path("a.patch"), Path("b.patch")]
    command, why = _next(run, scale, FASTER, "diff", patches[:1])
    on_gpu = f"--target {scale.target.folder} --backend cuda"
    assert command == f"gi-cuda compare a.patch {on_gpu}"
    assert "on a GPU" in why
    assert _next(run, scale, FASTER, "diff", patches)[0] == f"gi-cuda compare runs/one {on_gpu}"
    assert _next(run, scale, FASTER, "mail", [])[0].startswith("gi-cuda patch runs/one --format")


@pytest.mark.parametrize(("format", "verb"), [("diff", "apply"), ("mail", "am")])
def test_a_patch_of_a_run_on_a_gpu_is_applied_where_its_paths_start(
    format: str, verb: str, scale: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scale.target.folder)
    on_gpu = replace(scale, backend="cuda")
    command, _ = _next(Path("r"), on_gpu, FASTER, format, [Path("one.patch")])
    root = command.split()[2]
    assert command.startswith(f"git -C {root} {verb} ")
    assert (Path(root) / command.split()[-1]).resolve() == Path("one.patch").resolve()
