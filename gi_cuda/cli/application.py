"""``--application``: what becomes of the whole application, for the verbs that ask it."""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.cli.console import console
from gi_cuda.cli.files import scratch_folder
from gi_cuda.genome import Genotype
from gi_cuda.report.progress import Steps
from gi_cuda.results.application import ApplicationResult
from gi_cuda.subject import Subject
from gi_cuda.upstream.application import judge
from gi_cuda.upstream.steps import PatchStep, compiler_options


def judged_by_application(
    subject: Subject, steps: Sequence[PatchStep], genotype: Genotype
) -> ApplicationResult:
    """Build, run and time a source's application before and after a patch, in copies that are
    removed again.

    Args:
        genotype: the patch's; nvcc gets the options that it adds.
    """
    options = compiler_options(subject, genotype) if subject.backend == "cuda" else []
    with scratch_folder() as folder, Steps(console) as tell:
        return judge(subject.target, steps, folder, tell, options)
