"""The option ``--application``: judge a patch by building and running the whole application."""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.cli.console import console
from gi_cuda.cli.files import scratch_folder
from gi_cuda.report.progress import Steps
from gi_cuda.results.application import ApplicationResult
from gi_cuda.subject import Subject
from gi_cuda.upstream.application import judge
from gi_cuda.upstream.steps import PatchStep, compiler_options


def judged_by_application(subject: Subject, steps: Sequence[PatchStep]) -> ApplicationResult:
    """Build, run and time a source's application before and after a patch.

    It works on copies, which are removed again. nvcc gets the compiler options that the patch
    needs.
    """
    options: list[str] = []
    if steps and subject.backend == "cuda":
        options = compiler_options(subject, steps[-1].genotype)
    with scratch_folder() as folder, Steps(console) as tell:
        return judge(subject.target, steps, folder, tell, options)
