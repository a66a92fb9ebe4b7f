"""Refused captures: one message each, with a remedy."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from gi_cuda.capture import Application, Wish, capture, list_kernels
from gi_cuda.capture.launches.running import Plan
from gi_cuda.capture.launches.uses import chosen
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.baseline import in_silence
from tests.command import gi_cuda
from tests.integration.capture.made import (
    HEAT,
    MIXED,
    heat_and_change,
    rows,
    smooth,
    weigh,
    wish,
)
from tests.recorded import Made, Recorded


def refused(folder: Path, wanted: Wish, run: Sequence[Made], again: Sequence[Made] = ()) -> str:
    """Return the message with which the capture of a kernel's launches is refused."""
    application = Recorded(("./app",), runs=(tuple(run), tuple(again or run)))
    uses, _ = list_kernels(application, folder / "scratch")
    with pytest.raises(UserError) as error:
        capture(application, [chosen(uses, "smooth")], wanted, folder / "kept", in_silence)
    assert not wanted.folder or not wanted.folder.exists()
    return str(error.value)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("limit 6000000000", "--limit 17G"),
        ("graph", "part of a graph"),
        ("unreadable", "memory that cannot be read"),
        ("disk", "the disk is full"),
        ("failed 700", "CUDA's error 700"),
    ],
)
def test_what_the_library_could_not_keep(tmp_path: Path, trouble: str, said: str) -> None:
    run = [dataclasses.replace(smooth(300, 1), trouble=trouble)]
    assert said in refused(tmp_path, wish(MIXED, tmp_path / "t"), run)


def test_pointers_of_the_device_in_memory(tmp_path: Path) -> None:
    application = Recorded(("./app",), runs=((rows(300, 1, addresses=3),),))
    uses, _ = list_kernels(application, tmp_path / "scratch")
    wanted, kept = wish(MIXED, tmp_path / "t"), tmp_path / "kept"
    with pytest.raises(UserError, match="pointers in memory, all, and what that leads to"):
        capture(application, [chosen(uses, "rows")], wanted, kept, in_silence)


def test_a_second_run_that_fails_before_the_launches(tmp_path: Path) -> None:
    application = Recorded(("./app",), runs=((smooth(300, 1),), (weigh(100, 1),)), status=3)
    uses, lines = list_kernels(application, tmp_path / "scratch")
    assert "the application ended with status 3" in lines
    wanted, kept = wish(MIXED, tmp_path / "t"), tmp_path / "kept"
    with pytest.raises(UserError, match="status 3 before any launch was kept") as error:
        capture(application, uses, wanted, kept, in_silence)
    assert "it says something" in str(error.value)


def test_launches_that_could_not_be_kept_are_told(tmp_path: Path) -> None:
    runs = (smooth(300, 1), dataclasses.replace(smooth(150, 2), trouble="limit 9"))
    application = Recorded(("./app",), runs=(runs,))
    uses, _ = list_kernels(application, tmp_path / "scratch")
    wanted, kept = wish(MIXED, tmp_path / "t"), tmp_path / "kept"
    (found,) = capture(application, uses, wanted, kept, in_silence)
    assert "captured 1 of 2 launches: 1" in found.lines
    assert any("1 more could not be kept" in line for line in found.lines)


def test_memory_that_changes_between_kernels_that_take_turns(tmp_path: Path) -> None:
    application = Recorded(("./heat",), runs=(tuple(heat_and_change(40, 30, 2, between=1.0)),))
    uses, _ = list_kernels(application, tmp_path / "scratch")
    wanted, kept = wish(HEAT / "kernels.cu", tmp_path / "t"), tmp_path / "kept"
    with pytest.raises(UserError, match="something else changes between") as error:
        capture(application, uses, wanted, kept, in_silence)
    assert "each by itself" in str(error.value)


def test_an_application_that_does_something_else_when_run_again(tmp_path: Path) -> None:
    said = refused(tmp_path, wish(MIXED, tmp_path / "t"), [smooth(300, 1)], [weigh(100, 1)])
    assert "did not happen again" in said


def test_a_source_that_is_not_the_programs(tmp_path: Path) -> None:
    source = tmp_path / "mixed.cu"
    text = MIXED.read_text().replace("float *out, int n)", "float *out, long n)")
    source.write_text(text)
    said = refused(tmp_path, wish(source, tmp_path / "t"), [smooth(300, 1)])
    assert "8, 8, 8 bytes, and the launch got 8, 8, 4" in said


def test_a_source_without_the_kernel(tmp_path: Path) -> None:
    source = tmp_path / "other.cu"
    source.write_text("__global__ void other(int *p) { p[0] = 1; }\n")
    said = refused(tmp_path, wish(source, tmp_path / "t"), [smooth(300, 1)])
    assert "smooth of the program is not in this source" in said
    assert "its kernels: other" in said


def test_a_kernel_whose_source_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused(tmp_path, wish(None, tmp_path / "t"), [smooth(300, 1)])
    assert "--source FILE" in said


def test_a_source_is_found_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    shutil.copy(MIXED, tmp_path / "src")
    monkeypatch.chdir(tmp_path)
    application = Recorded(("./app",), runs=((smooth(300, 1), smooth(20, 2)),))
    uses, _ = list_kernels(application, tmp_path / "scratch")
    wanted = wish(None, tmp_path / "t")
    found = capture(application, [chosen(uses, "smooth")], wanted, tmp_path / "k", in_silence)[0]
    assert found.proposal.source == tmp_path / "src" / "mixed.cu"


def test_of_several_sources_the_one_called_like_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("another.cu", "app.cu"):
        shutil.copy(MIXED, tmp_path / name)
    program = tmp_path / "app"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    application = Recorded(("./app",), runs=((smooth(300, 1), smooth(20, 2)),))
    uses, _ = list_kernels(application, tmp_path / "scratch")
    wanted = wish(None, tmp_path / "t")
    found = capture(application, [chosen(uses, "smooth")], wanted, tmp_path / "k", in_silence)[0]
    assert found.proposal.source == tmp_path / "app.cu"
    assert "another.cu; --source FILE" in found.lines[0]


def test_a_source_that_was_changed_after_the_program_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(MIXED, tmp_path)
    program = tmp_path / "app"
    program.write_bytes(b"\x7fELF _Z6smoothPKfPfi")
    program.chmod(0o755)
    os.utime(program, (1, 1))
    said = refused(tmp_path, wish(tmp_path / "mixed.cu", tmp_path / "t"), [smooth(300, 1)])
    assert "changed after app was built" in said
    os.utime(tmp_path / "mixed.cu", (0, 0))
    run = [smooth(300, 1), smooth(20, 2)]
    application = Recorded(("./app",), runs=(tuple(run),))
    uses, _ = list_kernels(application, tmp_path / "scratch-2")
    wanted = wish(tmp_path / "mixed.cu", tmp_path / "t")
    capture(application, [chosen(uses, "smooth")], wanted, tmp_path / "kept-2", in_silence)


def test_launches_that_change_nothing(tmp_path: Path) -> None:
    one = rows(300, 1)
    still = dataclasses.replace(one, memories=[(before, before) for before, _ in one.memories])
    application = Recorded(("./app",), runs=((still,),))
    uses, _ = list_kernels(application, tmp_path / "scratch")
    wanted, kept = wish(MIXED, tmp_path / "t"), tmp_path / "kept"
    with pytest.raises(UserError, match="changed anything"):
        capture(application, [chosen(uses, "rows")], wanted, kept, in_silence)


def test_without_a_gpu_that_is_said(tmp_path: Path) -> None:
    from gi_cuda.backends.cuda.driver import query

    if query().gpus:
        pytest.skip("there is a GPU")
    with pytest.raises(UserError, match="no GPU can be used"):
        Application(("true",)).run(Plan(), tmp_path / "run", quiet=True)
    done = gi_cuda("capture", "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert "no GPU can be used" in done.stderr
    assert "Traceback" not in done.stderr


def test_sizes_and_folders_are_looked_at_first(tmp_path: Path) -> None:
    done = gi_cuda("capture", "--limit", "much", "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert "'much' is no size" in done.stderr
    (tmp_path / "t").mkdir()
    done = gi_cuda("capture", "--kernel", "k", "--into", "t", "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert "nothing is overwritten" in done.stderr
