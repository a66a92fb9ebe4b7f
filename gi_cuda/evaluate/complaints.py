"""What a compiler says of an unmodified source, as a mistake that its user can mend."""

from __future__ import annotations

import re

from gi_cuda.backends.cuda.toolkit import HEADERS
from gi_cuda.backends.table import backend_named, backends_on_gpus
from gi_cuda.errors import UserError
from gi_cuda.grammar import LineIndex, Source
from gi_cuda.subject import Subject

_MISSING = re.compile(
    r"fatal error: (?:'(?P<clang>[^'\n]+)' file not found|(?P<gcc>\S+): No such file)"
)


def does_not_compile(subject: Subject, message: str) -> UserError:
    """The mistake that a compiler complains of, at the source's own line.

    Args:
        message: the compiler's.
    """
    if missing := _MISSING.search(message):
        header = missing["clang"] or missing["gcc"]
        if where := _included(subject, header):
            return _missing(subject, header, where)
    name, line, text = [*message.split(":", 2), "", ""][:3]
    known = name in subject.grammar.source.names and line.isdigit()
    source = subject.target.source
    where = f"{source.parent / name}:{line}" if known else str(source)
    return UserError(
        f"the source does not compile: {text.strip() if known else message}",
        where=where,
        hint="mend the source, or [build] in target.toml (include, define, standard, options)",
    )


def _missing(subject: Subject, header: str, where: str) -> UserError:
    if not backend_named(subject.backend).gpu and HEADERS.match(header):
        return UserError(
            f"the {subject.backend} back end has no <{header}>, which comes with CUDA's toolkit",
            where=where,
            hint=f"use --backend {backends_on_gpus(gpu=True)[0]}; or include it under"
            " #ifndef GI_HOST alone, if the kernel can do without it on the host",
        )
    return UserError(
        f"the source does not compile: the header {header!r} is not found",
        where=where,
        hint="name its folder in build.include of target.toml",
    )


def _included(subject: Subject, header: str) -> str | None:
    """Where the source includes a header: file and line."""
    source: Source = subject.grammar.source
    wanted = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*[<"]{re.escape(header)}[>"]', re.M)
    found = wanted.search(source.text)
    if found is None:
        return None
    file, line = LineIndex(source).at(found.start())
    return f"{subject.target.source.parent / file}:{line}"
