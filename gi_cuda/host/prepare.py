"""From CUDA text to what g++ reads: the little that macros cannot do."""

from __future__ import annotations

from collections.abc import Iterable


def prepare(text: str) -> str:
    """Rewrites preprocessed CUDA device code into C++ for ``gi_cuda_host.hpp``.

    Lines stay where they are.
    """
    return text


def export(variant: str, name: str, kernel: str | None = None) -> str:
    """The line that makes a kernel known as ``Shard.kernel(variant, name)``.

    Args:
        variant: the variant's namespace.
        name: what it is to be called.
        kernel: C++ expression within the namespace, e.g. ``blur<float, 3>``; by default the name.
    """
    return f"GI_EXPORT({variant}, {name}, {variant}::{kernel or name})"


def export_symbol(variant: str, name: str) -> str:
    """The line that makes a variable known as ``Shard.symbol(variant, name)``."""
    return f"GI_SYMBOL({variant}, {name}, {variant}::{name})"


def variant_text(
    variant: str, text: str, kernels: Iterable[str], symbols: Iterable[str] = ()
) -> str:
    """One variant of a batch: its (prepared) text in a namespace of its own, then its exports."""
    return "\n".join(
        [
            f"#define __shared__ GI_SHARED({variant})",
            f"namespace {{ namespace {variant} {{",
            text,
            "}}",
            "#undef __shared__",
            *(export(variant, kernel) for kernel in kernels),
            *(export_symbol(variant, symbol) for symbol in symbols),
            "",
        ]
    )
