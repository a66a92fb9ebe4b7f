"""What ``gi-cuda doctor`` finds, says, and ends with."""

from __future__ import annotations

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from gi_cuda.backends.cuda import Driver
from gi_cuda.cli import doctor
from gi_cuda.cli.doctor import Examined, Purpose, examine, table, usable_backends

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
        ([], [Purpose.HOST, Purpose.CUDA]),
        ([Purpose.OPTIONAL], [Purpose.HOST, Purpose.CUDA]),
        ([Purpose.CUDA], [Purpose.HOST]),
        ([Purpose.HOST, Purpose.CUDA], []),
    ],
)
def test_a_backend_is_usable_if_it_misses_nothing(
    lacking: list[Purpose], usable: list[Purpose]
) -> None:
    findings = [Examined("there", need, "1.0") for need in Purpose]
    findings += [Examined("missing", need, None, "install it") for need in lacking]
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
        console.print(
            table([Examined("PyCUDA", Purpose.CUDA, None, "pip install 'gi-cuda[cuda]'")])
        )
    assert "gi-cuda[cuda]" in captured.get()
