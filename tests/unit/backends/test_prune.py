"""Pruning removes unreachable declarations; needed and unparsable ones stay."""

from __future__ import annotations

import pytest

from gi_cuda.backends.compile.pruning.prune import expanded, identifiers, pruned

HEADER = """\
# 1 "front.cu"
# 1 "math.h" 1 3 4
extern "C" {
extern double sine(double x) __attribute__((nothrow));
extern double cosine(double x) __attribute__((nothrow));
}
# 40 "math.h" 3 4
typedef struct pair_s { int first, second; } pair_t;
namespace lib { inline namespace v1 {
template <typename T> struct box { T inside; };
template <> struct box<int> { int inside; };
template <class T> __attribute__((device)) inline T twice(T x) { return x + helper(x); }
static inline int helper(int x) { return x > 0 ? '}' : x; }
static inline float helper(float x) { return x; }
static inline int lonely(box<int> b) { return b.inside; }
using ::sine;
using ::cosine;
} }
"""


def kept(header: str, *names: str) -> str:
    """Return the remaining text in one line, without line markers."""
    text = pruned(header, names)
    return " ".join(" ".join(line.split()) for line in text.splitlines() if line[:1] != "#")


def test_what_is_said_stays_with_all_it_says_and_the_rest_goes() -> None:
    left = kept(HEADER, "twice")
    assert "T twice(T x)" in left
    assert "int helper(int x)" in left
    assert "float helper(float x)" in left
    for gone in ("sine", "pair_t", "box", "lonely"):
        assert gone not in left
    assert left.count("{") == left.count("}") - 1  # One is a character.
    assert "namespace lib { inline namespace v1 {" in left


def test_nothing_said_leaves_the_scopes_alone() -> None:
    left = 'extern "C" { } namespace lib { inline namespace v1 { } }'
    assert kept(HEADER).split() == left.split()


def test_a_name_reaches_it_wherever_it_is_declared() -> None:
    left = kept(HEADER, "sine", "pair_t", "lonely")
    for there in (
        "extern double sine",
        "using ::sine;",
        "typedef struct pair_s { int first, second; } pair_t;",
        "template <typename T> struct box",
        "template <> struct box<int>",
        "int lonely(box<int> b)",
    ):
        assert there in left
    assert "cosine" not in left


def test_pruning_what_was_pruned_changes_nothing() -> None:
    once = pruned(HEADER, ["lonely", "sine"])
    assert pruned(once, ["lonely", "sine"]) == once


OPERATORS = """\
struct vec { float x; };
enum flags { quick = 1, safe = 2 };
typedef flags options_t;
struct other { };
inline vec operator+(const vec &a, const vec &b) { return a; }
inline flags operator|(options_t a, options_t b) { return quick; }
template <class T> inline bool operator==(const box<T> &left, const box<T> &right) { return true; }
template <class T> bool operator!=(T left, T right);
inline void *operator new(unsigned long n, void *at) { return at; }
other operator<<(other, int);
"""


@pytest.mark.parametrize(
    ("name", "symbols"),
    [
        ("vec", ["operator+"]),
        ("safe", ["operator|"]),
        ("box", ["operator=="]),
        ("other", ["operator<<"]),
        ("x", []),
    ],
)
def test_operators_come_with_their_operands(name: str, symbols: list[str]) -> None:
    left = kept(OPERATORS, name)
    every = ["operator+", "operator|", "operator==", "operator<<"]
    assert [symbol for symbol in every if symbol in left] == symbols
    # These take anything.
    assert "operator!=" in left
    assert "operator new" in left


@pytest.mark.parametrize(
    "declaration",
    [
        "void (*signal(int number, void (*handler)(int)))(int);",
        "extern int (*hook)(int);",
        "int first(int), second(int);",
        'static_assert(sizeof(int) == 4, "a\'b");',
        "using namespace std;",
        'asm(".global x");',
        "enum { };",
        "static union { int a; float b; };",
        "auto [a, b] = some;",
        "template <int N, bool B = N < 3> void odd();",
        "using base::operator+;",
        "UNKNOWN(x);",
        "#pragma unheard_of\nvoid f(int);",
    ],
)
def test_what_is_not_understood_stays(declaration: str) -> None:
    assert kept(declaration) == kept(declaration, *identifiers(declaration))
    assert declaration.splitlines()[-1] in pruned(declaration, [])


@pytest.mark.parametrize(
    ("declaration", "name"),
    [
        ("template <class T> T box<T>::get() const { return inside; }", "box"),
        ("inline box::box(int a) : inside(a), more{3} { begin(); }", "box"),
        ("struct tm *gmtime(const long *t);", "gmtime"),
        ("extern struct tm now;", "tm"),
        ("template <class T> constexpr bool big_v = (sizeof(T) > 4);", "big_v"),
        ("enum class color : int { red, green = 1 << 3 };", "green"),
        ("template <class T> using remove_t = typename remove<T>::type;", "remove_t"),
        ("box(int, float) -> box<int>;", "box"),
        ("static const float table[] = { 1, 2 };", "table"),
        ("struct S : base<int>, rest { int f() { return 1; } };", "S"),
        ("template <class T, int N> struct S<T[N]> final { };", "S"),
        ("auto f(int a, int b) -> pair<int, int> { return {a, b}; }", "f"),
        ("[[nodiscard]] alignas(8) int g(int x[3]) noexcept(true) { return x[0]; }", "g"),
        ('const char *text() { return R"x(") }x)x"; }', "text"),
        ("template <class T> requires fine<T> inline int h(T);", "h"),
    ],
)
def test_its_name_decides(declaration: str, name: str) -> None:
    neighbours = f"void before();\n{declaration}\nvoid behind();"
    assert " ".join(declaration.split()) in kept(neighbours, name)
    assert kept(neighbours).strip() == ""
    assert kept(neighbours, "behind").strip() == "void behind();"


def test_brackets_that_do_not_match_leave_all_as_it_is() -> None:
    assert pruned("void f() { ( } void g();", []) == "void f() { ( } void g();"


def test_pragmas_stay_but_for_those_of_what_goes() -> None:
    header = """\
#pragma GCC diagnostic push
#pragma nv_exec_check_disable
void f(int);
#pragma GCC diagnostic pop
void g(int);
"""
    assert pruned(header, ["g"]).split("\n") == [
        "#pragma GCC diagnostic push",
        "#pragma GCC diagnostic pop",
        "void g(int);",
        "",
    ]


def test_declarations_keep_the_file_they_are_from() -> None:
    header = '# 1 "a.cu"\n# 1 "/usr/b.h" 1 3 4\nvoid f();\n# 9 "/usr/c.h" 1 3\nvoid g();\n'
    assert pruned(header, ["g"]).endswith('# 1 "/usr/c.h" 3\nvoid g();\n')


def test_structured_bindings_are_looked_up_by_the_compiler() -> None:
    header = "template <class T> struct tuple_size;\n"
    assert kept(header, "const") == ""
    assert "tuple_size" in kept(header, "auto")


def test_names_in_macros_are_said_by_who_uses_the_macro() -> None:
    macros = "#define BIG outer(1)\n#define outer(x) limit + x\n#define SMALL never\n"
    assert expanded(["BIG"], macros) == {"BIG", "outer", "limit", "x"}


def test_a_short_name_of_a_namespace_goes_without_those_who_say_it() -> None:
    declaration = "namespace fs = std::filesystem;"
    assert kept(declaration).strip() == ""
    assert kept(declaration, "fs").strip() == declaration


def test_what_says_something_that_is_left_out_goes_as_well() -> None:
    text = """
namespace lib { struct Base {}; int low(int); }
struct Own;
int abs(int);
using lib::low;
struct Own : lib::Base { int x; };
Own operator+(Own a, Own b);
int high(int a) { return low(a); }
int twice(int a) { return 2 * a; }
"""
    said = identifiers("abs high twice Own")
    left = "namespace lib { } struct Own; int abs(int); int twice(int a) { return 2 * a; }"
    assert pruned(text, said, frozenset()).split() == left.split()
    assert pruned(text, said, frozenset({"lib"})).split() == pruned(text, said).split()
