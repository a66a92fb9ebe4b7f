"""A target with texture inputs: right answers, wrong answers, refused uses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
)
from gi_cuda.backends.workers.pool import Lost
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject
from tests.command import gi_cuda

TEXTURES = Path(__file__).parents[2] / "targets" / "textures"

FINE = {
    "the other form of tex1Dfetch": (
        "float weight;\n            tex1Dfetch(&weight, weights, i);",
        "float weight = tex1Dfetch<float>(weights, i);",
    ),
    "zeros from far outside": (
        "sum += weight * bits(text, i);",
        "sum += weight * bits(text, i) + bits(text, i - (1 << 30)) + bits(text, 1 << 30);",
    ),
}

WRONG = {
    "the next texel": ("bits(text, i)", "bits(text, i + 1)"),
    "zeros instead of texels": ("tex1Dfetch<uint2>(stretches, at)", "tex1Dfetch<uint2>(text, -1)"),
    "the first half of other texels": (
        "tex1Dfetch<uint4>(text, block)",
        "tex1Dfetch<uint4>(text, block / 2)",
    ),
}

REFUSED = {
    "texels that are too small": (
        "tex1Dfetch<uint4>(text, block)",
        "make_uint4(0, 0, 0, tex1Dfetch<int>(text + 2, 0))",
    ),
    "no texture": ("tex1Dfetch<uint4>(text, block)", "tex1Dfetch<uint4>(block, block)"),
}


IMAGES = TEXTURES.parent / "images"

IMAGE_VARIANTS = {
    # what is replaced by what, and whether the answers stay right
    "the other form": (
        "float4 one = tex2D<float4>(image, x - 0.5f, y);",
        "float4 one;\n    tex2D(&one, image, x - 0.5f, y);",
        True,
    ),
    "the nearest pixel": ("image, x + 0.5f, y)", "image, x, y)", False),
    "the first row again": ("(y + 0.5f) / height", "y * 0.0f", False),
    "a row that is not written": ("(int)sizeof(float), y)", "(int)sizeof(float), y / 2)", False),
}


def test_variants_of_a_target_with_images_and_a_surface(tmp_path: Path) -> None:
    subject = load_subject(IMAGES, "host")
    source = subject.reference
    texts = [source]
    for name, (old, new, _) in IMAGE_VARIANTS.items():
        assert source.count(old) == 1, name
        texts.append(source.replace(old, new))
    with open_tools(subject, tmp_path, workers=1, jobs=2) as tools:
        binaries = compile_reference(subject, tools.compiler, texts, tools.scratch("variants"))
        cases = (*tools.train(), *tools.held_out())
        configuration = dict(subject.original.configuration)
        reference, *variants = (Program(binary, configuration, cases) for binary in binaries)
        recorded = tools.pool.one(Record(reference, tools.reference, 2, 10.0))
        assert recorded.penalties == {"train": 0.0, "held-out": 0.0}, recorded.reasons
        sampling = Sampling(screen=1, most=1, limit=5.0)
        for variant, (name, (_, _, right)) in zip(variants, IMAGE_VARIANTS.items(), strict=True):
            answer = tools.pool.one(Measure(variant, reference, sampling))
            assert isinstance(answer, Measurement), (name, answer)
            assert answer.correct == right, (name, answer.message)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    subject = load_subject(TEXTURES, "host")
    with open_tools(subject, tmp_path_factory.mktemp("textures"), workers=1, jobs=2) as tools:
        yield tools


@pytest.fixture(scope="module")
def programs(tools: Tools) -> dict[str, Program]:
    """The reference and variants of it; the reference's answers are recorded."""
    source = tools.subject.reference
    texts = {"reference": source}
    for name, (old, new) in {**FINE, **WRONG, **REFUSED}.items():
        assert source.count(old) == 1, name
        texts[name] = source.replace(old, new)
    binaries = compile_reference(
        tools.subject, tools.compiler, list(texts.values()), tools.scratch("variants")
    )
    cases = (*tools.train(), *tools.held_out())
    configuration = dict(tools.subject.original.configuration)
    found = {
        name: Program(binary, configuration, cases)
        for name, binary in zip(texts, binaries, strict=True)
    }
    recorded = tools.pool.one(Record(found["reference"], tools.reference, 2, 10.0))
    # The oracle knows the answers without textures.
    assert recorded.penalties == {"train": 0.0, "held-out": 0.0}, recorded.reasons
    return found


@pytest.mark.parametrize("name", [*FINE, *WRONG])
def test_variants_with_other_fetches_are_judged_through_swaps_and_at_both_ends(
    name: str, tools: Tools, programs: dict[str, Program]
) -> None:
    sampling = Sampling(screen=1, most=1, limit=5.0)
    answer = tools.pool.one(Measure(programs[name], programs["reference"], sampling))
    assert isinstance(answer, Measurement)
    assert answer.survival is Survival.NORMAL
    assert answer.correct == (name in FINE), answer.message


@pytest.mark.parametrize("name", REFUSED)
def test_fetches_that_no_texture_answers_are_refused(
    name: str, tools: Tools, programs: dict[str, Program]
) -> None:
    sampling = Sampling(screen=1, most=1, limit=5.0)
    answer = tools.pool.one(Measure(programs[name], programs["reference"], sampling))
    assert not isinstance(answer, Lost | Measurement)
    assert "tex1Dfetch" in answer.message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('buffer = "text_words"', 'buffer = "out"', ("texture[0].buffer", "'output'")),
        ("components = 4", "components = 3", ("texture[0].components", "1, 2 or 4")),
        # Not to be told before the reference runs.
        ("components = 4", "components = 2", ("tex1Dfetch<uint4>", "'text'", "uint2")),
    ],
)
def test_what_is_wrong_with_a_texture_is_one_message(
    old: str, new: str, said: tuple[str, ...], tmp_path: Path
) -> None:
    target = tmp_path / "textures"
    shutil.copytree(TEXTURES, target, ignore=shutil.ignore_patterns("__pycache__"))
    text = (target / "target.toml").read_text()
    (target / "target.toml").write_text(text.replace(old, new, 1))
    done = gi_cuda("check", target, "--backend", "host")
    assert done.returncode == 2
    assert done.stderr.count("gi-cuda: error: ") == 1
    for words in said:
        assert words in done.stderr
