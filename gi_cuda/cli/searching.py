"""Running a search from the command line: progress, Ctrl-C, and what is said at the end."""

from __future__ import annotations

import math
import signal
import time as clock
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Annotated, TypeAlias

import typer

from gi_cuda.analyze.finalists import select_winner
from gi_cuda.analyze.finals import Finals
from gi_cuda.analyze.records import winner_record
from gi_cuda.analyze.shortfall import stored_shortfall
from gi_cuda.analyze.tuned import goal_of, stored_rest
from gi_cuda.analyze.winner import Winner, how_to_go_on, keep_winner, stored_refusal, what_it_takes
from gi_cuda.backends.job_threads import meanwhile
from gi_cuda.backends.table import backend_named
from gi_cuda.cli.clusters import Evaluating, Place
from gi_cuda.cli.console import console, working
from gi_cuda.cli.next_steps import command_line, say_next_of_run
from gi_cuda.cli.options import read_time
from gi_cuda.cli.stopping import STATUS, heeded
from gi_cuda.errors import DeviceLost, MachineError, WorkerFault
from gi_cuda.report.progress import Score, display
from gi_cuda.report.tables import say, say_whole
from gi_cuda.report.winner import device_words, print_next_steps, print_winner
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.runs.run import Run, with_new_workers
from gi_cuda.runs.stored import DATABASE
from gi_cuda.search import DEFAULT
from gi_cuda.search.loop import End
from gi_cuda.tune.rest import rest_words

TimeLimit: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--time",
        parser=read_time,
        metavar="TIME",
        help="Time in all for baseline, search and validation, e.g. 40s, 10m, 1h.",
        show_default="5m on a CPU, 10m on a GPU; none with --generations",
    ),
]

USUAL = {False: 300.0, True: 600.0}
"""Seconds of a search of which nothing says how long it is, on a CPU and on a GPU."""


def time_for(seconds: float | None, generations: int | None, backend: str) -> float | None:
    """Return the seconds that a command may take; None where generations end the search.

    Args:
        seconds: as given; None: not given.
        generations: as given; None: not given.
    """
    if seconds is not None or generations is not None:
        return seconds
    return USUAL[backend_named(backend).gpu]


VALIDATIONS = 5.0
"""Validating takes so many times as long as the baseline, as a rule: 2 to 14 on an H200 with 16
cores, with a median of 5, and 3 to 7 on two cores without."""

ON_GPUS = 20.0
"""Seconds that it takes at least on a GPU, where who watches for races opens it anew each time. Of
six searches of 60 s on an H200 with 16 cores none had validated its best after 20 to 31 s, when its
time was up."""

LEAST = 1 / 2
"""The share of the time that a search gets, however long the rest takes."""

PATIENCE = 6.0
"""Seconds after the end of its time in which a search may stop cleanly."""

OVER, MOST_OVER = 0.2, 30.0
"""The share by which all may take longer than was said, and the seconds at most."""

VALIDATING = 5.0
"""Seconds that validating may always take."""

PREPARING = 9.0
"""Seconds that preparing a search may take beyond all that was said: what is prepared is kept, and
can be searched from then on."""

_VALIDATES = "validating on the held-out cases"

_NOTHING_YET = (
    "time is up, and no individual is evaluated yet: it takes its compiler that long, so give the"
    " search more (--time)"
)

_RUNG = 0.25
"""Seconds between two alarms once the time is up: one may come just before some waiting begins,
which it then does not end."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The time that a command may take.

    Attributes:
        seconds: in all; None: as many as it takes.
        begun: when it began, on the monotonic clock.
    """

    seconds: float | None
    begun: float = field(default_factory=clock.monotonic)

    @property
    def spent(self) -> float:
        """Seconds since it began."""
        return clock.monotonic() - self.begun

    def for_search(self, spent: float, baseline: float, *, gpu: bool = False) -> float | None:
        """Seconds that a search may take, so that its best can be validated; None: no limit.

        Args:
            spent: seconds before it begins.
            baseline: seconds that the run's baseline took, now or when the run began.
            gpu: whether it is on one.
        """
        if self.seconds is None:
            return None
        rest = max(VALIDATIONS * baseline, ON_GPUS if gpu else 0.0)
        wanted = max(self.seconds - spent - rest, LEAST * self.seconds)
        return max(0.0, min(wanted, longest(self.seconds) - spent))

    def without_validation(self, spent: float) -> float:
        """Seconds that a search may take which finds nothing to be validated.

        Args:
            spent: seconds before it begins.
        """
        return max(0.0, (self.seconds or 0.0) - spent)

    @property
    def for_validation(self) -> float | None:
        """Seconds that validating may take from now on; None: no limit."""
        if self.seconds is None:
            return None
        return max(VALIDATING, longest(self.seconds) - self.spent)


def longest(seconds: float) -> float:
    """The seconds that a command may take which is given some."""
    return seconds + min(OVER * seconds, MOST_OVER)


@contextmanager
def preparing(allowed: Allowance) -> Iterator[None]:
    """Inside, a search is prepared, which ends in one message where that takes longer than all was
    to take."""
    limit = None
    if allowed.seconds is not None:
        limit = longest(allowed.seconds) + PREPARING - allowed.spent
    try:
        with _ringing(limit, _be_overdue):
            yield
    except _Overdue:
        say(
            console,
            f"time is up, and the search has not begun: {allowed.spent:.0f} s were not enough to"
            " prepare it. Give it more (--time), or make the cases smaller; nothing is kept",
        )
        raise typer.Exit(1) from None


def search(run: Run, allowed: Allowance, where: Evaluating) -> None:
    """Search until done, out of time or interrupted; then validate the best.

    Args:
        where: individuals are evaluated.
    """
    prepared = allowed.spent
    gpu = backend_named(run.subject.backend).gpu
    seconds = allowed.for_search(prepared, run.store.get("prepared", 0.0), gpu=gpu)
    end = place = None
    begun, before = clock.monotonic(), len(run.store.evaluations())
    resume = command_line("resume", run.folder, *what_it_takes(run.plan))
    with ExitStack() as stack:  # who evaluated may have a say in what holds
        whole = allowed.without_validation(prepared)
        with suppress(_Overdue), _stopping(seconds, whole) as stop:
            place = stack.enter_context(where(run, stop))
            end = _evolve(place, seconds, stop)
        if stop.asked:
            kept = len(run.store.evaluations())
            say(console, f"stopped; {kept} evaluations are kept. Go on with:")
            say_whole(console, f"  {resume}")
            raise typer.Exit(STATUS)
        if end in (None, End.STOPPED) and not _begun(run):
            say(console, f"{_NOTHING_YET}. Go on with:")
            say_whole(console, f"  {resume}")
            raise typer.Exit(1)
        searched = clock.monotonic()
        if end is None or place is None:
            say(console, "time is up, and what was being done did not stop; go on with:")
            say_whole(console, f"  {resume}")
            if place is None or place.run.others is not None:
                raise typer.Exit(1)
            run = stack.enter_context(with_new_workers(run))
        else:
            run = place.run
            run.store.put(used_up=end is End.USED_UP)
            ending = f"time is up; go on with: {resume}" if end is End.STOPPED else str(end)
            say_whole(console, "--until is reached" if stop.reached else ending)
        winner = _validated(run, allowed.for_validation)
    on = device_words(run.subject.backend, run.store.get("device"))
    if others := run.store.get("kinds", ()):
        on = " and ".join(others)
    print_winner(console, winner_record(winner, run.subject) if winner else None, on)
    if winner is None:
        faster = sum(g.outcomes.get(Outcome.FASTER, 0) for g in run.store.generations())
        short, refusal = stored_shortfall(run.store), stored_refusal(run.store)
        print_next_steps(console, faster, refusal, list(next_steps(run)), short)
    if not run.preset.variation.code:
        say(console, rest_words(stored_rest(run.store, run.subject)))
    if seconds is not None:
        spent, validated = searched - begun, clock.monotonic() - searched
        rate = (len(run.store.evaluations()) - before) / spent
        said = (
            f"prepared for {prepared:.0f} s, searched for {spent:.0f} s ({rate:.1f} individuals/s),"
            f" validated for {validated:.0f} s"
        )
        say(console, said)
    say_next_of_run(run.store, run.folder)


def _begun(run: Run) -> bool:
    """Whether an individual is evaluated."""
    return any(generation.outcomes for generation in run.store.generations())


def _evolve(place: Place, seconds: float | None, stop: _Stop) -> End | None:
    """Search, show how it goes, and say why it ended."""
    run = place.run
    reached = goal_of(run.store, run.subject)
    with display(console) as shown:
        score = Score(run.plan.settings.generations, seconds, *_so_far(run))
        evolution = run.evolution(stop, place.evaluator)
        _prepare_to_validate(run, score, stop)
        for progress in evolution.run():
            score.take(progress)
            _prepare_to_validate(run, score, stop)
            shown.show(score)
            if reached is not None and progress.ident is None:
                stop.reached = stop.reached or reached()
    return evolution.end


def _prepare_to_validate(run: Run, score: Score, stop: _Stop) -> None:
    """Start the checks of the reference that all winners need, beside the search, once there is a
    faster individual. Before that they would only keep the device from the search."""
    if score.best is not None and not stop.found:
        stop.found = True
        meanwhile(run.tools.certification.prepare)


def _validated(run: Run, limit: float | None) -> Winner | None:
    """Validate the best. Who gave the search a time waits no longer for that, and gets what a short
    look said, where there was time for one.

    Args:
        limit: seconds that it may take; None: as many as it takes.
    """
    final = Finals(run)
    try:
        with _ringing(limit, _be_overdue), working(_VALIDATES):
            return select_winner(run, final)
    except _Overdue:
        if winner := final.provisional:
            keep_winner(run.store, winner)
            return winner
        if refusal := stored_refusal(run.store):
            say(console, f"none of those that were looked at holds:\n  {refusal}")
        say(console, "time is up, and the best is not validated. Do it with:")
        say_whole(console, f"  {command_line('validate', run.folder)}")
        raise typer.Exit(1) from None


def next_steps(run: Run) -> Iterator[str]:
    """What may find more than this search did."""
    subject, settings = run.subject, run.plan.settings
    if not run.store.get("used_up", False):
        yield f"more generations: {how_to_go_on(run.store, run.folder)}"
    again, code = command_line("evolve", subject.target.folder), run.preset.variation.code
    if not code:
        yield f"evolve the code as well: {again} --preset {DEFAULT}"
    elif not subject.compiled and subject.edits in ("paper", "transforms"):
        yield f"more kinds of changes: {again} --edits all"
    if not subject.target.parameters and not subject.compiled:
        yield "parameters, such as the size of a block: [[parameter]] in target.toml"
    if code and settings.cohorts == 1:
        yield f"a larger population: {again} --population {4 * settings.population}"


def _so_far(run: Run) -> tuple[tuple[int, Evaluation] | None, float]:
    """The best individual of a run and the share of its generations that are bred."""
    best = run.store.best(1)
    finished = sum(generation.finished for generation in run.store.generations())
    first = (best[0][0].ident, best[0][1]) if best else None
    return first, min(1.0, finished / run.plan.settings.generations)


@contextmanager
def saying_how_to_go_on(folder: Path) -> Iterator[None]:
    """Where a search ends before its time, say what is left of it."""
    try:
        yield
    except (KeyboardInterrupt, DeviceLost, MachineError, MemoryError, OSError, WorkerFault):
        if (folder / DATABASE).is_file():
            resume = command_line("resume", folder)
            say_whole(console, f"what was finished is kept; go on with: {resume}")
        else:
            say(console, "nothing is kept: the search had not begun")
        raise


class _Overdue(BaseException):
    """The time for something was up a while ago."""


@dataclass(slots=True)
class _Stop:
    """Whether a search is to stop.

    Attributes:
        asked: whether somebody asked for that.
        late: whether its time is up.
        found: whether there is something to be validated.
        reached: whether it came as far as ``--until`` asks.
    """

    asked: bool = False
    late: bool = False
    found: bool = False
    reached: bool = False

    def __call__(self) -> bool:
        return self.asked or self.late or self.reached


@contextmanager
def _stopping(seconds: float | None, whole: float) -> Iterator[_Stop]:
    """Ctrl-C, SIGTERM and SIGHUP ask for a clean stop, and so does the end of the time; a second
    signal stops at once, as does a search that has not stopped a while after its time.

    Args:
        seconds: after which its time is up; None: never.
        whole: the same as long as there is nothing to be validated.
    """
    stop, ends = _Stop(), clock.monotonic() + whole
    overdue = math.inf

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    def ring() -> None:
        nonlocal overdue
        now = clock.monotonic()
        if not stop.late and (stop.found or now >= ends):
            stop.late, overdue = True, now + PATIENCE
        if now > overdue:
            _be_overdue()

    before = {number: signal.signal(number, ask) for number in heeded()}
    try:
        with _ringing(seconds, ring):
            yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _be_overdue() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise _Overdue


@contextmanager
def _ringing(seconds: float | None, ring: Callable[[], None]) -> Iterator[None]:
    """Call something amid the main thread's work after so many seconds, and then repeatedly."""
    before = signal.signal(signal.SIGALRM, lambda *_: ring())
    if seconds is not None:
        # Not 0, which means no alarm.
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), _RUNG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
