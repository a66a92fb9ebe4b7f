"""Check that each parameter has an effect.

A parameter without one is misspelt, or the source defines its macro regardless of ``-D``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.evaluate.checks.parameters.macros import Preprocessed, Preprocessor, defined_at
from gi_cuda.genome import Configuration
from gi_cuda.spec import Parameter, Value
from gi_cuda.subject import Subject

TRIED = 32
"""Number of random configurations in which a parameter without an effect by itself is tried."""

_SEED = 1


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a parameter's values.

    Attributes:
        code: whether they change the preprocessed code, under the defaults or other values.
        launched: whether they change launches, buffers or compiler options.
        said: whether the device code contains the name, apart from its definition.
        defined: place of its definition in the source, in words; "" if there is none.
        obeys: whether ``-D`` sets its macro.
    """

    code: bool
    launched: bool
    said: bool
    defined: str
    obeys: bool


def read_effects(subject: Subject, compiler: Compiler) -> dict[str, Effect]:
    """Return the effect of each parameter with more than one value.

    Empty if the source cannot be preprocessed; the compiler then reports the error.
    """
    preprocessor = Preprocessor.of(subject, compiler)
    space = subject.space
    if preprocessor.of_configurations([space.default])[0].text is None:
        return {}
    free = [space.parameters[at] for at in space.free]
    alone = [_values_in(space.default, parameter) for parameter in free]
    groups = _read(preprocessor, alone)
    found: dict[str, Effect] = {}
    for parameter, several, readings in zip(free, alone, groups, strict=True):
        name = parameter.name
        outside = {(subject.options(one), subject.launch_values(one)) for one in several}
        stands_for = {one.values.get(name) for one in readings}
        found[name] = Effect(
            _differ(readings),
            len(outside) > 1,
            _said(subject, name),
            str(defined_at(subject, name) or ""),
            len(stands_for) > 1 or not parameter.kind.preprocessed,
        )
    for parameter in free:
        effect = found[parameter.name]
        if not effect.code and not (effect.launched and effect.obeys):
            around = list(_surroundings(space.parameters, parameter, space.default))
            tries = _read(preprocessor, [_values_in(one, parameter) for one in around])
            code = any(_differ(readings) for readings in tries)
            found[parameter.name] = replace(effect, code=code)
    return found


def inert(
    file: str, parameters: Sequence[Parameter], effects: Mapping[str, Effect]
) -> Iterator[Finding]:
    """Yield a finding for each parameter that cannot have an effect.

    Args:
        file: path of ``target.toml``, as the user gave it.
    """
    for parameter in parameters:
        effect = effects.get(parameter.name)
        if effect is None or effect.code:
            continue
        where = f"{file}:{parameter.line}"
        if effect.said and not effect.obeys:
            yield Finding(
                where,
                f"the parameter {parameter.name} changes nothing in the source",
                f"is there an #ifndef around {effect.defined or 'its definition'}? It defines the"
                " macro whatever comes from outside",
            )
        elif not effect.launched and not effect.said:
            yield Finding(
                where,
                f"the parameter {parameter.name} changes nothing",
                "is it spelt right? No device code uses it, and no launch does; a header that uses"
                " it has to be among [target] headers",
            )


def idle(
    file: str, parameters: Sequence[Parameter], effects: Mapping[str, Effect]
) -> Iterator[Finding]:
    """Yield a finding for each parameter that the code uses, but without an observed effect."""
    for parameter in parameters:
        effect = effects.get(parameter.name)
        if effect is None or effect.code or effect.launched:
            continue
        if effect.said and effect.obeys:
            yield Finding(
                f"{file}:{parameter.line}",
                f"the parameter {parameter.name} seems to change nothing",
                f"neither beside the defaults nor beside {TRIED} other configurations: does the"
                " code that uses it ever get compiled?",
            )


def _values_in(around: Configuration, parameter: Parameter) -> list[Configuration]:
    return [around.having({parameter.name: value}) for value in parameter.values]


def _read(
    preprocessor: Preprocessor, groups: Sequence[Sequence[Configuration]]
) -> list[list[Preprocessed]]:
    """Preprocess all configurations in one batch; return the results in the same groups."""
    readings = iter(preprocessor.of_configurations([one for group in groups for one in group]))
    return [[next(readings) for _ in group] for group in groups]


def _differ(readings: Sequence[Preprocessed]) -> bool:
    return len({one.text for one in readings}) > 1


def _surroundings(
    parameters: Sequence[Parameter], apart: Parameter, default: Configuration
) -> Iterator[Configuration]:
    """Yield configurations in which a parameter might have an effect.

    These are each value of each other parameter by itself, then random configurations.
    """
    others = [p for p in parameters if p is not apart]
    for other in others:
        for value in other.values:
            if value != other.default:
                yield default.having({other.name: value})
    rng = random.Random(_SEED)
    for _ in range(TRIED):
        drawn: dict[str, Value] = {p.name: rng.choice(p.values) for p in others}
        yield default.having(drawn)


def _said(subject: Subject, name: str) -> bool:
    """Tell whether the device code contains a name, apart from its definition."""
    text = re.sub(rf"#[ \t]*(?:define|undef|ifndef)[ \t]+{name}\b", "", subject.reference)
    return re.search(rf"\b{name}\b", text) is not None
