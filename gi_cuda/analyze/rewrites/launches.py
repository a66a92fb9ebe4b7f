"""Determine the launches of a rewrite, if its host code launches differently from the original's.

The launches of both sources are read by the same code and compared. If they are the same, the
target's launches are used. If they differ, the launches of the rewrite are expressed in the
target's names. The mapping of host expressions to the target's names comes from the original's
launches: each of their arguments corresponds to an argument in the target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from gi_cuda.analyze.rewrites.host_readings import Call, HostReading, origin, period
from gi_cuda.analyze.rewrites.launch_arguments import ArgumentReader, bare_name
from gi_cuda.analyze.rewrites.refusals import refused
from gi_cuda.init.host.host_extents import extents_of
from gi_cuda.init.proposing.geometry import blocks_wait
from gi_cuda.results.status import Status
from gi_cuda.spec import KernelStep, Target
from gi_cuda.spec.expression import ExpressionError, parse
from gi_cuda.spec.launching.own_launches import OwnLaunches
from gi_cuda.spec.target import LaunchSequence

_DYNAMIC = re.compile(r"\bextern\s+(?:__align__\s*\([^()]*\)\s*)?__shared__\b[^;\[]*?(\w+)\s*\[")

Geometry: TypeAlias = tuple[tuple[str, ...] | None, tuple[str, ...] | None, str | None]
"""Grid, block and bytes of shared memory as expressions; None for an unknown one."""


@dataclass(frozen=True)
class LaunchReader:
    """A reader of the launches of a rewrite.

    Attributes:
        target: target of the original.
        old: launches in the original's host code.
        new: launches in the rewrite's host code.
    """

    target: Target
    old: HostReading
    new: HostReading

    def read(self) -> OwnLaunches | None:
        """Return the launches of the rewrite; None if they are the target's launches.

        Raises:
            Refused: the rewrite cannot be launched, or its launch cannot be determined.
            UserError: its source cannot be read.
        """
        calls = self._calls
        if not calls:
            self._check_unlaunched()
            return None
        if [self._form(self.old, one) for one in self._before] == [
            self._form(self.new, one) for one in calls
        ] and all(one.kernel in self._wanted for one in calls):
            self._check_shared(self.target.launches)
            return None
        launches = self._paired(calls) if self._is_paired(calls) else self._anew(calls)
        self._check_shared(launches)
        return OwnLaunches(launches, (*self.target.scalars, *self._arguments.made.values()))

    # -- which launches there are -------------------------------------------------------------

    @property
    def _steps(self) -> list[KernelStep]:
        return [step for sequence in self.target.launches for step in sequence.steps]

    @cached_property
    def _wanted(self) -> tuple[str, ...]:
        """Names of the target's kernels, without scope."""
        return tuple(dict.fromkeys(bare_name(step.kernel) for step in self._steps))

    @cached_property
    def _before(self) -> list[Call]:
        """Launches of the target's kernels in the original, in the function of the first launch."""
        return _of_one_function([one for one in self.old.calls if one.kernel in self._wanted])

    @cached_property
    def _arguments(self) -> ArgumentReader:
        return ArgumentReader(self.target, self.old, self.new, self._before)

    @cached_property
    def _calls(self) -> list[Call]:
        """Launches in the rewrite that replace the target's launches."""
        others = {one.kernel for one in self.old.calls} - {*self._wanted}
        found = [one for one in self.new.calls if one.kernel not in others]
        function = self._before[0].function if self._before else ""
        return [one for one in found if one.function == function] or _of_one_function(found)

    def _check_unlaunched(self) -> None:
        """Check a rewrite without launches: only a rewrite without host code may have none.

        Raises:
            Refused: a kernel is missing, host code no longer launches it, or its parameters differ.
        """
        lost = next((name for name in self._wanted if name not in self.new.kernels), None)
        if lost is not None:
            raise refused(
                "no-kernel",
                f"there is no kernel {lost}, and no launch of another kernel in its place",
                self.new.path,
            )
        if self._before and self._before[0].function in self.new.functions:
            call = self._before[0]
            raise refused(
                "not-launched",
                f"{call.function}() no longer launches {call.kernel}, as the original does in line"
                f" {call.place.line}",
                self.new.path,
            )
        self._check_parameters()
        self._check_shared(self.target.launches)

    def _check_parameters(self) -> None:
        """Check that the parameters of kernels are unchanged, if no launch passes arguments.

        Raises:
            Refused: a kernel has other parameters.
        """
        for name in self._wanted:
            if name not in self.old.kernels:
                continue
            before, after = (one.parameter_types(name) for one in (self.old, self.new))
            if before != after:
                raise refused(
                    "other-parameters",
                    f"{name} takes ({', '.join(after)}) in place of ({', '.join(before)}), and no"
                    " launch says what it gets",
                    self._where(name),
                )

    def _check_shared(self, launches: Sequence[LaunchSequence]) -> None:
        """Check that launches give the size of new dynamic shared memory.

        Raises:
            Refused: the size is unknown.
        """
        for step in (step for sequence in launches for step in sequence.steps):
            if step.shared.text != "0":
                continue
            name = bare_name(step.kernel)
            if name not in self.new.kernels:
                continue
            texts = "\n".join(self.new.chosen(name).texts)
            before = name in self.old.kernels and "\n".join(self.old.chosen(name).texts)
            found = _DYNAMIC.search(texts)
            if found and not (before and _DYNAMIC.search(before)):
                raise refused(
                    "no-shared-size",
                    f"{name} has dynamic shared memory, `extern __shared__ {found[1]}[]`, and no"
                    " launch says how many bytes: pass them as the third number in <<<...>>>",
                    self._where(name),
                    Status.INCONCLUSIVE,
                )

    def _where(self, kernel: str) -> str:
        chosen = self.new.chosen(kernel)
        return chosen.code.where(chosen.kernel.definition.node)

    # -- the same number of launches: each in the place of another -----------------------------

    def _is_paired(self, calls: Sequence[Call]) -> bool:
        if self._before:
            return len(calls) == len(self._before)
        return {one.kernel for one in calls} == {*self._wanted}

    def _paired(self, calls: Sequence[Call]) -> tuple[LaunchSequence, ...]:
        seen: dict[str, int] = {}

        def changed(step: KernelStep) -> KernelStep:
            name = bare_name(step.kernel)
            number = seen.get(name, 0)
            seen[name] = number + 1
            if not self._before:
                mine = [one for one in calls if one.kernel == name]
                return self._step(mine[min(number, len(mine) - 1)], step, None)
            places = [at for at, one in enumerate(self._before) if one.kernel == name]
            if not places:
                return step
            at = places[min(number, len(places) - 1)]
            return self._step(calls[at], step, self._before[at])

        return tuple(
            replace(one, steps=tuple(map(changed, one.steps))) for one in self.target.launches
        )

    # -- other launches ------------------------------------------------------------------------

    def _anew(self, calls: Sequence[Call]) -> tuple[LaunchSequence, ...]:
        calls = calls[: period([one.text for one in calls])]
        plain = all(
            one.repeat.text == "1" and not one.swap and one.counter is None
            for one in self.target.launches
        )
        if not plain:
            raise self._unclear(
                calls[0], "the target repeats its launches, and the rewrite launches other kernels"
            )
        around = {(one.conditional, one.loops) for one in self._before} or {(False, 0)}
        for one in calls:
            if (one.conditional, one.loops) not in around:
                what = "under a condition" if one.conditional else "in a loop"
                raise self._unclear(one, f"{one.kernel} is launched {what}")
        return (LaunchSequence(tuple(self._step(one, None, None) for one in calls)),)

    def _unclear(self, call: Call, why: str) -> Exception:
        return refused(
            "launch-not-read",
            f"{why}: how often, and with what, cannot be told from the text",
            call.where,
            Status.INCONCLUSIVE,
        )

    # -- one launch ----------------------------------------------------------------------------

    def _step(self, call: Call, step: KernelStep | None, before: Call | None) -> KernelStep:
        """Convert a launch of the rewrite to a step of the target.

        Args:
            call: the launch.
            step: the target's step that it replaces, if any.
            before: the original's launch that it corresponds to, if any.

        Raises:
            Refused: arguments or launch configuration cannot be determined.
        """
        arguments = tuple(
            self._arguments.argument(call, at, argument, step)
            for at, argument in enumerate(self.new.chosen(call.kernel).kernel.arguments)
        )
        chosen = self.new.chosen(call.kernel)
        if len(call.launch.arguments) != len(arguments):
            raise refused(
                "other-parameters",
                f"{call.kernel} takes {len(arguments)} arguments, and gets"
                f" {len(call.launch.arguments)}",
                call.where,
            )
        grid, block, shared = self._geometry(self.new, call)
        same = before is not None and self._geometry(self.old, before) == (grid, block, shared)
        waits = blocks_wait(chosen.texts)
        kernel = self.new.instance(call)
        if step is not None and (same or not (grid and block and shared)):
            if not same and not self._alike(call, before):
                raise self._unclear(call, "grid or block are computed by the program")
            return replace(step, kernel=kernel, args=arguments, cooperative=waits)
        if not (grid and block and shared):
            raise self._unclear(call, "grid or block are computed by the program")
        try:
            blocks, threads = (tuple(parse(text) for text in some) for some in (grid, block))
            return KernelStep(kernel, blocks, threads, parse(shared), arguments, waits)
        except ExpressionError as error:
            raise self._unclear(call, error.what) from None

    def _alike(self, call: Call, before: Call | None) -> bool:
        """Tell whether a launch with unknown configuration has the same text as the original's."""
        if before is None:
            return not self._before
        return call.configuration == before.configuration

    def _geometry(self, reading: HostReading, call: Call) -> Geometry:
        """Return grid, block and shared memory of a launch, in the target's names."""
        resolver = reading.resolver(call, self._arguments.scalars)
        launch = call.launch
        grid, block = (
            resolver.extent(some[0]) if len(some) == 1 else extents_of(resolver, some)
            for some in (launch.grid, launch.block)
        )
        shared = "0" if launch.shared is None else resolver.expression(launch.shared)
        return _trimmed(grid), _trimmed(block), shared

    def _form(self, reading: HostReading, call: Call) -> tuple[object, ...]:
        """Return a normal form of a launch, which is equal for equivalent launches."""
        resolver = reading.resolver(call, self._arguments.scalars)
        geometry = self._geometry(reading, call)
        told = all(geometry) or call.configuration
        passed = tuple(origin(resolver, node) for node in call.launch.arguments)
        types = reading.parameter_types(call.kernel)
        templates = tuple(resolver.template_arguments(call.launch.called))
        return call.kernel, geometry, told, passed, types, templates


def _of_one_function(calls: Sequence[Call]) -> list[Call]:
    return [one for one in calls if one.function == calls[0].function]


def _trimmed(extent: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Remove trailing dimensions of 1 from a grid or block."""
    while extent and len(extent) > 1 and extent[-1] == "1":
        extent = extent[:-1]
    return extent
