"""Progress of a search and of the steps of a command.

On a terminal it is a live display, elsewhere plain lines.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.status import Status
from rich.table import Table
from rich.text import Text

from gi_cuda.report.results.show import speed
from gi_cuda.report.tables import say
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.search.loop import Progress

_SHARE, _ENOUGH = 0.02, 50
"""Share of a search, and number of individuals, from which on the remaining time is estimated."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """Progress of a generation: individuals to evaluate, and numbers of outcomes so far."""

    size: int = 0
    counts: Counter[Outcome] = field(default_factory=Counter)

    @property
    def over(self) -> bool:
        return self.counts.total() >= self.size


@dataclass(slots=True)
class Score:
    """Progress of a running search.

    Several generations may be in progress at once. The shown generation is the one that just ended,
    or else the first unfinished one.

    Attributes:
        generations: planned number of generations.
        deadline: time limit of the search, seconds, or None.
        best: number and evaluation of the best individual so far.
        behind: share of the generations that were bred before this process began, 0 to 1.
        generation: number of the shown generation.
        evaluated: individuals that this process has evaluated.
        began: start time of this process, `time.monotonic`.
    """

    generations: int
    deadline: float | None
    best: tuple[int, Evaluation] | None = None
    behind: float = 0.0
    generation: int = 0
    evaluated: int = 0
    began: float = field(default_factory=time.monotonic)
    _newest: int = -1
    _standings: Mapping[int, _Standing] = field(default_factory=dict)

    def take(self, progress: Progress) -> None:
        """Update the score by one step of the search."""
        number, standings = progress.generation, self._standings
        counts = standings[number].counts if number in standings else Counter[Outcome]()
        if progress.evaluation is not None:
            counts = counts + Counter([progress.evaluation.outcome])
        standing = _Standing(progress.size, counts)
        others = {other: one for other, one in standings.items() if not one.over}
        self._standings = {**others, number: standing}
        self.generation = number if standing.over else min(self._standings)
        self._newest = max(self._newest, number)
        if progress.ident is None or progress.evaluation is None:
            return
        self.evaluated += 1
        ratio = progress.evaluation.rank
        if progress.evaluation.selectable and ratio is not None:
            best = self.best[1].rank if self.best else None
            if best is None or ratio < best:
                self.best = (progress.ident, progress.evaluation)

    @property
    def _standing(self) -> _Standing:
        return self._standings.get(self.generation, _Standing())

    @property
    def size(self) -> int:
        """Number of individuals of the shown generation."""
        return self._standing.size

    @property
    def done(self) -> int:
        """Number of evaluated individuals of the shown generation."""
        return self._standing.counts.total()

    @property
    def counts(self) -> Counter[Outcome]:
        """Number of individuals of the shown generation by outcome."""
        return self._standing.counts

    @property
    def share(self) -> float:
        """Share of the run that is done, by generations or by time, 0 to 1."""
        return max(self._bred, self._passed / self.deadline if self.deadline else 0.0)

    @property
    def _bred(self) -> float:
        left = sum(1 - one.counts.total() / one.size for one in self._standings.values())
        bred = (self._newest + 1 - left) / self.generations if self.generations else 1.0
        return max(self.behind, min(1.0, bred))

    @property
    def _passed(self) -> float:
        return time.monotonic() - self.began

    @property
    def left(self) -> str:
        """Time left as "minutes:seconds", by this process's pace or the deadline; "?": unknown."""
        now = self._bred - self.behind
        ways = [self._passed * (1 - self._bred) / now] if self.has_pace else []
        if self.deadline:
            ways.append(max(0.0, self.deadline - self._passed))
        if not ways:
            return "?"
        seconds = min(ways)
        return f"{int(seconds // 60)}:{int(seconds % 60):02d}"

    @property
    def has_pace(self) -> bool:
        """Tell whether enough was done to estimate the remaining time."""
        return self._bred - self.behind >= _SHARE or self.evaluated >= _ENOUGH

    @property
    def rate(self) -> float:
        """Individuals per second."""
        return self.evaluated / max(1e-9, self._passed)

    @property
    def best_line(self) -> str:
        """The best individual so far in words."""
        if self.best is None:
            return "none is faster"
        ident, evaluation = self.best
        # The lower end of the speed-up comes first. The best is chosen by it, so it never falls.
        sure, measured = speed(evaluation.rank), speed(evaluation.ratio)
        return f"at least {sure} (measured {measured}, individual {ident})"

    @property
    def counts_line(self) -> str:
        """Outcomes of the shown generation in words."""
        total = sum(self.counts.values())
        if not total:
            return ""
        compiled = 1 - self.counts[Outcome.NOT_BUILT] / total
        words = [f"{self.counts[outcome]} {outcome}" for outcome in Outcome if self.counts[outcome]]
        return f"{', '.join(words)}; {compiled:.1%} compiled"


class Display(Protocol):
    """An interface to show the score."""

    def show(self, score: Score) -> None:
        """Show the present score."""


class _Lines:
    """A display for logs: one line per generation."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._estimated = False

    def show(self, score: Score) -> None:
        if not self._estimated and score.has_pace and score.done < score.size:
            self._estimated = True
            say(self._console, f"{score.rate:.1f} individuals/s: time left about {score.left}")
        if score.size and score.done == score.size:
            say(
                self._console,
                f"generation {score.generation}: {score.done} evaluated: {score.counts_line};"
                f" best so far: {score.best_line}; time left {score.left}",
            )


class _Screen:
    """A display for terminals: a few lines that are updated in place."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def show(self, score: Score) -> None:
        grid = Table.grid(padding=(0, 2))
        grid.add_row(
            "generation",
            f"{score.generation + 1} of {score.generations}: {score.done} of {score.size} done",
        )
        grid.add_row("best so far", Text(score.best_line, style="bold green"))
        grid.add_row("this generation", score.counts_line)
        grid.add_row("rate", f"{score.rate:.1f} individuals/s, time left {score.left}")
        bar = ProgressBar(total=1.0, completed=score.share, width=60)
        self._live.update(Group(grid, bar))


@contextmanager
def display(console: Console) -> Iterator[Display]:
    """Open a live display on a terminal, and a display of plain lines elsewhere."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield _Screen(live)


REMINDED = 60.0
"""Seconds between two lines about a step that is still running, without a terminal."""


class Steps:
    """A context manager that shows the current step of a command.

    On a terminal, the step is shown in one line that is updated in place. ProcessorWatch, steps are
    lines on stderr, because results go to stdout.
    """

    def __init__(self, console: Console) -> None:
        self._status: Status | None = console.status("") if console.is_terminal else None
        self._done = Event()
        self._at = ("", 0.0)
        self._reminder = Thread(target=self._remind, daemon=True)

    def __enter__(self) -> Steps:
        if self._status is not None:
            self._status.start()
        else:
            self._reminder.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()
        else:
            self._done.set()
            self._reminder.join()

    def __call__(self, step: str) -> None:
        """Show the start of a step."""
        if self._status is not None:
            self._status.update(step)
        else:
            self._at = (step, time.monotonic())
            print(step, file=sys.stderr, flush=True)

    def _remind(self) -> None:
        while not self._done.wait(REMINDED):
            step, begun = self._at
            if not step:
                continue  # no step has begun yet
            print(f"{step}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
