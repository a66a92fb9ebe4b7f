"""From CUDA text to what a C++ compiler reads: the little that macros cannot do."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, TypeAlias

from gi_cuda.backends.compile.lending import KERNEL, SYMBOL
from gi_cuda.backends.host.ptx import Unknown, translated
from gi_cuda.spec.kernel_names import identifier, reference

Change: TypeAlias = tuple[int, int, str]
"""A part of the text, by begin and end, and what comes in its place."""

PLAIN_UNROLL: Final = 16
"""How far ``#pragma unroll`` without a number goes; the device's compiler unrolls fully."""

_MOST_UNROLL: Final = 65534

_PRAGMA: Final = re.compile(r"[ \t]*\#[ \t]*pragma[ \t]+unroll\b([^\n]*)")
_MARKED_UNROLL: Final = re.compile(r"gi_unroll\s*\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)")
_NUMBER: Final = re.compile(r"[(\s]*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*[)\s]*(?://.*|/\*.*)?")
# White space, comments, other directives: what may stand between a pragma and its loop.
_GAP: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)*", re.DOTALL)
_LOOP: Final = re.compile(r"(?:for|while|do)\b")

_LINKAGE: Final = re.compile(r'extern\s*"C"\s*(\{)?')
_DECLARATION: Final = re.compile(r"(?:__shared__\b[\w\s]*)?\bextern\b[^;{}\"]*;")
_SHARED_BEFORE: Final = re.compile(r"\b__shared__\b[\w\s]*\Z")
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
# What a line may hold that only looks like code.
_NOT_CODE: Final = re.compile(
    r"""//.* | /\*.*?(?:\*/|$)
    | R"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)"
    | "(?:\\.|[^"\\])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\])*'
    """,
    re.VERBOSE,
)


def mark_unrolls(text: str) -> str:
    """``#pragma unroll N`` as ``gi_unroll(N)``, for text that is yet to be preprocessed.

    A preprocessor leaves the pragma's number alone, and in CUDA it may be a macro. :func:`prepare`
    knows the marked form too.
    """
    return changed(text, "unroll", _marked)


def prepare(text: str) -> str:
    """Rewrites preprocessed CUDA device code into C++ for ``gi_cuda_host.hpp``.

    Lines stay where they are. ``extern __shared__`` arrays become pointers to the launch's dynamic
    shared memory, ``#pragma unroll`` what the compiler understands (directly before a loop, else it
    goes), launch bounds of a definition become what refuses larger blocks where its body begins,
    ``extern "C"`` goes since every variant has functions of the same name, and inline PTX becomes
    C++, or an error that says what is not known of it.
    """
    text = changed(text, "unroll", _unroll)
    text = changed(text, "extern", _extern)
    text = changed(text, "static", _static)
    text = changed(text, "__launch_bounds__", _bounds)
    return with_ptx(text)


def with_ptx(text: str) -> str:
    """Preprocessed device code with its inline PTX as C++, as :func:`prepare` has it."""
    return changed(text, "asm", _assembly)


def changed(text: str, word: str, change: Callable[[str, int], Change | None]) -> str:
    """The text with a change wherever the word stands and there is one to be made.

    Most texts have no such word, and looking for one costs next to nothing.
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
    """Where what the parenthesis or brace at this place opens has ended; the text's end if it does
    not."""
    depth = 0
    for match in _BRACKET.finditer(text, at):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _is_code(text: str, at: int) -> bool:
    """Whether a place is outside literals and comments, as far as its line tells."""
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
    # An expression of constants: how far to go is left to the compiler.
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
    # A reference to the runtime's own pointer: the memory is another one each launch.
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
    # Of several the last ones hold; those of a mere declaration are not kept for the definition.
    if begin is None or _BOUNDS.search(head):
        return at, end, _lines(text[at:end])
    threads = _first(_LINE_MARKER.sub("", text[match.end() : end - 1]))
    return at, begin, f"{_lines(text[at:end])}{head} GI_LAUNCH_BOUNDS({' '.join(threads.split())})"


def _body(text: str, at: int) -> int | None:
    """Where the body of the function begins, behind its brace, in whose head a place is; None where
    it is declared only."""
    while found := _BEFORE_BODY.search(text, at):
        if found[0] != "(":
            return found.end() if found[0] == "{" else None
        at = closing(text, found.start())
    return None


def _first(arguments: str) -> str:
    """The first argument; all of them, where a comma may belong to those of a template."""
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
    """The line that makes a kernel known as ``Shard.kernel(variant, name)``.

    Args:
        variant: the variant's namespace.
        name: what it is to be called.
        kernel: C++ expression within the namespace, e.g. ``blur<float, 3>``; by default the name.
    """
    return f"GI_EXPORT({variant}, {identifier(name)}, {variant}::{kernel or name})"


def export_symbol(variant: str, name: str, variable: str | None = None) -> str:
    """The line that makes a variable known as ``Shard.symbol(variant, name)``."""
    return f"GI_SYMBOL({variant}, {identifier(name)}, {variant}::{variable or name})"


def references(kernels: Sequence[str], symbols: Sequence[str] = ()) -> str:
    """What follows a variant's text, before preprocessing, to give its kernels plain names.

    There the variant's macros, types and namespaces are what the text says, so a kernel may be
    named with them: ``blur<Pixel, RADIUS>``. :func:`export_references` makes them known.
    """
    lines = [f"constexpr auto &{KERNEL}{i} = {reference(k)};" for i, k in enumerate(kernels)]
    lines += [f"auto &{SYMBOL}{i} = {name};" for i, name in enumerate(symbols)]
    return "\n".join(lines)


def export_references(
    variant: str, kernels: Sequence[str], symbols: Sequence[str], lent: Collection[str]
) -> str:
    """The lines, outside the variant, that export what :func:`references` named, but for what it
    is lent (see :class:`~gi_cuda.backends.protocol.variants.Phenotype`)."""
    lines = [f'# 1 "{variant}/export"']
    own = [(i, k) for i, k in enumerate(kernels) if identifier(k) not in lent]
    lines += [export(variant, kernel, f"{KERNEL}{i}") for i, kernel in own]
    own = [(i, s) for i, s in enumerate(symbols) if identifier(s) not in lent]
    lines += [export_symbol(variant, symbol, f"{SYMBOL}{i}") for i, symbol in own]
    return "\n".join([*lines, ""])


def variant_text(
    variant: str, text: str, kernels: Iterable[str] = (), symbols: Iterable[str] = ()
) -> str:
    """One variant of a batch: its (prepared) text in a namespace of its own, then its exports."""
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
