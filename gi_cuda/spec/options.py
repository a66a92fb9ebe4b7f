"""What a configuration is to a compiler: macros, constants, and options on its command line."""

from __future__ import annotations

from gi_cuda.spec.target import Configuration, Parameter, ParameterKind, Target, Value


def macros(target: Target, configuration: Configuration) -> dict[str, str]:
    """The macros and constants that a configuration defines, with their replacement text.

    Fixed ones of ``[build]`` come first; a flag is defined to 1 or absent, whatever they say.
    """
    defined = dict(target.build.define)
    for parameter in target.parameters:
        value = configuration[parameter.name]
        if parameter.kind in (ParameterKind.MACRO, ParameterKind.CONSTANT):
            defined[parameter.name] = str(value)
        elif parameter.kind is ParameterKind.FLAG and value:
            defined[parameter.name] = "1"
        elif parameter.kind is ParameterKind.FLAG:
            defined.pop(parameter.name, None)
    return defined


def compiler_options(target: Target, configuration: Configuration, backend: str) -> tuple[str, ...]:
    """The options that `backend`'s compiler gets for a configuration.

    The target's fixed ones come first. An option parameter whose value is the empty text is left
    out, and so is one that is not for this backend.
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
