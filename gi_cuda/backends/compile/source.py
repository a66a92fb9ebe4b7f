"""Base class of compilers of sources: attributes that are read from a source, and preprocessing."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gi_cuda.backends.compile.borrowed_kernels import KERNEL, SYMBOL, lender
from gi_cuda.backends.compile.caching.identity import (
    digest,
    of_program,
    of_text,
    of_tool,
    without_places,
)
from gi_cuda.backends.compile.compiler_slots import CompilerSlots, Turns
from gi_cuda.backends.compile.preprocess import batch_text, prelude, split
from gi_cuda.backends.compile.process import Finished
from gi_cuda.backends.compile.pruning.dependent_lookup import says_late
from gi_cuda.backends.compile.pruning.left_out import stand_ins
from gi_cuda.backends.compile.pruning.namespaces import namespaces
from gi_cuda.backends.compile.pruning.overloads import said_as_functions
from gi_cuda.backends.compile.pruning.prune import expanded, identifiers
from gi_cuda.backends.compile.pruning.reachable_code import Reach, Reached, everything
from gi_cuda.backends.compile.pruning.redeclared import defined_functions
from gi_cuda.backends.compile.shards import (
    Collected,
    CollectShard,
    CompileShard,
    Sizes,
    attribute,
    build,
    first_error,
)
from gi_cuda.backends.job_threads import JobThreads
from gi_cuda.backends.protocol.variants import BuildFailure, Phenotype, Variant
from gi_cuda.grammar.macro_values import constants_said
from gi_cuda.spec.launching.kernel_names import overload

if TYPE_CHECKING:
    from gi_cuda.grammar import Rules
    from gi_cuda.subject import Subject

PREPROCESS_LIMIT = 120.0
"""Seconds of wall time that one preprocessor process may take."""

COMPILE_LIMIT = 300.0
"""Seconds of wall time that one shard may take to compile. A shard that takes longer is halved."""

_LEAST = 64
"""Number of variants that justify another preprocessor process, which reads all headers."""

_CONTINUED = re.compile(r"\\\r?\n")

_UNSCOPED = re.compile(r"(?<!::)\b[A-Za-z_]\w*")

_EXPORTS = "kernels of target.toml"
"""File name in messages for the lines after a variant's text that name a target's kernels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCompiler(ABC):
    """A compiler of batches of a source's variants.

    Attributes:
        file_name: the source's name, for line markers.
        front: the batch's prelude (see :func:`gi_cuda.backends.compile.preprocess.prelude`).
        options: options that all variants share: language standard, optimisation, -I, -D.
        jobs: compiler processes at a time.
        sizes: limits on the sizes of shards.
        kernels, symbols: C++ names of kernels and variables that must be found (``blur<float, 3>``,
            ``filter::taps``).
        namespaces: namespaces that the source opens (see
            :mod:`gi_cuda.backends.compile.pruning.namespaces`).
        in_place: macros whose values are written into their definitions in the source; with the
            values of definitions that must stay unchanged.
        defines: functions that the source defines (see
            :mod:`gi_cuda.backends.compile.pruning.redeclared`).
        shares: whether variants may share machine code.
        without: headers that are left out.
        reach: removes unreachable code from variants; None: nothing is removed.
        at_work: counts the shards that this compiler, and those made of it, are compiling.
    """

    file_name: str
    front: str
    options: tuple[str, ...]
    jobs: int
    sizes: Sizes
    kernels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    in_place: tuple[tuple[str, frozenset[str]], ...] = ()
    defines: frozenset[str] = frozenset()
    shares: bool = True
    without: tuple[str, ...] = ()
    reach: Reach | None = field(default=None, repr=False, compare=False)
    at_work: CompilerSlots = field(default_factory=CompilerSlots, repr=False, compare=False)

    @classmethod
    def of(cls, subject: Subject, jobs: int, *, found: Collection[str] = (), **own: Any) -> Self:
        """Return the compiler of a subject's variants.

        Args:
            subject: a source.
            jobs: processes at a time.
            found: headers that are included although the target leaves them out.
            own: further attributes of the subclass.
        """
        target = subject.target
        without = tuple(name for name in target.build.without if name not in found)
        folders = [*target.build.include, target.source.parent]
        if without:
            folders.insert(0, stand_ins(without))
        options = (f"-std={target.build.standard}", *(f"-I{folder}" for folder in folders))
        known = _known_of(subject, without)
        return cls(options=options, jobs=jobs, without=without, **known, **own)

    def of_subject(self, subject: Subject) -> Self:
        """Return this compiler for another source.

        Headers that the other source's tree lacks are taken from the tree of this one.
        """
        target = subject.target
        folders = [*target.build.include, target.source.parent]
        options = (*(f"-I{folder}" for folder in folders), *self.options)
        return replace(self, options=options, **_known_of(subject, self.without))

    @property
    def rehearses(self) -> bool:
        """Tell whether its code is for rehearsals. Shards of rehearsals are compiled first."""
        return False

    @property
    def idle(self) -> int:
        """Number of further processes that could be started now."""
        return max(0, self.jobs - self.at_work.number)

    def in_shards(
        self,
        phenotypes: Sequence[Phenotype],
        folder: Path,
        compile_shard: CompileShard,
        collect: CollectShard[Collected],
        *,
        jobs: int | None = None,
        prelude: int = 0,
        again: CompileShard | None = None,
    ) -> Iterator[Collected | BuildFailure]:
        """Compile a batch in shards; see :func:`gi_cuda.backends.compile.shards.build`.

        Args:
            jobs: processes at a time; None: as many as the compiler has.
            prelude: characters that each shard has to compile before its variants.
        """
        return build(
            phenotypes,
            folder,
            compile_shard,
            collect,
            sizes=self.sizes.behind(prelude),
            turns=Turns(self.at_work, self.jobs if jobs is None else jobs, int(self.rehearses)),
            again=again,
        )

    def of_sources(self, front: str | None = None) -> Self:
        """Return this compiler, with another prelude if one is given."""
        return self if front is None else replace(self, front=front)

    def deciding(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """Return all options: any may change outputs."""
        return options

    def apart(self) -> Self:
        """Return this compiler, made to give equal variants machine code at different addresses."""
        return replace(self, shares=False)

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess a batch with few processes; failing variants do not affect others."""
        if exports := self._exports():
            # As a part of the variant, so that a kernel's name may use its macros and types.
            variants = [
                replace(v, text=f'{v.text}\n#line 1 "v{v.ident}/{_EXPORTS}"\n{named}')
                for v in variants
                for named in (self._valued(exports, v),)
            ]
        front, preprocess = self._preprocessor()
        number = max(1, min(self.jobs, len(variants) // _LEAST))

        def work(begin: int) -> dict[int, Phenotype | BuildFailure]:
            return self._phenotypes(variants[begin::number], front, preprocess)

        with JobThreads(work, number) as crew:
            for begin in range(number):
                crew.submit(begin)
            parts = dict(crew.next() for _ in range(number))
        return {ident: one for begin in range(number) for ident, one in parts[begin].items()}

    def parts(
        self, phenotypes: Sequence[Phenotype], reference: Phenotype
    ) -> list[Sequence[Phenotype]]:
        """Split each phenotype, without borrowed kernels, into parts by kernels."""
        found = lender(reference, self.kernels, self.symbols)
        return [found.parts(one) if found else () for one in phenotypes]

    def _valued(self, exports: str, variant: Variant) -> str:
        """Return the lines that export a variant's kernels, with constants' values.

        Constants of host functions are not declared where these lines are.
        """
        names = {name for name, _ in self.in_place} & identifiers(exports)
        if not names:
            return exports
        said = {one.name: one.value for one in constants_said(variant.text)}
        values = {n: variant.macros.get(n, v) for n, v in said.items() if n in names}
        return _UNSCOPED.sub(lambda match: values.get(match[0], match[0]), exports)

    def _phenotypes(
        self, variants: Sequence[Variant], front: str, preprocess: Callable[[str], Finished]
    ) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess variants at once; repeat it without those whose directives fail."""
        answer: dict[int, Phenotype | BuildFailure] = {}
        rest = list(variants)
        while rest:
            finished = preprocess(batch_text(front, rest, self.file_name, dict(self.in_place)))
            if finished.ok:
                answer.update(split(finished.stdout, rest, self._meaning, self._remaining))
                break
            failed = attribute(finished.stderr) or {rest[0].ident: first_error(finished)}
            for ident, message in failed.items():
                answer[ident] = BuildFailure(ident, message)
            rest = [v for v in rest if v.ident not in failed]
        return answer

    def identity(self, options: tuple[str, ...]) -> bytes | None:
        """Return a hash of tools, options and the prelude with all that it includes."""
        front = self._front(options)
        if front is None:
            return None
        # Not all compilers put the names of kernels and variables into the phenotypes.
        named = (*self.kernels, "", *self.symbols, "", *self.namespaces)
        program, *words = self._toolchain()
        told = [*words, *without_places(self.options), "", *without_places(options), ""]
        kind = f"{type(self).__name__} {self.shares}"
        return digest([of_tool(), kind, of_program(program), *told, *named, "", of_text(front)])

    def headers(self) -> str | None:
        """Return the preprocessed text that precedes variants; None if that fails."""
        return self._front(())

    @abstractmethod
    def _toolchain(self) -> Sequence[str]:
        """Return the compiler's path, and its options for all sources."""

    @abstractmethod
    def _front(self, options: tuple[str, ...]) -> str | None:
        """Return the preprocessed text before variants with these options; None if it fails."""

    def _remaining(self, text: str) -> Reached:
        """Return the reachable code of a variant, and its overloads of language functions.

        Kernels are left out of these functions: only their own names are used for them, and a
        header may use a kernel's name for something else.
        """
        if self.reach is None:
            return everything(text)
        found = self.reach.reached(text)
        own = found.functions - {overload(name)[0].partition("<")[0] for name in self.kernels}
        return found._replace(functions=said_as_functions(self._builtin(), own))

    @abstractmethod
    def _builtin(self) -> str:
        """Return the text of all headers that every source includes implicitly."""

    def _meaning(self, text: str) -> str:
        """Reduce a preprocessed text to what matters to the compiler."""
        return text

    @abstractmethod
    def _exports(self) -> str:
        """Return the text after a variant that exports its kernels and variables."""

    @abstractmethod
    def _preprocessor(self) -> tuple[str, Callable[[str], Finished]]:
        """Return the text that precedes a batch, and a function that preprocesses text."""


def _known_of(subject: Subject, without: Sequence[str]) -> dict[str, Any]:
    """Return the attributes of a compiler that are read from a source, by name.

    Args:
        without: headers that are left out.
    """
    source, target = subject.grammar.source, subject.target
    symbols = tuple(b.symbol for b in target.buffers if b.symbol is not None)
    return {
        "file_name": source.name,
        "front": prelude(source.text, _around(subject), without),
        "kernels": target.kernels,
        "symbols": symbols,
        "namespaces": namespaces(source.text),
        "in_place": tuple(subject.in_place.items()),
        "defines": defined_functions(source.text),
        "reach": reach_of(subject.grammar, (*target.kernels, *symbols)),
    }


def reach_of(rules: Rules, named: Sequence[str]) -> Reach:
    """Return the remover of code that kernels cannot reach; arguments as of :func:`roots`."""
    return Reach(roots(rules, named), late=says_late(rules.source.text))


def roots(rules: Rules, named: Sequence[str]) -> frozenset[str]:
    """Return the names that lead to a variant's kernels, and all names that edits may insert.

    Args:
        named: C++ names of kernels and variables.
    """
    text = rules.source.text
    said, at = [*named, *rules.specials.values()], 0
    for rule in sorted(rules.rules, key=lambda rule: (rule.start, -rule.end)):
        said.append(text[max(at, rule.start) : rule.end])
        at = max(at, rule.end)
    # The names in the lines after a variant's text, which export kernels and variables.
    names = {f"{kind}{number}" for kind in (KERNEL, SYMBOL) for number in range(len(named))}
    return expanded(names.union(*map(identifiers, said)), _CONTINUED.sub(" ", text))


def _around(subject: Subject) -> dict[str, str]:
    """Return macros that are defined while headers are read, without those of the source."""
    macros = subject.macros(subject.space.default)
    return {name: text for name, text in macros.items() if name not in subject.in_place}
