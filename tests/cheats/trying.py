"""Try cheats in all ways in which a variant is certified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gi_cuda.analyze.compare.comparison import compare
from gi_cuda.analyze.compare.contestants import Reader
from gi_cuda.analyze.finalists.winner import ChosenIndividual
from gi_cuda.analyze.validate.acceptance import Entry, accept
from gi_cuda.evaluate.checks.parameters.defaults import check_defaults
from gi_cuda.results.generation import Individual
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.subject import Subject, load_subject
from gi_cuda.upstream.steps import in_one, steps
from gi_cuda.upstream.submission import validate_steps
from tests.cheats import CHEATS, FOLDER, Cheat

GAIN = 1.5
"""Least speedup of a cheat that works."""


def certified(target: str, backend: str, folder: Path, *, transformed: bool = False) -> list[str]:
    """Return messages on the cheats of a target that are certified.

    Args:
        folder: for the run.
        transformed: try each cheat together with each transformation that the source is offered,
            instead of alone. Harmless cheats are left out, since a transformation may be faster.
    """
    cheats = [one for one in CHEATS if one.target == target and backend in one.backends]
    subject = load_subject(FOLDER / target, backend, edits="transforms" if transformed else "paper")
    if transformed:
        cheats = [other for one in cheats if not one.harmless for other in _with(one, subject)]
    with create_run(subject, folder, Plan("barracuda", SETTINGS, 1, 1, 2)) as run:
        found = [*searched(run, cheats), *validated(run, cheats), *compared(run, cheats)]
        return [*found, *patched(run, cheats)]


def _with(cheat: Cheat, subject: Subject) -> Iterator[Cheat]:
    """Yield a cheat with one transformation: the first and the last choice of each possible one."""
    view = subject.grammar.under(subject.read(cheat.genotype).configuration.macros)
    for rule in subject.grammar.rules:
        if rule.type.kind.transforms and rule.name in view.mutable:
            for choice in dict.fromkeys((rule.choices[0], rule.choices[-1])):
                genotype = f"{cheat.genotype} <{rule.name}><{choice}>"
                yield replace(cheat, genotype=genotype, trick=f"{cheat.trick}, {choice}")


def gains(cheat: Cheat, speed_up: SpeedUp | None) -> bool:
    """Tell whether a verdict accepts a cheat: it is called right and, if it is harmless, a gain.

    Args:
        speed_up: the certified speed-up; None if it is called wrong.
    """
    return speed_up is not None and (not cheat.harmless or speed_up.low > GAIN)


def searched(run: Run, cheats: list[Cheat]) -> Iterator[str]:
    """Return the cheats that would win a search."""
    evaluator = run.evaluator()
    batch = {ident: run.subject.read(one.genotype) for ident, one in enumerate(cheats, 1)}
    for ident, found in evaluator.evaluate(evaluator.prepare(batch)):
        cheat = cheats[ident - 1]
        won = found.selectable and found.ratio is not None and found.ratio < 1 / GAIN
        if not cheat.trains and (won if cheat.harmless else found.right):
            yield f"evolve: {cheat.trick}"


def validated(run: Run, cheats: list[Cheat]) -> Iterator[str]:
    """Return the cheats that a validation would accept, without a sanitizer's help."""
    entries = [Entry(one.trick, None, run.subject.read(one.genotype)) for one in cheats]
    tried = accept(run, entries, []).tried
    for cheat, one in zip(cheats, tried, strict=True):
        if gains(cheat, one.validation.overall):
            yield f"validate: {cheat.trick}"


def compared(run: Run, cheats: list[Cheat]) -> Iterator[str]:
    """Return the cheats that would win a comparison."""
    reader = Reader(run.source, run.folder / "imported", 1)
    contestants = [reader.read(one.genotype) for one in cheats]
    results = compare(run.tools, contestants, run.baseline).results
    for cheat, one in zip(cheats, results, strict=True):
        if gains(cheat, one.held_out):
            yield f"compare: {cheat.trick}"


def patched(run: Run, cheats: list[Cheat]) -> Iterator[str]:
    """Return the cheats of which a patch would be written."""
    parts = []
    for ident, cheat in enumerate(cheats, 1):
        genotype = run.subject.read(cheat.genotype)
        found = Individual(ident, 0, cheat.genotype, b"", None, "", ())
        changed = ChosenIndividual(found, genotype, None).changes(run.subject)
        parts += in_one(steps(run.source, changed, changed.all))
    own = check_defaults(run.source, run.tools.compiler).own
    _, *validations = validate_steps(run, parts, own)
    for cheat, validation in zip(cheats, validations, strict=True):
        if gains(cheat, validation.overall):
            yield f"patch: {cheat.trick}"
