"""Plan of the experiment: its searches, and the state of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of search.

    Attributes:
        words: options of ``gi-cuda evolve``.
        start: the kind whose winner of the same seed it starts from; "": from the reference.
    """

    words: tuple[str, ...]
    start: str = ""


_PAPER = ("--preset", "barracuda")

KINDS = {
    "source line": Kind(("--edits", "paper", *_PAPER)),
    "source full": Kind(("--edits", "full", *_PAPER)),
    "PTX": Kind(("--level", "ptx", *_PAPER)),
    "LLVM": Kind(("--level", "llvm", *_PAPER)),
    "random source": Kind(("--edits", "full", "--preset", "random")),
    "random PTX": Kind(("--level", "ptx", "--preset", "random")),
    "random LLVM": Kind(("--level", "llvm", "--preset", "random")),
    "PTX after source full": Kind(("--level", "ptx", *_PAPER), "source full"),
}
"""The searches that are compared."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One search of the experiment.

    Attributes:
        target: the target's name.
        kind: a key of :data:`KINDS`.
        seed: its seed.
        folder: the folder of its run.
    """

    target: str
    kind: str
    seed: int
    folder: Path

    @property
    def words(self) -> list[str]:
        """Return the options of ``gi-cuda evolve`` for this search."""
        kind = KINDS[self.kind]
        start = self.folder.with_name(_name(kind.start, self.seed))
        more = ["--from", str(start)] if kind.start else []
        return [*kind.words, *more, "--run", str(self.folder), "--seed", str(self.seed)]

    @property
    def done(self) -> bool:
        """Tell whether it is finished, including the validation of its best individuals."""
        if not (self.folder / DATABASE).is_file():
            return False
        with Store(self.folder / DATABASE) as store:
            return store.get("champion", self) is not self

    @property
    def won(self) -> bool:
        """Tell whether it found a winner that is confirmed on the held-out cases."""
        if not self.done:
            return False
        with Store(self.folder / DATABASE) as store:
            return store.get("champion") is not None


def cells(folder: Path, targets: Sequence[str], kinds: Sequence[str], seeds: int) -> Iterator[Cell]:
    """Yield all searches, ordered by seed, so that after an early end all kinds have similar
    numbers.
    """
    for seed in range(1, seeds + 1):
        for target in targets:
            for kind in kinds:
                yield Cell(target, kind, seed, folder / target / _name(kind, seed))


def _name(kind: str, seed: int) -> str:
    return f"{kind.replace(' ', '-').lower()}-{seed}"
