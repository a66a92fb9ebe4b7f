"""Ideas from outside: files and a program, from the command line to the winner."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store
from tests.command import gi_cuda

KERNEL = """\
__global__ void weigh(const float *in, float *out, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int k = 0; k <= radius; k++) {
            float norm = 0.0f;
            for (int j = 0; j < 8 * radius; j++) norm += 1.0f / (1.0f + j);
            sum += norm * in[(i + k) % n];
        }
        out[i] = sum;
    }
}
int main() {
    int n = 5000, radius = 8;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    weigh<<<(n + 127) / 128, 128>>>(in, out, n, radius);
    return 0;
}
"""

LOOP = """\
            float norm = 0.0f;
            for (int j = 0; j < 8 * radius; j++) norm += 1.0f / (1.0f + j);
"""
SUM = "        float sum = 0.0f;\n"
GOOD = KERNEL.replace(LOOP, "").replace(SUM, SUM + LOOP)
BAD = GOOD.replace("i < n)", "i < n - 1)").replace("n = 5000", "n = 6000")
"""With a change that is wrong, and one in host code."""

ASKED = """\
import json, sys
told = json.load(sys.stdin)
json.dump(told, open("told.json", "w"))
text = told["files"]["weigh.cu"]
rewritten = text.replace("sum += norm", "sum = sum + norm")
json.dump([{"name": "a sum", "source": rewritten}, "nonsense"], sys.stdout)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target, and an idea of which two changes are good together and one is wrong."""
    folder = tmp_path_factory.mktemp("ideas")
    (folder / "weigh.cu").write_text(KERNEL)
    (folder / "ideas").mkdir()
    (folder / "ideas" / "weigh.cu").write_text(BAD)
    (folder / "ideas" / "notes.txt").write_text("Move the loop out.\n")
    (folder / "ask.py").write_text(ASKED)
    done = gi_cuda("init", "weigh.cu", "-o", "t", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def searched(place: Path) -> Any:
    sizes = ("--population", 24, "--generations", 1, "--run", "r")
    done = gi_cuda("evolve", "t", "--ideas", "ideas", *sizes, cwd=place)
    assert done.returncode == 0, done.stderr
    return done


def test_good_and_bad_changes_of_a_patch_are_told_apart(searched: Any, place: Path) -> None:
    assert "idea 1, weigh.cu: 3 changes, 1 in host code left out" in searched.stdout
    assert "left out notes.txt: there is no kernel" in searched.stdout
    with Store(place / "r" / DATABASE) as store:
        evaluated = store.evaluations()
        found = {one.genotype: evaluated[one.ident].outcome for one in store.individuals()}
    wrong, *good = [f"<idea_weigh.cu_{n}><idea_K1h{k}>" for n, k in ((3, 1), (5, 2), (8, 3))]
    assert found[" ".join([wrong, *good])] is found[wrong] is Outcome.WRONG
    assert found[" ".join(good)] is Outcome.FASTER
    changes = searched.stdout.split("its changes:")[1]
    assert all(one in changes for one in good)
    assert wrong not in changes
    assert "takes change 2 of 4 of weigh.cu" in changes


def test_a_patch_says_where_its_changes_come_from(searched: Any, place: Path) -> None:
    """And how far its answers are from the original's."""
    done = gi_cuda("patch", "r", "--format", "mail", "--sender", "A <a@b.c>", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "--ideas ideas/weigh.cu" in done.stdout
    assert "of weigh.cu" in done.stdout
    assert "Its answers on the held-out cases" in done.stdout


def test_a_program_is_told_and_asked(searched: Any, place: Path) -> None:
    command = shlex.join([sys.executable, "ask.py"])
    done = gi_cuda("resume", "r", "--generations", 2, "--ask", command, cwd=place)
    assert done.returncode == 0, done.stderr
    assert "idea 2, a sum: 1 change" in done.stdout
    assert "left out answer 2: there is no kernel" in done.stdout
    told = json.loads((place / "told.json").read_text())
    assert told["kernels"] == ["weigh"]
    assert told["profile"]["seconds"] > 0
    assert told["best"][0]["speed_up"] > 1
    assert told["best"][0]["patch"].startswith("diff --git")
    (first,) = told["ideas"]
    assert (first["name"], first["outcome"]) == ("weigh.cu", "wrong")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ideas", "ideas/notes.txt"), "none of these is a patch of the target's source"),
        (("--ideas", "nowhere"), "cannot be read"),
        (("--ideas", "ideas", "--bnf", "a", "--scope", "b"), "cannot be read"),
    ],
)
def test_what_is_no_idea_is_an_error(words: tuple[str, ...], said: str, place: Path) -> None:
    done = gi_cuda("evolve", "t", "--run", "other", *words, cwd=place)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "other").exists()
