"""Answer requests about cases: their inputs, and the reference's outputs beside known answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.protocol.requests import (
    AnswersCompared,
    CompareAnswers,
    Compared,
    Inputs,
    TellInputs,
)
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.spec import find_case, given
from gi_cuda.spec.case_data.modules import has_function, load_function

_FUNCTION = "answers"


def tell_inputs(runner: CaseRunner, request: TellInputs) -> Inputs:
    """Describe the data of the cases."""
    return Inputs({name: given(case) for name, case in runner.cases.items()})


def compare_answers(runner: CaseRunner, request: CompareAnswers) -> AnswersCompared:
    """Compare the reference's recorded outputs with known answers, if the data module has any.

    Raises:
        UserError: the data module fails.
    """
    target = runner.target
    if not has_function(target.data, _FUNCTION):
        return AnswersCompared({})
    known = load_function(target.data, _FUNCTION, f"{target.file}: target.data")
    found = {}
    for name in request.cases:
        expected = known(**find_case(target, name).args)
        found[name] = _compared(runner, name, expected)
    return AnswersCompared(found)


def _compared(runner: CaseRunner, name: str, expected: dict[str, NDArray[Any]]) -> Compared:
    oracle, outputs = runner.target.oracle, runner.stored(name).outputs
    given = {buffer: _filled(array, expected[buffer]) for buffer, array in outputs.items()}
    if all(array.tobytes() == expected[buffer].tobytes() for buffer, array in given.items()):
        return Compared(exact=True)
    reference = oracle.reference([expected] * oracle.runs)
    return Compared(wrong=oracle.judge(runner.cases[name].values, given, reference).reason)


def _filled(array: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Return outputs, with known values where the reference wrote nothing."""
    raw = np.frombuffer(bytearray(array.tobytes()), np.uint8)
    words = raw[: raw.size // 4 * 4].view(np.uint32)
    expected = np.frombuffer(known.tobytes(), np.uint8)[: raw.size // 4 * 4].view(np.uint32)
    if expected.size == words.size:
        words[words == POISON] = expected[words == POISON]
    return raw.view(array.dtype)
