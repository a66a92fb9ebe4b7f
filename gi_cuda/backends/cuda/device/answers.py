"""Looking on the device whether outputs are what is expected, or as good as that."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from gi_cuda.backends.cuda.device.memory import Memory, MemoryCheck, Region
from gi_cuda.backends.protocol.agreement import packed
from gi_cuda.backends.protocol.programs import Outputs
from gi_cuda.spec import Buffer
from gi_cuda.spec.oracles import Rules

MOST = 512 * 2**20
"""Bytes of copies besides the first ones that are kept from round to round. To take and give back
memory is dear: it waits for whoever opens the device."""

_SHARE = 16
"""No copy takes more than the free memory divided by this: other workers have copies as well."""


class Answers:
    """Copies on the device of what is expected.

    Args:
        memory: of the device.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._first: dict[tuple[str, str], tuple[Any, Any]] = {}
        self._others: OrderedDict[int, tuple[Any, Any]] = OrderedDict()

    def forget_old(self) -> None:
        """Free copies that are not the first ones and that nobody asked for lately, as far as there
        are too many. Nothing that looks at them may be under way."""
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
        """Checks that outputs are as expected; None where they have not even the size, or the
        device has no room for what is expected.

        What is expected first of a case, the reference's answers, is copied once, as long as it is
        the same object; anything else once until it is forgotten.

        Args:
            judged: the buffers that the oracle looks at, and where they lie.
            stored: makes of a buffer's values what stands in memory for them.
            rules: see :class:`TimedRun`. Addresses are compared bit for bit: as numbers they say
                nothing.
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
        """Address of a copy; with it the array is kept, so that no other has its number. None where
        there is no room for it."""
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
