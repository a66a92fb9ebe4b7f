"""What has been tried is never tried again: the genotypic and the phenotypic list."""

from __future__ import annotations

from collections.abc import Iterable


class Tabu:
    """Two growing sets of 128-bit keys, and what was added since they were last stored."""

    def __init__(self, genotypes: Iterable[bytes] = (), phenotypes: Iterable[bytes] = ()) -> None:
        self.genotypes = set(genotypes)
        self.phenotypes = set(phenotypes)
        self._new_genotypes: list[bytes] = []
        self._new_phenotypes: list[bytes] = []

    def add_genotype(self, key: bytes) -> bool:
        """Enter a genotype; False where it was there already."""
        return _add(key, self.genotypes, self._new_genotypes)

    def add_phenotype(self, key: bytes) -> bool:
        """Enter a phenotype; False where it was there already."""
        return _add(key, self.phenotypes, self._new_phenotypes)

    def take_new(self) -> tuple[list[bytes], list[bytes]]:
        """Genotypes and phenotypes entered since the last call."""
        new = (self._new_genotypes, self._new_phenotypes)
        self._new_genotypes, self._new_phenotypes = [], []
        return new


def _add(key: bytes, known: set[bytes], new: list[bytes]) -> bool:
    if key in known:
        return False
    known.add(key)
    new.append(key)
    return True
