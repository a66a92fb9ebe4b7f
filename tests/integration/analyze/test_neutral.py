"""Changes that do not affect the compiled code are left out; all others stay."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gi_cuda.analyze.finalists.neutral import without_neutral
from gi_cuda.backends.cuda.backend import cuda_compiler
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import Binary, Compiler
from gi_cuda.backends.table import open_backend
from gi_cuda.evaluate.candidates import build_candidates, candidate
from gi_cuda.genome import Changed, changes_of
from gi_cuda.subject import Subject, load_subject
from tests.conftest import TARGETS

AGAIN = "<_kernel.cu_25>+<_kernel.cu_24>"
"""The same number to the same place of an array once more."""


def shortened(subject: Subject, compiler: Compiler, texts: list[str], folder: Path) -> list[str]:
    some = [subject.read(text) for text in texts]
    return list(map(str, without_neutral(subject, compiler, some, folder)))


@pytest.mark.parametrize(
    ("genotype", "left"),
    [
        (AGAIN, ""),
        (f"REPEAT=2 {AGAIN}", "REPEAT=2"),
        ("BLOCK=32", "BLOCK=32"),
        (f"REPEAT=2 <_kernel.cu_22> {AGAIN}", "REPEAT=2 <_kernel.cu_22>"),
    ],
)
def test_what_changes_no_code_and_no_launch_goes(genotype: str, left: str, tmp_path: Path) -> None:
    subject = load_subject(TARGETS / "scale", "host")
    compiler = open_backend("host").compiler(subject, 1)
    assert shortened(subject, compiler, [genotype], tmp_path) == [left]


def test_nvcc_tells_as_well(toolkit: Toolkit, tmp_path: Path) -> None:
    subject = load_subject(TARGETS / "scale", "cuda")
    compiler = cuda_compiler(subject, 1, toolkit, "sm_90")
    texts = [f"REPEAT=2 {AGAIN}", "", f"<_kernel.cu_22> {AGAIN}"]
    assert shortened(subject, compiler, texts, tmp_path) == ["REPEAT=2", "", "<_kernel.cu_22>"]


def test_the_code_stays_the_same(tmp_path: Path) -> None:
    subject = load_subject(TARGETS / "scale", "host")
    compiler = open_backend("host").compiler(subject, 1)
    chance = random.Random(7)
    lines = [22, 24, 25, 29, 31]
    texts = []
    for _ in range(12):
        pairs = [(at, chance.choice([one for one in lines if one != at])) for at in lines[:3]]
        texts.append(" ".join(f"<_kernel.cu_{at}>+<_kernel.cu_{one}>" for at, one in pairs))
    some = [subject.read(text) for text in texts]
    left = without_neutral(subject, compiler, some, tmp_path)
    candidates = [candidate(subject, one) for one in (*some, *left)]
    built = build_candidates(compiler, candidates, tmp_path / "again")
    keys = [one.code_key if isinstance(one, Binary) else None for one in built]
    assert keys[: len(some)] == keys[len(some) :]
    assert sum(len(changes_of(one)) for one in left) < 3 * len(texts)
    for before, after in zip(some, left, strict=True):
        changes = Changed.of(before, subject.original, subject.order).changes
        assert set(changes_of(after)) <= set(changes)
