"""The CUDA back end's device, on PyCUDA."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.device.answers import Answers
from gi_cuda.backends.cuda.device.buffers import Buffers, mended
from gi_cuda.backends.cuda.device.confinement import GRACE, Confinement
from gi_cuda.backends.cuda.device.context import MOST_AHEAD, BoundLaunch, Context
from gi_cuda.backends.cuda.device.memory import Memory, MemoryCheck, Region, flusher, scrubber
from gi_cuda.backends.cuda.device.program import Bound, CudaProgram
from gi_cuda.backends.cuda.device.textures import Textures, surfaces_of
from gi_cuda.backends.cuda.device.variables import Variables, choice, counter
from gi_cuda.backends.cuda.helpers import build_helpers
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.protocol.device import Bindings, Fate, LaunchRefused, Solid, Timed, TimedRun
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.requests import CasePlan, Outputs
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.spec import Argument, Buffer, CaseData, Launch, Packed, Target, View
from gi_cuda.spec.kernel_names import identifier

_PREPARING = 7
"""What preparing, timing and looking at a run puts into the stream, at most, besides one piece a
buffer and a variable."""


class CudaDevice(Solid):
    """One context, inputs resident on the device, buffers between guard zones, event timing.

    Nothing but the end of a launch sequence is waited for. A hang or an illegal access ends the
    process (see :mod:`gi_cuda.backends.cuda.device.context`).

    Args:
        target: what is run.
        cases: its cases by name.
        slot: this process's among those that share the device.

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
        self._last: Bound | None = None
        self._fate: Fate | None = None
        self._events: list[tuple[Any, Any]] = []

    def close(self) -> None:
        """Free what the device holds. Only for processes that go on, or end by themselves."""
        self._last = None
        self._textures.close()
        self._events.clear()
        del self._buffers, self._kept, self._answers, self._memory, self._scrub, self._flush
        self._context.close()

    def turn(self) -> AbstractContextManager[None]:
        """Inside, no other worker uses the device."""
        return self._context.slot.lock.turn()

    def scheduled(
        self, schedule: Schedule, natural: Collection[str]
    ) -> AbstractContextManager[bool]:
        """The order is the GPU's."""
        return nullcontext(False)

    # -- variants ----------------------------------------------------------------------------

    def load(self, binary: Binary) -> CudaProgram:
        """Load the cubin that holds a variant.

        Raises:
            LaunchRefused: it is not for this device.
        """
        return self._loaded(binary, self._context.module(binary.path))

    def load_elsewhere(self, binary: Binary) -> CudaProgram:
        """Load a module that no other variant shares.

        Raises:
            LaunchRefused: it is not for this device.
        """
        return self._loaded(binary, self._context.new_module(binary.path))

    def _loaded(self, binary: Binary, module: Any) -> CudaProgram:
        assert isinstance(binary, CudaBinary), "only nvcc makes binaries for this back end"
        lender = self.load(binary.lender) if binary.lender else None
        kept = self._kept.of(binary, module) + list(lender.kept if lender else ())
        return CudaProgram(binary, module, kept, lender)

    def unload(self, loaded: CudaProgram) -> None:
        """Forget a variant. Its module stays a while for the others in it."""
        loaded.bound.clear()

    def _bind(self, loaded: CudaProgram, plan: CasePlan) -> Bound:
        bound = loaded.bound.get(plan.case)
        if bound is None:
            functions: dict[tuple[str, int], Any] = {}
            bindings = Bindings(plan, lambda launch: self._call(loaded, plan, launch, functions))
            variables = dict(self._variables(loaded, plan))
            chosen = choice(loaded.binary, loaded.module)
            surfaces = [(v, self._buffers.region(plan, v.buffer)) for v in surfaces_of(plan)]
            bound = Bound(bindings, variables, surfaces, loaded.binary.confined, chosen)
            loaded.bound[plan.case] = bound
        return bound

    def _call(
        self,
        loaded: CudaProgram,
        plan: CasePlan,
        launch: Launch,
        functions: dict[tuple[str, int], Any],
    ) -> BoundLaunch:
        name = identifier(launch.kernel)
        binary, module = loaded.holder(name)
        kernel = binary.kernels.get(name)
        if kernel is None:
            raise LaunchRefused(f"the compiled source holds no kernel {launch.kernel}")
        if (key := (launch.kernel, launch.shared)) not in functions:
            functions[key] = self._context.function(module, kernel.symbol, launch.shared)
        values = []
        for argument in launch.args:
            own = self._value(plan, argument)
            values.append((own, argument.align if isinstance(argument, Packed) else len(own)))
        arguments = kernel.arguments(values)
        call = BoundLaunch(functions[key], launch.grid, launch.block, launch.shared, arguments)
        return self._context.cooperative(call) if launch.cooperative else call

    def _value(self, plan: CasePlan, argument: Argument) -> bytes:
        """What a kernel gets for an argument."""
        if isinstance(argument, Packed):
            return argument.bytes(lambda one: self._value(plan, one))
        if isinstance(argument, str):
            address = self._buffers.region(plan, argument).address
            return np.uint64(address + plan.offsets.get(argument, 0)).tobytes()
        if isinstance(argument, View):
            region = self._buffers.region(plan, argument.buffer)
            return np.uint64(self._textures.object(argument, region)).tobytes()
        assert isinstance(argument, np.generic), "launches are bound for one draw"
        return argument.tobytes()

    def _variables(self, loaded: CudaProgram, plan: CasePlan) -> Iterator[tuple[str, Region]]:
        for buffer in self._target.buffers:
            if buffer.symbol is None:
                continue
            # A variant that no longer uses a variable does not have it.
            name = identifier(buffer.symbol)
            binary, module = loaded.holder(name)
            symbol = binary.variables.get(name)
            if symbol is None:
                continue
            address, room = module.get_global(symbol)
            size = plan.sizes[buffer.name] * buffer.dtype.itemsize
            if size > room:
                raise LaunchRefused(f"{buffer.symbol} has {room} bytes, and the case {size}")
            pristine = self._buffers.original(plan, buffer) if buffer.role.given else 0
            yield buffer.name, Region(buffer.name, int(address), size, False, pristine)

    # -- buffers -----------------------------------------------------------------------------

    def make_room(self, plan: CasePlan) -> None:
        """Make and fill the buffers of a case, if that was not done before.

        Raises:
            LaunchRefused: the device has not so much memory.
        """
        self._buffers.make_room(plan)

    def prepare(self, plan: CasePlan) -> None:
        """Restore inputs, poison outputs, scratch buffers and all shared memory. Does not wait."""
        self._buffers.restore(plan)
        self._scrub()
        if self._flush is not None:
            self._flush()

    def poison(self, plan: CasePlan, buffer: str) -> None:
        """Make one scratch buffer what no launch has written. Does not wait."""
        self._memory.restore(self._buffers.region(plan, buffer))

    def put(self, plan: CasePlan, buffer: str, contents: NDArray[Any]) -> None:
        """Give one input other contents, until it is mended."""
        self._memory.put(self._buffers.region(plan, buffer), contents)

    # -- launches ----------------------------------------------------------------------------

    def run(self, loaded: CudaProgram, plan: CasePlan, limit: float) -> float:
        """Run the launches of a plan; seconds between two events around them.

        Raises:
            LaunchRefused: geometry, shared memory or arguments that the device does not take.
        """
        return self._timed([TimedRun(loaded, plan)], limit, _nothing)[0].seconds

    def run_round(self, runs: Sequence[TimedRun], limit: float) -> list[Timed]:
        """Prepare and run several in turn without a pause between them, and look at the answers.

        The same as :meth:`prepare` and :meth:`run` for each, but the device never waits for Python.

        Raises:
            LaunchRefused: see :meth:`run`.
        """
        return self._timed(runs, limit, self.prepare)

    def _timed(
        self, runs: Sequence[TimedRun], limit: float, before: Callable[[CasePlan], None]
    ) -> list[Timed]:
        """Runs in turn; once more, where one took longer than its limit: others may have kept the
        device, as a worker that opens it does. If that happens again, this process ends as hung."""

        def late(done: Sequence[Timed]) -> list[int]:
            pairs = zip((one.loaded.binary for one in runs), done, strict=True)
            return [one.ident for one, at in pairs if at.seconds > limit and not one.confined]

        done = self._in_turn(runs, limit, before)
        if late(done):
            done = self._in_turn(runs, limit, self.prepare)
            for ident in late(done):
                self._context.suspect = ident
                self._context.hung(limit)
        return done

    def _in_turn(
        self, runs: Sequence[TimedRun], limit: float, before: Callable[[CasePlan], None]
    ) -> list[Timed]:
        while len(self._events) < len(runs):
            self._events.append((self._context.event(), self._context.event()))
        events = self._events[: len(runs)]
        # First, since it may wait for the device, where a hung kernel would keep it for ever.
        for one in runs:
            self._bind(one.loaded, one.plan)
        self._answers.forget_others()
        looks = self._memory.looks([self._expected(one) for one in runs])
        ahead: deque[tuple[Any, int, CudaBinary]] = deque()
        self._context.several = len({one.loaded.binary.ident for one in runs}) > 1

        def wait_for_oldest() -> None:
            end, _, binary = ahead.popleft()
            self._context.suspect = binary.ident
            self._context.wait(end, limit + GRACE if binary.confined else limit)

        for number, (one, (begin, end)) in enumerate(zip(runs, events, strict=True)):
            loaded, plan = one.loaded, one.plan
            bound = self._last = self._bind(loaded, plan)
            calls = bound.bindings.calls(plan.draw)
            work = len(calls) + len(self._target.buffers) + len(loaded.kept) + _PREPARING
            work += 2 * len(bound.surfaces)
            while ahead and work + sum(waiting for _, waiting, _ in ahead) > MOST_AHEAD:
                wait_for_oldest()
            before(plan)
            for region in (*loaded.kept, *bound.variables.values()):
                self._memory.restore(region)
            self._textures.enter(bound.surfaces)
            chosen = loaded.binary.chosen
            if chosen is not None and bound.choice is not None:
                self._drv.memset_d32_async(bound.choice, chosen, 1, self._context.stream)
            control = self._buffers.control(plan)
            if bound.confined:
                self._confinement.begin(control, limit)
            else:
                self._confinement.watch(control)
            begin.record(self._context.stream)
            self._context.launch_all(calls, limit)
            end.record(self._context.stream)
            self._textures.leave(bound.surfaces)
            looks.take(number)
            ahead.append((end, work, loaded.binary))
        while ahead:
            wait_for_oldest()
        self._context.suspect, self._context.several = None, False
        return [
            Timed(end.time_since(begin) * 1e-3, not differing)
            for differing, (begin, end) in zip(looks.failing(), events, strict=True)
        ]

    def _expected(self, one: TimedRun) -> list[MemoryCheck]:
        """Checks that a run's answers are as expected; none where nothing is."""
        if one.expected is None:
            return []
        judged = self._judged(one.plan, self._bind(one.loaded, one.plan).variables)
        return self._checks(one.plan, judged, one.expected) or []

    def _checks(
        self, plan: CasePlan, judged: Sequence[tuple[Buffer, Region]], expected: Outputs
    ) -> list[MemoryCheck] | None:
        """Checks that answers are as expected; None where they have not even the size."""
        stored = partial(self._buffers.stored, plan)
        return self._answers.checks(plan.case, judged, expected, stored)

    # -- afterwards --------------------------------------------------------------------------

    def outputs(self, plan: CasePlan) -> Outputs:
        """What the launches wrote; valid until outputs are asked for again."""
        judged = self._judged(plan, self._known)
        arrays = self._memory.download([region for _, region in judged])
        return {
            buffer.name: self._buffers.told(plan, buffer, array.view(buffer.dtype))
            for (buffer, _), array in zip(judged, arrays, strict=True)
        }

    def _judged(
        self, plan: CasePlan, variables: Mapping[str, Region]
    ) -> list[tuple[Buffer, Region]]:
        """The buffers that the oracle looks at, and where their contents lie after all launches.

        Args:
            variables: of the variant, those that are buffers.

        Raises:
            LaunchRefused: the variant has lost a variable that is an output.
        """
        regions = {b.name: region for b, region in self._buffers.all(plan, variables)}
        judged = []
        for buffer in self._target.buffers:
            if buffer.role.judged:
                name = plan.storage[buffer.name]
                if name not in regions:
                    raise LaunchRefused(f"the compiled source holds no variable {buffer.symbol}")
                judged.append((buffer, regions[name]))
        return judged

    def damaged(self, plan: CasePlan) -> list[str]:
        """What was written to and must not be: read-only inputs by name, and guard zones.

        All of it is mended.
        """
        return self._looked(plan, [])[0]

    def look(self, plan: CasePlan, expected: Outputs) -> tuple[list[str], bool]:
        """What :meth:`damaged` gives, and whether the outputs are what is expected, bit for bit;
        found out on the device, in one go.

        See :class:`~gi_cuda.backends.cuda.device.answers.Answers`.
        """
        judged = self._judged(plan, self._known)
        answers = self._checks(plan, judged, expected)
        damaged, differing = self._looked(plan, answers or [])
        return damaged, answers is not None and not differing

    def fate(self) -> Fate | None:
        """What would have become of the last launches, were they not confined, or their loops not
        guarded."""
        return self._fate

    def _looked(self, plan: CasePlan, answers: Sequence[MemoryCheck]) -> tuple[list[str], bool]:
        """What was damaged, and whether one of the answers is not as its check wants it; signs are
        noted."""
        zones = list(self._buffers.zones(plan, self._known))
        groups = [answers, self._confinement.checks, [z.check for z in zones]]
        failing = self._memory.failing([check for group in groups for check in group])
        found: list[list[int]] = []
        for group in groups:
            found.append([index for index in failing if 0 <= index < len(group)])
            failing = [index - len(group) for index in failing]
        differing, signs, damaged = found
        self._fate = self._confinement.fate(signs)
        return mended(zones, damaged), bool(differing)

    @property
    def _known(self) -> Mapping[str, Region]:
        """The variables of the variant that ran last, if one has."""
        return self._last.variables if self._last else {}

    @contextmanager
    def counting(self, loaded: CudaProgram, loops: int) -> Iterator[Callable[[], Sequence[int]]]:
        """While an instrumented variant runs inside: asks for the most iterations of each loop."""
        with counter(self._context, loaded.binary, loaded.module, loops) as most:
            yield most


def _nothing(_: CasePlan) -> None:
    """What comes before a launch that was prepared already."""
