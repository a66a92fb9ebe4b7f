"""Commands after a search on PTX, and searches that start from a winner.

They run with the real compiler and a simulated GPU. The planted winner has known effects.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
import typer

import gi_cuda.runs.tools as run_tools
from gi_cuda.analyze.finalists.winner import stored_winner
from gi_cuda.backends.cuda.driver import query
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.table import open_backend
from gi_cuda.cli.results import (
    explain,
    history,
    interactions,
    minimize,
    patch,
    report,
    show,
    validate,
)
from gi_cuda.cli.search import evolve as evolve_verb
from gi_cuda.cli.search import resume
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import open_store
from gi_cuda.spec import CaseRole
from gi_cuda.subject import Start, Subject
from tests.command import gi_cuda
from tests.sweeps import broad

from .planted import SCALE, SOURCE_WINNER, WINNER, Searched, a_run, begin

pytestmark = pytest.mark.usefixtures("toolkit", "gpu")


@pytest.fixture
def run(planted_run: Path, tmp_path: Path) -> Path:
    """A copy of the planted run, to be written to."""
    return shutil.copytree(planted_run, tmp_path / "run")


def test_minimize_leaves_what_pays_and_the_others_go_on_with_it(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    minimize.command(run)
    assert "1 of 4 changes stay; speed-up on held-out cases" in capsys.readouterr().out
    validate.command(run, sanitizers="none")
    assert "HOLDS: individual 7, minimized" in capsys.readouterr().out
    interactions.command(run)
    assert "groups: gain on top of all others" in capsys.readouterr().out
    history.command(run)
    assert re.search(r"kernel\.cu:29", capsys.readouterr().out)
    assert (run / "figures" / "added.svg").exists()
    show.command(run)
    said = capsys.readouterr().out
    assert re.search(
        r"^  <b32_kernel\.ptx_\d+><b32_kernel\.ptx_[\d.]+>  kernel\.cu:29$", said, re.M
    )
    assert "--- a/kernel.ptx" in said
    explain.command(run)
    said = capsys.readouterr().out
    assert "individual 7, minimized: 1 change\n" in said
    assert re.search(r"replaces an operand, a 32-bit register: %r\d+ becomes %r\d+\n", said)
    assert "depends on" in said or "independent" in said


def test_explain_traces_each_change_to_source_lines(
    run: Path, toolkit: Toolkit, capsys: pytest.CaptureFixture[str]
) -> None:
    explain.command(run)
    said = capsys.readouterr().out
    source = SCALE.joinpath("kernel.cu").read_text("utf-8").split("\n")
    assert "   moves an instruction before another one, with change 2\n" in said
    assert "   moves an instruction away, with change 1\n" in said
    assert "   copies an instruction before another one\n" in said
    assert re.search(
        r"^   changed kernel\.ptx:\d+: setp\.eq\.s32 .*\n     from kernel\.cu:29$", said, re.M
    )
    for number in (28, 29, 30):
        mark = ">" if number == 29 else " "
        assert f"   {mark} {number:5} | {source[number - 1]}".rstrip() in said
    assert re.search(r"a copy of kernel\.ptx:\d+: shl\.b32 .*;\n     from kernel\.cu:24", said)
    assert "its place is executed on: train, held-out" in said
    assert re.search(r"^   code: \d+ becomes \d+$", said, re.M)
    if toolkit.tool("nvdisasm"):
        assert re.search(r"^   instructions, .*: \d+ becomes \d+$", said, re.M)
    assert re.search(r"^-\s+setp\.eq\.s32 .*%r\d+, 123456789;$", said, re.M)


def test_a_page_and_records_of_a_run_on_ptx(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explain.command(run, json=True)
    printed = capsys.readouterr().out
    explained, _ = json.JSONDecoder().raw_decode(printed, printed.index("\n{\n") + 1)
    quotes = [quote for change in explained["changes"] for quote in change["quotes"]]
    assert ["kernel.cu", 29] in [place for one in quotes for place in one["origin"]["places"]]
    report.command([run], output=tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "moves an instruction before another one, with change 2" in text
    assert "its place is executed on: train, held-out" in text
    assert "--level ptx" in text
    assert "--- a/kernel.ptx" in text


def test_patch_writes_a_module_with_the_names_of_the_source_alone(
    run: Path, toolkit: Toolkit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "winner.ptx"
    patch.command(run, output=file, format="ptx", chosen="4")
    assert f"wrote {file}" in capsys.readouterr().out
    text = file.read_text("utf-8")
    assert "// Kernel scale: _Z5scalePKiPii\n" in text
    assert ".visible .entry _Z5scalePKiPii(" in text
    assert "123456789" in text
    assert ".loc" not in text
    cubin = tmp_path / "winner.cubin"
    words = [toolkit.nvcc, "-arch=sm_90", "-cubin", "-o", cubin, file]
    subprocess.run(words, check=True, capture_output=True)
    alone = tmp_path / "alone.cubin"
    subprocess.run(
        [toolkit.nvcc, "-arch=sm_90", "-std=c++17", "-cubin", "-o", alone, SCALE / "kernel.cu"],
        check=True,
        capture_output=True,
    )
    assert b"_Z5scalePKiPii" in cubin.read_bytes()
    assert cubin.stat().st_size < alone.stat().st_size
    with pytest.raises(UserError, match="the file exists"):
        patch.command(run, output=file, format="ptx")


@pytest.mark.parametrize("format", ["diff", "mail"])
def test_a_patch_of_source_is_refused_and_the_way_out_named(format: str, run: Path) -> None:
    with pytest.raises(UserError, match="no source-level patch") as caught:
        patch.command(run, format=format)
    assert "--format ptx" in (caught.value.hint or "")


def test_options_about_patches_of_source_are_refused(run: Path) -> None:
    with pytest.raises(UserError, match="--check is about patches of source"):
        patch.command(run, format="ptx", check=True)


@broad
def test_without_a_gpu_a_run_can_be_looked_at_and_not_measured(
    run: Path, of_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if query().gpus:
        pytest.skip("there is a GPU")
    # In processes of their own, where nothing is pretended.
    shown = gi_cuda("show", run)
    assert shown.returncode == 0, shown.stderr
    assert "kernel.cu:29" in shown.stdout
    done = gi_cuda("validate", run)
    assert done.returncode == 2, done.stdout
    assert "no GPU can be used" in done.stderr
    assert "Traceback" not in done.stderr
    # And here, which saves making the PTX anew.
    for room in (run_tools, evolve_verb):
        monkeypatch.setattr(room, "open_backend", open_backend)
    new = tmp_path / "new"
    for verb in (
        partial(minimize.command, run),
        partial(interactions.command, run),
        partial(explain.command, run),
        partial(history.command, run),
        partial(patch.command, run, format="ptx"),
        partial(begin, new, start=of_source),
    ):
        with pytest.raises(UserError, match="no GPU can be used"):
            verb()
    assert not new.exists()


# -- from a winner of the source ---------------------------------------------------------------


def test_a_start_brings_its_configuration(scale_ptx: Subject) -> None:
    subject = open_subject(SCALE, "cuda", "ptx", start=Start("it", "BLOCK=128", "paper"))
    assert "tile[512];" in subject.parsed.text
    assert "tile[256];" in subject.reference == scale_ptx.reference
    assert subject.fingerprint != scale_ptx.fingerprint
    assert subject.launch_values(subject.original.configuration) == "BLOCK=128"
    assert subject.launch_values(subject.standard) == "BLOCK=64"


def test_ptx_starts_from_a_source_winner_and_is_timed_beside_the_reference(
    searched: Searched, scale_ptx: Subject, tmp_path: Path
) -> None:
    assert (
        f"starting from individual {WINNER} of {searched.start}, speed-up"
        in searched.said.replace("\n", " ")
    )
    folder = shutil.copytree(searched.folder, tmp_path / "ptx")
    resume.command(folder, generations=2)
    with open_run(folder) as run:
        subject = run.subject
        assert subject.reference == scale_ptx.reference != subject.parsed.text
        assert subject.standard["BLOCK"] == 64
        assert dict(subject.original.configuration) == {"BLOCK": 128, "REPEAT": 1, "CHECKED": 1}
        assert str(subject.original) == ""
        started = run.started
        assert started is not None
        evaluations = run.store.evaluations()
        assert len(evaluations) == 8
        codes = {e.resources["code"]: e.ratio for e in evaluations.values() if e.ratio}
        # What a variant's ratio is of: the code of the reference.
        (reference,) = {round(code / ratio) for code, ratio in codes.items()}
        (alone,) = run.validate([candidate(run.subject, subject.original)])
        assert alone.overall is not None
        assert alone.overall.value == pytest.approx(started.speed_up.value)
        assert started.speed_up.value > 1.2
        (unchanged,) = run.measurer(CaseRole.TRAIN)([subject.original])
        assert unchanged.speed_up.value == pytest.approx(1.0)
    assert reference > max(codes)


def test_what_follows_such_a_search_is_measured_over_its_start(
    searched: Searched, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(searched.folder, tmp_path / "ptx")
    with open_run(folder) as run:
        winner = stored_winner(run.store)
    assert winner is not None
    minimize.command(folder)
    said = " ".join(capsys.readouterr().out.split())
    assert f"after, over individual {WINNER} of {searched.start}" in said
    show.command(folder)
    assert f"started from individual {WINNER} of" in capsys.readouterr().out
    explain.command(folder, as_found=True)
    said = capsys.readouterr().out
    assert f"source lines are those of individual {WINNER} of" in said
    patch.command(folder, output=tmp_path / "p.ptx", format="ptx")
    text = (tmp_path / "p.ptx").read_text("utf-8")
    assert "as individual 7 of" in text.split("\n")[0]
    assert "// Configuration: BLOCK=128 CHECKED=1\n" in text
    assert "// To be launched as for: BLOCK=128\n" in text


@broad
def test_a_search_of_source_may_start_from_a_winner_too(of_source: Path, tmp_path: Path) -> None:
    begin(tmp_path / "more", start=of_source, level="source")
    with open_run(tmp_path / "more") as run:
        texts = [one.genotype for one in run.store.individuals()]
        assert run.evolution().variation.original == run.subject.read(SOURCE_WINNER)
    assert texts
    assert any("<_kernel.cu_27>" in text and "BLOCK=128" in text for text in texts)


def test_runs_that_cannot_be_started_from(run: Path, of_source: Path, tmp_path: Path) -> None:
    new, nowhere = tmp_path / "new", tmp_path / "nowhere"
    no_winner = shutil.copytree(of_source, tmp_path / "no-winner")
    with open_store(no_winner) as store:
        store.put(champion=None)
    other = shutil.copytree(SCALE, tmp_path / "other")
    elsewhere = a_run(open_subject(other, "cuda"), tmp_path / "elsewhere", "BLOCK=32")
    for level in ("source", "ptx"):
        for start, why in {
            nowhere: "no run",
            run: "evolves PTX itself",
            no_winner: "no validated winner to start from",
            elsewhere: "the run is of another target",
        }.items():
            with pytest.raises(UserError, match=why):
                begin(new, start=start, level=level)
    assert not new.exists()


def test_a_winner_that_does_not_hold_ends_with_status_1(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught:
        validate.command(run, genotype="<_kernel.ptx_54>+<_kernel.ptx_55>", sanitizers="none")
    assert caught.value.exit_code == 1
    assert "FAILS" in capsys.readouterr().out
