"""Processes that render individuals as source text.

A transformation reads the whole kernel again. On a machine with many cores, that takes longer than
compiling a variant does, so one process would be the bottleneck.
"""

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
"""Number of cores, all compiling, for which one rendering process is enough."""

TOGETHER: Final = 4
"""Number of individuals that a process renders at a time."""

FEW: Final = 8
"""Number of edited individuals below which rendering in this process is faster."""

_PATIENCE: Final = 30.0
"""Timeout for an answer, in seconds. Rendering takes tenths of a second, starting one or two."""

_IDLE: Final = 600.0
"""Seconds without work after which a process ends."""

_Part: TypeAlias = Sequence[tuple[int, Genotype]]
_Rendered: TypeAlias = Sequence[tuple[str, dict[str, int]]]
"""Source texts, each with its launch configuration changes."""


@dataclass
class Renderers:
    """Processes that render a subject's individuals; none on a machine with few cores.

    Attributes:
        number: of processes, at most.
    """

    subject: Subject
    number: int = field(default_factory=lambda: cores() // CORES_FOR_ONE - 1)
    _helpers: list[Helper] = field(default_factory=list, init=False, repr=False)

    def start(self) -> None:
        """Start the processes in the background.

        No process is used if one cannot be started, or if the subject cannot be pickled.
        """
        try:
            while len(self._helpers) < self.number:
                helper = Helper(__name__)
                self._helpers.append(helper)
                helper.tell(self.subject)
        except (*GONE, PicklingError, TypeError):
            self.close()

    def close(self) -> None:
        """End the processes."""
        for helper in self._helpers:
            helper.close()
        self._helpers.clear()

    def candidates(
        self, batch: Mapping[int, Genotype], limits: Mapping[int, int]
    ) -> dict[int, Candidate]:
        """Render individuals with loop guards; if a process ends, its part is rendered here."""
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
            with suppress(ValueError):  # close() removed it meanwhile
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
    """Render parts from the queue until it is empty."""
    found: dict[int, Candidate] = {}
    with suppress(Empty):
        while True:
            found |= render(todo.get_nowait())
    return found


class _Renderer:
    """The worker of a rendering process: it receives the subject first, then individuals."""

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
