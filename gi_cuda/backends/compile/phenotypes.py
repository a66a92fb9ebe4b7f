"""A batch's phenotypes with few preprocessor processes, whatever the compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gi_cuda.backends.compile.job_threads import JobThreads
from gi_cuda.backends.compile.preprocess import batch_text, split
from gi_cuda.backends.compile.process import Finished
from gi_cuda.backends.compile.shards import attribute, first_error
from gi_cuda.backends.protocol.variants import BuildFailure, Phenotype, Variant

LEAST = 64
"""Fewest variants that are worth a preprocessor process of their own, which reads all headers."""


def phenotypes(
    variants: Sequence[Variant],
    front: str,
    file_name: str,
    preprocess: Callable[[str], Finished],
    jobs: int,
) -> dict[int, Phenotype | BuildFailure]:
    """Preprocess a batch with few processes.

    Args:
        variants: the batch.
        front: its prelude (see :func:`gi_cuda.backends.compile.preprocess.prelude`).
        file_name: the source's name, for line markers.
        preprocess: runs the preprocessor on a text.
        jobs: processes at a time.
    """
    number = max(1, min(jobs, len(variants) // LEAST))

    def work(begin: int) -> dict[int, Phenotype | BuildFailure]:
        return _part(variants[begin::number], front, file_name, preprocess)

    with JobThreads(work, number) as crew:
        for begin in range(number):
            crew.submit(begin)
        parts = dict(crew.next() for _ in range(number))
    return {ident: one for begin in range(number) for ident, one in parts[begin].items()}


def _part(
    variants: Sequence[Variant], front: str, file_name: str, preprocess: Callable[[str], Finished]
) -> dict[int, Phenotype | BuildFailure]:
    """Preprocess variants at once, again without those whose directives fail."""
    answer: dict[int, Phenotype | BuildFailure] = {}
    rest = list(variants)
    while rest:
        finished = preprocess(batch_text(front, rest, file_name))
        if finished.ok:
            answer.update(split(finished.stdout, rest))
            break
        failed = attribute(finished.stderr) or {rest[0].ident: first_error(finished)}
        for ident, message in failed.items():
            answer[ident] = BuildFailure(ident, message)
        rest = [v for v in rest if v.ident not in failed]
    return answer
