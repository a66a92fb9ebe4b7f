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
    ],
)
def test_it_is_said_as_python_has_it(text: str, expected: str) -> None:
    assert in_python(text) == expected
    if "seed" not in text:
        for n in (0, 5, 100):
            assert eval(expected, {"n": n}) == evaluate(text, {"n": n})


@pytest.mark.parametrize("text", ["n < 64 ? n : 64", "(long)n", "f(n)", "n >> 2", "n * 0x20"])
def test_what_is_not_plain_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        in_python(text)
