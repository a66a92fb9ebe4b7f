"""No cheat is certified on the device either."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.analyze.validate.acceptance import Entry, accept
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
    subject = load_subject(FOLDER / "races", "cuda")
    with create_run(subject, tmp_path / "run", Plan("barracuda", SETTINGS, 1, 1, 2)) as run:
        # Without waste each is faster than the reference, whatever it races for.
        entries = [
            Entry(f"CHEAT={number}", None, run.subject.read(f"CHEAT={number} WASTE=0"))
            for number in RACING
        ]
        tried = accept(run, entries, []).tried
    assert [one.name for one in tried if one.validation.overall is not None] == []
