"""Imported PTX, cubins and LLVM-IR: read with real tools, and compared with a target's code."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

from gi_cuda.analyze.compare.contestants import Reader
from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.cuda.backend import open_nvcc
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.ptx.batch import ptx_of, source_ptx
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import Built, Variant
from gi_cuda.errors import UserError
from gi_cuda.spec.launching.kernel_names import identifier
from gi_cuda.subject import Subject, load_subject
from tests.command import gi_cuda
from tests.sweeps import broad, sweep

TARGETS = Path(__file__).parents[2] / "targets"
SHIPPED = Path(__file__).parents[3] / "targets"
IR = Path(__file__).parents[2] / "sources" / "llvm" / "scale.ll"
SCALE = TARGETS / "scale"
SYMBOL = "_Z5scalePKiPii"

pytestmark = pytest.mark.usefixtures("toolkit")


@cache
def subject_of(folder: Path) -> Subject:
    return load_subject(folder, "cuda")


def reference(subject: Subject) -> Variant:
    configuration = subject.original.configuration
    macros, options = subject.macros(configuration), subject.options(configuration)
    return Variant(0, subject.reference, macros, options)


@cache
def text_of(folder: Path, form: str = "alone") -> str:
    """The PTX of a target's reference: as of its source alone, or as of a variant."""
    subject = subject_of(folder)
    made = {"alone": source_ptx, "variant": ptx_of}[form]
    return made(open_nvcc(subject, 1), reference(subject))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Built]:
    """Makes the reference's binary, of each target once."""

    @cache
    def build(folder: Path) -> Built:
        subject, scratch = subject_of(folder), tmp_path_factory.mktemp("reference")
        return build_batch(open_nvcc(subject, 1), [reference(subject)], scratch)[0]

    return build


def codes(binary: Built, names: Iterable[str]) -> list[bytes]:
    """The machine code of kernels."""
    assert isinstance(binary, CudaBinary), binary
    elf, kernels = Elf(binary.path.read_bytes()), binary.kernels
    return [elf.content(f".text.{kernels[identifier(name)].symbol}") for name in names]


def imported(file: Path | str, folder: Path = SCALE) -> CudaBinary:
    subject = subject_of(folder)
    scratch = Path(str(file).partition(":")[0]).parent / "imported"
    one = Reader(subject, scratch, 1).read(str(file))
    assert isinstance(one.candidate.binary, CudaBinary)
    return one.candidate.binary


def written(folder: Path, text: str, name: str = "k.ptx") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    return file


def refused(file: Path | str, folder: Path = SCALE) -> UserError:
    with pytest.raises(UserError) as caught:
        imported(file, folder)
    return caught.value


OWN = [TARGETS / name for name in ("scale", "cpp_statics", "cpp_templates", "cpp_namespaces")]
FORMS = [(folder, form) for folder in OWN for form in ("alone", "variant")]
FORMS += [(path.parent, "alone") for path in sorted(SHIPPED.glob("*/target.toml"))]


@pytest.mark.parametrize(
    ("folder", "form"), sweep(FORMS, *FORMS[:4]), ids=lambda one: getattr(one, "name", one)
)
def test_ptx_and_cubins_of_a_targets_own_reference_are_taken(
    folder: Path, form: str, built: Callable[[Path], Built], tmp_path: Path
) -> None:
    target = subject_of(folder).target
    from_ptx = imported(written(tmp_path, text_of(folder, form)), folder)
    assert codes(from_ptx, target.kernels) == codes(built(folder), target.kernels) != []
    symbols = {identifier(buffer.symbol) for buffer in target.buffers if buffer.symbol}
    assert symbols <= set(from_ptx.variables)
    cubin = Path(shutil.copyfile(from_ptx.path, tmp_path / "k.cubin"))
    from_cubin = imported(cubin, folder)
    assert from_cubin.kernels == from_ptx.kernels
    assert from_cubin.variables == from_ptx.variables
    assert from_cubin.resources == from_ptx.resources


def test_names_of_c_are_taken(tmp_path: Path) -> None:
    binary = imported(written(tmp_path, text_of(SCALE).replace(SYMBOL, "scale")))
    assert binary.kernels["scale"].symbol == "scale"


def test_a_kernel_among_others_is_found_and_an_ambiguous_one_refused(tmp_path: Path) -> None:
    alone = text_of(SCALE)
    end = alone.index("}\n", alone.index(".entry")) + 2
    kernel = alone[alone.index(".visible .entry") : end]
    other = kernel.replace(SYMBOL, "unrelated").replace("$L__BB0", "$L__BB9")
    both = imported(written(tmp_path, alone + re.sub(r"_ZZ\w+tile", "tile9", other)))
    assert set(both.kernels) == {"scale"}
    assert both.resources["code"] == both.kernels["scale"].code
    twice = alone.replace(SYMBOL, "_Z5scaleIiEvPKT_PS0_i") + re.sub(
        r"_ZZ\w+tile", "tile9", kernel.replace(SYMBOL, "_Z5scaleIfEvPKT_PS0_i")
    ).replace("$L__BB0", "$L__BB9")
    error = refused(written(tmp_path, twice))
    assert "several could be the kernel scale: _Z5scaleI" in error.what


def test_a_kernel_or_a_variable_that_is_missing_is_told_with_what_there_is(tmp_path: Path) -> None:
    error = refused(written(tmp_path, text_of(SCALE).replace(SYMBOL, "_Z5otherPKiPii")))
    assert error.what == "there is no kernel scale in it; it has other"
    assert error.where == str(tmp_path / "k.ptx")
    statics = TARGETS / "cpp_statics"
    text = text_of(statics).replace("_ZN6filter4tapsE", "_ZN6filter4typeE")
    error = refused(written(tmp_path, text), statics)
    assert error.what.startswith("there is no variable filter::taps in it; it has ")
    assert "type" in error.what
    empty = ".version 9.0\n.target sm_90\n.address_size 64\n"
    assert "it has no kernel at all" in refused(written(tmp_path, empty)).what


PARAMETER = f".param .u32 {SYMBOL}_param_2"


@pytest.mark.parametrize(
    ("change", "taken", "said"),
    [
        (PARAMETER.replace("u32", "u64"), "(.u64, .u64, .u64)", "parameter 3 is .u64"),
        (PARAMETER.replace("u32", "f32"), "(.u64, .u64, .f32)", "parameter 3 is .f32"),
        (
            f"{PARAMETER},\n.param .u32 more",
            "(.u64, .u64, .u32, .u32)",
            "it has 4 parameters, and the target's 3",
        ),
    ],
)
def test_other_parameters_are_refused_with_the_difference(
    change: str, taken: str, said: str, tmp_path: Path
) -> None:
    error = refused(written(tmp_path, text_of(SCALE).replace(PARAMETER, change)))
    assert f"kernel scale takes {taken}, and the target's (.u64, .u64, .u32): {said}" in error.what


def test_a_cubin_with_other_parameters_is_refused(toolkit: Toolkit, tmp_path: Path) -> None:
    more = f"{PARAMETER},\n.param .u16 more"
    file = written(tmp_path, text_of(SCALE).replace(PARAMETER, more))
    cubin = file.with_suffix(".cubin")
    command = [toolkit.nvcc, "-arch=sm_90", "-cubin", "-o", cubin, file]
    subprocess.run(command, check=True)
    error = refused(cubin)
    assert "takes (8 bytes, 8 bytes, 4 bytes, 2 bytes), and the target's" in error.what
    assert "it has 4 parameters" in error.what


def test_what_is_no_code_for_this_architecture_is_refused(toolkit: Toolkit, tmp_path: Path) -> None:
    other = tmp_path / "other.cubin"
    ptx = written(tmp_path, text_of(SCALE).replace(".target sm_90", ".target sm_75"))
    command = [toolkit.nvcc, "-arch=sm_75", "-cubin", "-o", other, ptx]
    subprocess.run(command, check=True)
    assert "the cubin is for sm_75" in refused(other).what
    whole = imported(ptx).path.read_bytes()
    for content in (b"", b"hello", whole[:40], whole[:2000], bytes(len(whole))):
        file = tmp_path / "k.cubin"
        file.write_bytes(content)
        assert refused(file).what == "is no cubin"
    error = refused(written(tmp_path, text_of(SCALE).replace("add.s32", "ad.s32")))
    assert error.what.startswith("ptxas does not take it: ")
    assert error.where is not None
    assert re.fullmatch(re.escape(f"{tmp_path}/k.ptx") + r":\d+", error.where)
    assert "cannot be read: " in refused(tmp_path / "none.ptx").what


def test_values_go_with_a_file(tmp_path: Path) -> None:
    file = written(tmp_path, text_of(SCALE))
    reader = Reader(subject_of(SCALE), tmp_path / "imported", 1)
    one = reader.read(f"{file}:BLOCK=128,CHECKED=1")
    assert one.what == "BLOCK=128 CHECKED=1"
    assert one.candidate.configuration["BLOCK"] == 128
    with pytest.raises(UserError, match="enough is enough"):
        reader.read(f"{file}:BLOCK=128,REPEAT=2")
    with pytest.raises(UserError, match="edits"):
        reader.read(f"{file}:BLOCK=128,<_kernel.cu_27>")


@pytest.mark.parametrize("bitcode", [False, True], ids=["text", "bitcode"])
def test_llvm_ir_is_compiled(bitcode: bool, tmp_path: Path) -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    file = Path(shutil.copyfile(IR, tmp_path / "scale.ll"))
    if bitcode:
        module = llvm.parse_assembly(IR.read_text())
        file = tmp_path / "scale.bc"
        file.write_bytes(module.as_bitcode())
    assert set(imported(file).kernels) == {"scale"}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("i32 %n)", "double %n)", "parameter 3 is .f64"),
        ("nvptx64-nvidia-cuda", "x86_64-pc-linux-gnu", "it is for x86_64-pc-linux-gnu"),
        ("ret void", "ret nothing", "error"),
        ("  ret void", "  call void @llvm.nvvm.tcgen05.wait.ld()\n  ret void", "Cannot select"),
    ],
)
def test_llvm_ir_that_is_of_no_use_is_refused(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    pytest.importorskip("llvmlite")
    text = IR.read_text().replace(before, after).replace("slt i32 %at, %n", "slt i32 %at, 9")
    if "tcgen05" in after:
        text += "\ndeclare void @llvm.nvvm.tcgen05.wait.ld()\n"
    error = refused(written(tmp_path, text, "k.ll"))
    assert said in error.what
    assert error.where == str(tmp_path / "k.ll")


@broad
def test_all_that_is_wrong_is_said_before_a_device_is_needed(tmp_path: Path) -> None:
    words = ("--target", SCALE, "--backend", "cuda")
    good = written(tmp_path, text_of(SCALE))
    other = text_of(SCALE).replace(PARAMETER, PARAMETER.replace("u32", "f32"))
    bad = written(tmp_path, other, "bad.ptx")
    for files, said in (([good, bad], "bad.ptx: kernel scale takes"), ([good], "no GPU")):
        done = gi_cuda("compare", *files, *words, cwd=tmp_path, CUDA_VISIBLE_DEVICES="")
        assert done.returncode == 2, done
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_the_host_back_end_refuses_such_files(tmp_path: Path) -> None:
    file = written(tmp_path, text_of(SCALE))
    done = gi_cuda("compare", file, "--target", SCALE, cwd=tmp_path)
    assert done.returncode == 2
    assert "the host back end does not run code of a GPU" in done.stderr
