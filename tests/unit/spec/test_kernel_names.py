"""Names of kernels in C++."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.spec.launching.kernel_names import identifier, overload, reference


def test_overloads_are_named_by_their_types() -> None:
    assert overload("scale(float *, int)") == ("scale", "(float *, int)")
    assert overload("k<(1 + 2)>") == ("k<(1 + 2)>", None)
    assert reference("a::k<3>") == "a::k<3>"
    assert reference("a::k(int)") == "static_cast<void (&)(int)>(a::k)"


def test_plain_names_stay_and_needless_space_does_not_count() -> None:
    assert identifier("bwt_match") == "bwt_match"
    assert identifier("k< float,3 >") == identifier("k<float, 3>")
    assert identifier("k<unsigned  int>") == identifier("k<unsigned int>")
    assert identifier("k<unsigned int>") != identifier("k<unsignedint>")


@given(st.lists(st.text("ab_:<>,()* 3é", min_size=1), min_size=2, max_size=2, unique=True))
def test_identifiers_are_safe_and_tell_names_apart(names: list[str]) -> None:
    one, other = (identifier(f"k<{name}>") for name in names)
    assert re.fullmatch(r"\w+", one, re.ASCII)
    squeezed = [re.sub(r"\s*(\W)\s*", r"\1", f"k<{name}>") for name in names]
    assert (one == other) == (squeezed[0] == squeezed[1]) or any("  " in n for n in names)
