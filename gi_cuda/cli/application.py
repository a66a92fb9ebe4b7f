"""``--application``: what becomes of the whole application, for the verbs that ask it."""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.cli.console import console
from gi_cuda.cli.files import scratch_folder
from gi_cuda.report.progress import Steps
from gi_cuda.results.application import ApplicationResult
from gi_cuda.spec import Target
from gi_cuda.upstream.application import judge
from gi_cuda.upstream.steps import PatchStep


def judged_by_application(target: Target, steps: Sequence[PatchStep]) -> ApplicationResult:
    """Build, run and time a target's application before and after a patch, in copies that are
    removed again."""
    with scratch_folder() as folder, Steps(console) as tell:
        return judge(target, steps, folder, tell)
