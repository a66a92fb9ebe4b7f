"""Check that a variant uses each input as the reference does.

An input may influence the outputs by less than the oracle's tolerance. A number may never be the
limiting one, or may equal another number in all cases. Then a variant that replaces the input by a
constant, or confuses two numbers, is right on all cases, but wrong in general. Therefore inputs are
substituted: the outputs have to change, and to equal the reference's. Only candidates that pass are
certified.
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
from gi_cuda.backends.process_registry import all_processes
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.substitutes import Substituted
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import Candidate, as_candidate, build_candidates, unmodified
from gi_cuda.evaluate.scrutiny.inputs.originals import (
    Fits,
    Only,
    Original,
    Part,
    Patience,
    Told,
    not_tried,
    ordinary,
)
from gi_cuda.evaluate.scrutiny.inputs.tried_inputs import TriedInputs, nobody_knows
from gi_cuda.evaluate.scrutiny.objections import Look, Objection
from gi_cuda.spec import Configuration, ParameterKind
from gi_cuda.spec.case_data.other_sizes import numbers_in
from gi_cuda.subject import Subject

NUMBERS: Final = 4
"""Number of integers of a candidate's text, the largest ones, that are tried as sizes."""


def opening(opened: ExitStack, session: Session, workers: int) -> Callable[[], Pool[int]]:
    """Return a function that starts workers for a session; the exit stack closes them."""
    return lambda: opened.enter_context(Pool[int](session, Crew(workers)))


@dataclass(frozen=True)
class Dependence:
    """A check of candidates with substituted inputs.

    Parameters are alternatives that the target offers; under another value the source may read the
    same data from another buffer or in another layout. A candidate is therefore compared with the
    source in the candidate's configuration. If that configuration leaves out an input without a
    replacement, the candidate is compared with the unmodified source. A
    variable such as ``__constant__ float weights[9]`` may replace any input, since no other
    contents are tried in variables.

    Attributes:
        compiler: compiler of the back end.
        pool: workers of a session that has the cases; None to use only its own workers.
        folder: for binaries.
        cases: names of the cases.
        elsewhere: returns the inputs for whose substitutes the reference's outputs depend on the
            order of threads, as far as known.
        each: number of substitutes for each input in a quick check; None for all quick ones.
        patience: time limits for launches that do not end.
        alone: starts workers for this check only; None if there are none to spare.
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
        """Return the objection of the quick check to a candidate, in words; "" if there is none."""
        (found,) = self.objections([one])
        return found.said if found else ""

    def objections(
        self, some: Sequence[Candidate], thorough: bool = False
    ) -> list[Objection | None]:
        """Return the first failing objection to each candidate; None if there is none.

        All candidates are compiled in one batch.

        Args:
            thorough: use the substitutes that the quick check leaves out, instead of the quick
                ones.
        """
        return [
            next(
                (found for told in all_told if (found := self._objection(told, thorough)).fails),
                None,
            )
            for all_told in self._found(some, thorough)
        ]

    def findings(self, some: Sequence[Candidate]) -> list[list[Objection]]:
        """Return all objections to each candidate."""
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
        """Return the faults of a candidate at sizes near the numbers in its text.

        Also return a note on the number of substitutes that were not tried on the reference.
        """
        fits = self._tried.near(self._numbers(one))
        pairs = [pair for pair, fit in fits.items() if fit]
        late = sum(fit is None for fit in self._fits(one).values())
        program, until = self._program(one), time.monotonic() + self.patience.seconds
        found = self._held_against(one).wrong(program, pairs, until) if program and pairs else []
        return [*found, *not_tried(late)]

    def _numbers(self, one: Candidate) -> tuple[int, ...]:
        """Return the largest numbers in a candidate's text that the reference's text does not have.

        The candidate may be right only up to these numbers, or only for other numbers.
        """
        numbers = numbers_in(one.text) - numbers_in(self.subject.reference)
        return tuple(sorted(numbers - {0, 1})[-NUMBERS:])

    def _fits(self, one: Candidate) -> Fits:
        """Return all substitutes for a candidate, and whether each is usable with the reference."""
        self._prepare_for([one])
        tried = self._tried
        return {**tried.fit(False), **tried.fit(True), **tried.near(self._numbers(one))}

    def _program(self, one: Candidate) -> Program | None:
        """Return the program of a candidate, after preparing the source that it is compared with.

        None if the candidate does not compile.
        """
        self._prepare_for([one])
        return self._built(one, self.folder / "variant")

    def ask_reference(self) -> None:
        """Run the reference with substituted inputs now, once for all candidates."""
        with self._turn:
            self._prepare([self.subject.standard])
            _ = self._originals[self.subject.standard].decisive, self._tried.fit(True)

    def ask_reference_meanwhile(self) -> None:
        """Run the reference with substituted inputs beside a search, on workers of this check's
        own.

        Do nothing if there are none to spare. These workers are used for all later runs.
        """
        with self._turn, all_processes().held():
            if self.alone is None or self._opened:
                return
            try:
                self._opened.append(self.alone())
                self.ask_reference()
            except BaseException:  # e.g. the device has no memory for more workers
                self._opened.clear()
                self._originals.clear()
                raise

    def objection_meanwhile(self, one: Candidate) -> str:
        """Return the objection of the quick check beside a search, from workers of this check's
        own.

        The workers stay for later calls.
        """
        with self._turn, all_processes().held():
            return self.objection(one)

    def _workers(self) -> Pool[int]:
        if not self._opened and self.pool is not None:
            return self.pool
        if not self._opened and self.alone is not None:
            self._opened.append(self.alone())
        return self._opened[0]

    def compared(self, one: Candidate) -> list[Substituted]:
        """Return the substitutes with which a candidate's outputs can be compared with the
        reference's.
        """
        return [pair for pair, fit in self._fits(one).items() if fit and ordinary(pair[1])]

    def agrees(self, one: Candidate, pair: Substituted) -> bool:
        """Tell whether a candidate's outputs equal the reference's with a substitute for an
        input.
        """
        program = self._program(one)
        return program is not None and self._held_against(one).agrees(program, pair)

    @property
    def note(self) -> str:
        """The other sizes that a thorough check tries, and those that it leaves out; "" if none."""
        return self._tried.note if self.subject.standard in self._originals else ""

    def _objection(self, told: Told, thorough: bool) -> Objection:
        part = Only.STATE if told.shown is None else told.shown
        look = self._looks.setdefault((thorough, part), partial(self._said, thorough, part))
        return Objection(told.said, look, quick=True, code=told.code, ruling=told.ruling)

    def _said(self, thorough: bool, part: Part, some: Sequence[Candidate]) -> list[str]:
        """Return the fault of each candidate with one kind of substitute, in words."""
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
        """Return the source that a candidate is compared with."""
        own, whole = self._originals[self._own(one)], self._originals[self.subject.standard]
        variables = any(each.symbol and each.role.given for each in self.subject.target.buffers)
        left_out = own.decisive.keys() < whole.decisive.keys() and not variables
        return whole if left_out else own

    def _own(self, one: Candidate) -> Configuration:
        """Return a candidate's configuration, without the launch changes of its transformations.

        These changes fit only the candidate's own text.
        """
        return self.subject.space.chosen(one.configuration)

    def _without_options(self, configuration: Configuration) -> Configuration:
        """Return a configuration with default compiler options, which do not affect the inputs
        that are read.
        """
        options = {
            one.name: one.default
            for one in self.subject.target.parameters
            if one.kind is ParameterKind.OPTION
        }
        return self.subject.space.chosen({**configuration, **options})

    def _prepare_for(self, some: Sequence[Candidate]) -> None:
        """Compile the source in all configurations that the candidates are compared with."""
        owns = [self._own(one) for one in some]
        self._prepare([self.subject.standard, *map(self._without_options, owns)])
        self._prepare(owns)

    def _prepare(self, configurations: Sequence[Configuration]) -> None:
        """Compile the source in several configurations at once, except those already compiled."""
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
        """Return the source in a configuration, compiled."""
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
        """Return the program of the unmodified source, after it was compiled."""
        return self._originals[self.subject.standard].program

    def _otherwise(self) -> Program | None:
        """Return the unmodified source, compiled with different rounding and timing; None if
        impossible.
        """
        one = unmodified(self.subject)
        other = self.compiler.differently(one.options)
        place = self.folder / "otherwise"
        return None if other is None else self._built(replace(one, compiler=other), place)

    def _built(self, one: Candidate, folder: Path) -> Program | None:
        """Return the program of a candidate; None if it does not compile."""
        (built,) = build_candidates(self.compiler, [one], folder)
        return None if isinstance(built, BuildFailure) else one.program(built, self.cases)
