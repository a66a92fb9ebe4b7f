"""Identifiers of functions and variables from their symbols."""

from __future__ import annotations

import pytest

from gi_cuda.backends.cuda.compile.cubin import plain_name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("scale", "scale"),
        ("_Z5scalePKiPii", "scale"),
        ("_ZN2v05scaleEPKiPii", "scale"),
        ("_Z4blurIfLi2E8WeightedEvPKT_PS1_i", "blur"),
        ("_ZN2v04blurIfLi2ENS_8WeightedEEEvPKT_PS2_i", "blur"),
        ("_ZN5image6detail5halveEPNS_5PixelEi", "halve"),
        ("_ZN6filter4tapsE", "taps"),
        ("_ZL4taps", "taps"),
        ("__nv_static_25__27fbdf60_4_a_cu_dd4956af__Z2skPi", "sk"),
        ("_ZN38_INTERNAL_00000000_8_shard_cu_000000002v09last_seenE", "last_seen"),
        ("_Z", "_Z"),
        ("_Zebra", "_Zebra"),
    ],
)
def test_the_identifier_of_the_source_is_found(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name
