"""tissue_spread on the host back end: right runs pass under every configuration, faults do not."""

import faulthandler
import multiprocessing
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.host.build.library import (
    COMPILE_OPTIONS,
    INCLUDE,
    build_library,
    find_compiler,
)
from gi_cuda.backends.host.build.prepare import variant_text
from gi_cuda.backends.host.running.runtime import BoundLaunch, HostLaunchError, Runtime
from gi_cuda.backends.host.running.shard import Shard
from gi_cuda.spec import (
    CaseData,
    Configuration,
    Reference,
    Target,
    buffer_sizes,
    cases_for,
    compiler_options,
    defaults,
    final_storage,
    find_case,
    load_case,
    load_target,
    macros,
    plan,
)
from gi_cuda.spec.target import CaseRole
from tests.sweeps import broad

from .covering import covering, differing

FOLDER = Path(__file__).parents[3] / "targets" / "tissue_spread"
SAMPLED = 12
A_A_RUNS = 200
FAULTY_RUNS = 3

Outputs = dict[str, np.ndarray]
Variant = tuple[Configuration, str]
"""A configuration and a source."""

_INCLUDE = re.compile(r"^#include .*$", re.M)
_DEFINE = re.compile(r"^#\s*define (\w+)", re.M)

# Faults as edits might make them: what is replaced, and by what.
FAULTS = {
    "the last column but one does not flow on": ("if (x < width - 1)", "if (x < width - 2)"),
    "virions flow round the edge": ("        if (x > 0)\n", "        if (i > 0)\n"),
    "one corner takes nothing from above": ("if (y > 0)", "if (y > 0 && i != width)"),
    "one value is not written": ("        next[i] =", "        if (i != 777) next[i] ="),
    "the signal stays as it was": ("blockIdx.z == 0", "blockIdx.z < 2"),
    "half the diffusion": ("0.25f * diffusion", "0.125f * diffusion"),
    "apoptotic cells release nothing": (
        "if (now == EXPRESSING || now == APOPTOTIC)",
        "if (now == EXPRESSING)",
    ),
    "the dead release": ("if (now == EXPRESSING || now == APOPTOTIC)", "if (now >= EXPRESSING)"),
    "a row is passed over": ("now = state[i];", "if (y == 7) continue; now = state[i];"),
    "the state is not written": ("        state[i] = now;\n", ""),
    "susceptibility of a neighbour": ("susceptibility + i)", "susceptibility + (i ^ 1))"),
    "incubation is too short": ("&mine, incubation)", "&mine, incubation / 2)"),
    "incubation is always the same": ("draw_period(&mine, incubation)", "incubation"),
    "cells draw the same number again and again": ("        random[i] = mine;\n", ""),
    "arriving T cells do so too": (
        "agent_random[agent] = mine;\n    }\n    tally(&totals[step * TOTALS + ARRIVED]",
        "}\n    tally(&totals[step * TOTALS + ARRIVED]",
    ),
    "all cells draw the same numbers": ("scramble(seed + ticket) ^ scramble(i)", "seed + ticket"),
    "a T cell moves into a taken cell": (
        "if (to != NOWHERE && atomicCAS(&occupant[to], 0, agent + 1) == 0) {",
        "if (to != NOWHERE) { atomicExch(&occupant[to], agent + 1);",
    ),
    "a T cell leaves itself behind": (
        "agent_cell[agent] = to;\n                atomicExch(&occupant[cell], 0);",
        "agent_cell[agent] = to;",
    ),
    "an expired T cell keeps its cell": (
        "            atomicExch(&occupant[cell], 0);\n        } else",
        "        } else",
    ),
    "T cells live one step longer": ("agent_life[agent] <= 0", "agent_life[agent] < 0"),
    "T cells never bind": ("state[target] != EXPRESSING", "state[target] != 99"),
    "T cells bind one way only": ("for (i = 0; i < 9; i++)", "for (i = 0; i < 1; i++)"),
    "a bound cell is not claimed": (
        "if (atomicCAS((int *)&state[target], EXPRESSING, APOPTOTIC) == EXPRESSING) {",
        "{",
    ),
    "a bound cell gets no time to die": ("            timer[target] = apoptosis;\n", ""),
    "T cells stay bound": ("            agent_bound[agent]--;\n", ""),
    "T cells are never bound": ("            agent_bound[agent] = binding;\n", ""),
    "T cells never move": ("if (to != NOWHERE &&", "if (to == cell &&"),
    "T cells move one way": ("neighbour(cell, draw(&mine) % 9,", "neighbour(cell, 5,"),
    "T cells come without a signal": ("arrival * LOAD(signal + cell)", "arrival"),
    "what happens is too rare": ("16777216.0f) < chance", "16777216.0f) < 0.6f * chance"),
    "a step is not counted": (
        "if (thread < LEVELS)\n        atomicAdd",
        "if (thread < LEVELS && step != 5)\n        atomicAdd",
    ),
    "a cell's signal is not counted": ("mine[SIGNAL] +=", "if (i != 1000) mine[SIGNAL] +="),
    "events are not counted": ("    tally(&totals[step * TOTALS + EXPIRED], expired);\n", ""),
    "totals are not set to zero": ("totals[i] = 0.0;", ";"),
    "a T cell of the last run stays": (
        "        occupant[i] = 0;\n        random",
        "        random",
    ),
}

# Edited away, these make no run that is not a run of the model; they must not be in the way.
NO_FAULTS = {
    "the first neighbour is always the same": ("draw(random) % 9;\n    int i", "0;\n    int i"),
    "another seed": ("scramble(seed + ticket)", "scramble(seed + 77 + 3 * ticket)"),
}


@cache
def target() -> Target:
    return load_target(FOLDER)


def source() -> str:
    return (FOLDER / "kernel.cu").read_text()


def replaced(change: tuple[str, str]) -> str:
    text = source()
    # REDUCE == 0, the default, has each of them once; what comes first is taken.
    assert change[0] in text, change
    return text.replace(*change, 1)


@cache
def configurations() -> list[Configuration]:
    """The default, each value of each parameter once, and some that are drawn."""
    shipped = target()
    default = defaults(shipped)
    found = [default]
    found += [{**default, p.name: value} for p in shipped.parameters for value in p.values]
    rng = random.Random(1)
    drawn = [
        {p.name: rng.choice(p.values) for p in shipped.parameters} for _ in range(10 * SAMPLED)
    ]
    # Once each: the default has a value of each parameter.
    distinct = [c for n, c in enumerate(found + drawn) if c not in (found + drawn)[:n]]
    allowed = [c for c in distinct if all(one.allows(c) for one in shipped.constraints)]
    once = 1 + sum(len(p.values) - 1 for p in shipped.parameters)
    return allowed[: once + SAMPLED]


def text_of(variant: Variant) -> str:
    """A variant's text under its configuration, leaving no macro behind."""
    configuration, text = variant
    shipped = target()
    names = {*_DEFINE.findall(text), *(parameter.name for parameter in shipped.parameters)}
    before = "".join(f"#define {n} {v}\n" for n, v in macros(shipped, configuration).items())
    after = "".join(f"#undef {name}\n" for name in sorted(names))
    return f"{before}{_INCLUDE.sub('', text)}\n{after}"


def compiled(variants: Sequence[Variant], folder: Path, optimisation: str) -> Path:
    """A library of all variants, v0, v1, ..."""
    shipped = target()
    text = "".join(
        variant_text(f"v{number}", text_of(variant), shipped.kernels)
        for number, variant in enumerate(variants)
    )
    cpp, library = folder / "batch.cpp", folder / "batch.so"
    cpp.write_text('#include "gi_cuda_host.hpp"\n' + text)
    options = compiler_options(shipped, defaults(shipped), "host")
    command = [find_compiler(), *options, *COMPILE_OPTIONS, f"-I{INCLUDE}"]
    subprocess.run([*command, optimisation, "-o", library, cpp], check=True, timeout=240)
    return library


class Tissue:
    """A library's variants, to be run on a case."""

    def __init__(self, library: Path, case: CaseData) -> None:
        self.case = case
        self.runtime = Runtime(build_library())
        self.shard = Shard(library)
        self.calls: dict[int, list[BoundLaunch]] = {}
        shipped = target()
        sizes = buffer_sizes(shipped, defaults(shipped), case)
        self.buffers = {
            b.name: self.runtime.alloc(b.name, b.dtype, sizes[b.name]) for b in shipped.buffers
        }

    def run(self, number: int, configuration: Configuration) -> Outputs:
        shipped = target()
        for buffer in shipped.buffers:
            if buffer.role.given:
                self.buffers[buffer.name][:] = self.case.buffers[buffer.name]
            else:
                self.buffers[buffer.name].view(np.uint8).fill(0xA5)
        if number not in self.calls:
            self.calls[number] = list(self.prepared(number, configuration))
        for call in self.calls[number]:
            self.runtime.run(call)
        storage = final_storage(shipped, configuration, self.case.scalars)
        judged = [buffer.name for buffer in shipped.buffers if buffer.role.judged]
        return {name: self.buffers[storage[name]].copy() for name in judged}

    def prepared(self, number: int, configuration: Configuration) -> Iterator[BoundLaunch]:
        """A run's launches: their arguments are the same in every run."""
        shipped = target()
        kernels = {name: self.shard.kernel(f"v{number}", name) for name in shipped.kernels}
        for launch in plan(shipped, configuration, self.case.scalars):
            values = [self.buffers[a] if isinstance(a, str) else a for a in launch.args]
            kernel = kernels[launch.kernel]
            yield self.runtime.call(kernel, values, launch.grid, launch.block, launch.shared)


@cache
def case_of(name: str) -> CaseData:
    return load_case(target(), find_case(target(), name))


@cache
def recorded(library: Path, case_name: str) -> Reference:
    """Ten runs of the first variant of the library."""
    shipped = target()
    tissue = Tissue(library, case_of(case_name))
    runs = [tissue.run(0, defaults(shipped)) for _ in range(shipped.oracle.runs)]
    return shipped.oracle.reference(runs)


def reasons(
    library: Path, chosen: Sequence[tuple[int, Configuration]], case_name: str, runs: int
) -> list[str]:
    """Return the reason why the oracle rejects a run of each variant; "" if it accepts all."""
    shipped, case = target(), case_of(case_name)
    reference, tissue = recorded(library, case_name), Tissue(library, case)
    found = []
    for number, configuration in chosen:
        outputs = (tissue.run(number, configuration) for _ in range(runs))
        verdicts = (shipped.oracle.judge(case.values, one, reference) for one in outputs)
        found.append(next((verdict.reason for verdict in verdicts if verdict.penalty), ""))
    return found


def apart(library: Path, chosen: Sequence[int], case_name: str) -> Iterator[str]:
    """For each variant: what became of it, in processes which a fault may take down."""
    context = multiprocessing.get_context("fork")
    default = defaults(target())
    recorded(library, case_name)
    for number in chosen:
        with ProcessPoolExecutor(1, context, faulthandler.disable) as pool:
            # Variants are judged twice before they are believed; here, any of the runs.
            future: Future[list[str]] = pool.submit(
                reasons, library, [(number, default)], case_name, FAULTY_RUNS
            )
            try:
                yield from future.result(timeout=60)
            except BrokenProcessPool:
                yield "crashed"
            except HostLaunchError as error:
                yield str(error)


def host_cases() -> list[str]:
    shipped = target()
    roles = (CaseRole.TRAIN, CaseRole.HELD_OUT)
    return [case.name for role in roles for case in cases_for(shipped, "host", role)]


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All configurations, compiled by one compiler process."""
    folder = tmp_path_factory.mktemp("configured")
    return compiled([(one, source()) for one in configurations()], folder, "-O1")


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source, then all that are changed."""
    default = defaults(target())
    changed = [replaced(change) for change in (*FAULTS.values(), *NO_FAULTS.values())]
    texts = [(default, text) for text in (source(), *changed)]
    return compiled(texts, tmp_path_factory.mktemp("edited"), "-O0")


@pytest.mark.parametrize("case_name", host_cases())
def test_every_configuration_gives_runs_of_the_model(configured: Path, case_name: str):
    chosen = configurations()
    found = reasons(configured, list(enumerate(chosen)), case_name, runs=1)
    assert [(c, reason) for c, reason in zip(chosen, found, strict=True) if reason] == []


@broad
def test_no_right_run_is_rejected(configured: Path):
    # By a quarter of the threads, which a processor runs in a quarter of the time.
    sparing = {**defaults(target()), "ROWS": 4}
    number = configurations().index(sparing)
    assert reasons(configured, [(number, sparing)], "small", A_A_RUNS) == [""]


def test_runs_differ(configured: Path):
    shipped = target()
    tissue = Tissue(configured, case_of("small"))
    runs = [tissue.run(0, defaults(shipped)) for _ in range(10)]
    assert len({one["totals"].tobytes() for one in runs}) == 10


@broad
def test_planted_faults_are_caught(edited: Path):
    found = apart(edited, range(1, 1 + len(FAULTS)), "small")
    assert [name for name, what in zip(FAULTS, found, strict=True) if not what] == []


def test_other_ways_to_draw_are_accepted(edited: Path):
    behind = 1 + len(FAULTS)
    found = apart(edited, range(behind, behind + len(NO_FAULTS)), "small")
    assert [(name, what) for name, what in zip(NO_FAULTS, found, strict=True) if what] == []


def test_configurations_differ_in_code():
    """Each value of each parameter changes what is compiled."""
    shipped = target()

    def texts(chosen: Sequence[Configuration]) -> list[str]:
        return [text_of((one, source())) for one in chosen]

    found = differing(shipped, defaults(shipped), texts)
    assert found == {p.name: len(p.values) for p in shipped.parameters}


@broad
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_configurations_compile_for_the_device(tmp_path: Path):
    shipped = target()
    parts = [
        f"namespace v{number} {{\n{text_of((one, source()))}\n}}\n"
        for number, one in enumerate(covering(configurations()))
    ]
    batch = tmp_path / "batch.cu"
    batch.write_text("#include <stdint.h>\n" + "".join(parts))
    options = compiler_options(shipped, defaults(shipped), "cuda")
    command = ["nvcc", "-arch=sm_90", "-cubin", f"-std={shipped.build.standard}", *options]
    done = subprocess.run(
        [*command, "-o", tmp_path / "batch.cubin", batch], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_held_out_cases_are_of_other_shapes_and_longer():
    shipped = target()
    for backend in ("host", "cuda"):
        (train,) = cases_for(shipped, backend, CaseRole.TRAIN)
        others = cases_for(shipped, backend, CaseRole.HELD_OUT)
        assert train.args["width"] == train.args["height"]
        assert all(case.args["width"] != case.args["height"] for case in others)
        assert any(case.args["steps"] > train.args["steps"] for case in others)
    assert train.args["width"] >= 1024
