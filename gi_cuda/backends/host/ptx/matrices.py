"""Translate PTX instructions for small matrices that the threads of a warp hold together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gi_cuda.backends.host.ptx.instruction import Instruction, Unknown

_COUNT: Final = {"x1": 1, "x2": 2, "x4": 4}
_SHAPE: Final = re.compile(r"m(\d+)n8k(\d+)")
_IN_A_WORD: Final = {"f16": 2, "bf16": 2, "tf32": 1, "f64": 1, "s8": 4, "u8": 4}
"""Elements per register word, by type."""
_SUMS: Final = {"f16": "float", "f32": "float", "f64": "double", "s32": "long long"}
"""C++ type in which products are added up, by element type."""


def _transferred(one: Instruction) -> tuple[str, list[str]]:
    """Return the arguments of the template that moves matrices, and the registers."""
    count = next((_COUNT[word] for word in one.words if word in _COUNT), None)
    registers = one.vector(0 if one.name == "ldmatrix" else 1)
    if count != len(registers) or not {"m8n8", "b16"} <= {*one.words}:
        raise Unknown(one.text)
    return f"<{count}, {str('trans' in one.words).lower()}>", registers


def _loaded(one: Instruction) -> str:
    arguments, registers = _transferred(one)
    call = f"gi_ptx_load_matrices{arguments}({one.address(1, 'shared')}, gi_words);"
    return f"{{ uint32_t gi_words[{len(registers)}]; {call} {_given(one, registers)} }}"


def _stored(one: Instruction) -> str:
    arguments, registers = _transferred(one)
    call = f"gi_ptx_store_matrices{arguments}({one.address(0, 'shared')}, gi_words);"
    return f"{{ {_array(one, 'uint32_t', 'gi_words', registers)} {call} }}"


def _multiplied(one: Instruction) -> str:
    """Translate e.g. ``mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c``."""
    shape = next(found for word in one.words if (found := _SHAPE.fullmatch(word)))
    rows, depth = int(shape[1]) // 8, int(shape[2])
    result, left, right, added = one.words[-4:]
    a, b, c = (one.vector(at) for at in (1, 2, 3))
    words = depth / (4 * _IN_A_WORD.get(left, 0) or 1)
    halves = result == "f16"
    if (
        result != added
        or result not in _SUMS
        or _IN_A_WORD.get(left) != _IN_A_WORD.get(right, 0)
        or not {"row", "col"} <= {*one.words}
        or (len(a), len(b)) != (rows * words, words)
        or len(c) != 2 * rows // (1 + halves)
    ):
        raise Unknown(one.text)
    word, kind = "uint64_t" if left == "f64" else "uint32_t", _SUMS[result]
    lines = [_array(one, word, "gi_left", a), _array(one, word, "gi_right", b)]
    if halves:
        parts = [f"gi_half_format::widened({one.taken(two, 'uint32_t')} {how})"
                 for two in c for how in ("& 0xffff", ">> 16")]  # fmt: skip
        lines.append(f"float gi_sum[] = {{{', '.join(parts)}}};")
    else:
        own = "int32_t" if result == "s32" else kind
        lines.append(f"{kind} gi_sum[] = {{{', '.join(one.taken(part, own) for part in c)}}};")
    lines.append(
        f"gi_ptx_multiply_matrices<gi_ptx_{left}, gi_ptx_{right}>(gi_left, gi_right, gi_sum);"
    )
    registers = one.vector(0)
    for at, register in enumerate(registers):
        value = f"gi_sum[{at}]"
        if halves:
            value = f"gi_ptx_pair<gi_half_format>(gi_sum[{2 * at}], gi_sum[{2 * at + 1}])"
        elif result == "s32":
            value = f"gi_ptx_whole({value}, {str('satfinite' in one.words).lower()})"
        lines.append(f"gi_ptx_set({one.written(register)}, {value});")
    return f"{{ {' '.join(lines)} }}"


def _array(one: Instruction, kind: str, name: str, registers: Sequence[str]) -> str:
    values = ", ".join(one.taken(register, kind) for register in registers)
    return f"const {kind} {name}[] = {{{values}}};"


def _given(one: Instruction, registers: Sequence[str]) -> str:
    sets = (f"gi_ptx_set({one.written(to)}, gi_words[{at}]);" for at, to in enumerate(registers))
    return " ".join(sets)


MATRICES: Final[Mapping[str, Callable[[Instruction], str]]] = {
    "ldmatrix": _loaded,
    "stmatrix": _stored,
    "mma": _multiplied,
}
"""Translators by instruction name."""
