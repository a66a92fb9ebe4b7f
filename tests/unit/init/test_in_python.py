"""C expressions of sizes in Python."""

from __future__ import annotations

import pytest

from gi_cuda.init.host.in_python import in_python
from gi_cuda.spec.expression import ExpressionError, evaluate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n * 4 / 2", "n * 4 // 2"),
        ("(seed + 1) / in", "(seed_ + 1) // in_"),
        ("((32 < 128) ? 8 : 4) * n", "8 * n"),
        ("n < 64 ? n : 64", "n if n < 64 else 64"),
        ("(n + 32U - 1) / 0x20", "(n + 32 - 1) // 32"),
        ("(long)n * sizeof(float)", "n * 4"),
        ("!(n && 3) + (n >> 2)", "(not (n and 3)) + (n >> 2)"),
    ],
)
def test_it_is_said_as_python_has_it(text: str, expected: str) -> None:
    assert in_python(text) == expected
    if "seed" not in text:
        for n in (0, 5, 100):
            assert eval(expected, {"n": n}) == evaluate(text, {"n": n})


def test_what_is_no_size_is_refused() -> None:
    with pytest.raises(ExpressionError):
        in_python("f(n) ? 1 : 2")
