"""The values that pass through a build: variants in, binaries or messages out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


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
        key: 128-bit xxh3 of the text with white space and line markers normalised.
    """

    ident: int
    text: str
    options: tuple[str, ...]
    key: bytes


@dataclass(frozen=True, slots=True)
class Binary:
    """A compiled variant.

    Attributes:
        ident: its number.
        path: the file that holds it.
        code_key: 128-bit key of its machine code, equal for equal code; None where the back end
            has none.
        resources: what the compiler says it takes: registers, spills, shared memory.
        compiled_as: the number that its names in the file have; None: its own.
    """

    ident: int
    path: Path
    code_key: bytes | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    compiled_as: int | None = field(default=None, kw_only=True)

    @property
    def namespace(self) -> str:
        """Where its names in the file are."""
        return f"v{self.ident if self.compiled_as is None else self.compiled_as}"


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


class Compiler(Protocol):
    """What a back end's compiler does with a batch (one object per run)."""

    @property
    def disturbs(self) -> bool:
        """Whether compiling takes the processor that variants are timed on."""

    @property
    def jobs(self) -> int:
        """Compiler processes at a time."""

    @property
    def makes(self) -> type[Binary]:
        """The class of its binaries, whose fields are all plain data."""

    def identity(self, options: tuple[str, ...]) -> bytes | None:
        """A hash of all that decides which code it makes of phenotypes with these options, besides
        their texts: tools, headers, options of its own. None where that cannot be told."""

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess a whole batch with one process; every variant's number is in the answer."""

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch in shards below ``folder``; results come as shards end."""

    def of_sources(self, front: str | None = None) -> Compiler:
        """The compiler of the sources that are behind what this one compiles; with another prelude
        (see :func:`gi_cuda.backends.compile.preprocess.prelude`), if one is given."""

    def apart(self) -> Compiler:
        """This compiler, giving equal variants machine code of their own, each in its place: for
        those who ask what a place makes out."""

    def confining(self) -> Sequence[Compiler]:
        """This compiler, making code that does no harm whatever it was made of: it answers as the
        other would where that is right, and leaves signs where that would have crashed or hung.
        Such a compiler is given a batch before this one is. There may be several, the better their
        code the slower; empty where there is no such thing."""

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """What a closer look at a binary tells beyond its resources: numbers by their names.

        Args:
            blocks: how its kernels are launched, by the kernels' names.
        """
