"""Three hundred variants, two thirds of which kill their worker.

All are told apart, and the others are measured without disturbance.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
)
from gi_cuda.backends.workers.pool import Lost
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject

SCALE = Path(__file__).parent.parent / "targets" / "scale"
LAST = "        out[at] = mine;\n"
EACH = 100
LIMIT = 0.1
PAIRS = 7

HANGS = (
    "for (;;) {{ __threadfence(); }}",
    "while (atomicAdd(out, 0) != {number} || n > 0) __threadfence();",
    "if (threadIdx.x == {number} % 32) for (;;) __nanosleep(100);",
)
CRASHES = (
    "out[at + ((size_t)1 << 40) + {number}] = mine;",
    "((int *)8)[at + {number}] = mine;",
    "out[-((long long)1 << 41) - {number}] = mine;",
)


def planted(kinds: Sequence[str], number: int) -> str:
    """The source with a fault before its last write."""
    fault = kinds[number % len(kinds)].format(number=number)
    return f"        {fault}\n{LAST}"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject = load_subject(SCALE, "cuda")
    with open_tools(subject, tmp_path_factory.mktemp("storm"), workers=1, jobs=8) as tools:
        yield tools


@pytest.fixture(scope="module")
def programs(tools: Tools) -> dict[str, Program]:
    """``hang <i>``, ``crash <i>``, ``fine <i>`` and the reference, whose answers are recorded."""
    source = tools.subject.grammar.source.text
    assert source.count(LAST) == 1
    texts = {"reference": source}
    for i in range(EACH):
        texts[f"hang {i}"] = source.replace(LAST, planted(HANGS, i))
        texts[f"crash {i}"] = source.replace(LAST, planted(CRASHES, i))
        texts[f"fine {i}"] = source.replace("waste == 123456789", f"waste == {123456789 + i}")
    binaries = compile_reference(
        tools.subject, tools.compiler, list(texts.values()), tools.scratch("storm")
    )
    configuration = dict(tools.subject.original.configuration)
    programs = {
        name: Program(binary, configuration, tools.train())
        for name, binary in zip(texts, binaries, strict=True)
    }
    recorded = tools.pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
    assert set(recorded.penalties.values()) == {0}
    return programs


def measured(
    tools: Tools, programs: dict[str, Program], names: Sequence[str]
) -> tuple[dict[str, Measurement | Lost], float]:
    """Return the result of each program, and the seconds that all took."""
    sampling = Sampling(screen=PAIRS, most=PAIRS, limit=LIMIT)
    begun = time.perf_counter()
    answers = dict(
        tools.pool.map(
            (i, Measure(programs[name], programs["reference"], sampling))
            for i, name in enumerate(names)
        )
    )
    assert sorted(answers) == list(range(len(names)))
    return {names[i]: answer for i, answer in answers.items()}, time.perf_counter() - begun


def ratio(answers: dict[str, Measurement | Lost]) -> float:
    """The median ratio of all fine variants to the reference."""
    return statistics.median(
        sample.variant / sample.reference
        for answer in answers.values()
        if isinstance(answer, Measurement)
        for sample in answer.samples
    )


def alternating(*kinds: Sequence[str]) -> list[str]:
    return [name for names in zip(*kinds, strict=True) for name in names]


def test_a_storm(tools: Tools, programs: dict[str, Program]) -> None:
    hang, crash, fine = ([f"{kind} {i}" for i in range(EACH)] for kind in ("hang", "crash", "fine"))
    half = EACH // 2
    calm, calm_seconds = measured(tools, programs, fine)
    parts = [
        alternating(hang[:half], fine[:half]),
        alternating(crash[:half], fine[half:]),
        alternating(hang[half:], crash[half:]),
    ]
    stormy: dict[str, Measurement | Lost] = {}
    seconds = []
    for part in parts:
        answers, spent = measured(tools, programs, part)
        stormy |= answers
        seconds.append(spent)

    each = calm_seconds / EACH
    hung = seconds[0] / half - each - LIMIT
    crashed = seconds[1] / half - each
    both = seconds[2] / half - LIMIT
    print(
        f"\n{each * 1e3:.1f} ms for a fine one; beyond the limit {hung:.3f} s for each that hung,"
        f" {crashed:.3f} s for each that crashed, {both:.3f} s for one of each without a break"
    )

    assert len(stormy) == 3 * EACH
    for name, answer in stormy.items():
        if name in fine:
            assert isinstance(answer, Measurement), (name, answer)
            assert answer.correct, (name, answer.message)
            assert len(answer.samples) == PAIRS, name
        else:
            assert isinstance(answer, Lost), (name, answer)
            expected = Survival.HUNG if name in hang else Survival.CRASHED
            assert answer.survival is expected, (name, answer.message)
    assert abs(ratio(stormy) / ratio(calm) - 1) < 0.05
