"""Lookup of back ends by name, and their properties."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gi_cuda import BACKENDS
from gi_cuda.backends.protocol.backend import Backend
from gi_cuda.backends.table import backend_named, backends_on_gpus
from gi_cuda.evaluate.levels import backends_for
from gi_cuda.grammar import RuleType, front_end


@pytest.mark.parametrize("name", BACKENDS)
def test_each_name_stands_for_a_back_end(name: str) -> None:
    found = backend_named(name)
    assert isinstance(found, Backend)
    assert name in backends_on_gpus(gpu=found.gpu)
    assert name not in backends_on_gpus(gpu=not found.gpu)


def test_all_run_sources_and_some_run_compiled_code() -> None:
    assert backends_for(front_end("source")) == list(BACKENDS)
    assert backends_for(front_end("ptx")) == ["cuda"]


def test_launch_bounds_make_nothing_faster_on_the_host() -> None:
    idle = {name: [RuleType(one) for one in backend_named(name).idle_types] for name in BACKENDS}
    assert idle == {"host": [RuleType.BOUNDS], "cuda": []}


def test_a_worker_of_the_host_loads_neither_compilers_nor_what_reads_sources() -> None:
    script = """
import sys
import gi_cuda.backends.workers.worker
from gi_cuda.backends.table import backend_named
backend_named("host").device_maker()
wanted = ("gi_cuda.grammar", "gi_cuda.backends.cuda", "gi_cuda.backends.host.build.compiler")
print([name for name in sys.modules if name.startswith(wanted)])
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert said.stdout.strip() == "[]", said.stderr
