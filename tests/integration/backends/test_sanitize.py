"""Sanitizers on real variants find faults that the oracle cannot."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import Binary, Variant
from gi_cuda.backends.sanitize import watch as watch_program
from gi_cuda.backends.table import backend_named
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.baseline import establish
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import SanitizerFinding, compiled_in
from gi_cuda.grammar import Source
from gi_cuda.runs.tools import Tools
from gi_cuda.subject import Subject, load_subject
from tests.sweeps import broad

Watch = Callable[[str], tuple[list[SanitizerFinding], str]]


@pytest.fixture(scope="module")
def watch(scale: Subject, scale_tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Watch:
    """Return a function that runs a text under the sanitizers: their findings, and how it ended."""
    tools, folder = scale_tools, tmp_path_factory.mktemp("watched")
    establish(scale, tools.compiler, tools.pool, folder / "b", tools.reference)
    (sanitizer,) = backend_named("host").sanitizers(tools.compiler)
    cases = (*tools.train(), *tools.held_out())
    session = Session(scale.target, "host", cases, tools.reference)
    default = scale.original.configuration

    def run(text: str) -> tuple[list[SanitizerFinding], str]:
        variant = Variant(1, text, scale.macros(default), scale.options(default))
        built = build_batch(sanitizer.compiler, [variant], folder / "w")[1]
        assert isinstance(built, Binary)
        watched = watch_program(sanitizer, session, Program(built, dict(default), cases))
        return compiled_in(watched.log, Source("kernel.cu", text)), watched.failure

    return run


def changed(scale: Subject, old: str, new: str) -> str:
    text = scale.reference
    assert old in text
    return text.replace(old, new)


@broad
def test_the_reference_is_clean(scale: Subject, watch: Watch) -> None:
    assert watch(scale.reference) == ([], "")


@broad
def test_how_the_interpreter_ends_is_none_of_the_programs(
    scale: Subject, scale_tools: Tools, tmp_path: Path
) -> None:
    """A driver with an open context may end the process with another status."""
    folder = Path(shutil.copytree(scale.target.folder, tmp_path / "scale"))
    with (folder / "data.py").open("a") as file:
        file.write("\nimport atexit, os\natexit.register(os._exit, 7)\n")
    subject, tools = load_subject(folder, "host"), scale_tools
    establish(scale, tools.compiler, tools.pool, tmp_path / "b", tools.reference)
    (sanitizer,) = backend_named("host").sanitizers(tools.compiler)
    session = Session(subject.target, "host", tools.train(), tools.reference)
    default = scale.original.configuration
    right, wrong = scale.reference, changed(scale, "mine = twice(in[at]);", "mine = 1;")
    failures = []
    for text in (right, wrong):
        variant = Variant(1, text, scale.macros(default), scale.options(default))
        built = build_batch(sanitizer.compiler, [variant], tmp_path / "w")[1]
        assert isinstance(built, Binary)
        program = Program(built, dict(default), tools.train())
        failures.append(watch_program(sanitizer, session, program).failure)
    assert failures[0] == ""
    assert "expected" in failures[1]


def test_faults_are_found_though_the_answers_are_right(scale: Subject, watch: Watch) -> None:
    """A read past a local array, and undefined behaviour in another place."""
    array = "int two[2] = {value, value}; int *p = two; if (p[value & 3] == 98765) sum = 1;"
    shift = "if ((in[at] << (in[at] | 32)) == 98765 && n < 0) mine = 1;"
    text = scale.reference
    for old, new in [
        ("    return sum;", f"    {array}\n    return sum;"),
        ("        mine = twice(in[at]);", f"        mine = twice(in[at]);\n        {shift}"),
    ]:
        assert old in text
        text = text.replace(old, new)
    findings, failure = watch(text)
    assert failure == ""
    assert (findings[0].text, findings[0].kind) == (array, "stack-buffer-overflow, read of 4 bytes")
    assert {finding.text for finding in findings} == {array, shift}
    assert all("shift exponent" in finding.kind for finding in findings if finding.text == shift)


def test_what_a_guard_page_stops_is_a_failure(scale: Subject, watch: Watch) -> None:
    findings, failure = watch(changed(scale, "twice(in[at])", "twice(in[at + 4096])"))
    assert findings == []
    assert "past the end of 'in'" in failure


def test_wrong_answers_are_a_failure(scale: Subject, watch: Watch) -> None:
    findings, failure = watch(changed(scale, "out[at] = mine;", "out[at] = mine + 1;"))
    assert findings == []
    assert "expected" in failure


def test_a_machine_without_them_is_told_so(
    scale_tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"no address sanitizer found: g\+\+ is not on PATH"):
        backend_named("host").sanitizers(scale_tools.compiler)
