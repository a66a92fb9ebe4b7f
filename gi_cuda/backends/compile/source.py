"""What the compilers of sources have in common: what they are told of a source, preprocessing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from gi_cuda.backends.compile.namespaces import namespaces
from gi_cuda.backends.compile.phenotypes import phenotypes
from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.compile.process import Finished
from gi_cuda.backends.compile.shards import Sizes
from gi_cuda.backends.protocol.variants import BuildFailure, Phenotype, Variant

if TYPE_CHECKING:
    from gi_cuda.subject import Subject

PREPROCESS_LIMIT = 120.0
"""Seconds of wall time one preprocessor process may take."""

COMPILE_LIMIT = 300.0
"""Seconds of wall time one shard may take to compile; a shard over it is halved."""

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
        shares: whether variants may share machine code.
    """

    file_name: str
    front: str
    options: tuple[str, ...]
    jobs: int
    sizes: Sizes
    kernels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    shares: bool = True

    @classmethod
    def of(cls, subject: Subject, jobs: int, **own: Any) -> Self:
        """The compiler of a subject's variants.

        Args:
            subject: a source.
            jobs: processes at a time.
            own: the attributes that this kind of compiler has besides.
        """
        source, target = subject.grammar.source, subject.target
        folders = (*target.build.include, target.source.parent)
        return cls(
            file_name=source.name,
            front=prelude(source.text, subject.macros(subject.space.default)),
            options=(f"-std={target.build.standard}", *(f"-I{folder}" for folder in folders)),
            jobs=jobs,
            kernels=target.kernels,
            symbols=tuple(b.symbol for b in target.buffers if b.symbol is not None),
            namespaces=namespaces(source.text),
            **own,
        )

    def of_sources(self, front: str | None = None) -> Self:
        """This one, or one with another prelude."""
        return self if front is None else replace(self, front=front)

    def apart(self) -> Self:
        """The same, but equal variants get machine code of their own."""
        return replace(self, shares=False)

    def preprocess(self, variants: Sequence[Variant]) -> dict[int, Phenotype | BuildFailure]:
        """Preprocess a batch with few processes, without the variants whose directives fail."""
        if exports := self._exports():
            # Within the variant, so that a kernel's name may use its macros and types.
            variants = [
                replace(v, text=f'{v.text}\n#line 1 "v{v.ident}/{_EXPORTS}"\n{exports}')
                for v in variants
            ]
        front, preprocess = self._preprocessor()
        return phenotypes(variants, front, self.file_name, preprocess, self.jobs)

    @abstractmethod
    def _exports(self) -> str:
        """What follows a variant's text to make its kernels and variables known."""

    @abstractmethod
    def _preprocessor(self) -> tuple[str, Callable[[str], Finished]]:
        """The text in front of a batch, and what preprocesses both."""
