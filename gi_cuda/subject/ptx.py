"""The PTX of a target made ready for evolution: what nvcc makes of its source, as it is or as a
winner left it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property
from pathlib import Path

import xxhash

from gi_cuda.genome import Genetics, Genotype, Rates, Space, expansions, mutate
from gi_cuda.grammar import Source, rendered
from gi_cuda.grammar.frontends.ptx import (
    PtxGrammar,
    instrument_ptx,
    mark_ptx,
    rehearse_ptx,
    render_ptx,
)
from gi_cuda.grammar.frontends.ptx.window import BASE, SIZE
from gi_cuda.spec import CaseRole, Configuration, Target
from gi_cuda.subject.source import Subject
from gi_cuda.subject.start import Start

GEVO = Rates(configuration=0.0, pairs=1 / 3)
"""Move and swap are two of GEVO's six mutations."""

_COUNTER = "_ZN2v012gi_loop_mostE"
"""Where loops count: a variable in the namespace of the reference."""


@dataclass(frozen=True)
class PtxSubject(Genetics):
    """What is being evolved. Implements :class:`~gi_cuda.subject.protocol.Evolvable`.

    Only code varies: the PTX stands for one configuration. What varies at first and what variants
    are timed beside are two modules where a winner of the source is what the evolution starts from;
    the reference is the target's own all the same.

    Attributes:
        cuda: the target's source.
        grammar: the rules of the PTX that evolves.
        space: the configuration that it was compiled under, and no other.
        reference: the PTX of the unmodified source in the default configuration.
        base: the genotype of the source that evolves as PTX.
        start: where that comes from; None where it is the reference's.
    """

    cuda: Subject
    grammar: PtxGrammar
    space: Space
    reference: str
    base: Genotype
    start: Start | None = None
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
        modules = [self.made, *([self.reference] if self.start else [])]
        code = [one.partition("\t.section\t.debug_str")[0] for one in modules]
        text = "\n".join([*code, *self.order])
        return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogateescape"))

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """A mutant, or None where nothing can be changed."""
        return mutate(genotype, self.grammar, rng, GEVO)

    @property
    def standard(self) -> Configuration:
        """The configuration of the reference."""
        return self.cuda.standard

    @cached_property
    def written(self) -> Source:
        """The source that the PTX was made of, in its files."""
        return rendered(self.cuda.grammar, self.cuda.expansions(self.base))

    @property
    def made(self) -> str:
        """The PTX that evolves, as nvcc made it."""
        return self.grammar.source.text

    @property
    def counting(self) -> str:
        """The PTX with every loop counting its iterations."""
        return instrument_ptx(self.grammar, _COUNTER)

    def marked(self, name: str) -> str:
        """The PTX with a count of how often a rule's place is reached, in place of a loop's."""
        return mark_ptx(self.grammar, name, _COUNTER)

    def render(self, genotype: Genotype, limits: Mapping[int, int] | None) -> str:
        """A variant's PTX; with loop guards where ``limits`` are given."""
        return render_ptx(self.grammar, expansions(genotype.edits), limits)

    def rehearsal(self, genotype: Genotype, limits: Mapping[int, int]) -> str:
        """A variant's PTX with every loop guarded and every instruction confined."""
        return rehearse_ptx(self.grammar, expansions(genotype.edits), limits, (BASE, SIZE))

    def diff(self, genotype: Genotype) -> str:
        """What a genotype changes in the PTX, without loop guards."""
        name = self.grammar.source.name
        return text_diff(self.made, self.render(genotype, None), name)

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


def text_diff(before: str, after: str, name: str) -> str:
    """The difference of two texts of PTX, both called by one name."""
    lines = unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(lines)
