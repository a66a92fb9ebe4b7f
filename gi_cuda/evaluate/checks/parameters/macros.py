"""Preprocessing of a source under several sets of macros, with the values of the macros."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.backends.compile.borrowed_kernels import KERNEL
from gi_cuda.backends.compile.preprocess import normalised, prelude
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler, Variant
from gi_cuda.grammar import LineIndex, SourceLine
from gi_cuda.grammar.presence import read_presence
from gi_cuda.spec import Configuration
from gi_cuda.subject import Subject

_BEGIN, _END = "gi_cuda_is", "gi_cuda_so"
_DECLARED = f"extern int {KERNEL}0["
"""Beginning of the declaration that holds a probed value. Its name is that of a kernel, so that the
declaration is not dropped as code that no kernel reaches."""
_PROBE = re.compile(rf"{re.escape(_DECLARED)}\s*{_BEGIN} (\d+)\s(.*?)\b{_END}\s*\];", re.S)
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """The preprocessed device code under a set of macros.

    Attributes:
        text: the code, with white space and line markers normalised; None if preprocessing fails.
        values: value of each parameter's macro at the end of the code; undefined macros are
            missing.
    """

    text: str | None
    values: Mapping[str, str]

    @property
    def words(self) -> frozenset[str]:
        """The identifiers in the code."""
        return frozenset(_WORD.findall(self.text or ""))


@dataclass(frozen=True, slots=True)
class Preprocessor:
    """A preprocessor of a subject's device code under any macros.

    Headers are read once, with only the macros of ``[build]``. If headers or directives need more
    macros, all defaults are defined too.
    """

    subject: Subject
    compiler: Compiler

    @classmethod
    def of(cls, subject: Subject, compiler: Compiler) -> Preprocessor:
        """Return the preprocessor for a compiler of the subject."""
        build = subject.target.build
        front = prelude(subject.grammar.source.text, build.define, build.without)
        bare = compiler.of_sources(front)
        nothing = bare.preprocess([Variant(0, "", {})])[0]
        needs_more = isinstance(nothing, BuildFailure)
        return cls(subject, compiler.of_sources() if needs_more else bare)

    def read(self, several: Sequence[Mapping[str, str]]) -> list[Preprocessed]:
        """Return the device code under each of several sets of macros, from one process."""
        names = self.macros()
        text = f"{self.subject.reference}\n{_probes(names)}"
        variants = [Variant(i, text, macros) for i, macros in enumerate(several)]
        found = self.compiler.preprocess(variants)
        readings = []
        for ident in range(len(several)):
            one = found[ident]
            if isinstance(one, BuildFailure):
                readings.append(Preprocessed(None, {}))
                continue
            values = {names[int(m[1])]: " ".join(m[2].split()) for m in _PROBE.finditer(one.text)}
            rest = _PROBE.sub(" ", one.text).replace(f'"v{ident}/', '"')
            readings.append(Preprocessed(normalised(rest), values))
        return readings

    def of_configurations(self, several: Sequence[Configuration]) -> list[Preprocessed]:
        """Return the device code under each of several configurations."""
        return self.read([self.subject.macros(one) for one in several])

    def macros(self) -> list[str]:
        """Return the names of the parameters that are macros."""
        return [p.name for p in self.subject.target.parameters if p.kind.preprocessed]


def _probes(names: Sequence[str]) -> str:
    """Return code that, when preprocessed, shows the values of macros."""
    return "".join(
        f"#ifdef {name}\n{_DECLARED}{_BEGIN} {number} {name} {_END}];\n#endif\n"
        for number, name in enumerate(names)
    )


def defined_at(subject: Subject, name: str) -> SourceLine | None:
    """Return the line where the source defines a macro if the build does not define it.

    None if no file of the source defines it.
    """
    source = subject.grammar.source
    presence = read_presence(source.text)
    active = presence.active(dict(subject.target.build.define))
    found = [one.directive for one in presence.macros() if one.name == name]
    found = [one for one in found if active[one.region]] or found
    return LineIndex(source).at(found[0].start) if found else None
