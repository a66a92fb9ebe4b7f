"""Python expressions are evaluated without `eval`, and translated to C."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.spec.expression import parse
from gi_cuda.tune.t1.python_text import PythonTextError, evaluate, to_c

NAMES = {"a": None, "b": None, "c": None, "sizes": [5, 7]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2, 4]", [1, 2, 4]),
        ("list(range(32, 129, 32))", [32, 64, 96, 128]),
        ("[1] + [2 * i for i in range(1, 4)]", [1, 2, 4, 6]),
        ("[2**i for i in range(4) if i != 2]", [1, 2, 8]),
        ("[i * j for i in (1, 2) for j in (1, 10)]", [1, 10, 2, 20]),
        ("['fast', 'exact']", ["fast", "exact"]),
        ("max(sizes) + sizes[0] // 2 - 1", 8),
        ("1 if 3 < 4 <= 4 and not 0 else 2", 1),
        ("3 in sizes or 5 not in sizes", False),
        ("-1 + 0.5", -0.5),
    ],
)
def test_value(text: str, value: object) -> None:
    assert evaluate(text, {"sizes": [5, 7]}) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("__import__('os').system('true')", "is not known here"),
        ("().__class__", "is not known here"),
        ("open('x')", "is not known here"),
        ("(lambda: 1)()", "is not known here"),
        ("x", "is not known here"),
        ("'%s' % 1", "numbers are computed with"),
        ("[0] * 10**9", "numbers are computed with"),
        ("9**9**9", "the power is too large"),
        ("list(range(10**9))", "the range is too long"),
        ("[0 for i in range(10**4) for j in range(10**4)]", "the list is too long"),
        ("[x for x, y in [[1, 2]]]", "one name is needed"),
        ("1 // 0", "has no value"),
        ("sizes[9]", "has no value"),
        ("1 +", "no Python expression"),
        ("(" * 500, "no Python expression"),
    ],
)
def test_refused_value(text: str, said: str) -> None:
    with pytest.raises(PythonTextError, match=r".*") as caught:
        evaluate(text, {"sizes": [5, 7]})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "c"),
    [
        ("32 <= a * b <= 1024 and not c", "32 <= a * b && a * b <= 1024 && !c"),
        ("a == 0 or b % 32 != 0", "a == 0 || b % 32 != 0"),
        ("(a - (b - c)) // 2", "(a - (b - c)) / 2"),
        ("a % ((b * c) // a) == 0", "a % (b * c / a) == 0"),
        ("not (a == 1 and b == 2)", "!(a == 1 && b == 2)"),
        ("a in [1, 2] or b not in (3, 4)", "a == 1 || a == 2 || b != 3 && b != 4"),
        ("max(a, b) * 2", "(a > b ? a : b) * 2"),
        ("(a + 1)**2", "(a + 1) * (a + 1)"),
        ("a if b else -c", "b ? a : -c"),
        ("sizes[1] + max(sizes)", "7 + 7"),
        ("True", "1"),
    ],
)
def test_translation(text: str, c: str) -> None:
    assert to_c(text, NAMES) == c


@pytest.mark.parametrize(
    "text", ["a + x", "a**b", "'s' == a", "lambda a: a", "a & b", "sizes", "f(a)", "a.b", "1.5 * a"]
)
def test_refused_translation(text: str) -> None:
    with pytest.raises(PythonTextError, match="cannot be translated to C"):
        to_c(text, NAMES)


def _sums(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(parts, st.sampled_from(["+", "*", "//", "%"]), parts).map(
        lambda one: f"({one[0]} {one[1]} {one[2]})"
    )


def _conditions(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.tuples(parts, st.sampled_from(["and", "or"]), parts)
    return joined.map(lambda one: f"({one[0]} {one[1]} {one[2]})") | parts.map("(not {})".format)


NUMBERS = st.recursive(st.sampled_from(["a", "b", "c", "1", "2", "7"]), _sums, max_leaves=5)
COMPARISONS = st.tuples(NUMBERS, NUMBERS, NUMBERS).map("{0[0]} < {0[1]} <= {0[2]}".format)


@given(st.recursive(COMPARISONS, _conditions, max_leaves=4))
def test_conditions_are_true_in_c_where_they_are_in_python(text: str) -> None:
    translated = parse(to_c(text, NAMES))
    for a, b, c in itertools.product((1, 2, 5), repeat=3):
        names = {"a": a, "b": b, "c": c}
        try:
            python = bool(evaluate(text, names))
        except PythonTextError:  # Python evaluates all operands of a chain, C not.
            continue
        assert bool(translated.evaluate(names)) == python
