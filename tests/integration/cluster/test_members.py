"""Searches with remote evaluation: the same individuals, each evaluated once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from gi_cuda.cluster.evaluator import ClusterEvaluator
from gi_cuda.cluster.kinds import Among, everyone
from gi_cuda.cluster.machine import Opening
from gi_cuda.cluster.meeting import meeting_at
from gi_cuda.cluster.members import Members
from gi_cuda.cluster.package import Package
from gi_cuda.cluster.portable import KindsEvaluator
from gi_cuda.errors import MachineError, UserError
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.reference.baseline import Baseline
from gi_cuda.results.generation import Individual, Phases
from gi_cuda.results.kinds import Objective
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.tools import Tools
from gi_cuda.search import find_preset
from gi_cuda.search.loop import End, Evolution
from gi_cuda.store import Store
from tests.integration.cluster.pretended import Here, choosy, outcome, pretending, refusing
from tests.sweeps import broad

POPULATION, GENERATIONS = 60, 4


def _members(
    cluster: LocalCluster, opening: Opening, folder: Path, among: Among = everyone
) -> Members:
    package = Package({}, {}, {}, str(folder), (), None, {}, {})
    return Members(meeting_at(cluster.scheduler_address), opening, package, among)


def _prepares(tools: Tools) -> Here:
    baseline = Baseline(1e-3, 0.01, (), {}, 1.0, {}, Verdict.SAME)
    return Here(tools.evaluator(baseline, PastResults()).prepare)


def _searched(evaluator: Any, tools: Tools, store: Store) -> list[Individual]:
    preset = find_preset("barracuda", "")
    settings = preset.settings.having(POPULATION, GENERATIONS)
    search = Evolution(
        store=store,
        evaluator=evaluator,
        phases=Phases,
        strategy=preset.strategy(settings),
        variation=preset.vary(tools.subject),
        settings=settings,
        seed=3,
        stop=lambda: False,
    )
    for _ in search.run():
        pass
    assert search.end is End.COMPLETE
    return store.individuals()


def test_the_same_search_though_workers_die(
    cluster: LocalCluster, scale_tools: Tools, tmp_path: Path
) -> None:
    here = _prepares(scale_tools)
    with Store(Path(":memory:"), create=True) as store:
        expected = _searched(here, scale_tools, store)
    for number in range(2):
        (tmp_path / f"death-{number}").touch()
    members = _members(cluster, pretending, tmp_path)
    with Store(tmp_path / "run.db", create=True) as store:
        members.open(lambda: False)
        try:
            found = _searched(ClusterEvaluator(here, members), scale_tools, store)
        finally:
            members.close()
        evaluations = store.evaluations()
    assert found == expected
    assert evaluations == {one.ident: outcome(one.genotype) for one in expected}
    assert not list(tmp_path.glob("death-*")), "two have died"
    lines = (tmp_path / "evaluated").read_text().split()
    times = Counter(map(int, lines[::2]))
    assert times.keys() == evaluations.keys()
    assert members.lost > 0
    assert sum(times.values()) - len(times) <= members.lost, "no more than what the dead had"


@broad
def test_the_same_search_on_two_kinds_though_workers_die(
    cluster: LocalCluster, scale_tools: Tools, tmp_path: Path
) -> None:
    here = _prepares(scale_tools)
    with Store(Path(":memory:"), create=True) as store:
        expected = _searched(here, scale_tools, store)
    for number in range(2):
        (tmp_path / f"death-{number}").touch()
    kinds: dict[str, str] = {}

    def of(kind: str) -> Among:
        """Each worker is of the kind that has fewer when it comes."""

        async def among(client: Client, addresses: Collection[str]) -> Collection[str]:
            for address in addresses:
                kinds.setdefault(address, min("ab", key=list(kinds.values()).count))
            return [address for address in addresses if kinds[address] == kind]

        return among

    members = {kind: _members(cluster, pretending, tmp_path, of(kind)) for kind in "ab"}
    with ExitStack() as stack, Store(tmp_path / "run.db", create=True) as store:
        for one in members.values():
            stack.enter_context(closing(one))
            assert one.open(lambda: False).startswith("2 workers with")
        evaluator = KindsEvaluator(here, members, Objective.WORST)
        assert _searched(evaluator, scale_tools, store) == expected
        evaluations = store.evaluations()
    assert not list(tmp_path.glob("death-*")), "two have died"
    assert sum(one.lost for one in members.values()) > 0
    assert evaluations.keys() == {one.ident for one in expected}
    for one in expected:
        found, said = evaluations[one.ident], outcome(one.genotype)
        assert (found.outcome, found.ratio) == (said.outcome, said.ratio)
        assert found.message in (said.message, f"on a: {said.message}", f"on b: {said.message}")


def test_who_cannot_evaluate_is_left_out(
    cluster: LocalCluster, scale_tools: Tools, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    members = _members(cluster, choosy, tmp_path)
    with Store(tmp_path / "run.db", create=True) as store:
        assert members.open(lambda: False).startswith("worker tcp://")
        try:
            _searched(ClusterEvaluator(_prepares(scale_tools), members), scale_tools, store)
        finally:
            members.close()
    said = capfd.readouterr().err
    assert said.count("tcp://") == 3, said
    assert "its device is a toaster; make toast" in said
    by = (tmp_path / "evaluated").read_text().split()[1::2]
    assert len(set(by)) == 1


def test_nobody_can_evaluate(cluster: LocalCluster, tmp_path: Path) -> None:
    members = _members(cluster, refusing, tmp_path)
    try:
        with pytest.raises(UserError, match="none of its workers can take part: its device is a"):
            members.open(lambda: False)
    finally:
        members.close()


def test_a_scheduler_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gi_cuda.cluster.meeting.ANSWERING", 0.5)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        members = _members(cluster, pretending, tmp_path)
        members.open(lambda: False)
    try:
        with pytest.raises(MachineError, match="the dask scheduler is gone"):
            _ = [members.news(60.0) for _ in range(2)]
    finally:
        members.close()
