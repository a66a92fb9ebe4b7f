"""Requests to workers about what programs do with other inputs, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.substitutes import Other, Substitute, Substituted


class Effect(Enum):
    """The effect of something else in the place of an input on answers."""

    NONE = 0
    SMALL = 1
    """Other bits, on some case."""

    TOLD = 2
    """On the smallest case, so large that :class:`AgreesWith` refuses a program without it."""


@dataclass(frozen=True, slots=True)
class DependsOn:
    """Run a program with an input, and with something else in its place; the answer is an
    :class:`Effect`.

    Attributes:
        input: a buffer, or a scalar, of which kernels get another value; as much is launched as
            with its own.
        substitute: what stands in its place.
    """

    program: Program
    input: str
    substitute: Substitute
    limit: float


@dataclass(frozen=True, slots=True)
class AgreesWith:
    """Run the reference and a program with something else in the place of an input; the answer is
    why the program's answers are wrong beside the reference's, on the smallest case: "" where they
    are not, None where the reference's are not even acceptable beside its own.

    Attributes:
        input, substitute: as :class:`DependsOn` has them; or a case of another size, which is made
            and planned anew, and the words for that.
    """

    program: Program
    reference: Program
    input: str
    substitute: Other
    limit: float


@dataclass(frozen=True, slots=True)
class WritesTheSame:
    """Run a program and the reference on the smallest case; the answer is whether they write the
    same elements, but for one in a hundred."""

    program: Program
    reference: Program
    limit: float


@dataclass(frozen=True, slots=True)
class KeepsNothing:
    """Launch a program several times on data that changes, and let its variables keep what launches
    leave in them; launch the reference in the same way. The answer is as that to
    :class:`AgreesWith`.

    Attributes:
        others: what stands in the place of inputs, in turn, in every second launch.
        launches: how often.
    """

    program: Program
    reference: Program
    others: tuple[Substituted, ...]
    launches: int
    limit: float


@dataclass(frozen=True, slots=True)
class TellVarying:
    """Run the reference with something else in the place of inputs, one after the other. The answer
    is a :class:`Varying`.

    Attributes:
        others: what stands in their place.
    """

    reference: Program
    others: tuple[Substituted, ...]
    limit: float


@dataclass(frozen=True, slots=True)
class Varying:
    """The share of the outputs that changes with other inputs.

    Attributes:
        elements: for each judged buffer how many elements did, and how many are ever written.
    """

    elements: Mapping[str, tuple[int, int]]
