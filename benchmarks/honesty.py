"""How often noise is taken for a gain, and how often an interval holds what is measured later.

``python -m benchmarks.honesty null`` searches, again and again, on kernels of which no variant can
be faster, and counts those that are called so. ``python -m benchmarks.honesty intervals`` validates
winners of searches where there is something to gain, each many times, and asks whether the interval
of one validation holds the speed-up of the next one. ``--busy 2`` keeps two processors busy
meanwhile. With ``--preset adaptive`` lines change and kernels are transformed as well, of a kernel
that hardly takes time beside another one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from rich.console import Console

from gi_cuda.analyze.finalists import finalists, select_winner
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.grammar import EDIT_SETS, convert, read_source, write_bnf, write_scope
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run, open_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import PRESETS

COPY = """
#ifndef TAG
#define TAG %d
#endif
__global__ void copy(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
    if (n < 0)
        out[0] = TAG;
}
"""

SHUFFLED = """
#ifndef TAG
#define TAG %d
#endif
__global__ void copy(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v;
    if (n < 0)
        out[0] = TAG;
    v = in[i < n ? i : 0];
    if (n < -1)
        out[1] = TAG + 1;
    if (i < n)
        out[i] = v;
    if (n < -2)
        out[2] = TAG + 2;
}
"""

WASTEFUL = """
#ifndef TAG
#define TAG %d
#endif
__global__ void copy(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = in[i];
    for (int k = 0; k < TAG; ++k)
        v = v * 1.0001f + 0.001f;
    out[i] = v < 0.0f ? v : in[i];
}
"""

SMALL = """
__global__ void small(const float *in, float *few, int m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float sum = 0.0f;
        for (int k = 0; k < 8; k++)
            sum += expf(-in[k]) / (1.0f + in[i]);
        few[i] = sum;
    }
}
"""
"""Launched besides, with one block: whatever is done to it, nothing can be gained."""

NULL = {"copy": COPY, "shuffled": SHUFFLED}

DATA = """
import numpy as np


def case(seed, n):
    rng = np.random.default_rng(seed)
    return {"in": rng.random(n, dtype=np.float32), "n": n, "m": 60}
"""

TARGET = """
[target]
name = "honesty"
source = "kernel.cu"
kernels = ["copy", "small"]
[[parameter]]
name = "TAG"
values = { from = %d, to = %d }
default = %d
[[buffer]]
name = "in"
type = "float32"
size = "n"
role = "input"
[[buffer]]
name = "out"
type = "float32"
size = "n"
role = "output"
[[buffer]]
name = "few"
type = "float32"
size = "m"
role = "output"
[[scalar]]
name = "n"
type = "int32"
[[scalar]]
name = "m"
type = "int32"
[[launch]]
kernel = "copy"
grid = "(n + 63) / 64"
block = "64"
args = ["in", "out", "n"]
[[launch]]
kernel = "small"
grid = "1"
block = "64"
args = ["in", "few", "m"]
[oracle]
kind = "tolerance"
relative = 1e-4
absolute = 1e-4
[[case]]
name = "train"
role = "train"
args = { seed = 1, n = 150000 }
[[case]]
name = "held-out"
role = "held-out"
args = { seed = 2, n = 120001 }
"""


@contextmanager
def busy(number: int) -> Iterator[None]:
    """So many processes that compute and use memory, for as long as the block lasts."""
    work = "import numpy as np\na = np.ones(4000000)\nwhile True: a *= 1.0000001"
    others = [subprocess.Popen([sys.executable, "-c", work]) for _ in range(number)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


@contextmanager
def searched(
    kernel: str,
    values: range,
    default: int,
    seed: int,
    folder: Path,
    backend: str,
    preset: str = "tune",
) -> Iterator[Run]:
    """A finished search over the one parameter of a kernel, two generations of it."""
    folder.mkdir()
    (folder / "kernel.cu").write_text(kernel % default + SMALL)
    (folder / "data.py").write_text(DATA)
    how = PRESETS[preset]
    (folder / "target.toml").write_text(TARGET % (values[0], values[-1], default))
    bnf, scope = folder / "small.bnf", folder / "small.scope"
    grammar = convert(read_source(folder / "kernel.cu"), ["small"], EDIT_SETS[how.edits])
    bnf.write_text(write_bnf(grammar))
    scope.write_text(write_scope(grammar))
    subject = open_subject(folder, backend, "source", edits=how.edits, bnf=bnf, scope=scope)
    workers = 1 if backend == "cuda" else 2
    plan = Plan(preset, how.settings.having(min(60, len(values)), 2), seed, workers, 2)
    with create_run(subject, folder / "run", plan) as run:
        for _ in run.evolution().run():
            pass
        yield run


def null(seeds: range, backend: str, preset: str, console: Console) -> None:
    """Search where nothing can be gained."""
    found: Counter[str] = Counter()
    winners = refused = 0
    for seed in seeds:
        name = list(NULL)[seed % len(NULL)]
        with tempfile.TemporaryDirectory(prefix="gi-cuda-honesty-") as scratch:
            try:
                folder = Path(scratch) / name
                with searched(NULL[name], range(1, 401), 1, seed, folder, backend, preset) as run:
                    mine = Counter(
                        str(one.outcome)
                        for generation in run.store.generations()
                        for one in run.store.evaluations(generation.number).values()
                    )
                    winner = select_winner(run)
            except UserError as error:  # too noisy to begin
                refused += 1
                console.print(f"{seed} {name}: {error.what}", highlight=False)
                continue
        found += mine
        winners += winner is not None
        said = f"; a winner: {winner.genotype} {winner.validation.overall}" if winner else ""
        if winner or mine["faster"]:
            console.print(f"{seed} {name}: {dict(mine)}{said}", highlight=False)
    right = sum(found.values())
    console.print(
        f"{len(seeds) - refused} searches, {refused} refused as too noisy; of {right} right"
        f" individuals {found['faster']} called faster ({found['faster'] / max(1, right):.2%});"
        f" {winners} validated winners",
        highlight=False,
    )


def _validations(folder: Path) -> Iterator[SpeedUp]:
    """A run's best individual, validated again and again, each time in new processes."""
    while True:
        with open_run(folder) as run:
            ((_, genotype), *_) = finalists(run)
            (one,) = run.validate([candidate(run.subject, genotype)])
        assert one.overall is not None, one.message
        yield one.overall


def intervals(winners: int, times: int, backend: str, console: Console) -> None:
    """Validate winners; between two validations of one all others are validated."""
    with tempfile.TemporaryDirectory(prefix="gi-cuda-honesty-") as scratch:
        folders = [Path(scratch) / str(n) for n in range(winners)]
        for n, folder in enumerate(folders):
            # Less of it is faster: gains of a fifth to a half.
            default = 6 * (n + 1)
            values = range(default * 2 // 3, default + 1)
            with searched(WASTEFUL, values, default, n, folder, backend) as run:
                if not finalists(run):
                    raise SystemExit("no gain was found, though there is one: is all too noisy?")
        rounds = zip(*(_validations(folder / "run") for folder in folders), strict=True)
        table = [list(one) for one in zip(*islice(rounds, times), strict=True)]
    held = asked = truth = 0
    for n, row in enumerate(table):
        middle = float(np.median([one.value for one in row]))
        pairs = list(pairwise(row))
        mine = sum(one.low <= later.value <= one.high for one, later in pairs)
        truth += sum(one.low <= middle <= one.high for one in row)
        held, asked = held + mine, asked + len(pairs)
        width = float(np.median([one.high / one.low - 1 for one in row]))
        console.print(
            f"winner {n}: {middle:.3f}, interval of {width:.1%}; {mine} of {len(pairs)} hold the"
            " next one",
            highlight=False,
        )
    console.print(
        f"{held} of {asked} intervals hold the speed-up of the next validation, {truth} of"
        f" {asked + len(table)} the median of all",
        highlight=False,
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", choices=("null", "intervals"))
    parser.add_argument("--backend", default="host")
    parser.add_argument("--busy", type=int, default=0, help="processes that compute meanwhile")
    parser.add_argument("--preset", default="tune", help="null: how to search")
    parser.add_argument("--searches", type=int, default=200, help="null: searches")
    parser.add_argument("--seed", type=int, default=0, help="null: of the first search")
    parser.add_argument("--winners", type=int, default=5, help="intervals: winners")
    parser.add_argument("--times", type=int, default=21, help="intervals: validations of each")
    options = parser.parse_args()
    console = Console(width=110)
    with busy(options.busy):
        if options.question == "null":
            seeds = range(options.seed, options.seed + options.searches)
            null(seeds, options.backend, options.preset, console)
        else:
            intervals(options.winners, options.times, options.backend, console)


if __name__ == "__main__":
    main()
