"""A small application with its target in a git repository, really built and run."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.genome import Genotype
from gi_cuda.grammar import Source
from gi_cuda.results.application import ApplicationResult
from gi_cuda.spec import Target, load_target
from gi_cuda.subject import Subject
from gi_cuda.upstream.application import judge
from gi_cuda.upstream.steps import PatchStep
from tests.conftest import TARGETS

SOURCES = Path(__file__).parents[2] / "sources" / "application"

APPLICATION = """
[application]
folder = ".."
build = "make"
run = "./scaled 2000 2"
kernel_time = 'kernel time: ([0-9.]+) ms'
pairs = 4
limit = { run = 60 }
"""


@dataclass(frozen=True, slots=True)
class Project:
    """An application whose kernel is a target.

    Attributes:
        root: its top folder.
        original: the target's genotype without changes.
    """

    root: Path
    original: Genotype

    @property
    def kernel(self) -> Path:
        return self.root / "kernel.cu"

    @property
    def target(self) -> Target:
        return load_target(self.root / "target")

    def judged(self, before: str, after: str, **keys: Any) -> ApplicationResult:
        """Judge a patch that replaces a text, by the application.

        Args:
            keys: other values of the application's keys.
        """
        target, text = self.target, self.kernel.read_text(encoding="utf-8")
        assert target.application is not None
        target = replace(target, application=replace(target.application, **keys))
        assert before in text
        sources = [Source("kernel.cu", one) for one in (text, text.replace(before, after))]
        step = PatchStep(self.original, (0,), *sources)
        with tempfile.TemporaryDirectory() as folder:
            return judge(target, [step], Path(folder), print)


def git(folder: Path, *words: str) -> str:
    line = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def unversioned(tmp_path: Path, scale: Subject) -> Project:
    """Return the application in a folder without git."""
    root = tmp_path / "project"
    shutil.copytree(SOURCES, root)
    shutil.copy(TARGETS / "scale" / "kernel.cu", root)
    (root / "target").mkdir()
    shutil.copy(TARGETS / "scale" / "data.py", root / "target")
    text = (TARGETS / "scale" / "target.toml").read_text(encoding="utf-8")
    text = text.replace('source = "kernel.cu"', 'source = "../kernel.cu"')
    (root / "target" / "target.toml").write_text(text + APPLICATION, encoding="utf-8")
    return Project(root, scale.original)


@pytest.fixture
def project(unversioned: Project) -> Project:
    """Return the application, committed to git."""
    (unversioned.root / ".gitignore").write_text("*.o\n/scaled\n*.bin\n")
    git(unversioned.root, "init", "--quiet")
    git(unversioned.root, "add", "--all")
    git(unversioned.root, "commit", "--quiet", "--message=all")
    return unversioned
