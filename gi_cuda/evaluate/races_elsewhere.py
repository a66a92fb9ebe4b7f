"""Races of what runs on a GPU, watched on a processor.

compute-sanitizer's racecheck watches shared memory alone: that a fence is gone, or an atomic
function on memory of all blocks, it cannot tell. The detector of the host back end watches all
memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gi_cuda.backends.table import backends_on_gpus, open_backend
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate, as_candidate
from gi_cuda.evaluate.races import Looked, RaceWatch
from gi_cuda.evaluate.small_cases import SmallCases
from gi_cuda.genome import Space
from gi_cuda.spec import CaseRole
from gi_cuda.subject import Subject


@dataclass(frozen=True)
class Elsewhere:
    """Watches candidates of a GPU's subject on the back end for processors, where the target has
    cases for that.

    Attributes:
        folder: for binaries, and the reference's answers.
        jobs: compiler processes at a time.
    """

    subject: Subject
    folder: Path
    jobs: int

    def look(self, one: Candidate) -> Looked:
        """What is seen of a candidate that the reference does not do as well."""
        watch, why = self._watch
        if watch is None:
            return Looked(why=why)
        return watch.look(as_candidate(watch.subject, one.text, one.configuration))

    def watch_reference(self) -> None:
        """Do now what is done once for all candidates."""
        watch, _ = self._watch
        if watch is not None:
            watch.watch_reference()

    @cached_property
    def _watch(self) -> tuple[RaceWatch | None, str]:
        """What watches; None with the reason, where it cannot be done."""
        (name, *_) = backends_on_gpus(gpu=False)
        target = self.subject.target
        subject = replace(self.subject, backend=name, space=Space.from_target(target, name))
        try:
            cases = subject.cases(CaseRole.HELD_OUT)
            compiler = open_backend(name).compiler(subject, self.jobs)
            session = SmallCases(subject, cases, (), compiler, self.folder).session
        except UserError as error:
            return None, error.what
        if session is None:
            return None, f"the reference fails on the {name} back end"
        return RaceWatch(subject, session, compiler, self.folder / "watched", cases), ""
