"""A crash after an edit is believed at once if the same edit crashed another worker before."""

from __future__ import annotations

import re
from pathlib import Path

from gi_cuda.genome import Delete, Genotype
from gi_cuda.results.measurement import Survival
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.subject import load_subject

from .conftest import WASTED

HARMLESS = "    if (at < n) {\n        mine = twice(in[at]);\n"
LETHAL = """\
    const int *from = in + (1 << 28);
    from = in;
    if (at < n) {
        mine = twice(from[at]);
"""


def without_addresses(message: str) -> str:
    """A message without what differs from worker to worker: where buffers lie."""
    return re.sub(r"0x[0-9a-f]+", "...", message)


def test_a_crash_is_confirmed_by_an_earlier_one_of_the_same_edit(
    target: Path, tmp_path: Path
) -> None:
    kernel = target / "kernel.cu"
    source = kernel.read_text()
    assert HARMLESS in source
    kernel.write_text(source.replace(HARMLESS, LETHAL))
    subject = load_subject(target, "host")
    lines = kernel.read_text().split("\n")
    lethal, idle = (
        Delete(f"_kernel.cu_{lines.index(line) + 1}")
        for line in ("    from = in;", f"        {WASTED} / (i + 1);")
    )
    configuration = subject.original.configuration
    crashing, beside = (Genotype(configuration, e) for e in ((lethal,), (idle, lethal)))
    with create_run(subject, tmp_path / "run", Plan("barracuda", SETTINGS, 1, 1, 2)) as run:
        evaluator = run.evaluator()
        ((_, alone),) = evaluator.evaluate(evaluator.prepare({1: crashing}))
        ((_, together),) = evaluator.evaluate(evaluator.prepare({2: beside}))
        ((_, fine),) = evaluator.evaluate(evaluator.prepare({3: Genotype(configuration, (idle,))}))
    assert alone.survival is Survival.CRASHED
    assert "individual" not in alone.message
    assert together.survival is Survival.CRASHED
    assert together.message.startswith("as individual 1 by a like edit: ")
    assert without_addresses(alone.message) in without_addresses(together.message)
    assert fine.right
