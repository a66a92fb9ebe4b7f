"""How a source defines its parameters, and how it writes their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.errors import UserError
from gi_cuda.grammar.macro_values import constants_said, in_force, said
from gi_cuda.grammar.presence import read_presence
from gi_cuda.spec import Configuration, Parameter, ParameterKind, Target, Value, macros
from gi_cuda.spec.expression import ExpressionError, parse

_INTEGER = re.compile(
    r"(?P<before>[( ]*)(?P<number>0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)(?P<after>[uUlL]*[) ]*)"
)
_TYPED = re.compile(r"[A-Za-z_]")
"""A suffix, a cast or the like, in what has no hexadecimal number."""
_HEXADECIMAL = re.compile(r"\b0[xX][0-9a-fA-F]+\b")


@dataclass(frozen=True, slots=True)
class Definitions:
    """The definitions of one parameter's macro, or the declarations of its constant.

    Attributes:
        default: the parameter's.
        own: what those say that count as the source is, and say the default.
        others: what those say that count as well and say something else: they are none of the
            parameter, which another kernel may have under the same name.
        fixed: whether they count whatever comes from outside.
    """

    default: Value
    own: tuple[str, ...]
    others: frozenset[str]
    fixed: bool

    @property
    def in_place(self) -> bool:
        """Whether a value has to stand where the source has its own."""
        return self.fixed and bool(self.own)

    def written(self, value: Value) -> str:
        """A value as the source writes its own: ``(0x20)`` like ``(0x40)``, ``32u`` like ``64u``.
        A number in other clothes is of another type."""
        if not self.own:
            return str(value)
        if value == self.default:
            return self.own[0]
        like = _INTEGER.fullmatch(self.own[0])
        if like is None or not isinstance(value, int) or isinstance(value, bool):
            return str(value)
        number = f"{value:#x}" if like["number"][:2] in ("0x", "0X") else str(value)
        return f"{like['before']}{number}{like['after']}"

    def kept(self, value: Value) -> frozenset[str]:
        """What definitions say that stay as they are under a value."""
        return self.others | frozenset(self.own) if value == self.default else self.others


def read_definitions(text: str, target: Target, standard: Configuration) -> dict[str, Definitions]:
    """How a source defines the parameters that are macros with a value, or constants.

    Args:
        text: the source's.
        standard: all defaults.

    Raises:
        UserError: a parameter is a constant that the source does not declare.
    """
    presence = read_presence(text)
    plain = [one for one in presence.macros() if one.parameters is None]
    guarded = {one.name for one in plain if presence.is_guarded(one)}
    defined = {one.name for one in plain}
    known = {
        name: value
        for name, value in macros(target, standard).items()
        if name not in defined or name in target.build.define
    }
    says: dict[str, list[str]] = {}
    for macro in in_force(text, known):
        says.setdefault(macro.name, []).append(said(macro.body))
    numbers: dict[str, list[str]] = {}
    for constant in constants_said(text):
        numbers.setdefault(constant.name, []).append(constant.value)
    found = {}
    for one in target.parameters:
        if one.kind is ParameterKind.CONSTANT:
            found[one.name] = _of_constant(one, numbers.get(one.name, ()), target)
        if one.kind is ParameterKind.MACRO and one.name in defined:
            bodies = dict.fromkeys(says.get(one.name, ()))
            own = tuple(body for body in bodies if equal(body, str(one.default)))
            others = frozenset(bodies).difference(own)
            found[one.name] = Definitions(one.default, own, others, one.name not in guarded)
    return found


def _of_constant(one: Parameter, numbers: Sequence[str], target: Target) -> Definitions:
    """The declaration of a constant that is a parameter.

    Raises:
        UserError: the source does not declare it, or to be another number than the default.
    """
    if not numbers or not all(equal(number, str(one.default)) for number in numbers):
        said = " and ".join(dict.fromkeys(numbers))
        raise UserError(
            f"the source has no constant {one.name} that is {one.default}"
            + (f": it is {said}" if said else ""),
            where=f"{target.file}:{one.line}",
            hint=f"it has to be declared in one place, as in `const int {one.name} ="
            f' {one.default};`; a macro needs kind = "macro"',
        )
    return Definitions(one.default, tuple(dict.fromkeys(numbers)), frozenset(), True)


def overruled(found: Mapping[str, Definitions], given: Mapping[str, str]) -> frozenset[str]:
    """The macros that the build gives, and that the source defines all the same."""
    return frozenset(
        name
        for name, one in found.items()
        if name in given and one.fixed and (one.own or one.others)
    )


def equal(one: str, other: str) -> bool:
    """Whether two spellings are the same integer, and of the same type but for a suffix that
    :meth:`Definitions.written` keeps: ``(1 << 4)``, ``0x10u`` and ``16`` are."""
    if one == other:
        return True
    if not _INTEGER.fullmatch(one) and _TYPED.search(_HEXADECIMAL.sub("", one)):
        return False
    try:
        return parse(one).evaluate({}) == parse(other).evaluate({})
    except ExpressionError:
        return False


def number_said(body: str) -> str:
    """What a definition says, as a value of a parameter."""
    like = _INTEGER.fullmatch(body)
    return str(int(like["number"], 0)) if like else body
