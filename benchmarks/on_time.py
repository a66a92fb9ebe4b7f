"""Measure whether ``evolve --time T`` ends in time, with an answer.

    python -m benchmarks.on_time [--runs 100] [--seed 1] [--json FILE]

Each run draws one of the shipped targets, 5 to 30 seconds, and a load: no other processes, or one
for each processor, during a part of the run. It prints a line for each: the target, the seconds
given and taken, and the answer: a winner, a provisional one, nothing faster, or no answer. A run
is late if it takes more than 1.2 times as long and 10 s. With ``--json`` the same command continues
an interrupted benchmark. The exit status is 1 if a run was late or had no answer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from benchmarks.honesty import busy

TARGETS = Path(__file__).parent.parent / "targets"
SHORTEST, LONGEST = 5.0, 30.0

ANSWERS = {
    "time was up after a short look": "provisional",
    "winner: individual": "winner",
    "no individual is faster": "nothing faster",
}
"""Answers, by words that the search prints; the first match counts."""

NONE = "no answer"


def allowed(seconds: float) -> float:
    """Return the seconds after which a run is late."""
    return 1.2 * seconds + 10.0


@contextmanager
def load(begin: float, seconds: float, processes: int) -> Iterator[None]:
    """Use processors while the block runs, from a given second on and for some seconds."""
    opened = ExitStack()
    timers = [
        threading.Timer(begin, lambda: opened.enter_context(busy(processes))),
        threading.Timer(begin + seconds, opened.close),
    ]
    for timer in timers:
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()
        opened.close()


def run(number: int, seed: int) -> dict[str, object]:
    """Run one search and return its result."""
    chance = random.Random(f"{seed}/{number}")
    target = chance.choice(sorted(one.name for one in TARGETS.iterdir() if one.is_dir()))
    seconds = round(chance.uniform(SHORTEST, LONGEST), 1)
    processes = chance.choice([0, os.cpu_count() or 1])
    busy = chance.uniform(0, seconds), chance.uniform(0, seconds), processes
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch, load(*busy):
        words = ["evolve", str(TARGETS / target), "--backend", "host", "--run", f"{scratch}/run"]
        words += ["--time", str(seconds), "--seed", str(chance.randrange(1 << 30))]
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "gi_cuda", *words], capture_output=True, text=True
        )
        taken = time.monotonic() - begun
    said = " ".join(done.stdout.split())
    answer = next((what for words, what in ANSWERS.items() if words in said), NONE)
    return {
        "number": number,
        "target": target,
        "seconds": seconds,
        "processes": processes,
        "taken": round(taken, 1),
        "status": done.returncode,
        "answer": answer,
        "said": "" if answer != NONE else done.stdout[-300:] + done.stderr[-500:],
    }


def main(words: Sequence[str]) -> int:
    """Run searches, and count those that are late or have no answer."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.on_time", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="a file for what came of each, a line of JSON")
    options = parser.parse_args(words)
    lines = options.json.read_text().splitlines() if options.json and options.json.exists() else []
    found = [json.loads(line) for line in lines]
    for number in range(len(found), options.runs):
        one = run(number, options.seed)
        found.append(one)
        if options.json:
            with options.json.open("a") as file:
                file.write(json.dumps(one) + "\n")
        print("{target}: {taken} s of {seconds} s: {answer}".format(**one), flush=True)
    late = [one for one in found if one["taken"] > allowed(one["seconds"])]
    silent = [one for one in found if one["answer"] == NONE]
    print(f"{len(found)} runs: {len(late)} late, {len(silent)} without an answer")
    print(", ".join(f"{n} {what}" for what, n in Counter(one["answer"] for one in found).items()))
    print(f"taken of what was given: median {median(o['taken'] / o['seconds'] for o in found):.2f}")
    for one in [*late, *(one for one in silent if one not in late)]:
        print(one)
    return bool(late or silent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
