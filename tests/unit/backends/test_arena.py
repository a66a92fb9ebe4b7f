"""Addresses and shadow memory of buffers in rehearsals, on a driver that records calls."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory_layout import stretch
from gi_cuda.backends.cuda.device.memory_layout.arena import BEFORE, UNIT, Arena
from gi_cuda.backends.cuda.ptx.addresses import BASE, GRANULE, SHADOW, SIZE
from gi_cuda.backends.cuda.ptx.harmless import CONTROL
from gi_cuda.backends.protocol.device import LaunchRefused

TOTAL = 40 * 2**30


class Driver:
    """Keeps what is mapped, as begins with sizes and handles, and what each byte was set to last.

    Attributes:
        taken: addresses that the system gives to nobody.
        full: whether it has no more memory but for small pieces.
    """

    def __init__(self, taken: int = 0) -> None:
        self.taken = taken
        self.full = False
        self.sizes: dict[int, int] = {}
        self.mapped: dict[int, tuple[int, int]] = {}
        self.memory: dict[int, list[tuple[int, int, int]]] = {}

    def reserve(self, begin: Any, size: int, _: int, wanted: int, __: int) -> int:
        begin._obj.value = wanted + (1 << 46 if wanted == self.taken else 0)
        return 0

    def create(self, handle: Any, size: int, *_: Any) -> int:
        if self.full and size >= UNIT:
            return 2
        handle._obj.value = 1 + len(self.memory)
        self.sizes[handle._obj.value], self.memory[handle._obj.value] = size, []
        return 0

    def release(self, handle: int) -> int:
        del self.sizes[handle]
        return 0

    def map(self, begin: int, size: int, _: int, handle: int, __: int) -> int:
        assert size == self.sizes[handle]
        assert all(begin + size <= at or at + n <= begin for at, (n, _) in self.mapped.items())
        self.mapped[begin] = size, handle
        return 0

    def unmap(self, begin: int, size: int) -> int:
        assert self.mapped.pop(begin)[0] == size
        return 0

    def allow(self, begin: int, size: int, *_: Any) -> int:
        assert self.behind(begin)
        assert self.behind(begin + size - 1)
        return 0

    def memset_d8_async(self, begin: int, value: int, count: int, _: Any) -> None:
        at, (size, handle) = self.behind(begin)
        assert count > 0
        assert begin + count <= at + size
        self.memory[handle].append((begin - at, begin - at + count, value))

    def mem_get_info(self) -> tuple[int, int]:
        return TOTAL, TOTAL

    def behind(self, address: int) -> tuple[int, tuple[int, int]]:
        """Return the mapping that contains an address."""
        return next((at, one) for at, one in self.mapped.items() if at <= address < at + one[0])

    def held(self, address: int) -> int:
        """The byte at an address."""
        at, (_, handle) = self.behind(address)
        place = address - at
        return next(v for b, e, v in reversed(self.memory[handle]) if b <= place < e)


@pytest.fixture
def using(monkeypatch: pytest.MonkeyPatch) -> Callable[[Driver], Any]:
    """A worker's context on a driver."""

    def context(driver: Driver) -> Any:
        calls = SimpleNamespace(
            cuMemAddressReserve=_Call(driver.reserve),
            cuMemCreate=_Call(driver.create),
            cuMemRelease=_Call(driver.release),
            cuMemMap=_Call(driver.map),
            cuMemUnmap=_Call(driver.unmap),
            cuMemSetAccess=_Call(driver.allow),
        )
        monkeypatch.setattr(stretch.ctypes, "CDLL", lambda _: calls)
        monkeypatch.setattr(stretch, "meaning", lambda *_: "no memory")
        return SimpleNamespace(drv=driver, stream=None)

    return context


class _Call:
    """A call to which types of arguments can be told."""

    def __init__(self, call: Callable[..., int]) -> None:
        self._call = call
        self.argtypes: Any = ()

    def __call__(self, *arguments: Any) -> int:
        return self._call(*arguments)


def shadow_of(address: int) -> int:
    return SHADOW + (address - BASE) // GRANULE


def test_all_of_the_window_has_a_shadow_and_buffers_are_let_in(
    using: Callable[[Driver], Context],
) -> None:
    driver = Driver()
    arena = Arena(using(driver))
    arena.extend()
    assert arena.allocate("control", 65536) == CONTROL
    assert arena.shadow.there
    small, large = arena.allocate("small", 65536), arena.allocate("large", 3 * UNIT)
    arena.shadow.let_in(small + 4096, 1001)
    arena.shadow.let_in(large, 3 * UNIT)
    for address in range(BASE, BASE + SIZE, UNIT // 2):
        assert driver.behind(address)
        inside = large <= address < large + 3 * UNIT
        assert driver.held(shadow_of(address)) == GRANULE * inside
    held = [driver.held(shadow_of(small + 4096 + at * GRANULE)) for at in range(-1, 34)]
    assert held == [0, *[GRANULE] * (1001 // GRANULE), 1001 % GRANULE, 0, 0]
    # Next to nothing is behind it: the piece that is zero, and a byte for each 32 of the arena's.
    window = sum(driver.sizes[h] for h in {h for at, (_, h) in driver.mapped.items() if at >= BASE})
    whole = sum(driver.sizes.values())
    assert whole - window == window // GRANULE


def test_what_lies_behind_the_window_has_no_shadow(using: Callable[[Driver], Context]) -> None:
    driver = Driver()
    arena = Arena(using(driver))
    most = SIZE - BEFORE
    across = arena.allocate("across", most - UNIT), arena.allocate("more", 2 * UNIT)
    beyond = arena.allocate("beyond", UNIT)
    for address, size in zip((*across, beyond), (most - UNIT, 2 * UNIT, UNIT), strict=True):
        arena.shadow.let_in(address, size)
    assert driver.held(SHADOW + SIZE // GRANULE - 1) == GRANULE
    assert max(at + size for at, (size, _) in driver.mapped.items() if at < BASE) <= (
        SHADOW + SIZE // GRANULE
    )


@pytest.mark.parametrize("taken", [BASE, SHADOW])
def test_where_the_system_has_something_buffers_lie_elsewhere(
    using: Callable[[Driver], Context], taken: int
) -> None:
    driver = Driver(taken)
    arena = Arena(using(driver))
    arena.extend()
    buffer = arena.allocate("buffer", 65536)
    assert driver.behind(buffer)
    assert arena.shadow.there == (taken != SHADOW)
    assert (buffer == CONTROL) == (taken != BASE)
    arena.shadow.let_in(buffer, 1001)  # nothing, where there is none


def test_what_the_device_has_no_room_for_leaves_all_as_it_was(
    using: Callable[[Driver], Context],
) -> None:
    driver = Driver()
    arena = Arena(using(driver))
    arena.extend()
    before = dict(driver.mapped), dict(driver.sizes)
    driver.full = True
    with pytest.raises(LaunchRefused, match="for much"):
        arena.allocate("much", 2 * UNIT)
    assert (driver.mapped, driver.sizes) == before
    driver.full = False
    assert driver.behind(arena.allocate("much", 2 * UNIT))
