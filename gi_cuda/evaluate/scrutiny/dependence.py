"""Does a variant do with each input what the reference does?

Where the part of an input in the answers is smaller than what the oracle allows, or a number that a
kernel gets is never what limits it, a variant that puts a constant in its place is right on all
cases, and wrong; so is one that takes one of two numbers for the other, where they are the same in
all cases. With something else in the place of an input, the answers have to become other ones, and
be those of the reference. Nothing of which that is not so is certified.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import Final

from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.leash import everything
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.substitutes import Substituted
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import Candidate, as_candidate, build_candidates, unmodified
from gi_cuda.evaluate.scrutiny.objections import Look, Objection
from gi_cuda.evaluate.scrutiny.originals import (
    Fits,
    Only,
    Original,
    Part,
    Patience,
    Told,
    not_tried,
    ordinary,
)
from gi_cuda.evaluate.scrutiny.tried_inputs import TriedInputs, nobody_knows
from gi_cuda.spec import Configuration, ParameterKind
from gi_cuda.spec.other_sizes import numbers_in
from gi_cuda.subject import Subject

NUMBERS: Final = 4
"""Numbers of a candidate's text that are tried as sizes, the largest ones."""


def opening(opened: ExitStack, session: Session, workers: int) -> Callable[[], Pool[int]]:
    """Return what starts workers for a session, which end with others."""
    return lambda: opened.enter_context(Pool[int](session, Crew(workers)))


@dataclass(frozen=True)
class Dependence:
    """Looks at what candidates do with other inputs.

    Parameters are alternatives that the target offers, and may read the same from another buffer,
    in another layout: candidates are held against the source in their configuration. Where that
    leaves out an input and takes none in its place, against the source as it is. A variable such
    as ``__constant__ float weights[9]`` may be in the place of any input; no other contents are
    tried in it.

    Attributes:
        compiler: the back end's.
        pool: workers of a session that has the cases; None where it has only its own.
        folder: for binaries.
        cases: names of the cases.
        elsewhere: asks with which inputs of some substitutions it is a matter of the order of
            threads what the reference answers, where that can be found out.
        each: so many things are tried in the place of each input in a quick look; None: all that
            are quick.
        patience: with launches that do not end.
        alone: opens workers that are for this alone; None where there are none to spare.
    """

    subject: Subject
    compiler: Compiler
    pool: Pool[int] | None
    folder: Path
    cases: tuple[str, ...]
    elsewhere: Callable[[Sequence[Substituted]], frozenset[str]] = nobody_knows
    each: int | None = None
    patience: Patience = field(default_factory=Patience)
    alone: Callable[[], Pool[int]] | None = None
    _opened: list[Pool[int]] = field(default_factory=list, repr=False, compare=False)
    _turn: RLock = field(default_factory=RLock, repr=False, compare=False)
    _originals: dict[Configuration, Original] = field(
        default_factory=dict, repr=False, compare=False
    )
    _looks: dict[tuple[bool, Part], Look] = field(default_factory=dict, repr=False, compare=False)

    def objection(self, one: Candidate) -> str:
        """Return the objection of a quick look to a candidate, in words; "" if there is none."""
        (found,) = self.objections([one])
        return found.said if found else ""

    def objections(
        self, some: Sequence[Candidate], thorough: bool = False
    ) -> list[Objection | None]:
        """Return the first failing objection to each of several candidates; None if there is none.
        All are compiled in one batch.

        Args:
            thorough: whether it is looked at what a quick look leaves out, instead of the rest.
        """
        return [
            next(
                (found for told in all_told if (found := self._objection(told, thorough)).fails),
                None,
            )
            for all_told in self._found(some, thorough)
        ]

    def findings(self, some: Sequence[Candidate]) -> list[list[Objection]]:
        """All that stands against each of several."""
        looks = [
            [[self._objection(told, thorough) for told in all_told] for all_told in found]
            for thorough in (False, True)
            for found in [self._found(some, thorough)]
        ]
        near = [[self._objection(told, False) for told in self._near(one)] for one in some]
        hardly = [
            [self._objection(told, True) for told in self._held_against(one).hardly_varying]
            for one in some
        ]
        every = zip(*looks, hardly, near, strict=True)
        return [[found for some in each for found in some] for each in every]

    def _near(self, one: Candidate) -> list[Told]:
        """Return the faults of a candidate in the cases of :meth:`_near_sizes`, and how many things
        were not tried on the reference."""
        fits = self._tried.near(self._numbers(one))
        pairs = [pair for pair, fit in fits.items() if fit]
        late = sum(fit is None for fit in self._fits(one).values())
        program, until = self._program(one), time.monotonic() + self.patience.seconds
        found = self._held_against(one).wrong(program, pairs, until) if program and pairs else []
        return [*found, *not_tried(late)]

    def _numbers(self, one: Candidate) -> tuple[int, ...]:
        """Numbers that a candidate's text has, and the reference's has not: it may be right up to
        these, or for others alone."""
        numbers = numbers_in(one.text) - numbers_in(self.subject.reference)
        return tuple(sorted(numbers - {0, 1})[-NUMBERS:])

    def _fits(self, one: Candidate) -> Fits:
        """All that is tried on the reference for a candidate."""
        self._prepare_for([one])
        tried = self._tried
        return {**tried.fit(False), **tried.fit(True), **tried.near(self._numbers(one))}

    def _program(self, one: Candidate) -> Program | None:
        """The program of a candidate, ready to be held against the source; None if it does not
        compile."""
        self._prepare_for([one])
        return self._built(one, self.folder / "variant")

    def ask_reference(self) -> None:
        """Find out now what the reference does with other inputs, once for all candidates."""
        with self._turn:
            self._prepare([self.subject.standard])
            _ = self._originals[self.subject.standard].decisive, self._tried.fit(True)

    def ask_reference_meanwhile(self) -> None:
        """Find out the same beside a search, which needs the other workers; nothing happens where
        there are none to spare. Those that are started for it answer all that is asked later."""
        with self._turn, everything().held():
            if self.alone is None or self._opened:
                return
            try:
                self._opened.append(self.alone())
                self.ask_reference()
            except BaseException:  # as where the device has no room for more workers
                self._opened.clear()
                self._originals.clear()
                raise

    def objection_meanwhile(self, one: Candidate) -> str:
        """Return the objection of a quick look beside a search, from workers of its own, which are
        there for longer than who asks first."""
        with self._turn, everything().held():
            return self.objection(one)

    def _workers(self) -> Pool[int]:
        if not self._opened and self.pool is not None:
            return self.pool
        if not self._opened and self.alone is not None:
            self._opened.append(self.alone())
        return self._opened[0]

    def compared(self, one: Candidate) -> list[Substituted]:
        """Substitutes for inputs with which a candidate's answers are held against those of the
        reference, as for the inputs of a case."""
        return [pair for pair, fit in self._fits(one).items() if fit and ordinary(pair[1])]

    def agrees(self, one: Candidate, pair: Substituted) -> bool:
        """Tell whether a candidate answers as the reference does with a substitute for an input."""
        program = self._program(one)
        return program is not None and self._held_against(one).agrees(program, pair)

    @property
    def note(self) -> str:
        """The other sizes that a thorough look tries, and those that it leaves out; "" for none."""
        return self._tried.note if self.subject.standard in self._originals else ""

    def _objection(self, told: Told, thorough: bool) -> Objection:
        part = Only.STATE if told.shown is None else told.shown
        look = self._looks.setdefault((thorough, part), partial(self._said, thorough, part))
        return Objection(told.said, look, quick=True, code=told.code, ruling=told.ruling)

    def _said(self, thorough: bool, part: Part, some: Sequence[Candidate]) -> list[str]:
        """What is wrong with each of several with that in the place of that input."""
        return [told[0].said if told else "" for told in self._found(some, thorough, part)]

    def _found(
        self, some: Sequence[Candidate], thorough: bool, part: Part = Only.ALL
    ) -> list[list[Told]]:
        with self._turn:
            built = build_candidates(self.compiler, some, self.folder / "variant")
            self._prepare_for(some)
            return [
                []
                if isinstance(made, BuildFailure)
                else self._held_against(one).told(one.program(made, self.cases), thorough, part)
                for one, made in zip(some, built, strict=True)
            ]

    def _held_against(self, one: Candidate) -> Original:
        """What a candidate is held against."""
        own, whole = self._originals[self._own(one)], self._originals[self.subject.standard]
        variables = any(each.symbol and each.role.given for each in self.subject.target.buffers)
        left_out = own.decisive.keys() < whole.decisive.keys() and not variables
        return whole if left_out else own

    def _own(self, one: Candidate) -> Configuration:
        """A candidate's configuration, without the launches of its transformations: these fit its
        own text alone."""
        return self.subject.space.chosen(one.configuration)

    def _without_options(self, configuration: Configuration) -> Configuration:
        """A configuration with all options of the compiler at their defaults: these change no
        input that is read."""
        options = {
            one.name: one.default
            for one in self.subject.target.parameters
            if one.kind is ParameterKind.OPTION
        }
        return self.subject.space.chosen({**configuration, **options})

    def _prepare_for(self, some: Sequence[Candidate]) -> None:
        """Compile the source in all configurations that some candidates are held against."""
        owns = [self._own(one) for one in some]
        self._prepare([self.subject.standard, *map(self._without_options, owns)])
        self._prepare(owns)

    def _prepare(self, configurations: Sequence[Configuration]) -> None:
        """Compile the source in configurations in which it was not yet, all at once."""
        new = [one for one in dict.fromkeys(configurations) if one not in self._originals]
        places = [self.folder / str(len(self._originals) + number) for number in range(len(new))]
        given = self._workers(), self._tried.fit
        jobs = [partial(self._of, *given, *one) for one in zip(new, places, strict=True)]
        made = at_once(jobs)
        self._originals.update(zip(new, made, strict=True))

    def _of(
        self,
        workers: Pool[int],
        fit: Callable[[bool], Fits],
        configuration: Configuration,
        folder: Path,
    ) -> Original:
        """The source in a configuration."""
        one = as_candidate(self.subject, self.subject.reference, configuration)
        built = self._built(one, folder)
        alike = self._originals.get(self._without_options(configuration))
        return Original(workers, built, fit, self.patience, alike)

    @cached_property
    def _tried(self) -> TriedInputs:
        target, reference = self.subject.target, self.subject.reference
        cases = [one for one in target.cases if self.subject.backend in one.backends]
        asking = self.elsewhere, self.each, self.patience
        own = self._workers, self._reference, self._otherwise
        return TriedInputs(target, reference, cases, self.cases, *asking, *own)

    def _reference(self) -> Program | None:
        """The source as it is, once it is compiled."""
        return self._originals[self.subject.standard].program

    def _otherwise(self) -> Program | None:
        """The same where it rounds otherwise, at another pace; None where that cannot be had."""
        one = unmodified(self.subject)
        other = self.compiler.differently(one.options)
        place = self.folder / "otherwise"
        return None if other is None else self._built(replace(one, compiler=other), place)

    def _built(self, one: Candidate, folder: Path) -> Program | None:
        """Return the program of a candidate; None if it does not compile."""
        (built,) = build_candidates(self.compiler, [one], folder)
        return None if isinstance(built, BuildFailure) else one.program(built, self.cases)
