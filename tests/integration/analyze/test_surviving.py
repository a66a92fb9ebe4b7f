"""Mutation tests of the places that a winner changes: changes that the cases do not detect."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.analyze.explain.surviving import surviving
from gi_cuda.analyze.explain.untested import untested
from gi_cuda.genome import changes_of
from gi_cuda.runs.create import create_run
from gi_cuda.subject import load_subject
from tests.integration.runs.even import NEVER, PLAN, WASTE, target
from tests.sweeps import broad

DOUBLED = "<_kernel.cu_28>"


@broad
def test_where_whatever_stands_there_is_right_that_is_said(tmp_path: Path) -> None:
    folder = target(tmp_path / "even")
    source = folder / "kernel.cu"
    # Nothing is as large as 2000, so that n is multiplied by 0; the data tell all else.
    text = source.read_text().replace("waste = 0;", "waste = in[0] / 2000 * n;")
    source.write_text(text.replace("= in[at] * 2;", "= in[at] * 2 + waste / 2000;"))
    subject = load_subject(folder, "host", edits="full")
    (place,) = (
        one.name
        for one in subject.grammar.rules
        if (one.type, one.line, text[one.start : one.end]) == ("op", 15, "n")
    )
    view = subject.grammar.under(subject.original.configuration.macros)
    never_told = f"<{place}><{view.donors(place)[0]}>"
    with create_run(subject, tmp_path / "run", PLAN) as run:
        told = changes_of(run.subject.read(DOUBLED))
        changes = [*changes_of(run.subject.read(never_told)), *told]
        found = surviving(run, changes)
        assert list(found) == [never_told]
        assert "in its place 5 others are right on the held-out cases as well" in found[never_told]
        # A place that no case reaches is told of by that.
        unreached = changes_of(run.subject.read(NEVER))
        every = untested(run, [*changes, *unreached])
        assert every.keys() == {never_told, NEVER}
        assert every[never_told] == found[never_told]


def test_a_run_without_rules_for_values_tells_it_as_well(tmp_path: Path) -> None:
    with create_run(load_subject(target(tmp_path / "even"), "host"), tmp_path / "run", PLAN) as run:
        # What is doubled is in the answers.
        assert surviving(run, changes_of(run.subject.read(f"{WASTE} {DOUBLED}"))).keys() <= {WASTE}
