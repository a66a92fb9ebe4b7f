"""Operands of PTX instructions: the registers that they write, and the values that they read.

The first operand is the destination, unless it is an address or the instruction has no destination
(PTX ISA, "Instruction Operands"). A destination may be a vector ``{a, b}`` or a pair ``a|p``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gi_cuda.grammar.frontends.instructions.instruction import Instruction, OperandUse
from gi_cuda.grammar.rule_types import RuleType

_REGISTER = re.compile(r"%[\w$]+")
_HEAD = re.compile(r"(?:@!?\s*(?P<guard>%[\w$]+)\s+)?(?P<opcode>[a-z][\w.:]*)")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?\Z")
_FRACTION = re.compile(r"0[fF][0-9a-fA-F]{8}\Z|0[dD][0-9a-fA-F]{16}\Z")

_NO_DESTINATION = frozenset(
    {"bar", "barrier", "bra", "brkpt", "brx", "call", "exit", "fence", "membar", "nanosleep"}
    | {"griddepcontrol", "pmevent", "ret", "setmaxnreg", "st", "trap"}
)
_VALUES = frozenset(
    {"abs", "add", "and", "div", "fma", "mad", "max", "min", "mov", "mul", "or", "rem", "selp"}
    | {"setp", "sub", "xor"}
)
"""Operations whose literal operands may be any number of the type."""
_SHIFTS = frozenset({"shl", "shr"})


def read_instruction(text: str, registers: Mapping[str, RuleType]) -> Instruction | None:
    """Read an instruction; return None if the text does not start like an instruction.

    Args:
        text: text from the guard predicate or opcode to the semicolon.
        registers: type of each declared register, by name; other names are special registers.
    """
    head = _HEAD.match(text)
    if head is None:
        return None
    uses, defines = [], []
    if head["guard"] in registers:
        uses.append(OperandUse(*head.span("guard"), head["guard"]))
    operation = head["opcode"].partition(".")[0]
    reduces = operation in ("bar", "barrier") and ".red" in head["opcode"]
    writes = operation not in _NO_DESTINATION or reduces
    fixed = operation == "brx"  # any other number than the compiler's would lead anywhere
    for number, (start, end) in enumerate(_operands(text, head.end())):
        found = [
            OperandUse(at.start(), at.end(), at[0], fixed=fixed)
            for at in _REGISTER.finditer(text, start, end)
            if at[0] in registers
        ]
        if number == 0 and writes and not text.startswith("[", start):
            defines += [use.name for use in found]
        else:
            uses += found
            if not found and (literal := _literal(text[start:end], head["opcode"], number)):
                uses.append(OperandUse(start, end, "", literal, fixed))
    if operation == "call" and (results := re.match(r"\s*\(([^()]*)\)\s*,", text[head.end() :])):
        defines += [name for name in _REGISTER.findall(results[1]) if name in registers]
    guarded = head["guard"] is not None
    return Instruction(text, head["opcode"], tuple(defines), tuple(uses), guarded)


def _operands(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the operands, which are separated by commas outside brackets."""
    depth, start = 0, at
    for place in range(at, len(text)):
        character = text[place]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == ";" or (character == "," and depth == 0):
            yield _stripped(text, start, place)
            start = place + 1


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _literal(text: str, opcode: str, number: int) -> str:
    """Return the kind of a literal: integer, fraction or shift distance, with its size in bits.

    Return "" if the text is not a literal, or if other literals cannot replace it.
    """
    operation, _, modifiers = opcode.partition(".")
    size = re.search(r"(\d+)\Z", modifiers)
    if size is None:
        return ""
    if operation in _SHIFTS and number == 2 and _INTEGER.match(text):
        return f"shift{size[1]}"
    if operation not in _VALUES:
        return ""
    if _FRACTION.match(text):
        return f"fraction{text[1].lower()}"
    return f"integer{size[1]}" if _INTEGER.match(text) else ""
