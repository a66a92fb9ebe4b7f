"""What a measurement was made with: versions of tool and compilers, and the processor's name."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import gi_cuda


def processor_name() -> str:
    """The processor's name, as the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def said_version(program: str) -> str:
    """The first line that a program says when asked for its version."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return said.stdout.partition("\n")[0]


def versions(**others: str) -> dict[str, str]:
    """Versions of this tool and Python, and what else is known."""
    return {"gi-cuda": gi_cuda.__version__, "python": sys.version.split()[0], **others}
