"""Reading host code ends, even with circular or ever growing definitions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gi_cuda.grammar.frontends.cuda.declarations.constants import LONGEST
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile
from tests.unit.init.test_launching import launch

NAMES = ("u", "v", "w", "p", "q")
TERMS = st.recursive(
    st.sampled_from([*NAMES, "p.x", "q.y", "2", "get()"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        st.tuples(inner, inner, inner).map("({0[0]} ? {0[1]} : {0[2]})".format),
        inner.map("min({0}, {0})".format),
        inner.map("twice({0})".format),
    ),
    max_leaves=6,
)
SET = st.tuples(st.sampled_from([*NAMES, "p.x", "q.y"]), TERMS).map("{0[0]} = {0[1]};".format)


def _levels(line: str, levels: int = 14) -> str:
    """One definition a level, each of which uses that of the next one ten times."""
    return "\n".join(line.format(i=i, uses=" + ".join([f"v{i + 1}"] * 10)) for i in range(levels))


@pytest.mark.parametrize(
    "host",
    [
        "void run(float *x, int N) { float *y = x; for (int i = 0; i < N; i++) {"
        " float *t = x; x = y; y = t; } k<<<x, y>>>(x, y, t); }",
        "void run(float *a) { int x = y; int y = x; k<<<x, y>>>(a, x, y); }",
        "void run(float *a) { dim3 p(q.x, q.y); dim3 q(p.x, p.y); k<<<p, q>>>(a, p.x, q.x); }",
        "void run(float *a) { dim3 p, q; p.x = q.x + q.y + q.z; p.y = q.x * q.y; q.x = p.x + p.y;"
        " q.y = p.x * p.y; q.z = p.x - p.y; k<<<p, q>>>(a, p.x, q.x); }",
        "#define v w\n#define w v\nvoid run(float *a) { k<<<v, w>>>(a, v, w); }",
        "enum { v = w, w = v };\nvoid run(float *a) { k<<<v, w>>>(a, v, w); }",
        "void run(float *a, int N) { again(a, N); }\n"
        "void again(float *a, int N) { run(a, N); k<<<N, N>>>(a, N, N); }",
        _levels("#define v{i} {uses}") + "\nvoid run(float *a) { k<<<v0, v1>>>(a, v0, v1); }",
        _levels("const int v{i} = {uses};") + "\nvoid run(float *a) { k<<<v0, v1>>>(a, v0, v1); }",
        "void run(float *a, int v14) {"
        + "\n".join(reversed(_levels("int v{i} = {uses};").splitlines()))
        + "k<<<v0, v1>>>(a, v0, v1); }",
        _levels("int v{i}(int x) {{ return {uses}; }}").replace(" v", " x * v")
        + "\nvoid run(float *a) { k<<<v0(1), v1(2)>>>(a, v0(3), v1(4)); }",
        "int many(int x) { return " + " * ".join(["x"] * 60) + "; }\n"
        "void run(float *a, int N) { k<<<many(many(many(many(N)))), 1>>>(a, 1, 1); }",
        _levels("#define v{i}(x) {uses}").replace(" + ", "(x) + ").replace("\n", "(x)\n")
        + "(x)\nvoid run(float *a, int N) { int z = v0(N); k<<<z, v0(1)>>>(a, z, z); }",
    ],
)
def test_names_that_hold_each_other_or_ever_more(
    read: Callable[[str], CudaFile], host: str
) -> None:
    assert len(repr(launch(read, host))) < 50_000


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(SET, max_size=12))
def test_whatever_is_set_to_whatever_is_read_once(
    read: Callable[[str], CudaFile], lines: list[str]
) -> None:
    host = (
        "int twice(int x) { return x + x + u; }\n#define w (u * v)\n"
        f"void run(float *a) {{ int u, v; dim3 p, q; {' '.join(lines)} k<<<p, q>>>(a, u, v); }}"
    )
    use = launch(read, host)
    texts = [*(use.grid or ()), *(use.block or ()), *use.computed.values()]
    assert all(len(text) <= LONGEST for text in texts)
