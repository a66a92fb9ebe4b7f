"""The CUDA back end: compiles kernels with nvcc, or PTX with ptxas, and runs them on equal GPUs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from xxhash import xxh3_128_hexdigest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.compile.caching.cache import cached_text
from gi_cuda.backends.cuda.bandwidth import copy_bandwidth
from gi_cuda.backends.cuda.choice import VISIBLE, choose
from gi_cuda.backends.cuda.driver import query, require_gpus
from gi_cuda.backends.cuda.examine import examine
from gi_cuda.backends.cuda.toolkit import Toolkit, brings_header, find_toolkit
from gi_cuda.backends.protocol.backend import Backend, LogForm, Processes, Sanitizer, versions
from gi_cuda.backends.protocol.device import DeviceMaker
from gi_cuda.backends.protocol.session import DeviceId
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler, Variant
from gi_cuda.errors import UserError

if TYPE_CHECKING:
    from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
    from gi_cuda.subject import Subject

CREW = 4
"""The most processes that share a GPU. A fresh one needs about 0.3 s to be ready."""

MEMORY_EACH = 4 * 2**30
"""Bytes of GPU memory for each process. A context takes half a gigabyte before any buffer."""

RESERVE = 24
"""The most fresh processes that wait to replace others. Making one slows down measurements by 0.1
s."""

ALIKE = 4
"""The most confirmations by one process that does nothing else.

While a fresh process opens the GPU, timing takes 1.6 times as long there. Then it fills memory for
all cases.
"""

DEFAULT_ARCHITECTURE = "sm_90"
"""Architecture to compile for if nothing is executed and there is no device to ask."""


_KEPT = 256
"""Number of texts for which is cached whether they compile without some headers."""

_SANITIZERS = ("memcheck", "initcheck", "synccheck")
"""Tools of compute-sanitizer, except the one that finds races."""


@dataclass(frozen=True, slots=True)
class OpenCuda:
    """GPUs of one kind, and nvcc.

    Attributes:
        toolkit: the toolkit with nvcc.
        architecture: the GPUs' architecture, e.g. ``sm_90``.
        gpu: the name of their kind.
        driver: newest CUDA version that the driver supports.
        memory: bytes of memory of the smallest GPU.
        devices: all GPUs.
        left_out: descriptions of GPUs of other kinds.
        depth: more than 1, so that a worker has its next request before it answers.
        together: with more than about ten, little is gained, and more variants are lost when one
            kills the worker.
        slack: small, since the device's clock is not disturbed.
        death: between 0.2 and 0.7 s were measured on an H200.
    """

    toolkit: Toolkit
    architecture: str
    gpu: str
    driver: str
    memory: int
    devices: tuple[DeviceId, ...] = (DeviceId(),)
    left_out: tuple[str, ...] = ()
    depth: int = 2
    together: int = 8
    slack: float = 3.0
    death: float = 0.3

    def processes(self, workers: int) -> Processes:
        """Return the numbers of processes that take turns at one GPU.

        While one process uses it, others load modules, judge outputs in Python, or start.
        """
        room = self.memory // MEMORY_EACH
        crew = max(1, min(CREW, room)) * workers
        return Processes(crew, crew, max(0, min(RESERVE, room - 2 * crew)), ALIKE)

    def workers(self, asked: int, cores: int) -> int:
        """Return 1 measurement at a time on each GPU: two would disturb each other.

        Raises:
            UserError: more are asked for.
        """
        if asked > 1:
            raise UserError(
                f"{asked} workers cannot time variants on one GPU without disturbing each other",
                where="--workers",
                hint="leave it out: the cuda back end has one on each GPU; see --devices",
            )
        return 1

    def compiler(self, subject: Subject, jobs: int) -> Compiler:
        """Return nvcc, or its ptxas, as the compiler for these GPUs."""
        return cuda_compiler(subject, jobs, self.toolkit, self.architecture)

    def device(self) -> str:
        """Return the name of the GPUs' kind."""
        return self.gpu

    def bandwidth(self) -> float | None:
        """Return the copy bandwidth of the first GPU, which is measured once per machine."""
        return copy_bandwidth(f"{self.gpu}, {self.driver}", self.devices[0].environment)

    def versions(self) -> dict[str, str]:
        """Return the versions of this tool, Python, nvcc and the driver."""
        return versions(compiler=f"nvcc {self.toolkit.version}", driver=f"CUDA {self.driver}")


def _open(devices: Collection[int]) -> OpenCuda:
    from gi_cuda.backends.cuda.device.context import pycuda
    from gi_cuda.backends.cuda.helpers import build_helpers

    toolkit, chosen = find_toolkit(), choose(require_gpus(), devices, os.environ.get(VISIBLE))
    gpu = chosen.gpu
    pycuda()  # to say now that it is missing
    build_helpers(toolkit, gpu.architecture)
    return OpenCuda(
        toolkit,
        gpu.architecture,
        gpu.name,
        query().version,
        chosen.memory,
        chosen.devices,
        chosen.left_out,
    )


def _compiler(subject: Subject, jobs: int, architecture: str) -> Compiler:
    return cuda_compiler(subject, jobs, find_toolkit(), architecture or _architecture())


def open_nvcc(subject: Subject, jobs: int) -> NvccCompiler:
    """Return nvcc as the compiler of a source, for callers that execute nothing.

    Raises:
        UserError: there is no nvcc.
    """
    return nvcc_compiler(subject, jobs, find_toolkit(), _architecture())


def _architecture() -> str:
    gpus = query().gpus
    return gpus[0].architecture if gpus else DEFAULT_ARCHITECTURE


def cuda_compiler(subject: Subject, jobs: int, toolkit: Toolkit, architecture: str) -> Compiler:
    """Nvcc as the compiler of a source, its ptxas as that of what evolves at another level."""
    from gi_cuda.backends.cuda.levels import COMPILED_LEVELS
    from gi_cuda.backends.cuda.ptx.batch import PtxCompiler

    nvcc = nvcc_compiler(subject.source, jobs, toolkit, architecture)
    if not subject.compiled:
        return nvcc
    to_ptx = COMPILED_LEVELS[subject.level].to_ptx
    return PtxCompiler(nvcc, subject.grammar.source.name, to_ptx)


def nvcc_compiler(subject: Subject, jobs: int, toolkit: Toolkit, architecture: str) -> NvccCompiler:
    """Return nvcc as the compiler of a source.

    A target may leave out headers of CUDA's toolkit, which the host back end does not have or need.
    To save time they are left out here as well, unless the source does not compile without them.
    """
    from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler

    make = partial(
        NvccCompiler.of,
        subject,
        jobs,
        nvcc=str(toolkit.nvcc),
        architecture=architecture,
        disassembler=toolkit.tool("nvdisasm"),
        names=_names(subject),
    )
    compiler = make()
    brought = [name for name in subject.target.build.without if brings_header(name)]
    if not brought or _compiles(compiler, subject):
        return compiler
    return make(found=brought)


def _compiles(compiler: NvccCompiler, subject: Subject) -> bool:
    """Tell whether the reference compiles. The result is cached for the same text."""
    macros = subject.macros(subject.standard)
    reference = Variant(0, subject.reference, macros, subject.options(subject.standard))
    told = [*compiler.command(), compiler.front, reference.text, *sorted(macros.items())]

    def tried() -> str:
        with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
            (built,) = build_batch(compiler, [reference], Path(scratch)).values()
        return "" if isinstance(built, BuildFailure) else "compiles"

    return bool(
        cached_text("headers-left-out", xxh3_128_hexdigest(repr(told).encode()), tried, _KEPT)
    )


_TRANSFORMED = """
    threadIdx blockIdx blockDim gridDim dim3 x y z break continue do else for if return while const
    bool char double float int long short unsigned void sizeof static_cast min max fma fmaf rsqrt
    rsqrtf sqrt sqrtf __ldg __ldcs __stcs __syncthreads __syncwarp __shfl_xor_sync __activemask
    __sinf __cosf __tanf __expf __exp10f __logf __log2f __log10f __powf __sincosf __fdividef
    size_t reinterpret_cast struct char4 uchar4 short2 short4 ushort2 ushort4 int2 int4 uint2 uint4
    float2 float4 double2 long2 ulong2 longlong2 ulonglong2
"""
"""Words that transformations insert.

They are added to the names of all variants. So the headers that the first variants of a search need
are already known from the unmodified source.
"""


def _names(subject: Subject) -> frozenset[str]:
    """Return the identifiers that variants may contain.

    These are from the source, parameters' values, donors that are at no place, and most
    transformations.
    """
    from gi_cuda.backends.compile.pruning.prune import identifiers

    values = (str(value) for parameter in subject.target.parameters for value in parameter.values)
    macros, donors = subject.macros(subject.space.default), subject.grammar.specials
    texts = (subject.reference, *macros.values(), *values, *donors.values(), _TRANSFORMED)
    return frozenset[str]().union(*map(identifiers, texts))


def _device_maker() -> DeviceMaker:
    from gi_cuda.backends.cuda.device.context import pycuda
    from gi_cuda.backends.cuda.device.device import CudaDevice

    pycuda()
    return CudaDevice


def _sanitizers(compiler: Compiler) -> list[Sanitizer]:
    return [_sanitizer(compiler, tool) for tool in _SANITIZERS]


def _races(compiler: Compiler) -> Sanitizer:
    return replace(_sanitizer(compiler, "racecheck"), shared_alone=True)


def _sanitizer(compiler: Compiler, tool: str) -> Sanitizer:
    """Return a tool of compute-sanitizer. For PTX it reports no lines.

    Raises:
        UserError: it is not installed.
    """
    from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler

    sanitizer = find_toolkit().tool("compute-sanitizer")
    if sanitizer is None:
        raise UserError(
            "compute-sanitizer is neither beside nvcc nor on PATH",
            hint="pip install nvidia-cuda-sanitizer-api, or go without: --sanitizers none",
        )
    watched = compiler
    if isinstance(compiler, NvccCompiler):
        watched = replace(compiler, options=(*compiler.options, "-lineinfo"))

    def command(program: Sequence[str], log: Path) -> tuple[list[str], Mapping[str, str]]:
        return [str(sanitizer), "--tool", tool, "--log-file", str(log), *program], {}

    return Sanitizer(tool, watched, LogForm.FROM_OUTSIDE, command)


BACKEND = Backend(
    gpu=True,
    compiled_levels=("ptx", "llvm"),
    open=_open,
    compiler=_compiler,
    device_maker=_device_maker,
    sanitizers=_sanitizers,
    races=_races,
    examine=examine,
    gpus=lambda: [gpu.name for gpu in query().gpus],
)
