"""Judge a rewrite: first its correctness, then its speed."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256

from gi_cuda.analyze.judge.checks import (
    ANSWERS,
    COMPILES,
    DEVICE_CODE,
    ORDERS,
    READS,
    made,
    not_made,
)
from gi_cuda.analyze.judge.errors import output_errors, seeds_of
from gi_cuda.analyze.judge.records import (
    Check,
    Hashes,
    Judged,
    Machine,
    Outcome,
    OutputError,
    Reason,
    Speed,
)
from gi_cuda.analyze.rewrites.refusals import Refusal
from gi_cuda.backends.job_threads import both
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Measure
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built
from gi_cuda.backends.table import backends_on_gpus
from gi_cuda.evaluate.candidates import Candidate, build_candidates, unmodified
from gi_cuda.evaluate.reference.baseline import Baseline, in_silence
from gi_cuda.evaluate.reference.double_precision import in_double_precision
from gi_cuda.evaluate.replicates import (
    NOT_COMPILED,
    Repeats,
    Replicates,
    final_answers,
    in_fresh_processes,
    why_wrong,
)
from gi_cuda.evaluate.scrutiny.objections import Objection
from gi_cuda.results.measurement import Sample
from gi_cuda.results.speed_up import Reading, SpeedUp, speed_up
from gi_cuda.results.status import EXIT_STATUS, Status
from gi_cuda.results.verdict import (
    FEWEST_ROUNDS,
    JUDGED_FLOOR,
    MOST_ROUNDS,
    Verdict,
    bar_of,
    verdict_of_rewrite,
)
from gi_cuda.runs.tools import Tools
from gi_cuda.spec import Target, find_case, load_case

GRAVITY = (Status.INCORRECT, Status.INVALID, Status.UNVERIFIED, Status.INCONCLUSIVE)
"""Verdicts that take precedence over the speed, the gravest first."""

REPEATS = Repeats(builds=6, processes=FEWEST_ROUNDS, pairs=9)
"""Smallest number of repetitions of the measurement of a rewrite."""

LIMIT = 10.0
"""Smallest time limit of a launch, seconds. A right rewrite may be slow in emulation, for example
if it uses shuffles."""

FEW, SOON = 16 << 20, 3.0
"""Limits for answers in double precision: bytes of a case's answers, and seconds of a launch."""

PATIENCE = 60.0
"""Seconds of measuring after which no further round is begun."""

_SPEED = {
    Verdict.FASTER: Status.FASTER,
    Verdict.SLOWER: Status.SLOWER,
    Verdict.SAME: Status.SAME,
    Verdict.UNCERTAIN: Status.INCONCLUSIVE,
}
_PLACE = re.compile(r"^(?:v\d+/)?(?P<where>[^\s:]+:\d+)(?::\d+)?: (?P<said>.*)", re.S)
_CASE = re.compile(r"^(?:wrong|crashed|hung|refused): (?P<case>[^\s:]+): ")
_CODES = {
    "wrong": "wrong-answers",
    "crashed": "crashes",
    "hung": "hangs",
    "refused": "launch-refused",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A rewrite that is to be judged.

    Attributes:
        original, rewritten: the user's names for them.
        kind: file, folder or diff.
        candidate: the code that is compiled and launched; None if it cannot run.
        refusal: reason why it cannot run.
        launches: descriptions of its launches, if they differ from the original's.
        guessed: unconfirmed values of the target.
        hashes: hashes of all texts.
        isolation: description of the sandbox of kernels.
    """

    original: str
    rewritten: str
    kind: str
    candidate: Candidate | None
    refusal: Refusal | None = None
    launches: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    hashes: Hashes = field(default_factory=Hashes)
    isolation: str = ""


@dataclass(slots=True)
class _Found:
    """Findings about a rewrite so far; for the fields see `Judged`."""

    reasons: list[Reason] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    errors: tuple[OutputError, ...] = ()
    speed: Speed | None = None
    status: Status | None = None


@dataclass(frozen=True)
class Referee:
    """A judge of rewrites of a target.

    Attributes:
        tools: tools of the target, with one worker.
        baseline: returns the measurements of the original; called only if a rewrite can run.
        tell: callback that receives progress messages.
    """

    tools: Tools
    baseline: Callable[[], Baseline]
    tell: Callable[[str], None] = in_silence

    def judge(self, entry: Entry) -> Judged:
        """Judge one rewrite."""
        begun = time.monotonic()
        found = _Found()
        if entry.refusal is not None or entry.candidate is None:
            _refuse(found, entry.refusal)
        else:
            found.checks.append(Check(READS, Outcome.PASSED))
            self._look(found, entry.candidate)
        return self._record(entry, found, time.monotonic() - begun)

    # -- is it right? --------------------------------------------------------------------------

    def _look(self, found: _Found, one: Candidate) -> None:
        cases = (*self.tools.train(), *self.tools.held_out())
        baseline, (base, built, foreign) = both(self.baseline, partial(self._built, one))
        if isinstance(built, BuildFailure):
            _fail(found, COMPILES, _of_compiler(built.message))
            return
        found.checks.append(Check(COMPILES, Outcome.PASSED))
        if foreign is not None:
            _fail(found, DEVICE_CODE, _of_objections([foreign])[0])
            return
        found.checks.append(Check(DEVICE_CODE, Outcome.PASSED))
        self.tell("running it on all cases")
        assert isinstance(base, Binary), "the reference was compiled for the baseline"
        reference, program = unmodified(self.tools.subject), one.program(built, cases)
        limit = _limit(baseline)
        sampling = Sampling(limit=limit, schedules=baseline.schedules).untimed()
        request = Measure(program, reference.program(base, cases), sampling)
        run, pool = in_fresh_processes(self.tools.pool), self.tools.pool
        ((_, answer),) = final_answers(run, pool, [(0, request)])
        if failure := why_wrong(answer):
            _fail(found, ANSWERS, _of_run(failure))
            return
        found.checks.append(Check(ANSWERS, Outcome.PASSED, ", ".join(cases)))
        found.checks.append(self._orders(baseline))
        place, tools = self.tools.scratch("judged"), self.tools
        few = [one for one in cases if (tools.reference / f"{one}.npz").stat().st_size < FEW]
        (processor, *_) = backends_on_gpus(gpu=False)
        exact = in_double_precision(tools.subject, few, processor, place / "double", SOON)
        given = tools.subject.target, program, tools.reference, pool, place / "outputs", limit
        found.errors = output_errors(*given, exact)
        self.tell("asking for other inputs, sizes and seeds, watching for races")
        pool.stock(REPEATS.builds)  # nothing is timed meanwhile
        objections = self.tools.certification.findings(one)
        found.reasons += _of_objections(objections)
        notes = self.tools.certification.notes
        found.checks += made(found.reasons, self._skipped(one), notes)
        found.status = _gravest(found.reasons)
        if found.status not in (Status.INCORRECT, Status.INVALID):
            status, found.speed, reason = self.timed(one)
            found.reasons += [reason] if reason else []
            found.status = _gravest(found.reasons) or status

    def _built(self, one: Candidate) -> tuple[Built, Built, Objection | None]:
        """Compile the reference and a rewrite.

        Returns:
            Both builds, and the objection if the rewrite contains more than device code.
        """
        folder = self.tools.scratch("judged")
        some = [unmodified(self.tools.subject), one]
        base, built = build_candidates(self.tools.compiler, some, folder)
        if isinstance(built, BuildFailure):
            return base, built, None
        (foreign,) = self.tools.certification.device_code.invalid([one])
        return base, built, foreign

    def _orders(self, baseline: Baseline) -> Check:
        if not baseline.ordered:
            why = f"the {self.tools.subject.backend} back end chooses the order itself"
            return Check(ORDERS, Outcome.SKIPPED, why)
        return Check(ORDERS, Outcome.PASSED)

    def _skipped(self, one: Candidate) -> dict[str, str]:
        """Return the reasons why checks were skipped, by a code of the check."""
        races = self.tools.certification.races
        if races.watched(one):
            return {}
        return {"race": races.look(one).why or "nobody could look"}

    # -- how fast is it? -----------------------------------------------------------------------

    def timed(self, one: Candidate) -> tuple[Status, Speed | None, Reason | None]:
        """Time a right rewrite beside its original until the verdict is certain, or a limit comes.

        Returns:
            The verdict, the speed (None if the rewrite failed), and the reason if it failed or if
            the verdict is inconclusive.
        """
        tools, baseline = self.tools, self.baseline()
        replicates = Replicates(
            tools.subject,
            tools.compiler,
            tools.pool,
            tools.scratch("timed"),
            (*tools.train(), *tools.held_out()),
            _limit(baseline),
            schedules=baseline.schedules,
            repeats=REPEATS,
            fresh=True,
        )
        begun = time.monotonic()
        known = set[int]()
        readings = replicates.rounds([replicates.reference(), one], known)
        for number, (copy, reading) in enumerate(readings, 1):
            self.tell(f"timing it beside the original: round {number}")
            if copy.failure:
                raise RuntimeError(f"a copy of the reference fails: {copy.failure}")
            if reading.failure:
                reason = _of_run(reading.failure)
                return reason.status, None, reason
            bar = bar_of(copy.builds)
            decided = Verdict.UNCERTAIN
            if bar is not None:
                decided = verdict_of_rewrite(reading.builds, bar)
            if number >= FEWEST_ROUNDS and bar == JUDGED_FLOOR:
                known.add(0)  # the machine is quiet enough: the copy need not be read again
            late = number == MOST_ROUNDS or time.monotonic() - begun > PATIENCE
            if number >= FEWEST_ROUNDS and (late or decided is not Verdict.UNCERTAIN):
                break
        speed = self._speed(copy, reading, bar, number)
        status = _SPEED[decided]
        return status, speed, _undecided(speed) if status is Status.INCONCLUSIVE else None

    def _speed(self, copy: Reading, reading: Reading, bar: float | None, rounds: int) -> Speed:
        on = partial(_on, reading.builds)
        train, held_out = self.tools.train(), self.tools.held_out()
        timed = dict.fromkeys(one.case for build in reading.builds for one in build)
        return Speed(
            speed_up(reading.builds),
            on(train),
            on(held_out),
            {case: on((case,)) for case in timed},
            speed_up(copy.builds),
            bar,
            rounds,
        )

    # -- the record ----------------------------------------------------------------------------

    def _record(self, entry: Entry, found: _Found, seconds: float) -> Judged:
        status = found.status
        assert status is not None
        target = self.tools.subject.target
        cases = (*self.tools.train(), *self.tools.held_out())
        inputs = {case: _input_hash(target, case) for case in cases}
        order = {one: at for at, one in enumerate(GRAVITY)}
        backend = self.tools.backend
        return Judged(
            status,
            EXIT_STATUS[status],
            entry.original,
            entry.rewritten,
            entry.kind,
            target.kernels,
            tuple(sorted(found.reasons, key=lambda one: order[one.status])),
            tuple(found.checks),
            found.errors,
            found.speed,
            entry.launches,
            entry.guessed,
            seeds_of(target, cases),
            replace(entry.hashes, inputs=inputs),
            backend.versions(),
            Machine(
                self.tools.subject.backend,
                backend.device(),
                platform.platform(),
                os.cpu_count() or 1,
                entry.isolation,
            ),
            seconds,
        )


def _limit(baseline: Baseline) -> float:
    """Return the seconds after which a launch of a rewrite counts as hung."""
    return max(baseline.limit, LIMIT)


def _refuse(found: _Found, refusal: Refusal | None) -> None:
    assert refusal is not None
    reason = Reason(refusal.code, refusal.said, refusal.where, status=refusal.status)
    _fail(found, READS, reason)


def _fail(found: _Found, check: str, reason: Reason) -> None:
    """Record a failed check that ends the examination, and the further checks as skipped."""
    found.reasons.append(reason)
    found.status = reason.status
    found.checks.append(Check(check, Outcome.FAILED, reason.said))
    found.checks += not_made(check, f"it failed before: {reason.code}")


def _of_compiler(message: str) -> Reason:
    place = _PLACE.match(message)
    where, said = (place["where"], place["said"]) if place else ("", message)
    return Reason("does-not-compile", said.strip(), where, status=Status.INVALID)


def _of_run(failure: str) -> Reason:
    """Convert the failure message of a run to a reason."""
    if failure.startswith(NOT_COMPILED):
        return _of_compiler(failure.partition(": ")[2])
    kind, _, said = failure.partition(": ")
    case = _CASE.match(failure)
    status = Status.INVALID if kind == "refused" else Status.INCORRECT
    return Reason(_CODES.get(kind, kind), said, case=case["case"] if case else "", status=status)


def _of_objections(objections: Sequence[Objection]) -> list[Reason]:
    """Convert objections to reasons: the first of the gravest objections for each code."""
    found: dict[str, Reason] = {}
    for one in objections:
        status = Status(one.ruling.value)
        known = found.get(one.code)
        if known is None or GRAVITY.index(status) < GRAVITY.index(known.status):
            found[one.code] = Reason(one.code, one.said, status=status)
    return list(found.values())


def _gravest(reasons: Collection[Reason]) -> Status | None:
    return min((one.status for one in reasons), key=GRAVITY.index, default=None)


def _undecided(speed: Speed) -> Reason:
    if speed.bar is None:
        said = f"a copy of the original seems to be {speed.noise} times as fast: too much noise"
    else:
        said = (
            f"speed-up {speed.overall} after {speed.rounds} rounds: neither within nor beyond"
            f" ± {speed.bar:.0%}"
        )
    return Reason("not-decided", said, status=Status.INCONCLUSIVE)


def _on(builds: Sequence[Sequence[Sample]], cases: Collection[str]) -> SpeedUp:
    return speed_up([[one for one in build if one.case in cases] for build in builds])


def _input_hash(target: Target, case: str) -> str:
    data = load_case(target, find_case(target, case))
    found = sha256()
    for name, array in sorted(data.buffers.items()):
        found.update(f"{name} {array.dtype.str} {array.size}\0".encode())
        found.update(array.tobytes())
    for name, value in sorted(data.scalars.items()):
        found.update(f"{name} {value!r}\0".encode())
    return found.hexdigest()
