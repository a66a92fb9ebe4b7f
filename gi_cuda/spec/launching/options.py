"""Macros and compiler options of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gi_cuda.spec.parameters import Configuration, Parameter, ParameterKind, Value
from gi_cuda.spec.target import Target


def macros(target: Target, configuration: Configuration) -> dict[str, str]:
    """Return the macros that a configuration of a target defines, with their replacement text."""
    return macros_of(target.build.define, target.parameters, configuration)


def macros_of(
    defines: Mapping[str, str], parameters: Sequence[Parameter], configuration: Configuration
) -> dict[str, str]:
    """Return the macros that values of parameters define, with their replacement text.

    Args:
        defines: further macros; a flag parameter overrides them: it is 1 or absent.
        parameters: the parameters.
        configuration: values of the parameters.
    """
    defined = dict(defines)
    for parameter in parameters:
        value = configuration[parameter.name]
        if parameter.kind is ParameterKind.MACRO:
            defined[parameter.name] = str(value)
        elif parameter.kind is ParameterKind.FLAG and value:
            defined[parameter.name] = "1"
        elif parameter.kind is ParameterKind.FLAG:
            defined.pop(parameter.name, None)
    return defined


def compiler_options(target: Target, configuration: Configuration, backend: str) -> tuple[str, ...]:
    """Return the options that `backend`'s compiler gets for a configuration.

    The target's fixed options come first. An option parameter is left out if its value is the empty
    text or if it is not for this back end.
    """
    options = list(target.build.options.get(backend, ()))
    for parameter in target.parameters:
        if parameter.kind is ParameterKind.OPTION and backend in parameter.backends:
            options += _option(parameter, configuration[parameter.name])
    return tuple(options)


def _option(parameter: Parameter, value: Value) -> list[str]:
    if "{}" not in parameter.text:
        return [parameter.text] if value else []
    return [] if value == "" else [parameter.text.replace("{}", str(value))]
