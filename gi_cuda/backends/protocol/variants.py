"""Values that pass through a build (variants, phenotypes, binaries); interface of compilers."""

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
        ident: its number within the run; its namespace is ``v<ident>``.
        text: the rendered source.
        macros: macros that are defined before the text and undefined after it.
        options: its own compiler options; variants with equal options can share a batch.
    """

    ident: int
    text: str
    macros: Mapping[str, str]
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Phenotype:
    """A variant after preprocessing: macros expanded, inactive branches removed.

    Attributes:
        ident: the variant's number.
        text: the preprocessed source with its line markers, ready to be compiled.
        options: its own compiler options.
        key: 128-bit xxh3 of the whole text with white space and line markers normalised.
        lent: identifiers (:func:`gi_cuda.spec.launching.kernel_names.identifier`) of kernels and
            variables that the variant takes from the reference's binary. The text is without these
            kernels.
        overloads: names of its functions that are also names of functions of the language.
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
        ident: the variant's number.
        path: the file that holds it.
        code_key: 128-bit key of its machine code, equal for equal code; None if the back end has
            none.
        resources: registers, spills, shared memory etc., as the compiler reports them.
        kernel_keys: the keys that the code key is made of, by identifiers of kernels (and of
            variables with keys of their own).
        lent: see :class:`Phenotype`.
        lender: the reference's binary, which has the lent kernels and variables; None if there are
            none, or before :meth:`beside`.
        parts: binaries of the variant's other parts, by the identifiers of the kernels and
            variables that they have. These identifiers are in ``lent``, too.
        compiled_as: the number in the file's namespace, if it is not the variant's own.
        chosen: the variant's number in the schema that the file holds (see
            :meth:`gi_cuda.grammar.ParsedText.schema`); None if the file holds no schema.
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
        """Namespace of its names in the file."""
        return f"v{self.ident if self.compiled_as is None else self.compiled_as}"

    def member(self, ident: int, chosen: int) -> Self:
        """Return the binary of one variant of this schema. Its machine code has no key of its own.

        Args:
            ident: the variant's number.
            chosen: the variant's number in the schema.
        """
        own = self.ident if self.compiled_as is None else self.compiled_as
        parts = {name: one.member(ident, chosen) for name, one in self.parts.items()}
        return replace(
            self, ident=ident, compiled_as=own, chosen=chosen, code_key=None, parts=parts
        )

    def with_others(self, ident: int, others: Iterable[Binary]) -> Self:
        """Return the binary of a variant whose parts are this binary and others.

        Args:
            ident: the variant's number.
        """
        own = self.ident if self.compiled_as is None else self.compiled_as
        parts = {name: one for one in others for name in self.lent - one.lent}
        return replace(self, ident=ident, compiled_as=own, parts=parts)

    def of_parts(self, make: Callable[[Binary], Made]) -> dict[str, Made]:
        """Apply a function once to each other part, and return its results.

        Returns:
            Results by the identifiers of the kernels and variables that the part has.
        """
        made: dict[tuple[Path, str], Made] = {}
        for one in self.parts.values():
            if (one.path, one.namespace) not in made:
                made[one.path, one.namespace] = make(one)
        return {name: made[one.path, one.namespace] for name, one in self.parts.items()}

    def beside(self, reference: Binary) -> Binary:
        """Return this binary with all that is lent to it by a reference and by its other parts.

        Key and resources of the result cover the lent kernels too.
        """
        if not self.lent:
            return self
        lenders = {name: self.parts.get(name, reference) for name in self.lent}
        theirs = {
            name: one.kernel_keys[name] for name, one in lenders.items() if name in one.kernel_keys
        }
        # A back end whose kernels have no keys has no code keys.
        known = self.code_key and theirs and all(one.code_key for one in self.parts.values())
        key = code_key({**theirs, **self.kernel_keys}) if known else None
        resources = self.resources_beside(lenders)
        return replace(self, code_key=key, resources=resources, lender=reference)

    def resources_beside(self, lenders: Mapping[str, Binary]) -> Mapping[str, int]:
        """Return the resources of this binary together with the kernels that are lent to it.

        Args:
            lenders: binaries by the identifiers of the kernels and variables that they lend.
        """
        return self.resources


def folders(binaries: Iterable[Binary]) -> list[Path]:
    """Return the folders with the files of binaries, of their parts and of their lenders."""
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
    """The failure of a variant to compile, with the compiler's first message about it."""

    ident: int
    message: str


Built = Binary | BuildFailure


@dataclass(frozen=True, slots=True)
class BlockSize:
    """The size of a launch's blocks.

    Attributes:
        threads: number of threads.
        shared: bytes of dynamic shared memory.
    """

    threads: int
    shared: int


def code_key(kernel_keys: Mapping[str, bytes]) -> bytes:
    """Return the 128-bit key of all code from the key of each kernel."""
    digest = xxhash.xxh3_128()
    for name, key in sorted(kernel_keys.items()):
        digest.update(f"{name}\0".encode() + key)
    return digest.digest()


class Compiler(Protocol):
    """The interface of a back end's compiler (one object per run)."""

    @property
    def disturbs(self) -> bool:
        """Tell whether compiling uses the processor that variants are timed on."""

    @property
    def jobs(self) -> int:
        """Number of compiler processes at a time."""

    @property
    def idle(self) -> int:
        """Number of these processes that are idle now, whoever uses the others."""

    @property
    def makes(self) -> type[Binary]:
        """Class of its binaries. All fields of the class are plain data."""

    def identity(self, options: tuple[str, ...]) -> bytes | None:
        """Return a hash of everything besides the text that decides the code of a phenotype.

        That is: tools, headers, the compiler's own options and the given ones. None if it is not
        known.
        """

    def deciding(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """Return the options of a variant that can change its outputs with this compiler."""

    def warm_up(self, reference: Variant) -> None:
        """Find out ahead of time what the first large batch needs to know about headers.

        This takes seconds, and may run while other work goes on.

        Args:
            reference: the unmodified source.
        """

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess a batch with one process. Return a result for each variant, by number."""

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch in shards below ``folder``. Yield results as shards end."""

    def parts(
        self, phenotypes: Sequence[Phenotype], reference: Phenotype
    ) -> list[Sequence[Phenotype]]:
        """Split each phenotype, without what it borrows from a reference, into parts.

        Returns:
            For each phenotype its parts; none if it cannot be split. Equal parts have equal keys.
        """

    def of_sources(self, front: str | None = None) -> Compiler:
        """Return the compiler of the sources from which the texts for this compiler are made.

        Args:
            front: another prelude (see :func:`gi_cuda.backends.compile.preprocess.prelude`), if
                given.
        """

    def of_subject(self, subject: Subject) -> Compiler:
        """Return this compiler for another source, with its includes, kernels and macros."""

    def headers(self) -> str | None:
        """Return the preprocessed text before all variants of the sources; None if it fails."""

    def apart(self) -> Compiler:
        """Return this compiler, made to give equal variants machine code at different addresses.

        It serves to measure the effect of the code's address.
        """

    def rehearsing(self) -> Sequence[Compiler]:
        """Return compilers for rehearsals, the first runs of variants of unknown behaviour.

        On a back end where a worker's death costs much, their code is confined: it can do no harm.
        It gives the same outputs as this compiler's code if that is right, and leaves signs where
        that would crash or hang. Of several compilers, those with faster code take longer. Empty if
        the back end has none.
        """

    def other_locals(self) -> Sequence[Compiler]:
        """Return compilers whose code puts other values into locals that nothing sets.

        Empty if this compiler leaves arbitrary values there anyway.
        """

    def differently(self, options: tuple[str, ...]) -> Compiler | None:
        """Return a compiler whose code rounds products and sums separately.

        It is slower if threads run concurrently. Outputs that depend neither on rounding nor on
        timing are the same. None if its code for variants with these options would be the same.
        """

    def for_other_devices(self) -> Sequence[Compiler]:
        """Return compilers for other devices and versions that a source can distinguish by macros.

        They are used to get the preprocessed text for these. Empty if they are not known.
        """

    def examined(self, variant: Variant) -> Examination:
        """Compile a variant alone and return findings: warnings, and names that no device has."""

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """Return numbers about a binary, by name, that go beyond its resources.

        Args:
            blocks: block sizes by kernel name.
        """
