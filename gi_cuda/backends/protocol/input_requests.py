"""Requests to workers about the behaviour of programs on other inputs, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.substitutes import Other, Substitute, Substituted


class Effect(Enum):
    """The effect on the outputs of replacing an input."""

    NONE = 0
    SMALL = 1
    """Some outputs have other bits, in some case."""

    TOLD = 2
    """In the smallest case the outputs differ so much that :class:`AgreesWith` would reject a
    program that ignores the input."""


@dataclass(frozen=True, slots=True)
class DependsOn:
    """Request to run a program with an input, and with a substitute for it.

    The answer is an :class:`Effect`.

    Attributes:
        input: a buffer, or a scalar. Kernels get the scalar's substitute; the launch configuration
            still uses the original value.
        substitute: the value in its place.
        limit: seconds after which a launch counts as hung.
    """

    program: Program
    input: str
    substitute: Substitute
    limit: float


@dataclass(frozen=True, slots=True)
class AgreesWith:
    """Request to run the reference and a program with a substitute for an input.

    The answer is the reason why the program's outputs are wrong, compared with the reference's, on
    the smallest case: "" if they are right, None if the reference's outputs are not even acceptable
    compared with its own.

    Attributes:
        input, substitute: as in :class:`DependsOn`; or a description and a case of another size,
            which is generated and planned anew.
        limit: seconds after which a launch counts as hung.
    """

    program: Program
    reference: Program
    input: str
    substitute: Other
    limit: float


@dataclass(frozen=True, slots=True)
class WritesTheSame:
    """Request to run a program and the reference on the smallest case.

    The answer is True if they write the same elements, except for one in a hundred.
    """

    program: Program
    reference: Program
    limit: float


@dataclass(frozen=True, slots=True)
class KeepsNothing:
    """Request to check that a program keeps no results from one launch to the next.

    The program is launched several times on changing data, and its variables keep what launches
    leave in them. The reference is launched in the same way. The answer is as that to
    :class:`AgreesWith`.

    Attributes:
        others: substitutes for inputs, used in turn in every second launch.
        launches: number of launches.
        limit: seconds after which a launch counts as hung.
    """

    program: Program
    reference: Program
    others: tuple[Substituted, ...]
    launches: int
    limit: float


@dataclass(frozen=True, slots=True)
class TellVarying:
    """Request to run the reference with substitutes for inputs, one after the other.

    The answer is a :class:`Varying`.

    Attributes:
        others: the substitutes.
        limit: seconds after which a launch counts as hung.
    """

    reference: Program
    others: tuple[Substituted, ...]
    limit: float


@dataclass(frozen=True, slots=True)
class Varying:
    """The share of the outputs that changes with other inputs.

    Attributes:
        elements: for each judged buffer, the number of elements that changed, and the number that
            are ever written.
    """

    elements: Mapping[str, tuple[int, int]]
