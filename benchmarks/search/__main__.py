"""Compare searches on planted improvements: ``python -m benchmarks.search``.

Every search runs on every landscape with the same seeds and at most as many evaluations, through
the real loop and a real run database; nothing is compiled or measured. Prints the number of
evaluations until the improvement was found, and a comparison with the first search: Vargha and
Delaney's A12 (0.5: no difference; 1: always sooner) and the p of Mann and Whitney's test.
``--ablation`` compares ``adaptive`` with itself, each part switched off; ``--figure`` draws the
progress. ``--edits`` sets what searches may change, and ``--pairs`` runs each once more with moves
and swaps. ``--table`` replaces planted improvements by measurements of real runs (see
:mod:`benchmarks.search.recorded`).

It needs scipy: ``pip install gi-cuda[bench]``.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.search.figure import draw
from benchmarks.search.landscapes import PLANTED
from benchmarks.search.races import Race, race
from benchmarks.search.statistics import compare
from gi_cuda.grammar import EDIT_SETS
from gi_cuda.search import PRESETS, Preset
from gi_cuda.search.strategies.adaptive import SHARES, Adaptive, Shares

BESIDE = "barracuda"


def contestants(names: Sequence[str], ablation: bool, pairs: float = 0.0) -> dict[str, Preset]:
    """Return the searches by name; with ``pairs`` each once more, with moves and swaps."""
    if not ablation:
        searches = {name: PRESETS[name] for name in names}
        more = {f"{name}, pairs": _pairing(PRESETS[name], pairs) for name in names if pairs}
        return searches | more
    whole = PRESETS["adaptive"]
    parts = [one.name for one in fields(Shares) if getattr(SHARES, one.name)]
    return {"adaptive": whole} | {
        f"no {part}": replace(
            whole, strategy=partial(Adaptive, shares=replace(SHARES, **{part: 0.0}))
        )
        for part in parts
    }


def _pairing(preset: Preset, pairs: float) -> Preset:
    """Return a search with a share of moves and swaps in its mutations of code."""
    found = replace(preset, rates=replace(preset.rates, pairs=pairs))
    if preset.name == "adaptive":
        strategy = partial(Adaptive, shares=replace(SHARES, pairs=pairs))
        found = replace(found, strategy=strategy)
    return found


def run(
    searches: Mapping[str, Preset],
    landscapes: Sequence[str],
    seeds: int,
    budget: int,
    edits: str,
    disturbed: float,
) -> dict[tuple[str, str], list[Race]]:
    """Return all races, by search and landscape."""
    keys = [(name, landscape) for landscape in landscapes for name in searches]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        waiting = {
            (name, landscape): [
                pool.submit(race, searches[name], landscape, seed, budget, edits, disturbed)
                for seed in range(seeds)
            ]
            for name, landscape in keys
        }
        return {key: [one.result() for one in some] for key, some in waiting.items()}


def table(
    races: Mapping[tuple[str, str], Sequence[Race]], searches: Sequence[str], first: str
) -> Table:
    """Return a table of the evaluations that each search needed, compared with the first one."""
    found = Table("landscape", "search", "found", "median", f"of {first}'s", "A12", "p", "share")
    landscapes = dict.fromkeys(landscape for _, landscape in races)
    for landscape in landscapes:
        for name in searches:
            mine, theirs = races[name, landscape], races[first, landscape]
            one = compare(mine, theirs)
            share = sorted(run.share for run in mine)[len(mine) // 2]
            beside = [_ratio(one.median, one.other), f"{one.a12:.2f}", f"{one.p:.1g}"]
            found.add_row(
                landscape,
                name,
                f"{one.found} of {len(mine)}",
                _count(one.median),
                *(["", "", ""] if name == first else beside),
                f"{share:.2f}",
            )
        found.add_section()
    return found


def _count(median: float) -> str:
    return "-" if math.isinf(median) else f"{median:.0f}"


def _ratio(median: float, other: float) -> str:
    return "-" if math.isinf(median) or math.isinf(other) else f"{median / other:.2f}"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--search", nargs="+", choices=tuple(PRESETS), default=["adaptive"])
    parser.add_argument("--landscape", nargs="+", choices=tuple(PLANTED), default=list(PLANTED))
    parser.add_argument("--table", nargs="+", type=Path, help="folders of runs, in their place")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=4000, help="evaluations at most")
    parser.add_argument("--ablation", action="store_true", help="adaptive without each part")
    parser.add_argument("--edits", choices=EDIT_SETS, default="paper")
    parser.add_argument("--pairs", type=float, default=0.0, help="a chance of moves and swaps")
    parser.add_argument(
        "--disturbed", type=float, default=0.0, help="share of timed runs that are slowed down"
    )
    parser.add_argument("--figure", type=Path, help="draw what was found when")
    options = parser.parse_args()
    names = dict.fromkeys([BESIDE, *options.search])
    searches = contestants([*names], options.ablation, options.pairs)
    landscapes = [str(one) for one in options.table or options.landscape]
    budget, disturbed = options.budget, options.disturbed
    races = run(searches, landscapes, options.seeds, budget, options.edits, disturbed)
    first = next(iter(searches))
    Console(width=110).print(table(races, list(searches), first))
    if options.figure:
        draw(races, budget, options.figure)


if __name__ == "__main__":
    main()
