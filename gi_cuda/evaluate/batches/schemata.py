"""Batches put into schemata: many variants in one text, which is compiled once for all of them.

See :meth:`gi_cuda.grammar.ParsedText.schema`. Compiling one takes about as long as one of its
variants would. What variants do in a schema is believed where one of them is right, or else what
the schema is where none of them is chosen. If neither is, the schema may be at fault, and they are
built by themselves. One that is with no others goes without what changes no answers: an unrolled
loop may take a compiler seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TypeAlias

from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Compiler, Phenotype
from gi_cuda.evaluate.batches.parts import Parts
from gi_cuda.evaluate.batches.passes import Record, Trial, TrialBuilder
from gi_cuda.evaluate.candidates import as_candidate
from gi_cuda.genome import Edit
from gi_cuda.grammar import Expansion, ParsedText
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.subject import Subject

SMALLEST, LARGEST = 4, 32
"""Variants in a schema, where so many go together: as many as leave something to each compiler.
There are at most as many edits, besides those that all have: what takes a compiler less by itself
than in a schema are variants of many edits."""

FIRST = 10**9
"""The number of the first schema; individuals never come to so many."""


Group: TypeAlias = tuple[int, ...]
"""Numbers of variants that are one text, in their order there."""


def grouped(
    subject: Subject, trials: Mapping[int, Trial], compiler: Compiler, beside: int = 0
) -> list[Group]:
    """Trials in groups that can be one text; what cannot be with others is a group of its own.

    What descends from the same one comes together, so that the edits that all have need not be
    chosen; of these, what changes the same kernels, so that what they leave to the reference is
    left out of their text as well.

    Args:
        subject: whose variants they are.
        trials: by number.
        compiler: of schemata.
        beside: other trials that there are at the same time, so that compilers have more to do.
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
    """Neighbours in groups, of so many at most, and of so many edits."""
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
    """The edits that enough trials have to fill a schema."""
    counts = Counter(edit for trial in trials for edit in set(trial.edits))
    return {edit for edit, count in counts.items() if count >= SMALLEST}


class SchemaBuilder(TrialBuilder):
    """Builds trials of a batch in schemata.

    Args:
        compiler, trials, parts: see :class:`~gi_cuda.evaluate.batches.passes.TrialBuilder`.
        subject: whose variants they are.
        groups: those that are one text; see :meth:`gather`.
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
        """Take further trials that are one text. One by itself is, too, without what changes no
        answers, if it has any of that."""
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
        """A trial is over; with the last one of a schema that is, too."""
        schema = self._schemata.pop(ident, None)
        if schema and not any(member in self._schemata for member in schema.group):
            self._schemata.pop(schema.binary.ident, None)
            self._parts.forget(schema.binary.ident)

    def trial(self, ident: int) -> Trial:
        """The trial of a number; of a schema's own, what it is where no variant is chosen."""
        schema = self._schemata.get(ident)
        if schema is None or ident in schema.group:
            return super().trial(ident)
        return replace(super().trial(schema.group[0]), genotype=None)

    def built(self, idents: Sequence[int], folder: Path) -> Iterator[Built]:
        """What becomes of some of the trials. Those of which a schema is built come as its members,
        and when they are built once more by themselves; the number of a schema is itself."""
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
        if failed:  # halves, of which one is at fault, would come in turn
            yield from self.compiled(self._by_themselves(failed), folder / str(next(self._numbers)))

    def _by_themselves(self, idents: Iterable[int]) -> list[Phenotype | BuildFailure]:
        return [self.trials[ident].phenotype for ident in idents]

    def _texts(self, groups: Mapping[int, Group]) -> Iterable[Phenotype | BuildFailure]:
        """The schemata of groups, under their numbers."""
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
        """What can be believed once a trial has been judged, and what is to be built next: a schema
        that is in doubt, or the trials of one that is at fault."""
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
    """What some variants are in one; a single one without guards and what changes no answers."""
    if len(variants) > 1:
        return parsed.schema(variants)
    (expansions,) = variants
    return parsed.render(parsed.telling(expansions), None)


@dataclass(slots=True)
class _Schema:
    """A schema that was built.

    Attributes:
        group: its variants.
        binary: with all of them.
        waiting: records that are not yet believed.
        proven: whether all else is.
    """

    group: Group
    binary: Binary
    waiting: list[Record] = field(default_factory=list)
    proven: bool = False

    def believed(self) -> list[Record]:
        """What waits, and whatever comes from now on, can be believed."""
        waiting, self.waiting, self.proven = self.waiting, [], True
        return waiting
