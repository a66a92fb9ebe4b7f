"""Split a genotype into patches of the source: one for the configuration, one for the edits."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.genome import Changed, Genotype, Setting
from gi_cuda.grammar import Source
from gi_cuda.spec import ParameterKind, Target
from gi_cuda.spec.launching.shape import launch_words
from gi_cuda.spec.target import defaults
from gi_cuda.subject import Subject
from gi_cuda.subject.diffs import files_diff


@dataclass(frozen=True, slots=True)
class PatchStep:
    """One patch: from one state of the source to the next.

    Attributes:
        genotype: genotype of the source after the patch.
        changes: numbers of the changes that the patch makes, from 0.
        before, after: the source before and after the patch.
    """

    genotype: Genotype
    changes: tuple[int, ...]
    before: Source
    after: Source

    @property
    def changes_source(self) -> bool:
        """Tell whether the patch changes a file; compiler options alone change none."""
        return self.before.files != self.after.files

    def diff(self, main: Path) -> str:
        """Return the unified diff of all files of the source; ``main`` is its main file's path."""
        return files_diff(self.before.files, self.after.files, main)


def steps(subject: Subject, changed: Changed, chosen: Collection[int]) -> list[PatchStep]:
    """Split changes into patch steps: first the configuration, then the edits on top of it.

    Changes that leave the source as it is, such as edits that the configuration makes void, give no
    step. If only compiler options change, they are one step.

    Args:
        subject: the source that is patched.
        changed: all changes of a genotype.
        chosen: numbers of the changes to make.
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
    """Return one step with all changes of a genotype; an empty list if it changes nothing."""
    changed = Changed.of(genotype, subject.original, subject.order)
    return in_one(steps(subject, changed, changed.all))


def in_one(parts: list[PatchStep]) -> list[PatchStep]:
    """Merge several steps into one."""
    if len(parts) < 2:
        return parts
    numbers = tuple(at for part in parts for at in part.changes)
    return [PatchStep(parts[-1].genotype, numbers, parts[0].before, parts[-1].after)]


_TOLD = re.compile(r"[1-9]\d+")

Settings = frozenset[tuple[str, str]]
"""Pairs of a parameter's value without and with a patch, as decimal texts."""


def settings_of(target: Target, step: PatchStep) -> Settings:
    """Return old and new values of the parameters that a patch changes.

    Only whole numbers from 10 on count, such as a block size. Smaller numbers have too many other
    meanings in an output: ``0 errors``.
    """
    usual, changed = defaults(target), step.genotype.configuration.changed
    pairs = ((str(usual[name]), str(value)) for name, value in changed.items())
    return frozenset(pair for pair in pairs if all(map(_TOLD.fullmatch, pair)))


def compiler_options(subject: Subject, genotype: Genotype) -> list[str]:
    """Return the compiler options that a genotype adds to those of the reference."""
    usual = subject.options(subject.original.configuration)
    return [one for one in subject.options(genotype.configuration) if one not in usual]


def elsewhere(subject: Subject, genotype: Genotype, given: Collection[str] = ()) -> list[str]:
    """List, in words, the changes of a genotype that a patch of the source cannot contain.

    These are compiler options, macros that the build defines, parameters that only the launch uses,
    and launch configurations of kernels that the source does not launch: "launch k with grid.x =
    ceil(old grid.x / 4)".

    Args:
        subject: the source that is patched.
        genotype: the genotype of the patch.
        given: macros that the build defines.
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
