"""The oracle ``python``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from gi_cuda.spec.case_data.modules import line_of, load_function
from gi_cuda.spec.oracles.base import Judgement, OutputCheck, Outputs
from gi_cuda.spec.toml_file.locate import Files, Key

if TYPE_CHECKING:
    from gi_cuda.spec.toml_file import key_types as key


@dataclass(frozen=True, slots=True)
class Python(OutputCheck):
    """A check by a function of the target: ``penalty(case, outputs, reference)``.

    The arguments are mappings from names to values: the case's buffers, scalars and extras before
    the launch; the outputs; and the reference's outputs, of shape (runs, elements) if `runs` is
    more than 1. The function returns the penalty, or the penalty and the reason for it.

    Attributes:
        function: ``FILE.py:NAME`` with an absolute path.
        runs: number of reference runs that the function needs.
        uses: names of the extras of the data module that the function uses.
    """

    kind: Literal["python"] = field(default="python", kw_only=True)
    function: key.PythonFunction
    runs: key.Runs = 1
    uses: tuple[key.Name, ...] = ()

    @property
    def file(self) -> Path:
        """Python file that defines the function."""
        return Path(self.function.rpartition(":")[0])

    def located(self, files: Files, key: Key) -> Self:
        file, _, name = self.function.rpartition(":")
        return replace(self, function=f"{files.find(file, (*key, 'function'))}:{name}")

    def prepare(self, runs: Sequence[Outputs]) -> Outputs:
        """Return the first run's outputs, or those of all runs, of shape (runs, elements)."""
        if self.runs == 1:
            return runs[0]
        return {name: np.stack([run[name] for run in runs]) for name in runs[0]}

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Outputs) -> Judgement:
        """Call the function. If it raises an exception, the penalty is infinity."""
        file, own = self.file, self.function.rpartition(":")[2]
        function = load_function(file, own, str(file))
        arguments = [_read_only(values) for values in (case, outputs, reference)]
        name = f"{file.name}:{own}"
        try:
            with np.errstate(all="ignore"):
                return _judgement(function(*arguments), name)
        except (Exception, SystemExit) as error:
            # Wrong outputs of a variant may be anything, so the function may fail on them.
            at = line_of(error, file)
            return Judgement(math.inf, f"{name} failed at {at}: {type(error).__name__}: {error}")


def _read_only(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with read-only views of arrays, so that a function cannot change them."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        result[name] = value
    return result


def _judgement(result: Any, name: str) -> Judgement:
    """Convert a function's result to a judgement; the penalty is infinity if it is not valid."""
    reason = ""
    if isinstance(result, tuple) and len(result) == 2:
        result, reason = result
    if isinstance(result, bool | np.bool_):
        # A bool is ambiguous: True may mean "acceptable" or a penalty of 1.
        said = f"{name} returned {bool(result)}; it returns the penalty, 0 is acceptable"
        return Judgement(math.inf, said)
    try:
        penalty = float(result)
    except (TypeError, ValueError):
        return Judgement(math.inf, f"{name} returned {result!r}, not a number")
    if math.isnan(penalty) or penalty < 0:
        return Judgement(math.inf, f"{name} returned {penalty}, not a penalty of 0 or more")
    return Judgement(penalty, "" if penalty == 0 else str(reason) or f"{name} gives {penalty:g}")
