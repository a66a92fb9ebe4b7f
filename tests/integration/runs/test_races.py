"""Winners with data races are never certified, even if their answers are right."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.analyze.finalists.winner import ChosenIndividual
from gi_cuda.analyze.validate.acceptance import Entry, accept
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate, candidate, unmodified
from gi_cuda.evaluate.checks.orders import one_order
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.scrutiny.ordering.order_words import changes_order, changes_order_of_blocks
from gi_cuda.evaluate.scrutiny.ordering.races import Looked, RaceWatch
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import SanitizerFinding
from gi_cuda.evaluate.scrutiny.ordering.small_cases import SmallCases, small_cases
from gi_cuda.evaluate.scrutiny.processor_watch import ProcessorWatch
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.generation import Individual
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.spec import CaseRole, load_target
from gi_cuda.subject import load_subject
from gi_cuda.upstream.steps import in_one, steps
from gi_cuda.upstream.submission import submit
from tests.integration.runs.racing import RACES, small_races
from tests.sweeps import broad

CHEATS = {
    1: "the barriers of a tile",
    2: "the second barrier of two",
    3: "a barrier on a condition that is never met",
    4: "a barrier of each warp for one of the block",
    5: "increments for atomics",
    6: "a store for an atomic maximum",
    7: "a fence for the block for one of the device",
    8: "a warp that does not meet",
}
IN_EVERY_ORDER = (5, 6, 7)
"""Numbers of the races whose answers are right in all orders of threads that the host tries, as
only one thread runs at a time."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder, plan = tmp_path_factory.mktemp("r"), Plan("barracuda", SETTINGS, 1, 1, 2)
    with create_run(load_subject(small_races(folder / "t"), "host"), folder / "run", plan) as one:
        yield one


def test_only_the_kernel_that_does_not_stand_an_order_is_excused_from_it(run: Run) -> None:
    assert run.baseline.schedules == dict.fromkeys(Schedule, ("total",))


def test_check_names_the_kernel_that_is_right_in_one_order_alone(run: Run) -> None:
    (found,) = one_order(run.subject.target, run.baseline.schedules, [])
    assert "kernel total" in found.what
    assert "with blocks and threads in a random order" in found.what
    assert found.hint.startswith("do its threads race")
    assert list(one_order(run.subject.target, None, [])) == []
    race = SanitizerFinding("race of threads of one block in total", 9, "totals[0] += 1;", "total")
    (found,) = one_order(run.subject.target, run.baseline.schedules, [race])
    assert found.hint.startswith(f"its threads race: {race}: a barrier, a fence")


@broad
def test_cheats_are_wrong_in_some_order_or_told_of_by_the_detector(run: Run) -> None:
    cheats = {number: cheat(run, number) for number in CHEATS}
    genotypes = [run.subject.read(f"CHEAT={number}") for number in CHEATS]
    readings = run.measurer(CaseRole.HELD_OUT, builds=1, pairs=1)(genotypes)
    right = [number for number, one in zip(cheats, readings, strict=True) if one.right]
    assert right == list(IN_EVERY_ORDER)
    for number, one in cheats.items():
        objection = run.tools.certification.races.objection(one)
        kernel = {5: "count", 6: "count", 7: "add", 8: "add"}.get(number, "smooth")
        assert re.search(rf"race of threads of (one block|two blocks) in {kernel} on ", objection)
        assert re.search(r"(read|write) by thread \(\d+,0,0\) of block \(\d+,0,0\)", objection)
        assert ", line " in objection
        assert not run.tools.certification.certified(one, Validation(True)).correct


def cheat(run: Run, number: int) -> Candidate:
    return candidate(run.subject, run.subject.read(f"CHEAT={number}"))


def test_the_reference_is_not_complained_of(run: Run) -> None:
    assert run.tools.certification.races.objection(unmodified(run.subject)) == ""
    assert run.tools.certification.races.racing() == {}


@broad
def test_what_runs_on_a_gpu_is_watched_on_the_processor_as_well(tmp_path: Path) -> None:
    subject = load_subject(RACES, "cuda")
    elsewhere = ProcessorWatch(subject, tmp_path, 1)
    for number in CHEATS:
        looked = elsewhere.look(candidate(subject, subject.read(f"CHEAT={number}")))
        assert "race of threads of " in looked.seen
        assert looked.why == ""
    assert elsewhere.look(unmodified(subject)) == Looked()


def test_what_nobody_can_watch_says_why(tmp_path: Path) -> None:
    target = Path(shutil.copytree(RACES, tmp_path / "t"))
    file = target / "target.toml"
    roles = re.compile(r'^role = "(?:train|held-out)"$', re.M)
    file.write_text(roles.sub(r'\g<0>\nbackends = ["cuda"]', file.read_text()))
    subject = load_subject(target, "cuda")
    looked = ProcessorWatch(subject, tmp_path, 1).look(unmodified(subject))
    assert looked == Looked(why="no held-out case is for the backend 'host'")


@broad
def test_what_goes_on_for_ever_is_watched_no_longer_than_it_takes_to_tell(run: Run) -> None:
    whole, begin = unmodified(run.subject), "    idle[t] = t;\n"
    assert whole.text.count(begin) == 1
    endless = f"{begin}    for (volatile int on = 1; on; )\n        idle[t]++;\n"
    watch = replace(run.tools.certification.races, limit=2.0)
    said = watch.objection(replace(whole, text=whole.text.replace(begin, endless)))
    assert said.startswith("watched for races: ")
    assert watch.objection(whole) == ""


@pytest.mark.usefixtures("toolkit")
def test_what_smaller_cases_reach_in_ptx_is_not_known(run: Run, tmp_path: Path) -> None:
    subject = open_subject(RACES, "cuda", "ptx")
    small = SmallCases(subject, ("held0",), (), run.tools.uncached, tmp_path)
    assert not small.stand_for(unmodified(subject))


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("__threadfence();", "__threadfence_block();", True),
        ("atomicAdd(&sum, 1);", "sum += 1;", True),
        ("__syncthreads(); x = 1;", "x = 1;", False),
        ("grid.sync();\nx = 1;", "x = 1;", True),
        ("atomicAdd(&sum, 1);\nx = 1;", "atomicAdd(&sum, 1);\nx = 2;", False),
    ],
)
def test_what_changes_an_order_of_blocks(before: str, after: str, *, changes: bool) -> None:
    assert changes_order_of_blocks(before, after) == changes


@broad
@pytest.mark.usefixtures("few_processes")
def test_racing_increments_are_certified_by_nobody(run: Run) -> None:
    """Their answers are right in each order of threads that run one after another."""
    text = "CHEAT=5 WASTE=0"
    genotype = run.subject.read(text)
    entry = Entry("racing", None, genotype)
    result = accept(run, [entry], [])
    assert result.accepted is None
    assert "race of threads of one block in count" in result.tried[0].validation.message
    winner = ChosenIndividual(Individual(1, 0, text, b"", None, "", ()), genotype, None)
    changed = winner.changes(run.subject)
    parts = in_one(steps(run.source, changed, changed.all))
    with pytest.raises(UserError, match="race of threads of one block in count on shared memory"):
        submit(run, winner, parts, check=False)


def test_without_a_detector_no_barrier_or_fence_may_change(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = run.tools
    monkeypatch.setenv("PATH", str(tmp_path))
    blind = RaceWatch(run.subject, tools.session, tools.uncached, tmp_path, tools.held_out())
    for number in CHEATS:
        objection = blind.objection(cheat(run, number))
        assert objection.startswith("changes a barrier, a fence or an atomic function")
        assert "g++ is not on PATH; install g++ 11 or newer" in objection
    assert blind.objection(unmodified(run.subject)) == ""
    assert list(blind.racing()) == ["smooth", "count", "add", "total"]


@broad
def test_smaller_cases_are_watched_where_they_reach_as_much(run: Run, tmp_path: Path) -> None:
    target = small_races(tmp_path / "t")
    with (target / "target.toml").open("a") as file:
        for name, n in (("few", 300), ("none", 0), ("one", 64)):
            file.write(f'\n[[case]]\nname = "{name}"\nrole = "held-out"\nbackends = ["cuda"]\n')
            file.write(f"args = {{ seed = 4, n = {n} }}\n")
    subject = load_subject(target, "host")
    assert small_cases(subject.target, "host") == ()
    held_out = subject.cases(CaseRole.HELD_OUT)
    tools = run.tools

    def small(*names: str) -> SmallCases:
        return SmallCases(subject, names, held_out, tools.uncached, tmp_path / "-".join(names))

    def watch(by: SmallCases) -> RaceWatch:
        return RaceWatch(subject, tools.session, tools.uncached, by.folder, held_out, by)

    clean, racing = (candidate(subject, subject.read(f"CHEAT={number}")) for number in (0, 5))
    few, one = watch(small("few")), watch(small("one"))
    assert (few.objection(clean), few.watched(clean)) == ("", ("few",))
    assert few.objection(racing)
    # With one block there is no other to add up, with none the reference does not run.
    assert (one.objection(clean), one.watched(clean)) == ("", held_out)
    assert not small("none").stand_for(clean)
    # What is inserted is reached by large cases alone; or by no case, and then it is in none.
    atomic = "        atomicAdd(&mine[size], 1);\n"
    rare = f"        if (n > {{}})\n            mine[size] += 1;\n        else\n    {atomic}"
    assert clean.text.count(atomic) == 1
    large, never = (
        replace(clean, text=clean.text.replace(atomic, rare.format(n))) for n in (1000, 9000)
    )
    assert "race of threads of one block in count" in few.objection(large)
    assert (few.objection(never), few.watched(never)) == ("", ("few",))
    assert small("one", "few").stand_for(clean)


def test_a_gpus_winners_are_watched_on_what_there_is_for_processors(tmp_path: Path) -> None:
    target = Path(shutil.copytree(RACES, tmp_path / "t"))
    file = target / "target.toml"
    text = file.read_text().replace(
        "seed = 2, n = 3333 }", 'seed = 2, n = 33 }\nbackends = ["host"]'
    )
    file.write_text(text)
    read = load_target(target)
    assert small_cases(read, "cuda") == ("held0",)
    assert small_cases(read, "host") == ()


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("a = 1;\n__syncthreads();\nb = 2;", "a = 3;\n__syncthreads();\nb = 2;", False),
        ("a = 1;\n__syncthreads();", "a = 1;", True),
        ("a = 1;\n__syncthreads();\nb = 2;", "__syncthreads();\na = 1;\nb = 2;", True),
        ("__syncthreads();", "if (x)\n__syncthreads();", True),
        ("if (x)\n__syncthreads();", "if (y)\n__syncthreads();", True),
        ("atomicAdd(p, 1);", "*p += 1;", True),
        ('asm("bar.sync 0;");', ";", True),
        ("grid.sync();", ";", True),
        ("bar.sync 0;\nadd.s32 %r1, %r2, 1;", "bar.sync 0;\nadd.s32 %r1, %r2, 2;", False),
        ("membar.gl;", "", True),
        ("if (x)\na = 1;", "if (y)\na = 1;", False),
    ],
)
def test_what_changes_an_order(before: str, after: str, *, changes: bool) -> None:
    assert changes_order(before, after) == changes


def test_runs_of_the_reference_differ_as_orders_do(tmp_path: Path) -> None:
    """The deviation that the sigma oracle allows is that over orders of threads; what is right in
    all of them is as narrow as it was."""
    target = small_races(tmp_path / "t")
    file = target / "target.toml"
    text = file.read_text()
    file.write_text(text.replace('kind = "exact"', 'kind = "sigma"\nk = 6\nabsolute = 1e-9'))
    plan = Plan("barracuda", SETTINGS, 1, 1, 2)
    with create_run(load_subject(target, "host"), tmp_path / "run", plan) as run:
        assert run.baseline.schedules == dict.fromkeys(Schedule, ())
        (found,) = run.validate([candidate(run.subject, run.subject.read("CHEAT=2"))])
    assert not found.correct
