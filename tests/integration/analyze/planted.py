"""Runs on the small target with planted winners, and a search that starts from one."""

from __future__ import annotations

import shutil
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from gi_cuda.analyze.finalists.winner import Winner
from gi_cuda.cli.search import evolve
from gi_cuda.genome import Delete, Genotype, Insert, Replace
from gi_cuda.grammar import RuleType
from gi_cuda.results.evaluation import Evaluation, Validation
from gi_cuda.results.generation import Individual, Phases, Tally
from gi_cuda.results.measurement import Survival
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.store import Tabued
from gi_cuda.subject import Subject

SCALE = Path(__file__).parents[2] / "targets" / "scale"
SMALL = replace(SETTINGS, population=4, generations=1)
WINNER = 7

SOURCE_WINNER = "BLOCK=128 CHECKED=1 <_kernel.cu_27>"
"""It has fewer instructions, other launches and another flag."""


class Searched(NamedTuple):
    """A search that started from a winner.

    Attributes:
        folder: folder of its run.
        start: folder of the winner's run, which is deleted: the new run has all it needs.
        said: output of the search.
    """

    folder: Path
    start: Path
    said: str


def a_run(subject: Subject, folder: Path, genotype: str) -> Path:
    """Make a run whose only individual is its validated winner."""
    with create_run(subject, folder, Plan("barracuda", SMALL, 1, 1, 2)) as run:
        one = Individual(WINNER, 0, genotype, b"winner", None, "random", ())
        run.store.add_generation(0, Tally(1), [one], Tabued())
        evaluation = Evaluation(True, Survival.NORMAL, 0.0, Verdict.FASTER, 0.5, 0.4, 0.6)
        run.store.add_evaluation(WINNER, evaluation)
        run.store.add_phases(0, Phases(wall=2.0), finished=True)
        speed_up = SpeedUp(2.0, 1.9, 2.1)
        validation = Validation(True, "", speed_up, {"held-out": speed_up})
        run.store.put(champion=asdict(Winner(WINNER, genotype, validation)))
    return folder


def statements(subject: Subject) -> list[tuple[str, str]]:
    """Return rule and text of the instructions that may change, in order."""
    grammar = subject.grammar
    whole = [rule.name for rule in grammar.rules if rule.type is RuleType.STATEMENT]
    return [(name, " ".join(grammar.text(name).split())) for name in whole]


def planted(subject: Subject) -> Genotype:
    """Return a winner that no longer compares the unused sum, which saves much time.

    It also copies one instruction and moves another, without effect.
    """
    grammar = subject.grammar
    (compared,) = (
        rule.name
        for rule in grammar.rules
        if rule.type is RuleType.B32
        and "123456789" in grammar.source.text.split("\n")[rule.line - 1]
    )
    found = statements(subject)
    at = next(n for n, (_, text) in enumerate(found) if text.startswith("mov") and "tile" in text)
    (shift, shifted), (tile, _) = found[at - 1 : at + 1]
    assert shifted.startswith("shl")
    *_, wide = (name for name, text in found if text.startswith("mul.wide"))
    first = grammar.donors(compared)[0]
    edits = (Replace(compared, first), Insert(wide, shift), Insert(shift, tile), Delete(tile))
    return Genotype(subject.original.configuration, edits)


def begin(folder: Path, **options: object) -> None:
    evolve.command(
        SCALE,
        run=folder,
        **{"backend": "cuda", "level": "ptx", "population": 4, "generations": 1, **options},  # type: ignore[arg-type]
    )


def search_from(source: Path, folder: Path) -> Searched:
    """Begin a search on PTX from a copy of a run on the source."""
    start = shutil.copytree(source, folder / "source")
    with redirect_stdout(StringIO()) as said:
        begin(folder / "ptx", start=start)
    shutil.rmtree(start)
    return Searched(folder / "ptx", start, said.getvalue())
