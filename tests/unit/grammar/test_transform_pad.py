"""Padding of shared arrays: the text that it leaves, and where it is not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Expansion, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.access.pad import Pad
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.splice import spliced

HEAD = """\
#define TILE 32
#define ROW(i) tile[i]
constexpr int WIDE = 2 * TILE, ODD = 33;
const int HALF = TILE / 2;
__device__ float sum(const float *row) { return row[0] + row[1]; }
template <int N> __global__ void k(float *a, const float *b, int n) {
    int x = threadIdx.x, y = threadIdx.y;
"""
USED = "tile[y][x] = b[y * n + x]; __syncthreads(); a[x * n + y] = tile[x][y];"
CUBE = "tile[1][y][x] = b[x]; __syncthreads(); a[x] = tile[1][x][y];"

PADDED = {
    "a literal": ("float tile[32][32];", "float tile[32][32 + 1];", USED),
    "a macro": ("float tile[TILE][TILE];", "float tile[TILE][TILE + 1];", USED),
    "a constant": ("double tile[8][HALF];", "double tile[8][HALF + 1];", USED),
    "a constant of a macro": ("float tile[8][WIDE];", "float tile[8][WIDE + 1];", USED),
    "a product": ("float tile[8][TILE * 2];", "float tile[8][TILE * 2 + 1];", USED),
    "a shift": ("float tile[8][1 << 5];", "float tile[8][(1 << 5) + 1];", USED),
    "a choice": (
        "float tile[8][TILE > 16 ? 32 : 16];",
        "float tile[8][(TILE > 16 ? 32 : 16) + 1];",
        USED,
    ),
    "three dimensions": ("int tile[2][8][16];", "int tile[2][8][16 + 1];", CUBE),
    "rows of unknown number": ("float tile[N][16];", "float tile[N][16 + 1];", USED),
    "one of two arrays": (
        "float tile[8][16], other[8][17];",
        "float tile[8][16 + 1], other[8][17];",
        USED,
    ),
    "members of elements": (
        "float4 tile[8][16];",
        "float4 tile[8][16 + 1];",
        "tile[y][x].x = b[x]; __syncthreads(); a[x] = tile[x][y].x;",
    ),
    "sums in elements": (
        "static unsigned tile[16][16];",
        "static unsigned tile[16][16 + 1];",
        "tile[x][y] = 0; tile[x][y] += n; tile[x][y]++; a[x] = (tile[x][y]);",
    ),
    "a comment that names the array": (
        "float tile[8][16]; // tile of b",
        "float tile[8][16 + 1]; // tile of b",
        USED,
    ),
    "an index beyond the row": (
        "float tile[8][16];",
        "float tile[8][16 + 1];",
        "tile[0][x] = b[x]; a[x] = tile[y][x + 1];",
    ),
}
DECLINED = {
    "one dimension": "__shared__ float tile[32]; tile[x] = b[x];",
    "rows of odd length": f"__shared__ float tile[32][33]; {USED}",
    "rows of a constant of odd length": f"__shared__ float tile[32][ODD]; {USED}",
    "rows that are padded": f"__shared__ float tile[32][32 + 1]; {USED}",
    "rows of unknown length": f"__shared__ float tile[8][N]; {USED}",
    "rows of an unknown name": f"__shared__ float tile[8][OTHER]; {USED}",
    "an array of a thread": f"float tile[4][16]; {USED}",
    "an array that the launch sizes": f"extern __shared__ float tile[][16]; {USED}",
    "a row that is passed": "__shared__ float tile[8][16]; a[x] = sum(tile[y]);",
    "an address that is passed": "__shared__ float tile[8][16]; a[x] = sum(&tile[y][0]);",
    "a row that a pointer keeps": "__shared__ float tile[8][16]; float *r = tile[y]; a[x] = r[x];",
    "a cast of the array": f"__shared__ float tile[8][16]; {USED} float *p = (float *)tile;",
    "vectors of elements": (
        "__shared__ float tile[8][16]; *(float4 *)&tile[y][4 * x] = ((const float4 *)b)[x];"
    ),
    "a size of the array": f"__shared__ float tile[8][16]; {USED} a[0] = sizeof(tile);",
    "an arithmetic of addresses": "__shared__ float tile[8][16]; a[x] = *(*tile + x);",
    "a row in a macro": "__shared__ float tile[8][16]; tile[y][x] = 0; a[x] = sum(ROW(y));",
    "another variable of the name": (
        "{ __shared__ float tile[8][16]; tile[y][x] = 0; } float tile[2] = {1, 2}; a[x] = tile[y];"
    ),
    "no use": "__shared__ float tile[8][16], used[8][16]; a[x] = sum(used[y]); (void)tile;",
}


@pytest.mark.parametrize("name", PADDED)
def test_before_and_after(name: str) -> None:
    before, after, used = PADDED[name]
    code = read_code(Source("k.cu", f"{HEAD}    __shared__ {before}\n    {used}\n}}\n"))
    (site,) = Pad().sites(code)
    rewrite = Pad().rewrite(code, site.at, "pad_K")
    assert rewrite is not None
    changed = f"{HEAD}    __shared__ {after}\n    {used}\n}}\n"
    assert spliced(code.source, rewrite.splices).text == changed
    assert rewrite.shape == {}


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    code = read_code(Source("k.cu", f"{HEAD}    {DECLINED[name]}\n}}\n"))
    assert list(Pad().sites(code)) == []


def test_each_array_has_a_gene_of_its_own() -> None:
    text = f"{HEAD}    __shared__ float tile[8][16];\n    __shared__ int t[8][32];\n"
    text += f"    {USED} t[y][x] = x;\n}}\n"
    grammar = convert(Source("k.cu", text), types=frozenset({RuleType.PAD}))
    assert [rule.name for rule in grammar.rules] == ["pad_k.cu_8", "pad_k.cu_9"]
    changed = CudaText(grammar).render({"pad_k.cu_9": Expansion((), "pad_K")})
    assert changed == text.replace("[32];", "[32 + 1];")


def test_header_says_how_long_rows_are() -> None:
    source = Source("k.cu", f"{HEAD}    __shared__ float tile[8][OTHER];\n    {USED}\n}}\n")
    beside = ("#define OTHER (4 * FOUR)\nconst int FOUR = 4;\n",)
    assert len(list(Pad().sites(read_code(Source(source.name, source.text, beside=beside))))) == 1


def test_place_that_is_gone_is_not_rewritten() -> None:
    code = read_code(Source("k.cu", f"{HEAD}    __shared__ float tile[8][17];\n    {USED}\n}}\n"))
    assert Pad().rewrite(code, code.text.index("tile[8]"), "pad_K") is None
