"""``gi-cuda check`` and ``evolve`` on targets with wrong claims."""

from __future__ import annotations

import errno
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from gi_cuda.cli.files import scratch_folder
from gi_cuda.errors import UserError
from tests.command import gi_cuda
from tests.sweeps import broad

SCALE = Path(__file__).parents[2] / "targets" / "scale"
BLIND = SCALE.with_name("blind")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return Path(
        shutil.copytree(SCALE, tmp_path / "t", ignore=shutil.ignore_patterns("__pycache__"))
    )


def change(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def test_doubts_are_warnings_behind_the_tables(target: Path) -> None:
    change(
        target / "target.toml",
        ('size = "n"\nrole = "output"', 'size = "2 * n"   # FILL IN: twice?\nrole = "output"'),
        ('grid = ["(n + BLOCK - 1) / BLOCK"]', 'grid = ["(n + 63) / 64"]   # confirm: 64?'),
    )
    text = (target / "target.toml").read_text()
    line = text[: text.index("# confirm")].count("\n") + 1
    done = gi_cuda("check", "t", cwd=target.parent)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "each value by itself" in said
    rows = [line.split() for line in said.splitlines()]
    assert ["BLOCK", "32", "wrong"] in rows
    assert [row[:3] for row in rows if "REPEAT" in row and "2" in row] == [["REPEAT", "2", "right"]]
    assert "BLOCK = 32 by itself: wrong answers: train: out[" in said
    assert (
        "a part of the output out: on train 4000 of 8000 values; on held-out 3111 of 6222" in said
    )
    assert "FILL IN is left in line " in said
    assert said.rindex("warning: ") > said.index("each value by itself")
    assert said.startswith("CPU emulation (host back end): these times say nothing about a GPU\n")
    assert f"1 value assumed and marked `confirm`:\n  t/target.toml:{line}: grid" in said
    assert said.endswith("scale: ready to evolve\nnext: search\n  gi-cuda evolve t\n")


def test_answers_that_depend_on_locals_that_nobody_set(target: Path) -> None:
    change(
        target / "kernel.cu",
        ("    int waste = 0;", "    int waste = 0, extra[2];"),
        ("        out[at] = mine;", "        out[at] = mine + (extra[n % 2] == 0);"),
    )
    done = gi_cuda("check", "t", cwd=target.parent)
    assert done.returncode == 0, done.stderr
    said = "reads locals that it never sets: its answers depend on what happens to be there ("
    assert said in done.stdout


@broad
def test_a_mask_that_leaves_out_the_caller_is_told_of_with_what_helps(target: Path) -> None:
    line = "        out[at] = mine;"
    change(target / "kernel.cu", (line, f"        __syncwarp(2u << threadIdx.x % 32);\n{line}"))
    done = gi_cuda("check", "t", cwd=target.parent)
    assert done.returncode == 2, done.stdout
    number = (target / "kernel.cu").read_text()[:-1].split(line)[0].count("\n")
    assert f"scale, line {number}: thread (" in done.stderr
    assert "which leaves it out" in done.stderr
    assert 'write a table [warps] with masks = "device" into target.toml' in done.stderr
    with (target / "target.toml").open("a") as file:
        file.write('\n[warps]\nmasks = "device"\n')
    done = gi_cuda("check", "t", cwd=target.parent)
    assert done.returncode == 0, done.stderr


def test_a_good_target_is_ready_without_a_warning(target: Path) -> None:
    change(
        target / "kernel.cu",
        ("    if (waste == 123456789) mine = 0;\n", "    if (waste % 3 == 0) mine |= 0;\n"),
    )
    more = [
        f'\n[[case]]\nname = "{role}-more"\nrole = "{role}"\nargs = {{ seed = {seed}, n = {n} }}\n'
        for role, seed, n in (("train", 3, 2001), ("held-out", 4, 901))
    ]
    with (target / "target.toml").open("a") as file:
        file.writelines(more)
    done = gi_cuda("check", "t", "--strict", cwd=target.parent)
    assert done.returncode == 0, done.stderr
    assert "ready to evolve" in done.stdout
    assert re.search(r"broken on purpose +caught", done.stdout)
    assert re.search(r"noise floor +[\d.]+%", done.stdout)
    assert "warning" not in done.stdout
    assert list(target.parent.iterdir()) == [target]


def test_what_oracle_and_cases_do_not_see_is_told_and_refused_if_strict(tmp_path: Path) -> None:
    done = gi_cuda("check", BLIND, "--strict", cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("error: ") == 1
    said = re.sub(r"\S*/target\.toml", "target.toml", done.stderr)
    assert "ready to evolve" not in done.stdout
    for what in (
        "target.toml:76: the oracle does not see kernel second: without any launch of it",
        "target.toml:26: the oracle accepts loose with all its values zero",
        "target.toml:32: the oracle accepts half with the last half of its values far off",
        "target.toml:38: the reference writes NaN into nothing: 1 on train, 1 on held-out",
        "target.toml:44: no answer depends on what kernels leave in left for others",
        "target.toml:50: the oracle does not look at unseen",
        "kernel.cu:17: no case reaches 2 statements: lines 17-18",
        "kernel.cu:16: no case makes 1 condition true: line 16",
        "kernel.cu:26: no case takes 1 loop round a second time: line 26",
        "target.toml:66: scalar mode = 2 has one value in all cases",
        "target.toml:14: member settings.shift has one value in all cases",
        "target.toml:95: train is the only train case",
        "target.toml:100: held-out is the only held-out case",
        "target.toml:105: the oracle accepts all answers with the input weak zero everywhere",
    ):
        assert what in said
    # What is seen is not told of.
    assert "kernel first" not in said
    assert "accepts out" not in said
    assert "input in zero" not in said


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "data.py",
            "default_rng(seed)",
            "default_rng()",
            "other values from process to process: in",
        ),
        (
            "kernel.cu",
            "#define REPEAT 1\n#endif",
            "#define REPEAT 1\n#endif\n#undef REPEAT\n#define REPEAT 1",
            "an #ifndef",
        ),
        (
            "kernel.cu",
            "out[at] = ",
            "((int *)in)[at] = ",
            "declared input, but the kernel writes it",
        ),
        (
            "kernel.cu",
            "out[at] = ",
            "waste = ",
            "no launch of the reference writes anything to the",
        ),
    ],
)
def test_slips_are_refused(target: Path, file: str, old: str, new: str, said: str) -> None:
    change(target / file, (old, new))
    done = gi_cuda("check", "t", cwd=target.parent)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr


def test_evolve_refuses_another_default_before_it_makes_a_run(target: Path) -> None:
    change(target / "target.toml", ("default = 64", "default = 32"))
    done = gi_cuda("evolve", "t", "--run", "run", cwd=target.parent)
    assert done.returncode == 2
    assert "t/target.toml:11: the default of BLOCK is 32, but kernel.cu:" in done.stderr
    assert not (target.parent / "run").exists()


def test_a_patch_that_cannot_be_written_is_refused_at_once(target: Path) -> None:
    done = gi_cuda("patch", "t", "--output", target / "data.py" / "p", cwd=target.parent)
    assert done.returncode == 2
    assert "data.py/p: cannot be written: " in done.stderr


def test_no_place_for_scratch_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(**_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", nowhere)
    with (
        pytest.raises(UserError, match=r"(?s)No usable temporary directory.*TMPDIR"),
        scratch_folder(),
    ):
        pass


def test_answers_that_the_data_module_knows(target: Path) -> None:
    data = target / "data.py"
    text = data.read_text()
    data.write_text(f"{text}\n\ndef answers(**args):\n    return {{}}\n")
    done = gi_cuda("check", "t", cwd=target.parent)
    assert done.returncode == 2
    assert "data.py: its answers could not be compared with the reference's" in done.stderr
    assert "Traceback" not in done.stderr
    data.write_text(f"{text}\n\nanswers = 42\n")
    done = gi_cuda("check", "t", cwd=target.parent)
    assert done.returncode == 0, done.stderr
    assert "the answers known" not in done.stdout
