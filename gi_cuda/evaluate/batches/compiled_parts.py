"""Compilation in parts: groups of kernels that many trials share are compiled once.

A trial of a source with several kernels seldom changes all of them, and parents or siblings often
changed them in the same way. So a part is a set of kernels with the code that they need (see
:mod:`gi_cuda.backends.compile.borrowed_kernels`). A part has one number and one text in a batch, no
matter which trial it comes from. Across batches, the code cache recognizes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Compiler, Phenotype

FIRST = 2 * 10**9
"""Number of the first part; the numbers of individuals and schemata stay below."""

_Key: TypeAlias = tuple[tuple[str, ...], bytes]


class Parts:
    """The parts of all texts that a batch compiles."""

    def __init__(self) -> None:
        self._numbers = count(FIRST)
        self._parts: dict[_Key, Phenotype] = {}
        self._users: Counter[_Key] = Counter()
        self._of: dict[int, tuple[Phenotype, ...]] = {}
        self._lock = Lock()

    def compiled(
        self,
        compiler: Compiler,
        phenotypes: Sequence[Phenotype],
        reference: Phenotype,
        folder: Path,
    ) -> Iterator[Built]:
        """Compile a batch and yield the binaries.

        The reference and texts that cannot be divided are compiled whole. So is a text with a part
        that does not compile.
        """
        parts = self._in_parts(compiler, phenotypes, reference)
        whole = [one for one in phenotypes if not parts[one.ident]]
        users: dict[int, list[Phenotype]] = {}
        wanted: dict[int, Phenotype] = {}
        for one in phenotypes:
            for part in parts[one.ident]:
                wanted[part.ident] = part
                users.setdefault(part.ident, []).append(one)
        done: dict[int, Binary] = {}
        failed: dict[int, Phenotype] = {}
        for built in compiler.compile([*whole, *wanted.values()], folder):
            if built.ident not in wanted:
                yield built
            elif isinstance(built, BuildFailure):
                failed |= {one.ident: one for one in users[built.ident]}
            else:
                done[built.ident] = built
                for one in users[built.ident]:
                    own = parts[one.ident]
                    if all(part.ident in done for part in own):
                        first, *others = (done[part.ident] for part in own)
                        yield first.with_others(one.ident, others)
        if failed:
            yield from compiler.compile(list(failed.values()), folder / "whole")

    def forget(self, ident: int) -> None:
        """Release the parts of a trial or schema that has ended."""
        with self._lock:
            for part in self._of.pop(ident, ()):
                key = (part.options, part.key)
                self._users[key] -= 1
                if not self._users[key]:
                    del self._users[key], self._parts[key]

    def _in_parts(
        self, compiler: Compiler, phenotypes: Sequence[Phenotype], reference: Phenotype
    ) -> dict[int, tuple[Phenotype, ...]]:
        """Return the parts of each phenotype; none for the reference and for indivisible ones.

        The parts of a phenotype are computed once.
        """
        with self._lock:
            new = [one for one in phenotypes if one.ident not in self._of]
        new = [one for one in new if one is not reference]
        found = compiler.parts(new, reference)
        with self._lock:
            for one, some in zip(new, found, strict=True):
                if one.ident not in self._of:
                    self._of[one.ident] = tuple(map(self._known, some))
            return {one.ident: self._of.get(one.ident, ()) for one in phenotypes}

    def _known(self, part: Phenotype) -> Phenotype:
        """Return the first part with the same text and options, and count its users."""
        key = (part.options, part.key)
        self._users[key] += 1
        if key not in self._parts:
            ident = next(self._numbers)
            text = part.text.replace(f'"v{part.ident}/', f'"v{ident}/')
            self._parts[key] = replace(part, ident=ident, text=text)
        return self._parts[key]
