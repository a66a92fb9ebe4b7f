"""Completion of verbs, options and values by shells, from ``gi-cuda --show-completion``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

SCRIPT = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(ROOT)!r})
from gi_cuda.cli import main
main()
"""

ASKING = {
    "bash": """
source ./script
read -ra COMP_WORDS <<< "$LINE"
case "$LINE" in *" ") COMP_WORDS+=("");; esac
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_gi_cuda_completion gi-cuda
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "fish": 'source ./script; complete -C "$LINE"',
    # Completion proper goes on in a line editor; what that is given is looked at.
    "zsh": """
compdef() { }
_arguments() { print -- "$@" | grep -o '"[a-z-]*"' | tr -d '"' }
source ./script
words=("${(@s: :)LINE}")
CURRENT=$#words
_gi_cuda_completion
""",
}


@dataclass(frozen=True, slots=True)
class Home:
    """A user's folder with the command and what it gives a shell.

    Attributes:
        shell: its path.
        folder: the user's.
        environment: in which the shell is started.
    """

    shell: str
    folder: Path
    environment: Mapping[str, str]


@pytest.fixture(scope="module", params=ASKING)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a shell's home folder, with the completion installed."""
    shell, folder = shutil.which(request.param), tmp_path_factory.mktemp(request.param)
    if shell is None:
        pytest.skip(f"there is no {request.param}")
    command = folder / "bin" / "gi-cuda"
    command.parent.mkdir()
    command.write_text(SCRIPT)
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
    }
    source = {**environment, "_GI_CUDA_COMPLETE": f"source_{request.param}"}
    script = subprocess.run([command], env=source, capture_output=True, text=True, check=True)
    (folder / "script").write_text(script.stdout)
    return Home(shell, folder, environment)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("gi-cuda ev", {"evolve"}),
        ("gi-cuda evolve --backend ", {"auto", "host", "cuda"}),
        ("gi-cuda show --ind", {"--individual"}),
    ],
)
def test_in_the_shell_itself(home: Home, line: str, offered: set[str]) -> None:
    done = subprocess.run(
        [home.shell, "-c", ASKING[Path(home.shell).name]],
        cwd=home.folder,
        env={**home.environment, "LINE": line},
        capture_output=True,
        text=True,
        check=False,
    )
    # Behind a tab fish says what it is.
    lines = (one.partition("\t")[0] for one in done.stdout.splitlines())
    assert {one for one in lines if one} == offered, done.stderr
