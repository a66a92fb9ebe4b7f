"""Scopes, checked on generated programs whose visible names are known."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.grammar import Grammar, Source, convert

NAMES = ("a", "b", "c", "d")
TYPES = ("int", "float", "const int *")
WORD = re.compile(r"\b[abcd]\b")

Meaning = tuple[int, str, str]
"""A declaration's number, its type, and the function it is in."""


@dataclass
class Writer:
    """Writes a random program; knows for each statement's line what every name means there,
    with FLAG defined and without, and on which line what is declared without a value is first
    mentioned."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    seen: dict[int, tuple[dict[str, Meaning] | None, ...]] = field(default_factory=dict)
    count: int = 0
    bare: dict[int, int] = field(default_factory=dict)
    mentioned: dict[int, int] = field(default_factory=dict)

    def function(self, head: str, name: str) -> None:
        parameters = self.rng.sample(NAMES, self.rng.randint(0, 2))
        envs: tuple[dict[str, Meaning] | None, ...] = ({}, {})
        spelled = []
        for parameter in parameters:
            spelled.append(self.declare(parameter, envs, name))
        self.lines.append(f"{head} void {name}({', '.join(spelled)})")
        self.lines.append("{")
        self.block(envs, name, 3)
        self.lines.append("}")

    def declare(self, name: str, envs: tuple[dict[str, Meaning] | None, ...], function: str) -> str:
        self.count += 1
        type_ = self.rng.choice(TYPES)
        for env in envs:
            if env is not None:
                env[name] = (self.count, type_, function)
        return f"{type_} {name}"

    def bare_declaration(
        self, name: str, envs: tuple[dict[str, Meaning] | None, ...], function: str
    ) -> None:
        self.lines.append(self.declare(name, envs, function) + ";")
        self.bare[self.count] = len(self.lines)

    def block(self, envs: tuple[dict[str, Meaning] | None, ...], function: str, depth: int) -> None:
        for _ in range(self.rng.randint(1, 5)):
            kind = self.rng.randrange(8 if depth else 4)
            if kind == 0:
                # One declaration of a name a block and configuration is all that C allows.
                name = self.rng.choice(NAMES)
                self.lines.append("{")
                inner = tuple(None if env is None else dict(env) for env in envs)
                self.bare_declaration(name, inner, function)
                self.statement(inner)
                self.lines.append("}")
            elif kind < 4:
                self.statement(envs)
            elif kind == 4:
                self.lines.append("{")
                inner = tuple(None if env is None else dict(env) for env in envs)
                self.block(inner, function, depth - 1)
                self.lines.append("}")
            elif kind == 5:
                inner = tuple(None if env is None else dict(env) for env in envs)
                name = self.rng.choice(NAMES)
                declared = self.declare(name, inner, function)
                self.lines.append(f"for ({declared} = 0; g(); ) {{")
                self.block(inner, function, depth - 1)
                self.lines.append("}")
            else:
                self.conditional(envs, function, depth)

    def conditional(
        self, envs: tuple[dict[str, Meaning] | None, ...], function: str, depth: int
    ) -> None:
        self.lines.append("{")
        inner = [None if env is None else dict(env) for env in envs]
        self.lines.append("#ifdef FLAG")
        on = (inner[0], None)
        self.bare_declaration(self.rng.choice(NAMES), on, function)
        self.statement(on)
        self.lines.append("#else")
        off = (None, inner[1])
        self.bare_declaration(self.rng.choice(NAMES), off, function)
        self.statement(off)
        self.lines.append("#endif")
        self.block((inner[0], inner[1]), function, depth - 1)
        self.lines.append("}")

    def statement(self, envs: tuple[dict[str, Meaning] | None, ...]) -> None:
        used = " + ".join(self.rng.choices(NAMES, k=self.rng.randint(1, 3)))
        self.lines.append(f"use({used});")
        self.seen[len(self.lines)] = tuple(None if env is None else dict(env) for env in envs)
        for env in envs:
            for name in WORD.findall(used):
                if env is not None and name in env:
                    self.mentioned.setdefault(env[name][0], len(self.lines))

    def is_mentioned(self, name: str, meaning: Meaning, line: int) -> bool:
        """Tell whether a name's meaning was mentioned before a line."""
        number = meaning[0]
        return number not in self.bare or self.mentioned.get(number, line) < line

    def may_be_mentioned(self, name: str, meaning: Meaning, line: int) -> bool:
        """Tell whether the name occurs before a line, with any meaning."""
        number = meaning[0]
        between = self.lines[self.bare.get(number, 0) : line - 1]
        return number not in self.bare or any(name in WORD.findall(one) for one in between)


def program(seed: int) -> tuple[Writer, Grammar]:
    writer = Writer(random.Random(seed))
    writer.function("__device__", "helper")
    writer.function("__global__", "kernel")
    writer.lines.append("// helper")
    text = "\n".join(writer.lines).replace("g()", "g()")
    text = text.replace("__global__ void kernel(", "__global__ void kernel(", 1)
    body = text.rindex("\n}\n// helper")
    text = text[:body] + "\nhelper();" + text[body:]
    return writer, convert(Source("p.cu", text))


def may_go(
    donor: str,
    there: dict[str, Meaning],
    here: dict[str, Meaning],
    has_value: Callable[[str, Meaning], bool],
) -> bool:
    """The rule of the design, over the generator's own knowledge."""
    for name in set(WORD.findall(donor)):
        mine, its = there.get(name), here.get(name)
        if its is not None and not has_value(name, its):
            return False
        if mine == its:
            continue
        if mine is None or its is None or mine[1] != its[1]:
            return False
    return True


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_donors_are_those_that_mean_the_same(seed: int) -> None:
    writer, grammar = program(seed)
    for config, macros in enumerate(({"FLAG": "1"}, {})):
        view = grammar.under(macros)
        known = {
            f"_p.cu_{line}": envs[config]
            for line, envs in writer.seen.items()
            if envs[config] is not None
        }
        statements = [name for name in view.mutable if name in known]
        assert sorted(statements) == sorted(known)
        for place in statements:
            offered = {donor for donor in view.donors(place) if donor in known}
            line = int(place.removeprefix("_p.cu_"))
            least, most = (
                {
                    donor
                    for donor in statements
                    if donor != place
                    and may_go(grammar.text(donor), known[donor], known[place], has_value)
                }
                for has_value in (
                    partial(writer.is_mentioned, line=line),
                    partial(writer.may_be_mentioned, line=line),
                )
            )
            assert least <= offered <= most
            assert offered <= set(grammar.donors(place))


def under(text: str, **macros: str):
    grammar = convert(Source("s.cu", text))
    return grammar, grammar.under(macros)


def offered(text: str, place: str, **macros: str) -> set[str]:
    grammar, view = under(text, **macros)
    return {grammar.text(donor) for donor in view.donors(place)}


def test_loop_variables_end_with_their_loop() -> None:
    text = "__global__ void k(int *p) {\n for (int i = 0; i < 3; i++)\n p[i] = 1;\n p[0] = 2;\n}"
    assert offered(text, "_s.cu_4") == set()
    assert offered(text, "_s.cu_3") == {"p[0] = 2;"}


def test_names_that_a_macro_uses_count() -> None:
    text = (
        "#define AT p[i]\n__global__ void k(int *p) {\n int i = 0;\n AT = 1;\n"
        " { long i = 2;\n i++; }\n p[0] = 3;\n}"
    )
    assert "AT = 1;" not in offered(text, "_s.cu_6")
    assert "AT = 1;" in offered(text, "_s.cu_7")


def test_what_one_loop_does_may_go_to_another_with_the_same_counter() -> None:
    loop = " for (int i = 0; i < {n}; i++)\n p[{at}] = i;\n"
    text = (
        "__global__ void k(int *p) {\n"
        + loop.format(n=3, at="i")
        + loop.format(n=4, at="i + 9")
        + " for (long i = 0; i < 5; i++)\n p[i + 20] = 0;\n p[0] = 7;\n}"
    )
    assert offered(text, "_s.cu_3") == {"p[i + 9] = i;", "p[0] = 7;"}
    assert offered(text, "_s.cu_7") == {"p[0] = 7;"}
    assert offered(text, "_s.cu_8") == set()


def test_two_declarations_in_two_branches_are_two() -> None:
    text = (
        "__global__ void k(int *p) {\n#ifdef A\n int x = 1;\n x++;\n#else\n float x = 2;\n"
        " x--;\n#endif\n x = 3;\n}"
    )
    assert offered(text, "_s.cu_9", A="1") == {"x++;"}
    assert offered(text, "_s.cu_9") == {"x--;"}
    grammar, view = under(text, A="1")
    assert "_s.cu_7" not in view.mutable
    assert set(grammar.donors("_s.cu_9")) == {"_s.cu_4", "_s.cu_7"}


def test_functions_must_be_declared_before() -> None:
    text = (
        "__device__ void f(int *p) {\n p[0] = 1;\n}\n__device__ void g(int *p) {\n"
        " p[1] = 2;\n}\n__global__ void k(int *p) {\n f(p);\n g(p);\n}"
    )
    assert offered(text, "_s.cu_2") == {"p[1] = 2;"}
    assert "f(p);" in offered(text, "_s.cu_5")
    assert "g(p);" not in offered(text, "_s.cu_5")


def test_const_parameters_are_not_those_without() -> None:
    text = (
        "__device__ void f(const int *p, int *q) {\n q[0] = p[0];\n}\n"
        "__global__ void k(int *p, int *q) {\n p[0] = 1;\n q[1] = 2;\n f(p, q);\n}"
    )
    assert offered(text, "_s.cu_2") == {"q[1] = 2;"}


def test_a_declaring_header_takes_only_its_like() -> None:
    text = (
        "__global__ void k(int *p) {\n for (int i = 0; i < 3; i++) p[i] = 0;\n"
        " for (int i = 1; i < 4; i++) p[i] = 0;\n for (long i = 2; i < 5; i++) p[i] = 0;\n}"
    )
    assert offered(text, "for1_s.cu_2") == {"int i = 1"}


def test_else_with_break_stays_in_its_loop() -> None:
    text = (
        "__global__ void k(int *p) {\n for (;;) { if (p[0]) p[1] = 1;\n else break; }\n"
        " if (p[2]) p[3] = 1;\n else p[4] = 2;\n}"
    )
    assert offered(text, "ELSE_s.cu_5") == set()
    assert offered(text, "ELSE_s.cu_3") == {"else p[4] = 2;"}


def test_what_reads_a_local_does_not_go_before_its_first_mention() -> None:
    text = (
        "__global__ void k(int *p) {\n int x, y;\n p[0] = 1;\n x = p[1];\n p[2] = x;\n"
        " scan(&y);\n p[3] = y;\n x += 1;\n}"
    )
    assert offered(text, "_s.cu_3") == {"x = p[1];"}
    assert offered(text, "_s.cu_4") == {"p[0] = 1;"}
    assert offered(text, "_s.cu_5") == {"p[0] = 1;", "x = p[1];", "x += 1;"}
    assert offered(text, "_s.cu_6") == {"p[0] = 1;", "x = p[1];", "p[2] = x;", "x += 1;"}
    assert "p[3] = y;" in offered(text, "_s.cu_8")


def test_what_others_may_set_can_be_read_anywhere() -> None:
    text = (
        "__global__ void k(int *p, int n) {\n __shared__ int s[9];\n int x(0), z = 1;\n p[0] = 1;\n"
        " s[0] = n;\n n = x;\n z++;\n}"
    )
    assert offered(text, "_s.cu_4") == {"s[0] = n;", "n = x;", "z++;"}
