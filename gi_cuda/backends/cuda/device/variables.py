"""What launches would leave to later ones in the variables of a module."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from gi_cuda.backends.compile.elf import Elf, ElfSymbol
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.compile.cubin import enclosing, name_parts, owner
from gi_cuda.backends.cuda.device.context import MODULES, Context
from gi_cuda.backends.cuda.device.memory import Memory, Region
from gi_cuda.backends.protocol.device import LaunchRefused

_ALL = ""
"""Stands for the variant where a variable lies in no variant's namespace: all share it."""


class Variables:
    """The variables that code may write to, as they were when their module was loaded.

    Args:
        context: the worker's.
        memory: of the device.
    """

    def __init__(self, context: Context, memory: Memory) -> None:
        self._context = context
        self._memory = memory
        self._modules: OrderedDict[int, tuple[Any, dict[str, list[Region]]]] = OrderedDict()

    def of(self, binary: CudaBinary, module: Any) -> list[Region]:
        """Those of a variant, to be restored before every run. To be asked for whenever its module
        is, and before the variant runs for the first time.

        Raises:
            LaunchRefused: the driver does not know one of them, or there is no room for a copy.
        """
        # The module is kept with them: one that was loaded anew has another memory.
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
    """The symbols of each variant's variables in a cubin, and whether they begin with zeros.

    Args:
        number, written: of the file; another one may come in its place.
    """
    elf = Elf(path.read_bytes())
    found: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for symbol in _written(elf):
        ident = owner(name_parts(enclosing(symbol.name)))
        zero = not elf.initial(symbol).strip(b"\0")
        found[_ALL if ident is None else f"v{ident}"].append((symbol.name, zero))
    return dict(found)


def _written(elf: Elf) -> Iterator[ElfSymbol]:
    """The variables that code may write to."""
    for symbol in elf.symbols:
        if not symbol.is_variable or not 0 < symbol.section < len(elf.sections):
            continue
        # What counts iterations does so from case to case.
        counter = name_parts(symbol.name)[-1:] == ("gi_loop_most",)
        if symbol.size and elf.sections[symbol.section].writable and not counter:
            yield symbol
