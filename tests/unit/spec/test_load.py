"""Reading target.toml: its meaning, and one clear message for each mistake."""

from __future__ import annotations

import codecs
import pickle
from pathlib import Path

import numpy as np
import pytest
import xxhash

from gi_cuda.errors import UserError
from gi_cuda.spec import (
    Application,
    BufferRole,
    CaseRole,
    ParameterKind,
    cases_for,
    compiler_options,
    content_hash,
    defaults,
    file_hashes,
    find_case,
    is_unchanged,
    load_target,
    macros,
)
from gi_cuda.spec.application import Limits
from gi_cuda.spec.case_data.own_code import check_code
from gi_cuda.spec.oracles import Exact, Python, Sigma, Tolerance

from .conftest import DATA, TARGET, Write, line


def test_a_target_is_read(write: Write) -> None:
    folder = write()
    target = load_target(folder)
    assert load_target(folder / "target.toml") == target
    assert target.name == "smooth"
    assert target.source == folder.resolve() / "kernel.cu"
    assert target.kernels == ("smooth", "scale")
    assert target.build.include == (folder.resolve(),)
    block, cache, real, regs, fast = target.parameters
    assert block.values == (32, 64, 96, 128)
    assert (cache.kind, cache.values, cache.default) == (ParameterKind.FLAG, (0, 1), 0)
    assert real.values == ("float", "double")
    assert regs.backends == ("cuda",)
    assert fast.values == (0, 1)
    assert block.line == TARGET.split("[[parameter]]")[0].count("\n") + 1
    assert [constraint.that.text for constraint in target.constraints] == [
        "CACHE == 0 || BLOCK_W <= 64"
    ]
    a, b, table = target.buffers
    assert (a.dtype, a.role, b.role) == (np.float32, BufferRole.INOUT, BufferRole.SCRATCH)
    assert (table.size, table.symbol) == (None, "c_table")
    smooth, scale = target.launches
    assert (smooth.swap, smooth.counter, smooth.repeat.text) == ((("a", "b"),), "round", "steps")
    assert [step.kernel for step in (*smooth.steps, *scale.steps)] == ["smooth", "scale"]
    assert [part.text for part in scale.steps[0].block] == ["BLOCK_W", "2"]
    assert target.oracle.checks == (Tolerance(1e-6, 1e-5),)
    assert target.timing.cache == "flushed"
    assert target.warps.masks == "checked"


def test_a_target_can_be_sent_to_another_process(write: Write) -> None:
    target = load_target(write())
    assert pickle.loads(pickle.dumps(target)) == target


def test_what_a_configuration_means_to_the_compiler(write: Write) -> None:
    target = load_target(write())
    reference = defaults(target)
    assert macros(target, reference) == {"VERSION": "3", "BLOCK_W": "64", "REAL": "float"}
    assert macros(target, {**reference, "CACHE": 1})["CACHE"] == "1"
    assert compiler_options(target, reference, "cuda") == ("-O3",)
    changed = {**reference, "REGS": 32, "FAST": 1}
    assert compiler_options(target, changed, "cuda") == (
        "-O3",
        "-maxrregcount=32",
        "--use_fast_math",
    )
    assert compiler_options(target, changed, "host") == ("--use_fast_math",)


def test_constraints(write: Write) -> None:
    target = load_target(write())
    constraint = target.constraints[0]
    assert constraint.allows({**defaults(target), "CACHE": 1})
    assert not constraint.allows({**defaults(target), "CACHE": 1, "BLOCK_W": 128})
    assert not constraint.allows({"BLOCK_W": 128})


def test_several_oracles(write: Write) -> None:
    oracle = """\
[[oracle]]
kind = "sigma"
k = 4
runs = 5
outside = 0.01
buffers = ["a"]

[[oracle]]
kind = "python"
function = "data.py:penalty"
runs = 3
uses = ["truth"]
"""
    data = DATA + "\n\ndef penalty(case, outputs, reference):\n    return 0\n"
    folder = write(
        ('[oracle]\nkind = "tolerance"\nabsolute = 1e-6\nrelative = 1e-5\n', oracle), data=data
    )
    target = load_target(folder)
    assert target.oracle.checks == (
        Sigma(4.0, 5, 0.0, 0.01, ("a",)),
        Python(f"{folder.resolve() / 'data.py'}:penalty", 3, ("truth",)),
    )
    assert target.oracle.runs == 5
    assert target.oracle.uses == ("truth",)


def test_exact_oracle_of_a_single_launch(write: Write) -> None:
    folder = write(('kind = "tolerance"\nabsolute = 1e-6\nrelative = 1e-5', 'kind = "exact"'))
    assert load_target(folder).oracle.checks == (Exact(),)


def test_cases_by_name_and_use(write: Write) -> None:
    target = load_target(write())
    assert find_case(target, "other").role is CaseRole.HELD_OUT
    assert [case.name for case in cases_for(target, "host", CaseRole.TRAIN)] == ["small"]
    with pytest.raises(UserError, match="Did you mean other"):
        find_case(target, "othr")


def test_the_hash_follows_the_content(write: Write, tmp_path: Path) -> None:
    before = content_hash(load_target(write()))
    assert len(before) == 32
    assert content_hash(load_target(write())) == before
    assert content_hash(load_target(write(data=DATA + "\n# more\n"))) != before
    assert content_hash(load_target(write(("1e-6", "1e-7")))) != before
    write()
    source = tmp_path / "kernel.cu"
    source.write_text(f"{source.read_text()}\n")
    target = load_target(tmp_path)
    assert content_hash(target) != before
    (tmp_path / "kernel.cu").unlink()
    with pytest.raises(UserError, match="cannot be read"):
        content_hash(target)


APPLICATION = """
# The program.
[application]
folder = "sub"
build = "make"
run = "./program 3"
check = "make test"
inputs = ["data.bin"]
ignore = ['took \\d+ s']
kernel_time = 'kernel: ([0-9.]+)'
pairs = 6
limit = { run = 2.5 }
"""


def test_an_application(write: Write, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "data.bin").symlink_to("elsewhere")
    application = load_target(write(("[timing]", f"{APPLICATION}\n[timing]"))).application
    assert application == Application(
        run="./program 3",
        build="make",
        check="make test",
        folder=tmp_path.resolve() / "sub",
        inputs=(tmp_path.resolve() / "data.bin",),
        ignore=(r"took \d+ s",),
        kernel_time="kernel: ([0-9.]+)",
        pairs=6,
        limit=Limits(run=2.5),
        line=line("[timing]") + 2,
    )
    plain = load_target(write(("[timing]", '[application]\nrun = "true"\n[timing]'))).application
    assert plain is not None
    assert plain.place == tmp_path.resolve()
    assert plain.build == plain.check == plain.kernel_time == ""
    assert load_target(write()).application is None


def test_an_application_and_comments_leave_what_was_measured_valid(
    write: Write, tmp_path: Path
) -> None:
    target = load_target(write())
    before, hashes = content_hash(target), file_hashes(target)
    (tmp_path / "sub").mkdir()
    (tmp_path / "data.bin").touch()
    for more in (APPLICATION, "# a comment\n"):
        other = load_target(write(("[timing]", f"{more}\n[timing]")))
        assert content_hash(other) == before
        assert file_hashes(other) == hashes
        assert is_unchanged(other, before)
    assert not is_unchanged(load_target(write(('cache = "flushed"', ""))), before)


def test_a_hash_of_every_byte_is_known(write: Write, tmp_path: Path) -> None:
    """Runs of before comments were left out have such."""
    target = load_target(write())
    digest = xxhash.xxh3_128()
    for name in ("target.toml", "kernel.cu", "data.py"):
        content = (tmp_path / name).read_bytes()
        digest.update(len(content).to_bytes(8, "little") + content)
    assert is_unchanged(target, digest.hexdigest())
    assert not is_unchanged(load_target(write(("1e-6", "1e-7"))), digest.hexdigest())


APPLICATION_MISTAKES = {
    "no run": ('build = "make"', "run", "the key is missing"),
    "list": ('run = ["make", "run"]', "run", "a command is one text, and this is a list"),
    "empty": ('run = " "', "run", "the command is empty"),
    "key": ('run = "a"\nchek = "b"', "chek", "Did you mean check"),
    "folder": ('run = "a"\nfolder = "none"', "folder", "the folder 'none' is not there"),
    "input": ('run = "a"\ninputs = ["none"]', "inputs", "'none' is not there"),
    "pattern": ('run = "a"\nignore = ["("]', "ignore[0]", "this is not a regular expression"),
    "no group": ('run = "a"\nkernel_time = "x"', "kernel_time", "needs one group"),
    "groups": ('run = "a"\nkernel_time = "(x)(y)"', "kernel_time", "needs one group"),
    "pairs": ('run = "a"\npairs = 3', "pairs", "greater than or equal to 4"),
    "limit": ('run = "a"\nlimit = { run = 0 }', "limit.run", "greater than 0"),
    "limits": ('run = "a"\nlimit = { runs = 1 }', "limit.runs", "Did you mean run"),
}


@pytest.mark.parametrize("name", APPLICATION_MISTAKES)
def test_an_application_that_cannot_be(name: str, write: Write) -> None:
    keys, key, said = APPLICATION_MISTAKES[name]
    with pytest.raises(UserError) as caught:
        load_target(write(("[timing]", f"[application]\n{keys}\n[timing]")))
    assert str(caught.value.where).endswith(f": application.{key}")
    assert said in str(caught.value)


DATA_MISTAKES = {
    "syntax": ("def case(:\n    pass\n", ":1", "this is not Python"),
    "import": ("import no_such_module_here\n", ":1", "no_such_module_here"),
    "running": ("x = 1\ny = x / 0\n", ":2", "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", DATA_MISTAKES)
def test_a_data_module_that_does_not_run(name: str, write: Write) -> None:
    data, number, message = DATA_MISTAKES[name]
    folder = write(data=data)
    with pytest.raises(UserError) as caught:
        check_code(load_target(folder))
    assert caught.value.where == f"{folder.resolve() / 'data.py'}{number}"
    assert message in str(caught.value)


def test_a_data_module_without_case(write: Write) -> None:
    with pytest.raises(UserError, match=r"data.py has no function case\(\)"):
        check_code(load_target(write(data="cases = 3\n")))


def test_no_target_at_all(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no target here"):
        load_target(tmp_path)
    with pytest.raises(UserError, match="there is no target here"):
        load_target(tmp_path / "nowhere")
    (tmp_path / "target.toml").write_bytes(b"\xff\xfe[target]")
    with pytest.raises(UserError, match="not UTF-8"):
        load_target(tmp_path)


def test_a_target_in_a_file_that_begins_with_a_byte_order_mark(write: Write) -> None:
    folder = write()
    text = (folder / "target.toml").read_bytes()
    whole = load_target(folder)
    (folder / "target.toml").write_bytes(codecs.BOM_UTF8 + text)
    assert load_target(folder) == whole


def test_a_file_that_ends_in_the_middle_of_a_header(write: Write) -> None:
    folder = write()
    with (folder / "target.toml").open("a") as file:
        file.write("\n[[[\n")
    with pytest.raises(UserError, match="this is not TOML"):
        load_target(folder)


def test_a_source_that_is_a_link_to_itself(write: Write) -> None:
    folder = write()
    (folder / "kernel.cu").unlink()
    (folder / "kernel.cu").symlink_to("kernel.cu")
    with pytest.raises(UserError, match="leads nowhere") as caught:
        load_target(folder)
    assert "target.source" in str(caught.value.where)


@pytest.mark.parametrize("name", ["../../away", "/away", "..", ".hidden", "a\\nb", "x" * 101])
@pytest.mark.parametrize("table", ["target", "case"])
def test_names_that_lead_out_of_the_folder(table: str, name: str, write: Write) -> None:
    old = 'name = "smooth"' if table == "target" else 'name = "small"'
    with pytest.raises(UserError, match="Files are named after it") as caught:
        load_target(write((old, f'name = "{name}"')))
    assert str(caught.value.where).endswith(".name")


def test_loading_runs_nothing_of_the_target(write: Write) -> None:
    folder = write(
        ('kind = "tolerance"', 'kind = "python"\nfunction = "data.py:penalty"'),
        ("absolute = 1e-6\nrelative = 1e-5\n", ""),
        data="raise SystemExit(1)\n",
    )
    load_target(folder)


def test_loading_leaves_nothing_behind(write: Write) -> None:
    folder = write()
    before = sorted(folder.iterdir())
    load_target(folder)
    assert sorted(folder.iterdir()) == before


def test_an_oracle_that_takes_other_arguments(write: Write) -> None:
    folder = write(
        ('kind = "tolerance"', 'kind = "python"\nfunction = "data.py:penalty"'),
        ("absolute = 1e-6\nrelative = 1e-5\n", ""),
        data=DATA + "\n\ndef penalty(outputs, reference):\n    return 0\n",
    )
    with pytest.raises(UserError, match=r"Its signature is penalty\(outputs, reference\)"):
        check_code(load_target(folder))
