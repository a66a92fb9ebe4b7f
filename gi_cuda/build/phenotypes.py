"""A batch's phenotypes with one preprocessor process, whatever the compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gi_cuda.build.model import BuildFailure, Phenotype, Variant
from gi_cuda.build.preprocess import batch_text, split
from gi_cuda.build.process import Finished
from gi_cuda.build.shards import attribute, first_error

EXPORTS = "kernels of target.toml"
"""What messages call the lines, behind a variant's text, that name a target's kernels."""


def phenotypes(
    variants: Sequence[Variant],
    front: str,
    file_name: str,
    preprocess: Callable[[str], Finished],
) -> dict[int, Phenotype | BuildFailure]:
    """Preprocess a batch at once, again without the variants whose directives fail.

    Args:
        variants: the batch.
        front: its prelude (see :func:`gi_cuda.build.preprocess.prelude`).
        file_name: the source's name, for line markers.
        preprocess: runs the preprocessor on a text.
    """
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
