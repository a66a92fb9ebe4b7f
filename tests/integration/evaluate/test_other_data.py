"""What is right on the numbers of a few seeds by chance is told by those of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject

TARGET = """
[target]
name = "level"
source = "level.cu"
kernels = ["level"]
[[parameter]]
name = "HALF"
values = [0, 1]
default = 0
[[buffer]]
name = "in"
type = "int32"
role = "input"
size = "64"
[[buffer]]
name = "out"
type = "int32"
role = "output"
size = "64"
[[launch]]
kernel = "level"
grid = "1"
block = "64"
args = ["in", "out"]
[oracle]
kind = "exact"
[[case]]
name = "one"
role = "train"
args = { seed = 1 }
[[case]]
name = "two"
role = "held-out"
args = { seed = 2 }
"""

SOURCE = """
#ifndef HALF
#define HALF 0
#endif
__global__ void level(const int *in, int *out) {
  int i = threadIdx.x;
  out[i] = HALF && in[i] > 2 ? 0 : VALUE;
}
"""

DATA = """
import numpy as np


def case(seed):
    return {"in": np.full(64, seed, np.int32)}
"""


@contextmanager
def opened(folder: Path, value: str, target: str = TARGET, data: str = DATA) -> Iterator[Tools]:
    source = SOURCE.replace("VALUE", value)
    for name, text in (("target.toml", target), ("level.cu", source), ("data.py", data)):
        (folder / name).write_text(text)
    subject = load_subject(folder, "host")
    with open_tools(subject, folder / "scratch", workers=1, jobs=1) as tools:
        yield tools


def test_what_is_right_by_chance_is_told(tmp_path: Path) -> None:
    with opened(tmp_path, "in[i] + i") as tools:
        wrong = candidate(tools.subject, tools.subject.read("HALF=1"))
        objection = tools.certification.other_data.objection(wrong)
        assert "with other random numbers in its inputs it is wrong: " in objection
        assert "-seed-" in objection
        assert tools.certification.other_data.objection(unmodified(tools.subject)) == ""


def test_where_all_answers_are_one_value_nothing_is_certified(tmp_path: Path) -> None:
    with opened(tmp_path, "7") as tools:
        objection = tools.certification.other_data.objection(unmodified(tools.subject))
    assert "one value everywhere" in objection


@pytest.mark.parametrize(
    ("argument", "value"), [("level", "in[i] + i"), ("seed", "in[i] > 2 ? 1 / (in[i] * 0) : i")]
)
def test_where_that_cannot_be_asked_nothing_is_said(
    argument: str, value: str, tmp_path: Path
) -> None:
    """The cases have no seeds, or the reference itself fails with others."""
    target, data = (text.replace("seed", argument) for text in (TARGET, DATA))
    with opened(tmp_path, value, target, data) as tools:
        wrong = candidate(tools.subject, tools.subject.read("HALF=1"))
        assert tools.certification.other_data.objection(wrong) == ""
