"""The oracle ``python``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from gi_cuda.spec.locate import Files, Key
from gi_cuda.spec.modules import line_of, load_function
from gi_cuda.spec.oracles.base import Judgement, OutputCheck, Outputs

if TYPE_CHECKING:
    from gi_cuda.spec import key_types as key


@dataclass(frozen=True, slots=True)
class Python(OutputCheck):
    """A function of the target's own: ``penalty(case, outputs, reference)``.

    It gets mappings from names to values: the case's buffers, scalars and extras as they were
    before the launch; the outputs; and the reference's outputs, of shape (runs, elements) where
    it asks for several runs. It returns the penalty, or the penalty and the reason for it.

    Attributes:
        function: ``FILE.py:NAME``, the file absolute.
        uses: what the data module returns for the function alone.
    """

    kind: Literal["python"] = field(default="python", kw_only=True)
    function: key.PythonFunction
    runs: key.Runs = 1
    uses: tuple[key.Name, ...] = ()

    @property
    def file(self) -> Path:
        """Where the function is."""
        return Path(self.function.rpartition(":")[0])

    def located(self, files: Files, key: Key) -> Self:
        file, _, name = self.function.rpartition(":")
        return replace(self, function=f"{files.find(file, (*key, 'function'))}:{name}")

    def prepare(self, runs: Sequence[Outputs]) -> Outputs:
        """The first run's outputs, or those of all runs, of shape (runs, elements)."""
        if self.runs == 1:
            return runs[0]
        return {name: np.stack([run[name] for run in runs]) for name in runs[0]}

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Outputs) -> Judgement:
        """What the function says; a failing one has judged as well."""
        file, own = self.file, self.function.rpartition(":")[2]
        function = load_function(file, own, str(file))
        arguments = [_read_only(values) for values in (case, outputs, reference)]
        name = f"{file.name}:{own}"
        try:
            with np.errstate(all="ignore"):
                return _judgement(function(*arguments), name)
        except (Exception, SystemExit) as error:
            # A variant's outputs may be any rubbish; what trips over them has judged them.
            at = line_of(error, file)
            return Judgement(math.inf, f"{name} failed at {at}: {type(error).__name__}: {error}")


def _read_only(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values, such that a target's function cannot change the arrays among them."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        result[name] = value
    return result


def _judgement(result: Any, name: str) -> Judgement:
    """What a function returned, as a judgement; infinity where it makes no sense."""
    reason = ""
    if isinstance(result, tuple) and len(result) == 2:
        result, reason = result
    if isinstance(result, bool | np.bool_):
        # Whether that means good or bad, nobody can tell.
        said = f"{name} returned {bool(result)}; it returns the penalty, 0 is acceptable"
        return Judgement(math.inf, said)
    try:
        penalty = float(result)
    except (TypeError, ValueError):
        return Judgement(math.inf, f"{name} returned {result!r}, not a number")
    if math.isnan(penalty) or penalty < 0:
        return Judgement(math.inf, f"{name} returned {penalty}, not a penalty of 0 or more")
    return Judgement(penalty, "" if penalty == 0 else str(reason) or f"{name} gives {penalty:g}")
