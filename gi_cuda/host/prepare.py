"""From CUDA text to what a C++ compiler reads: the little that macros cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

PLAIN_UNROLL: Final = 16
"""How far ``#pragma unroll`` without a number goes; the device's compiler unrolls fully."""

_MOST_UNROLL: Final = 65534

_PRAGMA: Final = re.compile(r"^([ \t]*)\#[ \t]*pragma[ \t]+unroll\b([^\n]*)", re.MULTILINE)
_MARKED_UNROLL: Final = re.compile(r"\bgi_unroll\s*\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)")
_NUMBER: Final = re.compile(r"[(\s]*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*[)\s]*(?://.*|/\*.*)?")
# White space, comments, other directives: what may stand between a pragma and its loop.
_GAP: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)*", re.DOTALL)
_LOOP: Final = re.compile(r"(?:for|while|do)\b")

# Constructs that need more than a pragma, and what only looks like them: literals and comments.
_SYMPTOM: Final = re.compile(
    r"\bextern\b|\basm\b|\b__asm|\bstatic\s+__shared__|\b__shared__\s+static\b"
)
_TOKEN: Final = re.compile(
    r"""
      //[^\n]* | /\*.*?\*/
    | R"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)"
    | (?P<linkage>\bextern\s*"C"\s*(?P<brace>\{)?)
    | "(?:\\.|[^"\\\n])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'
    | (?P<shared>\b(?:extern|static|__shared__)\b[^;{}"]*;)
    | (?P<assembly>\b(?:asm|__asm__|__asm)\b\s*(?:\b(?:volatile|__volatile__|inline)\b\s*)*\()
    """,
    re.DOTALL | re.VERBOSE,
)
_LITERAL: Final = re.compile(r'"(?:\\.|[^"\\\n])*"')
# Dynamic shared memory is aligned well enough as it is; aligned elements would lie too far apart.
_DROPPED: Final = re.compile(
    r"""\b(?:extern\b|__shared__\b|(?:__align__|alignas|__attribute__)\s*
        \((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))""",
    re.VERBOSE,
)
_UNSIZED: Final = re.compile(
    r"\s*(?P<type>.*?[\s*&>)])\s*(?P<name>[A-Za-z_]\w*)\s*\[\s*\](?P<rest>(?:\s*\[[^\]]*\])*)\s*;\Z",
    re.DOTALL,
)


def mark_unrolls(text: str) -> str:
    """``#pragma unroll N`` as ``gi_unroll(N)``, for text that is yet to be preprocessed.

    A preprocessor leaves the pragma's number alone, and in CUDA it may be a macro. :func:`prepare`
    knows the marked form too.
    """

    def mark(match: re.Match[str]) -> str:
        return f"{match[1]}gi_unroll({match[2].split('//')[0].strip()})"

    return _PRAGMA.sub(mark, text)


def prepare(text: str) -> str:
    """Rewrites preprocessed CUDA device code into C++ for ``gi_cuda_host.hpp``.

    Lines stay where they are. ``extern __shared__`` arrays become pointers to the launch's dynamic
    shared memory, ``#pragma unroll`` what the compiler understands (directly before a loop, else it
    goes), ``extern "C"`` goes since every variant has functions of the same name, and inline PTX
    becomes an error that says so.
    """
    if "unroll" in text:
        text = _MARKED_UNROLL.sub(_unroll, _PRAGMA.sub(_unroll, text))
    if _SYMPTOM.search(text) is None:
        return text
    pieces: list[str] = []
    done = 0
    while (match := _TOKEN.search(text, done)) is not None:
        pieces.append(text[done : match.start()])
        end = _closing(text, match.end()) if match["assembly"] else match.end()
        pieces.append(_rewritten(match, text[match.start() : end]))
        done = end
    pieces.append(text[done:])
    return "".join(pieces)


def _rewritten(match: re.Match[str], found: str) -> str:
    if match["assembly"]:
        return _assembly(found)
    if match["shared"]:
        return _shared(found)
    if match["linkage"]:
        return _lines(found) + ("inline namespace gi_c {" if match["brace"] else "")
    return found


def _unroll(match: re.Match[str]) -> str:
    text, end = match.string, match.end()
    gap = _GAP.match(text, end)
    if gap is None or not _LOOP.match(text, gap.end()):
        return ""
    wanted = match[match.re.groups]
    if not wanted.strip() or wanted.lstrip().startswith(("//", "/*")):
        return f'_Pragma("GCC unroll {PLAIN_UNROLL}")'
    number = _NUMBER.fullmatch(wanted)
    # An expression of constants: how far to go is left to the compiler.
    if number is None:
        return ""
    return f'_Pragma("GCC unroll {min(int(number[1], 0), _MOST_UNROLL)}")'


def _shared(declaration: str) -> str:
    words = declaration.split()
    if "__shared__" not in words:
        return declaration
    if "extern" not in words:
        return re.sub(r"\bstatic\b", "", declaration)
    match = _UNSIZED.fullmatch(_DROPPED.sub(" ", declaration))
    if match is None:
        return declaration
    kind, name = f"gi_type_of_{match['name']}", match["name"]
    # A reference to the runtime's own pointer: the memory is another one each launch.
    return (
        f"typedef {match['type']} {kind}{match['rest']}; {kind} *const &{name} = "
        f"reinterpret_cast<{kind} *const &>(gi_dynamic_shared);"
    )


def _assembly(statement: str) -> str:
    template = "".join(part[1:-1] for part in _LITERAL.findall(statement.split(":")[0]))
    if not template.strip():
        return statement  # a compiler barrier
    what = template.replace("\\n", " ").replace("\\t", " ").split(";")[0].strip()
    quoted = what.replace("\\", "").replace('"', "'")
    return f'static_assert(false, "the host backend has no inline PTX: {quoted}")' + _lines(
        statement
    )


def _closing(text: str, at: int) -> int:
    """Position behind the parenthesis that closes the one before ``at``."""
    depth = 1
    while depth and at < len(text):
        if text[at] == '"' and (literal := _LITERAL.match(text, at)):
            at = literal.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def _lines(text: str) -> str:
    return "\n" * text.count("\n")


def export(variant: str, name: str, kernel: str | None = None) -> str:
    """The line that makes a kernel known as ``Shard.kernel(variant, name)``.

    Args:
        variant: the variant's namespace.
        name: what it is to be called.
        kernel: C++ expression within the namespace, e.g. ``blur<float, 3>``; by default the name.
    """
    return f"GI_EXPORT({variant}, {name}, {variant}::{kernel or name})"


def export_symbol(variant: str, name: str) -> str:
    """The line that makes a variable known as ``Shard.symbol(variant, name)``."""
    return f"GI_SYMBOL({variant}, {name}, {variant}::{name})"


def variant_text(
    variant: str, text: str, kernels: Iterable[str], symbols: Iterable[str] = ()
) -> str:
    """One variant of a batch: its (prepared) text in a namespace of its own, then its exports."""
    return "\n".join(
        [
            f"#define __shared__ GI_SHARED({variant})",
            f"namespace {{ namespace {variant} {{",
            text,
            "}}",
            "#undef __shared__",
            *(export(variant, kernel) for kernel in kernels),
            *(export_symbol(variant, symbol) for symbol in symbols),
            "",
        ]
    )
