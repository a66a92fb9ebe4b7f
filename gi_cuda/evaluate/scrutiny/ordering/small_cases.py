"""Small cases for race detection, which show the same races in a fraction of the time.

A case takes from seconds to minutes under a detector, and the cases for a GPU are large, to keep it
busy. A target's cases for a CPU back end are small. A small case can replace a large one if it
reaches the same code: each statement, each outcome of a condition, and the second iteration of each
loop. The code is that of the variant itself, because inserted code may be reached only by large
cases.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Final

from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import CountLoops, LoopCounts, Record, Recorded
from gi_cuda.backends.protocol.session import DeviceId, Session
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.table import backend_named, backends_on_gpus
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.backends.workers.tasks import Lost
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate, build_candidates, unmodified
from gi_cuda.grammar import EDIT_SETS, Source, Wanted
from gi_cuda.results.measurement import Survival
from gi_cuda.spec import CaseRole, Target
from gi_cuda.subject import Subject

_LIMIT: Final = 120.0
"""Time limit of a run with counters, in seconds."""

_ROUNDS: Final = 2
"""Iterations of a loop that have to be reached: a missing barrier shows between two of them."""


def small_cases(target: Target, backend: str) -> tuple[str, ...]:
    """Return the held-out cases that a target has only for CPUs; empty if the back end is no
    GPU's.
    """
    if not backend_named(backend).gpu:
        return ()
    others = set(backends_on_gpus(gpu=False))
    return tuple(
        case.name
        for case in target.cases
        if case.role is CaseRole.HELD_OUT
        and others & {*case.backends}
        and backend not in case.backends
    )


@dataclass(frozen=True)
class SmallCases:
    """Small cases of a subject, for race detection in its variants.

    Attributes:
        names: names of the small cases.
        others: names of the cases that they replace.
        compiler: compiler for code that runs once.
        folder: for binaries and the reference's outputs.
        device: the device to run on.
        opened: exit stack that closes the worker.
        sample: number of threads of a launch that run, see :class:`.Session`; 0 for all.
        limit: time limit of a launch of the reference, in seconds.
    """

    subject: Subject
    names: tuple[str, ...]
    others: tuple[str, ...]
    compiler: Compiler
    folder: Path
    device: DeviceId = field(default_factory=DeviceId)
    opened: ExitStack = field(default_factory=ExitStack)
    sample: int = 0
    limit: float = _LIMIT
    _turn: Lock = field(default_factory=Lock, repr=False, compare=False)
    _recording: Lock = field(default_factory=Lock, repr=False, compare=False)
    _known: dict[Hashable, bool] = field(default_factory=dict, repr=False, compare=False)

    @property
    def session(self) -> Session | None:
        """Settings for running the small cases; None if there are none or the reference fails on
        them.

        If the sample includes all blocks of the reference, all blocks of a variant run too, since
        they may be more and smaller.
        """
        if not self._recorded:
            return None
        return replace(self._session(self.names), sample=self.sample if self.partial else 0)

    @property
    def reference(self) -> Program | None:
        """Program of the reference; None if there are no small cases or it fails on them."""
        return self._recorded[0] if self._recorded else None

    @property
    def partial(self) -> bool:
        """Tell whether some launches run only a part of their blocks."""
        return bool(self.sample and self._recorded and self._recorded[1].threads > self.sample)

    @property
    def hung(self) -> bool:
        """Tell whether a launch of the reference takes longer than the limit."""
        _, answer = self._run
        return isinstance(answer, Lost) and answer.survival is Survival.HUNG

    @property
    def _recorded(self) -> tuple[Program, Recorded] | None:
        """The reference's program and its outputs; None if there are no small cases or it fails."""
        program, answer = self._run
        if program and isinstance(answer, Recorded) and not any(answer.penalties.values()):
            return program, answer
        return None

    @property
    def _run(self) -> tuple[Program | None, object]:
        with self._recording:  # several threads use this property
            return self._record

    @cached_property
    def _record(self) -> tuple[Program | None, object]:
        """The reference's program and the worker's answer; None for each that does not exist."""
        if not self.names:
            return None, None
        session = self._session(self.names)
        session.reference.mkdir(parents=True, exist_ok=True)
        whole = unmodified(self.subject)
        (binary,) = build_candidates(self.compiler, [whole], self.folder / "whole")
        if isinstance(binary, BuildFailure):
            return None, None
        program, runs = whole.program(binary, self.names), max(2, self.subject.target.oracle.runs)
        with suppress(UserError), Pool[int](session, Crew(1)) as pool:
            return program, pool.ask(Record(program, session.reference, runs, self.limit, {}))
        return program, None

    def stand_for(self, one: Candidate) -> bool:
        """Tell whether the small cases reach the same code of a candidate as the others."""
        if one.binary is not None or self.subject.compiled or not self.names:
            return False  # only source has counters
        if one.key is None:  # as for a candidate with a compiler of its own
            return self._cover(one)
        if one.key not in self._known:
            self._known[one.key] = self._cover(one)
        return self._known[one.key]

    def _cover(self, one: Candidate) -> bool:
        """Run a candidate with counters to tell whether the small cases suffice; False if
        unknown.
        """
        whole = Source(self.subject.grammar.source.name, one.text)
        wanted = Wanted(self.subject.target.kernels, EDIT_SETS[self.subject.edits])
        try:
            parsed = self.subject.front_end.read(whole, wanted)
        except UserError:
            return False
        counted = parsed.count_places(parsed.grammar.under(one.macros).mutable)
        if counted is None or self.session is None:
            return False
        texts = [(counted.text, len(counted.places), 1)]
        if loops := len(parsed.grammar.loops):
            texts.append((parsed.instrument(), loops, _ROUNDS))
        made = [replace(one, text=text) for text, _, _ in texts]
        built = build_candidates(self.compiler, made, self.folder / "counted")
        with self._turn:  # several candidates are checked at the same time
            pool = self._counting
            for text, binary, (_, places, enough) in zip(made, built, texts, strict=True):
                if isinstance(binary, BuildFailure):
                    return False
                small, large = (
                    pool.ask(CountLoops(text.program(binary, cases), places, _LIMIT))
                    for cases in (self.names, self.others)
                )
                if not isinstance(small, LoopCounts) or not isinstance(large, LoopCounts):
                    return False
                if not _as_far(small.most, large.most, enough):
                    return False
        return True

    @cached_property
    def _counting(self) -> Pool[int]:
        """A worker that has all cases."""
        session = self._session((*self.names, *self.others))
        return self.opened.enter_context(Pool[int](session, Crew(1)))

    def _session(self, cases: tuple[str, ...]) -> Session:
        reference = self.folder / "reference"
        target, backend = self.subject.target, self.subject.backend
        return Session(target, backend, cases, reference, self.device, sample=self.sample)


def _as_far(small: Sequence[int], large: Sequence[int], enough: int) -> bool:
    return all(a >= min(b, enough) for a, b in zip(small, large, strict=True))
