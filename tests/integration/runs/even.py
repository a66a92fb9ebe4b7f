"""The target ``even``: a kernel with code that no case of it tests."""

from __future__ import annotations

import shutil
from pathlib import Path

from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS

EVEN = Path(__file__).parents[2] / "targets" / "even"
ODD = "<IF_kernel.cu_23>"
NEVER = "<_kernel.cu_26>"
GUARD = "<IF_kernel.cu_22>"
WASTE = "<_kernel.cu_19>"
PLAN = Plan("barracuda", SETTINGS, 1, 1, 2)


def target(folder: Path, *more: str) -> Path:
    """Copy the target, with more cases."""
    shutil.copytree(EVEN, folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "target.toml"
    file.write_text("\n".join((file.read_text(), *more)))
    return folder


def without_other_seeds(made: Path) -> Path:
    """Make a target's data module refuse seeds that no case has."""
    data = made / "data.py"
    data.write_text(data.read_text().replace("    rng", "    assert seed < 3\n    rng"))
    return made
