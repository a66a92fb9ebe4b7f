"""Which searches the experiment is made of, and how far each of them is."""

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
        words: what tells ``gi-cuda evolve`` to do it.
        start: the kind whose winner of the same seed it starts from; "": from the reference.
    """

    words: tuple[str, ...]
    start: str = ""


_PAPER = ("--preset", "barracuda")

KINDS = {
    "source line": Kind(("--edits", "paper", *_PAPER)),
    "source full": Kind(("--edits", "full", *_PAPER)),
    "PTX": Kind(("--level", "ptx", *_PAPER)),
    "random source": Kind(("--edits", "full", "--preset", "random")),
    "random PTX": Kind(("--level", "ptx", "--preset", "random")),
    "PTX after source full": Kind(("--level", "ptx", *_PAPER), "source full"),
}
"""The searches that are compared."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One search of the experiment.

    Attributes:
        target: the target's name.
        kind: of :data:`KINDS`.
        seed: its seed.
        folder: where its run is, or will be.
    """

    target: str
    kind: str
    seed: int
    folder: Path

    @property
    def words(self) -> list[str]:
        """What tells ``gi-cuda evolve`` to do it."""
        kind = KINDS[self.kind]
        start = self.folder.with_name(_name(kind.start, self.seed))
        more = ["--from", str(start)] if kind.start else []
        return [*kind.words, *more, "--run", str(self.folder), "--seed", str(self.seed)]

    @property
    def done(self) -> bool:
        """Whether it has come to its end, the validation of its best individuals."""
        if not (self.folder / DATABASE).is_file():
            return False
        with Store(self.folder / DATABASE) as store:
            return store.get("champion", self) is not self

    @property
    def won(self) -> bool:
        """Whether it found something that holds on the held-out cases."""
        if not self.done:
            return False
        with Store(self.folder / DATABASE) as store:
            return store.get("champion") is not None


def cells(folder: Path, targets: Sequence[str], kinds: Sequence[str], seeds: int) -> Iterator[Cell]:
    """All searches; one seed of all kinds and targets before the next, so that whenever time is up
    all have had about as many."""
    for seed in range(1, seeds + 1):
        for target in targets:
            for kind in kinds:
                yield Cell(target, kind, seed, folder / target / _name(kind, seed))


def _name(kind: str, seed: int) -> str:
    return f"{kind.replace(' ', '-').lower()}-{seed}"
