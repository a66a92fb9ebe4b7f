"""Definitions of a target's parameters in its source, as macros or constants."""

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
"""A letter. In text without hexadecimal numbers it shows a type suffix, a cast or a name."""
_HEXADECIMAL = re.compile(r"\b0[xX][0-9a-fA-F]+\b")


@dataclass(frozen=True, slots=True)
class Definitions:
    """The definitions of one parameter's macro, or the declarations of its constant.

    Attributes:
        default: default value of the parameter.
        own: texts of the active definitions that are equal to the default.
        others: texts of the active definitions with another value. They do not define the
            parameter: another kernel may have a macro of the same name.
        fixed: whether the definitions hold even if ``-D`` defines the macro.
    """

    default: Value
    own: tuple[str, ...]
    others: frozenset[str]
    fixed: bool

    @property
    def in_place(self) -> bool:
        """Tell whether a value must be written into the source, in place of the default."""
        return self.fixed and bool(self.own)

    def written(self, value: Value) -> str:
        """Return a value in the notation of the source's default.

        For example, 32 is ``(0x20)`` if the default is ``(0x40)``, and ``32u`` if it is ``64u``. In
        another notation the value could have another type.
        """
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
        """Return the texts of the definitions that do not change for a value."""
        return self.others | frozenset(self.own) if value == self.default else self.others


def read_definitions(text: str, target: Target, standard: Configuration) -> dict[str, Definitions]:
    """Read the definitions of the parameters that are constants, or macros with a value.

    Args:
        text: text of the source.
        standard: configuration with all defaults.

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
    """Return the declarations of a parameter that is a constant.

    Raises:
        UserError: the source does not declare it, or with another value than the default.
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
    """Return the macros that the build defines with ``-D`` and that the source redefines anyway."""
    return frozenset(
        name
        for name, one in found.items()
        if name in given and one.fixed and (one.own or one.others)
    )


def equal(one: str, other: str) -> bool:
    """Tell whether two spellings are the same integer of the same type.

    The suffix of a number does not count, since :meth:`Definitions.written` keeps it: ``(1 << 4)``,
    ``0x10u`` and ``16`` are equal.
    """
    if one == other:
        return True
    if not _INTEGER.fullmatch(one) and _TYPED.search(_HEXADECIMAL.sub("", one)):
        return False
    try:
        return parse(one).evaluate({}) == parse(other).evaluate({})
    except ExpressionError:
        return False


def number_said(body: str) -> str:
    """Return the text of a definition as a value of a parameter, e.g. ``64`` for ``(0x40u)``."""
    like = _INTEGER.fullmatch(body)
    return str(int(like["number"], 0)) if like else body
