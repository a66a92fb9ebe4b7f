"""Runs on a cluster whose workers compile and measure, as they do on one machine."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

from gi_cuda.backends.protocol.variants import BuildFailure, Phenotype
from gi_cuda.cluster.compiler import compiled_by
from gi_cuda.cluster.evaluator import evaluated_by
from gi_cuda.cluster.meeting import meeting_at
from gi_cuda.cluster.package import package_of
from gi_cuda.cluster.replica import check_alike, replica
from gi_cuda.errors import UserError
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import find_preset
from gi_cuda.search.loop import End
from gi_cuda.subject import Subject
from tests.command import gi_cuda
from tests.integration.cluster.alike import check_as_alone
from tests.integration.runs.conftest import copy_scale
from tests.sweeps import broad

SCALE = Path(__file__).parents[2] / "targets" / "scale"
RANDOM = Plan("random", find_preset("random", "").settings.having(12, 2), 5, 1, 1)
"""A search in which what is measured does not decide what is bred."""


def _pids(cluster: LocalCluster) -> list[int]:
    with Client(cluster, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


@broad
def test_two_of_four_workers_are_killed(
    cluster: LocalCluster, scale: Subject, tmp_path: Path
) -> None:
    doomed = _pids(cluster)[:2]
    meeting = meeting_at(cluster.scheduler_address)
    with create_run(scale, tmp_path / "run", RANDOM) as run:
        with evaluated_by(meeting, lambda _: None, run) as evaluator:
            search = run.evolution(evaluator=evaluator)
            for progress in search.run():
                if progress.evaluation is not None:
                    while doomed:
                        os.kill(doomed.pop(), signal.SIGKILL)
        assert search.end is End.COMPLETE
        check_as_alone(run, 24, tmp_path / "other")


@broad
def test_workers_that_only_compile(cluster: LocalCluster, scale: Subject, tmp_path: Path) -> None:
    doomed = _pids(cluster)[:2]
    meeting, said = meeting_at(cluster.scheduler_address), []
    with create_run(scale, tmp_path / "run", RANDOM) as run:
        with compiled_by(meeting, said.append, run) as evaluator:
            search = run.evolution(evaluator=evaluator)
            for progress in search.run():
                while progress.evaluation is not None and doomed:
                    os.kill(doomed.pop(), signal.SIGKILL)
        assert search.end is End.COMPLETE
        assert said == ["compiling on 4 workers with 4 threads"]
        individuals, evaluations = run.store.individuals(), run.store.evaluations()
        assert len(evaluations) == len(individuals) == 24
        local = run.evaluator()
        alone = local.prepare({i.ident: scale.read(i.genotype) for i in individuals})
        built = run.tools.uncached.compile(
            [one.phenotype for one in alone.values() if isinstance(one.phenotype, Phenotype)],
            tmp_path / "alone",
        )
        failed = {one.ident for one in built if isinstance(one, BuildFailure)}
        assert {i for i, one in evaluations.items() if not one.built} == failed


@broad
def test_from_the_command_line(tmp_path: Path) -> None:
    """Workers of another scheduler compile and measure what the program sends them."""
    file, numbers = tmp_path / "scheduler.json", ["--population", 6, "--generations", 1]
    how = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(processes=False, protocol="tcp://", **how) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.write_scheduler_file(str(file))
        words = ["--preset", "random", *numbers, "--cluster", cluster.scheduler_address]
        begun = gi_cuda("evolve", SCALE, "--run", tmp_path / "run", *words)
        assert begun.returncode == 0, begun.stderr
        assert re.search(r"evaluating on worker tcp://\S+ with 1 thread: reference", begun.stdout)
        words = ["--generations", 2, "--cluster", file, "--cluster-compiles"]
        more = gi_cuda("resume", tmp_path / "run", *words)
    assert more.returncode == 0, more.stderr
    assert re.search(r"compiling on worker tcp://\S+ with 1 thread\n", more.stdout)
    assert "generation 1: 6 evaluated" in more.stdout


def test_there_is_no_cluster(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    done = gi_cuda("evolve", SCALE, "--run", tmp_path / "run", "--cluster", file)
    assert done.returncode == 2
    assert "there is no such scheduler file" in done.stderr
    assert "dask scheduler --scheduler-file" in done.stderr
    done = gi_cuda("evolve", SCALE, "--run", tmp_path / "run", "--cluster", "nowhere://1")
    assert done.returncode == 2
    assert "no dask scheduler answers there" in done.stderr
    assert not (tmp_path / "run").exists()


def test_one_machine_needs_no_dask() -> None:
    said = "import sys, gi_cuda.cli.search.evolve, gi_cuda.cli.search.resume; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert "gi_cuda.cli.search.searching" in done.stdout.split()
    assert not {"dask", "distributed", "gi_cuda.cluster"} & set(done.stdout.split())


def test_a_package_is_all_that_another_machine_needs(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    copy_scale(here / "targets" / "scale")
    (here / "source").mkdir()
    (here / "source" / "much.bin").write_bytes(bytes(100))
    kernel = here / "targets" / "scale" / "kernel.cu"
    text = kernel.read_text()
    (here / "source" / "steps.h").write_text("/* nothing */\n")
    (here / "source" / "kernel.cu").write_text(f'#include "steps.h"\n{text}')
    kernel.unlink()
    kernel.symlink_to(here / "source" / "kernel.cu")
    data = here / "targets" / "scale" / "data.py"
    data.rename(here / "data.py")
    data.symlink_to("../../data.py")
    subject = open_subject(here / "targets" / "scale", "host")
    with create_run(subject, here / "targets" / "scale" / "runs" / "one", RANDOM) as run:
        package, facts = package_of(run), run.baseline
        binaries = compile_reference(
            subject, run.tools.compiler, [subject.reference], tmp_path / "b"
        )
    assert not any("much.bin" in name or "run.db" in name for name in package.files)
    shutil.rmtree(here)
    with open_run(package.unpacked(there, 3, 2)) as copy:
        assert copy.subject.fingerprint == subject.fingerprint
        assert copy.subject.target.source.is_relative_to(there)
        assert (copy.plan.workers, copy.plan.jobs, copy.baseline) == (3, 2, facts)
        compiler, folder = copy.tools.compiler, tmp_path / "c"
        (binary,) = compile_reference(copy.subject, compiler, [copy.subject.reference], folder)
        assert [binary.code_key] == [one.code_key for one in binaries]


def test_a_machine_with_other_answers_is_refused(scale: Subject, tmp_path: Path) -> None:
    with create_run(scale, tmp_path / "run", RANDOM) as run:
        package = package_of(run)
    answers = {}
    arrays = {name: one for name, one in package.answers.items() if name.endswith(".npz")}
    for name, content in arrays.items():
        with np.load(io.BytesIO(content)) as stored, io.BytesIO() as other:
            np.savez(other, **{key: _changed(stored[key]) for key in stored})
            answers[name] = other.getvalue()
    assert answers
    refused = pytest.raises(UserError, match=r"the reference cannot be measured there: .*train")
    with refused, replica(replace(package, answers=answers), 1):
        pass


def _changed(values: np.ndarray) -> np.ndarray:
    return values + 1 if values.dtype.kind in "iuf" else values


def test_another_kind_of_machine_is_refused() -> None:
    tools = {"device": "GPU One", "compiler": "nvcc 13"}
    check_alike(tools, dict(tools))
    with pytest.raises(UserError, match="its device is GPU Two, the search's is GPU One"):
        check_alike(tools, tools | {"device": "GPU Two"})
    with pytest.raises(UserError, match="its driver is 12, the search's is none"):
        check_alike(tools, tools | {"driver": "12"})
