"""Patches for upstream: diffs and mails that git accepts, in one step or in two."""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gi_cuda.errors import UserError
from gi_cuda.genome import Changed, Genotype, mutate
from gi_cuda.grammar import render
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.subject import Subject, load_subject
from gi_cuda.subject.diffs import blob, by_path, unified_diff
from gi_cuda.subject.scratch import apply_in_scratch
from gi_cuda.upstream.letters import gain_words
from gi_cuda.upstream.mail import Letter, Provenance, WorthChange, mail
from gi_cuda.upstream.steps import elsewhere, in_one, settings_of, steps

SHIPPED = Path(__file__).parents[3] / "targets"
TARGETS = sorted(path.parent.name for path in SHIPPED.glob("*/target.toml"))
EACH = 510 // (2 * len(TARGETS))


def random_genotype(subject: Subject, rng: random.Random, size: int) -> Genotype:
    genotype = subject.original
    for _ in range(size):
        genotype = mutate(genotype, subject.grammar, rng, PAPER) or genotype
    return genotype


@pytest.mark.parametrize("edits", ["paper", "full"])
@pytest.mark.parametrize("name", TARGETS)
def test_patches_of_random_genotypes_give_the_rendered_variants(
    name: str, edits: str, tmp_path: Path
) -> None:
    """All of them in one work tree, each with a file of its own; over 500 in all."""
    subject = load_subject(SHIPPED / name, "host", edits=edits)
    rng = random.Random(7)
    before = subject.grammar.source.text
    wanted: dict[str, str] = {}
    patches = []
    for number in range(EACH):
        genotype = random_genotype(subject, rng, 1 + number % 20)
        if number % 2:
            genotype = replace(genotype, configuration=subject.original.configuration)
            after = render(subject.grammar, subject.expansions(genotype), None)
            assert subject.upstream(genotype).text == after
        path = f"k{number}/kernel.cu"
        wanted[path] = subject.upstream(genotype).text
        patches.append(unified_diff(before, wanted[path], path))
        (tmp_path / path).parent.mkdir()
        write(tmp_path / path, before)
    write(tmp_path / "all.patch", "".join(patches))
    for words in (["--check"], []):
        done = subprocess.run(
            ["git", "apply", *words, "all.patch"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    for path, text in wanted.items():
        assert (tmp_path / path).read_bytes() == encoded(text)
        assert "gi_guard" not in text


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def write(path: Path, text: str) -> None:
    path.write_bytes(encoded(text))


# -- one step or two -------------------------------------------------------------------------------

MIXED = "BLOCK=128 CHECKED=1 <_kernel.cu_27> <_kernel.cu_31>"


def cut(subject: Subject, text: str) -> Changed:
    return Changed.of(subject.read(text), subject.original, subject.order)


def test_the_configuration_comes_first_and_the_edits_on_top_of_it(scale: Subject) -> None:
    changed = cut(scale, MIXED)
    first, second = steps(scale, changed, changed.all)
    assert first.before == scale.grammar.source
    assert first.after == second.before == scale.upstream(scale.read("BLOCK=128 CHECKED=1"))
    assert second.after == scale.upstream(scale.read(MIXED))
    assert (first.changes, second.changes) == ((0, 1), (2, 3))
    (whole,) = in_one([first, second])
    assert (whole.before, whole.after) == (first.before, second.after)
    assert whole.changes == (0, 1, 2, 3)


def test_the_values_of_parameters_that_a_patch_changes(scale: Subject) -> None:
    """But not small ones: a program that finds 1 fault in the place of 0 is wrong."""
    changed = cut(scale, "BLOCK=32 REPEAT=2 CHECKED=1")
    (only,) = steps(scale, changed, changed.all)
    assert settings_of(scale.target, only) == {("64", "32")}


def test_only_some_changes_are_made(scale: Subject) -> None:
    changed = cut(scale, MIXED)
    (only,) = in_one(steps(scale, changed, [0, 3]))
    assert str(only.genotype) == "BLOCK=128 <_kernel.cu_31>"
    assert only.after == scale.upstream(only.genotype)
    assert steps(scale, changed, []) == []


# -- mails -----------------------------------------------------------------------------------------

VALIDATION = Validation(True, "", SpeedUp(1.25, 1.2, 1.3), {"wide": SpeedUp(1.2, 1.1, 1.3)})
ORIGIN = Provenance(
    source="kernel.cu",
    target="scale (a small target for tests)",
    backend="host",
    device="a processor",
    versions="gi-cuda 0.1.0",
    cases=("wide: n = 7",),
    reproduce=("gi-cuda evolve targets/scale",),
    author="Ada Lovelâce <ada@example.com>",
    date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
)


def letter(subject: Subject, diff: str) -> Letter:
    changes = (
        WorthChange("BLOCK=128", "macro BLOCK: 64 becomes 128", "gain 1.1 [1.0, 1.2]"),
        WorthChange("<_kernel.cu_27>", "deletes a statement", ""),
    )
    return Letter(MIXED, changes, ("A note.",), VALIDATION, "1.0 [0.9, 1.1]", diff)


def test_a_series_of_mails_applies_and_says_what_was_measured(
    scale: Subject, tmp_path: Path
) -> None:
    changed = cut(scale, MIXED)
    parts = steps(scale, changed, changed.all)
    texts = [
        mail(letter(scale, part.diff(scale.target.source)), ORIGIN, number, 2)
        for number, part in enumerate(parts, 1)
    ]
    folder = tmp_path / "r"
    folder.mkdir()
    before, after = (by_path(s, scale.target.source) for s in (parts[0].before, parts[-1].after))
    assert apply_in_scratch(before, texts, folder, mailed=True) == after
    log = subprocess.run(
        ["git", "log", "-2", "--format=%an <%ae>%n%aI%n%B", "--encoding=UTF-8"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    for said in [
        "Ada Lovelâce <ada@example.com>",
        "2026-01-02T03:04:05",
        "kernel.cu: 1.25 times as fast",
        "all cases                       1.250 [1.200, 1.300]",
        "wide: n = 7",
        "BLOCK=128\n    macro BLOCK: 64 becomes 128; gain 1.1 [1.0, 1.2]",
        "<_kernel.cu_27>\n    deletes a statement\n",
        "a processor",
        "gi-cuda evolve targets/scale",
        f"  {MIXED}",
    ]:
        assert said in log
    assert "[PATCH 1/2]" in texts[0]


@pytest.mark.parametrize("mailed", [False, True], ids=["diff", "mail"])
@pytest.mark.parametrize(
    "text",
    ["a\r\nb\r\nc\r\n", "a\nb\nc", "-- \nFrom x\n---\nb\n", "é\ndiff --git\n\udcff\nb\n"],
    ids=["CRLF", "no newline at the end", "lines like a mail's", "not ASCII, not UTF-8"],
)
def test_files_of_all_kinds(scale: Subject, text: str, mailed: bool, tmp_path: Path) -> None:
    after = text.replace("b", "-- \nB") + "more\n"
    diff = unified_diff(text, after, "a/k.cu")
    patch = mail(letter(scale, diff), ORIGIN) if mailed else diff
    folder = tmp_path / "r"
    folder.mkdir()
    applied = apply_in_scratch({"a/k.cu": text}, [patch], folder, mailed=mailed)
    assert applied == {"a/k.cu": after}


def test_a_patch_that_gains_nothing_says_so_unless_others_follow(scale: Subject) -> None:
    slow = replace(VALIDATION, overall=SpeedUp(1.0, 0.98, 1.02))
    one = replace(letter(scale, unified_diff("a\n", "b\n", "k.cu")), validation=slow)
    origin = replace(ORIGIN, commit="0123abc")
    assert "Subject: [PATCH] kernel.cu: not faster on a processor, do not ap" in mail(one, origin)
    assert "Subject: [PATCH 2/2] kernel.cu: not faster" in mail(one, origin, 2, 2)
    assert "Subject: [PATCH 1/2] kernel.cu: prepare for what follows" in mail(one, origin, 1, 2)
    assert "\nCommit:   0123abc\n" in mail(one, origin)
    assert "noise (the file beside itself)  1.0 [0.9, 1.1]" in mail(one, origin)


def test_a_gain_that_may_be_none_is_marked() -> None:
    assert gain_words(SpeedUp(1.1, 1.05, 1.2)) == "gain 1.100 [1.050, 1.200]"
    assert gain_words(SpeedUp(1.02, 0.98, 1.1)).endswith(" (may be none: includes 1)")


def test_a_patch_names_the_file_that_it_is_against(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_bytes("é\r\n\udcff\n".encode("utf-8", "surrogateescape"))
    named = subprocess.run(
        ["git", "hash-object", "--no-filters", file], capture_output=True, text=True, check=True
    ).stdout.strip()
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    assert blob(text) == named
    assert f"\nindex {named}..{blob('b')}\n" in unified_diff(text, "b", "k.cu")


def test_a_winner_that_was_not_minimized(scale: Subject) -> None:
    diff = unified_diff("a\n", "b\n", "k.cu") + unified_diff("a\n", "a\nc\n", "h.cuh")
    minimized = letter(scale, diff)
    unknown = tuple(replace(one, worth="") for one in minimized.changes)
    found = replace(minimized, changes=unknown, bases=("k.cu: git blob 1",))
    said = mail(found, ORIGIN)
    assert "the winner was not minimized" in said
    assert "is worth beside the others" not in said
    assert "Against:\n  k.cu: git blob 1\n" in said
    assert " k.cu | 2 +-\n h.cuh | 1 +\n 2 files changed, 2 insertions(+), 1 deletion(-)\n" in said
    assert "not minimized" not in mail(minimized, ORIGIN)


def test_what_a_patch_cannot_change_is_said(scale: Subject) -> None:
    genotype = scale.read("BLOCK=128 CHECKED=1")
    assert elsewhere(scale, genotype) == []
    assert elsewhere(scale, genotype, {"BLOCK", "CHECKED"}) == [
        "compile with -DBLOCK=128",
        "compile with -DCHECKED=1",
    ]
    nowhere = replace(scale.grammar, source=replace(scale.grammar.source, text="int nothing;"))
    bare = replace(scale, parsed=CudaText(nowhere))
    assert elsewhere(bare, genotype) == ["launch with BLOCK = 128"]


def test_what_only_a_launch_uses_leaves_no_definition(scale: Subject) -> None:
    text = scale.grammar.source.text.replace("BLOCK", "WIDTH")
    source = replace(scale.grammar, source=replace(scale.grammar.source, text=text))
    bare = replace(scale, parsed=CudaText(source))
    assert bare.upstream(scale.read("BLOCK=128")).text == text
    assert "BLOCK 128" in scale.upstream(scale.read("BLOCK=128")).text


def test_what_git_does_not_take_is_refused(tmp_path: Path) -> None:
    diff = unified_diff("other\n", "text\n", "k.cu")
    with pytest.raises(UserError, match="`git apply` does not take the patch"):
        apply_in_scratch({"k.cu": "this\n"}, [diff], tmp_path, mailed=False)
