"""Checks of a GPU's candidates on the CPU, where more can be observed and controlled.

The racecheck tool of compute-sanitizer watches only shared memory. It misses a removed fence, or a
missing atomic function on global memory. The detector of the host back end watches all memory. The
CPU can also run threads in a chosen order, and so shows outputs that depend on the order. Tests
with other inputs run there without occupying the GPU.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Final

from gi_cuda.backends import cores
from gi_cuda.backends.protocol.input_requests import AgreesWith
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.substitutes import Substituted
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.backends.sanitize import LIMIT
from gi_cuda.backends.table import backends_on_gpus, open_backend
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate, as_candidate
from gi_cuda.evaluate.scrutiny.examined import Examined
from gi_cuda.evaluate.scrutiny.inputs.dependence import Dependence, opening
from gi_cuda.evaluate.scrutiny.inputs.originals import Patience
from gi_cuda.evaluate.scrutiny.ordering.races import Looked, RaceWatch
from gi_cuda.evaluate.scrutiny.ordering.small_cases import SmallCases
from gi_cuda.evaluate.scrutiny.same_items import SameItems
from gi_cuda.evaluate.scrutiny.unset_locals import UnsetLocals
from gi_cuda.genome import Space
from gi_cuda.spec import CaseRole
from gi_cuda.subject import Subject

_LIMIT: Final = 5.0
"""Seconds after which a launch with a substituted input counts as hung."""

_TELLING: Final = 6.0
"""Seconds for :meth:`ProcessorWatch.unsettled`; inputs without an answer by then count as
settled."""

_ASKED: Final = 4
"""Largest number of workers for tests with other inputs; there are about ten tests."""


SAMPLES: Final = (1 << 17, 1 << 15, 1 << 13, 1)
"""Numbers of threads of a launch that run during a search. The next number is tried if the
reference takes longer than :data:`QUICK`, the last one only if a launch with the one before takes
longer than :data:`SOON`. At least eight blocks run."""

SOON: Final = 3.0
"""Time limit of a launch on a sample of blocks, in seconds."""

QUICK: Final = 2.0
"""Seconds within which the reference has to be compiled and to run three times. With race detection
each of these steps takes six times as long. For a row-wise product of 2 s each check took 5 s, and
a search of 45 s spent half of its time on checks."""

ALL: Final = 20.0
"""Time limit of a launch of all blocks, in seconds."""

_FIRST: Final = 2
"""Number of substitutes for each input that are tried on the CPU."""

BESIDE: Final = Patience(limit=1.0, goes_on=False)
"""Time limits for tests beside a search. The reference answers all of about ten tests in three
seconds. A variant that hung in each of them once held up a search for a minute."""


@dataclass(frozen=True, slots=True)
class _Processor:
    """A subject on the back end for CPUs.

    Attributes:
        session: settings for running its cases; the reference passes on them.
        reference: program of the reference.
        watch: race detection.
        asking: tests with other inputs.
        unset: check for uninitialized locals, whose contents can be chosen on the CPU.
        same: check that a candidate's blocks write the same items as the reference's, used if only
            a sample of blocks runs; else None. With another launch blocks have other items.
    """

    session: Session
    reference: Program
    watch: RaceWatch
    asking: Dependence
    unset: UnsetLocals
    same: SameItems | None

    def candidate(self, one: Candidate) -> Candidate:
        """Return a candidate as one of this back end."""
        here = self.watch.subject
        mine = as_candidate(here, one.text, one.configuration)
        return mine if one.own is None else replace(mine, own=_on(here.backend, one.own))

    def runs(self, mine: Candidate) -> bool:
        """Tell whether the candidate's blocks that run here compute the same items as the
        reference's.
        """
        if self.same is None:
            return True
        subject = self.watch.subject
        launched = subject.launch_values(mine.configuration)
        own = mine.own or launched != subject.launch_values(subject.standard)
        return not own and self.same.holds(mine)


@dataclass(frozen=True)
class ProcessorWatch:
    """Checks of a GPU's subject on the back end for CPUs, if the target has cases for it.

    Attributes:
        folder: for binaries and the reference's outputs.
        jobs: compiler processes at a time.
        role: role of the cases.
        limit: time limit of a run with race detection, in seconds.
        opened: exit stack that closes the workers.
    """

    subject: Subject
    folder: Path
    jobs: int
    role: CaseRole = CaseRole.HELD_OUT
    limit: float = LIMIT
    opened: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)
    _turn: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)
    _locals: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)
    _looked: dict[Hashable, Looked] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def look(self, one: Candidate) -> Looked:
        """Return the races of a candidate that the reference does not have."""
        there, why = self._there
        if there is None:
            return Looked(why=why)
        found = there.watch.look(there.candidate(one))
        if one.key is not None:
            self._looked[one.key] = found
        return found

    def known(self, one: Candidate) -> Looked | None:
        """Return the result of an earlier :meth:`look` at a candidate; None if there is none."""
        return self._looked.get(one.key)

    def ask(self, one: Candidate) -> Looked:
        """Return the first difference from the reference with substituted inputs."""
        there, why = self._there
        if there is None:
            return Looked(why=why)
        if not there.runs(mine := there.candidate(one)):
            return Looked(why="too large to run all blocks here, and its blocks do other work")
        return Looked(there.asking.objection_meanwhile(mine))

    def unset(self, some: Sequence[Candidate]) -> list[str]:
        """Return a message for each candidate that reads uninitialized locals; "" for others or
        if unknown.
        """
        there, _ = self._there
        if there is None:
            return [""] * len(some)
        known = [there.candidate(one) if one.binary is None else None for one in some]
        with self._locals:
            return [there.unset.objection(one) if one and there.runs(one) else "" for one in known]

    def watch_reference(self) -> None:
        """Do the part of race detection that is the same for all candidates."""
        there, _ = self._there
        if there is not None:
            there.watch.watch_reference()

    def unsettled(self, some: Sequence[Substituted]) -> frozenset[str]:
        """Return the inputs with a substitute for which the reference's outputs depend on the
        thread order.

        Inputs with a substitute that makes outputs incomparable for another reason are included.
        Other substitutes of these inputs are doubtful too: a small case may not show the
        dependence. Empty if the subject cannot run on the CPU.
        """
        there, _ = self._there
        if there is None:
            return frozenset()
        program = there.reference
        crew = Crew(max(1, min(cores() // 2, len(some))))
        found, until = set[str](), time.monotonic() + _TELLING
        asked = ((pair, AgreesWith(program, program, *pair, _LIMIT)) for pair in some)
        with (
            Pool[Substituted](there.session, crew) as pool,
            closing(pool.map(asked)) as answers,
        ):
            for (name, _), answer in answers:
                if answer is None:
                    found.add(name)
                if time.monotonic() > until:
                    break
        return frozenset(found)

    @property
    def _there(self) -> tuple[_Processor | None, str]:
        """The subject on the CPU; or None and the reason why it cannot run there."""
        with self._turn:  # several threads use this property
            return self._opened

    @cached_property
    def _opened(self) -> tuple[_Processor | None, str]:
        (name, *_) = backends_on_gpus(gpu=False)
        subject = _on(name, self.subject)
        try:
            cases = subject.cases(self.role)
            compiler = open_backend(name).compiler(subject, self.jobs)
            small = self._sampled_cases(subject, cases, compiler)
        except UserError as error:
            return None, error.what
        session, reference = small.session, small.reference
        if session is None or reference is None:
            return None, f"the reference fails on the {name} back end, or takes too long"
        folder = self.folder / "watched"
        watch = RaceWatch(subject, session, compiler, folder, cases, limit=self.limit)
        given = subject, compiler, None, self.folder / "inputs", session.cases
        alone = opening(self.opened, session, max(1, min(_ASKED, cores() // 4)))
        asking = Dependence(*given, each=_FIRST, patience=BESIDE, alone=alone)
        pool, names = opening(self.opened, session, 1), session.cases
        examined = Examined(subject, compiler)
        unset = UnsetLocals(subject, compiler, pool, self.folder / "locals", names, examined)
        same = SameItems(compiler, reference, pool, self.folder / "items", names)
        return _Processor(
            session, reference, watch, asking, unset, same if small.partial else None
        ), ""

    def look_at_all_blocks(self, one: Candidate) -> Looked:
        """Return the races of a candidate among all blocks, if :meth:`look` watches only a sample.

        Nothing is run if the reference takes longer than :data:`ALL` seconds for a launch of all
        blocks.
        """
        there, why = self._there
        if there is None or there.same is None:
            return Looked(why=why)
        with self._turn:
            watch = self._on_all_blocks
        return Looked(why="too slow") if watch is None else watch.look(there.candidate(one))

    @cached_property
    def _on_all_blocks(self) -> RaceWatch | None:
        there, _ = self._opened
        if there is None:
            return None
        watch, folder = there.watch, self.folder / "all"
        whole = SmallCases(watch.subject, watch.cases, (), watch.compiler, folder, limit=ALL)
        if whole.session is None:
            return None
        return replace(watch, session=whole.session, folder=folder / "watched", limit=ALL)

    def _sampled_cases(
        self, subject: Subject, cases: tuple[str, ...], compiler: Compiler
    ) -> SmallCases:
        """Return the cases with a sample of blocks that runs in :data:`QUICK` seconds.

        All blocks are used if the reference does not run on a sample, e.g. because blocks wait for
        each other.
        """
        found = None
        for threads in SAMPLES:
            begun, folder = time.monotonic(), self.folder / str(threads)
            less = SmallCases(subject, cases, (), compiler, folder, sample=threads, limit=SOON)
            if less.session is None and not less.hung:
                return SmallCases(subject, cases, (), compiler, self.folder, limit=ALL)
            if less.session is not None:
                found = less
                quick = time.monotonic() - begun < QUICK
                if quick or not less.partial or threads <= SAMPLES[-2:][0]:
                    break
        return found or SmallCases(subject, cases, (), compiler, self.folder, limit=SOON)


def _on(backend: str, subject: Subject) -> Subject:
    """Return a subject on another back end."""
    return replace(subject, backend=backend, space=Space.from_target(subject.target, backend))
