"""Compare outputs with expected ones on the device."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from gi_cuda.backends.cuda.device.memory_layout.memory import Memory, MemoryCheck, Region
from gi_cuda.backends.protocol.agreement import packed
from gi_cuda.backends.protocol.programs import Outputs
from gi_cuda.spec import Buffer
from gi_cuda.spec.oracles import Rules

MOST = 512 * 2**20
"""Bytes of further copies that are kept from round to round. Allocating and freeing device memory
is expensive: it waits for processes that open the device."""

_SHARE = 16
"""A copy takes at most the free memory divided by this: other workers have copies as well."""


class Answers:
    """Copies of expected outputs on the device.

    Args:
        memory: the device's memory.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._first: dict[tuple[str, str], tuple[Any, Any]] = {}
        self._others: OrderedDict[int, tuple[Any, Any]] = OrderedDict()

    def forget_old(self) -> None:
        """Free the least recently used further copies if there are too many. None may be in use."""
        size = sum(wanted.nbytes for wanted, _ in self._others.values())
        while size > MOST:
            size -= self._others.popitem(last=False)[1][0].nbytes

    def checks(
        self,
        case: str,
        judged: Iterable[tuple[Buffer, Region]],
        expected: Outputs,
        stored: Callable[[Buffer, Any], Any],
        rules: Rules | None = None,
    ) -> list[MemoryCheck] | None:
        """Return checks that outputs are as expected.

        None if an output has another size, or the device has too little memory for the expected
        ones. The first expected outputs of a case, the reference's, are copied once, as long as
        they are the same object. Others are copied once until they are dropped.

        Args:
            judged: the buffers that the oracle judges, with their memory.
            stored: converts a buffer's values to their form in memory.
            rules: see :class:`TimedRun`. Addresses are always compared bit for bit, since they mean
                nothing as numbers.
        """
        checks = []
        for buffer, region in judged:
            wanted = expected[buffer.name]
            if wanted.nbytes != region.size:
                return None
            copy = self._copy((case, buffer.name), wanted, partial(stored, buffer))
            if copy is None:
                return None
            whole = MemoryCheck(region.address, region.size, copy)
            if rules is None or buffer.addresses:
                checks.append(whole)
            else:
                allowed = [packed(rule, region.size) for rule in rules[buffer.name]]
                checks += [replace(whole, rule=rule) for rule in allowed]
        return checks

    def _copy(self, key: tuple[str, str], wanted: Any, stored: Callable[[Any], Any]) -> int | None:
        """Return the address of a copy; None if memory is lacking.

        The array is kept with the copy, so that its id() stays unique.
        """
        first = self._first.get(key)
        if first is not None and first[0] is wanted:
            return int(first[1])
        if id(wanted) not in self._others:
            if not self._memory.has_room(_SHARE * wanted.nbytes):
                return None
            copied = (wanted, self._uploaded(key, stored(wanted)))
            if first is None:
                self._first[key] = copied
                return int(copied[1])
            self._others[id(wanted)] = copied
        self._others.move_to_end(id(wanted))
        return int(self._others[id(wanted)][1])

    def _uploaded(self, key: tuple[str, str], wanted: Any) -> Any:
        return self._memory.upload(f"the expected {key[1]}", wanted)
