"""Individuals become sources in several processes: to make a transformation a kernel is read again,
which takes longer than a compiler's share of a variant on a machine with many cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pickle import PicklingError
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias

from gi_cuda.backends import cores
from gi_cuda.backends.helpers import GONE, Helper, serve
from gi_cuda.backends.job_threads import at_once
from gi_cuda.evaluate.candidates import Candidate, as_candidate, candidate
from gi_cuda.genome import Genotype
from gi_cuda.subject import Subject

CORES_FOR_ONE: Final = 3
"""Compilers on so many cores leave one process little to do."""

TOGETHER: Final = 4
"""So many are rendered at a time."""

FEW: Final = 8
"""So many with edits are rendered sooner here."""

_PATIENCE: Final = 30.0
"""Seconds after which a process is given up; it takes tenths of one, and one or two to start."""

_IDLE: Final = 600.0
"""Seconds after which one ends that has nothing to do."""

_Part: TypeAlias = Sequence[tuple[int, Genotype]]
_Rendered: TypeAlias = Sequence[tuple[str, dict[str, int]]]
"""Texts, and how each changes its launches."""


@dataclass
class Renderers:
    """Processes that render a subject's individuals; none where there are few cores.

    Attributes:
        number: of the processes at most.
    """

    subject: Subject
    number: int = field(default_factory=lambda: cores() // CORES_FOR_ONE - 1)
    _helpers: list[Helper] = field(default_factory=list, init=False, repr=False)

    def start(self) -> None:
        """Start them; that takes seconds, for which nobody waits. None is there where one cannot be
        started, or the subject cannot be sent."""
        try:
            while len(self._helpers) < self.number:
                helper = Helper(__name__)
                self._helpers.append(helper)
                helper.tell(self.subject)
        except (*GONE, PicklingError, TypeError):
            self.close()

    def close(self) -> None:
        """End them."""
        for helper in self._helpers:
            helper.close()
        self._helpers.clear()

    def candidates(
        self, batch: Mapping[int, Genotype], limits: Mapping[int, int]
    ) -> dict[int, Candidate]:
        """Render individuals with loop guards; those whose process ends are rendered here."""
        edited = [(ident, one) for ident, one in batch.items() if one.edits]
        if len(edited) < FEW or not self._helpers:
            return self._here(limits, list(batch.items()))
        todo: SimpleQueue[_Part] = SimpleQueue()
        todo.put([(ident, one) for ident, one in batch.items() if not one.edits])
        for first in range(0, len(edited), TOGETHER):
            todo.put(edited[first : first + TOGETHER])
        ways = [partial(self._here, limits)]
        ways += [partial(self._by, helper, limits) for helper in self._helpers]
        found: dict[int, Candidate] = {}
        for some in at_once([partial(_all_of, todo, way) for way in ways]):
            found |= some
        return {ident: found[ident] for ident in batch}

    def _here(self, limits: Mapping[int, int], part: _Part) -> dict[int, Candidate]:
        return {ident: candidate(self.subject, one, limits) for ident, one in part}

    def _by(self, helper: Helper, limits: Mapping[int, int], part: _Part) -> dict[int, Candidate]:
        try:
            told: _Rendered = helper.ask(([one for _, one in part], limits), _PATIENCE)
        except GONE:
            with suppress(ValueError):  # it was closed meanwhile
                self._helpers.remove(helper)
            helper.close()
            return self._here(limits, part)
        return {
            ident: as_candidate(self.subject, text, one.configuration.shaped(shape))
            for (ident, one), (text, shape) in zip(part, told, strict=True)
        }


def _all_of(
    todo: SimpleQueue[_Part], render: Callable[[_Part], dict[int, Candidate]]
) -> dict[int, Candidate]:
    """Render what is left to do until nothing is."""
    found: dict[int, Candidate] = {}
    with suppress(Empty):
        while True:
            found |= render(todo.get_nowait())
    return found


class _Renderer:
    """Render individuals of the subject that is told first."""

    subject: Subject

    def __call__(self, told: Any) -> _Rendered | None:
        if isinstance(told, Subject):
            self.subject = told
            return None
        genotypes, limits = told
        subject = self.subject
        texts = [subject.render(one, limits) for one in genotypes]
        shapes = [dict(subject.parsed.shape(subject.expansions(one))) for one in genotypes]
        return list(zip(texts, shapes, strict=True))


if __name__ == "__main__":
    serve(_Renderer(), _IDLE)
