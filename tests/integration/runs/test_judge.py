"""``gi-cuda judge``: each verdict on rewrites of one kernel, JSON, certificates and mistakes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from benchmarks.elementwise import elementwise_target
from gi_cuda.analyze.judge.judging import Entry, Referee
from gi_cuda.analyze.judge.records import Judged, Outcome
from gi_cuda.analyze.rewrites.refusals import Refused
from gi_cuda.analyze.rewrites.rewritten import Rewrites
from gi_cuda.evaluate.reference.baseline import establish
from gi_cuda.evaluate.scrutiny.ordering.races import Looked
from gi_cuda.evaluate.scrutiny.processor_watch import ProcessorWatch
from gi_cuda.report.as_json import PRINTED
from gi_cuda.results.status import EXIT_STATUS, Status
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject
from tests.command import gi_cuda

KERNEL = """\
#include <cuda_runtime.h>

// each value becomes the mean of itself and its neighbours
__global__ void smooth(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    volatile float waste = 0.0f;
    for (int round = 0; round < 60; round++)
        waste = waste + 1.0f;
    float sum = in[i] + in[max(i - 1, 0)] + in[min(i + 1, n - 1)];
    out[i] = sum / 3.0f;
}

int main()
{
    int n = 1 << 16;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    smooth<<<(n + 127) / 128, 128>>>(in, out, n);
    return 0;
}
"""
TARGET = elementwise_target(
    "smooth",
    block=128,
    train="seed = 1, n = 1000",
    held_out="seed = 2, n = 1500",
    oracle='kind = "tolerance"\nabsolute = 1e-5\nrelative = 1e-5',
)
DATA = """\
import numpy as np


def case(seed, n):
    return {"in": np.random.default_rng(seed).standard_normal(n, dtype=np.float32), "n": n}
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def changed(*pairs: tuple[str, str]) -> str:
    """The kernel with some words replaced."""
    text = KERNEL
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the kernel and its target."""
    folder = tmp_path_factory.mktemp("smooth")
    for name, text in (("smooth.cu", KERNEL), ("target.toml", TARGET), ("data.py", DATA)):
        written(folder, name, text)
    return folder


@pytest.fixture(scope="module")
def referee(
    target: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Referee, Rewrites]]:
    """The referee of that target, and the reader of its rewrites."""
    scratch = tmp_path_factory.mktemp("judged")
    subject = load_subject(target, "host")
    with open_tools(subject, scratch / "session", workers=1, jobs=2) as tools:

        @cache
        def baseline():  # type: ignore[no-untyped-def]
            place = tools.scratch("baseline")
            return establish(subject, tools.compiler, tools.pool, place, tools.reference)

        yield Referee(tools, baseline), Rewrites(subject, scratch / "rewrites")


def judged(referee: tuple[Referee, Rewrites], folder: Path, text: str) -> Judged:
    """The verdict on a text in the kernel's place."""
    judge, rewrites = referee
    path = written(folder, "new.cu", text)
    try:
        one = rewrites.read(path)
    except Refused as error:
        return judge.judge(Entry("smooth.cu", "new.cu", "file", None, error.refusal))
    return judge.judge(Entry("smooth.cu", "new.cu", "file", one.candidate, launches=one.notes))


FAST = (("< 60", "< 1"), ("smooth", "smooth_fast"), ("127", "63"), ("128", "64"))
EXTERN = ("    float sum", "    extern __shared__ float tile[];\n    float sum")
UNREACHED = (
    "    out[i] = sum / 3.0f;\n",
    "    if (n > 1000000000)\n        sum = 0.0f;\n    out[i] = sum / 3.0f;\n",
)


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        pytest.param(changed(*FAST), Status.FASTER, None, id="faster, in another launch"),
        pytest.param(changed(("< 60", "< 240")), Status.SLOWER, None, id="slower"),
        pytest.param(changed(("in[i] +", "2 *")), Status.INCORRECT, "wrong-answers", id="wrong"),
        pytest.param(
            changed(("float sum", "flaot sum")), Status.INVALID, "does-not-compile", id="a slip"
        ),
        pytest.param(
            changed(("(in, out, n)", "(out, out, n, 1.5f)"), ("int n)", "int n, float by)")),
            Status.INVALID,
            "other-parameters",
            id="other parameters",
        ),
        pytest.param(changed(EXTERN), Status.INCONCLUSIVE, "no-shared-size", id="no size"),
        pytest.param(
            changed(("< 60", "< 1"), UNREACHED), Status.UNVERIFIED, "code-not-reached", id="hidden"
        ),
    ],
)
def test_each_verdict_has_its_reason(
    referee: tuple[Referee, Rewrites], tmp_path: Path, text: str, status: Status, code: str | None
) -> None:
    found = judged(referee, tmp_path, text)
    assert found.status is status, found.reasons
    assert found.exit_status == EXIT_STATUS[status]
    assert (found.reasons[0].code if found.reasons else None) == code
    if status in (Status.FASTER, Status.SLOWER):
        assert found.speed is not None
        assert all(one.outcome is not Outcome.FAILED for one in found.checks)
        (error,) = found.errors
        assert error.output == "out"
        assert error.of_tolerance is not None
        assert error.of_tolerance <= 1


def test_a_wrong_rewrite_names_the_case_and_the_value(
    referee: tuple[Referee, Rewrites], tmp_path: Path
) -> None:
    (reason, *_) = judged(referee, tmp_path, changed(("in[i] +", "2 *"))).reasons
    assert reason.case in ("train", "held-out")
    assert "out[1] is " in reason.said
    assert "expected " in reason.said


def test_a_verdict_is_certified_and_repeated(tmp_path: Path) -> None:
    """A target is made on the way; the rewrite is wrong, which takes least time to see."""
    source = written(tmp_path, "old/smooth.cu", KERNEL)
    rewrite = written(tmp_path, "new.cu", changed(("in[i] +", "2 *")))
    kept, paper = tmp_path / "kept", tmp_path / "certificate.json"
    words = ["--backend", "host", "--keep", kept, "--certificate", paper, "--json"]
    done = gi_cuda("judge", source, rewrite, *words, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    adapter = TypeAdapter(PRINTED["judge"])
    assert adapter.dump_python(adapter.validate_python(found), mode="json").keys() == found.keys()
    assert found["status"] == "incorrect"
    assert found["hashes"]["inputs"].keys() == found["seeds"].keys()
    assert "INCORRECT" in done.stderr
    assert (kept / "target.toml").is_file()
    for path in (source, rewrite):
        path.unlink()
    again = gi_cuda("judge", "--replay", paper, cwd=tmp_path)
    assert again.returncode == 1, again.stderr
    assert "replayed: the verdict is the same, incorrect" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "it takes the original and the rewritten kernel"),
        (["smooth.cu"], "it takes the original and the rewritten kernel"),
        (["nowhere.cu", "smooth.cu"], "nowhere.cu"),
        (["smooth.cu", "nowhere.cu"], "nowhere.cu"),
        (["smooth.cu", "data.py"], "neither a CUDA source nor a unified diff"),
        (["smooth.cu", "smooth.cu", "smooth.cu"], "one rewrite are judged at a time"),
        (["smooth.cu", "smooth.cu", "--capture"], "no application is named"),
        (["--replay", "data.py"], "this is no certificate"),
    ],
)
def test_mistakes_end_in_one_message(target: Path, words: list[str], said: str) -> None:
    done = gi_cuda("judge", *words, "--backend", "host", cwd=target)
    assert done.returncode == 2
    assert "gi-cuda: error: " in done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("toolkit")
def test_a_processor_watches_a_rewrite_for_gpus_in_its_own_launch(
    target: Path, tmp_path: Path
) -> None:
    subject = load_subject(target, "cuda")
    one = Rewrites(subject, tmp_path / "rewrites").read(written(tmp_path, "new.cu", changed(*FAST)))
    assert one.candidate.launches is not None
    assert "64" in str(one.candidate.launches)
    with ExitStack() as opened:
        elsewhere = ProcessorWatch(subject, tmp_path / "watched", 2, opened=opened)
        assert elsewhere.known(one.candidate) is None
        assert elsewhere.look(one.candidate) == Looked()
        assert elsewhere.known(one.candidate) == Looked()
        # Who asks how long a look takes is not told what was seen before.
        elsewhere._looked[one.candidate.key] = Looked("something else")
        assert elsewhere.look(one.candidate) == Looked()
