"""sw_tuned under every configuration, with faults and with gains planted in its source.

Compiled in one batch by the host's compiler, run, and held against an alignment in plain Python.
"""

import faulthandler
import importlib.util
import itertools
import multiprocessing
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.host.build.library import (
    COMPILE_OPTIONS,
    INCLUDE,
    build_library,
    find_compiler,
)
from gi_cuda.backends.host.build.prepare import prepare, variant_text
from gi_cuda.backends.host.running.runtime import HostLaunchError, Runtime
from gi_cuda.backends.host.running.shard import Shard
from gi_cuda.backends.protocol.device import POISON
from gi_cuda.spec import (
    CaseRole,
    Configuration,
    cases_for,
    compiler_options,
    defaults,
    find_case,
    load_case,
    plan,
)
from tests.sweeps import broad

from .covering import covering, differing
from .sw_tuned_planted import EDITS, FAULTS, FOLDER, ROOT, fault, mutant, target, variant

KERNELS = ("sw_forward", "sw_reverse")
OUTPUTS = ("score", "ref_begin", "ref_end", "query_begin", "query_end")

Answers = dict[str, np.ndarray]
Case = Mapping[str, Any]


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


data = module(FOLDER / "data.py")
alignment = module(ROOT / "tests" / "unit" / "targets" / "sw_tuned_alignment.py")


def configurations() -> list[Configuration]:
    """Every configuration; what only the device's compiler sees takes turns."""
    names = [p.name for p in target().parameters if p.name != "MIN_BLOCKS"]
    values = [p.values for p in target().parameters if p.name != "MIN_BLOCKS"]
    found: list[Configuration] = [defaults(target())]
    for number, chosen in enumerate(itertools.product(*values)):
        one = {"MIN_BLOCKS": 1 + number % 4, **dict(zip(names, chosen, strict=True))}
        if all(constraint.allows(one) for constraint in target().constraints):
            found.append(one)
    return found


# --- running -------------------------------------------------------------------------------------


def run_all(
    library: Path, variants: Sequence[tuple[str, Configuration]], cases: Sequence[Case]
) -> list[list[tuple[Answers | str, int]]]:
    """For each variant and case the answers, or how the launch failed; and the fibre switches."""
    runtime = Runtime(build_library())
    runtime.limit(5.0)
    shard = Shard(library)
    buffers = [allocated(runtime, case) for case in cases]
    return [
        [
            run_one(runtime, shard, name, configuration, case, arrays)
            for case, arrays in zip(cases, buffers, strict=True)
        ]
        for name, configuration in variants
    ]


def allocated(runtime: Runtime, case: Case) -> dict[str, np.ndarray]:
    arrays = {name: runtime.alloc(name, np.int32, case["n_pairs"]) for name in OUTPUTS}
    for name in ("refs", "ref_starts", "queries", "query_starts"):
        arrays[name] = runtime.alloc(name, case[name].dtype, case[name].size)
        arrays[name][:] = case[name]
    return arrays


def run_one(
    runtime: Runtime,
    shard: Shard,
    name: str,
    configuration: Configuration,
    case: Case,
    arrays: Mapping[str, np.ndarray],
) -> tuple[Answers | str, int]:
    for output in OUTPUTS:
        arrays[output].view(np.uint32)[:] = POISON
    scalars = {
        scalar.name: scalar.dtype.type(case[scalar.name])
        for scalar in target().scalars
        if scalar.value is None
    }
    before = runtime.switches
    try:
        for launch in plan(target(), configuration, scalars):
            values = [arrays[a] if isinstance(a, str) else a for a in launch.args]
            kernel = shard.kernel(name, launch.kernel)
            runtime.run(runtime.call(kernel, values, launch.grid, launch.block, launch.shared))
    except HostLaunchError as error:
        return str(error), 0
    switches = runtime.switches - before
    return {output: arrays[output].copy() for output in OUTPUTS}, switches


def run_apart(
    library: Path, variants: Sequence[tuple[str, Configuration]], cases: Sequence[Case]
) -> list[list[tuple[Answers | str, int]]]:
    """The same in a process of its own; where a variant takes it down, without that one."""
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(1, context, faulthandler.disable) as pool:
            return pool.submit(run_all, library, variants, cases).result(timeout=300)
    except BrokenProcessPool:
        if len(variants) == 1:
            return [[("crashed", 0)] * len(cases)]
    half = len(variants) // 2
    halves = variants[:half], variants[half:]
    return [row for part in halves for row in run_apart(library, part, cases)]


def host_case(name: str) -> Case:
    return load_case(target(), find_case(target(), name)).values


def expected(case: Case) -> Answers:
    """Return the answers of the alignment in plain Python."""
    scores = alignment.Scores(
        *(int(case[name]) for name in ("match", "mismatch", "gap_open", "gap_extend"))
    )
    refs = np.split(case["refs"], case["ref_starts"][1:-1])
    queries = np.split(case["queries"], case["query_starts"][1:-1])
    found = [
        alignment.align(r.tolist(), q.tolist(), scores) for r, q in zip(refs, queries, strict=True)
    ]
    return {name: np.array([getattr(one, name) for one in found], np.int32) for name in OUTPUTS}


def penalty(case: Case, answers: Answers | str, right: Answers) -> float:
    if isinstance(answers, str):
        return float("inf")
    oracle = target().oracle
    return oracle.penalty(case, answers, oracle.reference([right]))


def compiled(texts: Mapping[str, str], folder: Path, optimisation: str) -> Path:
    """A library of variants by name, made by one compiler process."""
    parts = [variant_text(name, prepare(text), KERNELS) for name, text in texts.items()]
    batch = folder / "batch.cpp"
    batch.write_text('#include "gi_cuda_host.hpp"\n' + "".join(parts))
    options = compiler_options(target(), defaults(target()), "host")
    command = [find_compiler(), *options, *COMPILE_OPTIONS, f"-I{INCLUDE}"]
    subprocess.run(
        [*command, optimisation, "-o", folder / "batch.so", batch], check=True, timeout=300
    )
    return folder / "batch.so"


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All configurations."""
    source = target().source.read_text()
    texts = {f"c{n}": variant(source, one) for n, one in enumerate(configurations())}
    return compiled(texts, tmp_path_factory.mktemp("configured"), "-O1")


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source as it is, with each fault and with each edit."""
    default = defaults(target())
    texts = {"as_it_is": variant(mutant(()), default)}
    texts |= {f"f_{name}": variant(fault(name), default) for name in FAULTS}
    texts |= {f"e_{name}": variant(mutant(EDITS[name]), default) for name in EDITS}
    return compiled(texts, tmp_path_factory.mktemp("edited"), "-O0")


# --- pairs ---------------------------------------------------------------------------------------


def adversarial_pairs(size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs around one length, in either role: all alike, alike but for a gap, nothing alike."""
    rng = np.random.default_rng(size)
    one = data.bases(size, rng)
    around = np.concatenate([data.bases(3, rng), one, data.bases(2, rng)])
    gapped = np.concatenate([one[: size // 2], one[size // 2 + 1 :], [0]]).astype(np.uint8)
    begins = np.concatenate([one[:1], data.bases(4, rng), one[1:]])
    ends = np.concatenate([one[:-1], data.bases(4, rng), one[-1:]])
    other = data.bases(size + 1, rng)
    alike = data.filled(1, size)
    chosen = [
        (one, one),
        (around, one),
        (gapped, one),
        (begins, one),
        (ends, one),
        (other, one),
        (alike, data.filled(1, size + 2)),
        (alike, data.filled(2, size)),
        (np.resize(one[:3], size), np.resize(one[:3], max(size // 2, 1))),
        (one, one[-1:]),
        (one[:1], one),
        (data.filled(data.UNKNOWN, size), one),
    ]
    return chosen + [(query, ref) for ref, query in chosen]


def random_pairs(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of few different bases, so that many alignments are as good as each other."""
    rng = np.random.default_rng(9)
    found = []
    for _ in range(count):
        letters = int(rng.integers(1, 6))
        sizes = rng.integers(1, 32, 2)
        found.append(tuple(rng.integers(0, letters, size, dtype=np.uint8) for size in sizes))
    return found


def adversarial_cases() -> dict[str, Case]:
    cases = {
        f"around {size}": data.packed(adversarial_pairs(size), (3, 3, 6, 1))
        for size in (1, 2, 31, 32, 33, 63, 64, 65)
    }
    for scores in ((1, 1, 1, 1), (2, 3, 5, 2), (5, 1, 3, 3)):
        cases[f"random {scores}"] = data.packed(random_pairs(40), scores)
    return cases


# --- tests ---------------------------------------------------------------------------------------


@broad
def test_every_configuration_gives_the_right_answers(shard: Path):
    roles = (CaseRole.TRAIN, CaseRole.HELD_OUT)
    names = [case.name for role in roles for case in cases_for(target(), "host", role)]
    cases = [host_case(name) for name in names]
    chosen = configurations()
    found = run_apart(shard, [(f"c{n}", one) for n, one in enumerate(chosen)], cases)
    rights = [expected(case) for case in cases]
    wrong = [
        (name, configuration)
        for configuration, row in zip(chosen, found, strict=True)
        for name, case, right, (answers, _) in zip(names, cases, rights, row, strict=True)
        if penalty(case, answers, right)
    ]
    assert len(chosen) > 40
    assert not wrong


def test_adversarial_pairs_are_aligned_as_by_the_plain_alignment(shard: Path):
    cases = adversarial_cases()
    chosen = [0, 5, 18, 29, len(configurations()) - 1]
    variants = [(f"c{n}", configurations()[n]) for n in chosen]
    found = run_apart(shard, variants, list(cases.values()))
    for column, (name, case) in enumerate(cases.items()):
        right = expected(case)
        for number, row in zip(chosen, found, strict=True):
            assert penalty(case, row[column][0], right) == 0, (name, configurations()[number])


@broad
def test_faults_in_the_source_are_caught_by_the_train_case(edited: Path):
    case = host_case("short")
    variants = [(f"f_{name}", defaults(target())) for name in FAULTS]
    # One by one: those that crash would take the others down, to be run again.
    found = [row for one in variants for row in run_apart(edited, [one], [case])]
    right = expected(case)
    passed = [
        name
        for name, [(answers, _)] in zip(FAULTS, found, strict=True)
        if not penalty(case, answers, right)
    ]
    assert len(FAULTS) >= 15
    assert not passed


def test_known_edits_are_right_and_the_ones_that_pay_together_save_exchanges(edited: Path):
    case = host_case("short")
    variants = [("as_it_is", defaults(target()))]
    variants += [(f"e_{name}", defaults(target())) for name in EDITS]
    found = run_apart(edited, variants, [case])
    right = expected(case)
    switches = {}
    for (name, _), [(answers, count)] in zip(variants, found, strict=True):
        assert penalty(case, answers, right) == 0, name
        switches[name] = count
    assert switches["e_neighbours_by_shared_memory_alone"] < switches["as_it_is"]


def test_configurations_differ_in_code():
    """Each value of each parameter changes what is compiled."""
    source = target().source.read_text()

    def texts(chosen: Sequence[Configuration]) -> list[str]:
        return [variant(source, one) for one in chosen]

    found = differing(target(), defaults(target()), texts)
    assert found == {p.name: len(p.values) for p in target().parameters}


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_configurations_compile_for_the_device(tmp_path: Path):
    source = target().source.read_text()
    parts = [
        f"namespace v{number} {{\n{variant(source, one)}\n}}\n"
        for number, one in enumerate(covering(configurations()))
    ]
    batch = tmp_path / "batch.cu"
    batch.write_text(prelude(source) + "".join(parts))
    options = compiler_options(target(), defaults(target()), "cuda")
    done = subprocess.run(
        ["nvcc", "-arch=sm_90", "-cubin", *options, "-o", tmp_path / "batch.cubin", batch],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_cases_for_the_device_are_real_sized():
    train, odd = cases_for(target(), "cuda", CaseRole.TRAIN)
    assert not odd.timed
    assert train.args["pairs"] == 3000
    held_out = cases_for(target(), "cuda", CaseRole.HELD_OUT)
    assert len(held_out) == 2
    for case in (train, odd, *held_out):
        small = data.case(**{**case.args, "pairs": 40})
        # The kernel's own limit, and a score fits into 16 bits.
        assert small["most_short"] <= 512
        assert small["match"] * small["most_short"] < 2**15
