"""What a pool is asked, and how it says that there is no answer."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Task(Generic[Key]):
    """A request with the key that its answer comes under.

    Attributes:
        alone: whether it is for a fresh worker, which gets no other one.
    """

    key: Key
    request: Request
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Unanswered(Generic[Key]):
    """A task's device is not used any more; another one may have it."""

    task: Task[Key]
