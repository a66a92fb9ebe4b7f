"""The corpus of the false-verdict benchmark: reading it, and the truth of its labels."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.referee.nvcc import complaints, together
from benchmarks.referee.rewrites import (
    CORPUS,
    WRONG_KINDS,
    CorpusError,
    edited,
    read_corpus,
    read_kernel,
)
from benchmarks.referee.table import Verdict, table
from benchmarks.referee.truth import build, check, launches_called
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.errors import UserError


def has_nvcc() -> bool:
    try:
        find_toolkit()
    except UserError:
        return False
    return True


needs_nvcc = pytest.mark.skipif(not has_nvcc(), reason="no nvcc")

SOURCE = """__global__ void twice(float *x)
{
    x[threadIdx.x] *= 2;
}
"""

TRUTH = '[truth]\nfunction = "run"\narguments = []\nsizes = []\n'


def corpus_of(folder: Path, rewrites: str) -> Path:
    kernel = folder / "twice"
    kernel.mkdir()
    (kernel / "twice.cu").write_text(SOURCE)
    (kernel / "rewrites.toml").write_text(TRUTH + rewrites)
    return kernel


def test_edits_replace_texts_of_the_original() -> None:
    assert edited("a + b", [("b", "a"), ("a", "b")]) == "b + a"


@pytest.mark.parametrize(
    ("old", "said"),
    [("c", "occurs 0 times"), ("a", "occurs 2 times")],
)
def test_an_old_text_that_is_not_there_once_is_told(old: str, said: str) -> None:
    with pytest.raises(CorpusError, match=said):
        edited("a + a", [(old, "b")])


def test_edits_must_not_overlap() -> None:
    with pytest.raises(CorpusError, match="overlaps"):
        edited("a + b", [("a +", "c +"), ("+ b", "+ d")])


def test_a_new_kernel_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    folder = corpus_of(
        tmp_path,
        "[[wrong]]\nname = 'idle'\nkind = 'cheat'\nwhy = 'Does nothing.'\n"
        "kernel = '__global__ void twice(float *x) {}'\n",
    )
    (rewrite,) = read_kernel(folder).rewrites
    assert rewrite.text == "__global__ void twice(float *x) {}"
    assert not rewrite.right


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("name = 'a'\nkind = 'luck'\nwhy = 'w'", "twice: a: unknown kind luck"),
        ("name = 'a'\nkind = 'cheat'", "twice: a: no why"),
        ("name = 'a'\nkind = 'cheat'\nwhy = 'w'\nedit = []", "twice: a: unknown field edit"),
        ("name = 'a'\nkind = 'cheat'\nwhy = 'w'", "a changes nothing"),
    ],
)
def test_a_faulty_table_is_told(fields: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=said):
        read_kernel(corpus_of(tmp_path, f"[[wrong]]\n{fields}\n"))


def test_the_corpus_has_all_kinds_on_several_kernels() -> None:
    kernels = list(read_corpus())
    wrong, right = defaultdict(set), defaultdict(set)
    for kernel in kernels:
        for rewrite in kernel.rewrites:
            (right if rewrite.right else wrong)[rewrite.kind].add((kernel.name, rewrite.name))
    assert sum(map(len, wrong.values())) >= 200
    assert sum(map(len, right.values())) >= 80
    assert set(wrong) == WRONG_KINDS
    assert min(len({kernel for kernel, _ in found}) for found in wrong.values()) >= 5
    lengths = sorted(kernel.text.count("\n") for kernel in kernels)
    assert len(kernels) >= 8
    assert lengths[-2] >= 150


def test_launches_become_calls_of_the_emulation() -> None:
    text = "scale<2><<<dim3(n, 2), 64>>>(x, n);\n    extern __shared__ float part[];"
    assert launches_called(text) == (
        "truth::launch(dim3(n, 2),  64, 0, [&] { scale<2>(x, n); });\n"
        "    float *part = (float *)truth::dynamic;"
    )


@pytest.mark.parametrize("name", ["warp_shuffles", "one_round_too_few", "single_buffer"])
def test_a_rewrite_is_what_it_is_said_to_be(name: str, tmp_path: Path) -> None:
    kernel = read_kernel(CORPUS / "scan")
    kernel = replace(kernel, truth={**kernel.truth, "sizes": [{"n": 257}]})
    assert build(kernel.text, kernel.truth["function"], tmp_path / "original.so") == ""
    (rewrite,) = [one for one in kernel.rewrites if one.name == name]
    assert check(kernel, rewrite, tmp_path) == ""


@needs_nvcc
def test_nvcc_takes_rewrites_of_a_kernel_together() -> None:
    scan = read_kernel(CORPUS / "scan")
    texts = [one.text for one in scan.rewrites if one.right]
    assert complaints(together([scan.text, *texts])) == ""


@needs_nvcc
def test_nvcc_refuses_host_code_in_a_kernel() -> None:
    (rewrite,) = [one for one in read_kernel(CORPUS / "diffuse").rewrites if not one.compiles]
    assert complaints(rewrite.text) != ""


def test_the_table_counts_what_is_not_as_it_should_be() -> None:
    verdicts = [
        Verdict("scan", "a", "cheat", False, "faster", "", 1.0),
        Verdict("scan", "b", "cheat", False, "unverified", "untested code", 2.0),
        Verdict("scan", "c", "shuffle", True, "incorrect", "other answers", 3.0),
        Verdict("scan", "d", "unroll", True, "unverified", "", 4.0),
        Verdict("scan", "e", "unroll", True, "inconclusive", "", 5.0),
    ]
    told = table(verdicts)
    assert [int(one) for one in told.splitlines()[1].split()[1:6]] == [2, 1, 3, 1, 1]
    assert "false accepts: 1\n  scan: a (cheat): faster\n" in told
    assert "false rejects: 1\n  scan: c (shuffle): incorrect: other answers\n" in told
