"""Repeat verdicts on the speed of rewrites, and count how often the referee says the same.

A kernel spends its time in a loop of 1000 rounds; rewrites of it go 1000, 990 and 970 rounds, so
that they are 0, 1 and 3 % faster. Each is judged again and again, each time in a new session.

    python benchmarks/referee_noise.py [RUNS]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.elementwise import elementwise_target
from gi_cuda.analyze.judge.judging import Referee
from gi_cuda.analyze.rewrites.rewritten import Rewrites
from gi_cuda.backends import cores
from gi_cuda.evaluate.reference.baseline import establish
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject

SOURCE = """\
#include <cuda_runtime.h>
__global__ void rounds(const float *in, float *out, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i];
    for (int k = 0; k < ROUNDS; k++)
        x = x * 0.999f + 0.25f;
    out[i] = x > 1e9f ? x : in[i];
}
"""
TARGET = elementwise_target(
    "rounds",
    block=64,
    train="n = 512",
    held_out="n = 768",
    oracle='kind = "tolerance"\nabsolute = 1e-4',
)
DATA = """\
import numpy as np


def case(n):
    return {"in": np.random.default_rng(1).random(n, dtype=np.float32), "n": n}
"""


def main(runs: int) -> None:
    """Print the verdicts on each rewrite, and the share of runs that give the most frequent one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rounds.cu").write_text(SOURCE.replace("ROUNDS", "1000"))
        (folder / "target.toml").write_text(TARGET)
        (folder / "data.py").write_text(DATA)
        subject = load_subject(folder, "host")
        found: dict[int, Counter[str]] = {}
        for run in range(runs):
            for percent in (0, 1, 3):
                rewrite = folder / "new" / f"{percent}.cu"
                rewrite.parent.mkdir(exist_ok=True)
                rewrite.write_text(SOURCE.replace("ROUNDS", str(1000 - 10 * percent)))
                verdict = judged(subject, rewrite, folder / f"{percent}-{run}")
                found.setdefault(percent, Counter())[verdict] += 1
            said = (f"{percent} %: {dict(some)}" for percent, some in found.items())
            print(f"{run + 1} runs: {'; '.join(said)}", flush=True)


def judged(subject, rewrite: Path, folder: Path) -> str:
    """Return the verdict on a rewrite's speed in a session of its own."""
    one = Rewrites(subject, folder / "rewrites").read(rewrite).candidate
    with open_tools(subject, folder / "session", workers=1, jobs=cores()) as tools:
        place = tools.scratch("baseline")
        baseline = establish(subject, tools.compiler, tools.pool, place, tools.reference)
        status, speed, _ = Referee(tools, lambda: baseline).timed(one)
    print(status, speed and (str(speed.overall), speed.bar, speed.rounds))
    return str(status)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
