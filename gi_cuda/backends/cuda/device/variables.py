"""Restore variables of a module, so that launches leave nothing to later ones."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gi_cuda.backends.compile.elf import Elf, ElfSymbol
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.compile.cubin import enclosing, name_parts, owner
from gi_cuda.backends.cuda.device.context import MODULES, Context
from gi_cuda.backends.cuda.device.memory_layout.memory import Memory, Region
from gi_cuda.backends.protocol.device import LaunchRefused

_ALL = ""
"""Key for variables that are in no variant's namespace: all variants share them."""

_COUNTER = "gi_loop_most"
"""The variable in which an instrumented variant counts."""


class Variables:
    """The variables that code may write, with their contents when the module was loaded.

    Args:
        context: the worker's context.
        memory: the device's memory.
    """

    def __init__(self, context: Context, memory: Memory) -> None:
        self._context = context
        self._memory = memory
        self._modules: OrderedDict[int, tuple[Any, dict[str, list[Region]]]] = OrderedDict()

    def of(self, binary: CudaBinary, module: Any) -> list[Region]:
        """Return the variables of a variant, to be restored before every run.

        Call this whenever the module is loaded, and before the variant's first run.

        Raises:
            LaunchRefused: the driver does not know a variable, or there is too little memory for a
                copy.
        """
        # Keep the module, so that its id() stays unique: a reloaded module has other memory.
        _, known = self._modules.setdefault(id(module), (module, {}))
        self._modules.move_to_end(id(module))
        while len(self._modules) > MODULES:
            self._modules.popitem(last=False)
        stat = binary.path.stat()
        places = _places(binary.path, stat.st_ino, stat.st_mtime_ns)
        for variant in (_ALL, binary.namespace):
            if variant not in known:
                symbols = places.get(variant, ())
                known[variant] = [self._region(module, name, zero) for name, zero in symbols]
        return known[_ALL] + known[binary.namespace]

    def _region(self, module: Any, name: str, zero: bool) -> Region:
        try:
            address, size = module.get_global(name)
        except self._context.drv.Error as error:
            self._context.check()
            raise LaunchRefused(f"the variable {name} cannot be restored: {error}") from None
        if zero:
            return Region(name, int(address), size, False, zero=True)
        return self._memory.kept(name, int(address), size)


@lru_cache(maxsize=64)
def _places(path: Path, number: int, written: int) -> dict[str, list[tuple[str, bool]]]:
    """Return the symbols of each variant's variables, and whether they are initially zero.

    Args:
        number, written: inode number and modification time, since the file may be replaced.
    """
    elf = Elf(path.read_bytes())
    found: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for symbol in _written(elf):
        ident = owner(name_parts(enclosing(symbol.name)))
        zero = not elf.initial(symbol).strip(b"\0")
        found[_ALL if ident is None else f"v{ident}"].append((symbol.name, zero))
    return dict(found)


def _written(elf: Elf) -> Iterator[ElfSymbol]:
    """Yield the variables that code may write."""
    for symbol in elf.symbols:
        if not symbol.is_variable or not 0 < symbol.section < len(elf.sections):
            continue
        # Counters of iterations are not reset between cases.
        counts = name_parts(symbol.name)[-1:] == (_COUNTER,)
        if symbol.size and elf.sections[symbol.section].writable and not counts:
            yield symbol


def choice(binary: CudaBinary, module: Any) -> int | None:
    """Return the address of a schema's selecting variable; None if it is no schema."""
    symbol = binary.variables.get("gi_chosen")
    return None if binary.chosen is None or symbol is None else int(module.get_global(symbol)[0])


@contextmanager
def counter(
    context: Context, binary: CudaBinary, module: Any, loops: int
) -> Iterator[Callable[[], Sequence[int]]]:
    """Give, inside the context, a function that returns the largest iteration count of each loop.

    Args:
        binary, module: an instrumented variant, which runs in the context.
        loops: number of loops.
    """
    symbol = binary.variables.get(_COUNTER)
    if symbol is None:
        # The compiler has removed all loops.
        yield lambda: [0] * loops
        return
    address, room = module.get_global(symbol)
    context.drv.memset_d32(int(address), 0, room // 4)

    def most() -> Sequence[int]:
        counts = np.zeros(max(loops, room // 4), np.uint32)
        context.drv.memcpy_dtoh(counts[: room // 4], address)
        return [int(count) for count in counts[:loops]]

    yield most
