"""What comes after a search on PTX, and searches that start from a winner, by the verbs themselves:
the real compiler, a pretended GPU. A winner is planted of which is known what it does."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
import typer

from gi_cuda.analyze.champion import Champion, stored_champion
from gi_cuda.analyze.reading import SpeedUp
from gi_cuda.analyze.validation import Validation
from gi_cuda.cli import evolve as evolve_verb
from gi_cuda.cli import explain, history, interactions, minimize, patch, resume, show, validate
from gi_cuda.cuda import Toolkit, query
from gi_cuda.errors import UserError
from gi_cuda.evaluation import Evaluation
from gi_cuda.evolvable import Evolvable
from gi_cuda.execute.model import Survival, Verdict
from gi_cuda.genome import Delete, Genotype, Insert, Replace
from gi_cuda.grammar import RuleType
from gi_cuda.levels import load_evolvable
from gi_cuda.ptx_subject import PtxSubject
from gi_cuda.run import create_run, open_run
from gi_cuda.search import Settings
from gi_cuda.start import Start
from gi_cuda.store import Individual, Phases, Tabued, Tally
from gi_cuda.stored import Plan
from gi_cuda.target import CaseRole
from tests.command import gi_cuda

SCALE = Path(__file__).parents[2] / "targets" / "scale"
SMALL = Settings(population=4, generations=1)
WINNER = 7

pytestmark = pytest.mark.usefixtures("toolkit", "gpu")


def a_run(subject: Evolvable, folder: Path, genotype: str) -> Path:
    """A run whose only individual is its validated winner."""
    with create_run(subject, folder, Plan("barracuda", SMALL, 1, 1, 2)) as run:
        one = Individual(WINNER, 0, genotype, b"winner", None, "random", ())
        run.store.add_generation(0, Tally(1), [one], Tabued())
        evaluation = Evaluation(True, Survival.NORMAL, 0.0, Verdict.FASTER, 0.5, 0.4, 0.6)
        run.store.add_evaluation(WINNER, evaluation)
        run.store.add_phases(0, Phases(wall=2.0), finished=True)
        speed_up = SpeedUp(2.0, 1.9, 2.1)
        validation = Validation(True, "", speed_up, {"held-out": speed_up})
        run.store.put(champion=asdict(Champion(WINNER, genotype, validation)))
    return folder


def statements(subject: PtxSubject) -> list[tuple[str, str]]:
    """The instructions that may change, in order: rule and text."""
    grammar = subject.grammar
    whole = [rule.name for rule in grammar.rules if rule.type is RuleType.STATEMENT]
    return [(name, " ".join(grammar.text(name).split())) for name in whole]


def planted(subject: PtxSubject) -> Genotype:
    """The sum that is compared and never used is not looked at any more, which saves much; an
    instruction is copied and another one moved, which comes to nothing."""
    grammar = subject.grammar
    (compared,) = (
        rule.name
        for rule in grammar.rules
        if rule.type is RuleType.B32
        and "123456789" in grammar.source.text.split("\n")[rule.line - 1]
    )
    found = statements(subject)
    at = next(n for n, (_, text) in enumerate(found) if text.startswith("mov") and "tile" in text)
    (shift, shifted), (tile, _) = found[at - 1 : at + 1]
    assert shifted.startswith("shl")
    *_, wide = (name for name, text in found if text.startswith("mul.wide"))
    first = grammar.donors(compared)[0]
    edits = (Replace(compared, first), Insert(wide, shift), Insert(shift, tile), Delete(tile))
    return Genotype(subject.original.configuration, edits)


@pytest.fixture(scope="module")
def scale_ptx(toolkit: Toolkit) -> PtxSubject:
    subject = load_evolvable(SCALE, "cuda", "ptx")
    assert isinstance(subject, PtxSubject)
    return subject


@pytest.fixture
def run(scale_ptx: PtxSubject, tmp_path: Path) -> Path:
    return a_run(scale_ptx, tmp_path / "run", str(planted(scale_ptx)))


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


def test_patch_writes_a_module_with_the_names_of_the_source_alone(
    run: Path, toolkit: Toolkit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "winner.ptx"
    patch.command(run, output=file, format="ptx", edits="4")
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


def test_without_a_gpu_a_run_can_be_looked_at_and_not_measured(
    run: Path, of_source: Path, tmp_path: Path
) -> None:
    """In processes of their own, where nothing is pretended."""
    if query().gpus:
        pytest.skip("there is a GPU")
    shown = gi_cuda("show", run)
    assert shown.returncode == 0, shown.stderr
    assert "kernel.cu:29" in shown.stdout
    new = tmp_path / "new"
    begun = ("evolve", SCALE, "--level", "ptx", "--backend", "cuda", "--from", of_source)
    verbs = [(verb, run) for verb in ("validate", "minimize", "interactions", "explain", "history")]
    for words in [*verbs, ("patch", run, "--format", "ptx"), (*begun, "--run", new)]:
        done = gi_cuda(*words)
        assert done.returncode == 2, done.stdout
        assert "no GPU can be used" in done.stderr
        assert "Traceback" not in done.stderr
    assert not new.exists()


# -- from a winner of the source ---------------------------------------------------------------

SOURCE_WINNER = "BLOCK=128 CHECKED=1 <_kernel.cu_27>"


@pytest.fixture
def of_source(tmp_path: Path) -> Path:
    """A run on the source whose winner has fewer instructions, other launches and another flag."""
    return a_run(load_evolvable(SCALE, "cuda"), tmp_path / "source", SOURCE_WINNER)


def test_a_start_brings_its_configuration(scale_ptx: PtxSubject) -> None:
    subject = load_evolvable(SCALE, "cuda", "ptx", start=Start("it", "BLOCK=128", "paper"))
    assert isinstance(subject, PtxSubject)
    assert "tile[512];" in subject.made
    assert "tile[256];" in subject.reference == scale_ptx.reference
    assert subject.fingerprint != scale_ptx.fingerprint
    assert subject.launch_values(subject.original.configuration) == "BLOCK=128"
    assert subject.launch_values(subject.standard) == "BLOCK=64"


def begin(folder: Path, **options: object) -> None:
    evolve_verb.command(
        SCALE,
        run=folder,
        **{"backend": "cuda", "level": "ptx", "population": 4, "generations": 2, **options},  # type: ignore[arg-type]
    )


def test_ptx_starts_from_a_source_winner_and_is_timed_beside_the_reference(
    of_source: Path, scale_ptx: PtxSubject, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(tmp_path / "ptx", start=of_source)
    said = capsys.readouterr().out
    assert f"starting from individual {WINNER} of {of_source}, speed-up" in said.replace("\n", " ")
    shutil.rmtree(of_source)  # what resuming needs is in the new run
    resume.command(tmp_path / "ptx", generations=3)
    with open_run(tmp_path / "ptx") as run:
        subject = run.subject
        assert isinstance(subject, PtxSubject)
        assert subject.reference == scale_ptx.reference != subject.made
        assert subject.standard["BLOCK"] == 64
        assert dict(subject.original.configuration) == {"BLOCK": 128, "REPEAT": 1, "CHECKED": 1}
        assert str(subject.original) == ""
        started = run.started
        assert started is not None
        evaluations = run.store.evaluations()
        assert len(evaluations) == 12
        codes = {e.resources["code"]: e.ratio for e in evaluations.values() if e.ratio}
        # What a variant's ratio is of: the code of the reference.
        (reference,) = {round(code / ratio) for code, ratio in codes.items()}
        (alone,) = run.validate([run.candidate(subject.original)])
        assert alone.overall is not None
        assert alone.overall.value == pytest.approx(started.speed_up.value)
        assert started.speed_up.value > 1.2
        (unchanged,) = run.assay(CaseRole.TRAIN)([subject.original])
        assert unchanged.speed_up.value == pytest.approx(1.0)
    assert reference > max(codes)


def test_what_follows_such_a_search_is_measured_over_its_start(
    of_source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "ptx"
    begin(folder, start=of_source)
    with open_run(folder) as run:
        champion = stored_champion(run.store)
    assert champion is not None
    capsys.readouterr()
    minimize.command(folder)
    said = " ".join(capsys.readouterr().out.split())
    assert f"after, over individual {WINNER} of {of_source}" in said
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


def test_a_search_of_source_may_start_from_a_winner_too(of_source: Path, tmp_path: Path) -> None:
    begin(tmp_path / "more", start=of_source, level="source")
    with open_run(tmp_path / "more") as run:
        texts = [one.genotype for one in run.store.individuals()]
        assert run.variation().original == run.subject.read(SOURCE_WINNER)
    assert texts
    assert any("<_kernel.cu_27>" in text and "BLOCK=128" in text for text in texts)


@pytest.mark.parametrize("level", ["source", "ptx"])
def test_runs_that_cannot_be_started_from(
    level: str, of_source: Path, scale_ptx: PtxSubject, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    with pytest.raises(UserError, match="no run"):
        begin(new, start=tmp_path / "nowhere", level=level)
    itself = a_run(scale_ptx, tmp_path / "itself", "<_kernel.ptx_54>")
    with pytest.raises(UserError, match="evolves PTX itself"):
        begin(new, start=itself, level=level)
    with open_run(of_source) as run:
        run.store.put(champion=None)
    with pytest.raises(UserError, match="no validated winner to start from"):
        begin(new, start=of_source, level=level)
    other = tmp_path / "other"
    shutil.copytree(SCALE, other)
    elsewhere = a_run(load_evolvable(other, "cuda"), tmp_path / "elsewhere", "BLOCK=32")
    with pytest.raises(UserError, match="the run is of another target"):
        begin(new, start=elsewhere, level=level)
    assert not new.exists()


def test_a_winner_that_does_not_hold_ends_with_status_1(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught:
        validate.command(run, genotype="<_kernel.ptx_54>+<_kernel.ptx_55>", sanitizers="none")
    assert caught.value.exit_code == 1
    assert "FAILS" in capsys.readouterr().out
