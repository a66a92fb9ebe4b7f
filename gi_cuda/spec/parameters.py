"""Parameters of a target, their values, and conditions on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gi_cuda import BACKENDS
from gi_cuda.spec.expression import ExpressionError
from gi_cuda.spec.toml_file.table import Table

if TYPE_CHECKING:
    from gi_cuda.spec.toml_file import key_types as key


Value = int | float | str
"""One value of a parameter."""

Configuration = Mapping[str, Value]
"""A value for every parameter of a target."""


class ParameterKind(StrEnum):
    """The way in which a parameter's value reaches the compiler."""

    MACRO = "macro"
    """A macro that is always defined, with the value as its text."""
    FLAG = "flag"
    """A macro that is defined (1) or not defined (0)."""
    OPTION = "option"
    """An option on the compiler's command line."""
    CONSTANT = "constant"
    """A constant in the source, ``const int BLOCK = 256;``, whose number is replaced. It may also
    be an integer variable, or belong to a host function."""

    @property
    def preprocessed(self) -> bool:
        """Tell whether the parameter is a macro, which the preprocessor replaces."""
        return self in (ParameterKind.MACRO, ParameterKind.FLAG)


@dataclass(frozen=True, slots=True)
class Parameter(Table):
    """``[[parameter]]``: one dimension of the configuration space.

    Attributes:
        name: name of the parameter.
        kind: default: a macro.
        values: possible values, in the order of the file; 0 and 1 for a switch.
        default: value of the reference, one of `values`.
        text: text of an option on the command line, with ``{}`` for the value. Without ``{}`` the
            option is present for the value 1 and absent for 0.
        help: description for users.
        backends: back ends whose compiler understands the parameter; on others it keeps its
            default.
        line: line of the table in ``target.toml``.
    """

    name: key.Name
    kind: ParameterKind
    values: key.Values
    default: key.Default
    text: str = ""
    help: str = ""
    backends: key.Backends = BACKENDS
    line: int = 0

    @property
    def switch(self) -> bool:
        """Tell whether the parameter is on or off; its values are then 0 and 1."""
        option = self.kind is ParameterKind.OPTION
        return self.kind is ParameterKind.FLAG or (option and "{}" not in self.text)

    @classmethod
    def shaped(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"kind": ParameterKind.MACRO, "values": (), **table}


@dataclass(frozen=True, slots=True)
class Constraint(Table):
    """``[[constraint]]``: a condition on parameters; it holds if `that` is not zero."""

    that: key.IntExpression
    why: str = ""
    line: int = 0

    def allows(self, configuration: Configuration) -> bool:
        """Tell whether the condition holds. Return False if it cannot be evaluated."""
        try:
            return self.that.evaluate(configuration) != 0  # type: ignore[arg-type]
        except ExpressionError:
            return False
