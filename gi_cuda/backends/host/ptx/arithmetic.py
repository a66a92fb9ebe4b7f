"""Translate PTX instructions for arithmetic, comparison, conversion and moves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from gi_cuda.backends.host.ptx.instruction import Instruction, Unknown
from gi_cuda.backends.host.ptx.small_floats import format_of, is_small


def _plain(template: str) -> Callable[[Instruction], str]:
    """Return a translator for an instruction whose operands all have its type.

    In the template, ``T`` is the type, and the operands are ``a``, ``b`` and ``c``.
    """

    def make(one: Instruction) -> str:
        def part(found: re.Match[str]) -> str:
            return one.kind if found[0] == "T" else one.read("abc".index(found[0]) + 1)

        return one.gives(re.sub(r"\b[abcT]\b", part, template))

    return make


_ROUNDING: Final = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}


def _way(one: Instruction) -> str:
    """Return the rounding mode, named as in CUDA's intrinsics."""
    return next((_ROUNDING[word] for word in one.words if word in _ROUNDING), "rn")


def _floats(one: Instruction) -> bool:
    return one.words[-1] in ("f32", "f64")


def _arithmetic(sign: str, name: str) -> Callable[[Instruction], str]:
    """Return a translator for sums, differences, products or quotients.

    Integers use the operator ``sign``, floats an intrinsic with the instruction's rounding mode.
    """

    def make(one: Instruction) -> str:
        if "cc" in one.words:
            return _carried(one, sign, with_carry=False)
        a, b = one.read(1), one.read(2)
        if not _floats(one) and "sat" in one.words:
            return one.gives(f"gi_ptx_within<{one.kind}>(int64_t({a}) {sign} int64_t({b}))")
        if not _floats(one):
            return one.gives(f"{one.kind}({a} {sign} {b})")
        prefix = "f" if one.words[-1] == "f32" else "d"
        return one.gives(_saturated(one, f"__{prefix}{name}_{_way(one)}({a}, {b})"))

    return make


def _saturated(one: Instruction, expression: str) -> str:
    return f"__saturatef({expression})" if "sat" in one.words else expression


def _carried(one: Instruction, sign: str, *, with_carry: bool) -> str:
    """Translate an addition or subtraction with the carry flag."""
    a, b = one.read(1), one.read(2)
    name = {"+": "gi_ptx_add", "-": "gi_ptx_subtract"}[sign]
    flags = f"{str(with_carry).lower()}, {str('cc' in one.words).lower()}"
    return one.gives(f"{name}<{one.kind}, {flags}>({a}, {b})")


def _with_carry(sign: str) -> Callable[[Instruction], str]:
    return lambda one: _carried(one, sign, with_carry=True)


def _product(one: Instruction) -> str:
    a, b = one.read(1), one.read(2)
    if _floats(one):
        return _arithmetic("*", "mul")(one)
    return one.gives(_integers(one, a, b))


def _integers(one: Instruction, a: str, b: str) -> str:
    """Return a product of integers: its lower half, its upper half, or all of it."""
    how = next((word for word in one.words if word in ("lo", "hi", "wide")), "lo")
    return f"gi_ptx_multiply_{how}<{one.kind}>({a}, {b})"


def _multiplied_and_added(one: Instruction) -> str:
    a, b = one.read(1), one.read(2)
    if _floats(one):
        name = "__fmaf" if one.words[-1] == "f32" else "__fma"
        return one.gives(_saturated(one, f"{name}_{_way(one)}({a}, {b}, {one.read(3)})"))
    product = _integers(one, a, b)
    if "wide" in one.words:
        kind = f"decltype({product})"
        return one.gives(f"{kind}({product} + {one.read(3, kind)})")
    flags = f"{str(one.name == 'madc').lower()}, {str('cc' in one.words).lower()}"
    return one.gives(f"gi_ptx_add<{one.kind}, {flags}>({product}, {one.read(3)})")


def _shifted(one: Instruction) -> str:
    name = "left" if one.name == "shl" else "right"
    return one.gives(f"gi_ptx_{name}<{one.kind}>({one.read(1)}, {one.read(2, 'uint32_t')})")


def _funnel(one: Instruction) -> str:
    side = "l" if "l" in one.words else "r"
    clamped = "c" if "clamp" in one.words else ""
    values = ", ".join(one.read(number, "uint32_t") for number in (1, 2, 3))
    return one.gives(f"__funnelshift_{side}{clamped}({values})")


_COMPARED: Final = {
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
    **{"lo": "<", "ls": "<=", "hi": ">", "hs": ">="},
}


def _comparison(one: Instruction) -> str:
    """Return the comparison of ``setp`` and ``set`` as an expression."""
    word = one.words[0]
    if is_small(one):
        if one.words[-1] not in ("f16", "bf16"):  # x2 types compare each half
            raise Unknown(one.text)
        values = (one.read(number, "uint16_t") for number in (1, 2))
        a, b = (f"{format_of(one.words[-1])}::widened({value})" for value in values)
    else:
        a, b = one.read(1), one.read(2)
    if _floats(one) or is_small(one):
        if word in ("nan", "num"):
            return f"gi_ptx_unordered({a}, {b}) == {str(word == 'nan').lower()}"
        if word.endswith("u") and word[:-1] in _COMPARED:
            return f"(gi_ptx_unordered({a}, {b}) || {a} {_COMPARED[word[:-1]]} {b})"
        if word == "ne":
            return f"(!gi_ptx_unordered({a}, {b}) && {a} != {b})"
    if word not in _COMPARED:
        raise Unknown(one.text)
    return f"({a} {_COMPARED[word]} {b})"


def _asked(one: Instruction) -> str:
    """Return a comparison, combined with a predicate if the instruction names one."""
    asked = _comparison(one)
    if len(one.words) > 2 and one.words[1] in ("and", "or", "xor"):
        sign = {"and": "&&", "or": "||", "xor": "!="}[one.words[1]]
        asked = f"({asked}) {sign} {one.read(3, 'bool')}"
    return asked


def _all_bits(one: Instruction) -> str:
    """Translate ``set``: if true, all bits of an integer, or 1 as a float."""
    kind = one.type_of(one.words[-2]) if len(one.words) > 2 else ""
    if one.words[-2:-1] == ("f32",):
        return one.gives(f"({_asked(one)}) ? 1.0f : 0.0f")
    if kind not in ("uint32_t", "int32_t"):
        raise Unknown(one.text)
    return one.gives(f"{kind}(({_asked(one)}) ? -1 : 0)")


def _predicate(one: Instruction) -> str:
    asked = _asked(one)
    first, _, second = one.operands[0].partition("|")
    done = f"gi_ptx_set({one.written(first.strip())}, bool({asked}));"
    return f"{done} gi_ptx_set({one.written(second.strip())}, !({asked}));" if second else done


def _selected(one: Instruction) -> str:
    return one.gives(f"{one.read(3, 'bool')} ? {one.read(1)} : {one.read(2)}")


def _field(one: Instruction) -> str:
    begin, size = one.read(2, "uint32_t"), one.read(3, "uint32_t")
    return one.gives(f"gi_ptx_field<{one.kind}>({one.read(1)}, {begin}, {size})")


def _inserted(one: Instruction) -> str:
    begin, size = one.read(3, "uint32_t"), one.read(4, "uint32_t")
    return one.gives(f"gi_ptx_insert<{one.kind}>({one.read(1)}, {one.read(2)}, {begin}, {size})")


def _logic(one: Instruction) -> str:
    values = ", ".join(one.read(number, "uint32_t") for number in (1, 2, 3, 4))
    return one.gives(f"gi_ptx_logic({values})")


def _permuted(one: Instruction) -> str:
    if one.words != ("b32",):
        raise Unknown(one.text)
    return one.gives(f"gi_ptx_permute({one.read(1)}, {one.read(2)}, {one.read(3)})")


def _moved(one: Instruction) -> str:
    to, source = one.operands[0], one.operands[-1]
    if to.startswith("{"):
        parts = one.vector(0)
        bits = int(one.words[-1][1:]) // len(parts)
        name = f"uint{bits}_t"
        return " ".join(
            f"gi_ptx_set({one.written(part)}, {name}({one.read(1)} >> {bits * at}));"
            for at, part in enumerate(parts)
            if part != "_"
        )
    if source.startswith("{"):
        parts = one.vector(1)
        bits = int(one.words[-1][1:]) // len(parts)
        name = f"uint{bits}_t"
        whole = " | ".join(
            f"{one.kind}({one.taken(part, name)}) << {bits * at}" for at, part in enumerate(parts)
        )
        return one.gives(f"{one.kind}({whole})")
    return one.gives(one.read(1))


_WHOLE: Final = {"rni": "rn", "rzi": "rz", "rmi": "rd", "rpi": "ru"}


def _converted(one: Instruction) -> str:
    if len(one.words) < 2:
        raise Unknown(one.text)
    to, of = one.words[-2:]
    if to in ("f16x2", "bf16x2") and of == "f32":
        values = f"{one.read(2, 'float')}, {one.read(1, 'float')}"
        return one.gives(f"gi_ptx_pair<{format_of(to)}>({values})")
    if of in ("f16", "bf16"):
        wide = f"{format_of(of)}::widened({one.read(1, 'uint16_t')})"
    else:
        wide = one.read(1, one.type_of(of))
    if to in ("f16", "bf16"):
        how = f"gi_{_way(one)}()"
        return one.gives(f"gi_small<{format_of(to)}>::of(gi_odd_float({wide}), {how}).__x")
    kind = one.type_of(to)
    whole = next((_WHOLE[word] for word in one.words if word in _WHOLE), None)
    from_float, to_float = "f" in of, "f" in to
    if whole is not None and from_float:
        rounded = f"gi_whole({wide}, gi_{whole}())"
        return one.gives(f"{kind}({rounded})" if to_float else f"gi_integer<{kind}>({rounded})")
    if to_float and not (from_float and to == "f64"):
        quad = wide if from_float else f"gi_quad({wide})"
        rounded = f"gi_round<{kind}>({quad}, 0, gi_{_way(one)}())"
        return one.gives(_saturated(one, rounded if (to, of) != ("f32", "f32") else wide))
    if "sat" in one.words:
        return one.gives(f"gi_ptx_within<{kind}>({wide})")
    return one.gives(f"{kind}({wide})")


def _fast(function: str) -> Callable[[Instruction], str]:
    """Return a translator to a function of C, with the suffix f for float."""

    def make(one: Instruction) -> str:
        name = function + ("f" if one.words[-1] == "f32" else "")
        return one.gives(f"{name}({one.read(1)})")

    return make


def _rounded(one: Instruction) -> str:
    prefix = "f" if one.words[-1] == "f32" else "d"
    return one.gives(f"__{prefix}{one.name}_{_way(one)}({one.read(1)})")


def _found(one: Instruction) -> str:
    suffix = "_shift" if "shiftamt" in one.words else ""
    return one.gives(f"gi_ptx_find{suffix}({one.read(1)})")


def _parts(one: Instruction) -> str:
    """Translate ``vabsdiff4`` and ``vabsdiff2`` with a sum."""
    if (
        one.words[-1] != "add"
        or one.words[0] != "u32"
        or one.name not in ("vabsdiff4", "vabsdiff2")
    ):
        raise Unknown(one.text)
    name = f"__vsadu{one.name[-1]}"
    values = ", ".join(one.read(number, "uint32_t") for number in (1, 2))
    return one.gives(f"{name}({values}) + {one.read(3, 'uint32_t')}")


def _dot(one: Instruction) -> str:
    if len(set(one.words)) != 1:
        raise Unknown(one.text)
    return one.gives(f"__dp4a({', '.join(one.read(number) for number in (1, 2, 3))})")


ARITHMETIC: Final[Mapping[str, Callable[[Instruction], str]]] = {
    "add": _arithmetic("+", "add"),
    "sub": _arithmetic("-", "sub"),
    "addc": _with_carry("+"),
    "subc": _with_carry("-"),
    "mul": _product,
    "div": _arithmetic("/", "div"),
    "rem": _plain("T(a % b)"),
    **dict.fromkeys(("mad", "madc", "fma"), _multiplied_and_added),
    "mul24": _plain("gi_ptx_multiply_24(a, b)"),
    "sad": _plain("gi_ptx_difference(a, b) + c"),
    "min": _plain("min(a, b)"),
    "max": _plain("max(a, b)"),
    "abs": _plain("gi_ptx_size<T>(a)"),
    "neg": _plain("T(-a)"),
    "and": _plain("T(a & b)"),
    "or": _plain("T(a | b)"),
    "xor": _plain("T(a ^ b)"),
    "not": _plain("T(gi_ptx_not(a))"),
    "shl": _shifted,
    "shr": _shifted,
    "shf": _funnel,
    "set": _all_bits,
    "setp": _predicate,
    "selp": _selected,
    "popc": _plain("uint32_t(__builtin_popcountll(uint64_t(a)))"),
    "clz": _plain("gi_ptx_zeros(a)"),
    "bfind": _found,
    "brev": _plain("gi_ptx_reversed(a)"),
    "bfe": _field,
    "bfi": _inserted,
    "lop3": _logic,
    "prmt": _permuted,
    "mov": _moved,
    "cvt": _converted,
    "ex2": _fast("exp2"),
    "lg2": _fast("log2"),
    "sin": _fast("sin"),
    "cos": _fast("cos"),
    "tanh": _fast("tanh"),
    "rsqrt": _fast("rsqrt"),
    **dict.fromkeys(("sqrt", "rcp"), _rounded),
    "copysign": _plain("T(__builtin_copysign(b, a))"),
    **dict.fromkeys(("vabsdiff4", "vabsdiff2"), _parts),
    "dp4a": _dot,
}
"""Translators by instruction name."""
