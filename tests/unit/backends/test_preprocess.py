"""Batches as text: preludes, markers, phenotypic keys."""

from __future__ import annotations

from gi_cuda.backends.compile.preprocess import batch_text, key, normalised, prelude, split
from gi_cuda.backends.protocol.variants import Variant

SOURCE = """#include <stdint.h>
#ifdef FAST
#  include "fast.h"
#endif
#define SQUARE(x) \\
    ((x) * \\
     (x))
int f(int a) { return SQUARE(a); } // # include <nothing>
"""


def test_the_prelude_keeps_directives_and_restores_what_they_define() -> None:
    lines = prelude(SOURCE, {"N": "4"}).splitlines()
    assert "#include <stdint.h>" in lines
    assert '#  include "fast.h"' in lines
    assert '#pragma push_macro("SQUARE")' in lines
    assert "#define N 4" in lines
    assert lines[-2:] == ['#pragma pop_macro("SQUARE")', '#pragma pop_macro("N")']
    assert not any("int f" in line for line in lines)


def test_directives_in_comments_are_none() -> None:
    text = (
        '/*#if OLD\n#include "gone.h"\n#endif*/\n// a \\\n#define A\n#include "b.h" /* of\n c */\n'
    )
    assert prelude(text).splitlines() == ['#include "b.h" /* of', " c */"]
    # What stands behind an include stays where it is.
    within = batch_text("", [Variant(1, text, {})], "k.cu").split('"v1/k.cu"\n')[1]
    assert "\n/* of\n c */\n" in within
    assert "\n#endif*/\n" in within


def test_headers_can_be_left_out_of_the_prelude() -> None:
    text = '#include <a.h>\n# include "b/c.h"  // for d\n#include "c.h"\n'
    assert prelude(text, {}, ("b/c.h", "a.h")) == '#include "c.h"\n'


def test_a_batch_sets_macros_before_each_variant_and_removes_them_after_it() -> None:
    variants = [Variant(1, SOURCE, {"N": "4"}), Variant(2, SOURCE, {})]
    text = batch_text("", variants, "k.cu")
    first, second = text.split("#pragma gi_cuda variant ")[1:3]
    assert "#define N 4" in first
    assert '#pragma pop_macro("N")' in first
    assert '#pragma pop_macro("SQUARE")' in first
    assert "#define N" not in second
    assert '#line 1 "v1/k.cu"' in first
    assert "\n#include" not in first


def test_values_stand_where_the_source_has_its_own() -> None:
    source = "  # define N 16 // so many\nint a[N];\n#undef N\n#define N \\\n  8\n#define TILE 8\n"
    variants = [Variant(1, source, {"N": "4", "TILE": "2"}), Variant(2, source, {"TILE": "2"})]
    batch = batch_text("", variants, "k.cu", {"N": {"8"}})
    first, second = (part.split("#pragma pop")[0] for part in batch.split('k.cu"\n')[1:])
    assert first == f"{source.replace('N 16', 'N 4')}\n"
    assert second == f"{source}\n"
    assert "#define N 4\n" not in batch, "in front of the source it is not defined"
    assert "#define TILE 2\n" in batch


def test_line_numbers_survive_the_removal_of_includes() -> None:
    text = batch_text("", [Variant(1, SOURCE, {})], "k.cu")
    body = text.split('"v1/k.cu"\n')[1].splitlines()
    assert body[7].startswith("int f")


def test_split_gives_each_variant_its_own_text() -> None:
    variants = [Variant(3, "", {}), Variant(8, "", {}, ("-O3",))]
    output = "noise\n#pragma gi_cuda variant 3\nint a;\n#pragma gi_cuda variant 8\nint b;\n"
    found = split(output + "#pragma gi_cuda variant end\n", variants)
    assert found[3].text == "int a;\n"
    assert found[8].text == "int b;\n"
    assert found[8].options == ("-O3",)


def test_white_space_and_line_markers_do_not_matter_and_options_do() -> None:
    one = '# 1 "v1/k.cu"\nint  a ;\n\n  b();\n'
    other = '# 9 "v2/k.cu" 2\nint a ;\nb();'
    assert normalised(one) == normalised(other) == "int a ; b();"
    assert key(one, ()) == key(other, ())
    assert key(one, ()) != key(one, ("-O3",))
    assert key("int a;", ()) != key("int b;", ())
