"""Check of headers that are read once for all variants.

If one of them depends on a parameter or defines it, a patch is other code than was measured.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from gi_cuda.backends.compile.preprocess import normalised, prelude
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler, Variant
from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.genome import Genotype
from gi_cuda.grammar import Source
from gi_cuda.grammar.presence import read_presence
from gi_cuda.subject import Subject

_WORD = re.compile(r"[A-Za-z_]\w*")


def with_its_headers(
    subject: Subject, compiler: Compiler, source: Source, macros: Mapping[str, str]
) -> Compiler:
    """Return a compiler for a changed source, which reads headers as that source does.

    Args:
        compiler: the subject's compiler.
        macros: macros that the build defines.
    """
    around = {n: text for n, text in macros.items() if n not in subject.in_place}
    return compiler.of_sources(prelude(source.text, around, subject.target.build.without))


def with_own_headers(
    subject: Subject, compiler: Compiler, source: Source, one: Candidate
) -> Candidate:
    """Return a candidate that reads headers as its source does.

    Args:
        compiler: the subject's compiler; the candidate gets another one if its headers differ.
    """
    own = with_its_headers(subject, compiler, source, one.macros)
    changed = {*subject.target.build.define, *subject.kinds}
    same = _headers(own, changed) == _headers(compiler.of_sources(), changed)
    return one if same else replace(one, compiler=own)


def read_once(subject: Subject, compiler: Compiler) -> Iterator[Finding]:
    """Yield a finding for each parameter that would change a header, or that a header defines."""
    said = {word for text in subject.grammar.source.beside for word in _WORD.findall(text)}
    defined = {name for text in subject.grammar.source.beside for name in _defined(text)}
    for parameter in subject.target.parameters:
        name = parameter.name
        if not parameter.kind.preprocessed or name not in said:
            continue
        if name in defined or any(
            _differs(subject, compiler, subject.read(f"{name}={value}"))
            for value in parameter.values
            if value != parameter.default
        ):
            yield Finding(
                f"{subject.target.file}:{parameter.line}",
                f"a header that is not among [target] headers defines {name} or depends on it, and"
                " such headers are read once for all variants",
                f"add the header that says {name} to `headers` of [target], or take the parameter"
                " out",
            )


def _defined(text: str) -> Iterator[str]:
    """Yield the macros that a header defines unconditionally."""
    presence = read_presence(text)
    return (one.name for one in presence.macros() if not presence.is_guarded(one))


def _differs(subject: Subject, compiler: Compiler, genotype: Genotype) -> bool:
    """Tell whether the source with the values written into it is other code than was measured."""
    macros = subject.upstream_macros(genotype)
    source = subject.upstream(genotype)
    compiler = compiler.of_sources()
    own = with_its_headers(subject, compiler, source, macros)
    measured = Variant(0, subject.reference, subject.macros(genotype.configuration))
    patched = Variant(0, subject.device_text(source), macros)
    changed = genotype.configuration.changed
    return _headers(compiler, changed) != _headers(own, changed) or _code(
        compiler, measured
    ) != _code(own, patched)


def _headers(compiler: Compiler, macros: Collection[str]) -> str:
    """Return the text of all headers, without definitions of the given macros."""
    names = "|".join(map(re.escape, macros))
    text = compiler.headers() or ""
    return normalised(
        re.sub(rf"(?m)^[ \t]*#[ \t]*(?:define|undef)[ \t]+(?:{names})\b.*$", "", text)
    )


def _code(compiler: Compiler, variant: Variant) -> str | None:
    """Return the preprocessed device code; None if preprocessing fails."""
    found = compiler.preprocess([variant])[0]
    return None if isinstance(found, BuildFailure) else normalised(found.text)
