"""Cut PTX text into functions, and their bodies into labels and instructions (PTX ISA, "Syntax").

Text that is not understood stays fixed text; reading never fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gi_cuda.grammar.frontends.instructions.instruction import (
    Instruction,
    InstructionFunction,
    Item,
    Label,
    Statement,
)
from gi_cuda.grammar.frontends.ptx.operands import read_instruction
from gi_cuda.grammar.rule_types import RuleType

_FUNCTION = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak|extern|common)\s+)*\.(?P<kind>entry|func)\b"
    r"\s*(?:\([^()]*\)\s*)?(?P<name>[\w$]+)",
    re.M,
)
_SKIP = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"', re.S)
_BRACE_OR_SEMICOLON = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"|[{};]', re.S)
_PIECE = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<line>\.(?:loc|file)\b[^\n]*)
      | (?P<label>[A-Za-z_$%][\w$]*)\s*:(?!:)
      | (?P<brace>[{}])
      | (?P<directive>\.(?:"[^"\n]*"|[^;"])*;)
      | (?P<instruction>[@a-z](?:[^;/"]|/(?![/*]))*;)
    """,
    re.X | re.S,
)
_DECLARED = re.compile(r"\.reg\s+(?:\.v[24]\s+)?\.(?P<type>\w+)\s+(?P<names>[^;]*);")
_NAME = re.compile(r"(?P<name>%?[\w$]+)\s*(?:<\s*(?P<count>\d+)\s*>)?")
_LABELS = re.compile(r"\$?[A-Za-z_$][\w$]*")
_TYPES: Mapping[str, RuleType] = {
    "pred": RuleType.PRED,
    **{f"{sign}{size}": RuleType[f"B{size}"] for size in (16, 32, 64) for sign in "bsu"},
    "f32": RuleType.F32,
    "f64": RuleType.F64,
    "f16": RuleType.B16,
    "f16x2": RuleType.B32,
}


def read_functions(text: str) -> Iterator[InstructionFunction]:
    """Yield the functions of a module that have bodies, in order."""
    at = 0
    while head := _FUNCTION.search(text, at):
        opening, end = _body(text, head.end())
        at = end
        if opening is not None:
            yield _function(text, head, opening + 1, end)


def _body(text: str, at: int) -> tuple[int | None, int]:
    """Return the offset of a function's opening brace (None: no body), and the function's end."""
    depth, opening = 0, None
    for found in _BRACE_OR_SEMICOLON.finditer(text, at):
        match found[0]:
            case ";" if opening is None:
                return None, found.end()
            case "{":
                depth += 1
                opening = found.start() if opening is None else opening
            case "}":
                depth -= 1
                if depth == 0:
                    return opening, found.end()
    return None, len(text)


def _function(text: str, head: re.Match[str], body: int, end: int) -> InstructionFunction:
    plain = _SKIP.sub("", text[body:end])
    registers = _registers(plain)
    tables = dict(_tables(plain))
    items = tuple(_items(text, body, end - 1, registers, tables))
    calls = frozenset(
        name
        for item in items
        if isinstance(item, Statement) and item.instruction.operation == "call"
        for name in _LABELS.findall(item.instruction.text)
    )
    kernel = head["kind"] == "entry"
    return InstructionFunction(
        head["name"], kernel, head.start(), end, body, registers, items, calls
    )


def _registers(body: str) -> dict[str, RuleType]:
    """Return the registers that a body declares, if their types have rules."""
    found = {}
    for declaration in _DECLARED.finditer(body):
        kind = _TYPES.get(declaration["type"])
        if kind is None:
            continue
        for name in _NAME.finditer(declaration["names"]):
            if name["count"]:
                found.update({f"{name['name']}{n}": kind for n in range(int(name["count"]))})
            elif name["name"].startswith("%"):
                found[name["name"]] = kind
    return found


def _tables(body: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name and the labels of each table of an indirect branch."""
    for found in re.finditer(r"([\w$]+)\s*:\s*\.branchtargets\s+([^;]*);", body):
        yield found[1], tuple(_LABELS.findall(found[2]))


def _items(
    text: str,
    at: int,
    end: int,
    registers: Mapping[str, RuleType],
    tables: Mapping[str, tuple[str, ...]],
) -> Iterator[Item]:
    depth = 0
    while at < end:
        found = _PIECE.match(text, at, end)
        if found is None:  # not understood: fixed text up to the next semicolon
            at = text.find(";", at, end) + 1 or end
            continue
        at = found.end()
        if found["brace"]:
            depth += 1 if found["brace"] == "{" else -1
        elif found["label"]:
            yield Label(found["label"], found.start())
        elif found["instruction"]:
            instruction = read_instruction(found["instruction"], registers)
            if instruction is not None:
                targets = _targets(instruction, tables)
                fixed = depth > 0 or instruction.operation == "call"
                yield Statement(instruction, found.start(), found.end(), fixed, targets)


def _targets(instruction: Instruction, tables: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if instruction.operation not in ("bra", "brx"):
        return ()
    last = instruction.text.rstrip("; \t\n").split()[-1]
    return tables.get(last, ()) if instruction.operation == "brx" else (last,)
