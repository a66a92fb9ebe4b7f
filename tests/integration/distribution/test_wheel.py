"""Sdist and wheel: built, installed into an environment of their own, used without the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command import Done, quietly
from tests.sweeps import broad

pytest.importorskip("setuptools", minversion="77", reason="wheels are built with it")

ROOT = Path(__file__).parents[3]
BUILT_OF = ("pyproject.toml", "README.md", "LICENSE", "gi_cuda", "targets")

SHORT = ("--preset", "tune", "--population", 2, "--generations", 1)


@dataclass(frozen=True, slots=True)
class Distribution:
    """The files that pip installs gi-cuda from."""

    sdist: Path
    wheel: Path


@dataclass(frozen=True, slots=True)
class Installed:
    """gi-cuda as pip installs it.

    Attributes:
        command: the script that users start.
    """

    command: Path

    def run(self, folder: Path, *words: object) -> Done:
        """Start it in a folder; nothing says where the checkout is."""
        environment = {**os.environ, "COLUMNS": "200"}
        for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        line = [str(self.command), *map(str, words)]
        return quietly(
            lambda: subprocess.run(
                line, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
        )


def python(*words: object, cwd: Path) -> None:
    line = [sys.executable, *map(str, words)]
    done = subprocess.run(line, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    """Built as pip and `build` do, but with the setuptools that is here: pip has no network."""
    folder = tmp_path_factory.mktemp("distribution")
    checkout, dist = folder / "checkout", folder / "dist"
    checkout.mkdir()
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in BUILT_OF:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, checkout / name, symlinks=True, ignore=left_out)
        else:
            shutil.copy(ROOT / name, checkout)
    build = "import sys; from setuptools import build_meta as b; b.build_{}(sys.argv[1])"
    python("-c", build.format("sdist"), dist, cwd=checkout)
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        # The first Python 3.11 have no filters.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)
    (unpacked,) = folder.glob("gi_cuda-*")
    python("-c", build.format("wheel"), dist, cwd=unpacked)
    (wheel,) = dist.glob("*.whl")
    return Distribution(sdist, wheel)


@pytest.fixture(scope="module")
def installed(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """In an environment of its own, which sees the libraries of this one."""
    folder = tmp_path_factory.mktemp("installed")
    fresh = folder / "fresh"
    venv.create(fresh, with_pip=False)
    command, site = fresh / "bin" / "gi-cuda", Path(sysconfig.get_path("purelib"))
    (theirs,) = fresh.glob("lib/python*/site-packages")
    (theirs / "libraries.pth").write_text(f"{site}\n")
    pip = ("-m", "pip", "--python", fresh / "bin" / "python", "install", "--quiet", "--no-index")
    python(*pip, "--no-deps", "--no-compile", distribution.wheel, cwd=folder)
    return Installed(command)


def test_wheel_and_sdist_hold_what_the_program_reads(distribution: Distribution) -> None:
    package = ROOT / "gi_cuda"
    folders = [package, *(path.parent for path in (ROOT / "targets").glob("*/target.toml"))]
    files = [
        path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts
    ]
    wanted = {
        str(Path("gi_cuda") / path.relative_to(package))
        if path.is_relative_to(package)
        else str(Path("gi_cuda/examples") / path.relative_to(ROOT / "targets"))
        for path in files
        if path.is_file()
    }
    with zipfile.ZipFile(distribution.wheel) as wheel:
        assert wanted <= set(wheel.namelist())
    with tarfile.open(distribution.sdist) as sdist:
        assert wanted <= {name.partition("/")[2] for name in sdist.getnames()}


@broad
def test_from_an_example_to_a_patch(installed: Installed, tmp_path: Path) -> None:
    """Each command is the one that the last one named, as far as it names one."""

    def said(*words: object) -> str:
        done = installed.run(tmp_path, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "gi-cuda check targets/bwt_exact" in said("init", "--example", "bwt_exact")
    assert "gi-cuda evolve targets/bwt_exact" in said("check", "targets/bwt_exact")
    assert "on " in said("evolve", "targets/bwt_exact", *SHORT)
    # Whether it is faster is not asked: this machine may be a busy one.
    assert "wrote report.html" in said("report", "runs/bwt_exact-1", "-o", "report.html")
    assert "<h1>bwt_exact" in (tmp_path / "report.html").read_text("utf-8")
    said("patch", "runs/bwt_exact-1", "--individual", 1, "-o", "faster.patch", "--force")
    assert "+#define" in (tmp_path / "faster.patch").read_text()
