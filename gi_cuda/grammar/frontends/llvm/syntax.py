"""LLVM-IR cut into functions, and their bodies into labels and instructions.

llvmlite reads the module and tells each value's name, type and operation. It does not tell where a
value stands in the text, so the lines that it prints are cut here: one instruction a line, but for
a ``switch``, whose table takes several.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.instructions.instruction import (
    Instruction,
    InstructionFunction,
    Item,
    Label,
    OperandUse,
    Statement,
)
from gi_cuda.grammar.rule_types import RuleType

INSTALL = "pip install 'gi-cuda[llvm]'"
"""The command that installs llvmlite and a clang."""

TYPES: Mapping[str, RuleType] = {
    "i1": RuleType.PRED,
    **{f"i{size}": RuleType[f"B{size}"] for size in (8, 16, 32, 64)},
    "float": RuleType.F32,
    "double": RuleType.F64,
    "ptr": RuleType.PTR,
}
"""The types whose values may be exchanged."""

_FUNCTION = re.compile(r"^define [^\n]*?@(?P<name>[-\w$.]+)\([^\n]*\{\n", re.M)
_LINE = re.compile(
    r"(?P<label>[-\w$.]+):[^\n]*\n"
    r"|[ \t]+(?P<instruction>switch [^\n]*\[\n[^\]]*\][^\n]*|[%a-z][^\n]*)\n"
    r"|[^\n]*\n"
)
_VALUE = re.compile(r"(?P<label>\blabel )?(?P<name>%[-\w$.]+)")
_INCOMING = re.compile(r"\[ (?P<value>[^\s,]+), %(?P<block>[-\w$.]+) \]")
_LITERAL = re.compile(
    r"(?<=[ ,])(?<!align )(?P<text>-?\d+|true|false|-?\d+\.\d+e[+-]\d+|0x[0-9A-F]+)(?=,|\Z)"
)
_TYPE = re.compile(r"\b(?:i\d+|float|double)\b")
_SYMBOL = re.compile(r"@([-\w$.]+)")
_TARGET = re.compile(r"\blabel %([-\w$.]+)")
_METADATA = re.compile(r", ![a-z][^\n]*\Z")
_ARITHMETIC = frozenset(
    {"add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "and", "or", "xor", "icmp", "select"}
    | {"fadd", "fsub", "fmul", "fdiv", "frem", "fcmp", "store", "ret"}
)
"""Operations that take any number of their type where they take a literal at all."""
_SHIFTS = frozenset({"shl", "lshr", "ashr"})
_FIXED = re.compile(r"@llvm\.(?:lifetime|dbg|assume|experimental|invariant|launder|strip)\b")
"""Calls whose operands LLVM takes from certain instructions alone."""


def check_llvmlite() -> None:
    """Refuse to go on without llvmlite.

    Raises:
        UserError: it is not installed.
    """
    if importlib.util.find_spec("llvmlite") is None:
        raise UserError(
            "LLVM-IR needs llvmlite, which is not installed", hint=f"install it: {INSTALL}"
        )


def binding() -> Any:
    """Return llvmlite's binding.

    Raises:
        UserError: llvmlite is not installed.
    """
    check_llvmlite()
    import llvmlite.binding

    return llvmlite.binding


def read_functions(text: str) -> Iterator[InstructionFunction]:
    """The functions of a module that have bodies, in order.

    Args:
        text: as llvmlite prints it, with a name for every value.

    Raises:
        UserError: llvmlite is not installed, or does not read it.
    """
    llvm = binding()
    try:
        module = llvm.parse_assembly(text, context=llvm.create_context())
    except RuntimeError as error:
        raise UserError(f"LLVM does not read it: {' '.join(str(error).split())}") from None
    functions = {function.name: function for function in module.functions}
    for head in _FUNCTION.finditer(text):
        yield _function(text, head, functions[head["name"]])


def _function(text: str, head: re.Match[str], function: Any) -> InstructionFunction:
    values = [value for block in function.blocks for value in block.instructions]
    parameters = {f"%{one.name}": _kind(one) for one in function.arguments}
    registers = parameters | {f"%{one.name}": _kind(one) for one in values if one.name}
    end = text.index("\n}", head.end() - 1) + 2
    items = tuple(_items(text, head.end(), end - 1, values, registers))
    calls = frozenset(
        name
        for item in items
        if isinstance(item, Statement) and item.instruction.opcode == "call"
        for name in _SYMBOL.findall(item.instruction.text)
    )
    return InstructionFunction(
        head["name"],
        " ptx_kernel " in head[0],
        head.start(),
        end,
        head.end() - 1,
        registers,
        items,
        calls,
        tuple(parameters),
        assigned_once=True,
    )


def _kind(value: Any) -> str:
    name = str(value.type)
    return TYPES.get(name, name)


def _items(
    text: str, at: int, end: int, values: list[Any], registers: Mapping[str, str]
) -> Iterator[Item]:
    rest = iter(values)
    while at < end and (found := _LINE.match(text, at, end)):
        at = found.end()
        if found["label"]:
            yield Label(found["label"], found.start())
        elif found["instruction"]:
            line = found["instruction"]
            instruction = _instruction(line, next(rest).opcode, registers)
            fixed = _FIXED.search(line) is not None
            targets = tuple(dict.fromkeys(_TARGET.findall(line))) if instruction.jumps else ()
            yield Statement(instruction, *found.span("instruction"), fixed, targets)
    assert next(rest, None) is None, "an instruction that is not on a line of its own"


def _instruction(line: str, opcode: str, registers: Mapping[str, str]) -> Instruction:
    name, equals, _ = line.partition(" = ")
    defines = (name,) if equals and name in registers else ()
    begin = len(name) if defines else 0
    if opcode == "phi":
        uses = tuple(_incoming(line, registers))
    else:
        found = [
            OperandUse(*one.span("name"), one["name"])
            for one in _VALUE.finditer(line, begin)
            if not one["label"] and one["name"] in registers
        ]
        found += _literals(line, begin, opcode)
        uses = tuple(sorted(found, key=lambda use: use.start))
    return Instruction(line, opcode, defines, uses)


def _incoming(line: str, registers: Mapping[str, str]) -> Iterator[OperandUse]:
    """The operands of a phi."""
    kind = line.partition(" phi ")[2].partition(" [")[0]
    for one in _INCOMING.finditer(line):
        name = one["value"] if one["value"] in registers else ""
        literal = kind if not name and _TYPE.fullmatch(kind) else ""
        fixed = not name and not literal
        yield OperandUse(*one.span("value"), name, literal, fixed, one["block"])


def _literals(line: str, begin: int, opcode: str) -> Iterator[OperandUse]:
    shifts = opcode in _SHIFTS
    if "<" in line or not (shifts or opcode in _ARITHMETIC):
        return
    end = found.start() if (found := _METADATA.search(line)) else len(line)
    for one in _LITERAL.finditer(line[:end], begin):
        if kinds := _TYPE.findall(line, begin, one.start()):
            yield OperandUse(*one.span("text"), "", f"shift {kinds[-1]}" if shifts else kinds[-1])
