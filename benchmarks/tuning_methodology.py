"""Score searchers by ``autotuning_methodology``, beside the strategies of Kernel Tuner.

    PYTHON -P benchmarks/tuning_methodology.py HUB --spaces convolution_milo/A4000 --repeats 25

Run by a Python that has ``autotuning_methodology`` and what gi-cuda depends on, with gi-cuda on
``PYTHONPATH``. ``HUB`` is a copy of the benchmark hub
(https://github.com/AutoTuningAssociation/benchmark_hub): its T1 files and recorded spaces. All
strategies run in Kernel Tuner's simulation mode. Time is that of the recorded compilations and
runs, and the processor time that the strategy itself takes on this machine. The score of each
space is printed: 0 is as good as random search, 1 is the optimum at once (Willemsen et al. 2024).
The settings are the defaults of ``autotuning_methodology`` but for the number of repeats.
"""

import argparse
import contextlib
import gzip
import json
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import autotuning_methodology
import kernel_tuner.interface
import kernel_tuner.util
from autotuning_methodology.report_experiments import get_strategy_scores

STRATEGY = Path(__file__).with_name("tuning_strategy.py").resolve()
DEFAULTS = Path(autotuning_methodology.__file__).with_name("experiments_defaults.json")


def strategies(searchers, theirs):
    """Return the entries of an experiment for our searchers and for Kernel Tuner's strategies."""
    ours = [
        {
            "name": f"gi_cuda_{name}",
            "display_name": f"gi-cuda {name}",
            "search_method": "GiCuda",
            "custom_search_method_path": str(STRATEGY),
            "search_method_hyperparameters": [{"name": "searcher", "value": name}],
        }
        for name in searchers
    ]
    theirs = [{"name": name, "display_name": name, "search_method": name} for name in theirs]
    return [{**one, "autotuner": "KernelTuner"} for one in (*ours, *theirs)]


def scores(hub, space, searched, repeats, folder):
    """Return the score of each strategy on one space.

    Args:
        space: the application and the GPU: ``convolution_milo/A4000``.
        folder: an empty one.
    """
    application, gpu = space.split("/")
    recorded = folder / application
    recorded.mkdir()
    for name in (gpu, f"{gpu}_T4"):
        packed = (hub / "cachefiles" / application / f"{name}.json.gz").read_bytes()
        (recorded / f"{name}.json").write_bytes(gzip.decompress(packed))
    experiment = json.loads(DEFAULTS.read_text())
    experiment["name"], experiment["parent_folder"] = space.replace("/", "-"), str(folder)
    experiment["experimental_groups_defaults"] |= {
        "applications": [
            {
                "name": application,
                "folder": str(hub / "kernels"),
                "input_file": f"{application}.json",
                "objective_performance_keys": ["time"],
            }
        ],
        "gpus": [gpu],
        "pattern_for_full_search_space_filenames": {
            "regex": str(folder / "${applications}" / "${gpus}_T4.json")
        },
        "repeats": repeats,
    }
    experiment["search_strategies"] = searched
    file = folder / "experiment.json"
    file.write_text(json.dumps(experiment))
    with contextlib.redirect_stdout(sys.stderr):
        return get_strategy_scores(str(file))


def count_processor_time():
    """Let Kernel Tuner measure processor time, on which other work of the machine has no effect."""
    clock = {"perf_counter_ns": time.process_time_ns}
    kernel_tuner.util.time = SimpleNamespace(**{**vars(time), **clock})
    kernel_tuner.interface.perf_counter = time.process_time


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hub", type=Path)
    parser.add_argument("--spaces", nargs="+", required=True, metavar="APPLICATION/GPU")
    parser.add_argument("--searchers", nargs="*", default=["bayes"])
    parser.add_argument(
        "--strategies",
        nargs="*",
        default=["hybrid_vndx", "adaptive_tabu_greywolf", "simulated_annealing"],
        help="of Kernel Tuner",
    )
    parser.add_argument("--repeats", type=int, default=25)
    options = parser.parse_args()
    count_processor_time()
    searched = strategies(options.searchers, options.strategies)
    for space in options.spaces:
        with tempfile.TemporaryDirectory(prefix="tuning-methodology-") as folder:
            hub = options.hub.resolve()
            found = scores(hub, space, searched, options.repeats, Path(folder))
        for name, one in found.items():
            print(f"{space} {name}: {one['score']:.3f}, deviation {one['error']:.3f}", flush=True)


if __name__ == "__main__":
    main()
