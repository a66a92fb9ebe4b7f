"""No patch of what is not faster is written."""

from __future__ import annotations

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
