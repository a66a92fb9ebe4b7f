"""Mangled names, and text on its way into a shard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.cuda.compile.cubin import name_parts, owner, read_cubin
from gi_cuda.backends.cuda.compile.texts import shard_text, without_c_linkage
from gi_cuda.backends.protocol.variants import Phenotype

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)


@given(st.lists(names, min_size=1, max_size=5))
def test_a_nested_name_is_read_back(parts: list[str]) -> None:
    mangled = "_ZN" + "".join(f"{len(part)}{part}" for part in parts) + "EPKjS1_"
    assert name_parts(mangled) == tuple(parts)


@pytest.mark.parametrize(
    ("symbol", "parts", "ident"),
    [
        ("_ZN2v19bwt_matchEPKjS1_", ("v1", "bwt_match"), 1),
        ("_ZN3v221tILi3EEEvPf", ("v22", "t"), 22),
        ("_ZN34_INTERNAL_366edccf_4_o_cu_a565dbb33v222sdE", None, 22),
        ("_ZN2v336_GLOBAL__N__c4040412_4_b_cu_2118768b1kEPf", None, 3),
        ("_ZN3app1kEPi", ("app", "k"), None),
        ("_Z1kPi", (), None),
        ("k", (), None),
    ],
)
def test_names_as_nvcc_makes_them(
    symbol: str, parts: tuple[str, ...] | None, ident: int | None
) -> None:
    if parts is not None:
        assert name_parts(symbol) == parts
    assert owner(name_parts(symbol)) == ident


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh", b"\x7fELF\x01\x01" + bytes(64)])
def test_what_is_no_cubin_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="ELF"):
        read_cubin(data)


def test_c_linkage_goes_and_lines_stay() -> None:
    text = 'extern "C" __global__ void k() {}\nextern\n"C" {\nint a;\n}\nextern int b;\n'
    plain = without_c_linkage(text)
    assert '"C' not in plain
    assert plain.count("\n") == text.count("\n")
    assert plain.count("{") == text.count("{")
    assert "extern int b;" in plain


def test_only_instrumented_variants_get_a_counter() -> None:
    plain = Phenotype(1, "int a;", (), b"")
    counting = Phenotype(2, "while (gi_loop(7u, ++n) && x) f(); while (gi_loop(3u, ++m));", (), b"")
    text = shard_text("// front\n", [plain, counting])
    assert text.startswith("// front\n")
    first, second = text.split("namespace v2")
    assert "gi_loop_most" not in first
    assert "gi_loop_most[8]" in second
