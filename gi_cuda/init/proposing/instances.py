"""Choose the instance of a kernel template that a target launches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.declarations.constants import evaluated, named
from gi_cuda.grammar.frontends.cuda.declarations.element_types import ElementTypes
from gi_cuda.grammar.frontends.cuda.declarations.file import KernelSource, TemplateParameter
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text
from gi_cuda.init.host.launching import LaunchSite
from gi_cuda.init.kernel.count_names import is_count_name
from gi_cuda.init.proposing.geometry import DEFAULT_BLOCK
from gi_cuda.init.source.sources import Chosen

_NAME = re.compile(r"[A-Za-z_]\w*")
_UNSCOPED = re.compile(r"(?<!::)(?<!:: )\b[A-Za-z_]\w*")
_INDEX = re.compile(r"(?i)i|.*(?:index|idx|int|size|offset|ordinal|count).*")
_TILE, _SOME = 16, 4
"""Assumed values of template parameters: edge of a tile, any other number."""

_WORDS_OF_TYPES = frozenset(["const", "volatile", "struct", "typename", "class", "enum", "std"])


def instance_of(
    source: Chosen, use: LaunchSite | None, active: frozenset[str], known: Sequence[str] = ()
) -> tuple[ElementTypes, str]:
    """Return the types with template parameters bound, and the name of the kernel's instance.

    Args:
        use: a launch of the kernel.
        active: names of macros and constants that are parameters.
        known: template arguments, if known; else they are read from the launch. An argument that
            follows a parameter of the target is kept as the launch writes it.

    Raises:
        UserError: the kernel calls an argument of unknown class, such as a lambda.
    """
    kernel, types = source.kernel, source.types
    if not kernel.templates:
        return types, kernel.shown
    given = () if use is None else use.templates
    aliases, words = dict(types.aliases), []
    for index, parameter in enumerate(kernel.templates):
        text = (given[index] or None) if index < len(given) else None
        if index < len(known):
            follows = text is not None and _follows(source, text, known[index], active)
            words.append(text if text is not None and follows else known[index])
            aliases[parameter.name] = known[index]
            continue
        text = text or _deduced(kernel, parameter.name, use) or parameter.default
        if parameter.type is None:
            text = text if text is not None and _is_known(types, text) else None
            if text is None and (name := _called(source, parameter)) is not None:
                raise _nothing_to_call(source, name)
            text = text or _likely(source, parameter.name)
        elif text is None or not _is_constant(types, text, active):
            text = _number(parameter, types)
        elif text.isdigit() and _last(parameter.type) in types.enums:
            # A plain number does not convert to an enumeration.
            text = f"{parameter.type}({text})"
        aliases[parameter.name] = text
        words.append(text)
    # Arguments that the launch leaves out have been replaced by their defaults.
    name = f"{kernel.name}<{', '.join(words)}>"
    if kernel.overloaded:
        bound = dict(zip((one.name for one in kernel.templates), words, strict=True))
        texts = (_UNSCOPED.sub(lambda m: bound.get(m[0], m[0]), a.text) for a in kernel.arguments)
        name += f"({', '.join(texts)})"
    return replace(types, aliases=aliases), name


def _follows(source: Chosen, text: str, value: str, active: frozenset[str]) -> bool:
    """Tell whether a launch's template argument gets the known value from parameters."""
    names, known = set(_NAME.findall(text)), {**named(source.code), **source.local_constants}
    return bool(names) and names <= active and str(evaluated(text, known)) == value


def _is_known(types: ElementTypes, text: str) -> bool:
    """Tell whether a type is one of the language or of the source, and not a template parameter."""
    declared = types.structs.keys() | types.aliases.keys() | types.enums | _WORDS_OF_TYPES
    return types.element(text) is not None or all(
        name in declared or types.element(name) is not None for name in _NAME.findall(text)
    )


def _is_constant(types: ElementTypes, text: str, active: frozenset[str]) -> bool:
    names = set(_NAME.findall(re.sub(r"\b\d\w*", "", text)))
    # ``Mode::FAST`` and ``FAST`` are both values of an enumeration.
    return names <= active | {"true", "false"} or ("::" in text and bool(names & types.enums))


def _number(parameter: TemplateParameter, types: ElementTypes) -> str:
    if parameter.type == "bool":
        return "true"
    if parameter.type is not None and _last(parameter.type) in types.enums:
        return f"{parameter.type}(0)"
    name = parameter.name.lower()
    return str(DEFAULT_BLOCK if "lock" in name else _TILE if "tile" in name else _SOME)


def _last(name: str) -> str:
    """Return a name without its scope."""
    return name.rpartition("::")[2].strip()


def _likely(source: Chosen, name: str) -> str:
    """Guess the type for a template parameter.

    Integers for counts and indices, otherwise float; a pointer if the kernel, or a function that
    gets
    it under the same name, takes elements of it.
    """
    own = [a for a in source.kernel.arguments if a.type == name and not a.pointers and a.name]
    names, text = "|".join(re.escape(a.name) for a in own), source.code.text
    whole = any(is_count_name(a.name, compared=False) for a in own) or _INDEX.fullmatch(name)
    if own and re.search(rf"\b(?:{names})\s*\[|[=(,;{{]\s*\*\s*(?:{names})\b", text):
        whole = whole or re.search(rf"\[\s*(?:{names})\s*\[", text)
        return "int *" if whole else "float *"
    return "int" if whole else "float"


def _deduced(kernel: KernelSource, name: str, use: LaunchSite | None) -> str | None:
    """Deduce a template parameter (``T``, or in ``P<T, N>``) from the arguments of a launch."""
    others = {one.name for one in kernel.templates}
    types = {} if use is None else use.types

    def part(word: re.Match[str]) -> str:
        return "(.+)" if word[0] == name else ".+" if word[0] in others else word[0]

    for argument in kernel.arguments:
        given = types.get(argument.name)
        if given is not None and name in _NAME.findall(argument.type):
            pattern = _NAME.sub(part, re.escape(_dense(argument.type)))
            if found := re.fullmatch(pattern, _dense(given)):
                return found[1]
    return None


def _dense(text: str) -> str:
    """Return a type without blanks beside its signs."""
    return re.sub(r"\s*([<>,*&])\s*", r"\1", text)


def _called(source: Chosen, parameter: TemplateParameter) -> str | None:
    """Return the object of a template parameter's type that the kernel calls; None if it calls
    none.
    """
    named = [a.name for a in source.kernel.arguments if a.type == parameter.name and a.name]
    made = rf"{re.escape(parameter.name)}\s*(?:\(\s*\)|\{{\s*\}})"
    found = re.search(rf"\b({'|'.join([made, *named])})\s*\(", bare_text(source.body))
    return None if found is None else found[1]


def _nothing_to_call(source: Chosen, name: str) -> UserError:
    return UserError(
        f"{source.kernel.name} calls {name}, and no launch says of which class it is: what a"
        " lambda of the host code is, no target can pass",
        where=source.code.where(source.kernel.definition.node),
        hint="write the lambda as a struct with a `__device__` operator(), and launch the kernel"
        " with an object of it",
    )
