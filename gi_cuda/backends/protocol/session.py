"""Data that all workers of one pool share."""

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
        number: the number by which users choose it.
        words: its name for users; "" if there is only one.
        environment: environment variables with which a process sees this device only.
    """

    number: int = 0
    words: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Session:
    """The data that every worker of a pool loads first.

    Attributes:
        target: the target.
        backend: ``host`` or ``cuda``.
        cases: names of the cases that requests refer to.
        reference: folder with the reference's recorded outputs.
        device: device for work that is done once, on one device only.
        sample: number of threads, about, of the sample of blocks that run in each launch; 0: all
            blocks run. Outputs are those of the sample, so they say nothing about variants with
            other launch configurations. Only the host back end supports this.
        isolated: whether each request that runs a variant gets a process of its own, which can read
            no files but code and cannot communicate, as far as the machine supports this.
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
    """Return the message of a dying worker: the reason and, if known, the guilty variant."""
    text = message if suspect is None else f"suspect {suspect}\n{message}"
    return text.encode()[:1000]


def understood(words: str) -> tuple[str, int | None]:
    """Return message and suspect (a variant's number, or None) from a dying worker's message."""
    found = _SUSPECT.match(words)
    return (words[found.end() :], int(found[1])) if found else (words, None)
