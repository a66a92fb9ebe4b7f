"""What ``gi-cuda doctor`` finds, says, and ends with."""

from __future__ import annotations

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from gi_cuda import BACKENDS
from gi_cuda.backends.cuda import examine
from gi_cuda.backends.cuda.driver import Driver
from gi_cuda.backends.protocol.backend import Examined
from gi_cuda.backends.table import backend_named
from gi_cuda.cli import doctor
from gi_cuda.cli.doctor import table, usable_backends

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


def test_messages_that_look_like_markup_come_out_whole() -> None:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table({"cuda": [Examined("PyCUDA", None, "pip install 'gi-cuda[cuda]'")]}))
    assert "gi-cuda[cuda]" in captured.get()
