"""Mistakes in what is typed: each answer names what, where and what to do, on any terminal.

Those that need a run are in ``tests/integration/cli``. ``python -m tests.unit.cli.test_mistakes``
prints all mistakes here with their answers, as wide as the terminal (``COLUMNS=80``).
"""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.cli import app
from gi_cuda.errors import UserError

SCALE = Path(__file__).parents[2] / "targets" / "scale"

HERE = "the targets here: t"
RUNS = "the runs here: runs/one"
MISTAKES = {
    # A command.
    "evolv t": ("No such command 'evolv'", "Did you mean 'evolve'?"),
    "frobnicate": ("No such command 'frobnicate'", "Try 'gi-cuda -h' for help."),
    "help nothing": ("No such command 'nothing'", "Try 'gi-cuda -h' for help."),
    "t": ("t: a command comes before a file or folder", "gi-cuda evolve t"),
    "runs/one": ("runs/one: a command comes before a file or folder", "gi-cuda show runs/one"),
    "./t/kernel.cu": ("./t/kernel.cu: a command comes before", "gi-cuda init ./t/kernel.cu"),
    "--verbose": ("No such option: --verbose", "Try 'gi-cuda -h' for help."),
    "-v": ("No such option: -v", "Try 'gi-cuda -h' for help."),
    # A target.
    "check": ("check TARGET: no target is named", f"type gi-cuda check TARGET; {HERE}"),
    "try": ("try TARGET: no target is named", HERE),
    "repeat": ("repeat TARGET: no target is named", HERE),
    "repeat nowhere": ("nowhere: there is no target here", HERE),
    "convert nowhere": ("nowhere: there is no target here", HERE),
    "convert t/data.py": ("data.py: there is no kernel", "name the file that defines"),
    "mutate t/data.py": ("t/data.py: there is no target here", HERE),
    "convert runs/one": ("there is no target here: it is a run", "gi-cuda resume runs/one"),
    "convert t --explain kernel.cu": ("convert TARGET: it takes one target", "gi-cuda convert -h"),
    # A run.
    "report": ("report RUN: no run is named", RUNS),
    "compare": ("compare CONTESTANT: no contestant is named", RUNS),
    "compare nowhere": ("--target: no contestant is a run", RUNS),
    "compare '<x>' --target nowhere": ("nowhere: there is no target here", HERE),
    "show runs/one extra": ("show RUN: it takes one run at a time", "gi-cuda show -h"),
    "resume nowhere": ("nowhere: no run is stored here", RUNS),
    "minimize runs": ("runs: no run is stored here", RUNS),
    "validate t": ("t: no run is stored here: it is a target", "gi-cuda evolve t"),
    "patch t/target.toml": ("it is a target", "gi-cuda evolve t/target.toml"),
    "explain nowhere --history": ("nowhere: no run is stored here", RUNS),
    "explain runs/one --histroy": ("No such option: --histroy", "--history", "gi-cuda explain -h"),
    "runs nowhere": ("nowhere: there is no run in this folder", "gi-cuda runs FOLDER"),
    "runs t/notes.txt": ("t/notes.txt: there is no run in this folder", "gi-cuda runs FOLDER"),
    # A source.
    "init": ("FILE: no source file is named", "gi-cuda init FILE.cu"),
    "init nowhere.cu": ("nowhere.cu: there is no file", "gi-cuda init PATH/FILE.cu"),
    "init t/kernle.cu": ("t/kernle.cu: there is no file", "the sources here: t/kernel.cu"),
    "init t": ("t: this is a folder, and a CUDA source", "the sources here: t/kernel.cu"),
    "init --example nothing": ("--example: there is no example 'nothing'", "one of: bwt_exact"),
    "init t/kernel.cu --example bwt_exact": ("FILE is for a source", "leave out one of the"),
    "capture": ("Missing argument 'COMMAND'", "Try 'gi-cuda capture -h' for help."),
    # A value.
    "evolve t --preset": ("Option '--preset' requires an argument", "Try 'gi-cuda evolve -h'"),
    "patch runs/one -o": ("Option '-o' requires an argument", "Try 'gi-cuda patch -h' for help."),
    "evolve t --preset my:": ("--preset: my cannot be imported", "MODULE:NAME names a"),
    "evolve t --seed x": ("Invalid value for '--seed'", "integer", "Try 'gi-cuda evolve -h'"),
    "evolve t --generations 0": ("Invalid value for '--generations'", "1", "gi-cuda evolve -h"),
    "evolve t --jobs 99999": ("Invalid value for '--jobs'", "1024", "gi-cuda evolve -h"),
    "evolve t --time -5": ("--time: -5 is not a time", "40s, 10m or 1h"),
    "evolve t --time 10h30": ("--time: 10h30 is not a time", "40s, 10m or 1h"),
    "evolve t --level sass": ("--level: there is no level 'sass'", "one of: source, ptx"),
    "evolve t --level ptx": ("--level: the host back end does not run PTX", "--backend cuda"),
    "evolve t --edits some": ("--edits: there is no set of edits 'some'", "one of: paper"),
    "evolve t --devices 9": ("--devices: there is no device 9", "with commas between: 0"),
    "evolve t --devices x": ("--devices: 'x' is no list of device numbers", "all, or"),
    "evolve t --objective best": ("--objective does not take 'best'", "one of: each, geomean"),
    "evolve t --from t": ("t: no run is stored here: it is a target", "gi-cuda evolve t"),
    "evolve t --ideas no.patch": ("--ideas no.patch: cannot be read", "name patches"),
    "evolve t --scope x.scope": ("only one was given", "both --bnf and --scope", "gi-cuda convert"),
    "repeat t --seeds 1-10": ("--seeds: '1-10' names no seeds", "e.g. 1..10"),
    "repeat t --seeds 10..1": ("--seeds: '10..1' names no seeds", "e.g. 1..10"),
    "repeat t --seed 1": ("No such option: --seed", "--seeds", "gi-cuda repeat -h"),
    "repeat t --into t/notes.txt": ("t/notes.txt: there is a file in the place", "--into"),
    "mutate t --sample 0": ("Invalid value for '--sample'", "1", "Try 'gi-cuda mutate -h'"),
    "patch runs/one --format html": ("--format does not take 'html'", "one of: diff, mail"),
    "try t": ("gi-cuda try: no genotype is named", "--file"),
    "try t NOTHING=1": ("genotype 1, column 1: there is no parameter NOTHING", "BLOCK, REPEAT"),
    "try t BLOCK=63": ("genotype 1, column 7: BLOCK does not take the value 63", "32, 64, 128"),
    "try t 'BLOCK=128 REPEAT=2'": ("breaks the constraint `BLOCK * REPEAT <= 128`", "enough"),
    "try t '<'": ("genotype 1, column 1: `<` was not expected", "write NAME=value"),
}
"""Words that are typed beside a target ``t`` and a run ``runs/one``, and the answer."""

SOURCE = """#define SIDE 64
#include "twice.h"

__global__ void k(const float *a, float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = 0.0f; // a sum
        for (int j = 0; j < 4; j++)
            s += twice(a[i]) * j;
        b[i] = s;
    }
}

int main()
{
    k<<<64, SIDE>>>(nullptr, nullptr, 4096);
}
"""
HEADER = "__device__ inline float twice(float x)\n{\n    return 2.0f * x;\n}\n"
SLIPS = {
    "no semicolon": ("b[i] = s;", "b[i] = 2 * s", "k.cu:11: the source does not compile: expected"),
    "no semicolon after a declaration": ("0.0f;", "0.0f", "k.cu:9: the source does not compile: "),
    "no brace after if": ("    }\n}", "}", "k.cu:7: the source does not compile: this '{' is not"),
    "no brace after a kernel": (
        "    }\n}",
        "    }\n",
        "k.cu:5: the source does not compile: this '{'",
    ),
    "no brace before": ("(i < n) {", "(i < n)", "k.cu:12: the source does not compile: this '}'"),
    "a brace too many": (
        "    }\n}",
        "    }\n}\n}",
        "k.cu:14: the source does not compile: this '}'",
    ),
    "no parenthesis after if": ("i < n)", "i < n", "k.cu:7: the source does not compile: this '('"),
    "no parenthesis after for": ("j++)", "j++", "k.cu:9: the source does not compile: this '(' is"),
    "no parenthesis after a call": (
        "[i])",
        "[i]",
        "k.cu:10: the source does not compile: this '('",
    ),
    "no bracket": ("b[i]", "b[i", "k.cu:11: the source does not compile: this '[' is not closed"),
    "a comment without end": (
        "// a sum",
        "/* a sum",
        "k.cu:8: the source does not compile: this c",
    ),
    "no #endif": ("#define", "#ifndef SIDE\n#define", "k.cu:1: its directives cannot be preproc"),
    "in a header": ("return 2.0f * x;\n}", "return 2.0f * x;\n", "twice.h:2: the source does not"),
}
"""Texts of a source or its header, what somebody wrote in their place, and the answer of init."""


@pytest.fixture(scope="module", params=[80, 200], ids="{} columns".format)
def columns(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def make(folder: Path) -> None:
    """Make the target, and the run that mistakes are typed beside."""
    shutil.copytree(SCALE, folder / "t", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "t/notes.txt").touch()
    (folder / "runs/one").mkdir(parents=True)
    (folder / "runs/one/run.db").touch()


def answer(typed: str, columns: int) -> tuple[str, int]:
    """Type something, and return all that is said, with the exit status."""
    done = CliRunner().invoke(app, shlex.split(typed), terminal_width=columns, prog_name="gi-cuda")
    if isinstance(done.exception, UserError):  # which `main` prints, and ends with status 2
        return f"{done.output}gi-cuda: error: {done.exception}", 2
    return done.output, done.exit_code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    make(made)
    return made


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(folder)
    before = {path: path.stat().st_size for path in folder.rglob("*")}
    yield
    assert {path: path.stat().st_size for path in folder.rglob("*")} == before


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_answered_with_what_where_and_what_to_do(typed: str, columns: int) -> None:
    said, status = answer(typed, columns)
    assert status == 2
    lines = " ".join(re.sub("[│╭╮╰╯─]", " ", said).split())
    for words in MISTAKES[typed]:
        assert words in lines
    assert all(len(line) <= columns for line in said.splitlines() if line[:1] in "│╭╰")
    assert "Traceback" not in said


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_a_source_is_answered_at_its_line_and_nothing_is_written(
    slip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, status = slipped(slip)
    assert status == 2
    assert SLIPS[slip][2] in found
    assert "nothing is written" in found
    assert sorted(one.name for one in tmp_path.iterdir()) == ["k.cu", "twice.h"]


def slipped(slip: str) -> tuple[str, int]:
    """Write a source with a slip, and return what ``init`` says of it."""
    before, after, _ = SLIPS[slip]
    for name, text in {"k.cu": SOURCE, "twice.h": HEADER}.items():
        Path(name).write_text(text.replace(before, after, 1))
    return answer("init k.cu", 80)


def main() -> None:
    """Print each mistake with its answer."""
    columns = shutil.get_terminal_size().columns
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        make(Path(scratch))
        for typed in MISTAKES:
            print(f"$ gi-cuda {typed}\n{answer(typed, columns)[0].strip()}\n")
        for slip in SLIPS:
            print(f"$ gi-cuda init k.cu    # {slip}\n{slipped(slip)[0].strip()}\n")


if __name__ == "__main__":
    main()
