"""``convert --explain`` and ``mutate`` by the real command, and what they refuse."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.command import gi_cuda

ROOT = Path(__file__).parents[3]
SCALE = ROOT / "tests" / "targets" / "scale"
SOURCES = ROOT / "tests" / "sources"


def refused(*words: str | Path) -> str:
    done = gi_cuda(*words)
    assert done.returncode == 2, done
    assert done.stderr.startswith("gi-cuda: error: ")
    assert "Traceback" not in done.stderr
    return done.stderr


def test_explain_says_of_every_line_what_it_is_or_why_not() -> None:
    done = gi_cuda("convert", SOURCES / "macros_declare.cu", "--explain", "--edits", "full")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (rule,) = (line for line in lines if "first += 2;" in line)
    assert "<_macros_declare.cu_23>" in rule
    (fixed,) = (line for line in lines if "GUARD(n);" in line)
    assert "GUARD is a macro that declares, jumps or opens blocks" in fixed
    assert any("all but declarations and jumps" in line and "%" in line for line in lines)


def test_explain_shows_the_source_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k(int *p, int n) {\n  p[n] = p[0] + p[b];\n}\n")
    done = gi_cuda("convert", source, "--explain")
    assert "p[n] = p[0] + p[b];" in done.stdout


def test_what_no_parameter_can_switch_on_is_not_counted(tmp_path: Path) -> None:
    folder = shutil.copytree(SCALE, tmp_path / "target")
    source, before = folder / "kernel.cu", gi_cuda("convert", folder, "--explain").stdout
    text = source.read_text()
    at = text.index("    if (waste")
    hidden = "#ifdef NEVER\n    mine = 1;\n    if (n) mine = 2;\n#endif\n"
    either = "#if BLOCK > 64\n    mine += 1;\n#endif\n"
    source.write_text(text[:at] + hidden + text[at:])
    never = gi_cuda("convert", folder, "--explain").stdout
    assert never.count("no parameter can switch its #if on") == 3
    assert _counts(never) == _counts(before)
    source.write_text(text[:at] + either + text[at:])
    some = gi_cuda("convert", folder, "--explain").stdout
    (rules, edits, default, parts), were = _counts(some), _counts(before)
    assert (rules, parts) == (were[0] + 1, were[3] + 1)
    assert edits > were[1]
    assert default in (were[2], edits)


def _counts(said: str) -> tuple[int, int, int, int]:
    """Rules, edits, edits of the default configuration, parts."""
    ((rules, edits, default),) = re.findall(r"^\s*all +(\d+) +(\d+) +(\d+)", said, re.MULTILINE)
    (parts,) = re.findall(r"all but declarations and jumps +(\d+)", said)
    return int(rules), int(edits), int(default), int(parts)


def test_explain_counts_more_edits_with_all_types() -> None:
    counts = []
    for edits in ("paper", "full"):
        done = gi_cuda("convert", SCALE, "--explain", "--edits", edits)
        (total,) = re.findall(r"^\s*all +(\d+) +(\d+) +(\d+)", done.stdout, re.MULTILINE)
        counts.append([int(number) for number in total])
    assert all(paper < full for paper, full in zip(*counts, strict=True))


def test_convert_takes_a_source_and_a_kernel(tmp_path: Path) -> None:
    source = shutil.copy(SOURCES / "overloads.cu", tmp_path)
    done = gi_cuda("convert", source, "--kernel", "overloads", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "overloads.cu.bnf",
        "overloads.cu.scope",
    ]


def test_mutants_are_diffs_that_seeds_repeat() -> None:
    words = ("mutate", SCALE, "--sample", "3", "--at-once", "2", "--edits", "full", "--seed")
    one, again, other = (gi_cuda(*words, seed) for seed in ("4", "4", "5"))
    assert one.returncode == 0, one.stderr
    assert one.stdout == again.stdout != other.stdout
    assert len(re.findall(r"^# \d: <", one.stdout, re.MULTILINE)) == 3
    assert one.stdout.count("diff --git") == 3


def test_mutants_are_compiled_and_counted() -> None:
    done = gi_cuda("mutate", SCALE, "--sample", "20", "--compile", "--edits", "full")
    assert done.returncode == 0, done.stderr
    (found,) = re.findall(r"(\d+) of (\d+) variants compile", done.stdout)
    compiled, tried = map(int, found)
    assert 0 < tried <= 20
    assert compiled >= 0.95 * tried


def test_a_source_whose_headers_are_missing(tmp_path: Path) -> None:
    target = tmp_path / "scale"
    shutil.copytree(SCALE, target)
    kernel = target / "kernel.cu"
    kernel.write_text('#include "nowhere.h"\n' + kernel.read_text())
    said = refused("mutate", target, "--compile")
    assert "nowhere.h" in said
    assert "include = " in said


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("int main() {}\n", (), "no kernel"),
        ("__global__ void k() {}\n", ("--kernel", "l"), "its kernels are: k"),
        (
            "namespace a { __global__ void k() {} }\nnamespace b { __global__ void k() {} }\n",
            ("--kernel", "k"),
            "name one of: a::k, b::k",
        ),
        ("__global__ void k() {}\0", (), "not text"),
        ("__global__ void k() {}\n", ("--edits", "some"), "one of: paper, full"),
    ],
)
def test_sources_that_cannot_be_converted(
    tmp_path: Path, text: str, words: tuple[str, ...], said: str
) -> None:
    source = tmp_path / "a.cu"
    source.write_text(text)
    assert said in refused("convert", source, *words)
    assert list(tmp_path.iterdir()) == [source]


def test_targets_name_their_kernels_themselves() -> None:
    assert "--kernel" in refused("convert", SCALE, "--kernel", "scale", "--explain")
