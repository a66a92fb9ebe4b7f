"""The CUDA back end's device, built on PyCUDA."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.device.binding import Binder
from gi_cuda.backends.cuda.device.confinement import GRACE, Confinement
from gi_cuda.backends.cuda.device.context import MOST_AHEAD, Context
from gi_cuda.backends.cuda.device.memory_layout.answers import Answers
from gi_cuda.backends.cuda.device.memory_layout.buffers import Buffers
from gi_cuda.backends.cuda.device.memory_layout.memory import (
    Memory,
    MemoryCheck,
    Region,
    flusher,
    scrubber,
)
from gi_cuda.backends.cuda.device.memory_layout.staging import Staging
from gi_cuda.backends.cuda.device.program import Bound, CudaProgram
from gi_cuda.backends.cuda.device.steps import Done, Look, Step
from gi_cuda.backends.cuda.device.textures import Textures
from gi_cuda.backends.cuda.device.variables import Variables, counter
from gi_cuda.backends.cuda.helpers import build_helpers
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.protocol.device import Solid, Timed, TimedRun, Verified
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.programs import CasePlan, Outputs
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.spec import Buffer, CaseData, Target
from gi_cuda.spec.oracles import Rules

_PREPARING = 7
"""The most stream operations per run for preparation, timing and checks, besides two per buffer
(restore and keep) and one per variable."""


class CudaDevice(Solid):
    """A context with inputs resident on the device, buffers between guard zones, and event timing.

    It only waits for the end of launch sequences. A hang or an illegal access ends the process (see
    :mod:`gi_cuda.backends.cuda.device.context`).

    Args:
        target: the target.
        cases: its cases by name.
        slot: this process's slot among those that share the device.

    Raises:
        UserError: there is no device, no PyCUDA or no nvcc.
    """

    def __init__(self, target: Target, cases: Mapping[str, CaseData], slot: WorkerSlot) -> None:
        self._target = target
        self._context = Context(slot)
        self._drv = self._context.drv
        cubin = build_helpers(find_toolkit(), self._context.architecture)
        helpers = self._context.module(cubin)
        self._memory = Memory(self._context, helpers)
        self._kept = Variables(self._context, self._memory)
        self._confinement = Confinement(self._context, helpers)
        self._textures = Textures(self._context, [one.buffer for one in target.surfaces])
        self._buffers = Buffers(target, cases, self._context, self._memory)
        self._scrub = scrubber(self._context, helpers)
        self._flush = flusher(self._context) if target.timing.cache == "flushed" else None
        self._answers = Answers(self._memory)
        self._staging = Staging(self._context)
        self._binder = Binder(target, self._context, self._buffers, self._textures)
        self._last: Bound | None = None
        self._events: list[tuple[Any, Any]] = []

    def isolate(self, readable: Sequence[Path], secret: Sequence[NDArray[Any]]) -> None:
        """Do nothing: code on a GPU reaches neither files nor the host's memory."""

    def close(self) -> None:
        """Free the device's resources. Not needed in processes that are killed."""
        self._last = None
        self._textures.close()
        self._events.clear()
        del self._buffers, self._kept, self._answers, self._staging, self._binder
        del self._memory, self._scrub, self._flush
        self._context.close()

    def turn(self) -> AbstractContextManager[None]:
        """Return a context in which no other worker uses the device."""
        return self._context.slot.lock.turn()

    def scheduled(
        self, schedule: Schedule, natural: Collection[str]
    ) -> AbstractContextManager[bool]:
        """Return a context that gives False: the GPU chooses the thread order."""
        return nullcontext(False)

    # -- variants ----------------------------------------------------------------------------

    def load(self, binary: Binary) -> CudaProgram:
        """Load the cubin that holds a variant.

        Raises:
            LaunchRefused: it is not for this device.
        """
        return self._loaded(binary, self._context.module)

    def load_elsewhere(self, binary: Binary) -> CudaProgram:
        """Load a variant into a module of its own.

        Raises:
            LaunchRefused: it is not for this device.
        """
        return self._loaded(binary, cache(self._context.new_module))

    def _loaded(self, binary: Binary, load: Callable[[Path], Any]) -> CudaProgram:
        """Load a variant with its parts.

        Args:
            load: makes a module of a file.
        """
        assert isinstance(binary, CudaBinary), "only nvcc makes binaries for this back end"
        lender = self.load(binary.lender) if binary.lender else None
        parts = binary.of_parts(lambda one: self._loaded(one, load))
        module = load(binary.path)
        program = CudaProgram(binary, module, self._kept.of(binary, module), lender, parts)
        kept = [region for one in (program, *program.others) for region in one.kept]
        return replace(program, kept=kept)

    def unload(self, loaded: CudaProgram) -> None:
        """Forget a variant. Its module stays for a while, since other variants share it."""
        loaded.bound.clear()

    # -- buffers -----------------------------------------------------------------------------

    def make_room(self, plan: CasePlan) -> None:
        """Allocate and fill the buffers of a case, unless that was done before.

        Raises:
            LaunchRefused: the device has too little memory.
        """
        self._buffers.make_room(plan)

    def make_ready(self, loaded: CudaProgram, plan: CasePlan) -> None:
        """Make room for a case, and bind a variant to it.

        Raises:
            LaunchRefused: there is too little memory, or the device refuses the variant.
        """
        self._buffers.make_room(plan)
        self._binder.bound(loaded, plan)

    def prepare(self, plan: CasePlan) -> None:
        """Restore inputs, poison outputs, scratch buffers and all shared memory. Does not wait."""
        self._buffers.restore(plan)
        self._scrub()
        if self._flush is not None:
            self._flush()

    def poison(self, plan: CasePlan, buffer: str) -> None:
        """Fill one scratch buffer with poison. Does not wait."""
        self._memory.restore(self._buffers.region(plan, buffer))

    def put(self, plan: CasePlan, buffer: str, contents: NDArray[Any]) -> None:
        """Replace the contents of one input until it is mended."""
        self._memory.put(self._buffers.region(plan, buffer), contents)

    # -- launches ----------------------------------------------------------------------------

    def run(
        self, loaded: CudaProgram, plan: CasePlan, limit: float, *, keeping: bool = False
    ) -> float:
        """Run the launches of a plan. Return the seconds between events before and after them.

        Raises:
            LaunchRefused: the device refuses geometry, shared memory or arguments.
        """
        run = TimedRun(replace(loaded, kept=()) if keeping else loaded, plan)
        return self._timed([Step(run)], limit, _nothing)[0].seconds

    def run_round(self, runs: Sequence[TimedRun], limit: float) -> list[Timed]:
        """Prepare and run several in turn without waiting in between, and compare outputs.

        Raises:
            LaunchRefused: see :meth:`run`.
        """
        self._answers.forget_old()
        checks = [self._expected(one) for one in runs]
        steps = [Step(run, some or ()) for run, some in zip(runs, checks, strict=True)]
        done = self._timed(steps, limit, self.prepare)
        return [
            Timed(one.seconds, some is not None and not one.failing)
            for one, some in zip(done, checks, strict=True)
        ]

    def verify(self, runs: Sequence[TimedRun], limit: float) -> list[Verified]:
        """Prepare and run several in turn, check outputs and damage of each, mend damage.

        Raises:
            LaunchRefused: see :meth:`run`.
        """
        self._answers.forget_old()
        looks = [self._look(one) for one in runs]
        rounds = list(self._staging.rounds([(look, look.written) for look in looks]))
        if len(rounds) == 1:
            return list(self._verified(rounds[0], limit))
        # The outputs of the next round overwrite these.
        return [one.kept() for some in rounds for one in self._verified(some, limit)]

    def _verified(self, looks: Sequence[Look], limit: float) -> Iterator[Verified]:
        """Yield the results of the runs of one round."""
        places = self._staging.places([one.written for one in looks])
        steps = [
            Step(look.run, look.checks, partial(self._staging.keep, look.written, kept))
            for look, kept in zip(looks, places, strict=True)
        ]
        done = self._timed(steps, limit, self.prepare)
        told = [look.told(one.failing) for look, one in zip(looks, done, strict=True)]
        differ = [at for at, (damaged, _, differs) in enumerate(told) if differs and not damaged]
        wanted = [looks[at].wanted(places[at], done[at].failing) for at in differ]
        arrays = dict(zip(differ, self._staging.read(wanted), strict=True))
        for at, (look, one, (damaged, signs, _)) in enumerate(zip(looks, done, told, strict=True)):
            outputs, part = None, None
            if at in arrays and (part := look.part(one.failing, arrays[at])) is None:
                outputs = self._told(look.run.plan, look.judged, arrays[at])
            yield Verified(one.seconds, damaged, self._confinement.fates(signs), outputs, part)

    def _look(self, run: TimedRun) -> Look:
        """Return the checks to make after a run."""
        bound = self._binder.bound(run.loaded, run.plan)
        judged = self._buffers.judged(run.plan, bound.variables)
        assert run.expected is not None, "what is verified is compared with something"
        answers = self._checks(run.plan, judged, run.expected, run.rules)
        control = self._buffers.control(run.plan)
        signs = self._confinement.signs(control, confined=bound.confined)
        zones = self._buffers.zones(run.plan, bound.variables)
        return Look(run, judged, answers, signs, zones)

    def _timed(
        self, steps: Sequence[Step], limit: float, before: Callable[[CasePlan], None]
    ) -> list[Done]:
        """Run in turn. If a run exceeds its limit, repeat all once: others may have disturbed it.

        If this happens again, the process ends as hung.
        """

        def late(done: Sequence[Done]) -> list[int]:
            pairs = zip((one.run.loaded.binary for one in steps), done, strict=True)
            return [one.ident for one, at in pairs if at.seconds > limit and not one.confined]

        done = self._in_turn(steps, limit, before)
        if late(done):
            done = self._in_turn(steps, limit, self.prepare)
            for ident in late(done):
                self._context.suspect = ident
                self._context.hung(limit)
        return done

    def _in_turn(
        self, steps: Sequence[Step], limit: float, before: Callable[[CasePlan], None]
    ) -> list[Done]:
        while len(self._events) < len(steps):
            self._events.append((self._context.event(), self._context.event()))
        events = self._events[: len(steps)]
        # Bind first: binding may wait for the device, where a hung kernel would block it for ever.
        for step in steps:
            self._binder.bound(step.run.loaded, step.run.plan)
        looks = self._memory.looks([step.checks for step in steps])
        ahead: deque[tuple[Any, int, CudaBinary]] = deque()
        self._context.several = len({step.run.loaded.binary.ident for step in steps}) > 1

        def wait_for_oldest() -> None:
            end, _, binary = ahead.popleft()
            self._context.suspect = binary.ident
            self._context.wait(end, limit + GRACE if binary.confined else limit)

        for number, (step, (begin, end)) in enumerate(zip(steps, events, strict=True)):
            loaded, plan = step.run.loaded, step.run.plan
            bound = self._last = self._binder.bound(loaded, plan)
            calls = bound.bindings.calls(plan.draw)
            work = len(calls) + 2 * len(self._target.buffers) + len(loaded.kept) + _PREPARING
            work += 2 * len(bound.surfaces) + len(bound.choices)
            while ahead and work + sum(waiting for _, waiting, _ in ahead) > MOST_AHEAD:
                wait_for_oldest()
            before(plan)
            for region in (*loaded.kept, *bound.variables.values()):
                self._memory.restore(region)
            self._textures.enter(bound.surfaces)
            for choice in bound.choices:
                chosen = loaded.binary.chosen
                self._drv.memset_d32_async(choice, chosen, 1, self._context.stream)
            control = self._buffers.control(plan)
            if bound.confined:
                self._confinement.begin(control, limit, shadowed=self._buffers.shadowed)
            else:
                self._confinement.watch(control)
            begin.record(self._context.stream)
            self._context.launch_all(calls, limit)
            end.record(self._context.stream)
            self._textures.leave(bound.surfaces)
            looks.take(number)
            step.after()
            ahead.append((end, work, loaded.binary))
        while ahead:
            wait_for_oldest()
        self._context.suspect, self._context.several = None, False
        return [
            Done(end.time_since(begin) * 1e-3, failing)
            for failing, (begin, end) in zip(looks.failing(), events, strict=True)
        ]

    def _expected(self, one: TimedRun) -> list[MemoryCheck] | None:
        """Return checks of a run's outputs, see :meth:`Answers.checks`; empty if none are due."""
        if one.expected is None:
            return []
        judged = self._buffers.judged(one.plan, self._binder.bound(one.loaded, one.plan).variables)
        return self._checks(one.plan, judged, one.expected, one.rules)

    def _checks(
        self,
        plan: CasePlan,
        judged: Sequence[tuple[Buffer, Region]],
        expected: Outputs,
        rules: Rules | None,
    ) -> list[MemoryCheck] | None:
        """Return checks that outputs are as expected; see :meth:`Answers.checks`."""
        stored = partial(self._buffers.stored, plan)
        return self._answers.checks(plan.case, judged, expected, stored, rules)

    # -- afterwards --------------------------------------------------------------------------

    def outputs(self, plan: CasePlan) -> Outputs:
        """Return the outputs that the launches wrote; valid until outputs are asked for again."""
        judged = self._buffers.judged(plan, self._known)
        return self._told(plan, judged, self._memory.download([region for _, region in judged]))

    def agrees(self, plan: CasePlan, expected: Outputs, rules: Rules | None) -> bool:
        """Tell whether the launches are known to have written expected or as good outputs."""
        self._answers.forget_old()
        checks = self._checks(plan, self._buffers.judged(plan, self._known), expected, rules)
        return checks is not None and not self._memory.failing(checks)

    def _told(
        self,
        plan: CasePlan,
        judged: Sequence[tuple[Buffer, Region]],
        arrays: Sequence[NDArray[np.uint8]],
    ) -> Outputs:
        """Convert bytes of buffers to values."""
        return {
            buffer.name: self._buffers.told(plan, buffer, array.view(buffer.dtype))
            for (buffer, _), array in zip(judged, arrays, strict=True)
        }

    def damaged(self, plan: CasePlan) -> list[str]:
        """Return names of inputs and guard zones that were wrongly written, and mend them."""
        zones = self._buffers.zones(plan, self._known)
        return [zones[at].name for at in self._memory.failing([zone.check for zone in zones])]

    @property
    def _known(self) -> Mapping[str, Region]:
        """Variables of the variant that ran last, if one has."""
        return self._last.variables if self._last else {}

    @contextmanager
    def counting(self, loaded: CudaProgram, loops: int) -> Iterator[Callable[[], Sequence[int]]]:
        """Return a context to run an instrumented variant in; see :func:`.variables.counter`."""
        with counter(self._context, loaded.binary, loaded.module, loops) as most:
            yield most


def _nothing(_: CasePlan) -> None:
    """Prepare nothing: the caller has prepared the launch."""
