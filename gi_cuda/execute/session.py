"""What the workers of one pool have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HUNG_STATUS = 86
"""Exit status of a worker whose launch could never end."""

CRASHED_STATUS = 87
"""Exit status of a worker whose launch did damage."""


@dataclass(frozen=True, slots=True)
class Session:
    """What every worker of a pool loads first.

    Attributes:
        target: path of the target's folder.
        backend: ``host`` or ``cuda``.
        cases: names of the cases they will be asked about.
        reference: folder with the reference's recorded outputs.
    """

    target: Path
    backend: str
    cases: tuple[str, ...]
    reference: Path
