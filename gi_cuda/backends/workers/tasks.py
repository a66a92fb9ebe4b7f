"""Tasks for a pool, and the results of tasks without an answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from gi_cuda.backends.protocol.requests import Request
from gi_cuda.results.measurement import Survival

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Lost:
    """Result of a task over which the worker died.

    Attributes:
        survival: how it ended: killed by a signal, or by our limit.
        message: its last message.
        suspect: number of the variant to blame, if the worker named one.
        signal: number of the signal that killed it; None if it exited by itself.
    """

    survival: Survival
    message: str
    suspect: int | None = None
    signal: int | None = None


class Wants(Enum):
    """A task's requirement on its worker."""

    ANY = auto()
    FRESH = auto()
    """A worker that never got a request, and gets no other one meanwhile."""
    FIRST = auto()
    """A fresh worker, which may get a few more requests of the same kind."""
    ALIKE = auto()
    """A worker that got only a few requests of the same kind; or a fresh one."""


@dataclass(frozen=True, slots=True)
class Task(Generic[Key]):
    """A request with the key under which its answer is returned.

    Attributes:
        wants: requirement on the worker.
    """

    key: Key
    request: Request
    wants: Wants = Wants.ANY

    @property
    def alone(self) -> bool:
        """Tell whether its worker gets no other request meanwhile."""
        return self.wants is not Wants.ANY


@dataclass(frozen=True, slots=True)
class Unanswered(Generic[Key]):
    """Result of a task whose device is no longer used. The task may be submitted again."""

    task: Task[Key]
