"""Translate ``asm`` statements, with their operands, into blocks of C++."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gi_cuda.backends.host.ptx.arithmetic import ARITHMETIC
from gi_cuda.backends.host.ptx.instruction import Instruction, Unknown
from gi_cuda.backends.host.ptx.matrices import MATRICES
from gi_cuda.backends.host.ptx.memory import MEMORY
from gi_cuda.backends.host.ptx.small_floats import SMALL, is_small, small
from gi_cuda.backends.host.ptx.types import REGISTERS, of_register

_STRING: Final = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|[()\[\]{}]|:|,|;', re.S)
_OPERAND: Final = re.compile(
    r'\s*(?:\[\s*(?P<name>\w+)\s*\])?\s*"(?P<way>[=+&]*)(?P<kind>[rlhfdnC])"\s*\((?P<value>.*)\)\s*\Z',
    re.S,
)
_ESCAPE: Final = re.compile(r"\\(.)")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_REFERENCE: Final = re.compile(r"%(%?)(?:\[(\w+)\]|(\d+)|([A-Za-z_]\w*(?:\.[xyzw])?))")
_PIECE: Final = re.compile(r"\s*([{}])|\s*([^;{}]*(?:\{[^;{}]*\}[^;{}]*)*);")
_REGISTER: Final = re.compile(r"\.reg\s*\.(\w+)\s+(.+)", re.S)
_MANY: Final = re.compile(r"(\S+?)<(\d+)>")
_INSTRUCTION: Final = re.compile(
    r"(?:@(?P<not>!?)(?P<guard>[\w%$]+)\s+)?(?P<name>[a-z]\w*)(?P<rest>(?:\.[\w:]+)*)\s*(?P<operands>.*)",
    re.S,
)
_CONSTRAINT: Final = {"r": "b32", "l": "b64", "h": "b16", "f": "f32", "d": "f64"}


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand of an ``asm`` statement.

    Attributes:
        name: its name in the template, in addition to its number; "" if it has none.
        way: ``=`` or ``+`` for operands that are written; else "".
        kind: letter for the class of registers that it may be in.
        value: the C++ expression.
    """

    name: str
    way: str
    kind: str
    value: str


def translated(text: str) -> str:
    """Return an ``asm`` statement as a C++ statement, without its semicolon.

    Args:
        text: the text in its parentheses.

    Raises:
        Unknown: an instruction or a form cannot be translated; the message is that instruction.
    """
    template, operands = _parts(text)
    names = {str(number): number for number in range(len(operands))}
    names |= {one.name: number for number, one in enumerate(operands) if one.name}
    code = _COMMENT.sub(" ", _ESCAPE.sub(_unescaped, template))
    code = _REFERENCE.sub(lambda found: _named(found, names), code)
    lines = [_declared(number, one) for number, one in enumerate(operands)]
    lines += _body(code)
    lines += [
        f"gi_ptx_give({one.value}, gi_operand_{number});"
        for number, one in enumerate(operands)
        if one.way
    ]
    return f"do {{ {' '.join(' '.join(lines).split())} }} while (0)"


def _unescaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "r": "\n"}.get(found[1], found[1])


def _parts(text: str) -> tuple[str, list[_Operand]]:
    """Return the template and the operands, outputs first."""
    template, *sections = _split(text, ":")
    if len(sections) > 3 or "R" in _STRING.sub("", template):
        raise Unknown(template)
    operands = []
    for output, section in ((True, sections[0:1]), (False, sections[1:2])):
        for one in _split(section[0], ",") if section and section[0].strip() else ():
            found = _OPERAND.match(one)
            if found is None or bool(found["way"]) is not output:
                raise Unknown(" ".join(_STRING.findall(template)))
            operands.append(
                _Operand(found["name"] or "", found["way"], found["kind"], found["value"])
            )
    return "".join(_STRING.findall(template)), operands


def _split(text: str, mark: str) -> list[str]:
    """Split a text at a mark outside of brackets and literals."""
    parts, depth, at = [], 0, 0
    for token in _TOKEN.finditer(text):
        word = token[0]
        depth += (word in "([{") - (word in ")]}")
        if word == mark and depth == 0:
            parts.append(text[at : token.start()])
            at = token.end()
    return [*parts, text[at:]]


def _named(found: re.Match[str], names: dict[str, int]) -> str:
    doubled, called, number, register = found.groups()
    if register is not None:
        return f"%{register}"
    if doubled or (called or number) not in names:
        raise Unknown(found[0])
    return f" gi_operand_{names[called or number]} "


def _declared(number: int, operand: _Operand) -> str:
    name = f"gi_operand_{number}"
    if operand.kind in "nC":
        return f"const long long {name} = {operand.value};"
    kind = REGISTERS[_CONSTRAINT[operand.kind]]
    if operand.way.startswith("="):
        return f"{kind} {name} = {{}};"
    return f"{kind} {name} = ({kind})({operand.value});"


def _body(code: str) -> Iterator[str]:
    """Yield the template's statements in C++."""
    at = 0
    code += ";"
    while code[at:].strip():
        piece = _PIECE.match(code, at)
        if piece is None:
            raise Unknown(" ".join(code[at:].split()))
        at = piece.end()
        if piece[1]:
            yield piece[1]
        elif piece[2].strip():
            yield from _one(" ".join(piece[2].split()))


def _one(text: str) -> Iterator[str]:
    if found := _REGISTER.fullmatch(text):
        if found[1] not in REGISTERS:
            raise Unknown(text)
        names = [_all(name.strip()) for name in found[2].split(",")]
        yield from (
            f"{REGISTERS[found[1]]} {of_register(name)} = {{}};" for some in names for name in some
        )
        return
    found = _INSTRUCTION.fullmatch(text)
    if found is None:
        raise Unknown(text)
    operands = [one.strip() for one in _split(found["operands"], ",") if one.strip()]
    words = tuple(found["rest"].split(".")[1:])
    done = _cpp(Instruction(found["name"], words, tuple(operands), text))
    if found["guard"]:
        done = f"if ({found['not']}{of_register(found['guard'])}) {{ {done} }}"
    yield done


def _cpp(one: Instruction) -> str:
    """Return an instruction as C++ statements."""
    small_floats = small if one.name in SMALL and is_small(one) else None
    make = (
        small_floats or ARITHMETIC.get(one.name) or MEMORY.get(one.name) or MATRICES.get(one.name)
    )
    if make is None:
        raise Unknown(one.text)
    try:
        return make(one)
    except (IndexError, StopIteration, ValueError):  # it lacks words or operands
        raise Unknown(one.text) from None


def _all(name: str) -> Sequence[str]:
    """Return the registers that ``name<4>`` declares."""
    many = _MANY.fullmatch(name)
    return [f"{many[1]}{number}" for number in range(int(many[2]))] if many else [name]
