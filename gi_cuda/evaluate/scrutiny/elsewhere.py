"""What runs on a GPU, looked at on a processor, where one can see or choose more.

compute-sanitizer's racecheck watches shared memory alone: that a fence is gone, or an atomic
function on memory of all blocks, it cannot tell. The detector of the host back end watches all
memory. And on a processor the order of threads can be chosen, so that it shows where answers are a
matter of it. What a candidate does with other inputs, a processor says without keeping the GPU.
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
from gi_cuda.evaluate.scrutiny.dependence import Dependence, opening
from gi_cuda.evaluate.scrutiny.examined import Examined
from gi_cuda.evaluate.scrutiny.originals import Patience
from gi_cuda.evaluate.scrutiny.races import Looked, RaceWatch
from gi_cuda.evaluate.scrutiny.same_items import SameItems
from gi_cuda.evaluate.scrutiny.small_cases import SmallCases
from gi_cuda.evaluate.scrutiny.unset_locals import UnsetLocals
from gi_cuda.genome import Space
from gi_cuda.spec import CaseRole
from gi_cuda.subject import Subject

_LIMIT: Final = 5.0
"""Seconds after which a launch with another size counts as hung."""

_TELLING: Final = 6.0
"""Seconds for :meth:`Elsewhere.unsettled`; inputs without an answer by then count as settled."""

_ASKED: Final = 4
"""Workers, at most, that answer with other inputs: each of them once, and there are some ten."""


SAMPLES: Final = (1 << 17, 1 << 15, 1 << 13, 1)
"""Threads of a launch that run during a search: the next number is taken if one takes longer than
:data:`QUICK`, the last one if a launch with the one before takes longer than :data:`SOON`. Eight
blocks run in any case."""

SOON: Final = 3.0
"""Seconds that a launch may take."""

QUICK: Final = 2.0
"""Seconds in which the reference has to be compiled, and to run three times. Watched for races it
takes six times as long for each: a row-wise product of 2 s took 5 s to be looked at, and a search
of 45 s spent half on that."""

ALL: Final = 20.0
"""Seconds that a launch of all blocks may take, if more than a sample is looked at."""

_FIRST: Final = 2
"""So many things are tried on a processor in the place of each input."""

BESIDE: Final = Patience(limit=1.0, goes_on=False)
"""With what answers beside a search: what hangs there with each of some ten inputs kept one from
its best for a minute. The reference answers all of them in three seconds."""


@dataclass(frozen=True, slots=True)
class _There:
    """A subject on the back end for processors.

    Attributes:
        session: what a process needs to run its cases, on which the reference passes.
        reference: how that runs them.
        watch: looks for races in it.
        asking: asks what it does with other inputs.
        unset: looks for locals that nothing sets: on a processor these can hold something else.
        same: of each candidate whether its blocks write what the reference's do, where only some
            blocks of a launch run; None where all do. Under another launch other items are theirs.
    """

    session: Session
    reference: Program
    watch: RaceWatch
    asking: Dependence
    unset: UnsetLocals
    same: SameItems | None

    def candidate(self, one: Candidate) -> Candidate:
        """The same there."""
        here = self.watch.subject
        mine = as_candidate(here, one.text, one.configuration)
        return mine if one.own is None else replace(mine, own=_on(here.backend, one.own))

    def runs(self, mine: Candidate) -> bool:
        """Tell whether the same items are computed by a candidate that runs there."""
        if self.same is None:
            return True
        subject = self.watch.subject
        launched = subject.launch_values(mine.configuration)
        own = mine.own or launched != subject.launch_values(subject.standard)
        return not own and self.same.holds(mine)


@dataclass(frozen=True)
class Elsewhere:
    """Looks at a GPU's subject on the back end for processors, where the target has cases for that.

    Attributes:
        folder: for binaries, and the reference's answers.
        jobs: compiler processes at a time.
        role: of the cases.
        limit: seconds that a watched run may take.
        opened: closes the workers that answer with other inputs.
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
        """What is seen of a candidate that the reference does not do as well: its races."""
        there, why = self._there
        if there is None:
            return Looked(why=why)
        found = there.watch.look(there.candidate(one))
        if one.key is not None:
            self._looked[one.key] = found
        return found

    def known(self, one: Candidate) -> Looked | None:
        """Return what was seen of a candidate before; None if nobody looked at it."""
        return self._looked.get(one.key)

    def ask(self, one: Candidate) -> Looked:
        """What a candidate does with other inputs that the reference does not: the first thing that
        is tried in the place of each."""
        there, why = self._there
        if there is None:
            return Looked(why=why)
        if not there.runs(mine := there.candidate(one)):
            return Looked(why="too large to run all blocks here, and its blocks do other work")
        return Looked(there.asking.objection_meanwhile(mine))

    def unset(self, some: Sequence[Candidate]) -> list[str]:
        """Say of each of some candidates that it reads locals which nothing sets; "" if it is not
        seen to."""
        there, _ = self._there
        if there is None:
            return [""] * len(some)
        known = [there.candidate(one) if one.binary is None else None for one in some]
        with self._locals:
            return [there.unset.objection(one) if one and there.runs(one) else "" for one in known]

    def watch_reference(self) -> None:
        """Do now what is done once for all candidates."""
        there, _ = self._there
        if there is not None:
            there.watch.watch_reference()

    def unsettled(self, some: Sequence[Substituted]) -> frozenset[str]:
        """The inputs of which one substitution leaves it to the order of threads what the reference
        answers, or makes answers of it that are otherwise none to compare with; with their others
        it may only not show on small cases. None where nobody can tell."""
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
    def _there(self) -> tuple[_There | None, str]:
        """It, there; None with the reason, where that cannot be done."""
        with self._turn:  # several threads ask for it
            return self._opened

    @cached_property
    def _opened(self) -> tuple[_There | None, str]:
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
        return _There(session, reference, watch, asking, unset, same if small.partial else None), ""

    def look_at_all_blocks(self, one: Candidate) -> Looked:
        """Return the races of a candidate among all blocks, if :meth:`look` sees only a sample and
        the reference runs all blocks in :data:`ALL` seconds a launch."""
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
        """Return the cases with a sample of the blocks of each launch that runs in :data:`QUICK`
        seconds; with all blocks, if the reference does not run on a sample, as where blocks wait
        for each other."""
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
    """A subject on another back end."""
    return replace(subject, backend=backend, space=Space.from_target(subject.target, backend))
