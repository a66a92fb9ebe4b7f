"""``python -m benchmarks.referee``: ask the referee about all rewrites of the corpus.

Options: ``--kernel K`` and ``--only NAME`` (each may be repeated), ``--backend host|cuda``,
``--jobs N`` (kernels at once), ``--json FILE`` (a line for each verdict; verdicts that are there
already are not asked for again, so a run that was stopped goes on), ``--verb judge|compare``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from benchmarks.referee.asking import ABORTED, Answer, ask, can_judge, make_target
from benchmarks.referee.rewrites import CORPUS, Kernel, Rewrite, read_corpus, read_kernel
from benchmarks.referee.table import Verdict, table


class Log:
    """The verdicts so far, in a file of JSON lines if one is named."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        lines = path.read_text().splitlines() if path and path.exists() else []
        self.verdicts = [Verdict(**json.loads(line)) for line in lines]

    def has(self, kernel: Kernel, rewrite: Rewrite) -> bool:
        """Tell whether a rewrite was judged."""
        return any((one.kernel, one.name) == (kernel.name, rewrite.name) for one in self.verdicts)

    def add(self, kernel: Kernel, rewrite: Rewrite, answer: Answer) -> None:
        """Keep and print an answer."""
        told = (kernel.name, rewrite.name, rewrite.kind, rewrite.right)
        verdict = Verdict(*told, answer.status, answer.reason, round(answer.seconds, 2))
        with self._lock:
            self.verdicts.append(verdict)
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps(asdict(verdict)) + "\n")
            print(f"{kernel.name}: {rewrite.name}: {answer.status}", file=sys.stderr, flush=True)


def judge_kernel(
    kernel: Kernel, rewrites: Sequence[Rewrite], backend: str, verb: str, log: Log
) -> None:
    """Make a kernel's target, and judge rewrites with it."""
    with tempfile.TemporaryDirectory(prefix="gi-cuda-referee-") as scratch:
        folder = Path(scratch)
        if complaint := make_target(kernel, folder):
            for rewrite in rewrites:
                log.add(kernel, rewrite, Answer(ABORTED, f"init: {complaint}", 0.0))
            return
        for rewrite, answer in ask(kernel, rewrites, folder, backend, verb == "judge"):
            log.add(kernel, rewrite, answer)


def main(words: Sequence[str]) -> int:
    """Judge the corpus, print the table; return 1 if a wrong rewrite was accepted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.referee", description=__doc__)
    parser.add_argument("--kernel", action="append", help="a folder of the corpus")
    parser.add_argument("--only", action="append", help="the name of a rewrite")
    parser.add_argument("--backend", choices=["host", "cuda"], default="host")
    parser.add_argument("--jobs", type=int, default=1, help="kernels at once")
    parser.add_argument("--json", type=Path, help="a file for the verdicts, a line of JSON each")
    parser.add_argument(
        "--verb", choices=["judge", "compare"], help="default: judge, if it is there"
    )
    options = parser.parse_args(words)
    kernels = [read_kernel(CORPUS / one) for one in options.kernel or ()] or list(read_corpus())
    verb = options.verb or ("judge" if can_judge() else "compare")
    log = Log(options.json)
    with ThreadPoolExecutor(options.jobs) as pool:
        asked = []
        for kernel in kernels:
            named = [one for one in kernel.rewrites if not options.only or one.name in options.only]
            if rewrites := [one for one in named if not log.has(kernel, one)]:
                work = (kernel, rewrites, options.backend, verb, log)
                asked.append(pool.submit(judge_kernel, *work))
        for one in as_completed(asked):
            one.result()
    print(table(log.verdicts))
    return any(one.is_false_accept for one in log.verdicts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
