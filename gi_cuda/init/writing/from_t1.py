"""Write the files of a target from a tuning problem in the T1 format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from gi_cuda.init.build.build_options import is_newer_standard
from gi_cuda.init.build.compilation import STANDARD
from gi_cuda.init.writing.readme import relative
from gi_cuda.init.writing.toml import Noted, table
from gi_cuda.spec.parameters import Parameter
from gi_cuda.spec.toml_file.load import MARK
from gi_cuda.tune.t1.t1 import Problem

_TOLERANCE = (1e-5, 1e-4)
"""Absolute and relative tolerance of floating-point results, if T1 gives none."""


def files_of_problem(problem: Problem, folder: Path, described_by: Path) -> dict[str, str]:
    """Return the files of a target's folder, by name.

    Args:
        folder: the future folder of the target; relative paths start there.
        described_by: the T1 file, which comments name.
    """
    name = re.sub(r"[^-.\w]", "_", described_by.name)
    heading = f"Written by gi-cuda init --t1 {name}."
    parts = [
        "\n".join([f"# {heading}", f"# What T1 does not say is marked {MARK}."]),
        _target(problem, folder),
        _build(problem, folder),
        *map(_parameter, problem.parameters),
        *(table("[[constraint]]", that=one.that.text) for one in problem.constraints),
        *_arguments(problem),
        _launch(problem),
        *_oracles(problem),
        *_cases(),
    ]
    return {"target.toml": "\n\n".join(parts) + "\n", "data.py": _data(problem, heading)}


def _target(problem: Problem, folder: Path) -> str:
    return table(
        "[target]",
        name=problem.name,
        source=Noted(relative(problem.source.resolve(), folder), "stays where it is"),
        kernels=[problem.kernel],
        data="data.py",
    )


def _build(problem: Problem, folder: Path) -> str:
    """Return the ``[build]`` table; macros, headers and the standard get keys of their own."""
    define = {name: str(value) for name, value in problem.define.items()}
    include, rest, standard = [], [], STANDARD
    words = [word for option in problem.options for word in option.split()]
    joined = re.sub(r"(?:^|(?<=\n))(-[DI])\n", r"\1", "\n".join(words)).split("\n")
    for word in filter(None, joined):
        if found := re.fullmatch(r"-D([A-Za-z_]\w*)(?:=(.+))?", word):
            define[found[1]] = found[2] or "1"
        elif word.startswith("-I"):
            include.append(relative((problem.source.parent / word[2:]).resolve(), folder))
        elif found := re.fullmatch(r"--?std=(.+)", word):
            standard = found[1] if is_newer_standard(found[1]) else standard
        elif not re.match(r"-arch|-gencode|--gpu-", word):
            rest.append(word)
    return table(
        "[build]",
        include=include or None,
        define=define or None,
        standard=standard,
        host=["-O2"],
        cuda=["-O3", *rest],
    )


def _parameter(parameter: Parameter) -> str:
    made = table("[[parameter]]", name=parameter.name, values=parameter.values)
    return f"{made}\ndefault = {json.dumps(parameter.default)}"


def _arguments(problem: Problem) -> Iterator[str]:
    for one in problem.arguments:
        if one.role:
            symbol = one.name if one.symbol else None
            keys = {"type": one.type, "size": str(one.size), "role": one.role}
            yield table("[[buffer]]", name=one.name, **keys, symbol=symbol)
        else:
            value = str(one.value) if isinstance(one.value, int) else None
            yield table("[[scalar]]", name=one.name, type=one.type, value=value)


def _launch(problem: Problem) -> str:
    return table(
        "[[launch]]",
        kernel=problem.kernel,
        grid=problem.grid,
        block=problem.block,
        shared=str(problem.shared) if problem.shared else None,
        args=[one.name for one in problem.arguments if not one.symbol],
    )


def _oracles(problem: Problem) -> Iterator[str]:
    for one in problem.arguments:
        if one.role not in ("output", "inout"):
            continue
        allowed = problem.thresholds.get(one.name)
        if not one.type.startswith("float") and allowed is None:
            yield table("[[oracle]]", kind="exact", buffers=[one.name])
            continue
        unsaid = "" if allowed else f"{MARK}: how far results may be from the reference's."
        absolute, relative_ = allowed or _TOLERANCE
        made = table("[[oracle]]", unsaid, kind="tolerance", buffers=[one.name])
        yield f"{made}\nabsolute = {absolute!r}\nrelative = {relative_!r}"


def _cases() -> Iterator[str]:
    comment = f"{MARK}: T1 names one problem size; these cases differ in their random data alone."
    for seed, role in enumerate(("train", "held-out", "confirm"), 1):
        yield table("[[case]]", comment, name=role, role=role, args={"seed": seed})
        comment = ""


def _data(problem: Problem, heading: str) -> str:
    """Return the data module."""
    given = {one.name: one.fill for one in problem.arguments if one.fill}
    given |= {
        one.name: repr(one.value) for one in problem.arguments if isinstance(one.value, float)
    }
    return "\n".join(
        [
            f'"""Inputs of {problem.kernel}. {heading}"""',
            "",
            "import numpy as np",
            "",
            "",
            "def case(seed: int) -> dict[str, object]:",
            '    """Return the buffers and scalars of a case; the seed draws random data."""',
            "    rng = np.random.default_rng(seed)  # noqa: F841",
            "    made: dict[str, object] = {}",
            *(f"    made[{json.dumps(name)}] = {made}" for name, made in given.items()),
            "    return made",
            "",
        ]
    )
