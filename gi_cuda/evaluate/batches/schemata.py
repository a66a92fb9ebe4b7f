"""Schemata: texts that hold many variants and are compiled once for all of them.

See :meth:`gi_cuda.grammar.ParsedText.schema`. Compiling a schema takes about as long as compiling
one of its variants. Results from a schema are accepted if one of its variants is right, or if the
schema is right with no variant chosen. Otherwise the schema itself may be wrong, and its variants
are built separately. A variant that is alone is compiled without edits that change no outputs: for
example, unrolling a loop may take a compiler seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TypeAlias

from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Compiler, Phenotype
from gi_cuda.evaluate.batches.compiled_parts import Parts
from gi_cuda.evaluate.batches.passes import Record, Trial, TrialBuilder
from gi_cuda.evaluate.candidates import as_candidate
from gi_cuda.genome import Edit
from gi_cuda.grammar import Expansion, ParsedText
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.subject import Subject

SMALLEST, LARGEST = 4, 32
"""Bounds of the number of variants in a schema; in between, each compiler gets an equal share.
LARGEST also limits the edits that its variants do not have in common: with more edits, compiling
the variants one by one is faster."""

FIRST = 10**9
"""Number of the first schema; the numbers of individuals stay below."""


Group: TypeAlias = tuple[int, ...]
"""Numbers of the variants in one text, in their order there."""


def grouped(
    subject: Subject, trials: Mapping[int, Trial], compiler: Compiler, beside: int = 0
) -> list[Group]:
    """Divide trials into groups that can be compiled as one text; others form groups of their own.

    Variants with the same ancestor are put together, since edits that all of them have need not be
    chosen at run time. Among them, variants that change the same kernels are put together, so that
    the other kernels can be taken from the reference.

    Args:
        subject: the subject whose variants they are.
        trials: trials by number.
        compiler: compiler of schemata.
        beside: number of other trials at the same time, which compilers have to share.
    """
    usual = _usual(trials.values())
    alike: dict[object, list[tuple[list[str], int, int]]] = {}
    groups: list[Group] = []
    for ident, trial in trials.items():
        expansions = {} if trial.genotype is None else subject.expansions(trial.genotype)
        unchosen = subject.parsed.unchosen(expansions)
        if trial.genotype is None or isinstance(trial.phenotype, BuildFailure) or unchosen is None:
            groups.append((ident,))
            continue
        macros = frozenset(subject.macros(trial.configuration).items())
        options = compiler.deciding(subject.options(trial.configuration))
        kind = macros, options, frozenset(unchosen.items())
        first = min((subject.order[name] for name in expansions), default=0)
        descent = sorted(str(edit) for edit in trial.edits if edit in usual)
        alike.setdefault(kind, []).append((descent, first, ident))
    size = (sum(map(len, alike.values())) + beside) // compiler.jobs
    size = min(max(size, SMALLEST), LARGEST)
    for found in alike.values():
        members = [ident for *_, ident in sorted(found)]
        share = -(-len(members) // -(-len(members) // size))
        groups += _cut(members, {ident: frozenset(trials[ident].edits) for ident in members}, share)
    return groups


def _cut(members: Iterable[int], edits: Mapping[int, frozenset[Edit]], size: int) -> list[Group]:
    """Divide neighbours into groups with at most `size` variants and :data:`LARGEST` different
    edits.
    """
    groups: list[list[int]] = []
    every = shared = frozenset[Edit]()
    for ident in members:
        own = edits[ident]
        if groups and len(groups[-1]) < size and len((every | own) - (shared & own)) <= LARGEST:
            groups[-1].append(ident)
            every, shared = every | own, shared & own
        else:
            groups.append([ident])
            every = shared = own
    return [tuple(group) for group in groups]


def _usual(trials: Iterable[Trial]) -> set[Edit]:
    """Return the edits that occur in enough trials to fill a schema."""
    counts = Counter(edit for trial in trials for edit in set(trial.edits))
    return {edit for edit, count in counts.items() if count >= SMALLEST}


class SchemaBuilder(TrialBuilder):
    """A builder that compiles the trials of a batch in schemata.

    Args:
        compiler, trials, parts: see :class:`~gi_cuda.evaluate.batches.passes.TrialBuilder`.
        subject: the subject whose variants they are.
        groups: groups that are compiled as one text; see :meth:`gather`.
    """

    def __init__(
        self,
        compiler: Compiler,
        trials: Mapping[int, Trial],
        parts: Parts,
        subject: Subject,
        groups: Iterable[Group] = (),
    ) -> None:
        super().__init__(compiler, trials, parts)
        self._subject = subject
        self._wanted: dict[int, Group] = {}
        self._numbers = count(FIRST)
        self._schemata: dict[int, _Schema] = {}
        self.gather(groups)

    def gather(self, groups: Iterable[Group]) -> None:
        """Add groups of trials that are compiled as one text.

        A single trial forms a schema too, if it has edits that change no outputs; they are left
        out.
        """
        for group in groups:
            if len(group) > 1 or self._is_lighter(group[0]):
                self._wanted |= dict.fromkeys(group, group)

    def _is_lighter(self, ident: int) -> bool:
        trial = self.trials[ident]
        if trial.genotype is None or isinstance(trial.phenotype, BuildFailure):
            return False
        expansions = self._subject.expansions(trial.genotype)
        return len(self._subject.parsed.telling(expansions)) < len(expansions)

    def forget(self, ident: int) -> None:
        """Release a trial that has ended; the last trial of a schema releases the schema too."""
        schema = self._schemata.pop(ident, None)
        if schema and not any(member in self._schemata for member in schema.group):
            self._schemata.pop(schema.binary.ident, None)
            self._parts.forget(schema.binary.ident)

    def trial(self, ident: int) -> Trial:
        """Return the trial with a number; for the number of a schema, the trial with no variant
        chosen.
        """
        schema = self._schemata.get(ident)
        if schema is None or ident in schema.group:
            return super().trial(ident)
        return replace(super().trial(schema.group[0]), genotype=None)

    def built(self, idents: Sequence[int], folder: Path) -> Iterator[Built]:
        """Build trials; yield binaries and failures.

        The first build of a trial in a group is a member of a schema's binary; a later build is
        separate. The number of a schema stands for the schema with no variant chosen.
        """
        proofs = [self._schemata[i] for i in idents if i not in self.trials]
        yield from (schema.binary.member(schema.binary.ident, 0) for schema in proofs)
        alone = [i for i in idents if i in self.trials and i not in self._wanted]
        groups = list(dict.fromkeys(self._wanted.pop(i) for i in idents if i in self._wanted))
        begun = {next(self._numbers): group for group in groups}
        texts, failed = [*self._by_themselves(alone), *self._texts(begun)], list[int]()
        for built in self.compiled(texts, folder / str(next(self._numbers))):
            group = begun.get(built.ident)
            if group is None:
                yield built
            elif isinstance(built, Binary):
                schema = _Schema(group, built)
                self._schemata |= dict.fromkeys((built.ident, *group), schema)
                yield from (built.member(one, at) for at, one in enumerate(group, 1))
            else:
                self._parts.forget(built.ident)
                failed += group
        if failed:  # compile each alone: bisecting the group would take several compilations
            yield from self.compiled(self._by_themselves(failed), folder / str(next(self._numbers)))

    def _by_themselves(self, idents: Iterable[int]) -> list[Phenotype | BuildFailure]:
        return [self.trials[ident].phenotype for ident in idents]

    def _texts(self, groups: Mapping[int, Group]) -> Iterable[Phenotype | BuildFailure]:
        """Return the preprocessed schemata of groups, by number."""
        subject, variants = self._subject, []
        for ident, group in groups.items():
            genotypes = [self.trials[member].genotype for member in group]
            expansions = [subject.expansions(one) for one in genotypes if one is not None]
            configuration = self.trials[group[0]].configuration
            text = _text(subject.parsed, expansions)
            one = as_candidate(subject, text, configuration)
            one = replace(one, options=self.compiler.deciding(one.options))
            variants.append(one.variant(ident))
        return self.compiler.preprocess(variants).values() if variants else ()

    def judged(self, ident: int, evaluation: Evaluation) -> tuple[list[Record], list[int]]:
        """Return the records that can be accepted after a trial was judged, and the numbers to
        build next.

        The latter are a schema in doubt, to be run with no variant chosen, or the trials of a wrong
        schema.
        """
        schema = self._schemata.get(ident)
        if schema is None or schema.proven or len(schema.group) == 1:
            return [(ident, evaluation)], []
        if ident not in schema.group:
            if evaluation.right:
                return schema.believed(), []
            schema.believed()
            return [], list(schema.group)
        schema.waiting.append((ident, evaluation))
        if evaluation.right:
            return schema.believed(), []
        return [], [schema.binary.ident] if len(schema.waiting) == len(schema.group) else []


def _text(parsed: ParsedText, variants: Sequence[Mapping[str, Expansion]]) -> str:
    """Return the schema of several variants.

    A single variant is rendered without loop guards and without edits that change no outputs.
    """
    if len(variants) > 1:
        return parsed.schema(variants)
    (expansions,) = variants
    return parsed.render(parsed.telling(expansions), None)


@dataclass(slots=True)
class _Schema:
    """A schema that was built.

    Attributes:
        group: numbers of its variants.
        binary: the binary with all variants.
        waiting: records that are not accepted yet.
        proven: whether further records are accepted at once.
    """

    group: Group
    binary: Binary
    waiting: list[Record] = field(default_factory=list)
    proven: bool = False

    def believed(self) -> list[Record]:
        """Return the waiting records, which are accepted; later ones are accepted at once."""
        waiting, self.waiting, self.proven = self.waiting, [], True
        return waiting
