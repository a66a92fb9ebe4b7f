"""What a pool is asked, and how it says that there is no answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from gi_cuda.backends.protocol.requests import Request
from gi_cuda.results.measurement import Survival

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker died over a request: how (a signal or our own limit) and what it said last.

    Attributes:
        suspect: number of the variant that it died over, where it could tell.
        signal: that ended it; None where it ended itself.
    """

    survival: Survival
    message: str
    suspect: int | None = None
    signal: int | None = None


class Wants(Enum):
    """Which worker a request is for."""

    ANY = auto()
    FRESH = auto()
    """One that was never asked anything, and is asked nothing else meanwhile."""
    FIRST = auto()
    """The same, which may be asked a few more that are of one kind with this."""
    ALIKE = auto()
    """One that was asked nothing but a few requests of one kind, the last one of these; or a fresh
    one."""


@dataclass(frozen=True, slots=True)
class Task(Generic[Key]):
    """A request with the key that its answer comes under.

    Attributes:
        wants: which worker it is for.
    """

    key: Key
    request: Request
    wants: Wants = Wants.ANY

    @property
    def alone(self) -> bool:
        """Whether its worker is asked nothing else meanwhile."""
        return self.wants is not Wants.ANY


@dataclass(frozen=True, slots=True)
class Unanswered(Generic[Key]):
    """A task's device is not used any more; another one may have it."""

    task: Task[Key]
