"""Base class for compilers that wrap another one and delegate everything except ``compile``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gi_cuda.backends.protocol.examination import Examination
from gi_cuda.backends.protocol.variants import (
    Binary,
    BlockSize,
    BuildFailure,
    Compiler,
    Phenotype,
    Variant,
)

if TYPE_CHECKING:
    from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class DelegatingCompiler:
    """A compiler that delegates to another one all methods that do not compile variants.

    Attributes:
        inner: the other compiler.
    """

    inner: Compiler

    @property
    def makes(self) -> type[Binary]:
        """The inner compiler's class of binaries."""
        return self.inner.makes

    def identity(self, options: tuple[str, ...]) -> bytes | None:
        """Return the inner compiler's identity."""
        return self.inner.identity(options)

    def deciding(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """Return the options that can change outputs with the inner compiler."""
        return self.inner.deciding(options)

    def warm_up(self, reference: Variant) -> None:
        """Warm up the inner compiler."""
        self.inner.warm_up(reference)

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess with the inner compiler, which tells what has to be compiled at all."""
        return self.inner.preprocess(variants)

    def parts(
        self, phenotypes: Sequence[Phenotype], reference: Phenotype
    ) -> list[Sequence[Phenotype]]:
        """Split phenotypes with the inner compiler."""
        return self.inner.parts(phenotypes, reference)

    def of_sources(self, front: str | None = None) -> Compiler:
        """Return the inner compiler's, unwrapped: it only answers questions about sources."""
        return self.inner.of_sources(front)

    def of_subject(self, subject: Subject) -> Compiler:
        """Return the inner compiler for another source, unwrapped."""
        return self.inner.of_subject(subject)

    def headers(self) -> str | None:
        """Return the headers of the inner compiler."""
        return self.inner.headers()

    def other_locals(self) -> Sequence[Compiler]:
        """Return the inner compiler's, unwrapped: they are needed once."""
        return self.inner.other_locals()

    def differently(self, options: tuple[str, ...]) -> Compiler | None:
        """Return the inner compiler's, unwrapped: it is needed once."""
        return self.inner.differently(options)

    def for_other_devices(self) -> Sequence[Compiler]:
        """Return the inner compiler's, unwrapped: they only preprocess."""
        return self.inner.for_other_devices()

    def examined(self, variant: Variant) -> Examination:
        """Examine a variant with the inner compiler."""
        return self.inner.examined(variant)

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """Inspect a binary with the inner compiler."""
        return self.inner.inspect(binary, blocks)
