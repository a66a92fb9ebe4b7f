"""Kernels that an edit does not affect are the reference's; in doubt, all is compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from gi_cuda.backends.compile.borrowed_kernels import lender
from gi_cuda.backends.protocol.variants import Binary, Phenotype, code_key

KERNELS = ("one", "two", "three", "taps", "count", "see", "blur<float, 3>")
SYMBOLS = ("weights", "seen")
SOURCE = """\
# 1 "v0/kernel.cu"
struct Pair { int first, second; };
__constant__ float weights[4];
__device__ int tickets;
static __device__ int seen;
static __device__ int twice(int x)
{
    return 2 * x;
}
__device__ Pair operator+(Pair a, Pair b)
{
    return {twice(a.first), b.second};
}
static __device__ int low(int x) { return twice(x) + 1; }
static __device__ int unused(int x) { return x; }
namespace filter {
__device__ float high(float x)
{
    return x * 2.0f;
}
}
# 30 "v0/kernel.cu"
extern "C" __global__ void one(int *out)
{
    out[0] = low(1);
#pragma unroll 4
    for (int i = 0; i < 4; i++)
        out[i] = i;
}
__global__ void __launch_bounds__(64) two(int *out)
{
    Pair pair = {1, 2};
    out[0] = (pair + pair).first;
}
__global__ void three(float *out)
{
    out[0] = filter::high(out[1]);
}
__global__ void taps(float *out) { out[0] = weights[1]; }
__global__ void count(int *out)
{
    out[0] = atomicAdd(&tickets, 1);
}
__global__ void see(int *out) { out[0] = seen++; }
template <class T, int N> __global__ void blur(T *out)
{
    out[0] = weights[0] * N;
}
__global__ void spare(int *out)
{
    out[0] = 0;
}
#line 1 "v0/kernels of target.toml"
constexpr auto &gi_kernel_6 = blur<float, 3>;
auto &gi_symbol_0 = weights;
auto &gi_symbol_1 = seen;
"""


def parts(old: str, new: str, source: str = SOURCE, ident: int = 7) -> Sequence[Phenotype]:
    """Return the parts of a variant with one text replaced."""
    assert source.count(old) == 1
    found = lender(Phenotype(0, source, (), b"reference"), KERNELS, SYMBOLS)
    assert found is not None
    text = source.replace(old, new).replace('"v0/', f'"v{ident}/')
    return found.parts(Phenotype(ident, text, (), b"variant"))


def in_one(part: Phenotype) -> set[str]:
    """The kernels that are compiled for a part."""
    names = {name.partition("<")[0] for name in KERNELS}
    return {name for name in names if re.search(rf"__global__ void [^;{{]*\b{name}\(", part.text)}


def compiled(some: Sequence[Phenotype]) -> set[str]:
    """The kernels that are compiled for a variant; ``count`` always is."""
    found = [name for part in some for name in in_one(part)]
    assert len(found) == len({*found}), "no kernel is in two parts"
    return {*found}


def lent(some: Sequence[Phenotype]) -> frozenset[str]:
    """Return the kernels that a variant takes from the reference."""
    return frozenset.intersection(*(part.lent for part in some))


@pytest.mark.parametrize(
    ("old", "new", "kernels"),
    [
        ("out[0] = low(1)", "out[0] = low(2)", {"one"}),
        ("unroll 4", "unroll 8", {"one"}),
        ("__launch_bounds__(64)", "__launch_bounds__(128)", {"two"}),
        ("x * 2.0f", "x * 3.0f", {"three"}),
        ("return twice(x) + 1", "return twice(x) + 2", {"one"}),
        ("return 2 * x", "return 3 * x", {"one", "two"}),
        ("int first, second", "int first, third, second", {"two"}),
        ("atomicAdd(&tickets, 1)", "2", {"count"}),
        ("out[0] = seen++", "out[0] = seen--", {"see"}),
    ],
)
def test_what_an_edit_reaches_is_compiled(old: str, new: str, kernels: set[str]) -> None:
    variant = parts(old, new)
    # What keeps something from run to run is never the reference's.
    assert compiled(variant) == kernels | {"count"}
    assert {"spare", *KERNELS[:6]} - lent(variant) == kernels | {"count"}
    for part in variant:
        assert {*KERNELS[:6]} - part.lent == in_one(part) - {"blur"}


EDITS = {
    ("out[0] = low(1);", "out[0] = low(1);\n    out[1] = 3;"): {"one"},
    ("        out[i] = i;\n", "        ;\n"): {"one"},
    ("    Pair pair = {1, 2};\n    out[0] = (pair + pair).first;\n", "\n"): {"two"},
    ("#pragma unroll 4\n", "#pragma unroll\n"): {"one"},
    ("atomicAdd(&tickets, 1)", "2"): {"count"},
    ("void see(int *out) { out[0] = seen++", "void see(int *out) { out[0] = 0"): {"see"},
    ("__global__ void spare(int *out)\n{\n    out[0] = 0;\n}\n", ""): set(),
}


@pytest.mark.parametrize("edits", [*combinations(EDITS, 2), *combinations(EDITS, 3)])
def test_what_several_edits_reach_is_compiled(edits: Sequence[tuple[str, str]]) -> None:
    text = SOURCE
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    variant = parts(SOURCE, text)
    assert compiled(variant) == {"count"}.union(*(EDITS[one] for one in edits))
    said = text.replace('"v0/', '"v7/').split("\n")
    assert {line for part in variant for line in part.text.split("\n") if line} <= {*said}


def test_a_part_has_one_key_in_all_variants_and_none_that_another_part_has() -> None:
    first = parts("low(1)", "low(2)")
    both = SOURCE.replace("low(1)", "low(2)")
    second = parts("{1, 2}", "{3, 2}", both, ident=8)
    alone = parts("{1, 2}", "{3, 2}", ident=9)
    keys = [{one.key for one in some} for some in (first, second, alone)]
    assert [len(some) for some in keys] == [2, 2, 2], "one of them is count's"
    # The second one's reference has that change itself.
    assert len(keys[0] & keys[2]) == 1
    assert keys[1] == keys[2]
    together = {one.key for one in parts(SOURCE, both.replace("{1, 2}", "{3, 2}"))}
    assert together == keys[0] | keys[2]


def test_kernels_that_share_a_variable_are_compiled_together() -> None:
    variant = parts("out[0] = weights[1]", "out[0] = weights[2]")
    assert [in_one(part) for part in variant] == [{"count"}, {"taps", "blur"}]
    (both,) = (part for part in variant if "taps" in in_one(part))
    assert "weights" not in both.lent
    assert "gi_kernel_6" in both.text
    assert "gi_symbol_0" in both.text
    assert compiled(parts("low(1)", "low(weights[3])")) == {"one", "taps", "blur", "count"}


def test_a_variable_that_only_lent_kernels_use_is_lent_with_them() -> None:
    variant = parts("low(1)", "low(3)")
    assert lent(variant) >= {"weights", "seen", "blur_3Cfloat_2C3_3E"}
    for gone in ("gi_symbol_0", "gi_symbol_1", "gi_kernel_6", "void spare"):
        assert not any(gone in part.text for part in variant)
    assert "seen" not in lent(parts("out[0] = seen++", "out[0] = seen--"))


def test_lines_stay_where_they_are() -> None:
    for part in parts("low(1)", "low(4)"):
        before, after = SOURCE.split("\n"), part.text.split("\n")
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            assert new in ("", old.replace('"v0/', '"v7/'), old.replace("low(1)", "low(4)"))


def test_what_changed_stays_though_no_kernel_needs_it() -> None:
    variant = parts("{ return x; }", "{ return y; }")
    assert ["return y" in part.text for part in variant] == [True]
    assert compiled(variant) == {"count"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("namespace filter {", "namespace filters {"),
        ("namespace filter {", "using namespace filter; namespace filter {"),
        ("low(1);", "low(1;"),
        ("out[0] = low(1);", "out[0] = low(1); }"),
        ("__device__ int tickets;", "__device__ int tickets"),
        ("auto &gi_symbol_1", "#pragma pack(1)\nauto &gi_symbol_1"),
    ],
)
def test_where_it_cannot_be_told_all_is_compiled(old: str, new: str) -> None:
    assert not parts(old, new)


def test_a_new_name_is_told_to_all_who_say_it() -> None:
    overload = "static __device__ int low(char x) { return x; }\nstatic __device__ int unused"
    assert compiled(parts("static __device__ int unused", overload)) == {"one", "count"}
    gone = parts("static __device__ int seen;", "")
    assert compiled(gone) == {"see", "count"}


def test_a_variable_within_a_function_is_one_too() -> None:
    source = SOURCE.replace("return 2 * x;", "static int calls; return calls++ * x;")
    assert compiled(parts("x * 2.0f", "x", source)) == {"one", "two", "three", "count"}


def test_other_options_make_other_kernels() -> None:
    reference = Phenotype(0, SOURCE, (), b"")
    found = lender(reference, KERNELS, SYMBOLS)
    assert found is not None
    variant = Phenotype(1, SOURCE.replace("low(1)", "low(2)"), ("-maxrregcount=32",), b"")
    some = found.parts(variant)
    assert compiled(some) == {name.partition("<")[0] for name in KERNELS}
    assert {one.options for one in some} == {variant.options}


def test_a_kernel_that_is_not_found_by_its_name_forbids_it() -> None:
    reference = Phenotype(0, SOURCE, (), b"")
    assert lender(reference, (*KERNELS, "made_by_a_macro"), SYMBOLS) is None
    assert lender(reference, KERNELS[:1], ()) is None
    assert lender(replace(reference, text=SOURCE + "}"), KERNELS, ()) is None


def test_functions_of_both_are_marked_where_that_is_asked_for() -> None:
    found = lender(Phenotype(0, SOURCE, (), b""), KERNELS, SYMBOLS)
    assert found is not None
    text = SOURCE.replace("low(1)", "low(2)")
    some = found.parts(Phenotype(0, text, (), b""), "APART", ["twice", "low"])
    (marked,) = (part.text for part in some if "one" in in_one(part))
    assert "static APART __device__ int twice(int x)" in marked
    assert "static __device__ int low(int x)" in marked  # Nobody else calls it.


def test_a_binary_beside_the_reference_is_what_it_would_be_whole() -> None:
    keys = {"one": b"1", "two": b"2", "spare": b"3"}
    reference = Binary(0, Path("reference"), code_key(keys), {}, keys)
    same = Binary(1, Path("same"), code_key({"one": b"1"}), {}, {"one": b"1"}, frozenset({"two"}))
    assert same.beside(reference).code_key == code_key({"one": b"1", "two": b"2"})
    all_lent = replace(same, lent=frozenset({"two", "spare", "gone"})).beside(reference)
    assert (all_lent.code_key, all_lent.lender) == (reference.code_key, reference)
    other = replace(same, kernel_keys={"one": b"4"}, lent=frozenset({"two", "spare"}))
    assert other.beside(reference).code_key not in (reference.code_key, other.code_key)
    assert reference.beside(same) == reference
    assert replace(same, code_key=None).beside(reference).code_key is None


def test_a_binary_of_parts_is_what_it_would_be_whole() -> None:
    keys = {"one": b"1", "two": b"2", "three": b"3"}
    reference = Binary(0, Path("reference"), code_key(keys), {}, keys)
    parts = [
        Binary(n, Path(f"{n}"), b"", {}, {name: name.encode()}, frozenset({*keys} - {name}))
        for n, name in ((7, "one"), (8, "two"))
    ]
    parts = [replace(one, code_key=code_key(one.kernel_keys)) for one in parts]
    first, second = parts
    whole = first.with_others(3, [second]).beside(reference)
    assert (whole.ident, whole.namespace, whole.lender) == (3, "v7", reference)
    assert whole.parts == {"two": second}
    assert whole.code_key == code_key({"one": b"one", "two": b"two", "three": b"3"})
    member = whole.member(4, 2)
    assert (member.ident, member.chosen, member.namespace) == (4, 2, "v7")
    assert (member.parts["two"].chosen, member.parts["two"].namespace) == (2, "v8")
