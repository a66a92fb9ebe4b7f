"""Shells complete verbs, options and values, by what ``gi-cuda --show-completion`` gives them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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


@pytest.mark.parametrize("shell", ASKING)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("gi-cuda ev", {"evolve"}),
        ("gi-cuda evolve --backend ", {"host", "cuda"}),
        ("gi-cuda show --ind", {"--individual"}),
        ("gi-cuda patch --format m", {"mail"}),
    ],
)
def test_in_the_shell_itself(shell: str, line: str, offered: set[str], tmp_path: Path) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"there is no {shell}")
    command = tmp_path / "bin" / "gi-cuda"
    command.parent.mkdir()
    command.write_text(SCRIPT)
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LINE": line,
    }
    source = {**environment, "_GI_CUDA_COMPLETE": f"source_{shell}"}
    script = subprocess.run([command], env=source, capture_output=True, text=True, check=True)
    (tmp_path / "script").write_text(script.stdout)
    done = subprocess.run(
        [found, "-c", ASKING[shell]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    # Behind a tab fish says what it is.
    lines = (one.partition("\t")[0] for one in done.stdout.splitlines())
    assert {one for one in lines if one} == offered, done.stderr
