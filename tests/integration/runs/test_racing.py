"""Finalists of a search on a GPU are checked for races on a processor before they are measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.analyze.finalists.finalists import finalists
from gi_cuda.analyze.finalists.racing import Racing
from gi_cuda.evaluate.scrutiny.processor_watch import ProcessorWatch
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.subject import load_subject
from tests.integration.runs.even import PLAN
from tests.integration.runs.racing import small_races
from tests.integration.runs.test_finalists import individual
from tests.sweeps import broad

RACING = "CHEAT=5", "CHEAT=5 WASTE=0", "CHEAT=5 WASTE=0 <_kernel.cu_46>"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A run on the host, with who looks at a GPU's beside it."""
    target = small_races(tmp_path / "races")
    elsewhere = ProcessorWatch(load_subject(target, "cuda"), tmp_path / "elsewhere", 1)
    with create_run(load_subject(target, "host"), tmp_path / "run", PLAN) as opened:
        tools = opened.tools
        races = replace(tools.certification.races, beside=elsewhere)
        certification = replace(tools.certification, races=races)
        yield replace(opened, tools=replace(tools, certification=certification))


@broad
def test_what_races_is_left_out(run: Run) -> None:
    individual(run, 1, RACING[0], 0.2)
    individual(run, 2, "WASTE=0", 0.3)
    individual(run, 3, "WASTE=0 <_kernel.cu_46>", 0.4)
    racing = Racing(run)
    assert [ident for ident, _ in finalists(run, racing)] == [2, 3]
    assert [ident for ident, _ in racing.said] == [1]
    assert all("race of threads of" in said for _, said in racing.said)
    assert racing.faulty == []


def test_where_most_do_what_they_share_is_left_out_of_all(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gi_cuda.analyze.finalists.racing.MOST", 2)
    for number, genotype in enumerate((*RACING, "WASTE=0"), 1):
        individual(run, number, genotype, number / 10)
    racing = Racing(run)
    assert [ident for ident, _ in finalists(run, racing)] == [4]
    assert [ident for ident, _ in racing.said] == [1, 2]  # the third was not looked at
    assert [list(map(str, part)) for part in racing.faulty] == [["CHEAT=5"]]


@broad
def test_what_races_by_itself_may_not_beside_another_change(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round's second barrier may go where there is one before its first statement."""
    monkeypatch.setattr("gi_cuda.analyze.finalists.racing.MOST", 2)
    barrier, before = "<_kernel.cu_34>", "<_kernel.cu_22>+<_kernel.cu_29>"
    for number, genotype in enumerate((barrier, f"WASTE=0 {barrier}", f"{barrier} {before}"), 1):
        individual(run, number, genotype, number / 10)
    racing = Racing(run)
    assert [ident for ident, _ in finalists(run, racing)] == [3]
    assert [ident for ident, _ in racing.said] == [1, 2]
    assert racing.faulty == []


def test_where_nobody_looks_beside_all_stay(run: Run) -> None:
    races = replace(run.tools.certification.races, beside=None)
    tools = replace(run.tools, certification=replace(run.tools.certification, races=races))
    individual(run, 1, RACING[0], 0.2)
    assert [ident for ident, _ in finalists(replace(run, tools=tools))] == [1]
