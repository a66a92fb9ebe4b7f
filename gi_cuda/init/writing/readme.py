"""Write the README of a proposed target, and remarks on where its options come from."""

from __future__ import annotations

import os
from pathlib import Path

from gi_cuda.grammar import Function
from gi_cuda.init.proposing.proposal import Proposal


def relative(path: Path, folder: Path) -> str:
    """Return a path relative to a target's folder."""
    return Path(os.path.relpath(path, folder.resolve())).as_posix()


def _remarks(proposal: Proposal, function: Function) -> str:
    """Return remarks on a function: that it is the kernel, and the header that defines it."""
    file = proposal.files[function.name]
    header = "" if file == proposal.source.name else f", in `{file}`"
    return f"{' (kernel)' if function.kernel else ''}{header}"


def readme(proposal: Proposal, folder: Path) -> str:
    """Return the text of README.md: what the folder is, and what to do next."""
    functions = "\n".join(
        f"- `{function.name}`{_remarks(proposal, function)}" for function in proposal.functions
    )
    name = folder
    headers = ", ".join(f"`{path.name}`" for path in proposal.headers.own)
    fixed = f"\n\nFrom headers, and so not changed: {headers}." if headers else ""
    names = [f"`{step.kernel}`" for step in proposal.steps]
    kernels = f"{'s'[: len(names) > 1]} {', '.join(names)}"
    return f"""# {proposal.name}

A target for `gi-cuda`: the kernel{kernels} of
[{proposal.source.name}]({relative(proposal.source, folder)}), which stays where it is.

Functions that evolve:

{functions}{fixed}

## What to do now

1. Look for `{proposal.mark}` in `target.toml` and `data.py`: the size of each buffer, what its
   contents look like, and how far results may be from the reference's.
2. `gi-cuda check {name}` runs the unmodified kernel, and says if it can be evolved.
3. `gi-cuda evolve {name}` starts the search.
"""


def origins(proposal: Proposal, folder: Path) -> list[str]:
    """Return remarks on the options that the user did not give and on the headers that are left
    out.
    """
    compilation = proposal.compilation
    folders = {str(path): relative(path, folder) for path in compilation.include}
    plain = [*compilation.define, *compilation.options, "-std"]
    known = {**folders, **dict.fromkeys(plain, "")}
    lines = [
        f"{shown or name}: {_told(compilation.origins[name], folder)}"
        for name, shown in known.items()
        if name in compilation.origins
    ]
    return lines + [f"without {name}: {why}" for name, why in proposal.headers.without.items()]


def _told(origin: str, folder: Path) -> str:
    file, colon, line = origin.partition(":")
    return relative(Path(file), folder) + colon + line if Path(file).is_absolute() else origin
