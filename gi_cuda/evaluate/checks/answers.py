"""Are the reference's answers those that the data module knows of, as those of an application?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.spec import Target, find_case, load_case
from gi_cuda.spec.load import data_file
from gi_cuda.spec.modules import load_function

_FUNCTION = "answers"


@dataclass(frozen=True, slots=True)
class Compared:
    """How the reference's answers on a case compare with those that are known.

    Attributes:
        words: for people.
        wrong: what the oracle says of them; "" where it is content.
    """

    words: str
    wrong: str = ""


def has_answers(target: Target) -> bool:
    """Whether the data module knows what the kernels make of its cases."""
    return f"def {_FUNCTION}(" in target.data.read_text(encoding="utf-8", errors="replace")


def compare_answers(target: Target, name: str, folder: Path) -> Compared:
    """Hold what the reference gave on a case against what the data module knows.

    Args:
        folder: where the reference's outputs are.

    Raises:
        UserError: the data module fails.
    """
    case = find_case(target, name)
    known = load_function(target.data, _FUNCTION, f"{target.file}: target.data")(**case.args)
    with np.load(folder / f"{name}.npz") as stacks:
        given = {buffer: stack[0] for buffer, stack in stacks.items()}
    given = {buffer: _filled(array, known[buffer]) for buffer, array in given.items()}
    if all(array.tobytes() == known[buffer].tobytes() for buffer, array in given.items()):
        return Compared("the answers known, bit for bit")
    reference = target.oracle.reference([known] * target.oracle.runs)
    judged = target.oracle.judge(load_case(target, case).values, given, reference)
    return Compared("the answers known, within the oracle", judged.reason)


def other_answers(target: Target, compared: Mapping[str, Compared]) -> Iterator[Finding]:
    """Cases on which the reference's answers are others than those that are known."""
    for name, one in compared.items():
        if one.wrong:
            yield Finding(
                str(data_file(target)),
                f"on case {name} the reference's answers are not those that are known: {one.wrong}",
                "is this the source that they come from, with the same macros and compiler options"
                " ([build])? Where they differ from run to run, let [oracle] allow for it",
            )


def _filled(array: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Outputs, with what is known where the reference wrote nothing."""
    raw = np.frombuffer(bytearray(array.tobytes()), np.uint8)
    words = raw[: raw.size // 4 * 4].view(np.uint32)
    expected = np.frombuffer(known.tobytes(), np.uint8)[: raw.size // 4 * 4].view(np.uint32)
    if expected.size == words.size:
        words[words == POISON] = expected[words == POISON]
    return raw.view(array.dtype)
