"""Whole measurements on the device: the pool, a baseline, a storm of faults."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
    Rehearse,
    SharedMeasurement,
)
from gi_cuda.backends.workers.pool import Lost
from gi_cuda.evaluate.reference.baseline import compile_reference, establish
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.spec import find_case, load_case
from gi_cuda.subject import load_subject

TARGETS = Path(__file__).parent.parent / "targets"
SHIPPED = Path(__file__).parent.parent.parent / "targets"

LAST = "        out[at] = mine;\n"

FATAL = {
    "endless loop": ("        for (;;) { __threadfence(); }\n", Survival.HUNG),
    "far out of bounds": ("        out[at + ((size_t)1 << 40)] = mine;\n", Survival.CRASHED),
    "trap": ("        if (at == 5) __trap();\n        out[at] = mine;\n", Survival.CRASHED),
}

WRONG = {
    # On whichever case told wrong from right before: the last element of train or held-out.
    "missing write": ("        if (at != n - 1) out[at] = mine;\n", r"out\[(3999|3110)\]"),
    "off by one": ("        out[at] = mine + (at == 500);\n", r"out\[500\]"),
    "write to an input": ("        out[at] = mine;\n        ((int *)in)[at] = 1;\n", "in"),
    "write behind the end": ("        out[at] = mine;\n        out[n + at] = 1;\n", "behind out"),
    "nothing written": ("", r"out\[0\]"),
}

GUARDED = (
    "        for (unsigned gi_guard_0 = gi_begin(); gi_guard_0++ < 99 || gi_late();) out[at]++;\n"
)
"""A loop that its guard ends, as in a search."""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject = load_subject(TARGETS / "scale", "cuda")
    with open_tools(subject, tmp_path_factory.mktemp("scale"), workers=1, jobs=4) as tools:
        yield tools


@pytest.fixture(scope="module")
def programs(tools: Tools) -> dict[str, Program]:
    """Faulty variants, the reference and copies of it, compiled as one batch; answers recorded."""
    subject = tools.subject
    source = subject.grammar.source.text
    assert LAST in source
    texts = {"reference": source} | {f"fine {i}": source for i in range(4)}
    texts |= {name: source.replace(LAST, text) for name, (text, _) in {**FATAL, **WRONG}.items()}
    texts["guarded"] = source.replace(LAST, GUARDED)
    binaries = compile_reference(
        subject, tools.compiler, list(texts.values()), tools.scratch("faults")
    )
    cases = (*tools.train(), *tools.held_out())
    configuration = dict(subject.original.configuration)
    programs = {
        name: Program(binary, configuration, cases)
        for name, binary in zip(texts, binaries, strict=True)
    }
    recorded = tools.pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
    assert set(recorded.penalties.values()) == {0}
    return programs


def test_a_storm_of_faults_between_good_variants(
    tools: Tools, programs: dict[str, Program]
) -> None:
    fine = [name for name in programs if name.startswith("fine")]
    names = [*FATAL, fine[0], *WRONG, fine[1], *FATAL, *fine[2:]]
    sampling = Sampling(screen=3, most=3, limit=0.2)
    requests = [
        (i, Measure(programs[name], programs["reference"], sampling))
        for i, name in enumerate(names)
    ]
    answers = dict(tools.pool.map(requests))
    assert sorted(answers) == list(range(len(names)))
    for i, name in enumerate(names):
        answer = answers[i]
        if name in FATAL:
            assert isinstance(answer, Lost), (name, answer)
            assert answer.survival is FATAL[name][1], name
            continue
        assert isinstance(answer, Measurement), (name, answer)
        assert answer.correct == (name in fine), (name, answer.message)
        if name in WRONG:
            assert re.search(WRONG[name][1], answer.message), answer.message


def test_who_writes_into_another_case_is_blamed_not_who_comes_next(tmp_path: Path) -> None:
    folder = tmp_path / "scale"
    shutil.copytree(TARGETS / "scale", folder)
    with (folder / "target.toml").open("a") as file:
        file.write('[[case]]\nname = "more"\nrole = "train"\nargs = { seed = 3, n = 3000 }\n')
    subject = load_subject(folder, "cuda")
    source = subject.grammar.source.text
    # The buffers of the cases that give fitness lie side by side, 192 KiB from each other.
    wild = "        for (int k = 1; k < 8; k++) out[at + k * 49152] = out[at - k * 49152] = 1;\n"
    texts = [source, source, source.replace(LAST, LAST + wild), source]
    with open_tools(subject, tmp_path, workers=1, jobs=4) as tools:
        binaries = compile_reference(subject, tools.compiler, texts, tools.scratch("wild"))
        configuration = dict(subject.original.configuration)
        programs = [Program(one, configuration, tools.train()) for one in binaries]
        reference, *variants = programs
        tools.pool.one(Record(reference, tools.reference, 2, 10.0))
        sampling = Sampling(screen=3, most=3)
        shared = SharedMeasurement(tuple(variants), reference, sampling)
        answers = tools.pool.one(shared)
    assert [one.correct for one in answers] == [True, False, True]
    assert "of the case" in answers[1].message


def test_in_a_round_each_is_judged_as_it_is_alone(
    tools: Tools, programs: dict[str, Program]
) -> None:
    names = ["fine 0", *WRONG, "fine 1", "guarded", *reversed(WRONG), "reference"]
    some = tuple(replace(programs[name], cases=tools.train()) for name in names)
    reference = replace(programs["reference"], cases=tools.train())
    untimed = Sampling().untimed()
    together = tools.pool.one(Rehearse(some, untimed))
    alone = [tools.pool.one(Measure(one, reference, untimed)) for one in some]
    plain = [(one.correct, one.penalty, one.message, one.survival) for one in alone]
    assert [(one.correct, one.penalty, one.message, one.survival) for one in together] == plain
    assert [one.correct for one in together] == [
        name.startswith(("fine", "reference")) for name in names
    ]


def test_what_a_guard_ends_hung_and_takes_no_worker_down(
    tools: Tools, programs: dict[str, Program]
) -> None:
    deaths, sampling = tools.pool.deaths, Sampling(screen=3, most=3)
    reference = replace(programs["reference"], cases=tools.train())
    for name, right in (("guarded", False), ("fine 0", True)):
        program = replace(programs[name], cases=tools.train())
        answer = tools.pool.one(Measure(program, reference, sampling))
        assert isinstance(answer, Measurement)
        assert answer.survival is (Survival.NORMAL if right else Survival.HUNG)
        assert answer.correct == right
    assert tools.pool.deaths == deaths


def test_a_struct_of_large_alignment_arrives_whole(tmp_path: Path) -> None:
    subject = load_subject(TARGETS / "aligned", "cuda")
    with open_tools(subject, tmp_path, workers=1, jobs=4) as tools:
        establish(subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference)
        for name in ("train", "held-out"):
            given = load_case(subject.target, find_case(subject.target, name)).values
            expected = given["factor"] * given["in"] + given["shift"]
            with np.load(tools.reference / f"{name}.npz") as found:
                assert (found["out"][0] == expected).all()


@pytest.mark.parametrize(
    "folder",
    [
        TARGETS / "scale",
        TARGETS / "draws",
        TARGETS / "cpp_templates",
        TARGETS / "cpp_namespaces",
        TARGETS / "cpp_statics",
        TARGETS / "cpp_macros",
        SHIPPED / "bwt_exact",
    ],
    ids=lambda p: p.name,
)
def test_a_baseline_is_found_and_a_copy_is_neither_faster_nor_slower(
    folder: Path, tmp_path: Path
) -> None:
    subject = load_subject(folder, "cuda")
    with open_tools(subject, tmp_path, workers=1, jobs=4) as tools:
        baseline = establish(
            subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference
        )
    assert baseline.verdict not in (Verdict.FASTER, Verdict.SLOWER)
    assert set(baseline.penalties.values()) == {0}
    assert baseline.loops.keys() == {loop.ident for loop in subject.grammar.loops}
    assert baseline.seconds > 0


def test_a_copy_takes_as_long_where_cases_push_each_other_out_of_the_cache(tmp_path: Path) -> None:
    subject = load_subject(TARGETS / "columns", "cuda")
    with open_tools(subject, tmp_path, workers=1, jobs=4) as tools:
        baseline = establish(
            subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference
        )
    assert baseline.floor < 0.05
