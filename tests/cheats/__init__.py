"""Cheats: variants that are faster but wrong, or not faster at all. None of them may be certified.

Each folder here is a target. Its source has the parameter ``CHEAT``, which is 0 in the original and
has another value for each trick; a trick may be any text. A trick that an edit makes is given as a
genotype. See ``CHEATS``; ``test_cheats.py`` tries them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gi_cuda import BACKENDS

FOLDER = Path(__file__).parent

HOST = ("host",)


@dataclass(frozen=True, slots=True)
class Cheat:
    """A cheat.

    Attributes:
        target: the folder that has it.
        genotype: in notation.
        trick: what it does, in words.
        backends: back ends on which it is a cheat.
        harmless: True if its answers stay right when the trick fails, so that it is just as fast as
            the reference. All others are wrong.
        trains: True if its answers are right on all train cases.
    """

    target: str
    genotype: str
    trick: str
    backends: tuple[str, ...] = BACKENDS
    harmless: bool = False
    trains: bool = False


CHEATS = (
    Cheat(
        "memo", "CHEAT=1", "a table that an earlier launch left is not made again", harmless=True
    ),
    Cheat("cache", "CHEAT=1", "a cache that is filled by the first launch", harmless=True),
    Cheat("cache", "CHEAT=2", "a cache in static variables of a function", harmless=True),
    Cheat(
        "cache", "CHEAT=3", "a cache in a static variable of a template's instance", harmless=True
    ),
    Cheat("cache", "CHEAT=4", "work is done on the first launch only", harmless=True),
    Cheat("cache", "CHEAT=5", "work is done on every eighth launch", harmless=True),
    Cheat("cache", "CHEAT=6", "the clock says whether work is done"),
    Cheat("scratch", "CHEAT=1", "scratch memory with a mark is taken for done", harmless=True),
    Cheat(
        "scratch",
        "CHEAT=2",
        "scratch memory that holds something likely is taken for done",
        harmless=True,
    ),
    Cheat(
        "scratch", "CHEAT=3", "outputs that hold something likely are taken for done", harmless=True
    ),
    Cheat("scratch", "CHEAT=4", "outputs are added to that nobody set"),
    Cheat("scratch", "CHEAT=5", "half of the sum is left out"),
    Cheat("scratch", "CHEAT=6", "inputs are written to, to be known again"),
    Cheat("scratch", "CHEAT=7", "writes behind the output"),
    Cheat("draws", "CHEAT=1", "work is done in the first draw only"),
    Cheat("draws", "CHEAT=2", "work is done in every fourth draw"),
    Cheat("draws", "CHEAT=3", "an answer that depends on no seed"),
    Cheat("locals", "CHEAT=1", "an array on the stack that happens to be zero", HOST),
    Cheat("locals", "CHEAT=2", "a sum that begins with what the register holds", HOST),
    Cheat("locals", "CHEAT=3", "a flag that is never cleared", HOST),
    Cheat("locals", "CHEAT=4", "the first thread sets an array on the stack for all", HOST),
    Cheat(
        "locals", "CHEAT=5", "a table on the stack that the thread before made", HOST, harmless=True
    ),
    Cheat("shared", "CHEAT=1", "the first block fills the shared memory of all"),
    Cheat("shared", "CHEAT=2", "the first block fills the dynamic shared memory of all"),
    Cheat(
        "shared",
        "CHEAT=3",
        "shared memory that holds something likely is taken for filled",
        harmless=True,
    ),
    Cheat("shared", "CHEAT=4", "shared memory is added to that nobody set"),
    Cheat("shared", "CHEAT=5", "the first block's table lies behind an array, for all", HOST),
    Cheat("shared", "CHEAT=6", "the first block fills what a template shares, for all"),
    Cheat("sizes", "CHEAT=1", "the window of the train case as a constant", trains=True),
    Cheat("sizes", "CHEAT=2", "the tail is left out", trains=True),
    Cheat("sizes", "CHEAT=3", "the size of the train case as a constant", trains=True),
    Cheat("sizes", "CHEAT=4", "half of the blocks are not launched"),
    Cheat("sizes", "CHEAT=5", "a quarter of the inputs stands for all"),
    Cheat("sizes", "CHEAT=6", "the answer of the train case as a constant", trains=True),
    Cheat("answers", "CHEAT=1", "the second kernel does nothing"),
    Cheat("answers", "CHEAT=2", "one of two outputs is not written"),
    Cheat("answers", "CHEAT=3", "NaN in place of answers, before an oracle that it gets past"),
    Cheat("answers", "CHEAT=4", "NaN in place of every fourth answer"),
    Cheat("answers", "CHEAT=5", "what an answer was before is left there"),
    Cheat("answers", "CHEAT=6", "a launch is left out"),
    Cheat("answers", "CHEAT=7", "an eighth of the sum, and zero in place of some answers"),
    Cheat(
        "answers",
        "CHEAT=8",
        "zero in place of an input that matters less than is allowed",
        trains=True,
    ),
)


def targets(backend: str) -> list[str]:
    """Return the folders that have cheats of a back end."""
    return list(dict.fromkeys(one.target for one in CHEATS if backend in one.backends))
