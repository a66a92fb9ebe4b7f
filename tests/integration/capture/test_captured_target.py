"""Targets captured from an application's launches pass on the host back end."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.capture import capture, list_kernels
from gi_cuda.capture.adding import add
from gi_cuda.capture.finding import launched_from
from gi_cuda.capture.launches.uses import chosen
from gi_cuda.capture.mangling import name_of
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.baseline import in_silence
from gi_cuda.init import write_folder
from gi_cuda.runs.stored import DATABASE
from gi_cuda.spec import load_case, load_target
from gi_cuda.store import Store
from gi_cuda.subject import load_subject
from tests.command import gi_cuda
from tests.integration.capture.made import (
    HEAT,
    MIXED,
    answered,
    checked,
    heat,
    heat_and_change,
    rows,
    sample,
    smooth,
    took,
    weigh,
    wish,
)
from tests.recorded import Made, Recorded
from tests.sweeps import broad

_NAMED = "weigh<float, WIDE><<<(n + WIDE - 1) / WIDE, WIDE>>>"


def test_the_example_becomes_a_target_without_an_editor(tmp_path: Path) -> None:
    example = Path(shutil.copytree(HEAT, tmp_path / "heat"))
    wanted = wish(example / "kernels.cu", tmp_path / "t")
    found = took(tmp_path, "diffuse", wanted, heat(100, 70, 6), program="./heat")
    target = load_target(tmp_path / "t")
    step = target.launches[0].steps[0]
    assert [one.text for one in step.grid] == [
        "(grid_width + BLOCK_X - 1) / BLOCK_X",
        "(grid_height + BLOCK_Y - 1) / BLOCK_Y",
    ]
    assert [one.text for one in step.block] == ["BLOCK_X", "BLOCK_Y"]
    assert {b.name: b.role.value for b in target.buffers} == {
        "from": "input",
        "conductivity": "input",
        "to": "output",
    }
    assert {b.size.text for b in target.buffers if b.size} == {"grid_width * grid_height"}
    assert [(one.name, one.role.value) for one in target.cases] == [
        ("launch-1", "train"),
        ("launch-3", "held-out"),
        ("launch-4", "train"),
        ("launch-6", "held-out"),
    ]
    assert "confirm" not in str(found.files["target.toml"])
    said = checked(tmp_path / "t")
    assert said.count("passes its oracle; the answers known") == 4


def test_a_block_that_host_code_does_not_say_plainly_is_the_macro_of_that_value(
    tmp_path: Path,
) -> None:
    example = Path(shutil.copytree(HEAT, tmp_path / "heat"))
    source = example / "kernels.cu"
    text = source.read_text()
    assert "dim3 block(BLOCK_X, BLOCK_Y);" in text
    unread = "dim3 block; block.x = sizes[0]; block.y = sizes[1];"
    source.write_text(text.replace("dim3 block(BLOCK_X, BLOCK_Y);", unread))
    took(tmp_path, "diffuse", wish(source, tmp_path / "t"), heat(100, 70, 4), program="./heat")
    step = load_target(tmp_path / "t").launches[0].steps[0]
    assert [one.text for one in step.block] == ["BLOCK_X", "BLOCK_Y"]
    assert {name for one in step.grid for name in one.names} >= {"BLOCK_X", "BLOCK_Y"}


@broad
def test_from_what_was_captured_to_a_mail_without_a_gpu(tmp_path: Path) -> None:
    """Only here does a captured target go all the way to a commit in its application's repository:
    a search with captured cases, a patch for the file that was captured from, ``git am``."""
    example = Path(shutil.copytree(HEAT, tmp_path / "heat"))
    who = ("-c", "user.email=a@example.org", "-c", "user.name=A")
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "heat"]):
        subprocess.run(["git", *words], cwd=example, check=True)
    wanted = wish(example / "kernels.cu", example / "targets" / "diffuse")
    took(tmp_path, "diffuse", wanted, heat(65, 34, 4), program="./heat")
    words = ("evolve", "targets/diffuse", "--run", "runs/d", "--preset", "tune", "--no-cache")
    done = gi_cuda(*words, "--population", 4, "--generations", 1, cwd=example)
    assert done.returncode == 0, done.stderr
    with Store(example / "runs" / "d" / DATABASE) as store:
        known = store.evaluations()
        right = [one.ident for one in store.individuals() if known[one.ident].ratio is not None]
    words = ("--individual", right[-1], "--as-found", "--format", "mail", "-o", "d.mbox", "--force")
    done = gi_cuda("patch", "runs/d", *words, cwd=example)
    assert done.returncode == 0, done.stderr
    subprocess.run(["git", *who, "am", "-q", "d.mbox"], cwd=example, check=True)
    changed = subprocess.check_output(["git", "diff", "--name-only", "HEAD~"], cwd=example)
    assert changed.split() == [b"kernels.cu"]


def taking_turns(folder: Path) -> Path:
    """A target for both kernels of the example, which run one after the other in five steps."""
    application = Recorded(("./heat", "1"), runs=(tuple(heat_and_change(100, 70, 5)),))
    uses, _ = list_kernels(application, folder / "scratch")
    kernels = [chosen(uses, "change"), chosen(uses, "diffuse")]
    wanted = wish(HEAT / "kernels.cu", folder / "t", cases=2)
    (found,) = capture(application, kernels, wanted, folder / "kept", in_silence)
    write_folder(found.folder, found.files)
    return folder / "t"


@broad
def test_kernels_that_take_turns_are_one_target(tmp_path: Path) -> None:
    folder = taking_turns(tmp_path)
    target = load_target(folder)
    assert [one.steps[0].kernel for one in target.launches] == ["diffuse", "change"]
    assert target.launches[1].steps[0].args == ("from", "to", "largest", "cells")
    assert {b.name: b.role.value for b in target.buffers} == {
        "from": "input",
        "conductivity": "input",
        "to": "inout",
        "largest": "output",
    }
    assert [one.name for one in target.cases] == ["launch-1", "launch-5"]
    other = Recorded(("./heat", "2"), runs=(tuple(heat_and_change(33, 20, 1)),))
    uses, _ = list_kernels(other, tmp_path / "other")
    add(other, uses, folder, wish(None, folder), tmp_path / "added", in_silence)
    target = load_target(folder)
    assert load_case(target, target.cases[2]).buffers["to"].size == 660


@broad
def test_kernels_that_take_turns_pass_a_check(tmp_path: Path) -> None:
    assert checked(taking_turns(tmp_path)).count("the answers known") == 2


def test_kernels_that_take_no_turns_are_a_target_each(tmp_path: Path) -> None:
    runs = [smooth(300, 1), weigh(100, 2), weigh(100, 3), smooth(200, 4)]
    application = Recorded(("./app", "1"), runs=(tuple(runs),))
    uses, _ = list_kernels(application, tmp_path / "scratch")
    kernels = [chosen(uses, "smooth"), chosen(uses, "weigh")]
    wanted = wish(MIXED, tmp_path / "t")
    with pytest.raises(UserError, match="a target each"):
        capture(application, kernels, wanted, tmp_path / "kept", in_silence)


def test_a_kernel_in_a_header_has_its_launch_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a patch changes both."""
    monkeypatch.chdir(tmp_path)
    kernels, main, rest = MIXED.read_text("utf-8").partition("int main() {")
    (tmp_path / "kernels.h").write_text(kernels)
    (tmp_path / "app.cu").write_text(f'#include "kernels.h"\n{main}{rest}')
    took(tmp_path, "smooth", wish(None, tmp_path / "t"), [smooth(300, 1), smooth(150, 2)])
    subject = load_subject(tmp_path / "t", "host", edits="transforms")
    (block,) = (one.name for one in subject.grammar.rules if one.name.startswith("block_"))
    diff = subject.diff(subject.read(f"<{block}><block_K64>"))
    assert "+    smooth<<<(n + 63) / 64, 64>>>(a + 1, b, n);" in diff
    (tmp_path / "more.cu").write_text(
        '#include "kernels.h"\nvoid f() { smooth<<<1, 1>>>(0, 0, 1); }'
    )
    assert launched_from(name_of("_Z6smoothPKfPfi"), tmp_path / "kernels.h") is None


@broad
def test_null_pointers_variables_and_templates(tmp_path: Path) -> None:
    runs = [weigh(500, 1), weigh(300, 2, twice=True), weigh(200, 3), weigh(77, 4)]
    took(tmp_path, "weigh", wish(MIXED, tmp_path / "t"), runs)
    target = load_target(tmp_path / "t")
    assert target.kernels == ("weigh<float, 64>",)
    symbols = {b.symbol: b.role.value for b in target.buffers if b.symbol}
    assert symbols == {"weights": "input", "counted::calls": "inout"}
    assert [one.text for one in target.launches[0].steps[0].grid] == ["(n + 63) / 64"]
    assert "mask" not in {b.name for b in target.buffers}
    assert answered(tmp_path / "t") == [True] * 4


@pytest.mark.parametrize(
    ("outside", "inside"), [("constexpr int WIDE = 64;", ""), ("", "const int WIDE = 64;")]
)
def test_template_arguments_follow_the_parameters_that_the_launch_names(
    tmp_path: Path, outside: str, inside: str
) -> None:
    source = tmp_path / "app" / "mixed.cu"
    source.parent.mkdir()
    text = MIXED.read_text().replace("weigh<float, 64><<<(n + 63) / 64, 64>>>", _NAMED)
    assert _NAMED in text
    source.write_text(f"{outside}\n{text}".replace("int n = 500;", f"int n = 500; {inside}"))
    took(tmp_path, "weigh", wish(source, tmp_path / "t"), [weigh(500, 1), weigh(200, 3)])
    target = load_target(tmp_path / "t")
    assert target.kernels == ("weigh<float, WIDE>",)
    assert [one.text for one in target.launches[0].steps[0].block] == ["WIDE"]
    assert [one.kind for one in target.parameters if one.name == "WIDE"] == ["constant"]
    other = Recorded(("./app", "2"), runs=((weigh(300, 4),),))
    uses, _ = list_kernels(other, tmp_path / "other")
    add(other, uses, tmp_path / "t", wish(None, tmp_path / "t"), tmp_path / "added", in_silence)
    assert answered(tmp_path / "t") == [True] * 3


def test_a_pointer_into_an_array_has_what_lies_before_it(tmp_path: Path) -> None:
    took(tmp_path, "smooth", wish(MIXED, tmp_path / "t"), [smooth(300, 1), smooth(150, 2)])
    target = load_target(tmp_path / "t")
    source = next(b for b in target.buffers if b.name == "in")
    assert source.begin is not None
    assert source.begin.text == "1"
    assert source.size is not None
    assert source.size.evaluate({"n": 300}) == 302
    assert answered(tmp_path / "t") == [True] * 2


def test_arrays_that_an_allocator_made_in_one_piece_of_memory(tmp_path: Path) -> None:
    took(tmp_path, "weigh", wish(MIXED, tmp_path / "t"), [pooled(300, 1), pooled(200, 2)])
    target = load_target(tmp_path / "t")
    assert load_case(target, target.cases[0]).buffers["in"].size == 512
    assert all(b.begin is None for b in target.buffers)
    assert answered(tmp_path / "t") == [True] * 2


def pooled(n: int, seed: int) -> Made:
    """A launch whose arrays lie in one memory, the output first."""
    one = weigh(n, seed)
    (values, _), (before, after), *others = one.memories
    pool = np.zeros(4096, np.float32)
    pool[1024 : 1024 + n], pool[512 : 512 + n] = before, values
    made = pool.copy()
    made[1024 : 1024 + n] = after
    return dataclasses.replace(
        one,
        pointers=[(0, 0, 0, 2048), (1, 0, 0, 4096)],
        memories=[(pool, made), *others],
        symbols={1: "weights", 2: "counted::calls"},
    )


def test_pointers_of_the_host_in_structs_are_bytes(tmp_path: Path) -> None:
    found = took(tmp_path, "rows", wish(MIXED, tmp_path / "t"), [rows(300, 1), rows(200, 2)])
    assert found.tolerances["all"].relative == 1e-5
    target = load_target(tmp_path / "t")
    assert [(b.name, b.addresses) for b in target.buffers] == [("all", {})]
    assert len(answered(tmp_path / "t")) == 2


def test_a_texture_is_what_the_object_was_made_of(tmp_path: Path) -> None:
    took(tmp_path, "sample", wish(MIXED, tmp_path / "t"), [sample(100, 20), sample(70, 33)])
    target = load_target(tmp_path / "t")
    texture = target.textures[0]
    assert [one.text for one in texture.size] == ["width", "height"]
    assert texture.as_float
    assert texture.address == ("border", "clamp")
    assert str(target.buffers[0].dtype) == "uint8"
    assert "confirm" not in (tmp_path / "t" / "target.toml").read_text()
    assert len(answered(tmp_path / "t")) == 2


def test_two_parameters_that_get_the_same_address_are_one_buffer(tmp_path: Path) -> None:
    runs = [weigh(100, seed, in_place=True) for seed in range(3)]
    took(tmp_path, "weigh", wish(MIXED, tmp_path / "t"), runs)
    target = load_target(tmp_path / "t")
    assert target.launches[0].steps[0].args[:2] == ("in", "in")
    assert next(b for b in target.buffers if b.name == "in").role == "inout"
    assert answered(tmp_path / "t")


def test_launches_that_pass_pointers_in_another_way_are_left_out(tmp_path: Path) -> None:
    runs = [weigh(100, 0), weigh(100, 1), weigh(100, 2, in_place=True)]
    found = took(tmp_path, "weigh", wish(MIXED, tmp_path / "t"), runs)
    assert [one.name for one in found.cases] == ["launch-1", "launch-2"]
    assert any("1 more got their pointers in another way" in line for line in found.lines)


def test_a_number_that_nothing_says_comes_from_each_case(tmp_path: Path) -> None:
    longer = [
        dataclasses.replace(
            one,
            memories=[(np.append(v, v[:extra]),) * 2 for v, _ in one.memories[:1]]
            + list(one.memories[1:]),
        )
        for one, extra in [(weigh(500, 1), 17), (weigh(300, 2), 5)]
    ]
    took(tmp_path, "weigh", wish(MIXED, tmp_path / "t"), longer)
    target = load_target(tmp_path / "t")
    assert next(b for b in target.buffers if b.name == "in").size.text == "in_size"  # type: ignore[union-attr]
    assert load_case(target, target.cases[1]).scalars["in_size"] == 305


def test_launches_that_got_the_same_are_one_case(tmp_path: Path) -> None:
    found = took(tmp_path, "smooth", wish(MIXED, tmp_path / "t"), [smooth(300, 1)] * 5)
    assert [(one.name, one.role) for one in found.cases] == [
        ("launch-1", "train"),
        ("again-1", "held-out"),
    ]
    assert any("gi-cuda capture --add" in line for line in found.lines)
    assert answered(tmp_path / "t")


def test_launches_that_change_nothing_are_no_cases(tmp_path: Path) -> None:
    one = weigh(300, 2, in_place=True)
    idle = dataclasses.replace(one, memories=[(after, after) for _, after in one.memories])
    found = took(tmp_path, "weigh", wish(MIXED, tmp_path / "t"), [idle, one, idle])
    assert [one.name for one in found.cases] == ["launch-2", "again-2"]
    assert "  2 more changed nothing, and are left out" in found.lines


@broad
def test_another_run_is_added_as_held_out_cases(tmp_path: Path) -> None:
    took(tmp_path, "smooth", wish(MIXED, tmp_path / "t"), [smooth(300, 1), smooth(150, 2)])
    other = Recorded(("./app", "2"), runs=((smooth(400, 3), smooth(401, 4)),))
    uses, _ = list_kernels(other, tmp_path / "other")
    wanted = wish(None, tmp_path / "t")
    add(other, uses, tmp_path / "t", wanted, tmp_path / "added", in_silence)
    target = load_target(tmp_path / "t")
    assert [(one.name, one.role.value) for one in target.cases][2:] == [
        ("run-2-launch-1", "held-out"),
        ("run-2-launch-2", "held-out"),
    ]
    assert load_case(target, target.cases[3]).buffers["in"].size == 403
    assert answered(tmp_path / "t") == [True] * 4


def test_a_grid_that_nothing_says_may_be_another_one_in_another_run(tmp_path: Path) -> None:
    first = [dataclasses.replace(smooth(300, seed), grid=(7, 1, 1)) for seed in (1, 2)]
    took(tmp_path, "smooth", wish(MIXED, tmp_path / "t"), first)
    other = Recorded(("./app", "2"), runs=((dataclasses.replace(smooth(400, 3), grid=(9, 1, 1)),),))
    uses, _ = list_kernels(other, tmp_path / "other")
    add(other, uses, tmp_path / "t", wish(None, tmp_path / "t"), tmp_path / "added", in_silence)
    target = load_target(tmp_path / "t")
    assert [load_case(target, one).scalars["grid_x"] for one in target.cases] == [7, 7, 9]
    assert answered(tmp_path / "t") == [True] * 3


def test_steps_that_change_little_are_judged_by_what_they_change(tmp_path: Path) -> None:
    steps = [one for width in (40, 41) for one in heat(width, 30, 1)]
    for one in steps:
        before, after = one.memories[0][0], one.memories[2][1]
        after[:] = before + (after - before) * np.float32(2e-5)
    found = took(tmp_path, "diffuse", wish(HEAT / "kernels.cu", tmp_path / "t"), steps)
    assert found.tolerances["to"].relative < 1e-5
    assert "it changes little" in str(found.files["target.toml"])


def test_only_what_is_new_is_added(tmp_path: Path) -> None:
    took(tmp_path, "smooth", wish(MIXED, tmp_path / "t"), [smooth(300, 1), smooth(150, 2)])
    wanted = wish(None, tmp_path / "t")
    for number, again in enumerate([[smooth(300, 1), smooth(70, 3)], [smooth(300, 1)]]):
        other = Recorded(("./app", "2"), runs=(tuple(again),))
        uses, _ = list_kernels(other, tmp_path / f"other-{number}")
        kept = tmp_path / f"added-{number}"
        if number:
            with pytest.raises(UserError, match="does not have already"):
                add(other, uses, tmp_path / "t", wanted, kept, in_silence)
        else:
            add(other, uses, tmp_path / "t", wanted, kept, in_silence)
    assert [one.name for one in load_target(tmp_path / "t").cases][2:] == ["run-2-launch-2"]


def test_a_run_that_does_not_fit_is_not_added(tmp_path: Path) -> None:
    took(tmp_path, "smooth", wish(MIXED, tmp_path / "t"), [smooth(300, 1), smooth(150, 2)])
    before = (tmp_path / "t" / "target.toml").read_text()
    grown = dataclasses.replace(smooth(400, 3), grid=(40, 1, 1))
    other = Recorded(("./app", "2"), runs=((grown,),))
    uses, _ = list_kernels(other, tmp_path / "other")
    wanted = wish(None, tmp_path / "t")
    with pytest.raises(UserError, match="do not fit the target"):
        add(other, uses, tmp_path / "t", wanted, tmp_path / "added", in_silence)
    assert (tmp_path / "t" / "target.toml").read_text() == before


def test_other_answers_than_the_applications_are_told(tmp_path: Path) -> None:
    wrong = [
        dataclasses.replace(one, memories=[one.memories[0], (b, a + 1)])
        for one in (smooth(300, 1), smooth(150, 2))
        for b, a in [one.memories[1]]
    ]
    took(tmp_path, "smooth", wish(MIXED, tmp_path / "t"), wrong)
    said = checked(tmp_path / "t")
    assert "on case launch-1 the reference's answers are not those that are known: out[0]" in said


@pytest.mark.parametrize(("sizes", "usual"), [((40, 40), 40), ((40, 41), None), ((70, 70), None)])
def test_a_small_integer_that_all_launches_got_is_usual(
    tmp_path: Path, sizes: tuple[int, int], usual: int | None
) -> None:
    launches = [smooth(n, seed) for seed, n in enumerate(sizes)]
    took(tmp_path, "smooth", wish(MIXED, tmp_path / "t"), launches)
    assert {one.name: one.usual for one in load_target(tmp_path / "t").scalars}["n"] == usual
