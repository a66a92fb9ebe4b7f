"""What a measurement was made with: tool and compiler versions, and the device's name."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import gi_cuda


def device_name() -> str:
    """The processor's name, as the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions(compiler: str) -> dict[str, str]:
    """Versions of this tool, Python and the compiler."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return {
        "gi-cuda": gi_cuda.__version__,
        "python": sys.version.split()[0],
        "compiler": said.stdout.partition("\n")[0],
    }
