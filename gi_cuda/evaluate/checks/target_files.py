"""Checks of a target's files: no marks left, reproducible cases, and cases of a reasonable size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gi_cuda.evaluate.checks.finding import Finding, listed
from gi_cuda.spec import Target
from gi_cuda.spec.oracles.tolerance import Tolerance
from gi_cuda.spec.toml_file.load import MARK, data_file

_MARKED = re.compile(rf"(?<!marked ){MARK}\b")
"""The mark, except in the head of the file, which explains it."""


def read_files(target: Target) -> dict[Path, str]:
    """Return the texts of the files that a user fills in; unreadable files are left out."""
    found = {}
    for path in (target.file, data_file(target)):
        try:
            found[path] = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return found


def left_to_fill_in(texts: Mapping[Path, str]) -> Iterator[Finding]:
    """Yield a finding for each file with lines that are still marked."""
    for path, text in texts.items():
        lines = [n for n, line in enumerate(text.splitlines(), 1) if _MARKED.search(line)]
        if lines:
            shown = listed([str(line) for line in lines])
            yield Finding(
                f"{path}:{lines[0]}",
                f"{MARK} is left in line{'s' if len(lines) > 1 else ''} {shown}",
                "what stands there was assumed: make sure of it, and take the mark away",
            )


_CONFIRM = re.compile(r"(?<!marked )(?<![\"'`])\bconfirm\b")
"""The mark of assumptions by ``init``, but not the role of a case or an explanation of the mark."""


def left_to_confirm(texts: Mapping[Path, str]) -> Iterator[str]:
    """Yield the lines that are marked ``confirm``, each with its place."""
    for path, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if _CONFIRM.search(line):
                yield f"{path}:{number}: {line.strip()}"


def no_tolerance(target: Target) -> Iterator[Finding]:
    """Yield a finding for floating-point outputs with a tolerance of 0."""
    floats = [one.name for one in target.buffers if one.role.judged and one.dtype.kind == "f"]
    for check in target.oracle.checks:
        if isinstance(check, Tolerance) and not (check.absolute or check.relative):
            names = [one for one in floats if one in (check.buffers or floats)]
            if names:
                yield Finding(
                    str(target.file),
                    f"the tolerance of {listed(names)} is 0: it rejects any reordering of float"
                    " operations",
                    "set `relative` in [oracle] to what users of the results can bear, e.g. 1e-5",
                )


Hashes = Mapping[str, Mapping[str, str]]
"""Hash of each value of each case."""

LONG = 0.05
"""Seconds of the reference on the train cases above which a finding is reported."""


def unsteady(target: Target, here: Hashes, there: Hashes) -> Iterator[Finding]:
    """Yield a finding for cases that differ between two processes."""
    changing = {
        case: [name for name, value in values.items() if there[case].get(name) != value]
        for case, values in here.items()
        if case in there
    }
    names = dict.fromkeys(name for values in changing.values() for name in values)
    if names:
        cases = sorted(case for case, values in changing.items() if values)
        yield Finding(
            _case_function(data_file(target)),
            f"case() gives other values from process to process: {', '.join(names)}"
            f" (case {', '.join(cases)})",
            "take random numbers from a seed: rng = np.random.default_rng(seed), with `seed` among"
            " the case's args",
        )


def _case_function(path: Path) -> str:
    """Return the place of the definition of ``case()``, or the file."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [n for n, line in enumerate(lines, 1) if line.startswith("def case(")]
    return f"{path}:{found[0]}" if found else str(path)


def too_long(target: Target, seconds: float) -> Iterator[Finding]:
    """Yield a finding if the train cases take long."""
    if seconds > LONG:
        train = next(case for case in target.cases if case.role == "train")
        yield Finding(
            f"{target.file}:{train.line}",
            f"the reference takes {seconds * 1e3:.0f} ms on the train cases, and so will every"
            " variant, a dozen times",
            "make them smaller: about 1 ms is enough to tell one variant from another",
        )
