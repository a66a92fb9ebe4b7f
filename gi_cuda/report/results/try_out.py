"""Output of ``gi-cuda try``: the result of each genotype."""

from __future__ import annotations

from collections.abc import Iterator

from gi_cuda.evaluate.reference.baseline import Baseline
from gi_cuda.genome import Genotype
from gi_cuda.report.as_json import TriedGenotype
from gi_cuda.report.results.show import interval, speed
from gi_cuda.results.evaluation import Evaluation


def reference_line(baseline: Baseline) -> str:
    """Describe the reference that genotypes are timed beside."""
    return f"reference: {baseline.seconds * 1e3:.3f} ms, noise floor {baseline.floor:.2%}"


def tried_genotype(genotype: Genotype, evaluation: Evaluation) -> TriedGenotype:
    """Make the record of a genotype for ``--json``."""
    speed_up, low, high = (
        1 / one if one else None for one in (evaluation.ratio, evaluation.high, evaluation.low)
    )
    outcome, message = evaluation.outcome, evaluation.message
    return TriedGenotype(str(genotype), outcome, speed_up, low, high, message)


def result_lines(number: int, genotype: Genotype, evaluation: Evaluation) -> Iterator[str]:
    """Yield the result of a genotype and the genotype itself, as two lines.

    Args:
        number: position of the genotype on the command line, from 1.
        genotype: the genotype.
        evaluation: its evaluation.
    """
    said = str(evaluation.outcome)
    if evaluation.ratio:
        said += f": speed-up {speed(evaluation.ratio)} {interval(evaluation)}"
        said += f", {(evaluation.mean or 0.0) * 1e3:.3f} ms"
    elif evaluation.message:
        said += f": {evaluation.message.strip().splitlines()[0]}"
    yield f"{number}: {said}"
    yield f"    {genotype if str(genotype) else '(no changes)'}"
