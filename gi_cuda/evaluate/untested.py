"""Code that no case tests: the rules of a subject, and the changes of a genotype that touch
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.checks.coverage import compiled_rules, look_for_reached
from gi_cuda.genome import Change, Setting
from gi_cuda.grammar import Untested
from gi_cuda.subject import Subject


def look_for_untested(
    subject: Subject,
    compiler: Compiler,
    pool: Pool[int],
    folder: Path,
    tell: Callable[[str], None],
) -> Untested:
    """Find the code that neither train nor held-out cases test; see :func:`look_for_reached`.

    Args:
        folder: for the binary.
        tell: receives a message before each step.
    """
    if subject.compiled:
        return Untested(reason=f"nothing is counted in {subject.front_end.name}")
    found = look_for_reached(subject, compiler, pool, folder, tell)
    if found.counted is None or found.reason:
        return Untested(reason=found.reason)
    counts = zip(found.counted.places, found.most, strict=True)
    seen = {place for place, count in counts if count}
    return subject.parsed.untested(frozenset(compiled_rules(subject)), found.counted.places, seen)


def untested_changes(untested: Untested, changes: Iterable[Change]) -> dict[str, str]:
    """Return the changes that no case tests, in notation, each with the reason."""
    edits = (one for one in changes if not isinstance(one, Setting))
    steps = ((str(edit), step) for edit in edits for step in edit.steps)
    found = ((edit, untested.why(step.place, step.operation)) for edit, step in steps)
    return {edit: str(why) for edit, why in found if why is not None}
