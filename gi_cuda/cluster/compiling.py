"""Worker side of distributed compilation: compile orders, results, and the helper that compiles."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gi_cuda.backends.compile.caching.identity import of_tool
from gi_cuda.backends.compile.shards import new_shard
from gi_cuda.backends.protocol.variants import BuildFailure, Built, Compiler, Phenotype
from gi_cuda.backends.table import open_compiler
from gi_cuda.cluster.package import Package
from gi_cuda.cluster.replica import check_alike, own_folder
from gi_cuda.runs.stored import open_store, stored_subject


@dataclass(frozen=True, slots=True)
class Order:
    """A compile job.

    Attributes:
        build: number of the build that it belongs to.
        stage: index of the compiler: 0 is the plain one, 1 and up are those for rehearsals.
        phenotype: the code to compile.
    """

    build: int
    stage: int
    phenotype: Phenotype


@dataclass(frozen=True, slots=True)
class Parcel:
    """The result of a compile job.

    Attributes:
        built: the result; its path is valid only on the worker.
        file: name of the binary; several variants may share it.
        content: of the binary; None if it was already sent for this build.
    """

    built: Built
    file: str = ""
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Compiles:
    """A helper that compiles for a search on another machine.

    Attributes:
        stages: the plain compiler, and those for rehearsals.
        folder: folder for binaries.
    """

    stages: Sequence[Compiler]
    folder: Path
    seconds: ClassVar[float] = 0.0
    floor: ClassVar[float] = 0.0

    def results(
        self,
        share: Mapping[int, Order],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, Order]],
    ) -> Iterator[tuple[int, Parcel]]:
        """Compile phenotypes, one batch for each build and stage.

        Args:
            stop, more: see :meth:`gi_cuda.cluster.machine.Helper.results`.
        """
        left = dict(share)
        while left and not stop():
            first = next(iter(left.values()))
            numbers: dict[int, int] = {}
            for number, one in left.items():
                if one.stage == first.stage and one.build == first.build:
                    numbers[one.phenotype.ident] = number
            phenotypes = [left.pop(number).phenotype for number in numbers.values()]
            folder = new_shard(self.folder)
            sent: set[Path] = set()
            for built in self.stages[first.stage].compile(phenotypes, folder):
                yield numbers[built.ident], _parcel(built, sent)
                if stop():
                    break
            shutil.rmtree(folder, ignore_errors=True)
            left |= more()


def _parcel(built: Built, sent: set[Path]) -> Parcel:
    if isinstance(built, BuildFailure):
        return Parcel(built)
    content = None if built.path in sent else built.path.read_bytes()
    sent.add(built.path)
    return Parcel(built, str(built.path), content)


@contextmanager
def compiling(package: Package, threads: int) -> Iterator[Compiles]:
    """Make a machine ready to compile for a run.

    Args:
        threads: maximum number of compiler processes at a time.

    Raises:
        UserError: the machine has no compiler, or another one than the search's machine.
    """
    with own_folder() as folder:
        run_folder = package.unpacked(folder, 1, threads)
        with open_store(run_folder) as store:
            subject = stored_subject(store, run_folder)
        compiler = open_compiler(subject, threads, package.architecture)
        check_alike(package.tools, tools_of_compiler(compiler))
        yield Compiles((compiler, *compiler.rehearsing()), folder / "built")


def tools_of_compiler(compiler: Compiler) -> dict[str, str]:
    """Return the versions that must be equal on all machines that compile, by readable name."""
    identity = compiler.identity(())
    return {
        "build of gi-cuda": of_tool().hex()[:8],
        "compiler, with its headers,": "unknown" if identity is None else identity.hex()[:8],
    }
