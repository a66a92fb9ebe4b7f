"""Random edits of every rule type compile, on sources of every construct.

Run as a script to measure:
``python tests/integration/grammar/test_grammar_compiles.py --samples 200``.
"""

from __future__ import annotations

import argparse
import atexit
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from gi_cuda.grammar import (
    BEGIN,
    EDIT_SETS,
    LARGEST_SET,
    LATE,
    Expansion,
    Grammar,
    Operation,
    RuleType,
    convert,
    read_source,
)
from gi_cuda.grammar.frontends.cuda.declarations.functions import definitions
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.text.macros import study
from gi_cuda.grammar.frontends.cuda.text.reading import read
from gi_cuda.grammar.frontends.cuda.text.syntax import parse
from gi_cuda.grammar.presence import read_presence, spans_of

SOURCES = Path(__file__).parents[2] / "sources"
STUB = SOURCES / "cuda_stub.hpp"
_ERROR = re.compile(r"^variant_(\d+)[(:](\d+).*?error:?(.*)$", re.MULTILINE)
_CONFIGURATION = re.compile(r"^// gi-config:(.*)$", re.MULTILINE)


class Edit(NamedTuple):
    operation: Operation
    place: str
    donor: str

    def expansion(self) -> Mapping[str, Expansion]:
        match self.operation:
            case Operation.DELETE:
                return {self.place: Expansion(body="")}
            case Operation.REPLACE:
                return {self.place: Expansion(body=self.donor)}
            case Operation.INSERT:
                return {self.place: Expansion(before=(self.donor,))}


def configurations(text: str) -> list[dict[str, str]]:
    """The configurations that a test source names in its comments; at least the empty one."""
    found = [
        dict(item.split("=") for item in line.split()) for line in _CONFIGURATION.findall(text)
    ]
    return found or [{}]


def draw(grammar: Grammar, macros: Mapping[str, str], rng: random.Random, n: int) -> list[Edit]:
    """``n`` random single edits of each rule type: a rule, what applies to it, a donor."""
    view = grammar.under(macros)
    places: dict[RuleType, list[str]] = {}
    for place in view.mutable:
        if view.operations(place):
            places.setdefault(grammar.rule(place).type, []).append(place)
    edits = []
    for of_type in places.values():
        for _ in range(n):
            place = rng.choice(of_type)
            operation = rng.choice(view.operations(place))
            donor = "" if operation is Operation.DELETE else rng.choice(view.donors(place))
            edits.append(Edit(operation, place, donor))
    edits = list(dict.fromkeys(edits))
    rng.shuffle(edits)
    return edits


def batch(grammar: Grammar, texts: Mapping[int, str], macros: Mapping[str, str]) -> str:
    """One file of many variants, each in a namespace, the includes before them all."""
    source = grammar.source.text
    late = f"__device__ inline bool {LATE}() {{ return false; }}\n"
    late += f"__device__ constexpr unsigned {BEGIN}() {{ return 0; }}"
    parts = ["".join(source[a:b] for a, b in grammar.includes), f"\n{late}\n"]
    defines = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    names = sorted(grammar.macros | macros.keys())
    undefines = "".join(f"#undef {name}\n" for name in names)
    for number, text in texts.items():
        parts.append(f'{defines}namespace v{number} {{\n#line 1 "variant_{number}"\n')
        parts.append(text.replace('extern "C"', 'extern "C++"'))
        parts.append(f'\n}}\n#line 1 "between"\n{undefines}')
    return "".join(parts)


def without_host(text: str) -> str:
    """A variant without includes and host functions."""
    presence = read_presence(text)
    root = parse(read(text, presence).code)
    macros = study(presence.macros()).names
    host = [d.outer for d in definitions(root, text, macros) if not d.device]
    includes = spans_of(presence.directives, "include", text)
    spans = [*includes, *((node.start_byte, node.end_byte) for node in host)]
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + "\n" * text.count("\n", start, end) + text[end:]
    return text


def compile_all(
    grammar: Grammar, texts: Mapping[int, str], macros: Mapping[str, str], command: Sequence[str]
) -> dict[int, str]:
    """Compile variants together; for each that fails, its first error."""
    left = {number: without_host(text) for number, text in texts.items()}
    failed: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "batch.cu"
        while left:
            file.write_text(batch(grammar, left, macros), "utf-8", "surrogateescape", newline="")
            done = subprocess.run(
                [*command, "-o", str(Path(folder) / "out"), str(file)],
                capture_output=True,
                text=True,
                errors="replace",
            )
            if done.returncode == 0:
                return failed
            found = {int(n): f"{line}:{what}" for n, line, what in _ERROR.findall(done.stderr)}
            if not found:
                raise AssertionError(f"no variant to blame:\n{done.stderr[:3000]}")
            for number, what in found.items():
                failed.setdefault(number, what)
                left.pop(number, None)
    return failed


@cache
def gxx() -> list[str]:
    """g++ checks syntax and types only, and reads CUDA's words once for all sources."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    options = ["-std=c++17", "-w", f"-I{STUB.parent / 'include'}"]
    stub = Path(shutil.copy(STUB, folder))
    subprocess.run(["g++", "-x", "c++-header", *options, stub], check=True)
    return ["g++", "-x", "c++", "-fsyntax-only", *options, "-include", str(stub)]


def nvcc() -> list[str]:
    return ["nvcc", "-arch=sm_90", "-std=c++17", "-cubin", "-w"]


class Outcome(NamedTuple):
    edits: tuple[Edit, ...]
    error: str | None


def sample(
    file: Path, command: Sequence[str], samples: int, seed: int, at_once: int = 1
) -> list[Outcome]:
    """Draw ``samples`` edits of each rule type over a file's configurations; compile them."""
    grammar = convert(read_source(file), types=EDIT_SETS[LARGEST_SET])
    limits = {loop.ident: 100 for loop in grammar.loops}
    rng = random.Random(seed)
    outcomes = []
    settings = configurations(grammar.source.text)
    for macros in settings:
        edits = draw(grammar, macros, rng, -(-samples // len(settings)))
        groups = [tuple(edits[k : k + at_once]) for k in range(0, len(edits), at_once)]
        texts = {}
        for number, group in enumerate(groups):
            expansions: dict[str, Expansion] = {}
            for edit in group:
                expansions |= edit.expansion()
            texts[number] = CudaText(grammar).render(expansions, limits)
        failed = compile_all(grammar, texts, macros, command)
        outcomes += [Outcome(group, failed.get(k)) for k, group in enumerate(groups)]
    return outcomes


def check(outcomes: list[Outcome]) -> None:
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    assert len(failed) <= 0.01 * len(outcomes), failed


COMPILERS = {
    name: command for name, command in {"g++": gxx, "nvcc": nvcc}.items() if shutil.which(name)
}
FILES = sorted(SOURCES.glob("*.cu"))
MIXED = ("align", "branches", "hashing", "physics", "signatures", "templates")
"""Sources in which many constructs meet."""


@pytest.mark.skipif("g++" not in COMPILERS, reason="there is no g++")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_edits_compile(file: Path) -> None:
    check(sample(file, COMPILERS["g++"](), 8, seed=1))


@pytest.mark.skipif("g++" not in COMPILERS, reason="there is no g++")
@pytest.mark.parametrize("name", MIXED)
def test_five_edits_at_once_compile(name: str) -> None:
    check(sample(SOURCES / f"{name}.cu", COMPILERS["g++"](), 24, seed=1, at_once=5))


@pytest.mark.skipif("nvcc" not in COMPILERS, reason="there is no nvcc")
@pytest.mark.parametrize("name", ["align", "cooperative"])
def test_edits_compile_for_the_device(name: str) -> None:
    check(sample(SOURCES / f"{name}.cu", COMPILERS["nvcc"](), 3, seed=1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=200, help="edits of a type in a file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=1, help="edits a variant")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--show", type=int, default=10)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    command = COMPILERS[options.compiler]()
    totals: Counter[tuple[str, bool]] = Counter()
    for file in options.files or sorted(SOURCES.glob("*.cu")):
        outcomes = sample(file, command, options.samples, options.seed, options.at_once)
        failed = [o for o in outcomes if o.error is not None]
        rate = 1 - len(failed) / len(outcomes)
        print(f"{file.name:20} {len(outcomes):6} variants  {rate:8.2%} compile")
        for outcome in failed[: options.show]:
            words = ", ".join(" ".join(edit) for edit in outcome.edits)
            print(f"    {words}: {outcome.error}")
        for outcome in outcomes:
            for edit in outcome.edits:
                kind = edit.place.split("_")[0] or "_"
                totals[kind, outcome.error is None] += 1
    everything = sum(totals.values())
    compiled = sum(n for (_, ok), n in totals.items() if ok)
    print(f"all: {everything} variants, {compiled / everything:.2%}")
    for kind in sorted({kind for kind, _ in totals}):
        good, bad = totals[kind, True], totals[kind, False]
        print(f"  {kind:14} {good + bad:6}  {good / (good + bad):8.2%}")


if __name__ == "__main__":
    main()
