"""Applications judge patches of their kernel: built, run and timed with and without the patch."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import uuid
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gi_cuda.backends import set_one_thread
from gi_cuda.errors import MachineError, UserError
from gi_cuda.grammar import Source
from gi_cuda.results.application import ApplicationResult
from gi_cuda.spec.application import Limits
from gi_cuda.upstream.application import judge, pairs_of
from gi_cuda.upstream.steps import PatchStep
from tests.processes import MARK, outlive

from .conftest import Project, git

WASTE = ("        waste += tile[i % BLOCK];\n", "")
"""The change of a good patch: the kernel's answers are the same without this statement."""

OTHER = ("mine = twice(in[at]);", "mine = twice(in[at]) + 1;")
UNBUILT = {"build": ""}
HANGING = ("int waste = 0;", "int waste = 0; for (volatile int i = 0; i == 0;) {}")


def test_a_good_patch_is_timed(project: Project) -> None:
    (project.root / "main.o").write_text("of an earlier build, which the copy must not use")
    result = project.judged(*WASTE)
    assert result.wrong == ""
    assert result.pairs == 4
    assert result.program is not None
    assert result.kernel is not None
    for timing in (result.program, result.kernel):
        assert timing.speed_up.low <= timing.speed_up.value <= timing.speed_up.high
        assert min(timing.before, timing.after) > 0
    built, program, kernel = result.lines()
    assert "in all runs it prints the same (" in built
    assert "4 pairs of runs in turn of `./scaled 2000 2`" in program
    assert "kernel's time as it prints it: speed-up" in kernel
    assert git(project.root, "status", "--porcelain") == ""
    assert not (project.root / "scaled").exists()
    assert len(git(project.root, "worktree", "list").splitlines()) == 1


def test_fewer_pairs_are_timed_of_a_program_that_takes_long() -> None:
    found = [pairs_of(12, seconds) for seconds in (0.001, 2.5, 3.0, 15.0, 300.0)]
    assert found == [12, 12, 10, 3, 3]


@pytest.mark.parametrize(
    ("patch", "keys", "said"),
    [
        (("int mine = 0;", "int mine = nothing;"), {}, "with the patch `make` fails (status 2)"),
        (OTHER, {}, "line 2 of its output is `sum: "),
        (OTHER, {"check": "make test"}, "with the patch `make test` fails (status "),
        (HANGING, {"limit": Limits(run=3)}, "`./scaled 2000 2` does not end within 3 s"),
        (("int waste = 0;", "int waste = *(volatile int *)0;"), {}, "was killed (SIGSEGV)"),
    ],
)
def test_what_a_patch_spoils_speaks_against_it(
    project: Project, patch: tuple[str, str], keys: dict[str, object], said: str
) -> None:
    result = project.judged(*patch, **keys)
    assert said in result.fault
    assert result.program is None


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({"build": "make nothing"}, "build", "`make nothing` fails (status 2)"),
        ({"run": "./scaled"}, "run", "`./scaled` fails (status 2):\n    usage: scaled N ROUNDS"),
        ({"run": "./absent", **UNBUILT}, "run", "`./absent` is not found, or something that it"),
        ({"run": "./report.cpp", **UNBUILT}, "run", "`./report.cpp` cannot be executed"),
        ({"run": "true", **UNBUILT}, "run", "prints nothing that is the same each time"),
        ({"run": "cat /dev/zero", **UNBUILT}, "run", "prints more than 16 MiB"),
        ({"run": "sleep 100", "limit": Limits(run=0.2), **UNBUILT}, "run", "not end within 0.2 s"),
        ({"run": "kill -9 $$", **UNBUILT}, "run", "`kill -9 $$` was killed (SIGKILL)"),
        ({"run": "echo >> n; cat n", **UNBUILT}, "run", "more lines in one run than in another"),
        ({"run": "ls", "check": "cmp main.cpp words.h", **UNBUILT}, "check", "fails (status 1)"),
        ({"kernel_time": "sum: (-?[0-9]+)x"}, "kernel_time", "finds nothing in its output"),
        ({"kernel_time": "(values)"}, "kernel_time", "finds 'values' in its output"),
        (
            {"run": "echo inf", "kernel_time": "(inf)", "check": "true", **UNBUILT},
            "kernel_time",
            "inf",
        ),
    ],
)
def test_what_fails_without_a_patch_is_an_error(
    project: Project, keys: dict[str, object], key: str, said: str
) -> None:
    with pytest.raises(UserError) as error:
        project.judged(*WASTE, **keys)
    assert str(error.value.where).endswith(f": application.{key}")
    assert error.value.what.startswith("without any patch ")
    assert said in error.value.what
    assert error.value.hint


def test_a_check_may_compare_outputs_itself(project: Project) -> None:
    check = 'cmp -s "$GI_CUDA_REFERENCE" "$GI_CUDA_OUTPUT" || grep -q sum: "$GI_CUDA_OUTPUT"'
    result = project.judged(*OTHER, check=check)
    assert result.wrong == ""
    assert f"its own check, `{check}`" in result.judged


def test_what_is_ignored_does_not_count(project: Project) -> None:
    assert project.judged(*OTHER, ignore=("^sum: .*",)).wrong == ""


def test_what_differs_from_run_to_run_anyway_does_not_count(project: Project) -> None:
    run = "./scaled 2000 2 && pwd && cat /proc/sys/kernel/random/uuid"
    result = project.judged(*WASTE, run=run, kernel_time="")
    assert result.wrong == ""
    assert result.kernel is None
    assert "that differ from run to run anyway do not count" in result.judged
    assert "is `sum: " in project.judged(*OTHER, run=run, kernel_time="").wrong


def test_the_copy_is_the_work_tree_as_it_is_now(project: Project) -> None:
    """The copy has uncommitted changes, new files, ignored files that are named, and the history.

    It has no other ignored files, and no file that names the work tree as the place to build in.
    """
    root = project.root
    (root / "report.cpp").write_text((root / "report.cpp").read_text().replace("values", "items"))
    (root / "new.txt").write_text("new\n")
    (root / "link.txt").symlink_to(root / "new.txt")
    for folder in ("data", "build"):
        (root / folder).mkdir()
    (root / "data" / "input.bin").write_text("data\n")
    (root / "build" / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY={root}\n")
    (root / "expected.txt").unlink()
    (root / "inner").mkdir()
    git(root / "inner", "init", "--quiet")
    (root / "inner" / "other.txt").touch()
    run = " && ".join(
        [
            'test "$(git log --format=%s)" = all',
            'test "$(git status --short report.cpp)" = " M report.cpp"',
            "test ! -e build",
            "test ! -e expected.txt",
            "test -e inner/other.txt",
            'test "$(realpath link.txt)" = "$PWD/new.txt"',
            "./scaled 2000 2 | grep items",
            "cat data/input.bin",
        ]
    )
    with pytest.raises(UserError, match=r"data/input\.bin: No such file") as error:
        project.judged(*WASTE, run=run, kernel_time="")
    assert "files that it needs go into `inputs`" in str(error.value.hint)
    assert project.judged(*WASTE, run=run, kernel_time="", inputs=(root / "data",)).wrong == ""


def test_inputs_that_are_elsewhere_need_no_copy(project: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    with pytest.raises(UserError, match="It need not be copied: name it by its whole path"):
        project.judged(*WASTE, inputs=(tmp_path / "elsewhere",))


def test_without_git_all_of_the_folder_is_copied(unversioned: Project) -> None:
    (unversioned.root / "input.bin").write_text("data\n")
    (unversioned.root / "empty").mkdir()
    run = "cat input.bin && ls -d empty && ./scaled 2000 2"
    assert unversioned.judged(*WASTE, run=run).wrong == ""


def test_a_source_outside_the_application_is_refused(unversioned: Project) -> None:
    with pytest.raises(UserError, match="the source does not lie in the application") as error:
        unversioned.judged(*WASTE, folder=unversioned.root / "target")
    assert str(error.value.where).endswith(": application.folder")


def test_an_application_in_a_part_of_the_work_tree(project: Project) -> None:
    """The paths of a patch start at the work tree's root, not where commands are run."""
    inner = project.root / "deep" / "er"
    inner.mkdir(parents=True)
    for name in ("Makefile", "main.cpp", "report.cpp", "words.h"):
        shutil.move(project.root / name, inner / name)
    (inner / "kernel.cu").symlink_to("../../kernel.cu")
    assert project.judged(*WASTE, folder=inner).wrong == ""
    assert "sum: " in project.judged(*OTHER, folder=inner).wrong


def test_in_a_linked_work_tree(project: Project, tmp_path: Path) -> None:
    git(project.root, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert Project(tmp_path / "linked", project.original).judged(*WASTE).wrong == ""


def test_commands_have_the_users_environment(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But nothing that the tool has set for itself, or by which git or make, where they started
    it, name other places."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    set_one_thread()
    monkeypatch.setenv("GREETING", "hello")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("MAKELEVEL", "1")
    monkeypatch.setenv("MAKEFLAGS", "--touch")
    run = 'test "$GREETING$GIT_DIR$MAKEFLAGS$OPENBLAS_NUM_THREADS" = hello && ./scaled 2000 2'
    assert project.judged(*WASTE, run=run).wrong == ""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_what_commands_leave_running_is_ended(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = str(uuid.uuid4())
    monkeypatch.setenv(MARK, mark)
    run = "sleep 1000 & ./scaled 2000 2"
    assert project.judged(*WASTE, build="sleep 1000 & make", run=run).wrong == ""
    monkeypatch.delenv(MARK)
    outlive(mark)


def test_a_full_disk_is_no_fault_of_the_patch(project: Project) -> None:
    told = os.strerror(errno.ENOSPC)
    build = f"grep -q 'waste +=' kernel.cu && make || {{ echo '{told}' >&2; exit 1; }}"
    with pytest.raises(MachineError, match="the disk is full"):
        project.judged(*WASTE, build=build)


def test_what_was_built_with_variables_is_built_anew_without_a_patch_too(
    unversioned: Project,
) -> None:
    """Else a build that fails without them would speak against the patch."""
    makefile = unversioned.root / "Makefile"
    needing = makefile.read_text().replace("\t$(CXX)", '\ttest "$(ARCH)" = sm_90 && $(CXX)')
    makefile.write_text(needing)
    subprocess.run(["make", "ARCH=sm_90"], cwd=unversioned.root, check=True, capture_output=True)
    with pytest.raises(UserError, match="without any patch `make` fails") as error:
        unversioned.judged(*WASTE)
    assert 'build = "make ARCH=sm_90"' in str(error.value.hint)
    assert unversioned.judged(*WASTE, build="make ARCH=sm_90").wrong == ""


def test_options_of_the_compiler_are_judged_as_a_patch_is(project: Project) -> None:
    application = project.target.application
    source = Source("kernel.cu", project.kernel.read_text())
    assert application is not None
    build = 'make CXXFLAGS="-O1 $NVCC_APPEND_FLAGS"'
    target = replace(project.target, application=replace(application, build=build))
    alone = [PatchStep(project.original, (0,), source, source)]

    def judged(*options: str) -> ApplicationResult:
        with TemporaryDirectory() as folder:
            return judge(target, alone, Path(folder), print, options)

    result = judged("-O2", "-DNAME=two words")
    assert not result.fault
    assert result.judged.startswith("compiled with -O2 '-DNAME=two words'; ")
    assert judged("-fno-such-option").fault.startswith(f"with the patch `{build}` fails")
    target = replace(target, application=replace(application, build=""))
    with pytest.raises(UserError, match="it is not built here, so not with -O2"):
        judged("-O2")
