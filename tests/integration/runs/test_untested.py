"""Code that no case tests is known to a run, and a patch has no change of it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.analyze.explain.untested import untested
from gi_cuda.cli.search.evolve import _beginning
from gi_cuda.errors import UserError
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.untested import look_for_untested
from gi_cuda.genome import changes_of
from gi_cuda.grammar import Untested, Why
from gi_cuda.report.targets.untested import untested_words
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run, open_run
from gi_cuda.runs.stored import DATABASE, left_alone, stored_untested
from gi_cuda.search import PRESETS
from gi_cuda.store import Store
from gi_cuda.subject import Start, Subject, load_subject
from tests.command import gi_cuda
from tests.integration.runs.conftest import WASTE as SCALE_WASTE
from tests.integration.runs.conftest import as_searched, with_winner
from tests.integration.runs.even import EVEN, ODD, PLAN, WASTE, target

CASE = """
[[case]]
name = "odd"
role = "train"
args = { seed = 3, n = 2001 }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("even") / "run"
    with create_run(load_subject(EVEN, "host", edits="all"), folder, PLAN) as one:
        yield one


def drawn(run: Run, preset: str, count: int) -> set[int]:
    """The lines at which so many mutants change something."""
    return {run.subject.grammar.rule(one).line for one in places(run.subject, preset, count)}


def places(subject: Subject, preset: str, count: int) -> set[str]:
    """The rules at which so many mutants change something."""
    variation, rng = PRESETS[preset].vary(subject), random.Random(1)
    mutants = (variation.mutate(subject.original, rng) for _ in range(count))
    return {edit.place for one in mutants if one for edit in one.edits}


def test_what_no_case_tests_is_stored_and_left_alone(run: Run) -> None:
    found = stored_untested(run.store)
    assert found is not None
    assert found == left_alone(run.store) == run.subject.untested
    assert {one.line for one in found.rules.values()} == {6, 7, 8, 20, 21, 23, 24, 25, 26}
    assert {one.why for one in found.rules.values()} == {Why.UNREACHED, Why.NEVER_TRUE}
    reached = {15, 18, 19, 22, 28}
    for preset in ("barracuda", "gevo", "adaptive", "paraiso"):
        lines = drawn(run, preset, 1500)
        assert reached <= lines
        # Of unrolling a loop the answers know nothing.
        assert not lines & {6, 8, 20, 21, 23, 24, 26}


def test_a_search_on_the_host_leaves_launch_bounds_alone(run: Run) -> None:
    """They make nothing faster there. What is written is understood; a GPU's search has them."""
    bounds = "launchbounds_kernel.cu_12"
    insertion = f"<{bounds}><launchbounds_K64>"
    assert str(run.subject.read(insertion)) == insertion
    assert run.subject.grammar.operations(bounds)
    assert not run.subject.offered.operations(bounds)
    elsewhere = open_subject(EVEN, "cuda", edits="all")
    for preset in ("barracuda", "gevo", "adaptive", "paraiso"):
        assert bounds not in places(run.subject, preset, 1500)
        assert bounds in places(elsewhere, preset, 1500)


def test_what_is_left_alone_is_said(run: Run) -> None:
    (said,) = (line for line in _beginning(run, None) if "no case reaches" in line)
    assert said.startswith("not evolving the code in kernel.cu on lines 6-8, 21, 23-26: no case")
    assert "the conditions in kernel.cu on lines 20, 23: no case makes them true" in said
    assert said.endswith("(to test it, add a case; to evolve it: --untested)")
    done = gi_cuda("show", run.folder)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def test_a_search_does_not_start_from_what_no_case_tests(tmp_path: Path) -> None:
    subject = load_subject(EVEN, "host")
    start = Start("individual 7 of another run", f"{WASTE} {ODD}", "paper")
    with (
        pytest.raises(UserError, match="no case tests one of its changes, <IF_"),
        create_run(subject, tmp_path / "run", PLAN, start),
    ):
        pass
    assert not (tmp_path / "run").exists()


def test_who_asks_for_it_gets_what_no_case_tests(run: Run, tmp_path: Path) -> None:
    """It is stored all the same, so that a patch says what it sells."""
    found = stored_untested(run.store)
    assert found is not None
    with Store(tmp_path / DATABASE, create=True) as store:
        assert left_alone(store) == Untested()
        store.put(plan=asdict(replace(PLAN, untested=True)), untested=asdict(found))
        assert left_alone(store) == Untested()
        assert stored_untested(store) == found
        store.put(plan=asdict(PLAN))
        assert left_alone(store) == found
    (said,) = untested_words(found, allowed=True)
    assert said.startswith("evolving the code in kernel.cu")
    assert said.endswith("(as --untested asks)")


def test_a_case_that_gets_there_gives_the_changes_back(tmp_path: Path) -> None:
    subject = load_subject(target(tmp_path / "even", CASE), "host", edits="all")
    with create_run(subject, tmp_path / "run", PLAN) as run:
        assert {one.line for one in run.subject.untested.rules.values()} == {20, 21}
        assert {6, 8, 23, 24, 26} <= drawn(run, "barracuda", 1500)
        assert not drawn(run, "barracuda", 1500) & {20, 21}


def test_where_it_cannot_be_told_all_is_drawn_and_that_is_said(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gi_cuda.evaluate.checks.coverage.MOST_PLACES", 1)
    found = look_for_untested(
        run.subject, run.tools.compiler, run.tools.pool, run.tools.scratch("u"), lambda _: None
    )
    assert found.rules == {}
    (said,) = untested_words(found, allowed=False)
    assert re.fullmatch(
        r"which changes no case tests is not known, so that all are made: it has \d+ places", said
    )


def test_changes_that_no_case_tests_are_told(finished: Any, scale: Subject) -> None:
    """The original sets a value where a sum comes to one number that it never comes to."""
    with open_run(finished.folder) as opened:
        assert opened.subject.untested == as_searched(scale).untested
        text = opened.source.grammar.source.text
        line = text[: text.index("if (waste ==")].count("\n") + 1
        never, there, elsewhere = f"<IF_kernel.cu_{line}>", f"<_kernel.cu_{line}>", SCALE_WASTE
        genotype = opened.subject.read(f"CHECKED=1 {never} {there} {elsewhere}")
        assert untested(opened, changes_of(genotype)) == {
            never: f"no case makes the condition of kernel.cu:{line} true, which it changes",
            there: f"no case reaches kernel.cu:{line}, where it changes something",
        }
        assert untested(opened, changes_of(opened.subject.original)) == {}


def test_a_patch_says_what_no_case_tests(finished: Any, tmp_path: Path) -> None:
    mail, text = tmp_path / "winner.mbox", finished.source.read_text()
    never = f"<IF_kernel.cu_{text[: text.index('if (waste ==')].count(chr(10)) + 1}>"
    copy = with_winner(finished.folder, f"{never} {SCALE_WASTE}", tmp_path / "copy")
    words = ["--as-found", "--format", "mail", "--output", mail, "--sender", "Ada <a@example.com>"]
    done = gi_cuda("patch", copy, *words, cwd=finished.repository)
    assert done.returncode == 0, done.stderr
    assert f"not tested: {never}: no case makes the condition of kernel.cu" in done.stdout
    said = " ".join(mail.read_text().split())
    assert f"Not tested: {never}: no case makes the condition of" in said
    assert f"Not tested: {SCALE_WASTE}" not in said
