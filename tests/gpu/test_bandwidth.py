"""The bandwidth that a GPU reaches while it copies its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.backends.cuda.bandwidth import copy_bandwidth


def test_it_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = copy_bandwidth("some GPU", {})
    assert first is not None
    assert 1e10 < first < 1e14
    assert copy_bandwidth("some GPU", {}) == first
    assert len(list((tmp_path / "gi-cuda" / "bandwidth").iterdir())) == 1
