"""What users get wrong: one message that says what, where and what to do; nothing half-written."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gi_cuda.backends.cuda.driver import query
from gi_cuda.store import Store
from tests.command import Done, gi_cuda

SCALE = Path(__file__).parents[2] / "targets" / "scale"
BWT_EXACT = Path(__file__).parents[3] / "targets" / "bwt_exact"

Tree = Mapping[str, bytes | None]


def tree(folder: Path) -> Tree:
    """All that is in a folder: every path, with the contents of files."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def is_refused(done: Done, *said: str) -> None:
    """One message on stderr with all of these words, exit status 2, no traceback."""
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert len(re.findall("error", done.stderr, re.I)) >= 1
    if done.stderr.startswith("gi-cuda"):
        assert done.stderr.startswith("gi-cuda: error: ")
        assert done.stderr.count("gi-cuda: error: ") == 1
    for words in said:
        assert words in done.stderr


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
    """How a target in the folder ``t`` is spoilt, what is called, and what must be said, or not."""

    said: tuple[str, ...]
    words: tuple[str, ...] = ("evolve", "t", "--run", "deep/down/run")
    spoil: Callable[[Path], None] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    unsaid: str | None = None


EVOLVE = ("evolve", "t", "--run", "run")

MISTAKES = {
    "no target there": Mistake(
        ("nowhere", "there is no target", "target.toml"), ("evolve", "nowhere")
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
    "no run to resume": Mistake(("t: no run is stored here",), ("resume", "t")),
    "no run to show": Mistake(("nowhere: no run is stored here",), ("show", "nowhere")),
    "no run to patch": Mistake(("t: no run is stored here",), ("patch", "t")),
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


@pytest.fixture
def no_gpu() -> None:
    """Skips where there is a GPU."""
    if query().gpus:
        pytest.skip("there is a GPU, so the cuda back end can be used")


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
def test_no_gpu_and_force_keep_the_run_that_is_there(ran: Path) -> None:
    before = tree(ran)
    is_refused(gi_cuda(*EVOLVE, "--force", "--backend", "cuda", cwd=ran), "gi-cuda doctor")
    assert tree(ran) == before


@pytest.mark.usefixtures("no_gpu")
def test_no_cuda_compiler_says_how_to_install_one(tmp_path: Path) -> None:
    nowhere = {"PATH": "/nowhere", "CUDA_HOME": "", "CUDA_PATH": ""}
    done = gi_cuda("check", str(BWT_EXACT), "--backend", "cuda", cwd=tmp_path, **nowhere)
    is_refused(done)
    assert "install" in done.stderr
    assert tree(tmp_path) == {}


# -- a run, and what does not fit it any more ------------------------------------------------------


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a target ``t`` and a tiny run ``run`` of it that has no winner.

    It took the place of another, and of what a process left that was killed as it made one."""
    folder = tmp_path_factory.mktemp("ran")
    shutil.copytree(SCALE, folder / "t", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "run").mkdir()
    with Store(folder / "run" / "run.db", create=True) as store:
        store.put(champion="another")
    (folder / "run" / "mine").touch()
    (folder / ".run.making" / "reference").mkdir(parents=True)
    sizes = ("--population", "2", "--generations", "1")
    done = gi_cuda(*EVOLVE, "--force", *sizes, cwd=folder)
    assert done.returncode == 0, done.stderr
    with Store(folder / "run" / "run.db") as store:
        store.put(champion=None)
    return folder


def test_a_forced_run_is_a_new_one_and_clears_what_a_killed_process_left(ran: Path) -> None:
    assert {path.name for path in ran.iterdir()} == {"t", "run"}
    assert not (ran / "run" / "mine").exists()
    with Store(ran / "run" / "run.db") as store:
        assert len(store.evaluations()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (EVOLVE, ("run: there is a run already", "gi-cuda resume", "--force")),
        (("patch", "run", "--individual", "7"), ("no individual 7", "gi-cuda show")),
        (("patch", "run", "--output", "t/kernel.cu"), ("t/kernel.cu: the file exists", "--force")),
        (("show", "run", "--individual", "7"), ("no individual 7",)),
        (
            ("history", "run", "--figures", "t/kernel.cu"),
            ("t/kernel.cu: cannot be written: Not a directory",),
        ),
        (
            ("interactions", "run", "--figures", "t/kernel.cu/x"),
            ("t/kernel.cu/x: cannot be written: Not a directory",),
        ),
        (
            ("compare", "run", "--figures", "t/kernel.cu"),
            ("t/kernel.cu: cannot be written: Not a directory",),
        ),
        (("compare", "run", "--csv", "t"), ("t: it is a folder",)),
        (
            ("validate", "run", "--export", "t/data.py/x"),
            ("t/data.py/x: cannot be written: Not a directory",),
        ),
        (("show", "run", "--generation", "7"), ("no generation 7",)),
    ],
    ids=lambda value: " ".join(value[:4]),
)
def test_a_run_is_never_overwritten_and_never_asked_for_what_it_lacks(
    words: tuple[str, ...], said: tuple[str, ...], ran: Path
) -> None:
    before = tree(ran)
    is_refused(gi_cuda(*words, cwd=ran), *said)
    assert tree(ran) == before


def test_a_folder_in_the_place_of_a_figure(ran: Path, tmp_path: Path) -> None:
    (tmp_path / "sizes.png").mkdir()
    done = gi_cuda("history", "run", "--figures", tmp_path, cwd=ran)
    is_refused(done, "sizes.png: it is a folder")
    assert [path.name for path in tmp_path.iterdir()] == ["sizes.png"]


@pytest.mark.parametrize("verb", ["resume", "patch"])
@pytest.mark.parametrize("file", ["kernel.cu", "target.toml", "data.py"])
def test_a_target_that_changed_is_not_mixed_with_old_results(
    verb: str, file: str, ran: Path
) -> None:
    text = (ran / "t" / file).read_bytes()
    marks = {"kernel.cu": b"// changed\n", "target.toml": b'[warps]\nmasks = "device"\n'}
    mark = marks.get(file, b"# changed\n")
    (ran / "t" / file).write_bytes(text + mark)
    try:
        before = tree(ran)
        done = gi_cuda(verb, "run", cwd=ran)
        is_refused(done, f"t/{file}: the target changed since this run began")
        assert tree(ran) == before
    finally:
        (ran / "t" / file).write_bytes(text)


def test_what_is_stored_of_a_target_that_changed_is_still_shown(ran: Path) -> None:
    text = (ran / "t" / "data.py").read_bytes()
    (ran / "t" / "data.py").write_bytes(text + b"# changed\n")
    try:
        for options in ((), ("--individual", "1")):
            done = gi_cuda("show", "run", *options, cwd=ran)
            assert (done.returncode, done.stderr) == (0, "")
            assert "t/data.py: the target changed since this run began" in done.stdout
            assert done.stdout.count("no diff: ") == 1
    finally:
        (ran / "t" / "data.py").write_bytes(text)


def test_a_target_that_is_gone(ran: Path) -> None:
    (ran / "t").rename(ran / "moved")
    try:
        is_refused(gi_cuda("resume", "run", cwd=ran), str(ran / "t"), "there is no target here")
    finally:
        (ran / "moved").rename(ran / "t")


def test_a_database_of_another_format_or_program_is_left_as_it_is(ran: Path) -> None:
    shutil.copytree(ran / "run", ran / "newer")
    with Store(ran / "newer" / "run.db") as store:
        store.put(schema=99)
    (ran / "other").mkdir()
    with closing(sqlite3.connect(ran / "other" / "run.db")) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = tree(ran)
    is_refused(gi_cuda("resume", "newer", cwd=ran), "newer/run.db", "format 99", "new run")
    is_refused(gi_cuda("resume", "other", cwd=ran), "other/run.db", "not a run database")
    assert tree(ran) == before


def test_force_with_a_target_that_fails_its_baseline_keeps_the_run(ran: Path) -> None:
    kernel = ran / "t" / "kernel.cu"
    good = kernel.read_text()
    kernel.write_text(good.replace("int mine = 0;", "int mine = nothing;"))
    before = tree(ran)
    try:
        is_refused(gi_cuda(*EVOLVE, "--force", cwd=ran), "kernel.cu", "nothing")
        assert tree(ran) == before
    finally:
        kernel.write_text(good)
