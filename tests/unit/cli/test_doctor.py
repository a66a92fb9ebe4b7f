"""Findings, output and status of ``gi-cuda doctor``."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from gi_cuda import BACKENDS
from gi_cuda.backends.cuda import examine
from gi_cuda.backends.cuda.driver import Driver
from gi_cuda.backends.protocol.backend import Examined
from gi_cuda.backends.table import backend_named
from gi_cuda.cli.targets import doctor
from gi_cuda.cli.targets.doctor import lines, usable_backends

app = typer.Typer()
app.command()(doctor.command)


def test_it_finds_what_the_other_tests_need() -> None:
    looked = {name: list(backend_named(name).examine()) for name in BACKENDS}
    found = {one.what: one for findings in looked.values() for one in findings}
    assert found["C++ compiler"].found
    assert {"CUDA compiler", "NVIDIA driver", "PyCUDA", "nvdisasm", "llvmlite"} <= found.keys()
    for finding in found.values():
        assert finding.found or finding.hint, finding.what


THERE, MISSING = Examined("there", "1.0"), Examined("missing", None, "install it")
EXTRA = Examined("missing", None, "install it", optional=True)


@pytest.mark.parametrize(
    ("findings", "usable"),
    [
        ({"host": [THERE], "cuda": [THERE, THERE]}, ["host", "cuda"]),
        ({"host": [THERE], "cuda": [THERE, EXTRA]}, ["host", "cuda"]),
        ({"host": [THERE], "cuda": [MISSING, THERE]}, ["host"]),
        ({"host": [MISSING], "cuda": [THERE, MISSING]}, []),
    ],
)
def test_a_backend_is_usable_if_it_misses_nothing(
    findings: dict[str, list[Examined]], usable: list[str]
) -> None:
    assert usable_backends(findings) == usable


def test_nothing_usable_is_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(examine, "query", lambda: Driver("", (), "no driver"))
    result = CliRunner().invoke(app)
    assert result.exit_code == 1, result.output
    assert "backend host: not usable" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("width", [60, 80])
def test_paths_and_commands_are_whole_however_narrow(width: int) -> None:
    path = "/a/rather/long/folder/of/site-packages/nvidia/cu13/bin/nvcc"
    there = Examined("CUDA compiler", f"nvcc 13.0 ({path}, from PATH)")
    missing = Examined("PyCUDA", None, "not installed; pip install 'gi-cuda[cuda]'", optional=True)
    said = "\n".join(lines({"cuda": [there, missing]}, width))
    assert f"({path}," in said
    beyond = [line for line in said.split("\n") if len(line) > width]
    assert all(path in line for line in beyond)
    assert " ".join(said.split()).endswith("PyCUDA optional missing: " + missing.hint)


def test_messages_that_look_like_markup_come_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "query", lambda: Driver("", (), "no [bold]driver[/bold]"))
    assert "no [bold]driver[/bold]" in CliRunner().invoke(app).output
