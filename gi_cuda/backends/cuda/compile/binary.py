"""Binaries of nvcc's batches: variants in cubins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gi_cuda.backends.cuda.compile.cubin import CompiledKernel, Content, name_parts
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, code_key


@dataclass(frozen=True, slots=True)
class CudaBinary(Binary):
    """A variant in a cubin.

    Attributes:
        kernels: compiled kernels, by the identifier of their name in the source (see
            :func:`gi_cuda.spec.launching.kernel_names.identifier`).
        variables: mangled names of the variant's ``__constant__`` and ``__device__`` variables, by
            the identifier of their name in the source.
        confined: whether the code is confined.
    """

    kernels: Mapping[str, CompiledKernel] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    confined: bool = False

    def resources_beside(self, lenders: Mapping[str, Binary]) -> Mapping[str, int]:
        """Return the largest need of its own and its borrowed kernels by resource."""
        theirs = [
            one.kernels[name]
            for name, one in lenders.items()
            if isinstance(one, CudaBinary) and name in one.kernels
        ]
        kernels = {kernel.symbol: kernel for kernel in (*self.kernels.values(), *theirs)}
        return resources(kernels.values())


def binary_of(
    ident: int,
    cubin: Path,
    content: Content | None,
    names: Mapping[str, str],
    lent: frozenset[str] = frozenset(),
) -> Built:
    """Return a variant of a compiled shard; ``names`` as :func:`pointed_at` returns them."""
    if content is None or not content.kernels:
        return BuildFailure(ident, "the compiled source holds no kernel")
    kernels = {name_parts(symbol)[-1]: kernel for symbol, kernel in content.kernels.items()}
    pointers = {names[pointer]: symbol for pointer, symbol in content.pointers.items()}
    named = {name: symbol for name, symbol in pointers.items() if symbol in content.kernels}
    kernels |= {name: content.kernels[symbol] for name, symbol in named.items()}
    others = {name: symbol for name, symbol in pointers.items() if name not in named}
    variables = {**content.variables, **others}
    keys = _kernel_keys(content, named)
    return CudaBinary(
        ident,
        cubin,
        code_key(keys),
        resources(content.kernels.values()),
        keys,
        lent,
        kernels=kernels,
        variables=variables,
    )


def _kernel_keys(content: Content, named: Mapping[str, str]) -> dict[str, bytes]:
    """Return keys by kernels' identifiers; unnamed instances of a template share one.

    Args:
        named: symbols of kernels with identifiers of their own, by these.
    """
    others: dict[str, list[bytes]] = {}
    for symbol, key in content.keys.items():
        if symbol not in named.values():
            others.setdefault(name_parts(symbol)[-1], []).append(key)
    keys = {name: b"".join(sorted(found)) for name, found in others.items()}
    return keys | {name: content.keys[symbol] for name, symbol in named.items()}


def resources(kernels: Iterable[CompiledKernel]) -> dict[str, int]:
    """Return the largest need of a kernel for each resource.

    ``registers`` and ``local`` (bytes of stack, with spilled registers) are per thread, ``shared``
    (static) is per block, ``code`` is the bytes of machine code of all kernels.
    """
    kernels = list(kernels)
    return {
        "registers": max(kernel.registers for kernel in kernels),
        "local": max(kernel.local for kernel in kernels),
        "shared": max(kernel.shared for kernel in kernels),
        "code": sum(kernel.code for kernel in kernels),
    }
