"""The values that pass through a build: variants in, binaries or messages out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import xxhash

from gi_cuda.backends.protocol.examination import Examination

if TYPE_CHECKING:
    from gi_cuda.subject import Subject

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant's source, before preprocessing.

    Attributes:
        ident: its number within the run; names its namespace ``v<ident>``.
        text: the rendered source.
        macros: what is defined before it and undefined after it.
        options: compiler options of its own; variants that share them share a batch.
    """

    ident: int
    text: str
    macros: Mapping[str, str]
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Phenotype:
    """A variant after preprocessing: macros expanded, inactive branches gone.

    Attributes:
        ident: the variant's number.
        text: the preprocessed source with its line markers, ready to be compiled.
        options: compiler options of its own.
        key: 128-bit xxh3 of the whole text with white space and line markers normalised.
        lent: identifiers (see :func:`gi_cuda.spec.kernel_names.identifier`) of kernels and
            variables that are left to the reference. The text is without these kernels.
        overloads: names of its own functions that the language has functions of, too.
    """

    ident: int
    text: str
    options: tuple[str, ...]
    key: bytes
    lent: frozenset[str] = frozenset()
    overloads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Binary:
    """A compiled variant.

    Attributes:
        ident: its number.
        path: the file that holds it.
        code_key: 128-bit key of its machine code, equal for equal code; None where the back end
            has none.
        resources: what the compiler says it takes: registers, spills, shared memory.
        kernel_keys: what the code key is made of, by identifiers of kernels (and, where they have
            a key of their own, of variables).
        lent: see :class:`Phenotype`.
        lender: the reference's binary, which has what is lent; None where nothing is, or it is yet
            to be said (see :meth:`beside`).
        parts: of what is lent, what other binaries have: those of the variant's other parts, by
            the identifiers of their kernels and variables.
        compiled_as: the number that its names in the file have; None: its own.
        chosen: its number in the schema that the file holds (see
            :meth:`gi_cuda.grammar.ParsedText.schema`); None: it is none of a schema.
    """

    ident: int
    path: Path
    code_key: bytes | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    kernel_keys: Mapping[str, bytes] = field(default_factory=dict)
    lent: frozenset[str] = frozenset()
    lender: Binary | None = None
    parts: Mapping[str, Binary] = field(default_factory=dict)
    compiled_as: int | None = field(default=None, kw_only=True)
    chosen: int | None = field(default=None, kw_only=True)

    @property
    def namespace(self) -> str:
        """Where its names in the file are."""
        return f"v{self.ident if self.compiled_as is None else self.compiled_as}"

    def member(self, ident: int, chosen: int) -> Self:
        """A variant out of this schema, whose machine code is not its own.

        Args:
            ident: the variant's number.
            chosen: that in the schema.
        """
        own = self.ident if self.compiled_as is None else self.compiled_as
        parts = {name: one.member(ident, chosen) for name, one in self.parts.items()}
        return replace(
            self, ident=ident, compiled_as=own, chosen=chosen, code_key=None, parts=parts
        )

    def with_others(self, ident: int, others: Iterable[Binary]) -> Self:
        """A variant of which this and others are the parts.

        Args:
            ident: the variant's number.
        """
        own = self.ident if self.compiled_as is None else self.compiled_as
        parts = {name: one for one in others for name in self.lent - one.lent}
        return replace(self, ident=ident, compiled_as=own, parts=parts)

    def of_parts(self, make: Callable[[Binary], Made]) -> dict[str, Made]:
        """What is made of its other parts, of each once, by the identifiers of what they have."""
        made: dict[tuple[Path, str], Made] = {}
        for one in self.parts.values():
            if (one.path, one.namespace) not in made:
                made[one.path, one.namespace] = make(one)
        return {name: made[one.path, one.namespace] for name, one in self.parts.items()}

    def beside(self, reference: Binary) -> Binary:
        """This one with what it is lent, by the reference and others: key and resources are those
        of all."""
        if not self.lent:
            return self
        lenders = {name: self.parts.get(name, reference) for name in self.lent}
        theirs = {
            name: one.kernel_keys[name] for name, one in lenders.items() if name in one.kernel_keys
        }
        # Without its kernels' keys the back end has none.
        known = self.code_key and theirs and all(one.code_key for one in self.parts.values())
        key = code_key({**theirs, **self.kernel_keys}) if known else None
        resources = self.resources_beside(lenders)
        return replace(self, code_key=key, resources=resources, lender=reference)

    def resources_beside(self, lenders: Mapping[str, Binary]) -> Mapping[str, int]:
        """What it takes together with what it is lent, by names."""
        return self.resources


def folders(binaries: Iterable[Binary]) -> list[Path]:
    """The folders with the files of some binaries, and of what these are lent."""
    found: dict[Path, None] = {}
    waiting = list(binaries)
    while waiting:
        one = waiting.pop()
        found[one.path.parent] = None
        waiting += one.parts.values()
        waiting += [one.lender] if one.lender else []
    return list(found)


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """Why a variant did not compile: the compiler's first message about it."""

    ident: int
    message: str


Built = Binary | BuildFailure


@dataclass(frozen=True, slots=True)
class BlockSize:
    """What a block of a launch has.

    Attributes:
        threads: how many.
        shared: bytes of dynamic shared memory.
    """

    threads: int
    shared: int


def code_key(kernel_keys: Mapping[str, bytes]) -> bytes:
    """128-bit key of all code, given that of each kernel."""
    digest = xxhash.xxh3_128()
    for name, key in sorted(kernel_keys.items()):
        digest.update(f"{name}\0".encode() + key)
    return digest.digest()


class Compiler(Protocol):
    """What a back end's compiler does with a batch (one object per run)."""

    @property
    def disturbs(self) -> bool:
        """Whether compiling takes the processor that variants are timed on."""

    @property
    def jobs(self) -> int:
        """Compiler processes at a time."""

    @property
    def idle(self) -> int:
        """How many of these have nothing to do now, whoever has them compile."""

    @property
    def makes(self) -> type[Binary]:
        """The class of its binaries, whose fields are all plain data."""

    def identity(self, options: tuple[str, ...]) -> bytes | None:
        """A hash of all that decides which code it makes of phenotypes with these options, besides
        their texts: tools, headers, options of its own. None where that cannot be told."""

    def deciding(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """Those of a variant's options that can decide what it answers, as this one compiles it."""

    def warm_up(self, reference: Variant) -> None:
        """Find out what the first large batch will need to know of headers. That takes seconds, and
        may be done beside anything else, before there is such a batch.

        Args:
            reference: the unmodified source.
        """

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess a whole batch with one process; every variant's number is in the answer."""

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch in shards below ``folder``; results come as shards end."""

    def parts(
        self, phenotypes: Sequence[Phenotype], reference: Phenotype
    ) -> list[Sequence[Phenotype]]:
        """Of each phenotype what it does not leave to a reference, in parts that can be compiled by
        themselves; none where it is one. Equal parts have equal keys."""

    def of_sources(self, front: str | None = None) -> Compiler:
        """The compiler of the sources that are behind what this one compiles; with another prelude
        (see :func:`gi_cuda.backends.compile.preprocess.prelude`), if one is given."""

    def of_subject(self, subject: Subject) -> Compiler:
        """This compiler for another source that takes the place of the one it is for: with that
        one's includes, kernels and macros."""

    def headers(self) -> str | None:
        """What is in front of all variants of the sources, preprocessed; None where that fails."""

    def apart(self) -> Compiler:
        """This compiler, giving equal variants machine code of their own, each in its place: for
        those who ask what a place makes out."""

    def rehearsing(self) -> Sequence[Compiler]:
        """Compilers of the same whose code is run before this one's, of which nobody knows yet what
        it does. Where a death costs much theirs does no harm, whatever it was made of: it answers
        as this one's would where that is right, and leaves signs where that would have crashed or
        hung. There may be several, the better their code the slower; empty where there is no such
        thing."""

    def other_locals(self) -> Sequence[Compiler]:
        """Compilers of the same whose code holds other values in locals that nothing sets; none
        where it leaves there what happens to be there."""

    def differently(self, options: tuple[str, ...]) -> Compiler | None:
        """This compiler, making code that rounds products and sums apart and, where threads run at
        a time, is slower: answers that depend on neither are the same. None where what it makes of
        variants with these options is no other."""

    def for_other_devices(self) -> Sequence[Compiler]:
        """Compilers of the same for other devices and versions, as far as a source can ask for them
        by macros: they tell which text these would be given. None where that is not known."""

    def examined(self, variant: Variant) -> Examination:
        """A closer look at a variant, which is compiled alone for it: what the compiler warns of,
        and what the code needs that no device has."""

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """What a closer look at a binary tells beyond its resources: numbers by their names.

        Args:
            blocks: how its kernels are launched, by the kernels' names.
        """
