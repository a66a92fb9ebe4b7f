"""Build a batch from source texts to binaries in one call, without phenotypes in between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gi_cuda.backends.protocol.variants import Built, Compiler, Phenotype, Variant


def build_batch(compiler: Compiler, variants: Sequence[Variant], folder: Path) -> dict[int, Built]:
    """Preprocess and compile variants. Return a binary or failure for each, by its number."""
    phenotypes = compiler.preprocess(variants)
    ready = [one for one in phenotypes.values() if isinstance(one, Phenotype)]
    built: dict[int, Built] = {
        ident: one for ident, one in phenotypes.items() if not isinstance(one, Phenotype)
    }
    built.update((one.ident, one) for one in compiler.compile(ready, folder))
    return built
