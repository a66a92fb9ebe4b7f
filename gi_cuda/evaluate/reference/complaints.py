"""Compiler messages about an unmodified source, as errors with a remedy for the user."""

from __future__ import annotations

import re

from gi_cuda.backends.cuda.toolkit import HEADERS
from gi_cuda.backends.protocol.undefined import UNDEFINED, undefined
from gi_cuda.backends.table import backend_named, backends_on_gpus
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.faults import remedy
from gi_cuda.evaluate.reference.out_of_reach import out_of_reach
from gi_cuda.grammar import Grammar, LineIndex, Source
from gi_cuda.results.measurement import Survival
from gi_cuda.subject import Subject

_MISSING = re.compile(
    r"fatal error: (?:'(?P<clang>[^'\n]+)' file not found|(?P<gcc>\S+): No such file)"
)
_AT = re.compile(r"(?P<place>[^\s:]+:\d+):(?:\d+:)? fatal error:")
_TEXTURE_REFERENCES = re.compile(
    r"\btex\w+\((?:const )?texture<|static assertion failed:? \"?texture references"
    r"|[\"'‘]texture[\"'’] (?:is undefined|is not a template|was not declared|does not name)"
    r"|no template named 'texture'"
)
_LACKING = re.compile(r"(?:static assertion failed:? ?)?\"?(?P<what>the host back ?end .*?)\"?$")
"""Messages in headers of the host back end about features that it lacks."""

_UNKNOWN = re.compile(
    r"['‘`\"](?P<gcc>[A-Za-z_][\w:]*)['’\"] (?:was not declared|does not name a type|has not been)"
    r"|(?:undeclared identifier|unknown type name) '(?P<clang>[A-Za-z_]\w*)'"
    r"|identifier \"(?P<nvcc>[A-Za-z_]\w*)\" is undefined"
)
_OF_CUDA = re.compile(
    r"_|cu[A-Z]|cu(?:da|rand|b|blas|fft|sparse)|cg\b|atomic|tex|surf|wmma|thrust|nv"
)


def is_of_cuda(name: str) -> bool:
    """Tell whether a name looks like one that CUDA declares, not a header of the project."""
    return _OF_CUDA.match(name) is not None


def does_not_compile(subject: Subject, message: str) -> UserError:
    """Return the error for a compiler's message, at the line of the source.

    Args:
        message: the compiler's message.
    """
    gpu, source = backend_named(subject.backend).gpu, subject.target.source
    grammar = subject.grammar
    functions = grammar.functions if isinstance(grammar, Grammar) else ()
    for one in out_of_reach(source, grammar.source, functions):
        if not (gpu and one.on_gpu):
            return one.error
    if what := undefined(message):
        return UserError(what, where=str(source), hint=remedy(what, Survival.REFUSED))
    if missing := _MISSING.search(message):
        header = missing["clang"] or missing["gcc"]
        at = _AT.search(message)
        if where := _included(subject, header) or (at["place"] if at else ""):
            return _missing(subject, header, where)
    name, line, text = [*message.split(":", 2), "", ""][:3]
    known = name in grammar.source.names and line.isdigit()
    said = text.strip() if known else message
    where = f"{source.parent / name}:{line}" if known else str(source)
    if UNDEFINED in said:
        what = said.removeprefix("error: ")
        return UserError(what, where=where, hint=remedy(what, Survival.REFUSED))
    if _TEXTURE_REFERENCES.search(said):
        return UserError(
            "the source does not compile: texture references are gone since CUDA 12",
            where=where,
            hint="pass the kernel a cudaTextureObject_t, or a pointer to what it reads",
        )
    if lacking := _LACKING.search(said.partition("\n")[0]):
        return UserError(lacking["what"], where=where, hint=_on_a_gpu())
    return UserError(f"the source does not compile: {said}", where=where, hint=_mend(said, gpu=gpu))


def _on_a_gpu() -> str:
    gpu = backends_on_gpus(gpu=True)[0]
    return (
        f"check and evolve it on a GPU: --backend {gpu}; or write other code for the host in the"
        " source: #ifdef GI_HOST ... #else ... #endif"
    )


def _mend(said: str, *, gpu: bool) -> str:
    """Return the remedy for a compiler's message.

    Args:
        gpu: whether the compiler is that of a GPU.
    """
    if unknown := _UNKNOWN.search(said):
        name = unknown["gcc"] or unknown["clang"] or unknown["nvcc"]
        if is_of_cuda(name) and not gpu:
            return f"the host back end does not know it: {_on_a_gpu()}"
        if "::" not in name:
            return (
                f"if {name} is misspelt, mend that; if it is a macro of your build, add it to"
                f' [build] in target.toml, define = {{ {name} = "VALUE" }}, or begin anew with'
                f" gi-cuda init -D {name}=VALUE; if a header declares it, include that in the"
                " source"
            )
    return (
        "mend the source, or what it is compiled with: `include`, `define` and `standard` of"
        " [build] in target.toml"
    )


def _missing(subject: Subject, header: str, where: str) -> UserError:
    if not backend_named(subject.backend).gpu and HEADERS.match(header):
        return UserError(
            f"the {subject.backend} back end has no <{header}>, which comes with CUDA's toolkit",
            where=where,
            hint=_on_a_gpu(),
        )
    return UserError(
        f"the source does not compile: the header {header!r} is not found",
        where=where,
        hint='name its folder in [build] of target.toml: include = ["DIR"]; or, if nothing of it'
        f' is needed, leave it out: without = ["{header}"]',
    )


def _included(subject: Subject, header: str) -> str | None:
    """Return the file and line where the source includes a header; None if it does not."""
    source: Source = subject.grammar.source
    wanted = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*[<"]{re.escape(header)}[>"]', re.M)
    found = wanted.search(source.text)
    if found is None:
        return None
    file, line = LineIndex(source).at(found.start())
    return f"{subject.target.source.parent / file}:{line}"
