"""Namespaces found in sources."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.compile.pruning.namespaces import declared, joined, namespaces


def test_nested_reopened_and_unnamed_namespaces() -> None:
    source = """
    namespace { int hidden; }
    namespace a { void f() { if (1) { } } namespace { } inline namespace b { } }
    namespace c::d { struct S { int x; }; }  // namespace no { }
    namespace a { const char *t = "namespace no {"; }
    namespace e = a::b; using namespace a;
    #define OPEN namespace no {
    """
    assert namespaces(source) == ("a", "a::b", "c", "c::d")


def test_what_is_declared_is_found_again() -> None:
    names = ("a", "a::b", "c")
    assert namespaces(declared(names)) == names
    assert joined(["a::b"]) == "namespace a { namespace b { using namespace ::a::b; }}"


OPENED = {
    "namespace a {": ("a",),
    "namespace b\n{": ("b",),
    "namespace c :: d{": ("c", "d"),
    "namespace {": (),
    "void f() {": (),
}
"""Names that a piece of source adds to those of the namespace around it."""

OTHERS = [
    *('"namespace no {"', "'{'", "// namespace no {\n", "/* namespace no {\n*/"),
    *("\n#define X namespace no {\n", 'R"x(namespace no { ")x"', "using namespace a;", "int n;"),
]


@given(st.lists(st.sampled_from([*OPENED, "}", *OTHERS]), max_size=12))
def test_namespaces_are_those_that_are_open_wherever_they_stand(pieces: list[str]) -> None:
    expected: dict[str, None] = {}
    around: list[tuple[str, ...]] = [()]
    for piece in pieces:
        if piece in OPENED:
            inside = around[-1]
            for name in OPENED[piece]:
                inside = (*inside, name)
                expected["::".join(inside)] = None
            around.append(inside)
        elif piece == "}" and len(around) > 1:
            around.pop()
    assert namespaces(" ".join(pieces)) == tuple(expected)


@given(st.text(alphabet='namespce {}:"/*#\n'))
def test_no_text_is_too_strange(text: str) -> None:
    assert namespaces(f"namespace a {{ }}\n{text}")[0] == "a"
