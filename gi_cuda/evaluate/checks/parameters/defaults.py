"""Check that parameter defaults equal the values in the source; else another program is measured.

A macro that the source needs but never defines is given by the user's build, with ``-D``. Its value
there is unknown, so the parameter's default is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.evaluate.checks.finding import Finding, refuse
from gi_cuda.evaluate.checks.headers import read_once
from gi_cuda.evaluate.checks.parameters.macros import Preprocessed, Preprocessor, defined_at
from gi_cuda.spec import Parameter, ParameterKind
from gi_cuda.subject import Subject
from gi_cuda.subject.definitions import equal, overruled


@dataclass(frozen=True, slots=True)
class MacroOwners:
    """The origin of the parameters' macros in a normal build.

    Attributes:
        own: macros that the source's own files define.
        given: macros that the build defines with ``-D``; a patch cannot change them.
    """

    own: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MacroFacts:
    """Facts about one parameter's macro, with all other macros at their defaults.

    Attributes:
        place: place of its definition in the source, in words.
        usual: the preprocessed code with the default defined.
        without: the preprocessed code without a definition.
        respelled: the preprocessed code with the value in the source's spelling; None if that is
            the same as the default's, or if the source has no value.
        obeys: whether defining another value changes the code.
    """

    place: str
    usual: Preprocessed
    without: Preprocessed
    respelled: Preprocessed | None = None
    obeys: bool = True


def check_defaults(subject: Subject, compiler: Compiler) -> MacroOwners:
    """Check that the source with all defaults defined is the same code as the unmodified source.

    Raises:
        UserError: it is not; the message names each parameter that makes a difference.
    """
    define = subject.target.build.define
    given = frozenset(define) - overruled(subject.definitions, define)
    parameters = [
        p for p in subject.target.parameters if p.kind.preprocessed and p.name not in given
    ]
    preprocessor = Preprocessor.of(subject, compiler)
    refuse(read_once(subject, compiler))
    defaults = subject.macros(subject.standard)
    names = {parameter.name for parameter in parameters}
    usual, bare = preprocessor.read(
        [defaults, {name: text for name, text in defaults.items() if name not in names}]
    )
    own = frozenset(n for n in bare.values if n not in given and defined_at(subject, n))
    if usual.text is None or _is_as_it_is(parameters, usual, bare):
        return MacroOwners(own, given)  # the compiler reports code that cannot be preprocessed
    facts = _facts(preprocessor, parameters, usual)
    refuse(f for p in parameters for f in judge(str(subject.target.file), p, facts[p.name]))
    needed = {p.name for p in parameters if is_needed(p.name, facts[p.name].without)}
    return MacroOwners(own, given | needed)


def _is_as_it_is(parameters: Sequence[Parameter], usual: Preprocessed, bare: Preprocessed) -> bool:
    return usual.text == bare.text and all(
        bare.values.get(p.name, str(p.default)) == str(p.default)
        for p in parameters
        if p.kind is ParameterKind.MACRO
    )


def _facts(
    preprocessor: Preprocessor, parameters: Sequence[Parameter], usual: Preprocessed
) -> dict[str, MacroFacts]:
    subject = preprocessor.subject
    defaults = subject.macros(subject.standard)
    without = preprocessor.read(
        [{n: text for n, text in defaults.items() if n != p.name} for p in parameters]
    )
    said = [one.values.get(p.name) for p, one in zip(parameters, without, strict=True)]
    respelled = preprocessor.read(
        [
            {**defaults, p.name: text} if text is not None else defaults
            for p, text in zip(parameters, said, strict=True)
        ]
    )
    others = [(p.name, v) for p in parameters for v in p.values if v != p.default]
    changed = preprocessor.read([{**defaults, name: str(value)} for name, value in others])
    obeying = {
        name for (name, _), one in zip(others, changed, strict=True) if one.text != usual.text
    }
    return {
        p.name: MacroFacts(
            str(defined_at(subject, p.name) or "a header"),
            usual,
            without[k],
            None if said[k] in (None, str(p.default)) else respelled[k],
            p.name in obeying,
        )
        for k, p in enumerate(parameters)
    }


def judge(file: str, parameter: Parameter, facts: MacroFacts) -> Iterator[Finding]:
    """Yield a finding if a parameter's default is wrong.

    Args:
        file: path of ``target.toml``, as the user gave it.
    """
    name, default = parameter.name, str(parameter.default)
    where, without = f"{file}:{parameter.line}", facts.without
    same = without.text == facts.usual.text
    if is_needed(name, without):
        return
    said = without.values.get(name)
    from_build = f'say so where the build gives it: [build] define = {{ {name} = "{default}" }}'
    if said is None:
        if not same:
            yield Finding(
                where,
                f"the default of {name} is {default}, but the source does not define it and is"
                " other code without it",
                f"make the default what the source means without {name}, or {from_build}",
            )
    elif parameter.kind is ParameterKind.FLAG:
        if not same:
            yield Finding(
                where,
                f"the default of {name} is {default}, but {facts.place} has {said or 'it empty'}",
                'make it kind = "macro", with the values that the source knows',
            )
    elif said != default and not equal(said, default):
        if same and facts.obeys:
            return  # redefined further down, so its value at the end of the code proves nothing
        yield Finding(
            where,
            f"the default of {name} is {default}, but {facts.place} has {said or 'it empty'}",
            f"the default is what the source has: default = {written(said)}, and it must be among"
            " the values",
        )
    elif without.text != (facts.respelled or facts.usual).text:
        yield Finding(
            where,
            f"with {name} defined to its default from outside, the source is other code than as"
            " it is",
            f"put the definition ({facts.place}) between #ifndef {name} and #endif, in front of"
            " all that uses it",
        )


def is_needed(name: str, without: Preprocessed) -> bool:
    """Tell whether the source needs a macro that it does not define."""
    return without.text is None or (name not in without.values and name in without.words)


def written(text: str) -> str:
    """Return a macro's text as a TOML value."""
    return text if text.isdecimal() else f'"{text}"'
