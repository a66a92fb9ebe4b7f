"""Imported machine code, measured beside the reference on the device."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from gi_cuda.backends.cuda.backend import open_nvcc
from gi_cuda.backends.cuda.ptx.batch import ptx_of, source_ptx
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.subject import Subject, load_subject

from .test_device_cli import cli

ROOT = Path(__file__).parents[2]
SCALE = ROOT / "tests" / "targets" / "scale"
IR = ROOT / "tests" / "sources" / "llvm" / "scale.ll"
TRIES = 10

STORE = re.compile(r"^(?P<before>\s*st\.global\.u32\s+\[%rd\d+\], )(?P<what>%r\d+);", re.M)
FIRST = re.compile(r"^\s*ld\.param", re.M)


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    """The small target with cases that are large enough to be timed well."""
    target = tmp_path / "scale"
    shutil.copytree(SCALE, target, ignore=shutil.ignore_patterns("__pycache__"))
    file = target / "target.toml"
    text = file.read_text()
    for small in ("n = 4000", "n = 3111"):
        assert small in text
        text = text.replace(small, f"{small}000")
    file.write_text(text)
    return target


def reference(subject: Subject) -> tuple[str, str]:
    """The PTX of a target's reference: as of its source alone, and as of a variant."""
    configuration = subject.original.configuration
    macros, options = subject.macros(configuration), subject.options(configuration)
    variant, compiler = Variant(0, subject.reference, macros, options), open_nvcc(subject, 1)
    return source_ptx(compiler, variant), ptx_of(compiler, variant)


def wrong(ptx: str) -> str:
    """One more than right, in one place."""
    assert len(STORE.findall(ptx)) == 1
    planted = (
        r"\tmov.u32 %gi_r, %tid.x;\n\tsetp.eq.u32 %gi_p, %gi_r, 5;\n"
        r"\t@%gi_p add.s32 \g<what>, \g<what>, 1;\n\g<0>"
    )
    declared = "\t.reg .pred %gi_p;\n\t.reg .b32 %gi_r;\n"
    return FIRST.sub(lambda found: f"{declared}{found[0]}", STORE.sub(planted, ptx), count=1)


def hanging(ptx: str) -> str:
    """A loop without end, in front of everything."""
    loop = "$gi_hang:\n\tmembar.gl;\n\tbra.uni $gi_hang;\n"
    return FIRST.sub(lambda found: f"{loop}{found[0]}", ptx, count=1)


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    return file


def compared(contestants: Sequence[object], target: Path, folder: Path) -> list[dict[str, str]]:
    words = ("--target", target, "--backend", "cuda", "--csv", folder / "all.csv")
    done = cli("compare", *contestants, *words, cwd=folder)
    assert done.returncode == 0, done
    with (folder / "all.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_faults_are_told_and_disturb_nobody(architecture: str, scale: Path, tmp_path: Path) -> None:
    alone, variant = reference(load_subject(scale, "cuda"))
    same = written(tmp_path, "same.ptx", alone)
    cubin = tmp_path / "same.cubin"
    command = [find_toolkit().nvcc, f"-arch={architecture}", "-cubin", "-o", cubin, same]
    subprocess.run(command, check=True)

    def good(turn: int) -> list[object]:
        same = written(tmp_path, f"same{turn}.ptx", alone)
        again = shutil.copyfile(cubin, tmp_path / f"same{turn}.cubin")
        return [same, again, written(tmp_path, f"variant{turn}.ptx", variant), f"{same}:BLOCK=64"]

    def bad(turn: int) -> list[Path]:
        return [
            written(tmp_path, f"wrong{turn}.ptx", wrong(alone)),
            written(tmp_path, f"hanging{turn}.ptx", hanging(alone)),
        ]

    contestants = [*good(0), *bad(0), *good(1), *reversed(bad(1)), *good(2)]
    rows = compared(contestants, scale, tmp_path)
    said = [row["verdict"] for row in rows]
    assert said[4:6] == said[10:12][::-1] == ["wrong", "hung"]
    assert said[:4] + said[6:10] + said[12:] == ["same"] * 12
    assert {row["failure"] for row in rows if row["verdict"] == "same"} == {""}


@pytest.mark.parametrize(
    "name", ["bwt_exact", "sw_naive", "sw_tuned", "tissue_many", "tissue_spread"]
)
def test_a_targets_own_reference_is_the_same_every_time(name: str, tmp_path: Path) -> None:
    target = ROOT / "targets" / name
    alone, _ = reference(load_subject(target, "cuda"))
    # One that is named twice is measured once.
    files = [written(tmp_path, f"same{number}.ptx", alone) for number in range(TRIES)]
    rows = compared(files, target, tmp_path)
    assert [row["verdict"] for row in rows] == ["same"] * TRIES


def test_llvm_ir_is_right(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    file = Path(shutil.copyfile(IR, tmp_path / "scale.ll"))
    (row,) = compared([file], SCALE, tmp_path)
    assert row["failure"] == ""
    assert row["kind"] == "LLVM-IR"
    assert float(row["held_out"]) > 0
