"""Splitting the PTX of a shard."""

from __future__ import annotations

from gi_cuda.backends.cuda.ptx.module import read_module

HEAD = "//\n// a compiler\n//\n\n.version 9.0\n.target sm_90\n.address_size 64\n\n"


def kernel(ident: int, number: int, value: int, name: str = "1k") -> str:
    """A kernel of a variant, the so manieth function of its module."""
    symbol = f"_ZN{len(str(ident)) + 1}v{ident}{name}EPi"
    lines = [
        f"\t// .globl\t{symbol}",
        f".visible .entry {symbol}(",
        f"\t.param .u64 {symbol}_param_0",
        ")",
        "{",
        f"\t.local .align 4 .b8 \t__local_depot{number}[4];",
        f"\tld.param.u64 %rd1, [{symbol}_param_0];",
        f"\t@%p1 bra \t$L__BB{number}_2;",
        f"$L__BB{number}_2:",
        f"\tmov.u32 %r1, {value};",
        "\tret;",
        "",
        "}",
    ]
    return "\n".join(lines) + "\n"


def test_parts_belong_to_variants_and_go_together_again() -> None:
    variable = ".global .align 4 .u32 _ZN2v75countE;\n"
    text = HEAD + variable + kernel(7, 0, 1) + kernel(12, 1, 2) + kernel(7, 2, 3, "1f")
    module = read_module(text)
    assert module is not None
    assert list(module.parts) == [7, 12]
    assert "countE" in module.parts[7]
    assert module.without({7}).count(".entry") == 1
    assert module.without(()).count(".entry") == 3
    assert module.without(()).startswith(".version 9.0\n.target sm_90\n")


def test_names_and_numbers_do_not_tell_variants_apart_and_all_else_does() -> None:
    module = read_module(HEAD + kernel(1, 0, 5) + kernel(15, 1, 5) + kernel(159, 12, 6))
    assert module is not None
    assert module.keys[1] == module.keys[15] != module.keys[159]


def test_names_with_internal_linkage_do_not_tell_variants_apart_either() -> None:
    def using(ident: int, name: str) -> str:
        place = f"_ZN38_INTERNAL_30899178_8_shard_cu_ef9c507e{len(str(ident)) + 1}v{ident}{name}E"
        variable = f".global .align 4 .u32 {place};\n"
        return variable + kernel(ident, ident, 5).replace("%r1, 5", f"%r1, {place}")

    module = read_module(HEAD + using(1, "5count") + using(21, "5count") + using(3, "5total"))
    assert module is not None
    assert list(module.parts) == [1, 21, 3]
    assert module.keys[1] == module.keys[21] != module.keys[3]


def test_what_belongs_to_no_variant_keeps_a_module_whole() -> None:
    for shared in (
        ".global .align 1 .b8 $str[3] = {104, 105};\n",
        ".visible .func _Z6sharedv()\n{\n\tret;\n}\n",
        '.file\t1 "kernel.cu"\n',
    ):
        assert read_module(HEAD + shared + kernel(1, 0, 5)) is None
