"""What ``gi-cuda doctor`` finds, says, and ends with."""

from __future__ import annotations

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from gi_cuda.cli import doctor
from gi_cuda.cli.doctor import Finding, Need, examine, table, usable_backends
from gi_cuda.cuda import Driver

app = typer.Typer()
app.command()(doctor.command)


def test_it_finds_what_the_other_tests_need() -> None:
    found = {finding.what: finding for finding in examine()}
    assert found["C++ compiler"].found
    assert {"CUDA compiler", "NVIDIA driver", "PyCUDA", "nvdisasm", "llvmlite"} <= found.keys()
    for finding in found.values():
        assert finding.found or finding.hint, finding.what


@pytest.mark.parametrize(
    ("lacking", "usable"),
    [
        ([], [Need.HOST, Need.CUDA]),
        ([Need.OPTIONAL], [Need.HOST, Need.CUDA]),
        ([Need.CUDA], [Need.HOST]),
        ([Need.HOST, Need.CUDA], []),
    ],
)
def test_a_backend_is_usable_if_it_misses_nothing(lacking: list[Need], usable: list[Need]) -> None:
    findings = [Finding("there", need, "1.0") for need in Need]
    findings += [Finding("missing", need, None, "install it") for need in lacking]
    assert usable_backends(findings) == usable


def test_nothing_usable_is_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(doctor, "query", lambda: Driver("", (), "no driver"))
    result = CliRunner().invoke(app)
    assert result.exit_code == 1, result.output
    assert "backend host: not usable" in result.output
    assert "Traceback" not in result.output


def test_messages_that_look_like_markup_come_out_whole() -> None:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table([Finding("PyCUDA", Need.CUDA, None, "pip install 'gi-cuda[cuda]'")]))
    assert "gi-cuda[cuda]" in captured.get()
