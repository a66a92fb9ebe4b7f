"""WHILE, COND, rhs and op: their places, donors and rendering."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gi_cuda.genome import Genotype, Space, read_genotype
from gi_cuda.genome.variation import draw_edit
from gi_cuda.grammar import (
    ALL_TYPES,
    EDIT_SETS,
    LARGEST_SET,
    PAPER_TYPES,
    Expansion,
    Grammar,
    RuleType,
    Source,
    convert,
    in_force,
    read_grammar,
    read_source,
    render,
    touched_loops,
    write_bnf,
    write_scope,
)
from gi_cuda.grammar.rule_types import TRANSFORMS, type_of

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "tests" / "sources").glob("*.cu"))
ALIGN = ROOT / "tests" / "sources" / "align.cu"
TARGETS = sorted((ROOT / "targets").glob("*/*.cu"))
FINER = ALL_TYPES - PAPER_TYPES


def full(text: str) -> Grammar:
    return convert(Source("a.cu", text), None, ALL_TYPES)


def body(statements: str, parameters: str = "int *p, float *q, int n") -> str:
    return f"__global__ void k({parameters}) {{\n{statements}\n}}\n"


def texts(grammar: Grammar, *kinds: RuleType) -> list[str]:
    return [grammar.text(rule.name) for rule in grammar.rules if rule.type in kinds]


def offered(grammar: Grammar, kind: RuleType, text: str) -> set[str]:
    """Return the donors offered by default to the first rule of a type and text."""
    place = next(r.name for r in grammar.rules if r.type is kind and grammar.text(r.name) == text)
    view = grammar.under({})
    return {grammar.text(donor) for donor in view.donors(place)}


# -- what stays as it was ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "file", [*SOURCES, *TARGETS], ids=lambda file: file.parent.name + file.stem
)
def test_asking_for_more_changes_nothing_for_the_paper(file: Path) -> None:
    source = read_source(file)
    paper, everything = convert(source), convert(source, None, ALL_TYPES)
    assert {rule.type for rule in paper.rules} <= PAPER_TYPES
    assert [rule for rule in everything.rules if rule.type in PAPER_TYPES] == list(paper.rules)
    finer = {rule.name for rule in everything.rules if rule.type in FINER}
    for rule in paper.rules:
        found = [donor for donor in everything.donors(rule.name) if donor not in finer]
        of_its_type = (donor for donor in found if type_of(donor) is rule.type)
        assert tuple(of_its_type) == paper.donors(rule.name)
        assert rule.type.kind.condition or len(found) == len(paper.donors(rule.name))
    assert render(everything, {}) == source.text


def test_the_sets_by_name() -> None:
    numbers = ALL_TYPES | {RuleType.NUMBER}
    loops = ALL_TYPES | {RuleType.LOOP, RuleType.SEAM}
    transforms = PAPER_TYPES | TRANSFORMS
    sets = {"paper": PAPER_TYPES, "full": ALL_TYPES, "numbers": numbers, "loops": loops}
    sets["transforms"] = transforms
    assert sets | {"all": numbers | loops | transforms} == EDIT_SETS
    assert EDIT_SETS[LARGEST_SET] == frozenset().union(*EDIT_SETS.values())
    text = body("while (n > 1 && p[0]) n = p[1] + 2;")
    assert not set(texts(convert(Source("a.cu", text)), *FINER))
    assert texts(full(text), RuleType.WHILE) == ["n > 1 && p[0]"]


# -- the four edits that IR-level evolution found ------------------------------------------------

KNOWN = [
    ("op", "31", "op", "0", "if (laneId == 0) border[warpId] = h;", "replace"),
    (
        "IF",
        "diag >= maxSize",
        "COND",
        "is_valid[thread_Id]",
        "if (is_valid[thread_Id]) {",
        "replace",
    ),
    ("rhs", "j", "rhs", "thread_Id + 1", "thread_max_j = thread_Id + 1;", "replace"),
    (
        "for2",
        "diag < length_a + length_b - 1",
        "COND",
        "thread_Id < minSize",
        "for (int diag = 0; (thread_Id < minSize) && (diag < length_a + length_b - 1); diag++) {",
        "insert",
    ),
]


def known_edit(grammar: Grammar, kind: str, own: str, of: str, donor: str) -> tuple[str, str]:
    view = grammar.under({})
    for rule in grammar.rules:
        if rule.type == kind and grammar.text(rule.name) == own:
            for name in view.donors(rule.name):
                if grammar.rule(name).type == of and grammar.text(name) == donor:
                    return rule.name, name
    raise AssertionError(f"{own} does not take {donor}")


@pytest.mark.parametrize(("kind", "own", "of", "donor", "line", "operation"), KNOWN)
def test_the_known_edits_can_be_said(
    kind: str, own: str, of: str, donor: str, line: str, operation: str
) -> None:
    grammar = convert(read_source(ALIGN), None, ALL_TYPES)
    place, name = known_edit(grammar, kind, own, of, donor)
    sign = "+" if operation == "insert" else ""
    genotype = read_genotype(f"<{place}>{sign}<{name}>", Space(), grammar)
    assert str(genotype) == f"<{place}>{sign}<{name}>"
    (edit,) = genotype.edits
    expansion = Expansion((name,)) if sign else Expansion(body=name)
    assert edit.place == place
    changed = render(grammar, {place: expansion}).splitlines()
    assert line in [text.strip() for text in changed]


def test_the_known_edits_come_up_in_sampling() -> None:
    grammar = convert(read_source(ALIGN), None, ALL_TYPES)
    wanted = {known_edit(grammar, *edit[:4]) for edit in KNOWN}
    rng, empty = random.Random(1), Genotype(Space().default)
    for _ in range(200_000):
        edit = draw_edit(empty, grammar, rng)
        if edit is not None:
            wanted.discard((edit.place, edit.donor))
        if not wanted:
            break
    assert not wanted


@pytest.mark.parametrize(
    ("kind", "own", "of", "donor"),
    [
        ("op", "31", "op", "0"),
        ("IF", "diag >= maxSize", "COND", "is_valid[thread_Id]"),
        ("rhs", "j", "rhs", "thread_Id + 1"),
        ("for2", "diag < minSize + maxSize - 1", "COND", "thread_Id < minSize"),
    ],
)
def test_the_known_edits_on_the_shipped_target(kind: str, own: str, of: str, donor: str) -> None:
    grammar = convert(read_source(ROOT / "targets" / "sw_tuned" / "kernel.cu"), None, ALL_TYPES)
    assert known_edit(grammar, kind, own, of, donor)


# -- which donors fit --------------------------------------------------------------------------


def test_numbers_keep_their_kind() -> None:
    grammar = full(body("int i = n + 1; float f = q[0] * 2.0f; p[i] = n % 3; f = f - q[i];"))
    assert offered(grammar, RuleType.OP, "3") == {"0", "1", "i", "n"}
    assert not {"1", "i", "n"} & offered(grammar, RuleType.OP, "2.0f")
    assert "q[0] * 2.0f" not in offered(grammar, RuleType.RHS, "n % 3")
    assert "n + 1" in offered(grammar, RuleType.RHS, "q[0] * 2.0f")


def test_pointers_keep_their_pointee_and_its_const() -> None:
    grammar = full(
        body(
            "p[n] = r[0]; q[0] = s[1]; const int *c = r + 1; int *d = p + 2; p[1] = c[2] + d[3];",
            "int *p, float *q, const int *r, const float *s, int n",
        )
    )
    assert offered(grammar, RuleType.OP, "p") == set()  # d is declared later, r is const
    assert offered(grammar, RuleType.OP, "c") == {"p", "r", "d"}
    assert offered(grammar, RuleType.OP, "d") == {"p"}
    assert offered(grammar, RuleType.RHS, "r + 1") == {"p + 2"}
    assert offered(grammar, RuleType.RHS, "p + 2") == set()


def test_what_is_assigned_to_stays_but_not_the_way_to_it() -> None:
    grammar = full(body("n = 1; n++; p[n] += 2; *(p + n) = 3; --p[n + 4]; int m = 0; &m == p;"))
    assert [t for t in texts(grammar, RuleType.OP) if t not in ("4",)] == [
        *("p", "n", "p", "n", "p", "n", "p")
    ]


@pytest.mark.parametrize(
    "statements",
    [
        "int a[4];",
        "const int size = 4; int a[size];",
        "constexpr int size = 2 + 2; int a[size];",
        "static int s = 3;",
        "switch (n) { case 4: break; }",
        "f<4>(n);",
        "auto f = [=](int x) { return x + 4; };",
        "return;",
        'asm("" : "=r"(n) : "r"(4));',
        "Vec v = {4, n};",
        "sizeof(n + 4);",
        "MACRO(n + 4);",
    ],
)
def test_where_a_constant_or_type_is_meant_nothing_may_change(statements: str) -> None:
    text = "#define MACRO(x) x\nstruct Vec { int a, b; };\n"
    text += "template <int N> __device__ void f(int);\n"
    found = texts(full(text + body(statements)), RuleType.OP, RuleType.RHS)
    assert not [one for one in found if "4" in one or "3" in one or "2" in one]


def test_an_overload_is_chosen_by_type_so_types_stay() -> None:
    text = "__device__ int f(int);\n__device__ float f(float);\n__device__ void g(short s);\n"
    grammar = full(
        text + body("short s = 1; long l = 2; int i = n; f(i); g(s); atomicAdd(p, n); f(n);")
    )
    place = next(r for r in grammar.rules if r.type is RuleType.OP and grammar.text(r.name) == "i")
    names = {grammar.text(d) for d in grammar.under({}).donors(place.name)}
    assert names == {"n"}
    assert {"i", "n"} <= offered(grammar, RuleType.OP, "s")


def test_enumerations_and_classes_take_their_own() -> None:
    text = "enum Colour { RED, GREEN };\nstruct A { int x; };\nstruct B { int x; };\n"
    grammar = full(
        text
        + body(
            "Colour c = RED; c = GREEN; A a, a2; B b; a = a2; n = a.x + c; if (c == RED) n = 2;",
        )
    )
    assert offered(grammar, RuleType.RHS, "GREEN") == {"RED"}
    assert offered(grammar, RuleType.RHS, "a2") == set()
    assert "GREEN" not in texts(grammar, RuleType.OP)
    assert offered(grammar, RuleType.OP, "a") == set()


def test_an_initialiser_does_not_use_what_it_initialises() -> None:
    grammar = full(body("int a = n + 1; int b = a * 2; a = b - n;"))
    assert "b - n" not in offered(grammar, RuleType.RHS, "a * 2")
    assert "a * 2" not in offered(grammar, RuleType.RHS, "n + 1")
    assert "a * 2" in offered(grammar, RuleType.RHS, "b - n")


def test_donors_of_one_text_are_one_and_never_the_own_text() -> None:
    grammar = full(body("p[n] = n + 1; p[n + 2] = n * n + 2;"))
    view = grammar.under({})
    for rule in grammar.rules:
        if rule.type in FINER:
            found = [grammar.text(donor) for donor in view.donors(rule.name)]
            assert len(found) == len(set(found))
            assert grammar.text(rule.name) not in found


def test_two_types_in_two_branches() -> None:
    text = body(
        "#ifdef F\nfloat x = q[0];\n#else\nint x = n;\n#endif\nfloat y = q[1] * q[2];\n"
        "y = y * 2.0f;\np[0] = x;"
    )
    grammar = full(text)
    assert "x" not in {grammar.text(r.name) for r in grammar.rules if r.type is RuleType.OP}
    assert "x" not in {grammar.text(r.name) for r in grammar.rules if r.type is RuleType.RHS}


# -- conditions --------------------------------------------------------------------------------


def test_operands_of_logic_are_conditions() -> None:
    grammar = full(body("if (!(n > 1) || p[0] && n) n = n < 2 ? 3 : 4; while (!n) n--;"))
    assert texts(grammar, RuleType.COND) == [
        *("!(n > 1)", "n > 1", "p[0] && n", "p[0]", "n", "n < 2", "n")
    ]
    assert {"!(n > 1)", "p[0] && n", "!n"} <= offered(grammar, RuleType.COND, "n > 1")


def test_conditions_keep_together_where_they_go() -> None:
    grammar = full(body("if (!(n > 1) || p[0]) n = 2; if (p[1] == 3 || n) n = 4;"))
    inner = next(r.name for r in grammar.rules if grammar.text(r.name) == "n > 1")
    donor = next(r.name for r in grammar.rules if grammar.text(r.name) == "p[1] == 3 || n")
    bare = next(r.name for r in grammar.rules if grammar.text(r.name) == "!(n > 1)")
    assert "if (!((p[1] == 3 || n)) ||" in render(grammar, {inner: Expansion(body=donor)})
    assert "if ((p[1] == 3 || n) || p[0])" in render(grammar, {bare: Expansion(body=donor)})
    assert "if (((p[1] == 3 || n) && (!(n > 1))) || p[0])" in render(
        grammar, {bare: Expansion(before=(donor,))}
    )
    assert "if (0 || p[0])" in render(grammar, {bare: Expansion(body="")})


def test_a_negative_number_stays_one_operand() -> None:
    grammar = full(body("p[0] = n -1; p[1] = n * -2 + 3;"))
    place = next(r for r in grammar.rules if grammar.text(r.name) == "3")
    donor = next(r for r in grammar.rules if grammar.text(r.name) == "-2")
    assert "+ (-2)" in render(grammar, {place.name: Expansion(body=donor.name)})


# -- rules within rules ------------------------------------------------------------------------


def test_an_edit_within_what_is_gone_does_nothing() -> None:
    grammar = full(body("p[0] = n + 1; p[1] = n * 2;"))
    op = next(
        r.name for r in grammar.rules if grammar.text(r.name) == "1" and r.type is RuleType.OP
    )
    two = next(r.name for r in grammar.rules if grammar.text(r.name) == "2")
    rhs = next(r.name for r in grammar.rules if grammar.text(r.name) == "n + 1")
    whole = next(r.name for r in grammar.rules if grammar.text(r.name) == "p[0] = n + 1;")
    other = next(r.name for r in grammar.rules if grammar.text(r.name) == "n * 2")
    inner = {op: Expansion(body=two)}
    assert "p[0] = n + 2;" in render(grammar, inner)
    for outer in ({whole: Expansion(body="")}, {rhs: Expansion(body=other)}):
        assert render(grammar, outer | inner) == render(grammar, outer)
        assert render(grammar, inner | outer) == render(grammar, outer)


def test_a_donor_is_the_original_text() -> None:
    grammar = full(body("p[0] = n + 7; p[1] = n * 2;"))
    rules = {grammar.text(r.name): r.name for r in grammar.rules if r.type in FINER}
    edits = {
        rules["7"]: Expansion(body=rules["n"]),
        rules["n * 2"]: Expansion(body=rules["n + 7"]),
    }
    assert "p[0] = n + n; p[1] = n + 7;" in render(grammar, edits)


@pytest.mark.parametrize(
    ("text", "guarded"),
    [("n", True), ("1", True), ("2", True), ("i < n && p[i]", True), ("4", False)],
)
def test_operands_that_decide_whether_a_loop_ends_get_it_guarded(text: str, guarded: bool) -> None:
    grammar = full(
        body("int i = 0; while (i < n && p[i]) { q[0] = 4 + 0; i = i + 1; i += 2 * 1; }")
    )
    edits = {
        rule.name: Expansion(body=donor)
        for rule in grammar.rules
        if rule.type in FINER and grammar.text(rule.name) == text
        for donor in grammar.under({}).donors(rule.name)[:1]
    }
    assert edits
    assert all(
        touched_loops(grammar, {name: edit}) == {0} or not guarded for name, edit in edits.items()
    )
    if not guarded:
        assert all(touched_loops(grammar, {name: e}) == frozenset() for name, e in edits.items())


# -- notation ----------------------------------------------------------------------------------


def test_there_and_back() -> None:
    source = read_source(ALIGN)
    grammar = convert(source, None, ALL_TYPES)
    bnf, scope = write_bnf(grammar), write_scope(grammar)
    back = read_grammar(source, bnf, scope)
    assert back == grammar
    assert write_scope(back) == scope
    line = next(line for line in scope.splitlines() if line.startswith("<COND_align.cu_62>"))
    assert "IF:" in line
    assert "for2:" in line
    donor = "COND_align.cu_59.2"
    (before,) = (line for line in scope.splitlines() if line.startswith(f"<{donor}>"))
    assert before.count("IF:62-75") == 1
    after = before.replace("IF:62-75", "IF:66")
    fewer = read_grammar(source, bnf, scope.replace(before, after))
    taken = {
        rule.name
        for rule in grammar.rules
        if rule.type is RuleType.IF and rule.line != 66 and donor in grammar.donors(rule.name)
    }
    assert len(taken) == 4
    assert fewer.changes.forbidden == {(donor, place) for place in taken}
    assert not any(donor in fewer.donors(place) for place in taken)


# -- edits that a configuration makes void -----------------------------------------------------


def test_edits_whose_place_or_donor_is_left_out_do_nothing() -> None:
    text = body("#ifdef A\n  int a = 1;\n  p[0] = a;\n#endif\n  p[1] = 2;\n  p[2] = 3;")
    grammar = convert(Source("a.cu", text))
    edits = {
        "_a.cu_4": Expansion(body=""),
        "_a.cu_6": Expansion(("_a.cu_7", "_a.cu_4"), "_a.cu_4"),
    }
    off, on = grammar.under({}), grammar.under({"A": "1"})
    assert in_force(off, edits) == {"_a.cu_6": Expansion(("_a.cu_7",), None)}
    assert in_force(on, edits) == edits
