"""What a search, a evaluator and a run need of whatever is being evolved, at any level."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from gi_cuda.genome import Genotype, Space, Variation
from gi_cuda.grammar import Rules
from gi_cuda.spec import CaseRole, Configuration, Target

LEVELS = ("source", "ptx")
"""What can be evolved: a target's source, or the PTX that nvcc makes of it."""


class Evolvable(Variation, Protocol):
    """A target made ready for evolution at one level.

    :class:`~gi_cuda.subject.source.Subject` is its source,
    :class:`~gi_cuda.subject.ptx.PtxSubject` its PTX.
    """

    @property
    def target(self) -> Target:
        """The target as loaded."""

    @property
    def grammar(self) -> Rules:
        """The rules of what is evolved."""

    @property
    def space(self) -> Space:
        """The configurations that there are."""

    @property
    def backend(self) -> str:
        """Where it runs."""

    @property
    def level(self) -> str:
        """One of :data:`LEVELS`."""

    @property
    def edits(self) -> str:
        """Which set of rule types was asked for."""

    @property
    def grammar_files(self) -> tuple[Path, ...]:
        """The files that the grammar was read from, if it was."""

    @property
    def fingerprint(self) -> str:
        """A hash, in hexadecimal, of the grammar."""

    @property
    def order(self) -> Mapping[str, int]:
        """Position of each rule in the grammar."""

    @property
    def original(self) -> Genotype:
        """The genotype without changes. It is what varies at first, and the reference's own unless
        the evolution started from another one."""

    @property
    def reference(self) -> str:
        """The text of the target's unmodified device code, beside which variants are timed."""

    @property
    def standard(self) -> Configuration:
        """The configuration of the reference: the target's default one."""

    @property
    def counting(self) -> str:
        """The device code of :attr:`original` with every loop of the grammar counting its
        iterations."""

    def render(self, genotype: Genotype, limits: Mapping[int, int] | None) -> str:
        """A variant's device code; with loop guards where ``limits`` are given."""

    def rehearsal(self, genotype: Genotype, limits: Mapping[int, int]) -> str | None:
        """The same made to do no harm, whatever its answers are; None where that cannot be. It runs
        on the cases that give fitness, takes longer, and gives the same answers if they are
        right."""

    def diff(self, genotype: Genotype) -> str:
        """What a genotype changes, as a unified diff."""

    def macros(self, configuration: Configuration) -> dict[str, str]:
        """What a configuration defines when a variant's text is compiled."""

    def options(self, configuration: Configuration) -> tuple[str, ...]:
        """What a configuration adds to the compiler's command line."""

    def cases(self, role: CaseRole) -> tuple[str, ...]:
        """Names of the cases of one role on this back end."""

    def launch_values(self, configuration: Configuration) -> str:
        """The values that decide launches and buffers, as text: part of a phenotype."""
