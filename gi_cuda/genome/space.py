"""The configuration space: parameters, their values, and the constraints between them.

Compile-time parameters are genes beside the code edits (Langdon et al., GECCO 2015, table 2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from gi_cuda.spec.launching.options import macros_of
from gi_cuda.spec.parameters import Constraint, Parameter, Value
from gi_cuda.spec.target import Target


@dataclass(frozen=True)
class Space:
    """All configurations that a target allows.

    Attributes:
        parameters: the parameters, in the target's order; each is a gene.
        constraints: conditions on the values of the parameters.
        defines: macros that every configuration defines, besides its own.
    """

    parameters: tuple[Parameter, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict, hash=False)

    @classmethod
    def from_target(cls, target: Target, backend: str | None = None) -> Space:
        """Return the space of a target.

        Args:
            backend: a parameter that does not apply to this back end keeps its default; None: all
                parameters vary.
        """
        parameters = tuple(
            parameter
            if backend is None or backend in parameter.backends
            else replace(parameter, values=(parameter.default,))
            for parameter in target.parameters
        )
        return cls(parameters, target.constraints, target.build.define)

    @cached_property
    def default(self) -> Configuration:
        """The configuration of the reference: every parameter at its default."""
        return Configuration(self, tuple(parameter.default for parameter in self.parameters))

    def chosen(self, values: Mapping[str, Value]) -> Configuration:
        """Return the configuration with the values of a mapping; other keys are ignored."""
        return Configuration(self, tuple(values[name] for name in self.index))

    def allows(self, configuration: Configuration) -> bool:
        """Tell whether a configuration satisfies every constraint."""
        return all(constraint.allows(configuration) for constraint in self.constraints)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of each parameter, by name."""
        return {parameter.name: i for i, parameter in enumerate(self.parameters)}

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Positions of the parameters that have more than one value."""
        return tuple(i for i, parameter in enumerate(self.parameters) if len(parameter.values) > 1)

    @cached_property
    def neighbours(self) -> tuple[Mapping[Value, tuple[Value, ...]], ...]:
        """For each parameter and value, the next smaller and next larger value, if they exist.

        A parameter with a value that is not a number has no order, so no neighbours.
        """
        return tuple(_neighbours(parameter.values) for parameter in self.parameters)

    @cached_property
    def spellings(self) -> Mapping[str, Mapping[str, Value]]:
        """The values of each parameter, keyed by their text in the notation."""
        return {
            parameter.name: {spell(value): value for value in parameter.values}
            for parameter in self.parameters
        }


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter with a value other than its default; ``str`` writes it as ``BLOCK_W=128``."""

    name: str
    value: Value

    def __str__(self) -> str:
        return f"{self.name}={spell(self.value)}"


@dataclass(frozen=True, slots=True)
class Configuration(Mapping[str, Value]):
    """A value for every parameter of a space, read by name.

    Attributes:
        space: the space of the configuration.
        chosen: the values, in the order of the space's parameters.
        shape: changes of the launches by transformations, keyed as in
            :class:`gi_cuda.spec.launching.shape.Shape`. They can be read by name as parameters can.
    """

    space: Space = field(repr=False)
    chosen: tuple[Value, ...]
    shape: tuple[tuple[str, int], ...] = ()

    def __getitem__(self, name: str) -> Value:
        at = self.space.index.get(name)
        return dict(self.shape)[name] if at is None else self.chosen[at]

    def __iter__(self) -> Iterator[str]:
        return chain(self.space.index, (name for name, _ in self.shape))

    def __len__(self) -> int:
        return len(self.chosen) + len(self.shape)

    def __hash__(self) -> int:
        return hash((self.chosen, self.shape))

    def shaped(self, shape: Mapping[str, int]) -> Configuration:
        """Return this configuration with the changes of launches that transformations make."""
        return replace(self, shape=tuple(sorted(shape.items()))) if shape else self

    def having(self, changes: Mapping[str, Value]) -> Configuration:
        """Return this configuration with some values changed; constraints may break.

        Raises:
            KeyError: a name is not a parameter's.
            ValueError: a parameter does not take the value.
        """
        chosen = list(self.chosen)
        for name, value in changes.items():
            at = self.space.index[name]
            if value not in self.space.parameters[at].values:
                raise ValueError(f"{name} does not take the value {value!r}")
            chosen[at] = value
        return Configuration(self.space, tuple(chosen))

    @property
    def changed(self) -> dict[str, Value]:
        """The values that differ from their defaults, by name, in the space's order."""
        default = self.space.default.chosen
        if self.chosen == default:
            return {}
        return {
            name: value
            for name, value, usual in zip(self.space.index, self.chosen, default, strict=True)
            if value != usual
        }

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The values that differ from their defaults, in the space's order."""
        return tuple(Setting(name, value) for name, value in self.changed.items())

    @property
    def macros(self) -> dict[str, str]:
        """The macros that the configuration defines, and the space's own.

        A parameter defines a macro with its value; a flag is defined only if it is on.
        """
        return macros_of(self.space.defines, self.space.parameters, self)


_BARE = re.compile(r'[^\s<>"]+')


def spell(value: Value) -> str:
    """Return a value in notation; text is quoted if a bare word would be misread."""
    if not isinstance(value, str):
        return repr(value)
    return value if _BARE.fullmatch(value) and not _is_number(value) else json.dumps(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _neighbours(values: Sequence[Value]) -> Mapping[Value, tuple[Value, ...]]:
    numbers = [value for value in values if not isinstance(value, str)]
    if len(numbers) < len(values):
        return dict.fromkeys(values, ())
    ladder = sorted(numbers)
    return {
        value: (*ladder[max(0, i - 1) : i], *ladder[i + 1 : i + 2])
        for i, value in enumerate(ladder)
    }
