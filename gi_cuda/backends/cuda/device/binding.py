"""Bind the launches of variants: kernels, arguments, variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gi_cuda.backends.cuda.compile.cubin import CompiledKernel
from gi_cuda.backends.cuda.device.context import BoundLaunch, Context
from gi_cuda.backends.cuda.device.memory_layout.buffers import Buffers
from gi_cuda.backends.cuda.device.memory_layout.memory import Region
from gi_cuda.backends.cuda.device.program import Bound, CudaProgram
from gi_cuda.backends.cuda.device.textures import Textures, surfaces_of
from gi_cuda.backends.cuda.device.variables import choice
from gi_cuda.backends.protocol.device import Bindings, LaunchRefused
from gi_cuda.backends.protocol.programs import CasePlan
from gi_cuda.spec import Argument, Launch, Packed, Target, View
from gi_cuda.spec.launching.kernel_names import identifier

_LAUNCHES = 4096
"""Number of launches whose arguments are cached; variants of one configuration have the same."""


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel of a variant.

    Attributes:
        compiled: the kernel in the cubin.
        function: the driver's function.
    """

    compiled: CompiledKernel
    function: Any


class Binder:
    """Binds variants to the cases that they run.

    Args:
        target: the target.
        context: the worker's context.
        buffers, textures: the device's.
    """

    def __init__(
        self, target: Target, context: Context, buffers: Buffers, textures: Textures
    ) -> None:
        self._target = target
        self._context = context
        self._buffers = buffers
        self._textures = textures
        self._arguments: dict[int, tuple[Launch, dict[tuple[int, ...], bytes]]] = {}

    def bound(self, loaded: CudaProgram, plan: CasePlan) -> Bound:
        """Return a variant bound to a case; the result is kept.

        Raises:
            LaunchRefused: it lacks a kernel, or the device refuses it.
        """
        bound = loaded.bound.get(plan.case)
        if bound is None:
            kernels: dict[tuple[str, int], _Kernel] = {}
            bindings = Bindings(plan, lambda launch: self._call(loaded, plan, launch, kernels))
            variables = dict(self._variables(loaded, plan))
            every = (choice(one.binary, one.module) for one in (loaded, *loaded.others))
            chosen = [address for address in every if address is not None]
            surfaces = [(v, self._buffers.region(plan, v.buffer)) for v in surfaces_of(plan)]
            bound = Bound(bindings, variables, surfaces, loaded.binary.confined, chosen)
            loaded.bound[plan.case] = bound
        return bound

    def _call(
        self,
        loaded: CudaProgram,
        plan: CasePlan,
        launch: Launch,
        kernels: dict[tuple[str, int], _Kernel],
    ) -> BoundLaunch:
        key = (launch.kernel, launch.shared)
        if key not in kernels:
            kernels[key] = self._kernel(loaded, launch)
        kernel = kernels[key]
        arguments = self._packed(plan, launch, kernel.compiled)
        call = BoundLaunch(kernel.function, launch.grid, launch.block, launch.shared, arguments)
        return self._context.cooperative(call) if launch.cooperative else call

    def _kernel(self, loaded: CudaProgram, launch: Launch) -> _Kernel:
        name = identifier(launch.kernel)
        binary, module = loaded.holder(name)
        compiled = binary.kernels.get(name)
        if compiled is None:
            raise LaunchRefused(f"the compiled source holds no kernel {launch.kernel}")
        return _Kernel(compiled, self._context.function(module, compiled.symbol, launch.shared))

    def _packed(self, plan: CasePlan, launch: Launch, kernel: CompiledKernel) -> bytes:
        """Return the arguments of a launch in memory layout."""
        # A launch belongs to one case. It is kept so that its id() stays unique.
        if len(self._arguments) > _LAUNCHES:
            self._arguments.clear()
        _, packed = self._arguments.setdefault(id(launch), (launch, {}))
        if kernel.parameters not in packed:
            packed[kernel.parameters] = kernel.arguments(self._values(plan, launch))
        return packed[kernel.parameters]

    def _values(self, plan: CasePlan, launch: Launch) -> list[tuple[bytes, int]]:
        """Return bytes and alignment of each argument of a launch."""
        values = []
        for argument in launch.args:
            own = self._value(plan, argument)
            values.append((own, argument.align if isinstance(argument, Packed) else len(own)))
        return values

    def _value(self, plan: CasePlan, argument: Argument) -> bytes:
        """Return the bytes that a kernel gets for an argument."""
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
