"""Everything the CUDA back end does, once, on a real device: ``python -m benchmarks.gpu_smoke``.

Compiles batches of random variants of a target, runs them, plants faults, and prints what each
phase takes. Every step stands alone: one that fails prints the end of its traceback, and the next
one begins. Steps that touch the device run in forked processes, since a fault takes them down.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import resource
import statistics
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.compile.shards import Sizes
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.driver import query
from gi_cuda.backends.cuda.helpers import build_helpers
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.protocol.device import LaunchRefused
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.requests import CountLoops, Measure, Program, Record, Sampling
from gi_cuda.backends.protocol.session import CRASHED_STATUS, HUNG_STATUS
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Phenotype, Variant
from gi_cuda.backends.workers.case_runner import CaseRunner, count_loops, record
from gi_cuda.backends.workers.measuring import measure
from gi_cuda.genome import Genotype, mutate
from gi_cuda.results.measurement import Measurement
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.spec import CaseRole, find_case, load_case
from gi_cuda.subject import Subject, load_subject

ROOT = Path(__file__).parent.parent
LINES = 12
"""How much of a traceback is shown."""


def say(*words: object) -> None:
    """Print now: the machine may go away any moment."""
    print(*words, flush=True)


def step(name: str, work: Callable[[], Any]) -> Any:
    """Run a step; None, and the end of its traceback, where it fails."""
    begun = time.perf_counter()
    try:
        answer = work()
    except BaseException:
        say(f"FAILED {name}")
        say("".join(f"    {line}\n" for line in traceback.format_exc().splitlines()[-LINES:]))
        return None
    say(f"ok     {name}: {time.perf_counter() - begun:.2f} s")
    return answer


def forked(work: Callable[[int], Any], limit: float = 240.0) -> Any:
    """What work gives in a process of its own; it gets a descriptor for last words.

    Raises:
        RuntimeError: the process died: how, and what it said.
    """
    answer, answer_end = os.pipe()
    words, words_end = os.pipe()
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            data = pickle.dumps(work(words_end))
            with os.fdopen(answer_end, "wb") as out:
                out.write(data)
            os._exit(0)
        except BaseException:
            os.write(words_end, "\n".join(traceback.format_exc().splitlines()[-LINES:]).encode())
            os._exit(1)
    os.close(answer_end)
    os.close(words_end)
    with os.fdopen(answer, "rb") as come:
        data = come.read()
    _, status = os.waitpid(child, 0)
    with os.fdopen(words, "rb") as last:
        said = last.read().decode("utf-8", "replace")
    if status or not data:
        seconds = time.perf_counter() - begun
        raise Died(os.waitstatus_to_exitcode(status), said, seconds)
    return pickle.loads(data)


class Died(RuntimeError):
    """How a forked step ended before its time."""

    def __init__(self, status: int, words: str, seconds: float) -> None:
        name = {HUNG_STATUS: "hung", CRASHED_STATUS: "crashed"}.get(status, f"status {status}")
        super().__init__(f"{name} after {seconds:.2f} s: {words}")
        self.name = name


@dataclass(slots=True)
class Smoke:
    """What the steps share."""

    subject: Subject
    compiler: NvccCompiler
    folder: Path
    cases: dict[str, Any]

    @property
    def train(self) -> tuple[str, ...]:
        """The cases that are run."""
        return self.subject.cases(CaseRole.TRAIN)

    def device(self, words: int) -> Any:
        """The device; only in a forked process."""
        from gi_cuda.backends.cuda.device.device import CudaDevice

        return CudaDevice(self.subject.target, self.cases, WorkerSlot(words))

    def bench(self, words: int) -> CaseRunner:
        """A bench on it."""
        folder = self.folder / "reference"
        return CaseRunner(self.device(words), self.subject.target, self.cases, folder)

    def program(self, binary: Binary, genotype: Genotype) -> Program:
        """How a variant runs the train cases."""
        return Program(binary, dict(genotype.configuration), self.train)

    def variants(self, number: int, seed: int) -> tuple[list[Variant], dict[int, Genotype]]:
        """The reference as number 0, a copy as 1, then random mutants with loop guards."""
        rng, subject = random.Random(seed), self.subject
        limits = {loop.ident: 1000 for loop in subject.grammar.loops}
        genotypes = {0: subject.original, 1: subject.original}
        while len(genotypes) < number:
            genotype = subject.original
            for _ in range(rng.randint(1, 4)):
                genotype = mutate(genotype, subject.grammar, rng, PAPER) or genotype
            genotypes[len(genotypes)] = genotype
        texts = [
            Variant(
                ident,
                subject.render(genotype, limits if ident > 1 else None),
                subject.macros(genotype.configuration),
                subject.options(genotype.configuration),
            )
            for ident, genotype in genotypes.items()
        ]
        return texts, genotypes

    def build(self, variants: Sequence[Variant], name: str, largest: int) -> dict[int, Binary]:
        """Compile a batch; prints what it took."""
        compiler = replace(self.compiler, sizes=Sizes(largest, largest))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        phenotypes = compiler.preprocess(variants)
        preprocessed = time.perf_counter()
        ready = [p for p in phenotypes.values() if isinstance(p, Phenotype)]
        built, first = [], 0.0
        for one in compiler.compile(ready, self.folder / name):
            first = first or time.perf_counter() - preprocessed
            built.append(one)
        done = time.perf_counter()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        binaries = {b.ident: b for b in built if isinstance(b, Binary)}
        failed = [b for b in built if isinstance(b, BuildFailure)]
        say(
            f"       batch of {len(variants)} in shards of {largest}: preprocessing"
            f" {preprocessed - begun:.2f} s, compiling {done - preprocessed:.2f} s"
            f" (first shard {first:.2f} s, {cpu:.1f} s of CPU,"
            f" {cpu / max(1, len(ready)) * 1e3:.0f} ms a variant),"
            f" {len(binaries)} compiled, {len(failed)} not,"
            f" {len({b.code_key for b in binaries.values()})} different codes"
        )
        for failure in failed[:2]:
            say(f"       e.g. v{failure.ident}: {failure.message[:150]}")
        return binaries


def environment() -> str:
    """Versions and devices. Returns the architecture."""
    toolkit = find_toolkit()
    say(f"       python {sys.version.split()[0]}, {len(os.sched_getaffinity(0))} cores,")
    say(f"       nvcc {toolkit.version} {toolkit.nvcc} ({toolkit.origin})")
    driver = forked(lambda _: query())
    say(f"       driver {driver.version}: {driver.gpus or driver.trouble}")
    return driver.gpus[0].architecture if driver.gpus else "sm_90"


def prepare(target: Path, architecture: str, folder: Path) -> Smoke:
    """Load the target and its train cases."""
    subject = load_subject(target, "cuda")
    options = [f"-std={subject.target.build.standard}", f"-I{subject.target.source.parent}"]
    options += [f"-I{path}" for path in subject.target.build.include]
    compiler = NvccCompiler(
        nvcc=str(find_toolkit().nvcc),
        architecture=architecture,
        file_name=subject.grammar.source.name,
        front=prelude(subject.grammar.source.text),
        options=tuple(options),
        jobs=len(os.sched_getaffinity(0)),
    )
    names = (*subject.cases(CaseRole.TRAIN), *subject.cases(CaseRole.HELD_OUT))[:2]
    cases = {n: load_case(subject.target, find_case(subject.target, n)) for n in names}
    build_helpers(find_toolkit(), architecture)
    return Smoke(subject, compiler, folder, cases)


def baseline(smoke: Smoke, binaries: dict[int, Binary], words: int) -> str:
    """Context, upload, reference, launch overhead, checks."""
    laps: list[tuple[str, float]] = []
    last = time.perf_counter()

    def lap(name: str, times: int = 1) -> None:
        nonlocal last
        now = time.perf_counter()
        laps.append((name, (now - last) / times * 1e3))
        last = time.perf_counter()

    bench = smoke.bench(words)
    device = bench.device
    lap("context and helpers")
    program = smoke.program(binaries[0], smoke.subject.original)
    answer = record(bench, Record(program, smoke.folder / "reference", 2, 60.0))
    lap("upload, first launches, record")
    say(f"       the reference's penalty: {answer.penalties} {answer.reasons}")
    loaded = device.load(program.binary)
    (plan,) = bench.plans(program)[:1]
    seconds = []
    lap("-")
    for _ in range(20):
        device.prepare(plan)
        seconds.append(device.run(loaded, plan, 10.0))
    lap("prepare and run, each", 20)
    rounds = device.run_round([(loaded, plan)] * 20, 10.0)  # type: ignore[attr-defined]
    lap("the same as one round, each", 20)
    for _ in range(10):
        device.damaged(plan)
    lap("damaged", 10)
    for _ in range(10):
        device.outputs(plan)
    lap("outputs", 10)
    for _ in range(3):
        bench.judge(plan)
    lap("judge (damaged, outputs, oracle)", 3)
    expected = {name: array.copy() for name, array in device.outputs(plan).items()}
    looks = [device.look(plan, expected) for _ in range(10)]
    lap("look", 10)
    device.prepare(plan)
    _, agrees = device.look(plan, expected)
    for name, milliseconds in laps:
        say(f"       {name:34} {milliseconds:9.3f} ms")
    low, high = min(seconds), max(seconds)
    middle, of_rounds = statistics.median(seconds), statistics.median(rounds)
    say(f"       kernel {middle * 1e3:.4f} ms ({low * 1e3:.4f} to {high * 1e3:.4f})")
    say(f"       kernel in a round {of_rounds * 1e3:.4f} ms; damaged: {device.damaged(plan)}")
    assert all(one == ([], True) for one in looks), "the reference does not agree with itself"
    assert not agrees, "poison agrees with the reference"
    return f"{middle:.6f}"


def population(
    smoke: Smoke, binaries: dict[int, Binary], genotypes: dict[int, Genotype], limit: float
) -> None:
    """Measure a batch as a worker does; a worker that dies is replaced."""
    rest = [ident for ident in sorted(binaries) if ident]
    base = smoke.program(binaries[0], smoke.subject.original)
    sampling = Sampling(screen=5, most=5, limit=limit)
    outcomes: Counter[str] = Counter()
    run = verify = 0.0
    begun, deaths = time.perf_counter(), []

    def work(idents: Sequence[int], words: int) -> Any:
        bench = smoke.bench(words)
        answers: list[Measurement | str] = []
        for ident in idents:
            request = Measure(smoke.program(binaries[ident], genotypes[ident]), base, sampling)
            try:
                answers.append(measure(bench, request))
            except LaunchRefused as error:
                answers.append(str(error))
            progress.write_bytes(pickle.dumps(answers))
        return answers

    progress = smoke.folder / "progress"
    while rest:
        progress.write_bytes(pickle.dumps([]))
        try:
            answers = forked(partial(work, rest))
            rest = []
        except Died as died:
            if died.name == "status 1":
                raise
            answers = pickle.loads(progress.read_bytes())
            rest = rest[len(answers) + 1 :]
            outcomes[died.name] += 1
            deaths.append(str(died))
        for answer in answers:
            if isinstance(answer, str):
                outcomes["refused"] += 1
                continue
            run, verify = run + answer.run_seconds, verify + answer.verify_seconds
            outcomes["correct" if answer.correct else "wrong"] += 1
            if answer.ident == 1:
                pairs = [s.variant / s.reference for s in answer.samples]
                say(f"       A/A: {' '.join(f'{r:.4f}' for r in pairs)} {answer.message}")
    wall, number = time.perf_counter() - begun, len(binaries) - 1
    say(f"       {dict(outcomes)}; {wall:.2f} s, {wall / number * 1e3:.2f} ms each:")
    say(f"       running {run:.2f} s, verifying {verify:.2f} s, {len(deaths)} workers lost")
    for death in deaths[:3]:
        say(f"       e.g. {death[:160]}")


FAULTS = {
    "endless loop": ("while (true) __threadfence();", "hung"),
    "illegal address": ("*(volatile int *)8 = 1;", "crashed"),
    "far out of bounds": ("k_out[(size_t)1 << 40] = 1;", "crashed"),
    "trap": ("__trap();", "crashed"),
    "write behind a buffer": ("k_out[2 * n_reads + threadIdx.x] = 1;", "memory behind k_out"),
    "write before a buffer": ("l_out[-1 - (int)threadIdx.x] = 1;", "memory before l_out"),
    "write to an input": ("((uint32_t *)heads)[0] = 1;", "heads"),
    "too much shared memory": ("", "refused"),
}


def faults(smoke: Smoke) -> None:
    """Plant faults at the begin of bwt_match; each must be told apart."""
    source = smoke.subject.reference
    opening = source.index("{", source.index("bwt_match(")) + 1
    macros = smoke.subject.macros(smoke.subject.original.configuration)
    options = smoke.subject.options(smoke.subject.original.configuration)
    texts = [source] + [source[:opening] + text + source[opening:] for text, _ in FAULTS.values()]
    variants = [Variant(i, text, macros, options) for i, text in enumerate(texts)]
    binaries = smoke.build(variants, "faults", 64)

    def run(ident: int, name: str, words: int) -> str:
        bench = smoke.bench(words)
        program = smoke.program(binaries[ident], smoke.subject.original)
        (plan,) = bench.plans(program)[:1]
        if name == "too much shared memory":
            plan = replace(plan, launches=(replace(plan.launches[0], shared=10**6),))
        loaded = bench.device.load(program.binary)
        bench.device.prepare(plan)
        try:
            bench.device.run(loaded, plan, 0.3)
        except LaunchRefused as error:
            return f"refused: {error}"
        damaged = bench.device.damaged(plan)
        return f"{', '.join(damaged)} (mended: {not bench.device.damaged(plan)})"

    for ident, (name, (_, wanted)) in enumerate(FAULTS.items(), 1):
        begun = time.perf_counter()
        try:
            found = forked(partial(run, ident, name))
        except Died as died:
            found = str(died)
        word = "ok    " if found.startswith(wanted) else "WRONG "
        say(f"       {word} {name}: {found[:140]} ({time.perf_counter() - begun:.2f} s)")


def loops(smoke: Smoke) -> None:
    """Count iterations with the instrumented reference."""
    subject = smoke.subject
    macros = subject.macros(subject.original.configuration)
    options = subject.options(subject.original.configuration)
    variant = Variant(0, subject.parsed.instrument(), macros, options)
    binaries = smoke.build([variant], "loops", 64)
    request = CountLoops(
        smoke.program(binaries[0], subject.original), len(subject.grammar.loops), 60.0
    )
    begun = time.perf_counter()
    counts = forked(lambda words: count_loops(smoke.bench(words), request))
    say(f"       {counts.most} in {time.perf_counter() - begun:.2f} s")


def main() -> None:
    """Run all steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=ROOT / "targets" / "bwt_exact")
    parser.add_argument("--sizes", type=int, nargs="*", default=[64, 1000])
    parser.add_argument("--shards", type=int, nargs="*", default=[64, 32])
    parser.add_argument("--limit", type=float, default=0.1, help="seconds a launch may take")
    parser.add_argument("--no-device", action="store_true", help="only what needs no device")
    options = parser.parse_args()
    architecture = step("environment", environment) or "sm_90"
    with tempfile.TemporaryDirectory(prefix="gi-cuda-smoke-") as scratch:
        smoke = step(
            "target and cases", lambda: prepare(options.target, architecture, Path(scratch))
        )
        if smoke is None:
            sys.exit(1)
        batches = {}
        for size in options.sizes:
            variants, genotypes = smoke.variants(size, seed=size)
            for largest in options.shards:
                built = step(
                    f"compile {size} in shards of {largest}",
                    partial(smoke.build, variants, f"b{size}-{largest}", largest),
                )
                if built:
                    batches[size] = (built, genotypes)
        if options.no_device or not batches:
            return
        first = batches[min(batches)][0]
        step("baseline", lambda: forked(partial(baseline, smoke, first)))
        step("loops", lambda: loops(smoke))
        step("faults", lambda: faults(smoke))
        for size, (built, genotypes) in batches.items():
            step(f"measure {size}", partial(population, smoke, built, genotypes, options.limit))


if __name__ == "__main__":
    main()
