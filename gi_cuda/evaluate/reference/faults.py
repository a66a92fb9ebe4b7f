"""Failures of the reference, as errors with a remedy for the user."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gi_cuda.backends.protocol.requests import DYNAMIC_SHARED, STATIC_SHARED, Refused
from gi_cuda.backends.protocol.undefined import UNDEFINED
from gi_cuda.backends.table import backend_named, backends_on_gpus
from gi_cuda.backends.workers.pool import Lost
from gi_cuda.errors import UserError
from gi_cuda.results.measurement import Survival
from gi_cuda.spec import Target
from gi_cuda.subject import Subject

_BESIDE = re.compile(r"(?P<side>before the begin|past the end) of '(?P<name>[^']+)'")
_WRITTEN = re.compile(r"beside (?:buffer )?'(?P<name>[^']+)' were written")
_LINE = re.compile(r"\bline (\d+): ")
_ORACLE = re.compile(r"\s*\[\[?\s*oracle\s*\]")
_REMEDIES = (
    (
        "deadlock",
        "all threads of a block must come to the same barriers, and all that a mask names to the"
        " same warp function: is one under a condition that only some of them meet? Mend that in"
        " the source, or the `block` in [[launch]] of target.toml",
    ),
    (
        UNDEFINED,
        "put the file that defines it among the `headers` of target.toml: a source that none of"
        " them includes is linked with the others",
    ),
    (
        "division by zero",
        "what is something divided by? Let data.py give other scalars and contents of buffers",
    ),
    (
        "assertion failed",
        "an assert() of the source does not hold, or it calls a virtual function of what is no"
        " object: give it other data in data.py, or other sizes in [[case]] of target.toml",
    ),
    (
        "in no buffer",
        "an index is far off: give it smaller numbers in data.py where they are indices, larger"
        " buffers in target.toml, or fewer threads in its [[launch]]",
    ),
    (
        "null pointer",
        "it reads an address that was never set: a buffer that holds addresses says so in"
        " target.toml (`addresses`)",
    ),
    (
        "impossible address",
        "it takes contents of a buffer for an address, or an index is far off: give it smaller"
        " numbers in data.py, or say in target.toml which addresses a buffer holds (`addresses`)",
    ),
    (
        "stack overflow",
        "it has too deep a recursion, or too large arrays of its own, for the host back end: give"
        " it other data in data.py, or check and evolve it on a GPU",
    ),
)
"""Pairs of a phrase in a worker's message and its remedy."""

_SHARED_MEMORY = (
    "the source says how large that is: let no more threads run than it has room for (`block` in"
    " [[launch]] of target.toml), give smaller scalars in data.py, or mend the source"
)
_OTHERWISE = "change [[launch]], `size` of buffers, or data.py, until the unmodified kernel runs"
_HUNG = (
    "make the sizes in [[case]] of target.toml smaller, or the scalars in data.py; one that waits"
    " for what the host or another kernel writes cannot be run alone"
)


def remedy(message: str, survival: Survival) -> str:
    """Return the remedy for a launch that failed.

    Args:
        message: message of the worker.
    """
    if beside := _BESIDE.search(message):
        if beside["name"] == DYNAMIC_SHARED:
            return "give its [[launch]] in target.toml more `shared`, in bytes"
        if beside["name"].startswith(STATIC_SHARED):
            return _SHARED_MEMORY
        if beside["side"] == "before the begin":
            return (
                f"give the [[buffer]] {beside['name']} a `begin` in target.toml: elements in front"
                " of what the pointer points to"
            )
    if beside := beside or _WRITTEN.search(message):
        if beside["name"].startswith(STATIC_SHARED):
            return _SHARED_MEMORY
        return (
            f"give the [[buffer]] {beside['name']} more `size` in target.toml (data.py returns as"
            " many), or let fewer threads run: `grid` and `block` of its [[launch]]"
        )
    for words, said in _REMEDIES:
        if words in message:
            return said
    return _HUNG if survival is Survival.HUNG else _OTHERWISE


def fault(subject: Subject, answer: Lost | Refused, doing: str) -> UserError:
    """Return the error for a reference that cannot run.

    Args:
        doing: what was being done, e.g. "while it was timed".
    """
    target = subject.target
    if isinstance(answer, Refused):
        message, what = answer.message, answer.message
        hint = answer.hint or remedy(message, Survival.REFUSED)
    else:
        message, what = answer.message, f"{answer.survival}: {answer.message}"
        hint = remedy(message, answer.survival)
        if backend_named(subject.backend).gpu and hint == _OTHERWISE:
            host = backends_on_gpus(gpu=False)[0]
            hint += f"; gi-cuda check TARGET --backend {host} may say at which buffer it fails"
    known = answer.where if isinstance(answer, Refused) else ""
    where = known or next(_places(target, message), str(target.source))
    return UserError(f"the reference failed {doing}: {what}", where=where, hint=hint)


def place_of_oracle(target: Target) -> str:
    """Return the file and line of the oracle's settings in ``target.toml``."""
    lines = target.file.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [n for n, line in enumerate(lines, 1) if _ORACLE.match(line)]
    return f"{target.file}:{found[0]}" if found else str(target.file)


def _places(target: Target, message: str) -> Iterator[str]:
    """Yield the places that a message refers to: a buffer, a launch, a line of the source."""
    if beside := _BESIDE.search(message) or _WRITTEN.search(message):
        for buffer in target.buffers:
            if buffer.name == beside["name"]:
                yield f"{target.file}:{buffer.line}"
        if beside["name"] == DYNAMIC_SHARED:
            yield f"{target.file}:{target.launches[0].steps[0].line}"
    if (line := _LINE.search(message)) and not target.headers:
        yield f"{target.source}:{line[1]}"
