"""Check for data races that a variant has and the reference does not.

It is one of the checks of winners (see :mod:`gi_cuda.evaluate.certification`), at the end of a
search, in `validate` and `patch`. `compare` runs it too before it calls a variant faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import Final, Protocol

from gi_cuda.backends.job_threads import at_once, both
from gi_cuda.backends.protocol.backend import Sanitizer
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import Compiler, Phenotype
from gi_cuda.backends.sanitize import LIMIT
from gi_cuda.backends.table import backend_named
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate, unmodified
from gi_cuda.evaluate.scrutiny.objections import Objection, objections_of
from gi_cuda.evaluate.scrutiny.ordering.order_words import changes_order, changes_order_of_blocks
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import SanitizerFinding, new_findings
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_runs import findings_of, together
from gi_cuda.evaluate.scrutiny.ordering.small_cases import SmallCases
from gi_cuda.grammar import Source
from gi_cuda.subject import Subject

ENOUGH = 10.0
"""Seconds of race detection on the reference after which no further case begins. A case takes from
seconds to minutes under compute-sanitizer. Variants run on the same cases."""

_SLACK: Final = 10.0
"""Multiple of the reference's time that a variant may take under race detection."""

_LEAST: Final = 20.0
"""Lower bound of that time limit, in seconds: a detector takes some to start."""


@dataclass(frozen=True, slots=True)
class _Reference:
    """The result of race detection on the reference.

    Attributes:
        detector: the detector.
        session: settings for running the cases.
        cases: names of the cases.
        races: findings.
        limit: time limit for a variant, in seconds; one that hangs would say no more in minutes.
    """

    detector: Sanitizer
    session: Session
    cases: tuple[str, ...]
    races: tuple[SanitizerFinding, ...]
    limit: float


@dataclass(frozen=True, slots=True)
class Looked:
    """The result of looking for races.

    Attributes:
        seen: races of a candidate that the reference does not have; "" for none.
        why: reason why nobody could look; "" if somebody did.
    """

    seen: str = ""
    why: str = ""


class Looks(Protocol):
    """Interface of a second race detector, which sees more than the first."""

    def look(self, one: Candidate) -> Looked:
        """Look for races of a candidate."""

    def known(self, one: Candidate) -> Looked | None:
        """Return the result of an earlier look at a candidate; None if there is none."""

    def look_at_all_blocks(self, one: Candidate) -> Looked:
        """Look for races of a candidate in blocks that :meth:`look` leaves out."""

    def unset(self, some: Sequence[Candidate]) -> list[str]:
        """Return a message for each candidate that reads uninitialized locals; "" for the
        others.
        """

    def watch_reference(self) -> None:
        """Do the work that is the same for all candidates."""


@dataclass(frozen=True)
class RaceWatch:
    """A race detector for candidates, which reports races that the reference does not have.

    Attributes:
        subject: the subject whose variants the candidates are.
        session: settings for running candidates in a separate process.
        compiler: the compiler from which that of the detector is derived.
        folder: for binaries.
        cases: names of the cases; as many are used as there is time for.
        small: small cases that replace these if they reach the same code.
        limit: time limit of a run, in seconds.
        beside: a second detector; a GPU's own one does not watch memory that blocks share.
    """

    subject: Subject
    session: Session
    compiler: Compiler
    folder: Path
    cases: tuple[str, ...]
    small: SmallCases | None = None
    beside: Looks | None = None
    limit: float = LIMIT
    _turn: RLock = field(default_factory=RLock, init=False, repr=False, compare=False)

    def watched(self, one: Candidate) -> tuple[str, ...]:
        """Return the names of the cases that a candidate runs on; empty if nobody can look."""
        known, _ = self._known(one)
        return () if known is None else known.cases

    def objection(self, one: Candidate) -> str:
        """Return the objection to a candidate in words; "" if there is none."""
        found = self._objection(one)
        return found.said if found else ""

    def objections(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the objection to each candidate; all are checked at once."""
        both(self.watch_reference, partial(self.on_small_cases, some))
        return at_once([partial(self._objection, one) for one in some])

    def here(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return this detector's own objection to each candidate."""
        self.on_small_cases(some)
        return at_once([partial(self._here, one) for one in some])

    def beside_it(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the second detector's objection to each candidate, which takes a fraction of
        the time.
        """
        if self.beside is None:
            return [None] * len(some)
        self.beside.watch_reference()
        return at_once([partial(self._beside, one) for one in some])

    def on_small_cases(self, some: Sequence[Candidate]) -> list[bool]:
        """Tell for each candidate whether it runs on small cases, in seconds instead of minutes."""
        looks: list[Callable[[], bool]] = [partial(self._is_small, one) for one in some]
        found, _ = both(partial(at_once, looks), self._watch_reference)
        return found

    def _objection(self, one: Candidate) -> Objection | None:
        here, beside = at_once([partial(self._here, one), partial(self._beside, one)])
        return here or beside

    def _here(self, one: Candidate) -> Objection | None:
        look = self._on_small if self._is_small(one) else self._on_all
        (found,) = objections_of(look, [one], quick=False)
        return found

    def _beside(self, one: Candidate) -> Objection | None:
        (found,) = objections_of(self._by_others, [one], quick=False)
        return found

    def _on_small(self, some: Sequence[Candidate]) -> list[str]:
        return at_once([partial(self._said, *self._small_reference, one) for one in some])

    def _on_all(self, some: Sequence[Candidate]) -> list[str]:
        return at_once([partial(self._said, *self._reference, one) for one in some])

    def _by_others(self, some: Sequence[Candidate]) -> list[str]:
        return at_once([partial(self._said_beside, one) for one in some])

    def seen(self, one: Candidate) -> str:
        """Return the races of a candidate; "" if there are none or nobody could look."""
        mine = self.look(one)
        if mine.seen or self.beside is None or one.key is None:
            return mine.seen
        return (self.beside.known(one) or self.beside.look(one)).seen

    def on_all_blocks(self, one: Candidate) -> str:
        """Return the races of a candidate that show only in blocks that a search does not watch."""
        if self.beside is None or one.key is None:
            return ""
        return self.beside.look_at_all_blocks(one).seen

    def watch_reference(self) -> None:
        """Run both detectors on the reference, once for all candidates."""
        both(self._watch_reference, self.beside.watch_reference if self.beside else lambda: None)

    def _watch_reference(self) -> None:
        known, _ = self._small_reference
        if known is None:
            _ = self._reference

    def look(self, one: Candidate) -> Looked:
        """Look for races of a candidate with this detector only."""
        known, why = self._known(one)
        return Looked(why=why) if known is None else Looked(self._seen(known, one))

    def _said(self, known: _Reference | None, why: str, one: Candidate) -> str:
        """Return the races of a candidate; if nobody could look, the objection to changed thread
        order.
        """
        return self._unwatched(one, why) if known is None else self._seen(known, one)

    def _said_beside(self, one: Candidate) -> str:
        """Return the second detector's objection to a candidate; "" if there is none."""
        if self.beside is None or one.key is None:
            return ""
        other = self.beside.known(one) or self.beside.look(one)
        if other.why and self._changed(one, changes_order_of_blocks):
            return (
                "changes a fence or an atomic function, and only shared memory could be watched for"
                f" races: {other.why}"
            )
        return other.seen

    def _known(self, one: Candidate) -> tuple[_Reference | None, str]:
        """Return the result for the reference on the cases that a candidate is to run on."""
        return self._small_reference if self._is_small(one) else self._reference

    def _is_small(self, one: Candidate) -> bool:
        """Tell whether a candidate is to run on the small cases."""
        stand = self.small is not None and self.small.stand_for(one)
        return stand and self._small_reference[0] is not None

    def _seen(self, known: _Reference, one: Candidate) -> str:
        found, failure = self._watched(known.detector, known.session, one, known.cases, known.limit)
        new = list(map(str, new_findings(found, known.races)))
        return "; ".join(new) or (failure and f"watched for races: {failure}")

    def racing(self) -> dict[str, str]:
        """Return the kernels of the reference with data races, each with a finding.

        If race detection is impossible, return all kernels with the reason.
        """
        known, why = self._known(unmodified(self.subject))
        if known is None:
            return dict.fromkeys(self.subject.target.kernels, why)
        return {
            kernel: str(finding)
            for kernel in self.subject.target.kernels
            for finding in known.races
            if finding.kernel == kernel and finding.race
        }

    def seen_in_reference(self) -> list[SanitizerFinding]:
        """Return races of the reference, even if its outputs are wrong; empty if nobody can look.

        It runs on as many cases as run at a time.
        """
        try:
            detector = backend_named(self.subject.backend).races(self.compiler)
        except UserError:
            return []
        cases = self.cases[: together()]
        whole = unmodified(self.subject)
        found, _ = self._watched(detector, self.session, whole, cases, self.limit)
        return [one for one in found if one.race]

    @property
    def _reference(self) -> tuple[_Reference | None, str]:
        """The result for the reference.

        None with the reason if there is no detector, or if it cannot be used on this target.
        """
        with self._turn:  # several threads use this property
            return self._on_cases

    @property
    def _small_reference(self) -> tuple[_Reference | None, str]:
        """The result for the reference on the small cases, in the same form."""
        with self._turn:
            return self._on_the_small

    @cached_property
    def _on_cases(self) -> tuple[_Reference | None, str]:
        return self._watched_on(self.session, self.cases)

    @cached_property
    def _on_the_small(self) -> tuple[_Reference | None, str]:
        session = self.small and self.small.session
        return self._watched_on(session, session.cases) if session else (None, "")

    def _watched_on(self, session: Session, cases: Sequence[str]) -> tuple[_Reference | None, str]:
        try:
            detector = backend_named(self.subject.backend).races(self.compiler)
        except UserError as error:
            return None, f"{error.what}; {error.hint}"
        begun = time.monotonic()
        watched: list[str] = []
        found: list[SanitizerFinding] = []
        whole = unmodified(self.subject)
        while len(watched) < len(cases) and (not watched or time.monotonic() - begun < ENOUGH):
            some = cases[len(watched) : len(watched) + together()]
            more, failure = self._watched(detector, session, whole, some, self.limit)
            if failure:
                return None, f"the reference fails when it is watched for races: {failure}"
            watched += some
            found += [one for one in more if one not in found]
        limit = min(self.limit, max(_LEAST, _SLACK * (time.monotonic() - begun)))
        return _Reference(detector, session, tuple(watched), tuple(found), limit), ""

    def _watched(
        self,
        detector: Sanitizer,
        session: Session,
        one: Candidate,
        cases: Sequence[str],
        limit: float,
    ) -> tuple[list[SanitizerFinding], str]:
        source = Source(self.subject.grammar.source.name, one.text)
        # Opening the device takes longer than all small cases, so one process runs them all.
        small = self.small is not None and session.cases == self.small.names
        given = detector, session, one, cases, source, self.folder, limit
        return findings_of(*given, processes=int(small))

    def _unwatched(self, one: Candidate, why: str) -> str:
        """Return an objection if a candidate changes the order of threads while nobody can look
        for races.
        """
        if not self._changed(one, changes_order):
            return ""
        return (
            "changes a barrier, a fence or an atomic function, or who comes to one, and nobody"
            f" could look for races: {why}"
        )

    def _changed(self, one: Candidate, what: Callable[[str, str], bool]) -> bool:
        """Tell whether a candidate's preprocessed text differs from the reference's in some
        respect.

        False for a candidate with its own binary or compiler. True if preprocessing fails.
        """
        if one.binary is not None or one.compiler is not None:
            return False
        whole = unmodified(self.subject)
        if self.subject.compiled and one.own is None:  # optimisations change lines far from edits
            return what(whole.text, one.text)
        before = self.compiler.preprocess([whole.variant(1)])[1]
        after = one.compiled_by(self.compiler).preprocess([one.variant(1)])[1]
        if isinstance(before, Phenotype) and isinstance(after, Phenotype):
            return what(before.text, after.text)
        return True
