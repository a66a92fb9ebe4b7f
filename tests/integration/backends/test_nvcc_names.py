"""Kernels and variables by their names in a target: instances, overloads, namespaces."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.compile.shards import Sizes
from gi_cuda.backends.cuda.backend import cuda_compiler, nvcc_compiler
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import BuildFailure, Built, Variant
from gi_cuda.spec.launching.kernel_names import identifier
from gi_cuda.subject import Subject, load_subject

TARGETS = Path(__file__).parents[2] / "targets"


def subject_of(name: str) -> Subject:
    return load_subject(TARGETS / name, "cuda")


def build(
    subject: Subject,
    compiler: NvccCompiler,
    folder: Path,
    configurations: list[Mapping[str, Any]],
) -> list[Built]:
    """The unmodified source under some configurations, as one batch and one shard."""
    compiler = replace(compiler, sizes=Sizes(smallest=8, largest=8, first=8))
    complete = [{**subject.space.default, **changed} for changed in configurations]
    variants = [Variant(i, subject.reference, subject.macros(c)) for i, c in enumerate(complete)]
    return [one for _, one in sorted(build_batch(compiler, variants, folder).items())]


@pytest.mark.parametrize(
    "name", ["scale", "cpp_templates", "cpp_namespaces", "cpp_statics", "cpp_macros"]
)
def test_all_that_a_target_names_is_found(name: str, toolkit: Toolkit, tmp_path: Path) -> None:
    subject = subject_of(name)
    compiler = cuda_compiler(subject, 2, toolkit, "sm_90")
    for binary in build(subject, compiler, tmp_path, [{}, {}]):
        assert isinstance(binary, CudaBinary), binary
        assert {identifier(kernel) for kernel in subject.target.kernels} <= binary.kernels.keys()
        symbols = [b.symbol for b in subject.target.buffers if b.symbol is not None]
        assert {identifier(symbol) for symbol in symbols} <= binary.variables.keys()


def test_headers_left_out_for_the_host_stay_where_others_of_the_toolkit_need_them(
    toolkit: Toolkit, tmp_path: Path
) -> None:
    """cuda_fp16.h includes nv/target, and would find an empty file in its place."""
    folder = shutil.copytree(TARGETS / "scale", tmp_path / "scale")
    target, kernel = folder / "target.toml", folder / "kernel.cu"
    target.write_text(target.read_text().replace("[build]", '[build]\nwithout = ["nv/target"]'))
    includes = "#include <cuda_fp16.h>\n#include <nv/target>\n"
    half = "int waste = __half2int_rz(__half(0.0f));"
    kernel.write_text(includes + kernel.read_text().replace("int waste = 0;", half))
    subject = load_subject(folder, "cuda")
    compiler = nvcc_compiler(subject, 1, toolkit, "sm_90")
    assert isinstance(build(subject, compiler, tmp_path, [{}])[0], CudaBinary)


def test_an_instance_follows_the_variants_own_macros(toolkit: Toolkit, tmp_path: Path) -> None:
    subject = subject_of("cpp_templates")
    compiler = cuda_compiler(subject, 2, toolkit, "sm_90")
    built = build(subject, compiler, tmp_path, [{}, {"RADIUS": 3}, {}])
    found = [b.kernels[identifier("blur<float, RADIUS>")] for b in built if type(b) is CudaBinary]
    assert ["Li2E" in k.symbol for k in found] == [True, False, True]
    assert ["Li3E" in k.symbol for k in found] == [False, True, False]


def test_the_overload_with_these_parameters_is_meant(toolkit: Toolkit, tmp_path: Path) -> None:
    subject = subject_of("cpp_templates")
    compiler = cuda_compiler(subject, 1, toolkit, "sm_90")
    for name, mangled in {
        "shift(float *, int)": "shiftEPfi",
        "shift(double *, int)": "shiftEPdi",
    }.items():
        (binary,) = build(subject, replace(compiler, kernels=(name,)), tmp_path / mangled, [{}])
        assert isinstance(binary, CudaBinary)
        assert binary.kernels[identifier(name)].symbol.endswith(mangled)


def test_naming_kernels_leaves_the_code_key_as_it_is(toolkit: Toolkit, tmp_path: Path) -> None:
    subject = subject_of("cpp_templates")
    compiler = cuda_compiler(subject, 1, toolkit, "sm_90")
    alone = build(subject, compiler, tmp_path / "alone", [{}])[0]
    others = build(subject, compiler, tmp_path / "others", [{"RADIUS": 3}, {"BLOCK": 32}, {}])
    assert isinstance(alone, CudaBinary)
    keys = [one.code_key for one in others if isinstance(one, CudaBinary)]
    assert keys[2] == alone.code_key
    assert len(set(keys)) == 3


@pytest.mark.parametrize("kernel", ["blur<float>", "blur<Unknown, 2>", "shift(char *, int)"])
def test_an_instance_that_is_not_there_fails_with_the_kernels_line(
    kernel: str, toolkit: Toolkit, tmp_path: Path
) -> None:
    subject = subject_of("cpp_templates")
    compiler = replace(cuda_compiler(subject, 1, toolkit, "sm_90"), kernels=(kernel,))
    (failure,) = build(subject, compiler, tmp_path, [{}])
    assert isinstance(failure, BuildFailure)
    assert failure.message.startswith("kernels of target.toml:1: ")
