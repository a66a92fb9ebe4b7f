"""Launches as a device's own calls, made once and then launched many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from gi_cuda.backends.protocol.requests import CasePlan
from gi_cuda.spec import Launch

Call = TypeVar("Call")


class Bindings(Generic[Call]):
    """The launches of a plan, bound; those that take a redrawn scalar are bound anew for each draw.

    Args:
        plan: how a variant runs a case.
        bind: makes the device's call of a launch whose arguments are all buffers and values.
    """

    def __init__(self, plan: CasePlan, bind: Callable[[Launch], Call]) -> None:
        self._bind = bind
        self._draw = plan.draw
        self._calls = [bind(launch.at(plan.draw)) for launch in plan.launches]
        self._redrawn = [(i, one) for i, one in enumerate(plan.launches) if one.redrawn]

    def calls(self, draw: int) -> Sequence[Call]:
        """The calls for one draw; valid until another is asked for."""
        if draw != self._draw:
            for index, launch in self._redrawn:
                self._calls[index] = self._bind(launch.at(draw))
            self._draw = draw
        return self._calls
