"""Try proposals: run the reference on the host back end as a check would."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.backends.table import open_backend
from gi_cuda.errors import MachineError, UserError
from gi_cuda.evaluate.checks.parameters.effects import inert, read_effects
from gi_cuda.evaluate.checks.parameters.values import TriedValue
from gi_cuda.evaluate.reference.baseline import check_against_source
from gi_cuda.init import Proposal, files, write_folder
from gi_cuda.init.proposing.buffers import smooth
from gi_cuda.init.proposing.cases import held_out_on_device
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.spec import load_target
from gi_cuda.subject import Subject, load_subject
from gi_cuda.trial import troubles
from gi_cuda.trial.case_coverage import Counted, Reach, counted_in, reach_of
from gi_cuda.trial.facts import CASES, JUDGED, LARGE_CASES, bytes_of, impossible, on_host, plan
from gi_cuda.trial.mending.resizing import BRIEF, GPU_BRIEF
from gi_cuda.trial.running import Built, built_in, confirmed, crowded, explored, tried_alone
from gi_cuda.trial.troubles import (
    Alike,
    Beside,
    Blind,
    Brief,
    Crowded,
    Idle,
    Impossible,
    Slow,
    Tiny,
    Unjudged,
)

_BACKEND = "host"

TELLING = 0.1
"""Largest tolerance, relative to the size of the results, with which an oracle detects changes."""

_A_BYTE = 1e-9
"""Seconds per byte of buffers and launch: buffers are restored and compared."""


def no_compiler() -> str:
    """Return the reason why nothing can be tried on this machine; "" if it can."""
    try:
        open_backend(_BACKEND)
    except UserError as error:
        return error.what
    return ""


@dataclass(slots=True)
class Attempts:
    """Trials of proposals for one kernel of a source; binaries are reused.

    Attributes:
        folder: a scratch folder.
        jobs: number of concurrent compiler processes.
        cache: cache of compiled code, if there is one.
    """

    folder: Path
    jobs: int
    cache: CodeCache | None
    _numbers: count[int] = field(default_factory=count)
    _ready: dict[frozenset[str], tuple[Subject, Built]] = field(default_factory=dict)
    _counted: dict[frozenset[str], Counted | None] = field(default_factory=dict)

    def attempt(self, proposal: Proposal, patience: float) -> troubles.Trouble | None:
        """Return the first trouble with a proposal; None if there is none.

        Args:
            patience: seconds that a case may take.
        """
        if what := impossible(proposal):
            return Impossible(what)
        if not any(b.role in JUDGED for b in proposal.buffers):
            return Unjudged()
        for case in on_host(proposal):
            seconds = bytes_of(proposal, plan(proposal, case)) * _A_BYTE
            if seconds > patience:
                return Slow(case, seconds, over=False)
        try:
            return self._attempt(proposal, patience)
        except MachineError:
            raise
        except UserError as error:
            return troubles.Refused(error)

    def large(self, proposal: Proposal) -> troubles.Trouble | None:
        """Return the trouble with the GPU cases of a proposal that passes; None if there is none.

        The cases run on the host, once and without a check.
        """
        on_host = [
            replace(e, train=e.device, held_out=held_out)
            for e, held_out in zip(
                proposal.extents, held_out_on_device(proposal.extents), strict=True
            )
        ]
        folder = self._written(replace(proposal, extents=tuple(on_host)))
        subject, built = self._ready[_active(proposal)]
        subject = replace(subject, target=load_target(folder))
        try:
            with self._tools(subject, folder) as tools:
                seen = explored(tools, built.reference)
        except MachineError:
            raise
        except UserError as error:
            return troubles.Refused(error)
        trouble = seen.fatal
        if trouble is None and seen.seconds < GPU_BRIEF:
            return Brief(seen.seconds)
        if isinstance(trouble, Beside):
            large = dict(zip(CASES, LARGE_CASES, strict=True))
            return Beside({large[case]: seen for case, seen in trouble.seen.items()})
        return trouble

    def reach(self, proposal: Proposal) -> Reach | None:
        """Return the coverage of a proposal's cases; None if it cannot be measured.

        Args:
            proposal: one with the parameters of a proposal that was attempted before.
        """
        if impossible(proposal) or (active := _active(proposal)) not in self._ready:
            return None
        folder = self._written(proposal)
        subject = replace(self._ready[active][0], target=load_target(folder))
        try:
            with self._tools(subject, folder) as tools:
                if active not in self._counted:
                    self._counted[active] = counted_in(tools, folder / "counted")
                counted = self._counted[active]
                return None if counted is None else reach_of(tools, counted)
        except MachineError:
            raise
        except UserError:
            return None  # the data cannot be made

    def values(self, proposal: Proposal) -> list[TriedValue]:
        """Return the result of each value of each active parameter, with the others at defaults.

        Args:
            proposal: one that passes, with the parameters of a proposal that was attempted before.
        """
        folder = self._written(proposal)
        subject = replace(self._ready[_active(proposal)][0], target=load_target(folder))
        with self._tools(subject, folder) as tools:
            return tried_alone(tools, self._ready[_active(proposal)][1], folder / "values")

    def _written(self, proposal: Proposal) -> Path:
        folder = self.folder / str(next(self._numbers))
        write_folder(folder, files(proposal, folder))
        return folder

    def _tools(self, subject: Subject, folder: Path) -> AbstractContextManager[Tools]:
        scratch = folder / "scratch"
        return open_tools(subject, scratch, workers=1, jobs=self.jobs, cache=self.cache)

    def _attempt(self, proposal: Proposal, patience: float) -> troubles.Trouble | None:
        folder = self._written(proposal)
        # Fixes rarely change the source or its parameters: reuse their binaries.
        active = _active(proposal)
        if active in self._ready:
            subject = replace(self._ready[active][0], target=load_target(folder))
        else:
            subject = load_subject(folder, _BACKEND)
        with self._tools(subject, folder) as tools:
            if active not in self._ready:
                if idle := _idle(tools):
                    return Idle(idle)
                check_against_source(subject, tools.compiler)
                built = built_in(tools, self.folder / f"built-{len(self._ready)}")
                self._ready[active] = subject, built
            built = self._ready[active][1]
            seen = explored(tools, built.reference)
            trouble = next(seen.troubles(patience), None) or confirmed(tools, built)
            sizes = _tiny(proposal, seen.magnitudes)
            if trouble is not None:
                return Blind(sizes) if isinstance(trouble, Blind) else trouble
            if sizes:
                return Tiny(sizes)
            if seen.seconds < BRIEF:
                return Brief(seen.seconds, seen.alike)
            if crowded(tools, built):
                return Crowded()
            return Alike() if seen.alike else None


def _active(proposal: Proposal) -> frozenset[str]:
    return frozenset(one.name for one in proposal.parameters if one.active)


def _tiny(proposal: Proposal, magnitudes: Mapping[str, float]) -> dict[str, float]:
    """Return magnitudes of buffers whose tolerance is not much less than their numbers."""
    real = smooth(proposal.buffers)
    known = [(one, magnitudes[one.name]) for one in real if one.name in magnitudes]
    return {one.name: size for one, size in known if one.allowance > TELLING * size}


def _idle(tools: Tools) -> frozenset[str]:
    """Return the parameters that have no effect."""
    target = tools.subject.target
    effects = read_effects(tools.subject.source, tools.compiler)
    return frozenset(
        one.name for one in target.parameters if any(inert(str(target.file), [one], effects))
    )
