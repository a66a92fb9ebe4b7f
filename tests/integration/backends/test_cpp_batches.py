"""C++ in batches: each variant sees the source as a compiler of its own would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import (
    Record,
    Recorded,
)
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Phenotype, Variant
from gi_cuda.backends.table import open_compiler
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.spec import find_case, load_case
from gi_cuda.subject import Subject, load_subject

TARGETS = Path(__file__).parents[2] / "targets"

Floats = NDArray[np.float32]


def outputs(
    name: str, folder: Path, configurations: list[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]]:
    """Inputs and outputs of the unmodified source, built in one batch under configurations."""
    subject = load_subject(TARGETS / name, "host")
    with open_tools(subject, folder, workers=1, jobs=1) as tools:
        return [
            (load_case(subject.target, find_case(subject.target, "train")).values, one)
            for one in _run(subject, tools, configurations)
        ]


def _run(
    subject: Subject, tools: Tools, configurations: list[Mapping[str, Any]]
) -> list[Mapping[str, NDArray[Any]]]:
    complete = [{**subject.space.default, **changed} for changed in configurations]
    source = subject.reference
    variants = [Variant(i, source, subject.macros(c)) for i, c in enumerate(complete)]
    built = build_batch(tools.compiler, variants, tools.folder / "batch")
    found = []
    for ident, configuration in enumerate(complete):
        binary = built[ident]
        assert isinstance(binary, Binary), binary
        program = Program(binary, configuration, ("train",))
        answer = tools.pool.one(Record(program, tools.reference, 1, 60.0))
        assert isinstance(answer, Recorded), answer
        with np.load(tools.reference / "train.npz") as stacks:
            found.append({name: stacks[name][0] for name in stacks})
    return found


def window(values: Floats, radius: int) -> Floats:
    padded = np.pad(values, radius)
    return sum(padded[i : i + values.size] for i in range(2 * radius + 1))  # type: ignore[return-value]


def test_templates_are_instantiated_by_the_variants_own_macros(tmp_path: Path) -> None:
    ran = outputs("cpp_templates", tmp_path, [{}, {"RADIUS": 3, "BLOCK": 32}, {"BLOCK": 128}])
    for (case, found), radius in zip(ran, (2, 3, 2), strict=True):
        expected = window(case["in"], radius) * np.float32(1 / (2 * radius + 1)) + 1
        np.testing.assert_allclose(found["out"], expected, rtol=1e-5, atol=1e-4)


def test_namespaces_of_the_source_and_of_its_headers_are_one(tmp_path: Path) -> None:
    for case, found in outputs("cpp_namespaces", tmp_path, [{}, {}]):
        np.testing.assert_array_equal(found["out"], -np.clip(case["in"], -500, 500) / 2 + 0.25)


def test_macros_are_what_they_are_when_the_file_is_compiled_alone(tmp_path: Path) -> None:
    for case, found in outputs("cpp_macros", tmp_path, [{}, {"BLOCK": 32}, {}]):
        expected = ((case["in"] + 7) * 3 + 9 * 5) * 2 * 2
        np.testing.assert_array_equal(found["out"], expected)


def test_variables_at_file_level_are_filled_and_read_back(tmp_path: Path) -> None:
    for case, found in outputs("cpp_statics", tmp_path, [{}, {}]):
        padded = np.pad(case["in"], 2)
        n = case["n"]
        sums = 3 + sum(case["taps"][i] * padded[i : i + n] for i in range(5))
        expected = (0.5 * np.where(np.arange(n) % 2, -1, 1) * sums).astype(np.float32)
        assert found["count"][0] == np.count_nonzero(expected > 0)
        expected[-1] += sums[-1]
        np.testing.assert_array_equal(found["out"], expected)


@pytest.mark.parametrize("kernel", ["blur<float>", "blur<Unknown, 2>", "shift(char *, int)"])
def test_an_instance_that_is_not_there_fails_with_the_kernels_line(
    kernel: str, tmp_path: Path
) -> None:
    subject = load_subject(TARGETS / "cpp_templates", "host")
    compiler = replace(open_compiler(subject, 1), kernels=(kernel,))
    variant = Variant(0, subject.reference, subject.macros(subject.space.default))
    built = build_batch(compiler, [variant], tmp_path)[0]
    assert isinstance(built, BuildFailure)
    assert built.message.startswith("kernels of target.toml:1: ")


def test_the_name_of_the_file_in_the_text_does_not_tell_phenotypes_apart() -> None:
    compiler = open_compiler(load_subject(TARGETS / "scale", "host"), 1)
    text = "void scale() { const char *file = __FILE__; }\n"
    one, other = compiler.preprocess([Variant(4, text, {}), Variant(15, text, {})]).values()
    assert isinstance(one, Phenotype)
    assert isinstance(other, Phenotype)
    assert one.key == other.key
