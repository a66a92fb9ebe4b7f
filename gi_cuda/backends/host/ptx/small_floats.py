"""Translate PTX arithmetic on 16-bit floats, and on two of them in one register."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gi_cuda.backends.host.ptx.instruction import Instruction, Unknown

_FORMATS: Final = {"f16": "half", "bf16": "bfloat"}

_KNOWN: Final = frozenset({"rn", "ftz", "approx", "sat", "relu"})
"""Supported modifiers. Rounding is to nearest; subnormal numbers are never flushed to zero."""

SMALL: Final[Mapping[str, str]] = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "fma": "gi_small_fma(a, b, c)",
    "neg": "-a",
    "abs": "S::bits(a.__x & 0x7fff)",
    "min": "gi_small_least(a, b)",
    "max": "gi_small_most(a, b)",
    "ex2": "S(exp2f(float(a)))",
    "tanh": "S(tanhf(float(a)))",
}
"""Operations, by instruction name, on values of the type ``S``."""


def is_small(one: Instruction) -> bool:
    """Tell whether an instruction works on 16-bit floats."""
    return bool(one.words) and one.words[-1].removesuffix("x2") in _FORMATS


def format_of(word: str) -> str:
    """Return the C++ type that describes the format of a 16-bit float."""
    return f"gi_{_FORMATS[word.removesuffix('x2')]}_format"


def small(one: Instruction) -> str:
    """Translate e.g. ``add.rn.f16x2 d, a, b``: the same operation on both halves of a register."""
    *how, word = one.words
    if one.name not in SMALL or not _KNOWN.issuperset(how):
        raise Unknown(one.text)
    pair = word.endswith("x2")
    bits = "uint32_t" if pair else "uint16_t"
    expression, given = SMALL[one.name], "abc"[: len(one.operands) - 1]
    for word_of, function in (("sat", "gi_saturated"), ("relu", "gi_relu")):
        if word_of in how:
            expression = f"{function}({expression})"
    values = ", ".join(one.read(number, bits) for number in range(1, len(one.operands)))
    done = (
        f"[]({', '.join(f'auto {name}' for name in given)})"
        f" {{ using S = decltype(a); return S({expression}); }}"
    )
    name = "gi_ptx_smalls" if pair else "gi_ptx_small"
    return one.gives(f"{name}<{format_of(word)}>({done}, {values})")
