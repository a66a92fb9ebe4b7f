"""Variants that are faster and wrong, or no faster at all: none of them may be certified.

A target of cheats is a folder here. Its source has the parameter ``CHEAT``, which is 0 in what its
author wrote and a number of its own for each trick, so that a trick may be any text. One that an
edit makes is given as a genotype. See ``CHEATS``; ``test_cheats.py`` tries them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Cheat:
    """A trick.

    Attributes:
        target: the folder that has it.
        genotype: in notation.
        trick: what it does, in words.
        trains: whether its answers are right on all train cases, so that it takes others to tell.
    """

    target: str
    genotype: str
    trick: str
    trains: bool = False


CHEATS = (Cheat("memo", "CHEAT=1", "a table that an earlier launch left is not made again"),)


def targets() -> list[str]:
    """The folders that cheats are in."""
    return list(dict.fromkeys(one.target for one in CHEATS))
