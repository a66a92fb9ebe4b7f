"""The shipped targets on the device, through the command line as users start it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gi_cuda.store import Store

SHIPPED = Path(__file__).parent.parent.parent / "targets"
POPULATION, GENERATIONS = 20, 2
CANDIDATES = 5
"""Individuals that are tried for a patch: what is right on the train cases may fail on others."""


def cli(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command; what it said is shown when a test fails."""
    done = subprocess.run(
        [sys.executable, "-m", "gi_cuda", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    print(f"gi-cuda {' '.join(map(str, words))}: status {done.returncode}")
    print(done.stdout, done.stderr)
    return done


def unvalidated(run: Path) -> list[int]:
    """Individuals with edits whose answers were right, the fastest first."""
    with Store(run / "run.db") as store:
        evaluations = store.evaluations()
        individuals = store.individuals()
    right = [
        (evaluations[one.ident].ratio, one.ident)
        for one in individuals
        if one.ident in evaluations
        and evaluations[one.ident].ratio is not None
        and "<" in one.genotype
    ]
    return [ident for _, ident in sorted(right)]


def test_a_search_on_the_cpu_beside_a_gpu_is_warned_of(tmp_path: Path) -> None:
    target = SHIPPED / "bwt_exact"
    sizes = ("--population", 1, "--generations", 1, "--preset", "tune")
    for backend, warned in [("host", True), ("cuda", False), ("auto", False)]:
        words = ("--backend", backend, "--run", backend)
        done = cli("evolve", target, *sizes, *words, cwd=tmp_path)
        assert done.returncode == 0
        assert ("warning: this machine has a GPU (" in done.stdout) is warned
        assert ("add --backend cuda" in done.stdout) is warned


@pytest.mark.parametrize("target", sorted(SHIPPED.glob("tuning/*/")), ids=lambda one: one.name)
def test_targets_for_tuning_are_ready(target: Path, tmp_path: Path) -> None:
    checked = cli("check", target, "--backend", "cuda", cwd=tmp_path)
    assert checked.returncode == 0
    assert "ready to evolve" in checked.stdout


@pytest.mark.parametrize(
    "name", ["bwt_exact", "sw_naive", "sw_tuned", "tissue_many", "tissue_spread"]
)
def test_from_check_to_a_patch_that_applies(name: str, tmp_path: Path) -> None:
    target = tmp_path / name
    shutil.copytree(SHIPPED / name, target, ignore=shutil.ignore_patterns("__pycache__"))
    checked = cli("check", target, "--backend", "cuda", cwd=tmp_path)
    assert checked.returncode == 0
    assert "ready to evolve" in checked.stdout

    sizes = ("--preset", "barracuda", "--population", POPULATION, "--generations", GENERATIONS)
    evolved = cli("evolve", target, "--backend", "cuda", "--run", "run", *sizes, cwd=tmp_path)
    assert evolved.returncode == 0
    resumed = cli("resume", "run", "--generations", GENERATIONS + 1, cwd=tmp_path)
    assert resumed.returncode == 0

    shown = cli("show", "run", cwd=tmp_path)
    assert shown.returncode == 0
    assert "cuda back end" in shown.stdout
    with Store(tmp_path / "run" / "run.db") as store:
        assert len(store.evaluations()) == POPULATION * (GENERATIONS + 1)
        assert store.get("versions")["compiler"].startswith("nvcc ")

    source = (target / "kernel.cu").read_text()
    for ident in unvalidated(tmp_path / "run")[:CANDIDATES]:
        words = ("--individual", ident, "--output", "it.patch")
        if cli("patch", "run", *words, cwd=tmp_path).returncode == 0:
            break
    else:
        pytest.fail("no individual whose patch holds on the held-out cases")
    applied = subprocess.run(
        ["git", "apply", str(tmp_path / "it.patch")], cwd=target, capture_output=True, text=True
    )
    assert applied.returncode == 0, applied.stderr
    assert (target / "kernel.cu").read_text() != source


def test_two_workers_on_one_gpu_are_refused(tmp_path: Path) -> None:
    words = ("evolve", SHIPPED / "bwt_exact", "--backend", "cuda", "--workers", 2)
    done = cli(*words, "--run", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "--workers" in done.stderr
    assert not any(tmp_path.iterdir())


def test_a_case_that_does_not_fit_is_one_clear_message(tmp_path: Path) -> None:
    target = tmp_path / "huge"
    shutil.copytree(SHIPPED.parent / "tests" / "targets" / "scale", target)
    file = target / "target.toml"
    scratch = (
        '[[buffer]]\nname = "room"\ntype = "int32"\nsize = "n * 1000000000"\nrole = "scratch"\n'
    )
    text = file.read_text().replace("[[scalar]]", f"{scratch}\n[[scalar]]", 1)
    file.write_text(text.replace('["in", "out", "n"]', '["in", "out", "n", "room"]'))
    kernel = target / "kernel.cu"
    kernel.write_text(kernel.read_text().replace("int *out, int n)", "int *out, int n, int *room)"))
    done = cli("evolve", target, "--backend", "cuda", "--run", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert " for room" in done.stderr
    assert not (tmp_path / "run").exists()


def test_no_visible_device_is_one_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = cli("check", SHIPPED / "bwt_exact", "--backend", "cuda", cwd=tmp_path)
    assert done.returncode == 2
    assert "no GPU can be used" in done.stderr
