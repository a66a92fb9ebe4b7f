"""Rewrite CUDA text for a C++ compiler, as far as macros cannot do it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, TypeAlias

from gi_cuda.backends.compile.borrowed_kernels import KERNEL, SYMBOL
from gi_cuda.backends.host.ptx import Unknown, translated
from gi_cuda.spec.launching.kernel_names import identifier, reference

Change: TypeAlias = tuple[int, int, str]
"""A part of the text, by begin and end, and its replacement."""

PLAIN_UNROLL: Final = 16
"""Factor for ``#pragma unroll`` without a number; the device's compiler unrolls fully."""

_MOST_UNROLL: Final = 65534

_PRAGMA: Final = re.compile(r"[ \t]*\#[ \t]*pragma[ \t]+unroll\b([^\n]*)")
_MARKED_UNROLL: Final = re.compile(r"gi_unroll\s*\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)")
_NUMBER: Final = re.compile(r"[(\s]*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*[)\s]*(?://.*|/\*.*)?")
# White space, comments, other directives: text that may be between a pragma and its loop.
_GAP: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)*", re.DOTALL)
_LOOP: Final = re.compile(r"(?:for|while|do)\b")

_LINKAGE: Final = re.compile(r'extern\s*"C"\s*(\{)?')
_DECLARATION: Final = re.compile(r"(?:__shared__\b[\w\s]*)?\bextern\b[^;{}\"]*;")
_SHARED_BEFORE: Final = re.compile(r"\b__shared__\b[\w\s]*\Z")
# Dynamic shared memory is aligned sufficiently; aligned elements would be too far apart.
_DROPPED: Final = re.compile(
    r"""\b(?:extern\b|__shared__\b|(?:__align__|alignas|__attribute__)\s*
        \((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))""",
    re.VERBOSE,
)
_UNSIZED: Final = re.compile(
    r"\s*(?P<type>.*?[\s*&>)])\s*(?P<name>[A-Za-z_]\w*)\s*\[\s*\](?P<rest>(?:\s*\[[^\]]*\])*)\s*;\Z",
    re.DOTALL,
)
_STATIC_SHARED: Final = re.compile(r"\bstatic\s+(?=__shared__\b)|(?<=__shared__ )static\b")
_ASSEMBLY: Final = re.compile(
    r"(?:asm|__asm__|__asm)\b\s*(?:\b(?:volatile|__volatile__|inline)\b\s*)*\("
)
_BOUNDS: Final = re.compile(r"__launch_bounds__\s*\(")
_BEFORE_BODY: Final = re.compile(r"[({;]")
_LINE_MARKER: Final = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_BRACKET: Final = re.compile(r"""[(){}]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""")
_OPERAND: Final = re.compile(r"gi_operand_(\d+)")
_BARRIER: Final = re.compile(r'\s*""\s*:\s*:\s*:')
# Comments and literals, whose contents may look like code.
_NOT_CODE: Final = re.compile(
    r"""//.* | /\*.*?(?:\*/|$)
    | R"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)"
    | "(?:\\.|[^"\\])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\])*'
    """,
    re.VERBOSE,
)


def mark_unrolls(text: str) -> str:
    """Replace ``#pragma unroll N`` by ``gi_unroll(N)`` in text to be preprocessed.

    A preprocessor does not expand macros in the pragma, but CUDA allows them. :func:`prepare` knows
    the marked form too.
    """
    return changed(text, "unroll", _marked)


def prepare(text: str) -> str:
    """Rewrite preprocessed CUDA device code as C++ for ``gi_cuda_host.hpp``.

    Line numbers stay. ``extern __shared__`` arrays become pointers to the launch's dynamic shared
    memory. ``#pragma unroll`` becomes the compiler's pragma, directly before a loop, and is removed
    elsewhere. Launch bounds of a definition become a check at the begin of its body that refuses
    larger blocks. ``extern "C"`` is removed, since every variant has functions of the same name.
    Inline PTX becomes C++, or an error that names the instruction that is not known.
    """
    text = changed(text, "unroll", _unroll)
    text = changed(text, "extern", _extern)
    text = changed(text, "static", _static)
    text = changed(text, "__launch_bounds__", _bounds)
    return with_ptx(text)


def with_ptx(text: str) -> str:
    """Replace inline PTX in preprocessed device code by C++, as in :func:`prepare`."""
    return changed(text, "asm", _assembly)


def changed(text: str, word: str, change: Callable[[str, int], Change | None]) -> str:
    """Apply ``change`` at each occurrence of a word, where it returns a change.

    Most texts do not contain the word, and searching for it costs next to nothing.
    """
    pieces: list[str] = []
    done = 0
    at = text.find(word)
    while at >= 0:
        found = change(text, at)
        if found is not None and found[0] >= done:
            begin, end, replacement = found
            pieces += text[done:begin], replacement
            done = end
        at = text.find(word, max(done, at + len(word)))
    return "".join([*pieces, text[done:]]) if pieces else text


def closing(text: str, at: int) -> int:
    """Return the position after the bracket that closes the one at ``at``, or the text's end."""
    depth = 0
    for match in _BRACKET.finditer(text, at):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _is_code(text: str, at: int) -> bool:
    """Tell whether a position is outside literals and comments, as far as its line shows."""
    start = _line_start(text, at)
    end = text.find("\n", at)
    line = text[start : end if end >= 0 else len(text)]
    return not any(m.start() <= at - start < m.end() for m in _NOT_CODE.finditer(line))


def _word_start(text: str, at: int) -> int:
    while at and (text[at - 1] == "_" or text[at - 1].isalnum()):
        at -= 1
    return at


def _marked(text: str, at: int) -> Change | None:
    start = _line_start(text, at)
    match = _PRAGMA.match(text, start)
    if match is None:
        return None
    indent = match[0][: match[0].index("#")]
    return start, match.end(), f"{indent}gi_unroll({match[1].split('//')[0].strip()})"


def _unroll(text: str, at: int) -> Change | None:
    start = _line_start(text, at)
    match = _PRAGMA.match(text, start) or _MARKED_UNROLL.match(text, start := _word_start(text, at))
    if match is None:
        return None
    return start, match.end(), _unroll_pragma(match[1], text, match.end())


def _unroll_pragma(wanted: str, text: str, end: int) -> str:
    gap = _GAP.match(text, end)
    if gap is None or not _LOOP.match(text, gap.end()):
        return ""
    if not wanted.strip() or wanted.lstrip().startswith(("//", "/*")):
        return f'_Pragma("GCC unroll {PLAIN_UNROLL}")'
    number = _NUMBER.fullmatch(wanted)
    # For an expression of constants, the factor is left to the compiler.
    if number is None:
        return ""
    return f'_Pragma("GCC unroll {min(int(number[1], 0), _MOST_UNROLL)}")'


def _extern(text: str, at: int) -> Change | None:
    if _word_start(text, at) != at or not _is_code(text, at):
        return None
    if match := _LINKAGE.match(text, at):
        kept = "inline namespace gi_c {" if match[1] else ""
        return at, match.end(), _lines(match[0]) + kept
    before = _SHARED_BEFORE.search(text, max(0, at - 80), at)
    start = before.start() if before else at
    match = _DECLARATION.match(text, start)
    if match is None or "__shared__" not in match[0].split():
        return None
    declared = _UNSIZED.fullmatch(_DROPPED.sub(" ", match[0]))
    if declared is None:
        return None
    kind, name = f"gi_type_of_{declared['name']}", declared["name"]
    # A reference to the runtime's own pointer, since each launch has other memory.
    return (
        start,
        match.end(),
        f"typedef {declared['type']} {kind}{declared['rest']}; {kind} *const &{name} = "
        f"reinterpret_cast<{kind} *const &>(gi_dynamic_shared);",
    )


def _static(text: str, at: int) -> Change | None:
    match = _STATIC_SHARED.match(text, at)
    return (at, match.end(), _lines(match[0])) if match else None


def _bounds(text: str, at: int) -> Change | None:
    match = _BOUNDS.match(text, at)
    if match is None or _word_start(text, at) != at or not _is_code(text, at):
        return None
    end = closing(text, match.end() - 1)
    begin = _body(text, end)
    head = "" if begin is None else text[end:begin]
    # The last of several bounds hold. Bounds of a mere declaration do not apply to the definition.
    if begin is None or _BOUNDS.search(head):
        return at, end, _lines(text[at:end])
    threads = _first(_LINE_MARKER.sub("", text[match.end() : end - 1]))
    return at, begin, f"{_lines(text[at:end])}{head} GI_LAUNCH_BOUNDS({' '.join(threads.split())})"


def _body(text: str, at: int) -> int | None:
    """Return the position after a function body's opening brace; None for a declaration.

    Args:
        at: a position in the function's head.
    """
    while found := _BEFORE_BODY.search(text, at):
        if found[0] != "(":
            return found.end() if found[0] == "{" else None
        at = closing(text, found.start())
    return None


def _first(arguments: str) -> str:
    """Return the first argument; all arguments if a comma may belong to template arguments."""
    depth = 0
    for at, char in enumerate("" if "<" in arguments else arguments):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            return arguments[:at]
    return arguments


def _assembly(text: str, at: int) -> Change | None:
    start = _word_start(text, at)
    match = _ASSEMBLY.match(text, start)
    if match is None or not _is_code(text, start):
        return None
    end = closing(text, match.end() - 1)
    if _BARRIER.match(text, match.end()):
        return None
    try:
        done = translated(text[match.end() : end - 1])
    except Unknown as unknown:
        said = _OPERAND.sub(r"%\1", str(unknown)).replace("\\", "").replace('"', "'")
        quoted = " ".join(said.split())
        done = f'static_assert(false, "the host backend does not know this PTX: {quoted}")'
    return start, end, done + _lines(text[start:end])


def _lines(text: str) -> str:
    return "\n" * text.count("\n")


def export(variant: str, name: str, kernel: str | None = None) -> str:
    """Return the line that makes a kernel available as ``Shard.kernel(variant, name)``.

    Args:
        variant: the variant's namespace.
        name: the exported name.
        kernel: C++ expression within the namespace, e.g. ``blur<float, 3>``; by default the name.
    """
    return f"GI_EXPORT({variant}, {identifier(name)}, {variant}::{kernel or name})"


def export_symbol(variant: str, name: str, variable: str | None = None) -> str:
    """Return the line that makes a variable available as ``Shard.symbol(variant, name)``."""
    return f"GI_SYMBOL({variant}, {identifier(name)}, {variant}::{variable or name})"


def references(kernels: Sequence[str], symbols: Sequence[str] = ()) -> str:
    """Return text after a variant, before preprocessing, that gives its kernels plain names.

    The variant's macros, types and namespaces are known there, so a kernel's name may use them:
    ``blur<Pixel, RADIUS>``. :func:`export_references` exports the plain names.
    """
    lines = [f"constexpr auto &{KERNEL}{i} = {reference(k)};" for i, k in enumerate(kernels)]
    lines += [f"auto &{SYMBOL}{i} = {name};" for i, name in enumerate(symbols)]
    return "\n".join(lines)


def export_references(
    variant: str, kernels: Sequence[str], symbols: Sequence[str], lent: Collection[str]
) -> str:
    """Return the lines, outside the variant, that export the names of :func:`references`.

    Lent kernels and variables are left out (see
    :class:`~gi_cuda.backends.protocol.variants.Phenotype`).
    """
    lines = [f'# 1 "{variant}/export"']
    own = [(i, k) for i, k in enumerate(kernels) if identifier(k) not in lent]
    lines += [export(variant, kernel, f"{KERNEL}{i}") for i, kernel in own]
    own = [(i, s) for i, s in enumerate(symbols) if identifier(s) not in lent]
    lines += [export_symbol(variant, symbol, f"{SYMBOL}{i}") for i, symbol in own]
    return "\n".join([*lines, ""])


def variant_text(
    variant: str, text: str, kernels: Iterable[str] = (), symbols: Iterable[str] = ()
) -> str:
    """Return a variant's (prepared) text in a namespace of its own, then its exports."""
    return "\n".join(
        [
            "#define __shared__ GI_SHARED",
            f"namespace {{ namespace {variant} {{",
            text,
            "}}",
            "#undef __shared__",
            *(export(variant, kernel) for kernel in kernels),
            *(export_symbol(variant, symbol) for symbol in symbols),
            "",
        ]
    )
