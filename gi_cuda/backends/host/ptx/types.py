"""C++ names of PTX types and registers."""

from __future__ import annotations

import re
from typing import Final

TYPES: Final = {
    **{f"{kind}{bits}": f"uint{bits}_t" for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{"f32": "float", "f64": "double", "pred": "bool"},
}
"""C++ types of values, by the last word of an instruction."""

REGISTERS: Final = {
    **{f"{kind}{bits}": f"uint{bits}_t" for kind in "usb" for bits in (8, 16, 32, 64)},
    **{"f32": "float", "f64": "double", "pred": "bool", "f16": "uint16_t", "f16x2": "uint32_t"},
}
"""C++ types of registers. They hold bits, which each instruction interprets as its own type."""

SPECIAL: Final = {
    **{f"tid.{x}": f"threadIdx.{x}" for x in "xyz"},
    **{f"ntid.{x}": f"blockDim.{x}" for x in "xyz"},
    **{f"ctaid.{x}": f"blockIdx.{x}" for x in "xyz"},
    **{f"nctaid.{x}": f"gridDim.{x}" for x in "xyz"},
    "laneid": "gi_lane()",
    "warpid": "gi_ptx_warp()",
    "nwarpid": "gi_ptx_warps()",
    "smid": "0u",
    "nsmid": "1u",
    "gridid": "0u",
    "clock": "uint32_t(clock64())",
    "clock_hi": "uint32_t(clock64() >> 32)",
    "clock64": "uint64_t(clock64())",
    "globaltimer": "gi_ptx_nanoseconds()",
    "globaltimer_lo": "uint32_t(gi_ptx_nanoseconds())",
    "globaltimer_hi": "uint32_t(gi_ptx_nanoseconds() >> 32)",
    "lanemask_eq": "(1u << gi_lane())",
    "lanemask_lt": "((1u << gi_lane()) - 1)",
    "lanemask_le": "((2u << gi_lane()) - 1)",
    "lanemask_gt": "(~0u << gi_lane() << 1)",
    "lanemask_ge": "(~0u << gi_lane())",
}
"""Registers that the device sets. A launch is taken to run on one multiprocessor."""

_OPERAND: Final = re.compile(r"gi_operand_\d+")
_INTEGER: Final = re.compile(r"([-~]?)\s*(0[xX][0-9a-fA-F]+|\d+)U?")
_FLOAT: Final = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_DECIMAL: Final = re.compile(r"-?\d+\.\d*(?:[eE][-+]?\d+)?")
_NAME: Final = re.compile(r"%?[A-Za-z_$][\w$]*")


def of_register(name: str) -> str:
    """Return the variable that holds a register."""
    if _OPERAND.fullmatch(name):
        return name
    return "gi_register_" + name.removeprefix("%").replace("$", "_S_")


def value(operand: str) -> str | None:
    """Return an expression for an operand that is read; None if the operand is not understood."""
    if special := SPECIAL.get(operand.removeprefix("%")) if operand.startswith("%") else None:
        return special
    if found := _INTEGER.fullmatch(operand):
        return f"({found[1]}{found[2]}ll)"
    if found := _FLOAT.fullmatch(operand):
        single, double = found.groups()
        return f"__int_as_float(0x{single})" if single else f"__longlong_as_double(0x{double}ll)"
    if _DECIMAL.fullmatch(operand):
        return operand
    if operand == "WARP_SZ":
        return "32"
    return of_register(operand) if _NAME.fullmatch(operand) else None
