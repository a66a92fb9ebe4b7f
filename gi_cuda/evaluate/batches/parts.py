"""Texts compiled in parts, each of them once, however many trials have it.

A trial of a source with several kernels seldom changes all of them, and what it changes others have
changed in the same way before: its parents, its siblings. So what is compiled are kernels with what
they need (see :mod:`gi_cuda.backends.compile.lending`). A part has one number and one text in a
batch, whichever trial it comes from; beyond that, the compiler's cache knows it.
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
"""The number of the first part; neither individuals nor schemata come to so many."""

_Key: TypeAlias = tuple[tuple[str, ...], bytes]


class Parts:
    """The parts of all texts that a batch compiles, in whichever way."""

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
        """Compile a batch; what cannot be had in parts is compiled whole, as the reference is, and
        what a compiler does not take in parts."""
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
        """A trial or schema is over."""
        with self._lock:
            for part in self._of.pop(ident, ()):
                key = (part.options, part.key)
                self._users[key] -= 1
                if not self._users[key]:
                    del self._users[key], self._parts[key]

    def _in_parts(
        self, compiler: Compiler, phenotypes: Sequence[Phenotype], reference: Phenotype
    ) -> dict[int, tuple[Phenotype, ...]]:
        """The parts of each phenotype; of the reference none, and of what cannot be had in parts.

        They are worked out once for each, however often it is compiled.
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
        """A part as it was seen first."""
        key = (part.options, part.key)
        self._users[key] += 1
        if key not in self._parts:
            ident = next(self._numbers)
            text = part.text.replace(f'"v{part.ident}/', f'"v{ident}/')
            self._parts[key] = replace(part, ident=ident, text=text)
        return self._parts[key]
