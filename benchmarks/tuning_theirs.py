"""Simulate strategies of Kernel Tuner on one recorded space; :mod:`benchmarks.tuning` runs this.

Run by a Python that has ``kernel_tuner``, not the project's own. Reads a job as JSON from standard
input: ``{"file": "cache.json.gz", "strategies": [...], "seeds": 20, "budget": 400}``. Prints
``{strategy: [[cost, ...], ...]}``: for each seed the times in the order of their evaluation, null
for configurations that fail. Each strategy has its default settings.
"""

import contextlib
import gzip
import json
import os
import random
import sys
import tempfile
import warnings

import kernel_tuner
import numpy as np
from kernel_tuner import interface, util


def simulate(strategy, seed, budget, parameters, keys, cache):
    """Return what one run costs, evaluation by evaluation.

    A strategy may end early, by its own criterion; its list is shorter then.
    """
    order = []

    def restriction(one):
        return tuple(one[name] for name in parameters) in keys

    class Watched(dict):
        """The cache, which notes what is read from it first."""

        seen = set()

        def __getitem__(self, key):
            if key not in self.seen:
                self.seen.add(key)
                order.append(key)
            return super().__getitem__(key)

    Watched.seen = set()
    watched = Watched(cache)
    util.process_cache = lambda *_: watched
    util.close_cache = lambda *_: None
    random.seed(seed)
    np.random.seed(seed)
    kernel_tuner.tune_kernel(
        "kernel",
        "",
        (1,),
        [],
        parameters,
        restrictions=restriction,
        strategy=strategy,
        strategy_options={"max_fevals": budget},
        simulation_mode=True,
        cache=os.devnull,
        quiet=True,
        lang="CUDA",
    )
    costs = [cache[key]["time"] for key in order[:budget]]
    return [cost if isinstance(cost, (int, float)) else None for cost in costs]


def main():
    """Run all strategies of a job, with all seeds."""
    job = json.load(sys.stdin)
    with gzip.open(job["file"]) if job["file"].endswith(".gz") else open(job["file"]) as file:
        data = json.load(file)
    parameters = data["tune_params"]
    cache = {
        key: {name: one[name] for name in (*parameters, "time")}
        for key, one in data["cache"].items()
    }
    keys = {tuple(one[name] for name in parameters) for one in cache.values()}
    for one in cache.values():
        if isinstance(one["time"], str) or one["time"] > 1e19:
            one["__error__"] = util.RuntimeFailedConfig()
            one["time"] = one["__error__"]
    # All runs share one search space: building it again would take longer than the search.
    interface.Searchspace = shared(interface.Searchspace)
    found = {}
    warnings.simplefilter("ignore")
    for strategy in job["strategies"]:
        runs = found[strategy] = []
        for seed in range(job["seeds"]):
            with contextlib.redirect_stdout(sys.stderr):
                runs.append(simulate(strategy, seed, job["budget"], parameters, keys, cache))
    json.dump(found, sys.stdout)


def shared(kind):
    """Return a function that makes one search space, and gives the same from then on."""
    made = []

    def make(*arguments, **options):
        if not made:
            made.append(kind(*arguments, **options))
        return made[0]

    return make


if __name__ == "__main__":
    main()
