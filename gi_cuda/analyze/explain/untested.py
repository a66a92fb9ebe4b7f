"""Which changes of a winner does no case test? What the original does there, none of them sees, or
none tells."""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.analyze.explain.surviving import surviving
from gi_cuda.evaluate.untested import look_for_untested, untested_changes
from gi_cuda.genome import Change
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import stored_untested


def untested(run: Run, changes: Sequence[Change]) -> dict[str, str]:
    """Of the changes those that no case tests, each in notation with a sentence. Nothing where that
    cannot be told.

    Runs of before that was stored look for it now.
    """
    found = stored_untested(run.store)
    if found is None:
        tools = run.tools
        found = look_for_untested(
            run.subject, tools.compiler, tools.pool, tools.scratch("untested"), lambda _: None
        )
    return surviving(run, changes) | untested_changes(found, changes)
