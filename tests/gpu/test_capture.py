"""The example application, from ``make`` to a mail patch, as users run it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.capture.launches.library import build_library
from gi_cuda.errors import UserError
from tests.gpu.test_device_cli import cli

EXAMPLE = Path(__file__).parents[2] / "examples" / "heat"
ARGUMENTS = ("1024", "768", "12")


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built, in a repository of its own."""
    try:
        build_library()
    except UserError as error:
        pytest.skip(error.what)
    folder = tmp_path_factory.mktemp("example") / "heat"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("heat", "targets", "runs"))
    who = ("-c", "user.email=a@example.org", "-c", "user.name=A")
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "heat"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    nvcc = f"NVCC={find_toolkit().nvcc}"
    subprocess.run(["make", nvcc, "NVCCFLAGS=-O3 -arch=native"], cwd=folder, check=True)
    return folder


def run(folder: Path, *words: str) -> str:
    """Return the output of the application without gi-cuda."""
    command = ["./heat", *(words or ARGUMENTS)]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, encoding="utf-8"
    ).stdout


def test_its_kernels_are_listed_and_its_output_is_the_same(heat: Path) -> None:
    listed = cli("capture", "--", "./heat", *ARGUMENTS, cwd=heat)
    assert listed.returncode == 0
    rows = [line.split() for line in listed.stdout.splitlines()]
    assert {row[0]: row[1] for row in rows if row[:1] in (["diffuse"], ["change"])} == {
        "diffuse": "12",
        "change": "12",
    }
    assert run(heat) in listed.stdout


def test_from_the_application_to_a_mail(heat: Path) -> None:
    captured = cli("capture", "--kernel", "diffuse", "--", "./heat", *ARGUMENTS, cwd=heat)
    assert captured.returncode == 0
    words = ("capture", "--add", "targets/diffuse", "--", "./heat", "301", "77", "3")
    assert cli(*words, cwd=heat).returncode == 0
    checked = cli("check", "targets/diffuse", "--backend", "cuda", cwd=heat)
    assert checked.returncode == 0
    assert checked.stdout.count("the answers known, bit for bit") == 7
    words = ("evolve", "targets/diffuse", "--backend", "cuda", "--run", "runs/d")
    evolved = cli(*words, "--population", "60", "--generations", "30", "--time", "30", cwd=heat)
    assert evolved.returncode == 0
    words = ("patch", "runs/d", "--format", "mail", "--application", "-o", "d.mbox")
    assert cli(*words, cwd=heat).returncode == 0
    applied = subprocess.run(["git", "apply", "--check", "d.mbox"], cwd=heat, check=False)
    assert applied.returncode == 0


def test_kernels_that_take_turns_are_one_target(heat: Path) -> None:
    kernels = ("--kernel", "change", "--kernel", "diffuse")
    words = (
        "capture",
        *kernels,
        "--into",
        "both",
        "--cases",
        "2",
        "--",
        "./heat",
        "300",
        "200",
        "5",
    )
    assert cli(*words, cwd=heat).returncode == 0
    checked = cli("check", "both", "--backend", "cuda", cwd=heat)
    assert checked.returncode == 0
    assert checked.stdout.count("the answers known, bit for bit") == 2


def test_what_is_not_launched_is_one_message(heat: Path) -> None:
    done = cli("capture", "--kernel", "blur", "--", "./heat", *ARGUMENTS, cwd=heat)
    assert done.returncode == 2
    assert "launches no kernel 'blur'" in done.stderr
    done = cli("capture", "--", "true", cwd=heat)
    assert done.returncode == 2
    assert "launched no kernel" in done.stderr
