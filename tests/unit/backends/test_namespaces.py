"""Namespaces found in sources."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.compile.namespaces import declared, joined, namespaces


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


@given(st.text(alphabet='namespce {}:"/*#\n'))
def test_no_text_is_too_strange(text: str) -> None:
    assert all(namespaces(text))
