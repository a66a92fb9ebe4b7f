"""C integer expressions.

Tests in tests/integration/spec compare their arithmetic with a real preprocessor and compiler.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.errors import UserError
from gi_cuda.spec.expression import ExpressionError, evaluate, parse

INT64 = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(1000 + 64 - 1) / 64", 16),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7 / -2", -3),
        ("-1 < 0u", 0),
        ("1 ? -1 : 0u", 2**64 - 1),
        ("1 << 63", -(2**63)),
        ("-8 >> 1", -4),
        ("010 + 0x10 + 0b11", 27),
        ("10ull", 10),
        ("0x8000000000000000", 2**63),
        ("'A' + '\\n' + '\\x41' + '\\101' + '\\0'", 65 + 10 + 65 + 65),
        ("'\\xff'", -1),
        ("!0 + !5 + ~0", 0),
        ("1 + 2 * 3 - 4 % 3", 6),
        ("1 | 2 ^ 3 & 1", 3),
        ("3 > 2 > 1", 0),
        ("true && !false", 1),
        ("sizeof(float) * 4 + sizeof(double2)", 32),
        ("sizeof(unsigned long long) + sizeof(uint16_t)", 10),
        ("(unsigned char)300 + (short)40000", 44 + 40000 - 65536),
        ("(unsigned)-1", 2**32 - 1),
        ("1 \\\n + \n 2", 3),
        ("1 || 1 / 0", 1),
        ("0 && 1 / 0", 0),
        ("1 ? 2 : 1 / 0", 2),
    ],
)
def test_values(text: str, value: int) -> None:
    assert evaluate(text, {}) == value


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "missing", None),
        ("1 +", "not a C expression", None),
        ("x $ 3", "at `$`", 3),
        ("(n + 1", "ends too early", 7),
        ("n n", "at `n`", 3),
        ("1); int y = (2", "parentheses do not match", None),
        ("1 # 2", "at `#`", 3),
        ("a = 3", "an assignment", 1),
        ("a, b", "the comma operator", 1),
        ("1 + 1.5", "1.5 is not an integer", 5),
        ('1 + "s"', '"s" is not an integer', 5),
        ("2 * *p", "operator *", None),
        ("&p", "operator &", None),
        ("f(3)", "an argument of f is not an identifier", 3),
        ("a[1]", "has no place", None),
        ("'ab'", "not a constant", 1),
        ("1 + 0xFFFFFFFFFFFFFFFFF", "not a constant", 5),
        ("sizeof(struct x)", "sizeof takes", None),
        ("(float)1", "casts", None),
        ("(" * 5000 + "1" + ")" * 5000, "nested too deeply", None),
    ],
)
def test_what_is_no_integer_expression_is_refused(
    text: str, message: str, column: int | None
) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert message in str(caught.value)
    if column is not None:
        assert caught.value.column == column
        assert f"column {column}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a + missing", "missing has no value"),
        ("a / (a - a)", "division by zero"),
        ("a % 0", "division by zero"),
        ("9223372036854775807 + a", "overflow"),
        ("-(-9223372036854775807 - 1)", "overflow"),
        ("(-9223372036854775807 - 1) / -1", "overflow"),
        ("(-9223372036854775807 - 1) % -1", "overflow"),
        ("a << 64", "a shift by 64"),
        ("a >> -1", "a shift by -1"),
        ("name * 2", "name is 'float', which is not an integer"),
        ("half * 2", "half is 0.5, which is not an integer"),
        ("huge", "does not fit"),
        ("f(a)", "no function f"),
    ],
)
def test_what_has_no_value_fails(text: str, message: str) -> None:
    names = {"a": 1, "name": "float", "half": 0.5, "huge": 2**63}
    with pytest.raises(ExpressionError, match=message):
        parse(text).evaluate(names)  # type: ignore[arg-type]


def test_names_and_calls_are_told_apart() -> None:
    expression = parse("defined(X) && X > 3 && sizeof(float4) && true")
    assert expression.names == {"X"}
    assert expression.calls == {"defined"}
    macros = {"X": 5}
    calls = {"defined": lambda name: name in macros}
    assert expression.evaluate(macros, calls) == 1
    assert expression.evaluate({}, {"defined": lambda name: False}) == 0


def test_equal_texts_are_equal_and_parsed_once() -> None:
    assert parse("a + 1") is parse("a + 1")
    assert parse("a + 1") != parse("1 + a")
    assert {parse("a + 1"): 1}[parse("a + 1")] == 1


def test_an_expression_and_its_errors_can_be_sent_to_another_process() -> None:
    expression = pickle.loads(pickle.dumps(parse("n / 2")))
    assert expression.evaluate({"n": 9}) == 4
    with pytest.raises(ExpressionError) as caught:
        parse("n $")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, UserError)
    assert str(copy) == str(caught.value)


def test_numpy_integers_are_values() -> None:
    assert evaluate("n * n", {"n": np.int32(100_000)}) == 10**10


@given(INT64, INT64)
def test_division_law(a: int, b: int) -> None:
    names = {"a": a, "b": b}
    if b == 0 or (a == -(2**63) and b == -1):
        with pytest.raises(ExpressionError):
            evaluate("a / b", names)
        return
    quotient, remainder = evaluate("a / b", names), evaluate("a % b", names)
    assert quotient * b + remainder == a
    assert abs(remainder) < abs(b)
    assert remainder == 0 or (remainder < 0) == (a < 0)


@given(INT64, INT64)
def test_unsigned_arithmetic_wraps(a: int, b: int) -> None:
    names = {"a": a, "b": b}
    for op, exact in (("+", a + b), ("-", a - b), ("*", a * b)):
        assert evaluate(f"(unsigned long)a {op} b", names) == exact % 2**64


def attempt(text: str, names: dict[str, int]) -> int | ExpressionError:
    try:
        return parse(text).evaluate(names)
    except ExpressionError as error:
        return error


@given(
    st.text(max_size=40) | st.text("0123456789abx()+-*/%<>=!&|^~?: uUlL.'\"#", max_size=25),
)
def test_any_text_has_a_value_or_a_clear_error(text: str) -> None:
    result = attempt(text, {"a": 1, "b": 2, "x": 3})
    if isinstance(result, int):
        assert -(2**63) <= result < 2**64
    else:
        assert result.what
        assert result.column is None or 1 <= result.column <= len(text) + 1
