"""CUDA's words on a CPU: a header for kernels, the runtime that runs them, and its Python side.

Kernels compiled with :data:`INCLUDE` and :data:`COMPILE_OPTIONS` into a shared library (a shard)
are loaded and run by :class:`Runtime`. Nothing here knows of targets, grammars or genotypes.
"""

from gi_cuda.backends.host.common import mark_common
from gi_cuda.backends.host.library import (
    COMPILE_OPTIONS,
    INCLUDE,
    build_library,
    compile_options,
    find_compiler,
)
from gi_cuda.backends.host.prepare import (
    export,
    export_references,
    export_symbol,
    mark_unrolls,
    prepare,
    references,
    variant_text,
)
from gi_cuda.backends.host.runtime import (
    BadFetch,
    BadLaunch,
    BadMask,
    BoundLaunch,
    Deadlock,
    HostLaunchError,
    LoadedKernel,
    Overrun,
    Runtime,
    Shard,
)

__all__ = [
    "COMPILE_OPTIONS",
    "INCLUDE",
    "BadFetch",
    "BadLaunch",
    "BadMask",
    "BoundLaunch",
    "Deadlock",
    "HostLaunchError",
    "LoadedKernel",
    "Overrun",
    "Runtime",
    "Shard",
    "build_library",
    "compile_options",
    "export",
    "export_references",
    "export_symbol",
    "find_compiler",
    "mark_common",
    "mark_unrolls",
    "prepare",
    "references",
    "variant_text",
]
