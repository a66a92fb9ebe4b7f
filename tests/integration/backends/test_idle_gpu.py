"""Detection of a GPU that a search on the CPU does not use, even if its back end is incomplete.

The tests use a driver of their own with known answers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gi_cuda.backends.host.build.library import find_compiler

DRIVER = """
#include <cstddef>
#include <cstring>
extern "C" {
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int *count) { *count = DEVICES; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDeviceGetName(char *name, int, int) { std::strcpy(name, "Some GPU"); return 0; }
int cuDeviceTotalMem_v2(std::size_t *bytes, int) { *bytes = 1; return 0; }
int cuDeviceGetAttribute(int *value, int, int) { *value = 9; return 0; }
}
"""
ASK = "from gi_cuda.backends.table import idle_gpu; print(idle_gpu('host'), idle_gpu('cuda'))"


@pytest.mark.parametrize(("devices", "said"), [(0, "None None"), (2, "('cuda', 'Some GPU') None")])
def test_a_gpu_that_is_not_used_is_named(devices: int, said: str, tmp_path: Path) -> None:
    source = tmp_path / "driver.cpp"
    source.write_text(DRIVER.replace("DEVICES", str(devices)))
    library = ["-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1"]
    subprocess.run([find_compiler(), *library, source], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{said}\n"
