"""bwt_exact under many configurations: compiled in one batch, run, and held against its oracle."""

import faulthandler
import multiprocessing
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
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
from gi_cuda.backends.host.running.runtime import Runtime
from gi_cuda.backends.host.running.shard import Shard
from gi_cuda.backends.protocol.device import POISON
from gi_cuda.spec import (
    Configuration,
    Target,
    cases_for,
    compiler_options,
    defaults,
    find_case,
    load_case,
    load_target,
    macros,
    plan,
)
from gi_cuda.spec.case_data.modules import load_function
from gi_cuda.spec.target import CaseRole

from .covering import covering, differing

FOLDER = Path(__file__).parents[3] / "targets" / "bwt_exact"
SAMPLED = 18

_INCLUDE = re.compile(r"^#include .*$", re.M)
_DEFINE = re.compile(r"^#\s*define (\w+)", re.M)


@cache
def target() -> Target:
    return load_target(FOLDER)


def configurations() -> list[Configuration]:
    """The default, each value of each parameter once, and some that are drawn."""
    shipped = target()
    default = defaults(shipped)
    found: list[Configuration] = [default]
    for parameter in shipped.parameters:
        # In the largest block, where every number of cache threads is allowed.
        found += [{**default, "BLOCK_W": 512, parameter.name: value} for value in parameter.values]
    rng = random.Random(1)
    while len(found) < 1 + sum(len(p.values) for p in shipped.parameters) + SAMPLED:
        drawn = {p.name: rng.choice(p.values) for p in shipped.parameters}
        if all(constraint.allows(drawn) for constraint in shipped.constraints):
            found.append(drawn)
    return [one for number, one in enumerate(found) if one not in found[:number]]


def variants(chosen: Sequence[Configuration]) -> list[str]:
    """The kernel's text under each configuration, leaving no macro behind."""
    shipped = target()
    source = shipped.source.read_text()
    names = {*_DEFINE.findall(source), *(parameter.name for parameter in shipped.parameters)}
    body = _INCLUDE.sub("", source)
    before = [
        "".join(f"#define {name} {value}\n" for name, value in macros(shipped, one).items())
        for one in chosen
    ]
    after = "".join(f"#undef {name}\n" for name in sorted(names))
    return [f"{defines}{body}\n{after}" for defines in before]


def host_cases() -> list[str]:
    shipped = target()
    roles = (CaseRole.TRAIN, CaseRole.HELD_OUT)
    return [case.name for role in roles for case in cases_for(shipped, "host", role)]


def answers_on_the_host(
    library: Path, chosen: Sequence[Configuration], case_name: str
) -> list[dict[str, np.ndarray]]:
    """Return the answers of each variant of a shard to a case."""
    shipped = target()
    case = load_case(shipped, find_case(shipped, case_name))
    runtime = Runtime(build_library())
    shard = Shard(library)
    count = 2 * int(case.scalars["n_reads"])
    outputs = {name: runtime.alloc(name, np.uint32, count) for name in ("k_out", "l_out")}
    buffers = dict(outputs)
    for name, values in case.buffers.items():
        buffers[name] = runtime.alloc(name, values.dtype, values.size)
        buffers[name][:] = values
    found = []
    for number, configuration in enumerate(chosen):
        for output in outputs.values():
            output[:] = POISON
        kernel = shard.kernel(f"v{number}", "bwt_match")
        for launch in plan(shipped, configuration, case.scalars):
            values = [buffers[a] if isinstance(a, str) else a for a in launch.args]
            runtime.run(runtime.call(kernel, values, launch.grid, launch.block, launch.shared))
        found.append({name: output.copy() for name, output in outputs.items()})
    return found


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All configurations, compiled by one compiler process."""
    shipped = target()
    folder = tmp_path_factory.mktemp("bwt_exact")
    parts = [
        variant_text(f"v{number}", text, ["bwt_match"])
        for number, text in enumerate(variants(configurations()))
    ]
    source = folder / "batch.cpp"
    source.write_text('#include "gi_cuda_host.hpp"\n' + "".join(parts))
    options = compiler_options(shipped, defaults(shipped), "host")
    command = [find_compiler(), *options, *COMPILE_OPTIONS, f"-I{INCLUDE}"]
    subprocess.run([*command, "-O1", "-o", folder / "batch.so", source], check=True, timeout=120)
    return folder / "batch.so"


@pytest.mark.parametrize("case_name", host_cases())
def test_every_configuration_gives_the_right_answers(shard: Path, case_name: str):
    shipped, chosen = target(), configurations()
    # In a process of its own, which a fault may take down.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, context, faulthandler.disable) as pool:
        found = pool.submit(answers_on_the_host, shard, chosen, case_name).result(timeout=120)
    case = load_case(shipped, find_case(shipped, case_name))
    answers = load_function(FOLDER / "oracle.py", "answers", "oracle")
    right = shipped.oracle.reference([answers(case.values)])
    wrong = [
        (configuration, verdict.reason)
        for configuration, outputs in zip(chosen, found, strict=True)
        if (verdict := shipped.oracle.judge(case.values, outputs, right)).penalty
    ]
    assert not wrong


def test_configurations_differ_in_code() -> None:
    """Each value of each parameter changes what is compiled."""
    shipped = target()
    largest = {**defaults(shipped), "BLOCK_W": 512}
    found = differing(shipped, largest, variants)
    assert found == {p.name: len(p.values) for p in shipped.parameters}


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_configurations_compile_for_the_device(tmp_path: Path):
    shipped = target()
    parts = [
        f"namespace v{number} {{\n{text}\n}}\n"
        for number, text in enumerate(variants(covering(configurations())))
    ]
    source = tmp_path / "batch.cu"
    source.write_text("#include <stdint.h>\n" + "".join(parts))
    options = compiler_options(shipped, defaults(shipped), "cuda")
    command = ["nvcc", "-arch=sm_90", "-cubin", f"-std={shipped.build.standard}", *options]
    done = subprocess.run(
        [*command, "-o", tmp_path / "batch.cubin", source], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_cases_for_the_device_are_declared_with_the_papers_number_of_reads():
    shipped = target()
    (train,) = cases_for(shipped, "cuda", CaseRole.TRAIN)
    assert train.args["reads"] == 159744
    assert len(cases_for(shipped, "cuda", CaseRole.HELD_OUT)) == 2
    assert len(cases_for(shipped, "host", CaseRole.HELD_OUT)) == 2
