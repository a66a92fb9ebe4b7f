"""Host code and code that kernels do not reach are removed from variants; offsets stay the same."""

from __future__ import annotations

import pytest

from gi_cuda.backends.compile.pruning.host_code import without_host_code
from gi_cuda.backends.compile.pruning.items import read_items
from gi_cuda.backends.compile.pruning.reachable_code import Reach

SOURCE = """\
# 1 "v3/a.cu"
struct Span { int from; Span(int a) : from(least(a, 2)) {} __device__ int get() { return from; } };
__device__ int twice(int x) { return 2 * x; }
__global__ void scale(int *a) { a[0] = twice(a[0]); }
__global__ void other(int *a) { a[0] = __unknown(a[0]); }
int least(int a, int b)
{
# 30 "v3/a.cu"
  return a < b ? a : b;
}
void run(int *a) { scale<<<1, 1>>>(a); }
void (*table[])(int *) = {run};
cudaArray *first, *second = 0;
int Settings::level = 3;
"""


def plain(text: str) -> str:
    """Return a text without line markers and white space."""
    return " ".join(" ".join(line.split()) for line in text.splitlines() if line[:1] != "#").strip()


def reached(text: str, roots: str = "scale", reach: Reach | None = None) -> str:
    reach = reach or Reach(frozenset(roots.split()))
    return reach.reached(text).text


def test_what_a_kernel_cannot_reach_is_gone() -> None:
    assert plain(reached(SOURCE)) == (
        "__device__ int twice(int x) { return 2 * x; }"
        " __global__ void scale(int *a) { a[0] = twice(a[0]); }"
    )


def test_lines_stay_where_they_were() -> None:
    left = reached(SOURCE)
    assert left.count("\n") == SOURCE.count("\n")
    assert left.splitlines()[7] == '# 30 "v3/a.cu"'


def test_host_functions_that_are_named_stay_declared() -> None:
    left = plain(without_host_code("int low(int a) { return std::min(a, 2); }\nint x = low(3);"))
    assert left == "int low(int a) ; int x = low(3);"
    assert "void run(int *a) ;" in plain(reached(SOURCE, "table"))


def test_members_that_say_something_from_outside_stay_declared() -> None:
    text = """
struct Box : Base<int> {
 public:
  Box(int n) : size(n), data(allocate(n)) {}
  Box(const Box &other) : size(other.size), data(other.data) {}
  ~Box() { release(data); }
  template <class T> void put(T one) { std::cout << one; }
  __device__ float at(int i) const { return data[i]; }
  constexpr int most() const { return limit; }
  bool operator()(int a) const { return compare(a); }
 private:
  struct Part { int n = 0; void show() { print(n); } };
  int size = first(3); float *data;
};
"""
    left = plain(without_host_code(text))
    for stays in (
        "Box(int n) ;",
        "Box(const Box &other) : size(other.size), data(other.data) {}",
        "~Box() ;",
        "template <class T> void put(T one) ;",
        "__device__ float at(int i) const { return data[i]; }",
        "constexpr int most() const { return limit; }",
        "bool operator()(int a) const ;",
        "struct Part { int n = 0; void show() ; };",
        "int size = first(3); float *data;",
    ):
        assert stays in left


def test_definitions_of_members_on_the_host_go_where_they_stand() -> None:
    text = "int Box::count(int n) const { return n; }\n__device__ int Box::at(int i) { return i; }"
    assert plain(without_host_code(text)) == "__device__ int Box::at(int i) { return i; }"


def test_macros_of_libraries_that_are_not_there_go() -> None:
    text = 'PYBIND11_MODULE(NAME, m) { m.def("run", &run); }\nint least(int m) { return m; }'
    assert plain(without_host_code(text)) == "int least(int m) ;"


def test_a_type_that_only_the_body_says_keeps_it() -> None:
    text = "auto low() { return 1; }\nauto high() -> int { return 2; }"
    assert plain(without_host_code(text)) == "auto low() { return 1; } auto high() -> int ;"


def test_nvcc_says_what_runs_on_the_device_by_attributes() -> None:
    text = (
        "__attribute__((host)) __attribute__((device)) int both() { return 1; }\n"
        "static __attribute__((device)) __inline__ int one() { return 2; }\n"
        "__attribute__((host)) int two() { return 3; }"
    )
    left = plain(without_host_code(text))
    assert "return 1" in left
    assert "return 2" in left
    assert "return 3" not in left


def test_what_was_found_out_holds_for_other_variants() -> None:
    reach = Reach(frozenset({"scale", "twice"}))
    first = reached(SOURCE, reach=reach)
    edited = SOURCE.replace("a[0] = twice(a[0]);", ";\n").replace('"v3/', '"v12/')
    assert reached(edited, reach=reach) == reached(edited, "scale twice")
    assert plain(reached(edited, reach=reach)).endswith("scale(int *a) { ; }")
    assert reached(SOURCE, reach=reach) == first


def test_what_was_found_out_holds_for_other_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(code: list[str]) -> object:
        read.append("")
        return read_items(code)

    monkeypatch.setattr("gi_cuda.backends.compile.pruning.reachable_code.read_items", counted)
    reach = Reach(frozenset({"scale", "twice"}))
    for size in range(100):
        text = SOURCE.replace("twice(a[0]);", f"twice(a[{size}]);")
        assert f"twice(a[{size}]);" in reach.reached(text).text
    assert len(read) == 1


def test_macros_that_say_where_they_are_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """``check(cudaFree(a), __FILE__, __LINE__)``: another file and, behind an edit, another line in
    each variant."""
    read: list[str] = []

    def counted(code: list[str]) -> object:
        read.append("")
        return read_items(code)

    where = 'void tidy(int *a) { check(cudaFree(a), "v3/a.cu", 41); }\n'
    text = where + SOURCE.replace("{ return 2 * x; }", '{ at("v3/a.cu", 7); return 2 * x; }')
    others = [
        text.replace('"v3/', f'"v{n}/')
        .replace("41)", f"{n})")
        .replace("twice(a[0])", f"twice(a[{n}])")
        for n in range(5)
    ]
    expected = [reached(one) for one in others]
    monkeypatch.setattr("gi_cuda.backends.compile.pruning.reachable_code.read_items", counted)
    reach = Reach(frozenset({"scale"}))
    assert [reached(one, reach=reach) for one in others] == expected
    assert 'at("v4/a.cu", 7)' in expected[4]
    assert len(read) == 1


def test_another_text_is_read_anew() -> None:
    reach = Reach(frozenset({"scale"}))
    reached("", reach=reach)
    for text in (SOURCE, SOURCE + "void more() { a<<<1, 1>>>(); }\n", SOURCE + "int b;\n" + SOURCE):
        assert reached(text, reach=reach) == reached(text)


def test_an_edit_that_says_more_reaches_more() -> None:
    reach = Reach(frozenset({"scale"}))
    reached(SOURCE, reach=reach)
    edited = SOURCE.replace("twice(a[0])", "least(a[0], Span(1).get())")
    left = plain(reached(edited, reach=reach))
    assert "int least(int a, int b) ;" in left
    assert "struct Span" in left


def test_functions_of_its_own_are_told() -> None:
    text = """
namespace image { __device__ int clamp(int x) { return x; } }
namespace { __device__ int low(int x) { return x; } }
extern "C" { __device__ int high(int x) { return x; } }
template <class T> __device__ T max(T a, T b) { return a; }
struct Pair { __device__ int min(int x) { return x; } };
"""
    names = ["clamp", "low", "high", "max", "Pair"]
    found = Reach(frozenset(names)).reached(text).functions
    assert found == {"low", "high", "max"}


def test_another_name_for_a_namespace_goes_with_those_who_say_it() -> None:
    alias = "namespace lib = some_library::inner;\n"
    assert "lib" not in reached(f"{alias}{SOURCE}")
    said = SOURCE.replace("return 2 * x", "return lib::twice(x)")
    assert alias.strip() in reached(f"{alias}{said}")


def test_names_for_types_of_libraries_that_are_not_there_go() -> None:
    """The name of a template argument does not refer to every type made of it."""
    text = """
typedef double real;
using absent::place;
typedef absent::matrix<int, real, place> Matrix;
using Rows = absent::rows<real>;
typedef enum { FEW, MANY } Number;
typedef pair<int, real> Both;
Both operator+(Both a, Both b);
__global__ void scale(real *a) { a[0] = FEW; }
"""
    assert " ".join(plain(reached(text)).split()) == (
        "typedef double real; typedef enum { FEW, MANY } Number;"
        " __global__ void scale(real *a) { a[0] = FEW; }"
    )
    summed = text.replace("a[0] = FEW", "pair<int, real> both; both + both")
    assert "Both operator+" in plain(reached(summed))


def test_operators_of_types_that_a_header_declares_stay() -> None:
    text = """
struct Own { float x; };
float4 operator+(float4 a, float4 b);
Own operator+(Own a, Own b);
__global__ void scale(alias *a) { a[0] = a[0] + a[1]; }
"""
    left = plain(reached(text))
    assert "float4 operator+" in left, "an alias of it may be a header's, too"
    assert "Own" not in left
