"""What a configuration adds to a compiler's command line."""

from __future__ import annotations

from gi_cuda.spec.target import Configuration, Parameter, ParameterKind, Target, Value


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
