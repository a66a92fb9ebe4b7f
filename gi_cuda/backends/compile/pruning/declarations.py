"""Parse the declarations at namespace scope of a preprocessed C++ text, and the names they declare.

Such a text has no macros, so its brackets match, and begin and end of every declaration are
certain. Names are found in the common cases; declarations of other forms are marked as not
understood.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

_TOKEN = re.compile(
    r"""(?!(?:u8|[uUL])?R?["'])[A-Za-z_$][\w$]*
      | [(){}[\];,*&]
      | ^[ \t]*\#[^\n]*\n?
      | (?:u8|[uUL])?R"(?P<fence>[^()\\\s"]{0,16})\(.*?\)(?P=fence)"
      | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+'
      | //[^\n]* | /\*.*?\*/
      | \.?[0-9](?:[eEpP][+-]|'?[\w.])*
      | :: | -> | <=>? | >= | == | != | << | \S
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
WORD = re.compile(r"[A-Za-z_$][\w$]*")
_STATE = re.compile(
    r"[ \t]*#[ \t]*(?!pragma\b)|[ \t]*#[ \t]*pragma[ \t]+"
    r"(?:GCC|clang|nv_diag\w*|diag_\w*|pack|message|warning|push_macro|pop_macro)\b"
)
"""A directive that affects all that follows, or nothing."""
_OF_ONE = re.compile(
    r"[ \t]*#[ \t]*pragma[ \t]+(?:(?:nv_)?(?:exec_check|hd_warning)_disable|unroll|nounroll)\b"
)
"""A pragma that belongs to the next declaration."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_CLOSED = frozenset(_CLOSING.values())

TYPE_KEYS = frozenset({"class", "struct", "union", "enum"})
_TAKING = """
    __attribute__ __attribute alignas decltype noexcept throw __asm__ __asm asm explicit __declspec
    __typeof__ __typeof typeof __launch_bounds__ __cluster_dims__ __maxnreg__ __block_size__
    __align__
"""
_WITH_ARGUMENT = frozenset(_TAKING.split())
"""Words whose parentheses hold no parameters."""
_OTHERS = """
    alignof auto bool break case catch char char8_t char16_t char32_t concept const consteval
    constexpr constinit const_cast continue default delete do double dynamic_cast else export extern
    false final float for friend goto if inline int long mutable namespace new nullptr operator
    override private protected public register reinterpret_cast requires return short signed sizeof
    static static_assert static_cast switch template this thread_local true try typedef typeid
    typename unsigned using virtual void volatile wchar_t while _Static_assert __extension__
    __inline __inline__ __restrict __restrict__ __const __volatile__ __signed__ __builtin_va_list
"""
KEYWORDS = TYPE_KEYS | _WITH_ARGUMENT | frozenset(_OTHERS.split())


@dataclass(slots=True)
class Tokens:
    """A preprocessed text in tokens.

    Attributes:
        words: the tokens.
        starts, ends: their positions in the text.
        closes: for each opening bracket's index, that of the closing bracket.
        directives: line markers and pragmas with their positions, except pragmas that belong to a
            declaration, which are tokens.
        unknown: positions of pragmas of neither kind.
    """

    words: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    closes: dict[int, int] = field(default_factory=dict)
    directives: list[tuple[int, str]] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)

    def directives_in(self, first: int, last: int) -> list[str]:
        """Return the directives between two positions, each on a line of its own."""
        begin, end = (bisect_left(self.directives, (place, "")) for place in (first, last))
        return [f"\n{line}" for _, line in self.directives[begin:end]]

    def unknown_in(self, first: int, last: int) -> bool:
        """Tell whether there is an unknown pragma between two positions."""
        return bisect_left(self.unknown, first) < bisect_left(self.unknown, last)

    def names(self, begin: int, end: int) -> set[str]:
        """Return the identifiers in a range of tokens."""
        return {word for word in self.words[begin:end] if WORD.match(word)} - KEYWORDS

    def after_angles(self, at: int, end: int) -> int | None:
        """Return the index of the token after a list in angle brackets; None if it has no end."""
        depth = 0
        while at < end:
            match self.words[at]:
                case "<":
                    depth += 1
                case ">":
                    depth -= 1
                    if depth == 0:
                        return at + 1
                case "(" | "[" | "{":
                    at = self.closes[at]
                case ";":
                    return None
            at += 1
        return None


def read(text: str) -> Tokens | None:
    """Split a preprocessed text into tokens; None if its brackets do not match."""
    tokens = Tokens()
    matches = []
    for match in _TOKEN.finditer(text):
        word = match[0]
        if "#" in word and word.lstrip()[0] == "#" and not _OF_ONE.match(word):
            tokens.directives.append((match.start(), word))
            if not _STATE.match(word):
                tokens.unknown.append(match.start())
        elif not word.startswith(("//", "/*")):
            matches.append(match)
    tokens.words = [match[0] for match in matches]
    tokens.starts = [match.start() for match in matches]
    tokens.ends = [match.end() for match in matches]
    open_: list[int] = []
    for at, word in enumerate(tokens.words):
        if word in _CLOSING:
            open_.append(at)
        elif word in _CLOSED:
            if not open_ or _CLOSING[tokens.words[open_[-1]]] != word:
                return None
            tokens.closes[open_.pop()] = at
    return None if open_ else tokens


read_once = lru_cache(maxsize=2)(read)
"""Cached :func:`read` for headers, which are the same text with most compiler options."""


@dataclass(slots=True)
class ScopeDeclaration:
    """A declaration at namespace scope, or a scope's opening, from ``begin`` to before ``end``.

    Attributes:
        head: indices of its tokens outside of brackets, with opening brackets, without attributes,
            template headers and template arguments.
        words: the tokens at these indices.
        aside: the names in its template headers and attributes.
        strange: whether it cannot be understood.
        scope: the named namespaces around it, ``a::b``.
    """

    begin: int
    end: int
    head: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    aside: set[str] = field(default_factory=set)
    strange: bool = False
    scope: str = ""

    @property
    def opens_scope(self) -> bool:
        """Tell whether it opens a namespace or a linkage block such as ``extern "C" {``."""
        *words, last = self.words
        words = [word for word in words if word != "inline"]
        linkage = words[:1] == ["extern"] and len(words) == 2 and words[1].startswith('"')
        return last == "{" and (words[:1] == ["namespace"] or linkage)

    @property
    def ends(self) -> bool:
        """Tell whether it is complete: at a semicolon, or after a function's body."""
        *words, last = self.words
        if last != "{" or not {"(", ":"} & set(words):
            return last == ";"
        if "=" in words or "try" in words:
            return False
        if ":" not in words:
            return True
        # A colon after parameters starts a constructor's initialisers, after a type's name, bases.
        return "(" in words[: words.index(":")] and words[-1] in ("(", "{")


_ACCESS = frozenset({"public", "protected", "private"})
_PLAIN = frozenset({"operator", "=", "(", ":"})
"""Tokens after which ``<`` need not begin template arguments."""


def declarations(tokens: Tokens) -> Iterator[ScopeDeclaration]:
    """Yield the declarations of a text and of the namespaces in it."""
    return _declarations(tokens, 0, len(tokens.words), "")


def members(tokens: Tokens, opening: int) -> Iterator[ScopeDeclaration]:
    """Yield the declarations between a type's braces, the first of which has index ``opening``."""
    at, end = opening + 1, tokens.closes[opening]
    while at < end:
        if tokens.words[at] in _ACCESS and tokens.words[at + 1] == ":":
            at += 2
            continue
        item = _next(tokens, at, end)
        at = item.end
        yield item


def _declarations(tokens: Tokens, at: int, end: int, scope: str) -> Iterator[ScopeDeclaration]:
    while at < end:
        item = _next(tokens, at, end)
        item.scope = scope
        at = item.end
        if item.opens_scope:
            brace = item.head[-1]
            named = [] if "inline" in item.words else [w for w in item.words if w.isidentifier()]
            inside = "::".join([*([scope] if scope else []), *named[1:]])
            yield from _declarations(tokens, brace + 1, tokens.closes[brace], inside)
        else:
            yield item


def _next(tokens: Tokens, begin: int, end: int) -> ScopeDeclaration:
    item = ScopeDeclaration(begin, begin)
    at = begin
    while at < end:
        word = tokens.words[at]
        follows = tokens.words[at + 1] if at + 1 < end else ""
        if (word in _WITH_ARGUMENT and follows == "(") or word == follows == "[":
            after = tokens.closes[at + (word != "[")] + 1
            if word.startswith("__attr"):
                item.aside |= tokens.names(at, after)
            at = after
            continue
        if word == "__extension__" or "#" in word:
            at += 1
            continue
        header = word == "template" and follows == "<"
        if header or (word == "<" and not _PLAIN & set(item.words)):
            behind = tokens.after_angles(at + header, end)
            if behind is not None:
                if header:
                    item.aside |= tokens.names(at, behind)
                at = behind
                continue
            item.strange = True
        item.head.append(at)
        item.words.append(word)
        at = tokens.closes.get(at, at) + 1
        if word == "operator":
            at = _after_operator(tokens, at, end)
        if item.ends or item.opens_scope:
            break
    item.end = at
    item.strange |= not item.words
    return item


def _after_operator(tokens: Tokens, at: int, end: int) -> int:
    """Return the index of an operator's parameters, after its name."""
    if tokens.words[at : at + 1] == ["("]:
        at = tokens.closes[at] + 1
    while at < end and tokens.words[at] not in ("(", ";", "{"):
        at += 1
    return at


def keys_of(tokens: Tokens, item: ScopeDeclaration) -> set[str]:
    """Return the names by which a declaration is used; none if it must always be kept."""
    words = item.words
    if item.strange or words[0] in ("static_assert", "_Static_assert"):
        return set()
    if words[0] == "namespace":
        # ``namespace short = a::longer;`` is needed only where ``short`` is used.
        return _names(words[1:2]) if words[2:3] == ["="] else set()
    if "typedef" in words:
        return _named_outside(tokens, item)
    if words[0] == "using":
        return _using(tokens, item)
    if "operator" in words:
        return _operands(tokens, item)
    signs = [word for word in words if word in ("(", "=", ":")]
    if signs[:1] == ["("]:
        return _function(tokens, item)
    if TYPE_KEYS & set(words):
        return _type(tokens, item)
    return _variable(tokens, item)


def _named_outside(tokens: Tokens, item: ScopeDeclaration) -> set[str]:
    """Return all names except in braces and template arguments; of an enumeration, all."""
    if "enum" in item.words:
        return tokens.names(item.begin, item.end) - item.aside
    names: set[str] = set()
    at = item.begin
    while at < item.end:
        word = tokens.words[at]
        behind = tokens.after_angles(at, item.end) if word == "<" else None
        if behind is not None:
            at = behind
        elif word == "{":
            at = tokens.closes[at]
        else:
            names |= tokens.names(at, at + 1)
            at += 1
    return names - item.aside


def _using(tokens: Tokens, item: ScopeDeclaration) -> set[str]:
    words = item.words
    if words[2:3] == ["="]:
        # An alias and its type lead to each other, so that a use of one reaches the operators on
        # the other.
        template = tokens.words[item.begin] == "template"
        return _names(words[1:2]) if template else _named_outside(tokens, item)
    return set() if {"namespace", "enum", ","} & set(words) else _names(words[-2:-1])


def _operands(tokens: Tokens, item: ScopeDeclaration) -> set[str]:
    at = item.words.index("operator")
    symbol = tokens.words[item.head[at] + 1]
    # Allocation operators and literal suffixes need no operand with a name.
    if item.words[at + 1 : at + 2] != ["("] or symbol in ("new", "delete") or '"' in symbol:
        return set()
    opening = item.head[at + 1]
    keys: set[str] = set()
    for begin, end in _arguments(tokens, opening):
        names = tokens.names(begin, end) - _members(tokens.words[begin:end])
        if end - begin > 1 and tokens.words[end - 2] not in _BEFORE_TYPE:
            names.discard(tokens.words[end - 1])  # The parameter's name.
        keys |= names
    if item.words[at - 1] == "::":
        keys |= _names(item.words[:at])
    return keys - item.aside


_BEFORE_TYPE = TYPE_KEYS | {"::", "const", "volatile", "typename"}


def _members(words: list[str]) -> set[str]:
    """Return names of members of template instances. The template's own name is a key, too."""
    return {
        c for a, b, c in zip(words, words[1:], words[2:], strict=False) if (a, b) == (">", "::")
    }


def _arguments(tokens: Tokens, opening: int) -> Iterator[tuple[int, int]]:
    """Yield the token ranges between the commas in parentheses."""
    begin = at = opening + 1
    while at < tokens.closes[opening]:
        if tokens.words[at] == ",":
            yield begin, at
            begin = at + 1
        at = tokens.closes.get(at, at) + 1
    if begin < at:
        yield begin, at


def _type(tokens: Tokens, item: ScopeDeclaration) -> set[str]:
    words = item.words
    body = words.index("{") if "{" in words else len(words)
    base = words.index(":") if ":" in words[:body] else body
    keys = _names([*words[:base], *words[body:]])
    if "enum" in words and body < len(words):
        opening = item.head[body]
        keys |= tokens.names(opening, tokens.closes[opening])
    return keys


def _function(tokens: Tokens, item: ScopeDeclaration) -> set[str]:
    words = item.words
    at = words.index("(")
    end = next((i for i, word in enumerate(words) if word in ("->", ":")), len(words))
    behind = words[at + 1 : end]
    if at + (end < len(words)) < 2 or {"(", ","} & set(behind) or "{" in behind[:-1]:
        return set()
    if tokens.words[item.head[at] + 1] in ("*", "&", "^"):
        return set()
    return _declared(words[:at])


def _variable(tokens: Tokens, item: ScopeDeclaration) -> set[str]:
    keys: set[str] = set()
    begin, least = 0, 2
    for comma in [*(i for i, word in enumerate(item.words) if word == ","), len(item.words)]:
        words = item.words[begin:comma]
        at = next((i for i, w in enumerate(words) if w in ("=", "{", "[", ";", "(")), len(words))
        if at < least or not (found := _declared(words[:at])):
            return set()
        keys |= found
        begin, least = comma + 1, 1
    return keys


def _declared(words: list[str]) -> set[str]:
    """Return the last name; all names if it is qualified, since it may be a member."""
    return _names(words if words[-2:-1] == ["::"] else words[-1:])


def _names(words: Iterable[str]) -> set[str]:
    return {word for word in words if WORD.match(word)} - KEYWORDS
