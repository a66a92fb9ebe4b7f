"""User-defined searches: from an installed package, or given as an object from Python."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import gi_cuda
from gi_cuda.search import PRESETS, Settings
from gi_cuda.search.history import History
from gi_cuda.search.recipes import Recipe
from tests.command import Done, quietly
from tests.integration.runs.conftest import SCALE, copy_scale
from tests.integration.runs.test_api import searched

PAGE = Path(__file__).parents[3] / "docs/how-to/compare-your-own-search.md"
PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "my-search"
version = "1.0"
[tool.setuptools]
py-modules = ["my_search"]
"""


def example(language: str, containing: str) -> str:
    """The block of the page that has some words."""
    blocks = PAGE.read_text().split(f"```{language}\n")[1:]
    return next(one.split("```")[0] for one in blocks if containing in one)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder that pip installed the page's package into."""
    pytest.importorskip("setuptools", reason="packages are built with it")
    package, site = tmp_path / "package", tmp_path / "site"
    package.mkdir()
    (package / "my_search.py").write_text(example("python", "class Shallow"))
    (package / "pyproject.toml").write_text(PROJECT + example("toml", "entry-points"))
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q"]
    done = subprocess.run(
        [*pip, "--no-build-isolation", "--target", str(site), str(package)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return site


def test_a_preset_that_an_installed_package_offers(tmp_path: Path, site: Path) -> None:
    copy_scale(tmp_path / "t")
    root = str(Path(gi_cuda.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), root])}

    def run(*words: str) -> Done:
        line = [sys.executable, "-m", "gi_cuda", *words]
        return subprocess.run(
            line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    sizes = ("--population", "2", "--generations", "1", "--jobs", "1", "--run", "run")
    done = quietly(lambda: run("evolve", "t", "--backend", "host", "--preset", "shallow", *sizes))
    assert done.returncode == 0, done.stderr
    assert "preset shallow: 1 generation of 2 individuals" in done.stdout
    assert run("resume", "run", "--generations", "1").returncode == 0
    wrong = run("evolve", "t", "--preset", "shalow")
    assert wrong.returncode == 2
    assert "shallow; or MODULE:NAME for one of your own" in wrong.stderr


@pytest.mark.usefixtures("few_processes")
def test_a_preset_that_is_an_object(tmp_path: Path) -> None:
    """A class made in a function, which no module holds."""
    asked: list[int] = []

    class Counting:
        def __init__(self, settings: Settings) -> None:
            self.like = PRESETS["random"].strategy(settings)

        def recipes(self, history: History, rng: object) -> list[Recipe]:
            asked.append(len(asked))
            return self.like.recipes(history, rng)  # type: ignore[arg-type]

    settings = PRESETS["random"].settings.having(3, 1)
    preset = replace(PRESETS["random"], name="counting", strategy=Counting, settings=settings)
    run = searched(SCALE, tmp_path / "run", backend="host", preset=preset)
    assert asked
    assert run.record().plan.preset == "counting"
    assert len(run.individuals()) == 3
