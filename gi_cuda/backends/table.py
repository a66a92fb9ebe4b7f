"""The back ends: where variants are compiled and executed, and what is known of that place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gi_cuda.backends.compile.namespaces import namespaces
from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.compile.prune import identifiers
from gi_cuda.backends.cuda import Toolkit, find_toolkit, query, require_gpu
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.helpers import build_helpers
from gi_cuda.backends.cuda.ptx.batch import PtxCompiler
from gi_cuda.backends.host import build_library, find_compiler
from gi_cuda.backends.host.compiler import HostCompiler
from gi_cuda.backends.machine import processor_name, said_version, versions
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.errors import UserError
from gi_cuda.subject import Subject

CREW = 4
"""Processes that share a GPU, at most. A fresh one takes some 0.3 s to be ready."""

MEMORY_EACH = 4 * 2**30
"""Bytes of a GPU's memory for each of them. A context takes half a gigabyte before any buffer."""

RESERVE = 24
"""Fresh processes that may wait for others to die, at most. Making one ready slows down all that is
being measured, by some 0.1 s."""

DEFAULT_ARCHITECTURE = "sm_90"
"""What is compiled for where nothing is executed and there is no device to ask."""


class Processes(NamedTuple):
    """Worker processes.

    Attributes:
        crew: that measure.
        extra: how many more there may be for what is measured alone.
        reserve: how many more may wait, ready for when others die.
    """

    crew: int
    extra: int = 0
    reserve: int = 0


class Backend(Protocol):
    """A back end that is ready for use on this machine."""

    @property
    def depth(self) -> int:
        """Requests that a worker is sent ahead."""

    @property
    def together(self) -> int:
        """Most variants that share the reference's launches."""

    def processes(self, workers: int) -> Processes:
        """The worker processes for so many measurements at a time."""

    def workers(self, asked: int, cores: int) -> int:
        """Measurements at a time.

        Args:
            asked: what the user wants; 0 leaves it to the back end.
            cores: processors that there are.

        Raises:
            UserError: it cannot measure so many at a time.
        """

    def compiler(self, subject: Subject, jobs: int) -> Compiler:
        """The compiler for a subject, with so many processes at a time."""

    def device(self) -> str:
        """The name of what variants run on."""

    def versions(self) -> dict[str, str]:
        """Versions of this tool and of all that a measurement depends on."""


@dataclass(frozen=True, slots=True)
class HostBackend:
    """The processor, and the C++ compiler ``cxx``."""

    cxx: str
    depth: int = 1
    together: int = 1

    def processes(self, workers: int) -> Processes:
        """As many: each has a processor of its own."""
        return Processes(workers)

    def workers(self, asked: int, cores: int) -> int:
        """One for each core."""
        return asked or cores

    def compiler(self, subject: Subject, jobs: int) -> HostCompiler:
        """g++ or clang++."""
        return host_compiler(subject, jobs, self.cxx)

    def device(self) -> str:
        """The processor's name."""
        return processor_name()

    def versions(self) -> dict[str, str]:
        """Of this tool, Python and the compiler."""
        return versions(compiler=said_version(self.cxx))


@dataclass(frozen=True, slots=True)
class CudaBackend:
    """The first GPU, and nvcc.

    Attributes:
        toolkit: with nvcc.
        architecture: the GPU's, e.g. ``sm_90``.
        gpu: its name.
        driver: newest CUDA that the driver knows.
        memory: its memory, bytes.
        depth: a worker has its next request before it answers.
        together: beyond some ten, the reference's share is small, and more are lost with one that
            takes its worker down.
    """

    toolkit: Toolkit
    architecture: str
    gpu: str
    driver: str
    memory: int
    depth: int = 2
    together: int = 8

    def processes(self, workers: int) -> Processes:
        """Several that take turns at the GPU. While one has it, others load modules, judge answers
        in Python, or start."""
        room = self.memory // MEMORY_EACH
        crew = max(1, min(CREW, room)) * workers
        return Processes(crew, crew, max(0, min(RESERVE, room - 2 * crew)))

    def workers(self, asked: int, cores: int) -> int:
        """One: two at a time on one GPU would time each other."""
        if asked > 1:
            raise UserError(
                f"{asked} workers cannot time variants on one GPU without disturbing each other",
                where="--workers",
                hint="leave it out: the cuda back end has one",
            )
        return 1

    def compiler(self, subject: Subject, jobs: int) -> Compiler:
        """nvcc, or its ptxas, for this GPU."""
        return cuda_compiler(subject, jobs, self.toolkit, self.architecture)

    def device(self) -> str:
        """The GPU's name."""
        return self.gpu

    def versions(self) -> dict[str, str]:
        """Of this tool, Python, nvcc and the driver."""
        return versions(compiler=f"nvcc {self.toolkit.version}", driver=f"CUDA {self.driver}")


def open_backend(name: str) -> Backend:
    """Make a back end ready for use.

    Args:
        name: ``host`` or ``cuda``.

    Raises:
        UserError: what it needs is not there: compilers, a driver, a GPU.
    """
    # What is wrong with a compiler comes out here, before anything is compiled with it.
    if name == "host":
        cxx = find_compiler()
        build_library(cxx)
        return HostBackend(cxx)
    toolkit, gpu = find_toolkit(), require_gpu()
    build_helpers(toolkit, gpu.architecture)
    return CudaBackend(toolkit, gpu.architecture, gpu.name, query().version, gpu.memory)


def open_compiler(subject: Subject, jobs: int) -> Compiler:
    """The compiler of a subject's back end, where nothing is going to be executed.

    Raises:
        UserError: there is none.
    """
    if subject.backend == "host":
        return host_compiler(subject, jobs, find_compiler())
    return cuda_compiler(subject, jobs, find_toolkit(), _architecture())


def open_nvcc(subject: Subject, jobs: int) -> NvccCompiler:
    """nvcc for a source, where nothing is going to be executed.

    Raises:
        UserError: there is none.
    """
    return nvcc_compiler(subject, jobs, find_toolkit(), _architecture())


def _architecture() -> str:
    gpus = query().gpus
    return gpus[0].architecture if gpus else DEFAULT_ARCHITECTURE


def host_compiler(subject: Subject, jobs: int, cxx: str) -> HostCompiler:
    """``cxx`` as the compiler of a subject."""
    return HostCompiler(
        cxx=cxx,
        file_name=subject.grammar.source.name,
        front=_front(subject),
        kernels=subject.target.kernels,
        options=_options(subject),
        jobs=jobs,
        symbols=_symbols(subject),
        namespaces=namespaces(subject.grammar.source.text),
    )


def cuda_compiler(subject: Subject, jobs: int, toolkit: Toolkit, architecture: str) -> Compiler:
    """nvcc as the compiler of a source, its ptxas as that of PTX."""
    nvcc = nvcc_compiler(subject.source, jobs, toolkit, architecture)
    if subject.level == "ptx":
        return PtxCompiler(nvcc, subject.grammar.source.name)
    return nvcc


def nvcc_compiler(subject: Subject, jobs: int, toolkit: Toolkit, architecture: str) -> NvccCompiler:
    """nvcc as the compiler of a source."""
    return NvccCompiler(
        nvcc=str(toolkit.nvcc),
        architecture=architecture,
        file_name=subject.grammar.source.name,
        front=_front(subject),
        options=_options(subject),
        jobs=jobs,
        kernels=subject.target.kernels,
        symbols=_symbols(subject),
        namespaces=namespaces(subject.grammar.source.text),
        disassembler=toolkit.tool("nvdisasm"),
        names=_names(subject),
    )


def _front(subject: Subject) -> str:
    return prelude(subject.grammar.source.text, subject.macros(subject.space.default))


def _names(subject: Subject) -> frozenset[str]:
    """What variants may say: all they are made of is in the source or a parameter's value."""
    values = (str(value) for parameter in subject.target.parameters for value in parameter.values)
    texts = (subject.reference, *subject.macros(subject.space.default).values(), *values)
    return frozenset[str]().union(*map(identifiers, texts))


def _options(subject: Subject) -> tuple[str, ...]:
    target = subject.target
    folders: Sequence[object] = (*target.build.include, target.source.parent)
    return (f"-std={target.build.standard}", *(f"-I{folder}" for folder in folders))


def _symbols(subject: Subject) -> tuple[str, ...]:
    return tuple(b.symbol for b in subject.target.buffers if b.symbol is not None)
