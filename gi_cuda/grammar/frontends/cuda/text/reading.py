"""Prepare a source for the parser: blank out text that would mislead it, and keep all offsets.

Comments become white space, and so do directives except conditionals and includes. If a conditional
chain cuts through a construct (half a statement, an opening brace, a signature), its directives
and all branches but the one compiled by default become white space too; the blanked branches stay
fixed text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gi_cuda.grammar.presence import TOKENS, Directive, Presence

_VISIBLE = re.compile(r"[^\s]")
_UNKNOWN = re.compile(
    r"\b__restrict\b(?=[^_(])"
    r"|\b__(?:align|cluster_dims|maxnreg|block_size)__\s*\((?:[^()]|\([^()]*\))*\)"
)
"""Compiler keywords that the parser would take for names; it does not need them."""

_ARGUMENTS = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_ATTRIBUTES = re.compile(
    rf"\b(?!__)[A-Za-z_]\w*\s*{_ARGUMENTS}(?=\s*(?:static\s+|inline\s+)*__global__\b)"
    rf"|(?<=\b__global__)\s+(?!__)[A-Za-z_]\w*\s*{_ARGUMENTS}(?=\s*(?:static\s+|inline\s+)*void\b)"
    rf"|(?P<head>\b__global__\s+(?:static\s+|inline\s+)*void\s+)(?P<name>(?!__[a-z])[A-Za-z_]\w*"
    rf"(?:\s*{_ARGUMENTS})?)(?=\s+[A-Za-z_]\w*\s*(?:<[^<>();]*>\s*)?\()"
)
"""Macros in heads of kernels, for example for `__launch_bounds__`."""

_QUALIFIER = re.compile(
    r"(?<=[\w>])\s*\*\s*(?P<name>(?!(?:const|volatile|new|not|compl|sizeof|alignof)\b)(?!__)[A-Za-z_]\w*)"
    r"(?=\s+(?!(?:and|or|xor|bitand|bitor|not_eq)\b)[A-Za-z_]\w*\s*(?:\[[^][]*\]\s*)?[,)])"
)
"""A macro between the star and the name of a parameter, for example for `__restrict__`.

It cannot be an operand, because there is no operator between two names.
"""

_ELSE = re.compile(r"\s*else\b")
_CALL_AT_MARGIN = re.compile(r"^(?P<name>[^\W\d]\w*)[ \t]*\([^()\n]*\)[ \t]*$", re.MULTILINE)
_CALL_ALONE = re.compile(r"^[ \t]*(?P<name>[^\W\d]\w*)\b", re.MULTILINE)
_TURNS_BLOCK = re.compile(r"[{}]|^\s*else\s*$|:\s*$")
_BRACKETS = re.compile(r"[()\[\]{}]")
_BRACES = re.compile(r"[{}]")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_CONDITIONAL = frozenset({"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"})

Span = tuple[int, int]


class Hidden(NamedTuple):
    """A span of code that is hidden from the parser.

    Attributes:
        start, end: the span.
        shown: span that contains the visible alternative; names declared in both are the same.
        until: latest end of the scope of names that the hidden code may declare.
    """

    start: int
    end: int
    shown: Span
    until: int


@dataclass(frozen=True, slots=True)
class ParserView:
    """A source as the parser sees it.

    Attributes:
        code: the text to parse, as long as the source.
        bare: the source without comments, directives and literals, as long as the source.
        hidden: conditional branches, and calls of macros that open or close a block, which are
            hidden from the parser.
        exposed: starts of statements that some configuration may put under an ``if`` or ``else``
            of a hidden branch.
    """

    code: str
    bare: str
    hidden: tuple[Hidden, ...]
    exposed: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Chain:
    """An ``#if`` with all its branches; ``regions`` has the presence region of each branch."""

    directives: tuple[Directive, ...]
    regions: tuple[int, ...]

    def branches(self) -> Iterator[tuple[int, int, int]]:
        """Yield region, start and end of each branch."""
        for k, region in enumerate(self.regions):
            yield region, self.directives[k].end, self.directives[k + 1].start


_SPACE_BEHIND_INCLUDE = re.compile(
    r"^(?P<include>[ \t]*#[ \t]*include\b[^\n]*[>\"])(?P<space>[ \t]+)(?=\r?$)", re.M
)
"""An include line with trailing space, which the parser would take for part of the file's name."""


def read(text: str, presence: Presence) -> ParserView:
    """Prepare a source for the parser."""
    code = _UNKNOWN.sub(lambda match: _blank(match[0]), TOKENS.sub(_shown, text))
    code = _SPACE_BEHIND_INCLUDE.sub(r"\g<space>\g<include>", code)
    bare = bare_text(text)
    blank: list[Span] = [*_definitions_by_macro(bare, presence), *_attributes(bare)]
    active = presence.active({})
    hidden: list[Hidden] = []
    exposed = set()
    for chain in _chains(presence.directives):
        first, last = chain.directives[0], chain.directives[-1]
        if any(one.start <= first.start < one.end for one in hidden) or _is_whole(chain, bare):
            continue
        blank += [(directive.start, directive.end) for directive in chain.directives]
        kept = next((region for region in chain.regions if active[region]), None)
        hidden += [
            Hidden(start, end, (first.start, last.end), len(text))
            for region, start, end in chain.branches()
            if region != kept
        ]
        after = _VISIBLE.search(bare, last.end)
        if after is not None:
            exposed.add(after.start())
    blocks = list(_blocks_by_macro(bare, presence))
    code = _blanked(code, blank + [(one.start, one.end) for one in hidden + blocks])
    for one in blocks:
        code = f"{code[: one.start]};{code[one.start + 1 :]}"
    return ParserView(code, bare, tuple(hidden + blocks), frozenset(exposed))


def _attributes(bare: str) -> Iterator[Span]:
    """Yield the spans of macros in the heads of kernels, and in their parameters."""
    for match in _ATTRIBUTES.finditer(bare):
        yield match.span("name") if match["name"] else match.span()
    for match in _QUALIFIER.finditer(bare):
        yield match.span("name")


def _definitions_by_macro(bare: str, presence: Presence) -> list[Span]:
    """Return unindented lines that call a macro for a whole definition, without a semicolon.

    The parser would take such a line for the start of the following construct.
    """
    names = {macro.name for macro in presence.macros() if macro.parameters and "{" in macro.body}
    if not names:
        return []
    return [match.span() for match in _CALL_AT_MARGIN.finditer(bare) if match["name"] in names]


def _blocks_by_macro(bare: str, presence: Presence) -> Iterator[Hidden]:
    """Yield lines with a macro call that opens, closes or continues a block (``else``).

    No semicolon follows the call, so the parser would take it for the start of the next construct.
    """
    names = {macro.name for macro in presence.macros() if _TURNS_BLOCK.search(macro.body)}
    names -= {
        macro.name for macro in presence.macros() if is_balanced(macro.body) and "{" in macro.body
    }
    if not names:
        return
    found = [match for match in _CALL_ALONE.finditer(bare) if match["name"] in names]
    ends = [match.start("name") for match in found[1:]] + [len(bare)]
    for match, until in zip(found, ends, strict=False):
        start, end = match.start("name"), match.end("name")
        if bare[end : end + 1] == "(" or bare[end:].lstrip(" ")[:1] == "(":
            end = _closing(bare, bare.index("(", end))
        if bare[end:].lstrip()[:1] not in (";", ""):
            yield Hidden(start, end, (start, start), until)


def block_end(bare: str, at: int) -> int:
    """Return the offset behind the brace that closes the one at ``at``, or the text's end."""
    depth = 0
    for match in _BRACES.finditer(bare, at):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    return len(bare)


def _closing(bare: str, at: int) -> int:
    """Return the offset behind the parenthesis that closes the one at ``at``.

    Return ``at`` if no parenthesis closes it within 500 characters.
    """
    depth = 0
    for k in range(at, min(len(bare), at + 500)):
        depth += (bare[k] == "(") - (bare[k] == ")")
        if depth == 0:
            return k + 1
    return at


def _shown(match: re.Match[str]) -> str:
    token = match[0]
    word = match["word"]
    if word is None:
        return _blank(token) if token.startswith("/") else token
    return token if word in _CONDITIONAL or word == "include" else _blank(token)


_INDICES = {
    "thread_index": "threadIdx",
    "group_index": "blockIdx",
    "block_index": "blockIdx",
    "dim_threads": "blockDim",
    "group_dim": "blockDim",
}
_GROUP_INDEX = re.compile(
    rf"(?:\w+\s*::\s*)*\w+(?:\s*\(\s*\))?\s*\.\s*({'|'.join(_INDICES)})\s*\(\s*\)"
)
"""An index or a size of a cooperative group: ``cg::this_thread_block().thread_index()``."""


def built_in_indices(text: str) -> str:
    """Replace indices of cooperative groups by built-in variables.

    Example: ``block.thread_index().y`` becomes ``threadIdx.y``.
    """
    return _GROUP_INDEX.sub(lambda found: _INDICES[found[1]], text)


def bare_text(text: str) -> str:
    """Return a source without comments, directives and literals, with equal offsets."""
    return TOKENS.sub(_bare, text)


def _bare(match: re.Match[str]) -> str:
    token = match[0]
    literal = match["word"] is None and not token.startswith("/")
    return '"' * len(token) if literal and "\n" not in token else _blank(token)


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _blanked(text: str, spans: list[Span]) -> str:
    parts, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            start = max(start, at)
            parts += [text[at:start], _blank(text[start:end])]
            at = end
    parts.append(text[at:])
    return "".join(parts)


def _chains(directives: Sequence[Directive]) -> list[_Chain]:
    """Return the closed chains, outer before inner."""
    found: list[_Chain] = []
    stack: list[tuple[list[Directive], list[int]]] = []
    region = 0
    for directive in directives:
        if directive.word in ("if", "ifdef", "ifndef"):
            region += 1
            stack.append(([directive], [region]))
        elif directive.word in _CONDITIONAL and stack:
            stack[-1][0].append(directive)
            if directive.word == "endif":
                parts, regions = stack.pop()
                found.append(_Chain(tuple(parts), tuple(regions)))
            else:
                region += 1
                stack[-1][1].append(region)
    found.sort(key=lambda chain: chain.directives[0].start)
    return found


def _is_whole(chain: _Chain, bare: str) -> bool:
    """Tell whether a chain is between statements, and each branch consists of whole statements."""
    first, last = chain.directives[0], chain.directives[-1]
    before = len(bare[: first.start].rstrip())
    if before > 0 and bare[before - 1] not in ";{}:":
        return False
    if _ELSE.match(bare, last.end):
        return False
    return all(_is_sequence(bare[start:end].strip()) for _, start, end in chain.branches())


def _is_sequence(body: str) -> bool:
    return body == "" or (body[-1] in ";}:" and not _ELSE.match(body) and is_balanced(body))


def is_balanced(text: str) -> bool:
    """Tell whether the brackets of a text without comments and literals match."""
    stack: list[str] = []
    for match in _BRACKETS.finditer(text):
        bracket = match[0]
        if bracket in "([{":
            stack.append(bracket)
        elif not stack or stack.pop() != _PAIRS[bracket]:
            return False
    return not stack
