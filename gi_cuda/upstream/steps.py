"""What goes upstream: the source as a patch leaves it, in one step or two, and applied by git."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.genome import Changed, Genotype, Setting
from gi_cuda.grammar import Source
from gi_cuda.spec import ParameterKind, Target
from gi_cuda.spec.shape import launch_words
from gi_cuda.spec.target import defaults
from gi_cuda.subject import Subject
from gi_cuda.subject.diffs import files_diff


@dataclass(frozen=True, slots=True)
class PatchStep:
    """One patch: from one state of the source to the next.

    Attributes:
        genotype: what the source does after it.
        changes: numbers of the changes that it makes, from 0.
        before, after: the source, in its files.
    """

    genotype: Genotype
    changes: tuple[int, ...]
    before: Source
    after: Source

    @property
    def changes_source(self) -> bool:
        """Tell whether there is anything to patch: options of the compiler change no file."""
        return self.before.files != self.after.files

    def diff(self, main: Path) -> str:
        """The step as a unified diff of all files of a source whose main one is at ``main``."""
        return files_diff(self.before.files, self.after.files, main)


def steps(subject: Subject, changed: Changed, chosen: Collection[int]) -> list[PatchStep]:
    """The configuration in one step, the edits in a second one on top of it.

    Args:
        chosen: the changes that are to be made. What does not change the source (edits that the
            configuration makes void) gives no step; options of the compiler are one where they are
            all there is.
    """
    settings = [at for at in sorted(chosen) if isinstance(changed.changes[at], Setting)]
    edits = [at for at in sorted(chosen) if at not in settings]
    found: list[PatchStep] = []
    before = subject.grammar.source
    for some, so_far in ((settings, settings), (edits, [*settings, *edits])):
        genotype = changed.having(so_far)
        after = subject.upstream(genotype)
        if after.files != before.files:
            found.append(PatchStep(genotype, tuple(some), before, after))
            before = after
    whole = changed.having(chosen)
    if not found and compiler_options(subject, whole):
        found.append(PatchStep(whole, tuple(sorted(chosen)), before, before))
    return found


def whole_patch(subject: Subject, genotype: Genotype) -> list[PatchStep]:
    """All that a genotype changes in the source as one step; none where that is nothing."""
    changed = Changed.of(genotype, subject.original, subject.order)
    return in_one(steps(subject, changed, changed.all))


def in_one(parts: list[PatchStep]) -> list[PatchStep]:
    """Several steps as one."""
    if len(parts) < 2:
        return parts
    numbers = tuple(at for part in parts for at in part.changes)
    return [PatchStep(parts[-1].genotype, numbers, parts[0].before, parts[-1].after)]


_TOLD = re.compile(r"[1-9]\d+")

Settings = frozenset[tuple[str, str]]
"""Pairs of a parameter's value without and with a patch, as a program prints them."""


def settings_of(target: Target, step: PatchStep) -> Settings:
    """Return the values of the parameters that a patch changes: whole numbers from 10 on, such as
    a block's size. Smaller ones stand for too much else in an output: ``0 errors``."""
    usual, changed = defaults(target), step.genotype.configuration.changed
    pairs = ((str(usual[name]), str(value)) for name, value in changed.items())
    return frozenset(pair for pair in pairs if all(map(_TOLD.fullmatch, pair)))


def compiler_options(subject: Subject, genotype: Genotype) -> list[str]:
    """Options of the compiler that a genotype adds to those of the reference."""
    usual = subject.options(subject.original.configuration)
    return [one for one in subject.options(genotype.configuration) if one not in usual]


def elsewhere(subject: Subject, genotype: Genotype, given: Collection[str] = ()) -> list[str]:
    """Changed values that are not in the source, in words: compiler options, macros that come from
    the build, launch parameters of which the source knows nothing, and launches that the source
    does not have: "launch k with grid.x = ceil(old grid.x / 4)".

    Args:
        given: the macros that come from the build.
    """
    configuration = genotype.configuration
    words = [f"compile with {option}" for option in compiler_options(subject, genotype)]
    for name, value in configuration.changed.items():
        if subject.kinds[name] is ParameterKind.OPTION:
            continue
        if name in given:
            off = subject.kinds[name] is ParameterKind.FLAG and not value
            words.append(f"compile without -D{name}" if off else f"compile with -D{name}={value}")
        elif name in subject.launch_only:
            words.append(f"launch with {name} = {value}")
    expansions = subject.expansions(genotype)
    shape = subject.parsed.shape(expansions)
    unknown = subject.parsed.unknown_launches(expansions)
    return [*words, *(launch_words(kernel, shape) for kernel in unknown)]
