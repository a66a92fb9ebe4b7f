"""Run the experiment, or the remaining part, then measure all winners and write the page.

``python -m benchmarks.levels runs/levels`` may be stopped at any time and called again: finished
searches are kept, and an interrupted one is resumed. ``--page FILE`` only writes the page of the
finished searches.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.levels.page import draw, page
from benchmarks.levels.plan import KINDS, Cell, cells
from gi_cuda import BACKENDS
from gi_cuda.runs.stored import DATABASE

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.levels", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the runs are")
    parser.add_argument("--targets", nargs="+", default=["bwt_exact", "sw_tuned"])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS)[:-1])
    parser.add_argument("--backend", choices=BACKENDS, default="cuda")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--population", type=int, default=250)
    parser.add_argument("--generations", type=int, default=4)
    parser.add_argument("--time", help="equal seconds for each search, in place of generations")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no more after")
    parser.add_argument("--page", type=Path, help="write the page here, with its figures beside it")
    options = parser.parse_args()
    planned = list(cells(options.folder, options.targets, options.kinds, options.seeds))
    sizes = ["--population", options.population]
    sizes += ["--time", options.time] if options.time else ["--generations", options.generations]
    words = ["--backend", options.backend, *map(str, sizes)]
    if options.page is None:
        end = time.monotonic() + options.seconds
        for cell in planned:
            if not cell.done and time.monotonic() < end:
                search(cell, words)
        for target in options.targets:
            compare(options.folder, target, [one for one in planned if one.target == target])
    else:
        text = page(planned, options.folder)
        options.page.write_text(text, encoding="utf-8")
        draw(planned, options.page.parent)
        print(f"wrote {options.page}")


def search(cell: Cell, how: Sequence[str]) -> None:
    """Begin a search with some options, or resume it."""
    words = ["resume", str(cell.folder)]
    if not (cell.folder / DATABASE).is_file():
        target = str(ROOT / "targets" / cell.target)
        words = ["evolve", target, *cell.words, *how]
    print(f"{cell.target}, {cell.kind}, seed {cell.seed}: {gi_cuda(*words)}", flush=True)


def compare(folder: Path, target: str, mine: Sequence[Cell]) -> None:
    """Measure all winners of a target in one session."""
    winners = [str(cell.folder) for cell in mine if cell.won]
    if winners:
        words = ("--csv", str(folder / f"{target}.csv"))
        print(f"{target}: {gi_cuda('compare', *winners, *words, '--force')}", flush=True)


def gi_cuda(*words: str) -> str:
    """Run a command; return its seconds, and the important lines of its output."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "gi_cuda", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"
    lines = [line for line in said.splitlines() if line.strip()]
    kept = [line for line in lines if line.startswith(("winner", "no individual", "status"))]
    return f"{time.monotonic() - begun:.0f} s; {' '.join(kept or lines[-1:])}"


if __name__ == "__main__":
    main()
