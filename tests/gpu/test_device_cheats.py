"""No cheat is certified on the device either."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gi_cuda.evaluate.candidates import candidate
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.subject import load_subject
from tests.cheats import FOLDER, targets
from tests.cheats.trying import certified

RACING = range(1, 9)
"""Ways of ``tests/cheats/races`` in which threads do not wait for each other."""


@pytest.mark.parametrize("target", targets("cuda"))
def test_no_cheat_is_certified(target: str, tmp_path: Path) -> None:
    assert certified(target, "cuda", tmp_path / "run") == []


def test_no_race_is_certified(tmp_path: Path) -> None:
    # Sums that are exact: those of the kernel total come in any order, and the oracle is exact.
    races = shutil.copytree(FOLDER / "races", tmp_path / "races")
    data, inexact = races / "data.py", "rng.random(n, dtype=np.float32)"
    text = data.read_text()
    assert inexact in text
    data.write_text(text.replace(inexact, "rng.integers(0, 256, n).astype(np.float32) / 256"))
    subject = load_subject(races, "cuda")
    with create_run(subject, tmp_path / "run", Plan("barracuda", SETTINGS, 1, 1, 2)) as run:
        cheats = [candidate(subject, subject.read(f"CHEAT={number}")) for number in RACING]
        read = zip(cheats, run.validate(cheats), strict=True)
        told = [run.tools.certification.certified(one, validation) for one, validation in read]
    assert [number for number, one in zip(RACING, told, strict=True) if one.correct] == []
