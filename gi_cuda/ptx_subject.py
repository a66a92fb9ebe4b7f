"""The PTX of a target made ready for evolution: what nvcc makes of the default configuration."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property
from pathlib import Path

import xxhash

from gi_cuda.cuda.window import BASE, SIZE
from gi_cuda.genome import (
    Genetics,
    Genotype,
    Rates,
    Space,
    expansions,
    mutate,
)
from gi_cuda.grammar.ptx import PtxGrammar, instrument_ptx, rehearse_ptx, render_ptx
from gi_cuda.subject import Subject
from gi_cuda.target import CaseRole, Configuration, Target

GEVO = Rates(configuration=0.0, pairs=1 / 3)
"""Move and swap are two of GEVO's six mutations."""

_COUNTER = "_ZN2v012gi_loop_mostE"
"""Where loops count: a variable in the namespace of the reference."""


@dataclass(frozen=True)
class PtxSubject(Genetics):
    """What is being evolved. Implements :class:`~gi_cuda.evolvable.Evolvable`.

    Only code varies: the PTX stands for one configuration, the default one.

    Attributes:
        cuda: the target's source, which the PTX was made of.
        grammar: the rules of the PTX.
        space: the default configuration and no other.
    """

    cuda: Subject
    grammar: PtxGrammar
    space: Space
    level: str = "ptx"
    edits: str = "ptx"
    grammar_files: tuple[Path, ...] = ()

    @property
    def target(self) -> Target:
        """The target as loaded."""
        return self.cuda.target

    @property
    def backend(self) -> str:
        """Where it runs."""
        return self.cuda.backend

    @cached_property
    def fingerprint(self) -> str:
        """A 128-bit hash, in hexadecimal, of the PTX's code and the names of the rules in it."""
        code = self.reference.partition("\t.section\t.debug_str")[0]
        text = "\n".join([code, *self.order])
        return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogateescape"))

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """A mutant, or None where nothing can be changed."""
        return mutate(genotype, self.grammar, rng, GEVO)

    @property
    def reference(self) -> str:
        """The PTX as nvcc made it."""
        return self.grammar.source.text

    @property
    def counting(self) -> str:
        """The same with every loop counting its iterations."""
        return instrument_ptx(self.grammar, _COUNTER)

    def render(self, genotype: Genotype, limits: Mapping[int, int] | None) -> str:
        """A variant's PTX; with loop guards where ``limits`` are given."""
        return render_ptx(self.grammar, expansions(genotype.edits), limits)

    def rehearsal(self, genotype: Genotype, limits: Mapping[int, int]) -> str:
        """A variant's PTX with every loop guarded and every instruction confined."""
        return rehearse_ptx(self.grammar, expansions(genotype.edits), limits, (BASE, SIZE))

    def diff(self, genotype: Genotype) -> str:
        """What a genotype changes in the PTX, without loop guards."""
        name = self.grammar.source.name
        before, after = self.reference, self.render(genotype, None)
        lines = unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            f"a/{name}",
            f"b/{name}",
        )
        return "".join(lines)

    def macros(self, configuration: Configuration) -> dict[str, str]:
        """None: the PTX is preprocessed."""
        return {}

    def options(self, configuration: Configuration) -> tuple[str, ...]:
        """What the configuration adds to the compiler's command line."""
        return self.cuda.options(configuration)

    def cases(self, role: CaseRole) -> tuple[str, ...]:
        """Names of the cases of one role on this back end."""
        return self.cuda.cases(role)

    def launch_values(self, configuration: Configuration) -> str:
        """The values that decide launches and buffers, as text."""
        return self.cuda.launch_values(configuration)
