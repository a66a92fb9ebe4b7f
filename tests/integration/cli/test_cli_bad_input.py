"""Mistakes of users: one message with place and remedy; nothing is half-written."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.command import Done, gi_cuda
from tests.integration.cli.refusing import EVOLVE, SCALE, Tree, is_refused, tree

BWT_EXACT = Path(__file__).parents[3] / "targets" / "bwt_exact"


def swap(file: str, old: str, new: str) -> Callable[[Path], None]:
    """A mistake: in a file of the target, one text for another."""

    def spoil(target: Path) -> None:
        text = (target / file).read_text(encoding="utf-8")
        assert old in text
        (target / file).write_text(text.replace(old, new), encoding="utf-8")

    return spoil


def write(file: str, text: str) -> Callable[[Path], None]:
    return lambda target: (target / file).write_text(text, encoding="utf-8") and None


def all_of(*mistakes: Callable[[Path], None]) -> Callable[[Path], None]:
    def spoil(target: Path) -> None:
        for mistake in mistakes:
            mistake(target)

    return spoil


def oracle(body: str) -> Callable[[Path], None]:
    """An oracle of the target's own."""
    return all_of(
        write("oracle.py", f"def judge(case, outputs, reference):\n    {body}\n"),
        swap("target.toml", 'kind = "exact"', 'kind = "python"\nfunction = "oracle.py:judge"'),
    )


def convert_and_change(target: Path) -> None:
    """A grammar by convert, then an edit by hand that the source does not match."""
    done = gi_cuda("convert", "t", cwd=target.parent)
    assert done.returncode == 0, done.stderr
    swap("kernel.cu.bnf", '"    int waste = 0;\\n"', '"    int waste = 1;\\n"')(target)


def without_parameters(target: Path) -> None:
    """No [[parameter]] and no [[constraint]]; what they were is in the source."""
    text = (target / "target.toml").read_text(encoding="utf-8")
    tables = re.split(r"(?m)^(?=\[)", text)
    kept = [one for one in tables if not one.startswith(("[[parameter]]", "[[constraint]]"))]
    spoilt = re.sub(r"\b(BLOCK)\b", "64", "".join(kept))
    (target / "target.toml").write_text(spoilt, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A way to spoil the target in the folder ``t``, a command, and expected words of its message.

    Attributes:
        said: words of the message.
        words: the command.
        spoil: changes the target.
        environment: variables of the command.
        unsaid: a text that the message must not have.
    """

    said: tuple[str, ...]
    words: tuple[str, ...] = ("evolve", "t", "--run", "deep/down/run")
    spoil: Callable[[Path], None] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    unsaid: str | None = None


MISTAKES = {
    "no target there": Mistake(
        ("nowhere: there is no target", "the targets here: t"), ("evolve", "nowhere")
    ),
    "malformed TOML": Mistake(
        ("t/target.toml:12: ", "not TOML"),
        spoil=swap("target.toml", 'name = "BLOCK"', 'name "BLOCK"'),
    ),
    "unknown key": Mistake(
        ("t/target.toml:16: parameter[0].hlep", "help"),
        spoil=swap("target.toml", 'help = "threads per block"', 'hlep = "threads per block"'),
    ),
    "value of the wrong type": Mistake(
        ("t/target.toml:14: parameter[0].values",),
        spoil=swap("target.toml", "values = [32, 64, 128]", "values = 32"),
    ),
    "unknown kernel": Mistake(
        ("scal", "scale"),
        spoil=all_of(
            swap("target.toml", 'kernels = ["scale"]', 'kernels = ["scal"]'),
            swap("target.toml", 'kernel = "scale"', 'kernel = "scal"'),
        ),
    ),
    "no source": Mistake(
        ("t/target.toml:4: target.source", "kernel.cu"), spoil=lambda t: (t / "kernel.cu").unlink()
    ),
    "source that is not text": Mistake(
        ("kernel.cu", "text"), spoil=lambda t: (t / "kernel.cu").write_bytes(b"\0\1\2") and None
    ),
    "source that does not compile": Mistake(
        ("t/kernel.cu:20: the source does not compile", "'nothing'", "target.toml"),
        spoil=swap("kernel.cu", "int waste = 0;", "int waste = nothing;"),
    ),
    "source that does not preprocess": Mistake(
        ("t/kernel.cu:2: ", "does not compile", "the header 'missing.h' is not found", "include"),
        spoil=swap("kernel.cu", "#ifndef BLOCK\n", '#include "missing.h"\n#ifndef BLOCK\n'),
    ),
    "header of CUDA's toolkit on the host": Mistake(
        ("t/kernel.cu:3: the host back end has no <cusparse.h>", "--backend cuda"),
        ("check", "t"),
        swap("kernel.cu", "#ifndef BLOCK\n", "\n#include <cusparse.h>\n#ifndef BLOCK\n"),
        unsaid="stdin",
    ),
    "variants of a source that lacks a header": Mistake(
        ("t/kernel.cu:2: ", "the header 'missing.h' is not found"),
        ("mutate", "t", "--compile"),
        swap("kernel.cu", "#ifndef BLOCK\n", '#include "missing.h"\n#ifndef BLOCK\n'),
    ),
    "constraint that excludes the default": Mistake(
        ("t/target.toml:32: constraint[0].that", "excludes the default", "BLOCK = 64"),
        spoil=swap("target.toml", "BLOCK * REPEAT <= 128", "BLOCK * REPEAT > 64"),
    ),
    "oracle that rejects the reference": Mistake(
        ("t/target.toml", "rejects the reference on case 'train'", "penalty 3"),
        spoil=oracle("return 3.0"),
    ),
    "oracle that accepts everything": Mistake(
        ("t/target.toml", "every statement deleted passes the oracle", "[oracle]"),
        ("check", "t"),
        oracle("return 0.0"),
    ),
    "oracle that fails": Mistake(
        ("oracle.py", "ZeroDivisionError"), spoil=oracle("return 1 / 0"), unsaid="sigma"
    ),
    "oracle that says yes": Mistake(
        ("oracle.py:judge returned True; it returns the penalty, 0 is acceptable",),
        spoil=oracle("return True"),
        unsaid="sigma",
    ),
    "inputs that end the program": Mistake(
        ("t/data.py:", "case() failed: SystemExit: 3", "case 'train'"),
        ("check", "t"),
        swap("data.py", "rng = ", "raise SystemExit(3); rng = "),
    ),
    "inputs that cannot be made": Mistake(
        ("data.py", "KeyError"), spoil=swap("data.py", "rng = ", "{}['x']; rng = ")
    ),
    "reference that crashes": Mistake(
        ("t/kernel.cu", "the reference failed", "crashed"),
        spoil=swap("kernel.cu", "out[at] = mine;", "out[at + (1 << 28)] = mine;"),
    ),
    "launch that the device refuses": Mistake(
        ("target.toml:51", "4096", "change that"),
        spoil=swap("target.toml", 'block = ["BLOCK"]', 'block = ["BLOCK * 64"]'),
    ),
    "grammar that no longer matches the source": Mistake(
        ("kernel.cu.bnf:", "does not match line 20 of kernel.cu", "convert"),
        (*EVOLVE, "--bnf", "t/kernel.cu.bnf", "--scope", "t/kernel.cu.scope"),
        convert_and_change,
    ),
    "half a grammar": Mistake(
        ("--bnf and --scope",), (*EVOLVE, "--bnf", "t/kernel.cu"), lambda t: None
    ),
    "grammar that is not there": Mistake(
        ("no.bnf",), (*EVOLVE, "--bnf", "no.bnf", "--scope", "no.scope")
    ),
    "no compiler": Mistake(
        ("no C++ compiler", "install"), environment={"PATH": "/nowhere", "CXX": ""}
    ),
    "a compiler that is not there": Mistake(
        ("CXX", "no-such-compiler"), environment={"CXX": "no-such-compiler"}
    ),
    "a compiler that makes nothing": Mistake(
        ("CXX: ", "makes nothing", "/bin/true"), environment={"CXX": "/bin/true"}, unsaid="cache"
    ),
    "a source instead of a target": Mistake(
        ("t/kernel.cu: this is a CUDA source", "gi-cuda init t/kernel.cu"),
        ("check", "t/kernel.cu"),
    ),
    "nothing to tune": Mistake(
        ("t/target.toml", "nothing to tune", "[[parameter]]"),
        (*EVOLVE, "--preset", "tune"),
        without_parameters,
    ),
    "run in the place of a file": Mistake(
        ("t/kernel.cu: there is a file in the place of the run", "--run"),
        ("evolve", "t", "--run", "t/kernel.cu"),
    ),
    "unknown preset": Mistake(
        ("--preset", "'barracudda'", "barracuda"), (*EVOLVE, "--preset", "barracudda")
    ),
    "unknown back end": Mistake(("--backend", "'gpu'", "host"), ("check", "t", "--backend", "gpu")),
    "no population": Mistake(("--population",), (*EVOLVE, "--population", "0")),
    "unknown option": Mistake(("--poplation", "--population"), (*EVOLVE, "--poplation", "9")),
    "run in a place that is a file": Mistake(
        ("t/kernel.cu", "--run"), ("evolve", "t", "--run", "t/kernel.cu/run")
    ),
    "folder that is no run to overwrite": Mistake(
        ("t: ", "not a run", "--force"), ("evolve", "t", "--run", "t", "--force")
    ),
    "no run to resume": Mistake(
        ("t: no run is stored here: it is a target", "gi-cuda evolve t"), ("resume", "t")
    ),
    "no run to show": Mistake(
        ("nowhere: no run is stored here", "gi-cuda evolve TARGET"), ("show", "nowhere")
    ),
    "a source for a run": Mistake(
        ("t/kernel.cu: no run is stored here: it is a source", "gi-cuda init t/kernel.cu"),
        ("patch", "t/kernel.cu"),
    ),
    "a target to compare": Mistake(
        ("t: no run is stored here: it is a target", "gi-cuda evolve t"), ("compare", "t")
    ),
    "a target to report of": Mistake(("t: no run is stored here: it is",), ("report", "t")),
    "no target named": Mistake(
        ("evolve TARGET: no target is named", "the targets here: t"), ("evolve",)
    ),
    "no run named": Mistake(
        ("show RUN: no run is named", "gi-cuda evolve TARGET makes a run"), ("show",)
    ),
    "two targets": Mistake(("evolve TARGET: it takes one target at a time",), ("evolve", "t", "u")),
    "a folder of targets": Mistake(
        ("target.toml: there is no target here", "the targets here: t"), ("check", ".")
    ),
    "a source without a command": Mistake(
        ("t/kernel.cu: a command comes before a file or folder", "gi-cuda init t/kernel.cu"),
        ("t/kernel.cu",),
    ),
    "a time that is none": Mistake(
        ("--time: 5x is not a time", "10m"), ("evolve", "t", "--time", "5x")
    ),
    "a run where nothing can be made": Mistake(
        ("/proc/run: cannot create the run folder", "choose another one with --run"),
        ("evolve", "t", "--run", "/proc/run"),
        unsaid="--debug",
    ),
    "a rule that is none": Mistake(
        ("genotype 1, column 1: there is no rule <_kernel.cu_999>", "convert TARGET --explain"),
        ("try", "t", "<_kernel.cu_999>"),
        unsaid="did you mean",
    ),
    "a kernel with a slip": Mistake(
        ("t/bad.cu:2: the source does not compile", "nothing is written"),
        ("init", "t/bad.cu"),
        write("bad.cu", "__global__ void f(float *x, int n) {\n    if (n) x[0] = 2 * x[0]\n}\n"),
    ),
    "text for a source": Mistake(
        ("t/notes.txt: not a CUDA source (.cu, .cuh)",),
        ("init", "t/notes.txt"),
        write("notes.txt", "precious"),
    ),
    "database that is none": Mistake(
        ("t/run.db: not a run database",), ("show", "t"), write("run.db", "plain text\n" * 99)
    ),
    "grammar where another is": Mistake(
        ("kernel.cu.scope: the file exists", "--force"),
        ("convert", "t"),
        write("kernel.cu.scope", "precious"),
    ),
    "grammar into a file": Mistake(
        ("t/data.py", "cannot be written"), ("convert", "t", "-o", "t/data.py")
    ),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Future[Done]]]:
    """All of them at work, two at a time, in the order of the tests."""

    # Here, since two threads that ask for a new folder at once may get the same.
    folders = {name: tmp_path_factory.mktemp("mistake") for name in MISTAKES}

    def run(name: str) -> tuple[Done, Tree, Tree]:
        mistake = MISTAKES[name]
        folder = folders[name]
        shutil.copytree(SCALE, folder / "t", ignore=shutil.ignore_patterns("__pycache__"))
        if mistake.spoil:
            mistake.spoil(folder / "t")
        before = tree(folder)
        done = gi_cuda(*mistake.words, cwd=folder, **mistake.environment)
        return done, before, tree(folder)

    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(run, name) for name in MISTAKES}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused_with_one_clear_message(
    name: str, answers: Mapping[str, Future[tuple[Done, Tree, Tree]]]
) -> None:
    done, before, after = answers[name].result()
    mistake = MISTAKES[name]
    is_refused(done, *mistake.said)
    assert mistake.unsaid is None or mistake.unsaid not in done.stderr
    assert after == before


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = gi_cuda("--debug", "show", "nowhere", cwd=tmp_path)
    assert done.returncode != 0
    assert "Traceback" in done.stderr
    assert "no run is stored here" in done.stderr


# -- the cuda back end where it cannot be used ---------------------------------------------------


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    "words",
    [("evolve", str(BWT_EXACT), "--run", "deep/run"), ("check", str(BWT_EXACT))],
    ids=lambda words: words[0],
)
def test_no_gpu_is_one_clear_message_and_leaves_nothing(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    done = gi_cuda(*words, "--backend", "cuda", cwd=tmp_path)
    is_refused(done, "gi-cuda doctor")
    assert tree(tmp_path) == {}


@pytest.mark.usefixtures("no_gpu")
def test_no_cuda_compiler_says_how_to_install_one(tmp_path: Path) -> None:
    nowhere = {"PATH": "/nowhere", "CUDA_HOME": "", "CUDA_PATH": ""}
    done = gi_cuda("check", str(BWT_EXACT), "--backend", "cuda", cwd=tmp_path, **nowhere)
    is_refused(done)
    assert "install" in done.stderr
    assert tree(tmp_path) == {}


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_the_cpu_is_used_and_why_is_said(tmp_path: Path) -> None:
    done = gi_cuda("try", str(SCALE), "", cwd=tmp_path, GI_CUDA_BACKEND="auto")
    assert done.returncode == 0
    said, *_ = done.stderr.splitlines()
    assert said.startswith("variants run on the CPU, and its times say nothing about a GPU's: ")
