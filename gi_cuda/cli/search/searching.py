"""Search from the command line: time limits, signals, progress, and messages at the end."""

from __future__ import annotations

import math
import signal
import time as clock
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import typer

from gi_cuda.analyze.finalists.finalist_validation import Finals
from gi_cuda.analyze.finalists.finalists import select_winner
from gi_cuda.analyze.finalists.shortfall import stored_shortfall
from gi_cuda.analyze.finalists.winner import (
    Winner,
    how_to_go_on,
    keep_winner,
    stored_refusal,
    what_it_takes,
)
from gi_cuda.analyze.stored.records import winner_record
from gi_cuda.analyze.stored.tuning_results import goal_of, stored_rest
from gi_cuda.backends.job_threads import meanwhile
from gi_cuda.backends.table import backend_named
from gi_cuda.cli.console import console, working
from gi_cuda.cli.next_steps import command_line, say_next_of_run
from gi_cuda.cli.search.allowance import Allowance, longest
from gi_cuda.cli.search.clusters import Evaluating, Place
from gi_cuda.cli.stopping import STATUS, heeded
from gi_cuda.errors import DeviceLost, MachineError, WorkerFault
from gi_cuda.report.progress import Score, display
from gi_cuda.report.results.winner import device_words, print_next_steps, print_winner
from gi_cuda.report.tables import say, say_whole
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.runs.run import Run, with_new_workers
from gi_cuda.runs.stored import DATABASE
from gi_cuda.search import DEFAULT
from gi_cuda.search.loop import End
from gi_cuda.tune.rest import rest_words

PATIENCE = 6.0
"""Seconds for a search to stop cleanly after its time is up."""


PREPARING = 9.0
"""Further seconds for preparing a search after its total time is up. A prepared run is kept and can
be resumed."""

_VALIDATES = "validating on the held-out cases"

_NOTHING_YET = (
    "time is up, and no individual is evaluated yet: it takes its compiler that long, so give the"
    " search more (--time)"
)

_RUNG = 0.25
"""Seconds between two alarms after the time is up. Several are needed, because an alarm just before
a blocking call does not interrupt that call."""


@contextmanager
def preparing(allowed: Allowance) -> Iterator[None]:
    """Limit the time of the context, in which a search is prepared.

    If it exceeds the total time of the command, exit with one message.
    """
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
    """Search until complete, out of time or interrupted; then validate the best.

    Args:
        where: place of evaluation.
    """
    prepared = allowed.spent
    gpu = backend_named(run.subject.backend).gpu
    seconds = allowed.for_search(prepared, run.store.get("prepared", 0.0), gpu=gpu)
    end = place = None
    begun, before = clock.monotonic(), len(run.store.evaluations())
    resume = command_line("resume", run.folder, *what_it_takes(run.plan))
    with ExitStack() as stack:  # validation may need the evaluators
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
    """Tell whether an individual was evaluated."""
    return any(generation.outcomes for generation in run.store.generations())


def _evolve(place: Place, seconds: float | None, stop: _Stop) -> End | None:
    """Run the search and show its progress; return the reason why it ended."""
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
    """Start the common part of the checks of winners beside the search, once there is a faster
    individual.

    Earlier it would only occupy the device.
    """
    if score.best is not None and not stop.found:
        stop.found = True
        meanwhile(run.tools.certification.prepare)


def _validated(run: Run, limit: float | None) -> Winner | None:
    """Validate the best individual within a time limit.

    If the time is up, the result of a quick look is used, if there is one.

    Args:
        limit: time limit in seconds; None for no limit.
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
    """Yield suggestions for finding more than this search did."""
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
    """Return the best individual of a run, and the share of its generations that are finished."""
    best = run.store.best(1)
    finished = sum(generation.finished for generation in run.store.generations())
    first = (best[0][0].ident, best[0][1]) if best else None
    return first, min(1.0, finished / run.plan.settings.generations)


@contextmanager
def saying_how_to_go_on(folder: Path) -> Iterator[None]:
    """Print how to resume the run if the context ends with an error."""
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
    """Raised when a time limit was exceeded."""


@dataclass(slots=True)
class _Stop:
    """The stop function of a search, with the reason to stop.

    Attributes:
        asked: whether a user asked for it.
        late: whether the time is up.
        found: whether there is something to validate.
        reached: whether the goal of ``--until`` is reached.
    """

    asked: bool = False
    late: bool = False
    found: bool = False
    reached: bool = False

    def __call__(self) -> bool:
        return self.asked or self.late or self.reached


@contextmanager
def _stopping(seconds: float | None, whole: float) -> Iterator[_Stop]:
    """Yield a stop function that Ctrl-C, SIGTERM, SIGHUP and the end of the time trigger.

    A second signal raises KeyboardInterrupt. If the search does not stop in time, :class:`_Overdue`
    is raised.

    Args:
        seconds: time of the search in seconds; None for no limit.
        whole: time of the search in seconds while there is nothing to validate.
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
    """Call a function after some seconds, and then repeatedly, in the main thread."""
    before = signal.signal(signal.SIGALRM, lambda *_: ring())
    if seconds is not None:
        # 0 would mean no alarm.
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), _RUNG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
