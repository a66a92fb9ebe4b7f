"""The first request tells why workers cannot open a device."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.requests import TellInputs
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.errors import UserError
from gi_cuda.spec import load_target

SCALE = Path(__file__).parents[2] / "targets" / "scale"


def session(backend: str, folder: Path) -> Session:
    return Session(load_target(SCALE), backend, ("train",), folder)


def test_without_a_runtime_library_no_worker_starts_and_it_is_said_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with (
        Pool[int](session("host", tmp_path), Crew(1)) as pool,
        pytest.raises(UserError, match="cache") as caught,
    ):
        pool.one(TellInputs())
    assert str(tmp_path / "file") in (caught.value.where or "")


@pytest.mark.skipif(importlib.util.find_spec("pycuda") is not None, reason="PyCUDA is installed")
def test_without_pycuda_no_worker_starts_and_it_is_said_what_to_install(tmp_path: Path) -> None:
    with (
        Pool[int](session("cuda", tmp_path), Crew(1)) as pool,
        pytest.raises(UserError, match="PyCUDA cannot be loaded") as caught,
    ):
        pool.one(TellInputs())
    assert "pip install 'gi-cuda[cuda]'" in (caught.value.hint or "")
