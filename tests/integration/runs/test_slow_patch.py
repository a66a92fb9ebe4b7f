"""Patches are not written for variants that are not faster."""

from __future__ import annotations

import shutil
from pathlib import Path

from gi_cuda.runs.create import create_run
from gi_cuda.subject import load_subject
from tests.command import gi_cuda
from tests.integration.runs.even import EVEN, PLAN, WASTE
from tests.integration.runs.test_finalists import individual

SLOWER = f"{WASTE}+<_kernel.cu_17>"
"""A barrier in each round of the loop."""


def test_a_patch_that_is_not_faster_is_written_by_force_alone(
    tmp_path: Path, few_processes: None
) -> None:
    run, patch = tmp_path / "run", tmp_path / "slow.patch"
    with create_run(load_subject(EVEN, "host"), run, PLAN) as opened:
        individual(opened, 1, SLOWER, 0.9)
    words = ("patch", run, "--individual", 1, "--format", "mail", "--output", patch)
    done = gi_cuda(*words, cwd=tmp_path)
    assert done.returncode == 1, done
    assert "do not apply" in done.stderr
    assert done.stderr.endswith(f"next: search further\n  gi-cuda resume {run}\n")
    assert not patch.exists()
    done = gi_cuda(*words, "--force", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "apply it" not in done.stdout
    assert ": not faster on " in patch.read_text()
    assert "prepare for what follows" not in patch.read_text()


def test_of_options_alone_there_is_no_patch_and_they_are_measured_as_one_is(
    tmp_path: Path, few_processes: None
) -> None:
    target, run = tmp_path / "even", tmp_path / "run"
    shutil.copytree(EVEN, target, ignore=shutil.ignore_patterns("__pycache__"))
    option = (
        '\n[[parameter]]\nname = "OPTIMIZE"\nkind = "option"\ntext = "-O{}"\nvalues = ["", 0]\n'
        'default = ""\n'
    )
    file = target / "target.toml"
    file.write_text(file.read_text().replace("\n[[buffer]]", f"{option}\n[[buffer]]", 1))
    with create_run(load_subject(target, "host"), run, PLAN) as opened:
        individual(opened, 1, "OPTIMIZE=0", 0.9)
    patch = tmp_path / "faster.patch"
    words = ("patch", run, "--individual", 1, "--output", patch)
    done = gi_cuda(*words, cwd=tmp_path)
    assert done.returncode == 1, done
    assert "do not apply" in done.stderr
    done = gi_cuda(*words, "--force", "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "individual 1 changes nothing in the source, so no patch is written" in done.stdout
    assert "NVCC_APPEND_FLAGS=-O0 make" in done.stdout
    assert not patch.exists()
