"""Workers that cannot open their device say why, and the pool's user hears it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gi_cuda.build.model import Binary
from gi_cuda.errors import UserError
from gi_cuda.execute.model import CountLoops, Program
from gi_cuda.execute.pool import Pool
from gi_cuda.execute.session import Session

SCALE = Path(__file__).parents[2] / "targets" / "scale"


def session(backend: str, folder: Path) -> Session:
    return Session(SCALE, backend, ("train",), folder)


def test_a_device_that_cannot_be_opened_is_the_answer_to_every_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    request = CountLoops(Program(Binary(0, tmp_path / "none"), {}, ("train",)), 1, 1.0)
    with Pool[int](session("host", tmp_path), 1) as pool:
        for _ in range(2):
            with pytest.raises(UserError, match="cache") as caught:
                pool.one(request)
            assert str(tmp_path / "file") in (caught.value.where or "")


@pytest.mark.skipif(importlib.util.find_spec("pycuda") is not None, reason="PyCUDA is installed")
def test_without_pycuda_the_pool_does_not_open_and_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="PyCUDA cannot be loaded") as caught:
        Pool[int](session("cuda", tmp_path), 1)
    assert "pip install 'gi-cuda[cuda]'" in (caught.value.hint or "")
