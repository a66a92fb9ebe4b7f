"""Check that a compiler for GPUs accepts a candidate that runs on the CPU.

That compiler is the strictest judge of device code: for example, it rejects host functions in
kernels. The check needs a compiler for GPUs that accepts the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.table import backend_named, backends_on_gpus
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate, as_candidate, build_candidates, unmodified
from gi_cuda.subject import Subject, load_subject, subject_of


@dataclass(frozen=True)
class ForGpus:
    """Compilation of a CPU subject's candidates for GPUs, without running them.

    Attributes:
        folder: for binaries.
        jobs: compiler processes at a time.
    """

    subject: Subject
    folder: Path
    jobs: int

    def refusals(self, some: Sequence[Candidate]) -> list[str]:
        """Return the compiler's message for each candidate that it rejects; "" for the others."""
        if self._ready is None:
            return [""] * len(some)
        subject, compiler = self._ready
        theirs = [
            replace(as_candidate(subject, one.text, one.configuration), own=self._own(subject, one))
            for one in some
        ]
        built = build_candidates(compiler, theirs, self.folder)
        return [one.message if isinstance(one, BuildFailure) else "" for one in built]

    def _own(self, subject: Subject, one: Candidate) -> Subject | None:
        """Return a candidate's own source, read for the GPU back end; None if it has none."""
        return one.own and subject_of(one.own.target, subject.backend)

    @cached_property
    def _ready(self) -> tuple[Subject, Compiler] | None:
        """The subject on a GPU back end and its compiler.

        None if there is no such compiler, if it rejects the reference, or if the subject is on a
        GPU already.
        """
        if self.subject.compiled or backend_named(self.subject.backend).gpu:
            return None
        for name in backends_on_gpus(gpu=True):
            try:
                subject = load_subject(self.subject.target.folder, name)
                compiler = backend_named(name).compiler(subject, self.jobs, "")
            except UserError:
                continue
            (built,) = build_candidates(compiler, [unmodified(subject)], self.folder)
            if not isinstance(built, BuildFailure):
                return subject, compiler
        return None
