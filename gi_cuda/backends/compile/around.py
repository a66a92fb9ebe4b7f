"""What compilers share that are another one in all but how they compile."""

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
class AroundCompiler:
    """A compiler around another one, which is asked for all that does not compile variants.

    Attributes:
        inner: the other one.
    """

    inner: Compiler

    @property
    def makes(self) -> type[Binary]:
        """What the compiler makes."""
        return self.inner.makes

    def identity(self, options: tuple[str, ...]) -> bytes | None:
        """The compiler's."""
        return self.inner.identity(options)

    def deciding(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """The compiler's."""
        return self.inner.deciding(options)

    def warm_up(self, reference: Variant) -> None:
        """Warm up the compiler."""
        self.inner.warm_up(reference)

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """As the compiler does: it is what tells whether the rest is to be done."""
        return self.inner.preprocess(variants)

    def parts(
        self, phenotypes: Sequence[Phenotype], reference: Phenotype
    ) -> list[Sequence[Phenotype]]:
        """As the compiler does."""
        return self.inner.parts(phenotypes, reference)

    def of_sources(self, front: str | None = None) -> Compiler:
        """The compiler's: it is asked for facts about sources."""
        return self.inner.of_sources(front)

    def of_subject(self, subject: Subject) -> Compiler:
        """The compiler's, for another source."""
        return self.inner.of_subject(subject)

    def headers(self) -> str | None:
        """The compiler's."""
        return self.inner.headers()

    def other_locals(self) -> Sequence[Compiler]:
        """The compiler's: they are needed once."""
        return self.inner.other_locals()

    def differently(self, options: tuple[str, ...]) -> Compiler | None:
        """The compiler's: it is needed once."""
        return self.inner.differently(options)

    def for_other_devices(self) -> Sequence[Compiler]:
        """The compiler's: they are asked for text."""
        return self.inner.for_other_devices()

    def examined(self, variant: Variant) -> Examination:
        """As the compiler does."""
        return self.inner.examined(variant)

    def inspect(self, binary: Binary, blocks: Mapping[str, BlockSize]) -> dict[str, int]:
        """As the compiler does."""
        return self.inner.inspect(binary, blocks)
