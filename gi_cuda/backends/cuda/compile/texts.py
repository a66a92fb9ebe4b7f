"""Make the CUDA text of a shard, and attribute messages about it to variants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from gi_cuda.backends.compile.process import Finished
from gi_cuda.backends.compile.pruning.namespaces import declared, joined
from gi_cuda.backends.compile.pruning.overloads import outside, seen
from gi_cuda.backends.cuda.compile.cubin import name_parts, owner
from gi_cuda.backends.cuda.ptx.harmless import SIGNS
from gi_cuda.backends.protocol.variants import Phenotype
from gi_cuda.spec.launching.kernel_names import identifier, is_plain, reference

COUNTER = """
__attribute__((device)) unsigned gi_loop_most[{loops}];
static __attribute__((device, always_inline)) inline
bool gi_loop(unsigned loop, unsigned iterations) {{
  if (iterations > *(volatile unsigned *)(gi_loop_most + loop))
    atomicMax(gi_loop_most + loop, iterations);
  return true;
}}
template <class T> static __attribute__((device, always_inline)) inline
bool gi_known(const T &) {{ return false; }}
"""
"""Preprocessed code that instrumented variants call (see :func:`gi_cuda.grammar.instrument`).

``gi_known`` is always false, since ``__builtin_constant_p`` cannot be used: for nvcc 13.0 it is no
device code, and where it compiles, it is true for unknown values.
"""

GUARDS = f"""
static __attribute__((device, always_inline)) inline
bool gi_late() {{
  asm volatile ("st.volatile.global.u32 [%0], 1; exit;" :: "l"({SIGNS["late"]}ull));
  return false;
}}
static __attribute__((device, always_inline)) inline
unsigned gi_zero() {{ unsigned zero; asm ("mov.u32 %0, 0;" : "=r"(zero)); return zero; }}
static __attribute__((device, always_inline)) inline constexpr
unsigned gi_begin() {{ return __builtin_is_constant_evaluated() ? 0 : gi_zero(); }}
"""
"""Preprocessed code that guards call to end a loop (see
:mod:`gi_cuda.grammar.frontends.cuda.rendering.guard`).

The thread leaves a sign where the device looks for it, and ends: a trap would kill the worker.
"""

CHOICE = "\n__attribute__((constant)) unsigned gi_chosen;\n"
"""Preprocessed variable that schemata read (see :meth:`gi_cuda.grammar.ParsedText.schema`)."""

_COUNTED = re.compile(r"\bgi_loop\(\s*(\d+)u?\s*,")
_C_LINKAGE = re.compile(r'\bextern\s*"C(?:\+\+)?"\s*(\{)?')
_ASSEMBLER = re.compile(r"^ptxas\b[^\n]*?\b(?:error|fatal)\s*:\s*([^\n]*)", re.M)
_MANGLED = re.compile(r"_ZN\w+")


def pointers(kernels: Sequence[str], symbols: Sequence[str]) -> str:
    """Return text after a variant that makes its kernels' and variables' symbols known.

    Plain names need none. A variable on the device that points at a kernel makes the compiler
    instantiate the kernel, and leaves a relocation with its mangled name in the cubin.
    """
    lines = [
        f"__device__ auto *gi_kernel_{i} = &{reference(name)};"
        for i, name in enumerate(kernels)
        if not is_plain(name)
    ]
    lines += [
        f"__device__ auto *gi_symbol_{i} = &{name};"
        for i, name in enumerate(symbols)
        if not is_plain(name)
    ]
    return "\n".join(lines)


def shard_text(
    front: str, shard: Sequence[Phenotype], namespaces: Sequence[str] = (), forward: str = ""
) -> str:
    """Return the CUDA text of a shard: the prelude, then every variant in a namespace of its own.

    Args:
        front: the prelude.
        forward: declarations for the begin of every variant.
    """
    overloads = chain.from_iterable(one.overloads for one in shard)
    parts = [front, declared(namespaces), outside(overloads)]
    joint = joined(namespaces)
    for phenotype in shard:
        name = f"v{phenotype.ident}"
        text = without_c_linkage(phenotype.text)
        loops = [int(number) for number in _COUNTED.findall(text)] if "gi_loop" in text else []
        own = COUNTER.format(loops=max(loops) + 1) if loops else ""
        own += CHOICE if "gi_chosen" in text else ""
        own += GUARDS if "gi_guard" in text else ""
        begin = f"{joint}{seen(phenotype.overloads)}{forward}{own}"
        parts.append(f'# 1 "{name}/begin"\nnamespace {name} {{{begin}\n')
        parts.append(f'{text}\n# 1 "{name}/end"\n}}\n')
    return "".join(parts)


def without_c_linkage(text: str) -> str:
    """Return preprocessed text in which all functions have mangled names; line numbers stay.

    C linkage ignores namespaces, so the kernels of two variants would be the same.
    """
    if '"C' not in text:
        return text
    return _C_LINKAGE.sub(
        lambda m: "\n" * m[0].count("\n") + ("inline namespace gi_c {" if m[1] else ""), text
    )


def brought_home(finished: Finished, file_name: str) -> Finished:
    """Return compiler output with ptxas's messages about kernels attributed to variants."""
    home = []
    for message in _ASSEMBLER.findall(finished.stderr):
        for symbol in _MANGLED.findall(message):
            parts = name_parts(symbol)
            if (ident := owner(parts)) is not None:
                said = message.replace(symbol, "::".join(parts[1:]))
                home.append(f"v{ident}/{file_name}(1): error: {said}\n")
    return Finished(finished.status, finished.stdout, "".join([*home, finished.stderr]))


def pointed_at(kernels: Sequence[str], symbols: Sequence[str]) -> dict[str, str]:
    """Return for each variable of :func:`pointers` the identifier of the name that it points at."""
    found = {f"gi_kernel_{i}": name for i, name in enumerate(kernels)}
    found |= {f"gi_symbol_{i}": name for i, name in enumerate(symbols)}
    return {pointer: identifier(name) for pointer, name in found.items() if not is_plain(name)}
