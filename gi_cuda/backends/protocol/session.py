"""What the workers of one pool have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from gi_cuda.spec import Target

HUNG_STATUS = 86
"""Exit status of a worker whose launch could never end."""

CRASHED_STATUS = 87
"""Exit status of a worker whose launch did damage."""


@dataclass(frozen=True, slots=True)
class DeviceId:
    """One device of this machine.

    Attributes:
        number: that users choose it by.
        words: its name for people; "" where there is no other.
        environment: variables with which a process sees this one alone.
    """

    number: int = 0
    words: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Session:
    """What every worker of a pool loads first.

    Attributes:
        target: what variants are of.
        backend: ``host`` or ``cuda``.
        cases: names of the cases they will be asked about.
        reference: folder with the reference's recorded outputs.
        device: where what is run once, on no other one, runs.
        sample: of each launch only a sample of the blocks runs, with about so many threads
            together; 0: all. Answers are those of the sample, so that they tell nothing of a
            variant under another launch. For the host back end alone.
        isolated: whether each request that runs a variant has a process of its own, which reads no
            files but code and reaches nobody, as far as the machine allows.
    """

    target: Target
    backend: str
    cases: tuple[str, ...]
    reference: Path
    device: DeviceId = DeviceId()
    _: KW_ONLY
    sample: int = 0
    isolated: bool = False


_SUSPECT = re.compile(r"suspect (\d+)\n")


def last_words(message: str, suspect: int | None) -> bytes:
    """What a worker says when it dies: why, and over which variant, if it knows."""
    text = message if suspect is None else f"suspect {suspect}\n{message}"
    return text.encode()[:1000]


def understood(words: str) -> tuple[str, int | None]:
    """Message and suspect of last words."""
    found = _SUSPECT.match(words)
    return (words[found.end() :], int(found[1])) if found else (words, None)
