"""Commands that are interrupted."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
from gi_cuda.cli.stopping import ending_in_time


class Left:
    def __del__(self):
        raise {error}


with ending_in_time():
    Left()
print("went on")
"""


@pytest.mark.parametrize(("error", "told"), [("KeyboardInterrupt", False), ("ValueError", True)])
def test_an_interrupt_in_a_finalizer_is_not_told(error: str, told: bool) -> None:
    """It comes to nothing; the next signal does not."""
    command = [sys.executable, "-c", PROGRAM.format(error=error)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "went on\n"
    assert ("Traceback" in done.stderr) is told
