"""Statements whose removal leaves a local uninitialized; a search does not delete these."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import ALL_TYPES, Operation, Source, Untested, only_tested
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText, convert
from gi_cuda.grammar.frontends.cuda.rules.unset import alone_setting

HEAD = """\
struct Cell { int score, at; };
typedef struct { float x; float *next; } Link;
struct Made { int n; Made() { n = 0; } };
struct Given { int n = 4; };
__device__ void set(int &x) { x = 1; }
__device__ int same(Cell cell) { return cell.score; }
__device__ int plain(int x) { return x; }
"""


def needed(body: str) -> set[str]:
    """Return the statements of a kernel that have to stay."""
    grammar = convert(Source("k.cu", f"{HEAD}__global__ void k(int *p, int n) {{\n{body}\n}}\n"))
    return {grammar.text(rule.name) for rule in alone_setting(grammar)}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int x; x = n; p[0] = x;", {"x = n;"}),
        ("int x = 0; x = n; p[0] = x;", set()),
        ("int x; if (n) x = n; p[0] = x;", {"x = n;"}),
        ("int x; if (n) x = 1; else x = 2; p[0] = x;", set()),
        ("int x; x = n; x += 1; p[0] = x;", set()),
        ("int x; x = n; p[0] = x++;", set()),
        ("int x; x = n; p[0] = plain(x) + max(x, 2);", {"x = n;"}),
        ("int x; x = n; set(x); p[0] = x;", set()),
        ("int x; x = n; unknown(x); p[0] = x;", set()),
        ("int x; x = n; some.method(2, x); p[0] = x;", set()),
        ("int x; x = n; atomicAdd(&x, 1); p[0] = x;", set()),
        ("int x; x = n; p[0] = n & x;", set()),
        ("int x; x = n; p[0] = n && x;", {"x = n;"}),
        ('int x; x = n; asm("mov %0, 1;" : "=r"(x)); p[0] = x;', set()),
        ("int x; x = n; { int x; x = 2; p[1] = x; } p[0] = x;", set()),
        ("int x[2]; x[0] = n; p[0] = x[0];", set()),
        ("float *q; q = (float *)p; q[0] = 1;", set()),
        ("uint4 v; v.x = n; v.y = 1; v.y = 2; p[0] = v.x + v.y;", {"v.x = n;"}),
        ("Cell c; c.score = n; c.at = 1; p[0] = same(c);", {"c.score = n;", "c.at = 1;"}),
        ("Cell c, d; d.at = n; c = d; c.at = 1; p[0] = c.at;", {"d.at = n;"}),
        ("Link l; l.x = n; p[0] = l.x;", {"l.x = n;"}),
        ("Made m; m.n = n; p[0] = m.n;", set()),
        ("Given g; g.n = n; p[0] = g.n;", set()),
        ("Elsewhere e; e.n = n; p[0] = e.n;", set()),
        ("int x; for (int i = 0; i < n; i++) { x = i; p[i] = x; }", {"x = i;"}),
        ("#if A\nint x; x = 1; p[0] = x;\n#else\nint x; x = 2; p[0] = x;\n#endif", set()),
    ],
)
def test_what_alone_sets_a_local_is_needed(body: str, expected: set[str]) -> None:
    assert needed(body) == expected


def test_a_search_may_insert_there_and_takes_nothing_away() -> None:
    text = f"{HEAD}__global__ void k(int *p, int n) {{ int x; p[2] = n; x = n; p[0] = x; }}\n"
    grammar = convert(Source("k.cu", text), types=ALL_TYPES)
    needed = CudaText(grammar).needed()
    offered = only_tested(grammar, Untested(), needed)
    (name,) = needed
    assert set(grammar.operations(name)) >= {Operation.DELETE, Operation.REPLACE}
    assert offered.operations(name) == (Operation.INSERT,)
    for other in set(grammar.mutable) - needed.keys():
        assert offered.operations(other) == grammar.operations(other)
