"""Second opinions: likely parents of a search run on a processor, whose verdict counts."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from gi_cuda.backends.table import open_compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.batches.passes import Record, Trial
from gi_cuda.evaluate.candidates import as_candidate, candidate, unmodified
from gi_cuda.evaluate.reference.baseline import compile_reference, record_reference
from gi_cuda.evaluate.scrutiny.inputs import originals
from gi_cuda.evaluate.scrutiny.inputs.dependence import Dependence, opening
from gi_cuda.evaluate.scrutiny.ordering.races import Looked
from gi_cuda.evaluate.scrutiny.processor_watch import BESIDE, ProcessorWatch
from gi_cuda.evaluate.second_opinion import _ASKED, LONGEST, SecondOpinion
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.tools import open_tools
from gi_cuda.spec import CaseRole, Target
from gi_cuda.subject import Subject, load_subject
from tests.conftest import TARGETS
from tests.integration.runs.racing import RACES
from tests.sweeps import broad, sweep

BARRIER, STATEMENT = "<_kernel.cu_53>", "<_kernel.cu_46>"
RACING, CLEAN = "CHEAT=5", "WASTE=0"


@pytest.fixture(autouse=True)
def whatever_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it may take a while until somebody can look."""
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion.OPENING", 600.0)
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion.IDLE", 600.0)


@pytest.fixture(scope="module")
def subject() -> Subject:
    return load_subject(RACES, "cuda", edits="full")


@pytest.fixture(scope="module")
def elsewhere(
    subject: Subject, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProcessorWatch]:
    folder = tmp_path_factory.mktemp("second")
    with ExitStack() as opened:
        yield ProcessorWatch(subject, folder, 2, CaseRole.TRAIN, 10.0, opened)


@dataclass(frozen=True)
class Said:
    """An evaluator that knows what becomes of each genotype; the next cohort is asked for after
    each. Some have the machine code of others."""

    subject: Subject
    ratios: Mapping[str, float]
    codes: Mapping[str, bytes] = field(default_factory=dict)

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Trial]:
        sources = {ident: candidate(self.subject, one) for ident, one in batch.items()}
        compiler = open_compiler(self.subject, 1)
        found = compiler.preprocess([one.variant(ident) for ident, one in sources.items()])
        return {i: Trial(one.configuration, found[i], "", one) for i, one in batch.items()}

    def evaluate(
        self,
        batch: Mapping[int, Trial],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, Trial]],
    ) -> Generator[Record, None, None]:
        waiting = dict(batch)
        while waiting:
            ident = next(iter(waiting))
            name = str(waiting.pop(ident).genotype)
            ratio, key = self.ratios[name], self.codes.get(name)
            verdict = Verdict.FASTER if ratio < 1 else Verdict.SAME
            right = Evaluation(True, Survival.NORMAL, 0.0, verdict, code_key=key)
            yield ident, replace(right, ratio=ratio, low=ratio * 0.99, high=ratio * 1.01)
            waiting.update(more())


def opinions(
    subject: Subject,
    elsewhere: ProcessorWatch,
    ratios: Mapping[str, float],
    later: Sequence[str] = (),
    codes: Mapping[str, bytes] | None = None,
    asking: Dependence | None = None,
    known: bool = False,
) -> dict[str, Evaluation]:
    """Return the results of genotypes, in the order of their arrival.

    Args:
        later: genotypes that are bred once others are evaluated.
        codes: their machine code, if it matters.
        asking: the workers to ask if none can look elsewhere.
        known: it is known before that none can look elsewhere, and that the workers asked answer.
    """
    second = SecondOpinion(Said(subject, ratios, codes or {}), subject, elsewhere, asking)
    if known:
        second._looks = ()
        second._asks = not second._seen(_ASKED)
    names = dict(enumerate(ratios, 1))
    numbers = {name: number for number, name in names.items()}
    late = list(later)

    def prepared(some: list[str]) -> Mapping[int, Trial]:
        return second.prepare({numbers[name]: subject.read(name) for name in some})

    def more() -> Mapping[int, Trial]:
        new, late[:] = late[:], []
        return prepared(new) if new else {}

    first = prepared([name for name in ratios if name not in late])
    return {names[ident]: one for ident, one in second.evaluate(first, lambda: False, more)}


@pytest.mark.usefixtures("toolkit")
def test_the_fastest_is_wrong_where_it_races(subject: Subject, elsewhere: ProcessorWatch) -> None:
    told = opinions(subject, elsewhere, {RACING: 0.2, CLEAN: 0.5, f"CHEAT=6 {CLEAN}": 0.9})
    assert told[RACING].outcome is Outcome.WRONG
    assert not told[RACING].right
    assert "looked at more closely it is wrong: race of threads of" in told[RACING].message
    assert told[CLEAN].outcome is Outcome.FASTER
    # It is slower than one that is believed, so nobody looks at it.
    assert told[f"CHEAT=6 {CLEAN}"].outcome is Outcome.FASTER


@pytest.mark.usefixtures("toolkit")
def test_nothing_is_believed_for_being_slower_than_one_that_races(
    subject: Subject, elsewhere: ProcessorWatch
) -> None:
    """While the first is watched, those come that it was bred with and that race as it does."""
    alike = {RACING: 0.2, "CHEAT=6": 0.3, f"{RACING} {STATEMENT}": 0.4}
    told = opinions(subject, elsewhere, {**alike, CLEAN: 0.9})
    assert [told[name].outcome for name in alike] == [Outcome.WRONG] * len(alike)
    assert told[CLEAN].outcome is Outcome.FASTER


@pytest.mark.usefixtures("toolkit")
def test_a_few_blocks_of_a_large_launch_show_a_race(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gi_cuda.evaluate.scrutiny.processor_watch.SAMPLES", (1,))
    with ExitStack() as opened:
        elsewhere = ProcessorWatch(subject, tmp_path, 2, CaseRole.TRAIN, 10.0, opened)
        racing, clean = (candidate(subject, subject.read(one)) for one in (RACING, CLEAN))
        assert "race of threads of" in elsewhere.look(racing).seen
        assert elsewhere.look(clean) == Looked()
        # It is launched as the reference, so that answers of a sample are those of the same items.
        assert elsewhere.ask(clean) == Looked()

        # Blocks that do each other's work write to other places than a sample of the reference's.
        others = replace(clean, text=clean.text.replace("blockIdx.x", "(blockIdx.x ^ 8)"))
        assert others.text != clean.text
        assert "its blocks do other work" in elsewhere.ask(others).why

        # Blocks 2 and 3 are never in a sample of eight.
        end, hidden = "        out[i] = mine;\n", "    if (blockIdx.x / 2 == 1) out[0] = i;\n"
        assert clean.text.count(end) == 1
        rare = replace(clean, text=clean.text.replace(end, end + hidden))
        assert elsewhere.look(rare) == Looked()
        assert "race of threads of" in elsewhere.look_at_all_blocks(rare).seen
        assert elsewhere.look_at_all_blocks(clean) == Looked()


@pytest.mark.usefixtures("toolkit")
def test_what_takes_too_long_on_a_processor_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gi_cuda.evaluate.scrutiny.processor_watch.SOON", 0.2)
    target = shutil.copytree(RACES, tmp_path / "target")
    text = (target / "kernel.cu").read_text()
    end = "        out[i] = mine;\n"
    assert text.count(end) == 1
    slow = text.replace(end, f"{end}        for (volatile long k = 0; k < 1L << 40; k++) {{}}\n")
    (target / "kernel.cu").write_text(slow)
    subject = load_subject(target, "cuda", edits="full")
    with ExitStack() as opened:
        elsewhere = ProcessorWatch(subject, tmp_path, 2, CaseRole.TRAIN, 10.0, opened)
        found = elsewhere.look(candidate(subject, subject.original))
        assert found == Looked(why="the reference fails on the host back end, or takes too long")


@broad
@pytest.mark.usefixtures("toolkit")
def test_the_fastest_is_wrong_where_only_another_input_tells(tmp_path: Path) -> None:
    """All is right on every case, and no thread races: the one leaves out an input that hardly
    matters there, the other reads the same from elsewhere."""
    subject = load_subject(TARGETS / "inputs", "cuda", edits="full")
    left_out, harmless = "LEFT_OUT=1", "LEFT_OUT=8"
    with ExitStack() as opened:
        elsewhere = ProcessorWatch(subject, tmp_path / "second", 2, CaseRole.TRAIN, 10.0, opened)
        told = opinions(subject, elsewhere, {left_out: 0.5, harmless: 0.9})
    said = "its answers are the same with zeros in place of the input kind"
    assert told[left_out].message.startswith(f"looked at more closely it is wrong: {said}")
    assert told[left_out].outcome is Outcome.WRONG
    assert told[harmless].outcome is Outcome.FASTER


@broad
@pytest.mark.usefixtures("toolkit")
def test_what_never_ends_on_a_processor_is_soon_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search goes on meanwhile without what is faster than all that is believed."""
    subject = load_subject(TARGETS / "inputs", "cuda", edits="full")
    assert "part *= gain;" in subject.reference
    text = subject.reference.replace(
        "part *= gain;", "for (volatile int on = 1; on;) part *= gain;"
    )
    limits, lost = list[float](), list[int]()
    answers = originals.answers_of

    def watched(
        pool: Pool[int], requests: Sequence[Any], *how: bool, until: float = math.inf
    ) -> list[Any]:
        limits.extend(one.limit for one in requests)
        found = answers(pool, requests, *how, until=until)
        lost.append(sum(isinstance(one, Lost) for one in found))
        return found

    with ExitStack() as opened:
        elsewhere = ProcessorWatch(subject, tmp_path / "second", 2, CaseRole.TRAIN, 10.0, opened)
        assert elsewhere.ask(unmodified(subject)) == Looked()
        monkeypatch.setattr(originals, "answers_of", watched)
        one = as_candidate(subject, text, subject.standard)
        assert elsewhere.ask(one) == Looked(), "that says nothing of a GPU"
    assert limits
    assert max(limits) <= LONGEST / 3, "the reference has to answer all of them in so much"
    # Of each sort of questions no more is asked then, and the reference answers what it did not.
    assert lost == [1, 1, 0]


@pytest.mark.usefixtures("toolkit")
def test_what_is_right_by_one_edit_is_watched_while_few_wait(
    subject: Subject, elsewhere: ProcessorWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratios = {BARRIER: 1.0, f"{CLEAN} {BARRIER}": 1.0, f"{BARRIER} {STATEMENT}": 1.0}
    told = opinions(subject, elsewhere, ratios)
    assert [told[name].right for name in ratios] == [False, False, True]
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion.WAITING", 1)
    told = opinions(subject, elsewhere, ratios)
    assert [told[name].right for name in ratios] == [False, True, True]


@pytest.mark.usefixtures("toolkit")
@pytest.mark.parametrize(
    ("first", "second", "right", "later"),
    sweep(
        [
            (BARRIER, STATEMENT, False, True),
            (BARRIER, STATEMENT, False, False),
            (STATEMENT, BARRIER, True, True),
            (STATEMENT, BARRIER, True, False),
        ],
        (BARRIER, STATEMENT, False, True),
        (STATEMENT, BARRIER, True, False),
    ),
)
def test_of_one_machine_code_one_is_watched(
    subject: Subject,
    elsewhere: ProcessorWatch,
    monkeypatch: pytest.MonkeyPatch,
    first: str,
    second: str,
    right: bool,
    later: bool,
) -> None:
    """The other one is told as the first is, whatever its own text says."""
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion._together", lambda: 1)
    late = [second] if later else []
    ratios, codes = {first: 1.0, second: 1.0}, {first: b"one", second: b"one"}
    told = opinions(subject, elsewhere, ratios, late, codes)
    assert [told[name].right for name in ratios] == [right, right]


@pytest.mark.usefixtures("toolkit")
def test_nothing_is_lost_of_what_is_bred_meanwhile(
    subject: Subject, elsewhere: ProcessorWatch
) -> None:
    ratios = {CLEAN: 0.9, RACING: 0.4, "CHEAT=6": 0.3, f"CHEAT=7 {CLEAN}": 1.0}
    told = opinions(subject, elsewhere, ratios, ("CHEAT=6", f"CHEAT=7 {CLEAN}"))
    assert told.keys() == ratios.keys()
    # What is held back comes last.
    assert [name for name, one in told.items() if one.right] == [f"CHEAT=7 {CLEAN}", CLEAN]


@pytest.mark.usefixtures("toolkit")
def test_who_looks_does_not_keep_the_search_from_breeding(
    subject: Subject, elsewhere: ProcessorWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slowest are believed if many wait, and all if there is nothing else to do."""
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion.MOST", 1)
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion._together", lambda: 1)
    slow = f"{RACING} {STATEMENT}"
    told = opinions(subject, elsewhere, {RACING: 0.2, "CHEAT=6": 0.3, slow: 0.4})
    assert [told[name].right for name in (RACING, "CHEAT=6", slow)] == [False, True, True]
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion.IDLE", 0.0)
    assert opinions(subject, elsewhere, {RACING: 0.2})[RACING].right


@pytest.mark.usefixtures("toolkit")
def test_where_nobody_can_look_all_is_believed(subject: Subject, elsewhere: ProcessorWatch) -> None:
    nobody = replace(elsewhere, subject=replace(subject, target=_without_host_cases(subject)))
    told = opinions(subject, nobody, {RACING: 0.2})
    assert told[RACING].outcome is Outcome.FASTER


@pytest.mark.usefixtures("toolkit")
def test_where_it_takes_too_long_to_know_whether_somebody_can_all_is_believed(
    subject: Subject, elsewhere: ProcessorWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion.OPENING", -1.0)
    told = opinions(subject, elsewhere, {RACING: 0.2, "CHEAT=6": 0.1})
    assert all(one.right for one in told.values())


@pytest.mark.usefixtures("toolkit")
@pytest.mark.parametrize("known", [False, True])
def test_where_nobody_can_look_elsewhere_the_device_itself_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """Here that is the processor, of a subject whose other cases nobody can look at. All is
    believed as long as it is not known whether it answers soon enough."""
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion.LONGEST", 600.0)
    if not known:
        monkeypatch.setattr("gi_cuda.evaluate.second_opinion.PATIENCE", 0.0)
        monkeypatch.setattr(Dependence, "objection_meanwhile", lambda *_: Event().wait())
    subject = load_subject(TARGETS / "inputs", "host", edits="full")
    nowhere = replace(subject, backend="cuda", target=_without_host_cases(subject))
    ratios = {"LEFT_OUT=1": 0.5, "LEFT_OUT=8": 0.9}
    with ExitStack() as opened, open_tools(subject, tmp_path, workers=1, jobs=2) as tools:
        (binary,) = compile_reference(subject, tools.compiler, [subject.reference], tmp_path / "r")
        program = unmodified(subject).program(binary, tools.train())
        record_reference(subject, tools.pool, program, tools.reference)
        given = subject, tools.compiler, None, tmp_path / "a", tools.session.cases
        alone = opening(opened, tools.session, 1)
        asking = Dependence(*given, patience=BESIDE, alone=alone)
        elsewhere = ProcessorWatch(nowhere, tmp_path / "b", 2, CaseRole.TRAIN, 10.0, opened)
        told = opinions(subject, elsewhere, ratios, asking=asking, known=known)
    said = "looked at more closely it is wrong: its answers are the same with zeros in place of"
    assert told["LEFT_OUT=1"].message.startswith(said) == known
    assert told["LEFT_OUT=8"].outcome is Outcome.FASTER


def _without_host_cases(subject: Subject) -> Target:
    cases = tuple(replace(one, backends=("cuda",)) for one in subject.target.cases)
    return replace(subject.target, cases=cases)


@pytest.mark.usefixtures("toolkit")
@pytest.mark.parametrize(
    ("first", "told"),
    [("float part = 0.0f;", False), ("float part; part = fmaxf(part, 0.0f);", True)],
)
def test_a_processor_sees_locals_that_nothing_sets(tmp_path: Path, first: str, told: bool) -> None:
    """On a GPU that one is 0, or nothing that is more than what it is compared with."""
    subject = load_subject(TARGETS / "inputs", "cuda", edits="full")
    whole = unmodified(subject)
    assert "float part = 0.0f;" in whole.text
    one = replace(whole, text=whole.text.replace("float part = 0.0f;", first))
    with ExitStack() as opened:
        said, same = ProcessorWatch(subject, tmp_path, 2, CaseRole.TRAIN, 10.0, opened).unset(
            [one, whole]
        )
    assert said.startswith("it reads part, which nothing has set") == told
    assert same == ""
