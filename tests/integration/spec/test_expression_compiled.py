"""C expressions against the judges: the preprocessor's ``#if`` and compiled code."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from gi_cuda.spec.expression import ExpressionError, parse

COMPILER = shutil.which("g++") or shutil.which("clang++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

COUNT = 600
NAMES = {"a": 5, "b": -3, "c": 0, "d": 2**40 + 7, "e": -(2**62), "f": 1}
ARITHMETIC = ("+", "-", "*", "/", "%", "&", "|", "^")
COMPARISONS = ("<", ">", "<=", ">=", "==", "!=")


def leaf(rng: random.Random, suffixes: tuple[str, ...]) -> str:
    if rng.random() < 0.4:
        return rng.choice(tuple(NAMES))
    number = rng.choice((rng.randrange(10), rng.randrange(2**20), rng.randrange(2**63)))
    return rng.choice(("{}", "0x{:x}", "0{:o}")).format(number) + rng.choice(suffixes)


def preprocessor_text(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return leaf(rng, ("", "", "u", "L", "ULL"))
    kind = rng.randrange(5)
    a, b = (preprocessor_text(rng, rng.randrange(depth)) for _ in range(2))
    if kind == 0:
        return f"{rng.choice('+-~!')}({a})"
    if kind == 1:
        return f"({a} {rng.choice((*COMPARISONS, '&&', '||'))} {b})"
    if kind == 2:
        return f"({a} {rng.choice(('<<', '>>'))} ({b} & 63))"
    if kind == 3:
        return f"({a} ? {b} : {preprocessor_text(rng, rng.randrange(depth))})"
    # Without parentheses inside, so that precedence is put to the test.
    return f"({a} {rng.choice(ARITHMETIC)} {b} {rng.choice(ARITHMETIC)} {leaf(rng, ('', 'u'))})"


def compiled_text(rng: random.Random, depth: int) -> str:
    """Return a random expression for compiled code, with 64-bit suffixes, casts and sizeof."""
    if depth == 0:
        if rng.random() < 0.1:
            return f"sizeof({rng.choice(('char', 'unsigned short', 'int', 'double', 'size_t'))})"
        return leaf(rng, ("LL", "ULL"))
    kind = rng.randrange(6)
    a, b = (compiled_text(rng, rng.randrange(depth)) for _ in range(2))
    if kind == 0:
        return f"{rng.choice('+-~')}({a})"
    if kind == 1:
        return f"(long long)({a} {rng.choice((*COMPARISONS, '&&', '||'))} {b})"
    if kind == 2:
        return f"({a} {rng.choice(('<<', '>>'))} ({b} & 63))"
    if kind == 3:
        return f"({a} ? {b} : {compiled_text(rng, rng.randrange(depth))})"
    if kind == 4:
        narrow = rng.choice(("signed char", "unsigned char", "short", "unsigned", "int", "long"))
        return f"(long long)({narrow})({a})"
    return f"({a} {rng.choice(ARITHMETIC)} {b})"


def defined_values(make: object, seed: int) -> list[tuple[str, int]]:
    """Random expressions that have a value, with the value that our evaluator gives."""
    rng = random.Random(seed)
    found: list[tuple[str, int]] = []
    while len(found) < COUNT:
        text = make(rng, 4)  # type: ignore[operator]
        try:
            found.append((text, parse(text).evaluate(NAMES)))
        except ExpressionError as error:
            if error.what not in ("integer overflow", "division by zero"):
                raise
    return found


def test_as_the_preprocessor_reckons(tmp_path: Path) -> None:
    expressions = defined_values(preprocessor_text, 1)
    lines = [f"#define {name} ({value})" for name, value in NAMES.items()]
    for index, (text, value) in enumerate(expressions):
        constant = f"{value}u" if value > 2**63 - 1 else f"({value + 1} - 1)"
        lines += [f"#if ({text}) == {constant}", f"right {index}", "#endif"]
        signed = parse(f"({text}) * 0 - 1 < 0").evaluate(NAMES)
        lines += [f"#if (({text}) * 0 - 1 < 0) == {signed}", f"signed {index}", "#endif"]
    source = tmp_path / "expressions.cpp"
    source.write_text("\n".join(lines) + "\n")
    assert COMPILER
    done = subprocess.run(
        [COMPILER, "-E", "-P", "-w", source], capture_output=True, text=True, check=True
    )
    said = set(done.stdout.splitlines())
    for index, (text, value) in enumerate(expressions):
        assert f"right {index}" in said, f"{text} is not {value}"
        assert f"signed {index}" in said, f"{text} has the other signedness"


def test_as_compiled_code_reckons(tmp_path: Path) -> None:
    expressions = defined_values(compiled_text, 2)
    names = "".join(f"volatile long long {name} = {value}LL;\n" for name, value in NAMES.items())
    shows = "".join(f"  show({text});\n" for text, _ in expressions)
    source = tmp_path / "expressions.cpp"
    source.write_text(
        "#include <cstdio>\n#include <cstddef>\n"
        'void show(long long v) { std::printf("%lld\\n", v); }\n'
        'void show(unsigned long long v) { std::printf("%llu\\n", v); }\n'
        'void show(unsigned long v) { std::printf("%lu\\n", v); }\n'
        f"{names}int main() {{\n{shows}}}\n"
    )
    program = tmp_path / "expressions"
    assert COMPILER
    subprocess.run([COMPILER, "-w", "-O0", "-o", program, source], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    values = [int(line) for line in done.stdout.split()]
    assert [(text, value) for text, value in expressions] == [
        (text, value) for (text, _), value in zip(expressions, values, strict=True)
    ]
