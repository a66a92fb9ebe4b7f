"""Check for parameters that other kernels of the source use too: a patch changes those as well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gi_cuda.evaluate.checks.finding import Finding, listed
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, of_source
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text
from gi_cuda.spec import ParameterKind
from gi_cuda.spec.launching.kernel_names import overload
from gi_cuda.subject import Subject

_WORD = re.compile(r"[A-Za-z_]\w*")
_LAUNCH = re.compile(r"\b(?P<kernel>\w+)\s*(?P<says>(?:<(?!<)[^;{}]*?>)?\s*<<<[^;{}]*?>>>)")
_SET = re.compile(r"\b(?P<name>\w+)\s*[-+*/%]?[=({](?!=)(?P<says>[^;{}]*)[};]")


def used_elsewhere(subject: Subject) -> dict[str, list[str]]:
    """Return the kernels that a target does not launch, by the parameters that they use.

    Their behaviour under another value of the parameter is untested.
    """
    target = subject.target
    launched = {overload(name)[0].partition("<")[0].split("::")[-1] for name in target.kernels}
    code = of_source(target.source, subject.grammar.source)
    macros = {one.name for one in target.parameters if one.kind is not ParameterKind.OPTION}
    found: dict[str, list[str]] = {}
    launches = _said_by_launches(code)
    for kernel in code.definitions:
        if not kernel.kernel or kernel.name in launched:
            continue
        words = {*_WORD.findall(code.of(kernel.node)), *launches.get(kernel.name, ())}
        words.update(*(code.names.get(word, ()) for word in words))
        for name in sorted(macros & words):
            several = found.setdefault(name, [])
            several += [kernel.qualified] if kernel.qualified not in several else []
    return found


def _said_by_launches(code: CudaFile) -> dict[str, set[str]]:
    """Return the names that launches of each kernel use, directly or through host variables."""
    found: dict[str, set[str]] = {}
    for function in code.definitions:
        text = "" if function.device else bare_text(code.of(function.node))
        values: dict[str, set[str]] = {}
        for one in _SET.finditer(text):
            values.setdefault(one["name"], set()).update(_WORD.findall(one["says"]))
        for one in _LAUNCH.finditer(text):
            words, new = set[str](), {*_WORD.findall(one["says"])}
            while new:
                words |= new
                new = set[str]().union(*(values.get(word, ()) for word in new)) - words
            found.setdefault(one["kernel"], set()).update(words)
    return found


def told(subject: Subject, changed: Iterable[str]) -> list[str]:
    """Return sentences about untested kernels that a patch of some parameters changes."""
    used = used_elsewhere(subject)
    return [
        f"{name} is used by kernels as well that were not run: {listed(used[name])}"
        for name in changed
        if name in used
    ]


def unseen_kernels(subject: Subject) -> Iterator[Finding]:
    """Yield a finding for each parameter that kernels outside the target use."""
    used = used_elsewhere(subject)
    for parameter in subject.target.parameters:
        if parameter.name in used:
            yield Finding(
                f"{subject.target.file}:{parameter.line}",
                f"{parameter.name} is used by kernels that the target does not launch:"
                f" {listed(used[parameter.name])}",
                "a patch changes it for them as well, and nobody has seen what that does to them:"
                " launch them too, give them a macro of their own, or let [application] judge",
            )
