"""The injected library with a driver that has no device: Python reads its recordings."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.host.build.library import find_compiler
from gi_cuda.capture import Application, capture, known_kernels, list_kernels
from gi_cuda.capture.launches.library import SOURCE, header_folders
from gi_cuda.capture.launches.running import Plan
from gi_cuda.capture.launches.uses import chosen
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.baseline import in_silence
from gi_cuda.init import write_folder
from gi_cuda.spec import load_target
from tests.command import gi_cuda
from tests.integration.capture.made import SOURCES, wish
from tests.sweeps import sweep

SMOOTH, SAMPLE = "_Z6smoothPKfPfi", "_Z6sampleyPfii"


@dataclass(frozen=True, slots=True)
class Driven(Application):
    """An application that brings its driver, so that no GPU is needed."""

    def injection(self) -> dict[str, str]:
        return {"ASAN_OPTIONS": "detect_leaks=0"}


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        folders = header_folders()
    except UserError as error:
        pytest.skip(error.what)
    program = tmp_path_factory.mktemp("driver") / "driver"
    command = [str(find_compiler()), "-std=c++17", "-O0", "-g1", "-fsanitize=address,undefined"]
    command += [f"-I{folder}" for folder in folders]
    command += [str(SOURCES / "driver.cpp"), str(SOURCE), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def test_all_launches_are_written_down_with_their_times(driver: Path, tmp_path: Path) -> None:
    found, status = Driven((str(driver), "7")).run(Plan(), tmp_path / "r", quiet=True)
    assert status == 0
    recording = found[0]
    assert recording.kernels == [SMOOTH, SAMPLE]
    assert recording.launches["kernel"].tolist() == [0, 1, 0, 1, 0, 1, 0, 0, 0, 0]
    assert recording.launches["nanoseconds"].tolist() == [500 * n for n in range(1, 11)]
    assert recording.of(SMOOTH)["grid"][:, 0].tolist() == [2, 2, 3, 3, 4, 2, 2]
    assert recording.of(SAMPLE)["grid"][:, 1].tolist() == [20, 21, 22]
    assert not recording.trouble


def test_an_application_that_dies_leaves_its_launches(driver: Path, tmp_path: Path) -> None:
    found, status = Driven((str(driver), "3", "abort")).run(Plan(), tmp_path / "r", quiet=True)
    assert status == -signal.SIGABRT
    assert len(found[0].launches) == 6


def test_more_launches_than_one_page_of_records(driver: Path, tmp_path: Path) -> None:
    application = Driven((str(driver), "70000"))
    found, _ = application.run(Plan(), tmp_path / "listed", quiet=True)
    assert len(found[0].launches) == 70003
    assert (found[0].launches["nanoseconds"] > 0).all()
    found, _ = application.run(Plan({SMOOTH: [69999]}), tmp_path / "r", quiet=True)
    assert [one.ordinal for one in found[0].taken()] == [69999]


def test_what_a_launch_got_is_kept_before_and_after(driver: Path, tmp_path: Path) -> None:
    plan = Plan({SMOOTH: [2, 4], SAMPLE: [1]}, textures=[])
    found, _ = Driven((str(driver), "5")).run(plan, tmp_path / "r", quiet=True)
    taken = found[0].taken()
    assert [(one.kernel, one.ordinal) for one in taken] == [(SAMPLE, 1), (SMOOTH, 2), (SMOOTH, 4)]
    first = taken[1]
    assert [len(one) for one in first.parameters] == [8, 8, 4]
    assert [(one.parameter, one.offset) for one in first.pointers] == [(0, 4), (1, 0)]
    values = first.memories[0].read(first.memories[0].before).view(np.float32)
    assert values.size == 302
    assert not first.memories[0].changed
    assert not first.memories[1].read(first.memories[1].before).any()
    after = first.memories[1].read(first.memories[1].after).view(np.float32)
    assert np.array_equal(after, values[:-2] + values[1:-1] + values[2:])


def test_no_more_is_kept_than_the_limit(driver: Path, tmp_path: Path) -> None:
    found, _ = Driven((str(driver), "2")).run(
        Plan({SMOOTH: [0]}, limit=100), tmp_path / "r", quiet=True
    )
    assert found[0].taken()[0].trouble == f"limit {4 * (202 + 200)}"


def test_what_does_not_change_is_kept_once(driver: Path, tmp_path: Path) -> None:
    plan = Plan({SMOOTH: [0, 5]})  # the first and the sixth get the same arrays
    found, _ = Driven((str(driver), "6")).run(plan, tmp_path / "r", quiet=True)
    first, again = found[0].taken()
    assert first.memories[0].before == first.memories[0].after == again.memories[0].before
    assert first.memories[1].before != first.memories[1].after


def test_a_launch_is_made_again_with_what_it_got(
    driver: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, application = Plan({SMOOTH: [0, 1]}, again=2), Driven((str(driver), "2"))
    found, _ = application.run(plan, tmp_path / "same", quiet=True)
    same = found[0].taken()[0].memories[1]
    assert same.again == (same.after, same.after)
    monkeypatch.setenv("DRIFTS", "1")
    found, _ = application.run(plan, tmp_path / "drifting", quiet=True)
    for count, one in enumerate(found[0].taken()):
        out = one.memories[1]
        answer, *again = (out.read(file).view(np.float32) for file in (out.after, *out.again))
        assert [float((other - answer)[0]) for other in again] == [1.0, 2.0]
        assert answer[0] == 3 * count + float(
            sum(one.memories[0].read(one.memories[0].before).view(np.float32)[:3])
        )


def test_two_launches_may_take_all_and_others_a_quarter(driver: Path, tmp_path: Path) -> None:
    plan = Plan({SMOOTH: [0, 1, 2, 3, 4]}, limit=8 * (202 + 400 + 252 + 500))
    found, _ = Driven((str(driver), "5")).run(plan, tmp_path / "r", quiet=True)
    assert [one.trouble.partition(" ")[0] for one in found[0].taken()] == ["", "", *["limit"] * 3]


def test_it_is_ended_when_its_launches_are_kept(driver: Path, tmp_path: Path) -> None:
    application = Driven((str(driver), "3", "abort"))
    _, status = application.run(Plan({SMOOTH: [1]}), tmp_path / "r", quiet=True)
    assert status == 0


def test_it_is_ended_when_its_time_is_up(driver: Path, tmp_path: Path) -> None:
    application = Driven((str(driver), "3", "wait"), 1.0)
    found, status = application.run(Plan(), tmp_path / "r", quiet=True)
    assert status == 0
    assert found[0].was_ended
    assert (found[0].launches["nanoseconds"] > 0).all()
    _, lines = list_kernels(application, tmp_path / "scratch")
    assert "its time was up after 1 s" in lines[0]


def test_a_listing_is_kept_until_the_program_changes(driver: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    shutil.copy(driver, program)
    application = Driven((str(program), "2"))
    list_kernels(application, tmp_path / "first")
    known_kernels(application, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    os.utime(program, (1, 1))
    known_kernels(application, tmp_path / "second")
    assert (tmp_path / "second").exists()


def test_another_profiler_is_said(
    driver: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_PROFILER", "1")
    with pytest.raises(UserError, match="another profiler is there"):
        Driven((str(driver), "2")).run(Plan(), tmp_path / "r", quiet=True)


def test_an_application_that_launches_nothing(driver: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="launched no kernel"):
        Driven((str(driver), "0")).run(Plan(), tmp_path / "a", quiet=True)
    with pytest.raises(UserError, match="launched no kernel and ended with status 1"):
        Driven(("false",)).run(Plan(), tmp_path / "b", quiet=True)


def test_an_application_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be started"):
        Driven((str(tmp_path / "none"),)).run(Plan(), tmp_path / "r", quiet=False)


@pytest.mark.parametrize("kernel", sweep(["smooth", "sample"], "sample"))
def test_a_target_passes_on_the_host(driver: Path, tmp_path: Path, kernel: str) -> None:
    application = Driven((str(driver), "5"))
    uses, _ = list_kernels(application, tmp_path / "scratch")
    wanted = wish(SOURCES / "mixed.cu", tmp_path / "t", cases=3)
    found = capture(application, [chosen(uses, kernel)], wanted, tmp_path / "kept", in_silence)[0]
    write_folder(found.folder, found.files)
    assert len(load_target(tmp_path / "t").cases) == 3
    done = gi_cuda("check", tmp_path / "t", "--backend", "host", "--no-cache")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the answers known") == 3
