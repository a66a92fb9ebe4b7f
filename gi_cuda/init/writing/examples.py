"""Copy the example targets that come with gi-cuda."""

from __future__ import annotations

import shutil
from pathlib import Path

import gi_cuda
from gi_cuda.errors import UserError
from gi_cuda.init.writing.write import written_whole

_FOLDER = Path(gi_cuda.__file__).parent / "examples"


def examples() -> list[str]:
    """Return the names of all examples."""
    return sorted(path.parent.name for path in _FOLDER.glob("*/target.toml"))


def copy_example(name: str, folder: Path) -> list[str]:
    """Copy an example, completely or not at all; return the names of its files.

    Raises:
        UserError: no example has this name, or the folder exists or cannot be written.
    """
    if name not in examples():
        raise UserError(
            f"there is no example {name!r}",
            where="--example",
            hint=f"one of: {', '.join(examples())}",
        )
    with written_whole(folder) as making:
        compiled = shutil.ignore_patterns("__pycache__")
        shutil.copytree(_FOLDER / name, making, ignore=compiled, dirs_exist_ok=True)
    return sorted(path.name for path in folder.iterdir())
