"""Choice of the winner among the best individuals, and repair of those that are wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

from gi_cuda.analyze.explain.untested import untested
from gi_cuda.analyze.finalists.finalist_validation import FINALISTS, Finals
from gi_cuda.analyze.finalists.finalists import _of_all_speeds, finalists, select_winner
from gi_cuda.analyze.finalists.repair import changes_alone, paying, repaired, wrong_alone
from gi_cuda.analyze.finalists.winner import is_validated, keep_winner
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.genome import Changed, changes_of
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Individual, Phases, Tally
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.store import Tabued
from gi_cuda.subject import load_subject
from tests.integration.runs.even import EVEN, GUARD, NEVER, ODD, PLAN, WASTE, target
from tests.integration.runs.racing import small_races
from tests.sweeps import broad


def individual(run: Run, ident: int, genotype: str, ratio: float, key: bytes | None = None) -> None:
    """Store an individual that seemed faster on the train cases.

    Args:
        key: its own, where it is to be known by that; several of one genotype can be stored else.
    """
    one = Individual(ident, 0, genotype, key or str(ident).encode(), None, "random", ())
    run.store.add_generation(0, Tally(1), [one], Tabued())
    seemed = (ratio, ratio * 0.99, ratio * 1.01)
    run.store.add_evaluation(ident, Evaluation(True, Survival.NORMAL, 0.0, Verdict.FASTER, *seemed))
    run.store.add_phases(0, Phases(), finished=True)


def whole(folder: Path) -> Path:
    """The target with as many elements as threads: the train case does not tell that nobody asks
    for the end."""
    made = target(folder)
    file = made / "target.toml"
    file.write_text(file.read_text().replace("n = 4000", "n = 4096"))
    return made


@broad
def test_the_best_of_which_all_is_tested_is_the_winner(tmp_path: Path, few_processes: None) -> None:
    subject = load_subject(EVEN, "host", edits="all")
    with create_run(subject, tmp_path / "run", PLAN) as run:
        individual(run, 1, f"{ODD} {WASTE}", 0.2)
        individual(run, 2, f"{NEVER} {WASTE}", 0.3)
        individual(run, 3, WASTE, 0.4)
        assert [ident for ident, _ in finalists(run)] == [3]
        winner = select_winner(run)
        assert winner is not None
        assert (winner.ident, winner.genotype) == (3, WASTE)
        # Those are right on all cases, so that nothing else would tell.
        genotype = run.subject.read(f"{ODD} {NEVER} {WASTE}")
        assert set(untested(run, changes_of(genotype))) == {ODD, NEVER}


@broad
def test_a_change_that_is_wrong_by_itself_is_found_out(tmp_path: Path, few_processes: None) -> None:
    subject = load_subject(whole(tmp_path / "whole"), "host")
    with create_run(subject, tmp_path / "run", PLAN) as run:
        for ident in range(1, FINALISTS + 2):
            individual(run, ident, f"{GUARD} {WASTE}", 0.2)
        individual(run, 99, WASTE, 0.4, run.subject.key(run.subject.read(WASTE)))
        (guard, _) = changes_of(run.subject.read(f"{GUARD} {WASTE}"))
        assert wrong_alone(run, changes_alone(run, finalists(run))) == {guard}
        winner = select_winner(run)
        assert winner is not None
        assert winner.ident == 99


def test_where_time_is_up_the_fastest_by_a_short_look_is_the_winner(tmp_path: Path) -> None:
    subject = load_subject(whole(tmp_path / "whole"), "host")
    with create_run(subject, tmp_path / "run", PLAN) as run:
        final = Finals(run)
        assert final.provisional is None
        wrong, right = (run.subject.read(one) for one in (f"{GUARD} {WASTE}", WASTE))
        final.glance([(1, wrong), (2, right), (3, run.subject.original)])
        assert final.provisional is not None
        assert (final.provisional.ident, final.provisional.genotype) == (2, WASTE)
        assert final.provisional.validation.provisional
        assert not is_validated(run.store)
        keep_winner(run.store, final.provisional)
        assert not is_validated(run.store)
        keep_winner(run.store, None)
        assert is_validated(run.store), "none holds"
        final.refusals[2] = "it races"
        assert final.provisional is None


@broad
def test_what_is_right_of_what_is_wrong_is_an_individual(
    tmp_path: Path, few_processes: None
) -> None:
    subject = load_subject(whole(tmp_path / "whole"), "host")
    with create_run(subject, tmp_path / "run", PLAN) as run:
        for ident in range(1, 4):
            individual(run, ident, f"{GUARD} {WASTE}", 0.2)
        winner = select_winner(run)
        assert winner is not None
        assert (winner.ident, winner.genotype) == (4, WASTE)
        found = run.store.individual(4)
        assert found is not None
        assert (found.origin, found.parents, found.generation) == ("repair", (1,), 0)
        assert run.store.evaluations()[4].selectable
        assert run.store.pending() == []
        # It is not made a second time, neither here nor by a search that goes on.
        wrong = run.subject.read(f"{GUARD} {WASTE}")
        alone = wrong_alone(run, changes_alone(run, [(2, wrong)]))
        assert repaired(run, [(2, wrong)], alone, {}) == [4]
        assert run.subject.key(run.subject.read(WASTE)) in run.store.tabu().genotypes
        assert select_winner(run) == replace(winner, validation=ANY)


def test_where_all_of_the_best_are_wrong_what_is_right_is_found_among_all(
    tmp_path: Path, few_processes: None
) -> None:
    """A hundred that are faster have one change that only the held-out case tells; one has not."""
    subject = load_subject(whole(tmp_path / "whole"), "host")
    with create_run(subject, tmp_path / "run", PLAN) as run:
        for ident in range(1, 101):
            individual(run, ident, f"{GUARD} {WASTE}", 0.2 + ident / 1000)
        individual(run, 101, WASTE, 0.4)
        individual(run, 102, WASTE, 0.5)
        found = _of_all_speeds(run, Finals(run))
        assert [ident for ident, _ in found][:1] == [101]


@broad
def test_of_what_was_told_wrong_the_change_that_all_have_goes(
    tmp_path: Path, few_processes: None
) -> None:
    """Threads race, with answers that are right all the same."""
    with create_run(
        load_subject(small_races(tmp_path / "races"), "host"), tmp_path / "run", PLAN
    ) as run:
        individual(run, 1, "CHEAT=5 WASTE=0", 0.2)
        individual(run, 2, "CHEAT=5 WASTE=0 <_kernel.cu_46>", 0.2)
        winner = select_winner(run)
        assert winner is not None
        assert winner.genotype in ("WASTE=0", "WASTE=0 <_kernel.cu_46>")
        assert winner.validation.watched


def test_of_one_that_was_told_wrong_the_part_that_is_not_stays(
    tmp_path: Path, few_processes: None
) -> None:
    with create_run(
        load_subject(small_races(tmp_path / "races"), "host"), tmp_path / "run", PLAN
    ) as run:
        individual(run, 1, "CHEAT=5 WASTE=0 <_kernel.cu_46>", 0.2)
        racing = run.subject.read("CHEAT=5 WASTE=0 <_kernel.cu_46>")
        (races,) = run.tools.certification.races.objections([candidate(run.subject, racing)])
        assert races is not None
        (made,) = repaired(run, [(1, racing)], (), {1: races})
        found = run.store.individual(made)
        assert found is not None
        # Deleting that statement gains next to nothing, or nothing.
        assert found.genotype in ("WASTE=0", "WASTE=0 <_kernel.cu_46>")


def test_what_pays_of_an_individual(tmp_path: Path, few_processes: None) -> None:
    """No change can be said to pay if the changes together are not faster."""
    subject = load_subject(EVEN, "host", edits="all")
    with create_run(subject, tmp_path / "run", PLAN) as run:

        def paid(genotype: str) -> list[str]:
            changed = Changed.of(run.subject.read(genotype), subject.original, subject.order)
            found = paying(run, changed, sorted(changed.all))
            return [str(changed.changes[at]) for at in found]

        assert WASTE in paid(f"{WASTE} {NEVER}")
        assert set(paid(f"{GUARD} {NEVER}")) == {GUARD, NEVER}
