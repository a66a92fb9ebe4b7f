"""One process for each device of a machine; here each device is the processor."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gi_cuda.backends.table import ALL
from gi_cuda.cluster.stations import DevicesEvaluator, Stations, evaluated_on_each, stations
from gi_cuda.errors import MachineError, UserError
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import find_preset
from gi_cuda.search.loop import End
from gi_cuda.subject import Subject, load_subject
from tests.integration.cluster.alike import check_as_alone
from tests.noting import seeds_made
from tests.sweeps import broad

RANDOM = Plan("random", find_preset("random", "").settings.having(12, 2), 5, 1, 2)
"""A search in which what is measured does not decide what is bred."""

TWO = {"one": ALL, "the other": ALL}

SEARCH = """
import sys
from collections.abc import Iterator
from pathlib import Path
from gi_cuda.cluster.stations import evaluated_on_each
from gi_cuda.runs.run import open_run
two = {"one": (), "the other": ()}
with open_run(Path(sys.argv[1])) as run, evaluated_on_each(run, two) as evaluator:
    for progress in run.evolution(evaluator=evaluator).run():
        if progress.evaluation is not None:
            print(*(one.process.pid for one in evaluator.members._stations), flush=True)
            sys.stdin.read()
"""


def _pids(stations: Stations) -> list[int]:
    return [one.process.pid for one in stations._stations]


@broad
def test_one_of_two_is_killed(
    scale: Subject, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with create_run(scale, tmp_path / "run", RANDOM) as run:
        with evaluated_on_each(run, TWO) as evaluator:
            doomed, other = _pids(evaluator.members)
            search = run.evolution(evaluator=evaluator)
            for progress in search.run():
                if progress.evaluation is not None and doomed:
                    os.kill(doomed, signal.SIGKILL)
                    doomed = 0
            assert _pids(evaluator.members) == [other]
        assert search.end is End.COMPLETE
        check_as_alone(run, 24, tmp_path / "other")
    said = capfd.readouterr().err
    assert "one is not used any more: the process that evaluates on it was killed (SIGKILL)" in said
    assert "; going on with the other\n" in said


@pytest.fixture(scope="module")
def evaluator(
    scale: Subject, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevicesEvaluator]:
    """Two processes that evaluate individuals of a run."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    with create_run(scale, folder, RANDOM) as run, evaluated_on_each(run, TWO) as evaluator:
        yield evaluator


def test_what_is_not_wanted_any_more_is_left(scale: Subject, evaluator: DevicesEvaluator) -> None:
    rng, genotypes = random.Random(3), {}
    variation = find_preset("random", "").vary(scale)
    while len(genotypes) < 24:
        if (mutant := variation.mutate(scale.original, rng)) is not None:
            genotypes[len(genotypes) + 1] = mutant
    trials, told = evaluator.prepare(genotypes), list[int]()
    for ident, _ in evaluator.evaluate(trials, lambda: bool(told)):
        told.append(ident)
    assert 0 < len(told) < len(trials)
    assert not [one for one in evaluator.members._stations if one.has or one.line.poll()]
    rest = {ident: one for ident, one in trials.items() if ident not in told}
    assert dict(evaluator.evaluate(rest)).keys() == rest.keys()


def test_individuals_come_one_by_one(scale: Subject, evaluator: DevicesEvaluator) -> None:
    variation, rng = find_preset("random", "").vary(scale), random.Random(4)
    mutants = (variation.mutate(scale.original, rng) for _ in range(8))
    genotypes = dict(enumerate(filter(None, mutants), 1))
    first, second, *rest = evaluator.prepare(genotypes).items()
    more = ({ident: trial} for ident, trial in rest)
    found = dict(evaluator.evaluate(dict([first, second]), more=lambda: next(more, {})))
    assert found.keys() == genotypes.keys()


@broad
def test_processes_are_begun_before_there_is_a_run(scale: Subject, tmp_path: Path) -> None:
    with stations(3) as ready:
        begun = list(ready)
        with create_run(scale, tmp_path / "run", RANDOM) as run:
            with evaluated_on_each(run, TWO, ready) as evaluator:
                assert set(_pids(evaluator.members)) == {one.process.pid for one in begun[1:]}
                for _ in run.evolution(evaluator=evaluator).run():
                    pass
            assert len(run.store.evaluations()) == 24
        assert begun[0].process._child.poll() is None, "it is not needed, and waits"
    assert None not in [one.process._child.poll() for one in begun]


@broad
def test_the_processes_of_devices_make_no_cases(
    noting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though a target is named by a relative path, as users do."""
    monkeypatch.chdir(noting.parent)
    with create_run(load_subject(Path(noting.name), "host"), Path("run"), RANDOM) as run:
        with evaluated_on_each(run, TWO) as evaluator:
            for _ in run.evolution(evaluator=evaluator).run():
                pass
        assert len(run.store.evaluations()) == 24
    made = seeds_made(noting)
    assert made.count("1") == made.count("2") == 1


@broad
def test_nobody_is_left(scale: Subject, tmp_path: Path) -> None:
    with create_run(scale, tmp_path / "run", RANDOM) as run:

        def search() -> None:
            with evaluated_on_each(run, TWO) as evaluator:
                for progress in run.evolution(evaluator=evaluator).run():
                    for pid in _pids(evaluator.members) if progress.evaluation else ():
                        os.kill(pid, signal.SIGKILL)

        with pytest.raises(MachineError, match="the process that evaluates on it was killed"):
            search()
        assert run.store.evaluations(), "what was finished is kept"


@broad
def test_all_end_with_the_search(scale: Subject, tmp_path: Path) -> None:
    with create_run(scale, tmp_path / "run", RANDOM):
        pass
    command = [sys.executable, "-c", SEARCH, str(tmp_path / "run")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as search:
        assert search.stdout is not None
        pids = search.stdout.readline().split()
        assert len(pids) == 2
        ends = select.poll()
        for pid in pids:
            ends.register(os.pidfd_open(int(pid)), select.POLLIN)
        assert not ends.poll(0)
        search.kill()
    ended: set[int] = set()
    while news := ends.poll(30e3):
        for descriptor, _ in news:
            ended.add(descriptor)
            ends.unregister(descriptor)
            os.close(descriptor)
        if len(ended) == len(pids):
            break
    assert len(ended) == len(pids)


@broad
def test_what_is_wrong_for_good_ends_the_search(scale: Subject, tmp_path: Path) -> None:
    with create_run(scale, tmp_path / "run", RANDOM) as run:
        run.store.put(grammar_hash="another")

        def search() -> None:
            with evaluated_on_each(run, TWO) as evaluator:
                for _ in run.evolution(evaluator=evaluator).run():
                    pass

        with pytest.raises(UserError, match="the grammar changed since this run began"):
            search()
