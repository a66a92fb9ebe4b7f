"""Write the files of a captured target."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from gi_cuda.capture.fitted import Fitted
from gi_cuda.capture.launches.observed import Observation
from gi_cuda.capture.noise import Allowed
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.init.writing.text import assembled
from gi_cuda.init.writing.toml import Noted, table
from gi_cuda.init.writing.write import Content

DATA = "captured.json"
"""File with the inputs and answers of each launch. Files of arrays are named by a content hash."""

_DATA_PY = '''"""Inputs and answers of launches of {kernel}.

gi-cuda capture recorded them in `{command}`. {data} lists the launches; their arrays are files
in arrays/, named by a hash of their contents.
"""

import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent


def case(launch: str) -> dict[str, object]:
    """Return the inputs of a launch, a name in {data}."""
    got = _launch(launch)
    return got["scalars"] | {{name: _array(file) for name, file in got["given"].items()}}


def answers(launch: str) -> dict[str, object]:
    """Return the application's answers; `gi-cuda check` compares the reference with these."""
    return {{name: _array(file) for name, file in _launch(launch)["answers"].items()}}


def _launch(name: str) -> dict:
    return json.loads((FOLDER / "{data}").read_text())[name]


def _array(file: str) -> np.ndarray:
    return np.load(FOLDER / "arrays" / file, mmap_mode="c")
'''

_README = """# {kernel}

A target for `gi-cuda`, captured from `{command}`: launches of `{kernel}` with what they got there
and what they made of it. The source stays where it is.

1. `gi-cuda check {folder}` runs the unmodified kernel, and compares its answers with those.
2. `gi-cuda evolve {folder}` starts the search.
3. `gi-cuda capture --add {folder} -- COMMAND` adds launches of another run.
"""


@dataclass(frozen=True, slots=True)
class Captured:
    """A captured launch as a case.

    Attributes:
        name: name of the case.
        role: "train" or "held-out".
        origin: description of the launch: "launch 3 of `./app`".
        observation: the launch.
        numbers: scalars of the target that are not arguments of the kernel.
    """

    name: str
    role: str
    origin: str
    observation: Observation
    numbers: Mapping[str, int]


def named(
    fitted: Fitted, roles: Sequence[str], source: str, prefix: str = "launch"
) -> list[Captured]:
    """Turn the launches of a run into cases.

    Args:
        fitted: the launches.
        roles: role of each case.
        source: the command that was run.
        prefix: start of the cases' names; the number of the launch follows.
    """
    return [
        Captured(
            f"{prefix}-{one.taken.ordinal + 1}",
            role,
            f"launch {one.taken.ordinal + 1} of {source}",
            one,
            numbers,
        )
        for one, role, numbers in zip(fitted.launches, roles, fitted.numbers, strict=True)
    ]


def files(
    fitted: Fitted,
    cases: Sequence[Captured],
    tolerances: Mapping[str, Allowed],
    command: str,
    folder: Path,
    architectures: Collection[int] = (),
) -> dict[str, Content]:
    """Return the files of a target's folder, by name.

    Args:
        fitted: proposal and launches.
        cases: the cases.
        tolerances: tolerances of buffers that hold real numbers, by buffer.
        command: command line of the application.
        folder: folder of the target.
        architectures: GPU architectures that the application was built for.
    """
    proposal = fitted.proposal
    heading = (
        f"How `{command}` launches {proposal.kernel}, and how its results are judged. Written by"
        "\ngi-cuda capture from launches that it saw; inputs and answers are those of the"
        " application."
    )
    arrays: dict[str, Content] = {}
    launches = {one.name: told(fitted.proposal.buffers, one, arrays) for one in cases}
    oracles = _oracles(proposal.buffers, tolerances)
    tables = case_tables(cases)
    written = assembled(proposal, folder, heading, oracles, tables, command, architectures)
    return {
        "target.toml": written,
        "data.py": _DATA_PY.format(kernel=proposal.kernel, command=command, data=DATA),
        "README.md": _README.format(kernel=proposal.kernel, command=command, folder=folder),
        DATA: json.dumps(launches, indent=1) + "\n",
        **arrays,
    }


def told(
    buffers: Sequence[ProposedBuffer], one: Captured, arrays: dict[str, Content]
) -> dict[str, Any]:
    """Return inputs and answers of a launch for ``captured.json``.

    Args:
        buffers: buffers of the target.
        one: the launch.
        arrays: files of arrays; those of this launch are added.
    """
    kept: dict[str, dict[str, str]] = {"given": {}, "answers": {}}
    for buffer in buffers:
        piece = one.observation.pieces[buffer.name]
        if buffer.role in ("input", "inout"):
            values = piece.read(buffer.element.type, after=False)
            kept["given"][buffer.name] = keep(values, arrays)
        if buffer.role in ("output", "inout"):
            values = piece.read(buffer.element.type, after=True)
            kept["answers"][buffer.name] = keep(values, arrays)
    scalars: dict[str, int | float] = dict(one.numbers)
    for name, value in one.observation.scalars.items():
        if isinstance(value, np.ndarray):
            kept["given"][name] = keep(value, arrays)
        else:
            scalars[name] = value
    return {"from": one.origin, "scalars": scalars, **kept}


def keep(values: NDArray[Any], arrays: dict[str, Content]) -> str:
    """Add an array to the files, unless it is there already, and return the name of its file."""
    digest = xxhash.xxh3_128(f"{values.dtype} ".encode())
    digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    name = f"{digest.hexdigest()}.npy"
    arrays.setdefault(f"arrays/{name}", values)
    return name


_CASES = "Cases: train ones give fitness, held-out ones only ever validate."


def case_tables(cases: Sequence[Captured], comment: str = _CASES) -> Iterator[str]:
    """Yield the cases as tables of ``target.toml``.

    Args:
        cases: the cases.
        comment: comment above the first case.
    """
    for one in cases:
        yield table(
            "[[case]]",
            comment,
            name=one.name,
            role=one.role,
            args=Noted({"launch": one.name}, one.origin),
        )
        comment = ""


def _oracles(buffers: Sequence[ProposedBuffer], tolerances: Mapping[str, Allowed]) -> Iterator[str]:
    """Yield the oracles as tables: tolerances for real numbers, "exact" for all other buffers."""
    judged = [one for one in buffers if one.role in ("output", "inout")]
    appended = {one.together: one.why for one in tolerances.values() if one.together}
    parts = {one.name: one.element.parts for one in judged}
    for together, why in appended.items():
        row = parts[together[0]]
        yield table(
            "[[oracle]]",
            f"{', '.join(together)}: {why}.",
            kind="unordered",
            buffers=list(together),
            row=row if row > 1 else None,
        )
    judged = [one for one in judged if not any(one.name in names for names in appended)]
    loose = {name: found for name, found in tolerances.items() if not found.exact}
    exact = [one.name for one in judged if one.name not in loose]
    for buffer in judged:
        if buffer.name not in loose:
            continue
        found, fields = tolerances[buffer.name], buffer.element.fields
        members = {f.name: [f.type, f.at, *([f.length] if f.length > 1 else [])] for f in fields}
        comment = f'{buffer.name}: {found.why}. Where every bit counts: kind = "exact".'
        for times, outside in [(1.0, found.outside), (found.furthest, 0.0)][
            : 1 + bool(found.outside)
        ]:
            yield table(
                "[[oracle]]",
                comment,
                kind="tolerance",
                absolute=times * found.absolute,
                relative=times * found.relative,
                outside=Noted(outside, "share of the values") if outside else None,
                buffers=[buffer.name],
                item=Noted(buffer.element.parts, "bytes of a struct") if fields else None,
                members=members or None,
            )
            comment = "the others of these"
    if exact:
        said = "; ".join(f"{one}: {tolerances[one].why}" for one in exact if one in tolerances)
        yield table("[[oracle]]", said, kind="exact", buffers=exact)
