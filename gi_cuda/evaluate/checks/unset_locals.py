"""Check that the reference does not read uninitialized locals."""

from __future__ import annotations

from collections.abc import Iterator

from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.evaluate.scrutiny.unset_locals import UnsetLocals


def unset_locals(found: UnsetLocals) -> Iterator[Finding]:
    """Yield a finding if the reference's outputs change with the contents of uninitialized
    locals.
    """
    if found.of_reference:
        yield Finding(
            str(found.subject.target.source),
            "the reference reads locals that it never sets: its answers depend on what happens to"
            f" be there ({found.of_reference})",
            "set them where they are declared; g++ -O2 -Wall says which, where it can tell",
        )
