"""What the compilers of sources have in common: what they are told of a source, preprocessing."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gi_cuda.backends.compile.at_work import AtWork, Turns
from gi_cuda.backends.compile.identity import digest, of_program, of_text, of_tool, without_places
from gi_cuda.backends.compile.late import says_late
from gi_cuda.backends.compile.left_out import stand_ins
from gi_cuda.backends.compile.lending import KERNEL, SYMBOL, lender
from gi_cuda.backends.compile.namespaces import namespaces
from gi_cuda.backends.compile.overloads import said_as_functions
from gi_cuda.backends.compile.preprocess import batch_text, prelude, split
from gi_cuda.backends.compile.process import Finished
from gi_cuda.backends.compile.prune import expanded, identifiers
from gi_cuda.backends.compile.reach import Reach, Reached, everything
from gi_cuda.backends.compile.redeclared import defined_functions
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
from gi_cuda.spec.kernel_names import overload

if TYPE_CHECKING:
    from gi_cuda.grammar import Rules
    from gi_cuda.subject import Subject

PREPROCESS_LIMIT = 120.0
"""Seconds of wall time one preprocessor process may take."""

COMPILE_LIMIT = 300.0
"""Seconds of wall time one shard may take to compile; a shard over it is halved."""

_LEAST = 64
"""Fewest variants that are worth a preprocessor process of their own, which reads all headers."""

_CONTINUED = re.compile(r"\\\r?\n")

_UNSCOPED = re.compile(r"(?<!::)\b[A-Za-z_]\w*")

_EXPORTS = "kernels of target.toml"
"""What messages call the lines, behind a variant's text, that name a target's kernels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCompiler(ABC):
    """A compiler of the variants of a source, batch by batch.

    Attributes:
        file_name: the source's name, for line markers.
        front: the batch's prelude (see :func:`gi_cuda.backends.compile.preprocess.prelude`).
        options: options that all variants share: language standard, optimisation, -I, -D.
        jobs: compiler processes at a time.
        sizes: of shards.
        kernels, symbols: names of kernels and variables that must be found, as C++ has them
            (``blur<float, 3>``, ``filter::taps``).
        namespaces: those that the source opens (see :mod:`gi_cuda.backends.compile.namespaces`).
        in_place: macros whose values stand where the source has its own; with what definitions say
            that stay as they are.
        defines: functions of the source (see :mod:`gi_cuda.backends.compile.redeclared`).
        shares: whether variants may share machine code.
        without: headers that are left out.
        reach: takes out of variants what their kernels cannot reach; None: they stay whole.
        at_work: counts the shards that are compiled, by this one and those made of it.
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
    at_work: AtWork = field(default_factory=AtWork, repr=False, compare=False)

    @classmethod
    def of(cls, subject: Subject, jobs: int, *, found: Collection[str] = (), **own: Any) -> Self:
        """The compiler of a subject's variants.

        Args:
            subject: a source.
            jobs: processes at a time.
            found: headers that are not left out, though the target says so.
            own: the attributes that this kind of compiler has besides.
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
        """This one for another source. What that does not have of its own tree, it includes from
        the tree of the one that it takes the place of."""
        target = subject.target
        folders = [*target.build.include, target.source.parent]
        options = (*(f"-I{folder}" for folder in folders), *self.options)
        return replace(self, options=options, **_known_of(subject, self.without))

    @property
    def rehearses(self) -> bool:
        """Whether what it makes runs once, before other code is made of the same: that other code
        is compiled first."""
        return False

    @property
    def idle(self) -> int:
        """How many more processes there could be now."""
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
        """Compile a batch in shards of this compiler's sizes: see
        :func:`gi_cuda.backends.compile.shards.build`.

        Args:
            jobs: processes at a time; None: as many as the compiler has.
            prelude: characters that each shard has to compile in front of its variants.
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
        """This one, or one with another prelude."""
        return self if front is None else replace(self, front=front)

    def deciding(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """All, as far as is known."""
        return options

    def apart(self) -> Self:
        """This compiler, giving equal variants machine code of their own."""
        return replace(self, shares=False)

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess a batch with few processes, without the variants whose directives fail."""
        if exports := self._exports():
            # Within the variant, so that a kernel's name may use its macros and types.
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
        """Of each phenotype what it does not leave to the reference, by kernels."""
        found = lender(reference, self.kernels, self.symbols)
        return [found.parts(one) if found else () for one in phenotypes]

    def _valued(self, exports: str, variant: Variant) -> str:
        """Return the lines that make a variant's kernels known, with the numbers of its constants
        in place of their names: those of host functions are not known there."""
        names = {name for name, _ in self.in_place} & identifiers(exports)
        if not names:
            return exports
        said = {one.name: one.value for one in constants_said(variant.text)}
        values = {n: variant.macros.get(n, v) for n, v in said.items() if n in names}
        return _UNSCOPED.sub(lambda match: values.get(match[0], match[0]), exports)

    def _phenotypes(
        self, variants: Sequence[Variant], front: str, preprocess: Callable[[str], Finished]
    ) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess variants at once, again without those whose directives fail."""
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
        """Of tools, options and the prelude with all that it includes."""
        front = self._front(options)
        if front is None:
            return None
        # What must be found of the source is said in the phenotypes too, but not by all compilers.
        named = (*self.kernels, "", *self.symbols, "", *self.namespaces)
        program, *words = self._toolchain()
        told = [*words, *without_places(self.options), "", *without_places(options), ""]
        kind = f"{type(self).__name__} {self.shares}"
        return digest([of_tool(), kind, of_program(program), *told, *named, "", of_text(front)])

    def headers(self) -> str | None:
        """What is in front of variants, preprocessed; None where that fails."""
        return self._front(())

    @abstractmethod
    def _toolchain(self) -> Sequence[str]:
        """The compiler's path, and how it is called for all sources."""

    @abstractmethod
    def _front(self, options: tuple[str, ...]) -> str | None:
        """What is in front of variants with these options, preprocessed; None where it fails."""

    def _remaining(self, text: str) -> Reached:
        """What of a variant's preprocessed text its kernels can reach, and which of its functions
        the language has functions of, too. A kernel is none of them: it is named alone, and a
        header may have its name for something else."""
        if self.reach is None:
            return everything(text)
        found = self.reach.reached(text)
        own = found.functions - {overload(name)[0].partition("<")[0] for name in self.kernels}
        return found._replace(functions=said_as_functions(self._builtin(), own))

    @abstractmethod
    def _builtin(self) -> str:
        """The text of all headers that every source has without asking."""

    def _meaning(self, text: str) -> str:
        """What of a preprocessed text has a meaning to the compiler."""
        return text

    @abstractmethod
    def _exports(self) -> str:
        """What follows a variant's text to make its kernels and variables known."""

    @abstractmethod
    def _preprocessor(self) -> tuple[str, Callable[[str], Finished]]:
        """The text in front of a batch, and what preprocesses both."""


def _known_of(subject: Subject, without: Sequence[str]) -> dict[str, Any]:
    """Return the attributes of a compiler that it reads from a source, by name.

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
    """What takes out of variants what their kernels cannot reach; as of :func:`roots`."""
    return Reach(roots(rules, named), late=says_late(rules.source.text))


def roots(rules: Rules, named: Sequence[str]) -> frozenset[str]:
    """What leads to a variant's kernels, and all that edits may say.

    Args:
        named: kernels and variables, as C++ has them.
    """
    text = rules.source.text
    said, at = [*named, *rules.specials.values()], 0
    for rule in sorted(rules.rules, key=lambda rule: (rule.start, -rule.end)):
        said.append(text[max(at, rule.start) : rule.end])
        at = max(at, rule.end)
    # What follows a variant's text to make kernels and variables known.
    names = {f"{kind}{number}" for kind in (KERNEL, SYMBOL) for number in range(len(named))}
    return expanded(names.union(*map(identifiers, said)), _CONTINUED.sub(" ", text))


def _around(subject: Subject) -> dict[str, str]:
    """What is defined while headers are read: all that the source does not define by itself."""
    macros = subject.macros(subject.space.default)
    return {name: text for name, text in macros.items() if name not in subject.in_place}
