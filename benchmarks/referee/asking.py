"""Ask the referee about rewrites of a kernel: ``gi-cuda judge``, or ``gi-cuda compare`` before it.

The referee is asked through the command line, as users ask it. All rewrites of a kernel are judged
with one target, which ``gi-cuda init`` makes.
"""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.referee.rewrites import Kernel, Rewrite

GI_CUDA = (sys.executable, "-m", "gi_cuda")

LIMIT = 900
"""Seconds for one command."""

ACCEPTED = frozenset({"faster", "slower", "same", "inconclusive", "uncertain"})
"""Statuses of rewrites that the referee considers right."""

ABORTED = "aborted"
"""Status if the output of the command cannot be read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The referee's verdict on a rewrite.

    Attributes:
        status: as in ``gi-cuda judge --json``, or "aborted"; also "unverified" if it is unknown how
            the rewrite is launched.
        reason: the first reason, or the last line that the command printed.
        seconds: time of the command; its share, if one command judged several rewrites.
    """

    status: str
    reason: str
    seconds: float


def make_target(kernel: Kernel, folder: Path) -> str:
    """Write a kernel's source and target below a folder; return a complaint, "" if there is none.

    The folder becomes a git repository, which ``compare`` wants patches to be relative to.
    """
    source = folder / kernel.name / kernel.source.name
    source.parent.mkdir(parents=True)
    source.write_text(kernel.text)
    done = _command(folder, "init", str(source), "--output", f"targets/{kernel.name}")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "original"]):
        who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost"]
        subprocess.run(["git", *who, *words], cwd=folder, capture_output=True)
    return "" if done.returncode == 0 else _last(done.stderr) or "init failed"


def can_judge() -> bool:
    """Tell whether this gi-cuda has the verb ``judge``."""
    return subprocess.run([*GI_CUDA, "judge", "--help"], capture_output=True).returncode == 0


def ask(
    kernel: Kernel, rewrites: Sequence[Rewrite], folder: Path, backend: str, judge: bool
) -> Iterator[tuple[Rewrite, Answer]]:
    """Yield the referee's answers, in the folder of :func:`make_target`.

    Args:
        judge: ask ``gi-cuda judge``, one by one; otherwise ``gi-cuda compare``, all at once.
    """
    if not judge:
        yield from _compared(kernel, rewrites, folder, backend)
        return
    for rewrite in rewrites:
        yield rewrite, _judged(kernel, rewrite, folder, backend)


def _judged(kernel: Kernel, rewrite: Rewrite, folder: Path, backend: str) -> Answer:
    rewritten = folder / "rewritten" / rewrite.name / kernel.source.name
    rewritten.parent.mkdir(parents=True, exist_ok=True)
    rewritten.write_text(rewrite.text)
    original = f"{kernel.name}/{kernel.source.name}"
    options = ["--target", f"targets/{kernel.name}", "--backend", backend, "--json"]
    began = time.monotonic()
    done = _command(folder, "judge", original, str(rewritten), *options)
    seconds = time.monotonic() - began
    try:
        told = json.loads(done.stdout)
        reasons = told.get("reasons", ())
        undecided = told["status"] == "inconclusive" and reasons[0]["code"] != "not-decided"
        status = "unverified" if undecided else told["status"]
        return Answer(status, _text(reasons[0]) if reasons else "", seconds)
    except (ValueError, LookupError, TypeError, AttributeError):
        return Answer(ABORTED, _last(done.stderr), seconds)


def _text(reason: Mapping[str, object]) -> str:
    return f"{reason.get('code', '')}: {reason.get('said', '')}"


def _compared(
    kernel: Kernel, rewrites: Sequence[Rewrite], folder: Path, backend: str
) -> Iterator[tuple[Rewrite, Answer]]:
    """Compare all rewrites in one session; if one aborts it, compare halves, and so on."""
    patches = []
    for rewrite in rewrites:
        name = f"{kernel.name}/{kernel.source.name}"
        lines = difflib.unified_diff(
            kernel.text.splitlines(keepends=True),
            rewrite.text.splitlines(keepends=True),
            *(f"a/{name}", f"b/{name}"),
        )
        (folder / f"{rewrite.name}.diff").write_text("".join(lines))
        patches.append(f"{rewrite.name}.diff")
    options = ["--target", f"targets/{kernel.name}", "--backend", backend, "--json"]
    began = time.monotonic()
    done = _command(folder, "compare", *options, *patches)
    seconds = (time.monotonic() - began) / len(patches)
    try:
        found = {Path(one["name"]).stem: one for one in json.loads(done.stdout)["contestants"]}
        for rewrite in rewrites:
            one = found[rewrite.name]
            failure = one.get("failure") or ""
            refused = one["verdict"] if one["verdict"] not in (*ACCEPTED, None) else "incorrect"
            yield rewrite, Answer(refused if failure else one["verdict"], str(failure), seconds)
    except (ValueError, KeyError, TypeError):
        if len(rewrites) == 1:
            yield rewrites[0], Answer(ABORTED, _last(done.stderr), seconds)
            return
        half = len(rewrites) // 2
        yield from _compared(kernel, rewrites[:half], folder, backend)
        yield from _compared(kernel, rewrites[half:], folder, backend)


def _command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*GI_CUDA, *words]
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer within {LIMIT} s")


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return " ".join(lines[-2:])
