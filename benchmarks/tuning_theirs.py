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
import warnings

import kernel_tuner
import numpy as np
from kernel_tuner import interface, util


def simulate(strategy, seed, budget, parameters, keys, cache):
    """Return what one run costs, evaluation by evaluation.

    A strategy may end early, by its own criterion; its list is shorter then.
    """
    order = {}

    def restriction(one):
        return tuple(one[name] for name in parameters) in keys

    class Watched(dict):
        """A cache that records the order in which its entries are first read."""

        def __getitem__(self, key):
            order.setdefault(key)
            return super().__getitem__(key)

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
    costs = [cache[key]["time"] for key in list(order)[:budget]]
    return [cost if isinstance(cost, (int, float)) else None for cost in costs]


class Built(Exception):
    """Exception that stops Kernel Tuner after it has built the search space."""


def forked(function, *arguments):
    """Return what a function returns in a fork of this process."""
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(sender, "w") as pipe, contextlib.redirect_stdout(sys.stderr):
            json.dump(function(*arguments), pipe)
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as pipe:
        found = json.load(pipe)
    os.waitpid(child, 0)
    return found


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
    warnings.simplefilter("ignore")
    # To build the search space takes longer than a search, but a search changes its space (caches
    # of neighbours that it tried). So each run is a fork of a process that has built the space.
    build, made = interface.Searchspace, []
    interface.Searchspace = lambda *given, **options: made[0] if made else keep(*given, **options)

    def keep(*given, **options):
        made.append(build(*given, **options))
        raise Built

    with contextlib.suppress(Built):
        simulate("random_sample", 0, 1, parameters, keys, cache)
    found = {
        strategy: [
            forked(simulate, strategy, seed, job["budget"], parameters, keys, cache)
            for seed in range(job["seeds"])
        ]
        for strategy in job["strategies"]
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
