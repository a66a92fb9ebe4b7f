"""Sources from which targets are proposed and tried."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.init import Proposal, from_options, propose
from gi_cuda.trial import Attempts, Outcome, mended

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
LAUNCH = "k<<<(n + 127) / 128, 128>>>(a, b, n);"


def host(launch: str, *sizes: str, values: str = "int n = 4000;") -> str:
    """Return host code that allocates ``float`` buffers ``a``, ``b``, ... and makes a launch."""
    names = "abc"[: len(sizes)]
    declared = " ".join(f"float *{name};" for name in names)
    made = " ".join(
        f"cudaMalloc(&{name}, ({size}) * sizeof(float));"
        for name, size in zip(names, sizes, strict=True)
    )
    return f"int main() {{ {values} {declared} {made} {launch} }}\n"


@pytest.fixture
def trial(tmp_path: Path) -> Callable[[str], Outcome]:
    """Return a function that tries the target proposed for a source."""

    def tried(text: str) -> Outcome:
        source = tmp_path / "k.cu"
        source.write_text(text)
        (tmp_path / "attempts").mkdir()
        attempts = Attempts(tmp_path / "attempts", 1, None)
        proposal = propose(source, None, from_options((), ()))
        return mended(proposal, attempts.attempt, 60)

    return tried


def sizes(proposal: Proposal) -> dict[str, str]:
    return {buffer.name: buffer.items(proposal.counts) for buffer in proposal.buffers}


def roles(proposal: Proposal) -> dict[str, str]:
    return {buffer.name: buffer.role for buffer in proposal.buffers}
