"""Names that device code may use, as object files have them."""

from __future__ import annotations

import pytest

from gi_cuda.backends.host.device_names import emulator_names, is_device_name


@pytest.mark.parametrize(
    "name",
    [
        *("sinf", "pow", "fmaf", "tgamma", "ldexpf", "lrint", "rintf", "j0f", "cexpf"),
        *("malloc", "free", "memcpy", "memset", "printf", "puts", "__assert_fail"),
        *("_Znwm", "_ZdlPvm", "__popcountdi2", "__muldc3", "__udivti3", "__extendhfsf2"),
        *("gi_barrier", "gi_warp", "gi_thread_index", "gi_loop_most", "gi_dynamic_shared"),
    ],
)
def test_device_code_may_use(name: str) -> None:
    assert is_device_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("getenv", "setenv", "system", "popen", "fopen", "fwrite", "snprintf", "strtoull"),
        *("time", "rand", "exit", "abort", "pthread_create", "dlopen", "dlsym", "syscall", "mmap"),
        *("_ZSt4cout", "_ZNSt6threadC1Ev", "__cxa_guard_acquire", "__cxa_atexit", "environ"),
        *("gi_limit", "gi_report", "gi_launch", "gi_open_shared", "gi_alloc"),
    ],
)
def test_device_code_may_not_use(name: str) -> None:
    assert not is_device_name(name)


def test_the_emulators_own_names_are_those_of_its_headers_and_options() -> None:
    assert {"GI_HOST", "gi_report", "GI_SHARED", "gi_cuda_host"} <= emulator_names()
    assert "threadIdx" not in emulator_names()
