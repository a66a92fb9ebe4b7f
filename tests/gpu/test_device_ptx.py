"""Small searches on PTX and LLVM-IR on the device, what comes after them, and one that starts from
a winner of the source; through the command line as users start it."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from gi_cuda.analyze.finalists.winner import Winner
from gi_cuda.backends.cuda.llvm.clang import find_clang
from gi_cuda.errors import UserError
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.store import Store

from .test_device_cli import SHIPPED, cli, unvalidated

CANDIDATES = 5
"""Individuals that are tried: what is right on the train cases may fail on others."""

SEARCH = ("--backend", "cuda", "--preset", "barracuda", "--population", 24, "--generations", 2)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "bwt_exact"
    shutil.copytree(SHIPPED / "bwt_exact", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.parametrize("level", ["ptx", "llvm"])
def test_from_check_to_a_module_of_its_own(level: str, target: Path, tmp_path: Path) -> None:
    if level == "llvm":
        try:
            find_clang()
        except UserError as error:
            pytest.skip(error.what)
    checked = cli("check", target, "--backend", "cuda", "--level", level, cwd=tmp_path)
    assert checked.returncode == 0
    evolved = cli("evolve", target, "--level", level, *SEARCH, "--run", "run", cwd=tmp_path)
    assert evolved.returncode == 0
    assert cli("resume", "run", "--generations", 3, cwd=tmp_path).returncode == 0
    assert cli("show", "run", cwd=tmp_path).returncode == 0
    for ident in unvalidated(tmp_path / "run")[:CANDIDATES]:
        which = ("--individual", ident)
        words = ("patch", "run", *which, "--format", "ptx", "--output", f"{ident}.ptx")
        if cli(*words, cwd=tmp_path).returncode == 0:
            break
    else:
        pytest.fail("no individual whose PTX holds on the held-out cases")
    assert ".visible .entry _Z9bwt_match" in (tmp_path / f"{ident}.ptx").read_text("utf-8")
    explained = cli("explain", "run", *which, "--as-found", cwd=tmp_path)
    assert explained.returncode == 0
    assert "kernel.cu:" in explained.stdout
    assert "its place is executed on: " in explained.stdout
    minimized = cli("minimize", "run", *which, cwd=tmp_path)
    assert minimized.returncode == 0
    assert "changes stay" in minimized.stdout
    validated = cli("validate", "run", *which, cwd=tmp_path)
    assert validated.returncode in (0, 1)
    assert "Traceback" not in validated.stderr


def test_ptx_starts_from_a_winner_of_the_source(target: Path, tmp_path: Path) -> None:
    assert cli("evolve", target, *SEARCH, "--run", "source", cwd=tmp_path).returncode == 0
    (ident, *_) = unvalidated(tmp_path / "source")
    with Store(tmp_path / "source" / "run.db") as store:
        one = store.individual(ident)
        assert one is not None
        even = SpeedUp(1.0, 0.9, 1.1)
        validation = Validation(True, "", even, {})
        store.put(champion=asdict(Winner(ident, one.genotype, validation)))
    words = ("--level", "ptx", "--from", "source", "--run", "ptx")
    evolved = cli("evolve", target, *SEARCH, *words, cwd=tmp_path)
    assert evolved.returncode == 0
    assert f"starting from individual {ident} of source, speed-up" in evolved.stdout
    shutil.rmtree(tmp_path / "source")
    assert cli("resume", "ptx", "--generations", 3, cwd=tmp_path).returncode == 0
