"""Where proposals are tried: the reference runs on the host back end as a check would run it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from gi_cuda.backends.compile.code_cache import CodeCache
from gi_cuda.backends.protocol.requests import (
    Explore,
    Explored,
    Measure,
    Record,
    Recorded,
    Refused,
    Sampling,
)
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.backends.table import open_backend
from gi_cuda.backends.workers.pool import Lost
from gi_cuda.errors import MachineError, UserError
from gi_cuda.evaluate.baseline import (
    LEAST_LIMIT,
    check_against_source,
    compile_reference,
    count_loops,
    run_broken,
)
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.checks.effects import inert, read_effects
from gi_cuda.init import Proposal, files, write_folder
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.spec import load_target
from gi_cuda.subject import Subject, load_subject
from gi_cuda.trial import troubles
from gi_cuda.trial.facts import JUDGED, impossible
from gi_cuda.trial.troubles import (
    Beside,
    Blind,
    Died,
    Idle,
    Impossible,
    Roles,
    Slow,
    Unjudged,
    Varying,
)

_BACKEND = "host"

_PAIRS = 4
"""Launches of a copy of the reference, and of the reference beside it."""

_LIMIT = 2.0
"""Seconds a launch may take where a proposal is tried."""


def no_compiler() -> str:
    """Why nothing can be tried here; "" where it can."""
    try:
        open_backend(_BACKEND)
    except UserError as error:
        return error.what
    return ""


@dataclass(slots=True)
class Bench:
    """Tries proposals for one kernel of a source; what is compiled is compiled once.

    Attributes:
        folder: a scratch one.
        jobs: compiler processes at a time.
        cache: of compiled code, if there is one.
    """

    folder: Path
    jobs: int
    cache: CodeCache | None
    _numbers: count[int] = field(default_factory=count)
    _ready: dict[frozenset[str], tuple[Subject, Binary]] = field(default_factory=dict)

    def attempt(self, proposal: Proposal, patience: float) -> troubles.Trouble | None:
        """What goes wrong with a proposal first; None where nothing does.

        Args:
            patience: seconds a case may take.
        """
        if what := impossible(proposal):
            return Impossible(what)
        if proposal.buffers and not any(b.role in JUDGED for b in proposal.buffers):
            return Unjudged()
        try:
            return self._attempt(proposal, patience)
        except MachineError:
            raise
        except UserError as error:
            return troubles.Refused(error)

    def _attempt(self, proposal: Proposal, patience: float) -> troubles.Trouble | None:
        folder = self.folder / str(next(self._numbers))
        write_folder(folder, files(proposal, folder))
        # Mends are of all but the source and its parameters, which take the time.
        active = frozenset(p.name for p in proposal.parameters if p.active)
        if active in self._ready:
            subject = replace(self._ready[active][0], target=load_target(folder))
        else:
            subject = load_subject(folder, _BACKEND)
        with open_tools(
            subject, folder / "scratch", workers=1, jobs=self.jobs, cache=self.cache
        ) as tools:
            if active not in self._ready:
                if idle := _idle(tools):
                    return Idle(idle)
                check_against_source(subject, tools.compiler)
                built = self.folder / f"reference-{len(self._ready)}"
                (binary,) = compile_reference(subject, tools.compiler, [subject.reference], built)
                self._ready[active] = subject, binary
            trouble = next(_explored(tools, self._ready[active][1], patience), None)
            return trouble or _confirmed(tools, self._ready[active][1])


def _idle(tools: Tools) -> frozenset[str]:
    """Parameters that change nothing."""
    target = tools.subject.target
    effects = read_effects(tools.subject.source, tools.compiler)
    return frozenset(
        one.name for one in target.parameters if any(inert(str(target.file), [one], effects))
    )


def _explored(tools: Tools, binary: Binary, patience: float) -> Iterator[troubles.Trouble]:
    """What the reference does that it should not, case by case."""
    whole = unmodified(tools.subject)
    found: dict[str, Explored] = {}
    cases = (*tools.train(), *tools.held_out())
    lost: list[troubles.Trouble] = []
    for case in cases:
        answer = tools.pool.one(Explore(whole.program(binary, (case,)), _LIMIT))
        if isinstance(answer, Explored):
            found[case] = answer
        else:
            lost.append(_lost(case, answer))
    # Of one case it may be known what the other one died of.
    if any(one.beyond for one in found.values()):
        yield Beside({case: one.beyond for case, one in found.items()})
    yield from lost
    for case, one in found.items():
        if one.seconds > patience:
            yield Slow(case, one.seconds, over=False)
    inputs = {b.name for b in tools.subject.target.buffers if not b.role.judged}
    written = frozenset[str]().union(*(one.changed for one in found.values())) & inputs
    unwritten = frozenset[str].intersection(*(one.unwritten for one in found.values()))
    if written or unwritten:
        yield Roles(written, unwritten)
    if varying := frozenset[str]().union(*(one.varying for one in found.values())):
        yield Varying(varying)


def _lost(case: str, answer: Lost | Refused) -> troubles.Trouble:
    if isinstance(answer, Refused):
        return Died(case, Survival.REFUSED, None, answer.message)
    if answer.signal == signal.SIGPROF:
        return Slow(case, _LIMIT, over=True)
    return Died(case, answer.survival, answer.signal, answer.message)


def _confirmed(tools: Tools, binary: Binary) -> troubles.Trouble | None:
    """Whether a check would be content, as far as it need not measure time."""
    subject, compiler, pool = tools.subject, tools.compiler, tools.pool
    cases = (*tools.train(), *tools.held_out())
    whole = unmodified(subject).program(binary, cases)
    recorded = pool.one(Record(whole, tools.reference, 2, _LIMIT))
    if not isinstance(recorded, Recorded):
        return _lost("", recorded)
    copied = pool.one(Measure(whole, whole, Sampling(screen=_PAIRS, most=_PAIRS, limit=_LIMIT)))
    if not isinstance(copied, Measurement):
        return _lost("", copied)
    if not copied.correct or any(recorded.penalties.values()):
        return Varying(frozenset(b.name for b in subject.target.buffers if b.role.judged))
    loops = count_loops(subject, compiler, pool, tools.scratch("counted"))
    scratch, limit = tools.scratch("broken"), max(LEAST_LIMIT, _LIMIT)
    caught = run_broken(subject, compiler, pool, scratch, loops, limit)
    return Blind() if caught is None else None
