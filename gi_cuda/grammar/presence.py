"""Presence conditions: the parts of a source that a configuration compiles.

Directives are read line by line, apart from the syntax tree, because `#if` may cut through any
construct. The text between two conditional directives belongs to one *region*; regions nest as the
directives do. Region 0 is the unconditional text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gi_cuda.errors import UserError

TOKENS = re.compile(
    r"""//(?:\\\r?\n|[^\n])*
      | /\*.*?(?:\*/|\Z)
      | R"(?P<tag>[^()\\\s"]{0,16})\(.*?\)(?P=tag)"
      | "(?:\\.|[^"\\\n])*"?
      | '(?:\\.|[^'\\\n]){1,6}'
      | ^[ \t]*\#[ \t]*(?P<word>[a-z_]*)
        (?P<rest>(?:\\\r?\n|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|(?!//)[^\n])*)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
"""The tokens needed to find directives: comments, literals and the directives themselves."""
_DEFINE = re.compile(r"\s*(?P<name>[^\W\d]\w*)(?P<parameters>\([^)]*\))?(?P<body>.*)", re.DOTALL)
_WORD = re.compile(r"[^\W\d]\w*")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(?P<a>\w+)\s*\)|(?P<b>\w+))")
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)
_LITERAL_OR_COMMENT = re.compile(r'(?P<literal>"(?:\\.|[^"\\])*")|//.*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_COMPILER = re.compile(r"__\w*|_[A-Z]\w*|CUDA_VERSION|CUDART_VERSION")
_OPENS = frozenset({"if", "ifdef", "ifndef"})
_TURNS = frozenset({"elif", "elifdef", "elifndef", "else"})
_NUMBER = re.compile(r"\b\d{1,9}\b")
_PROBES = (0, 1, 1_000_000)
ANY = "__any"
"""The value of a macro that may have any value, or be undefined."""


@dataclass(frozen=True, slots=True)
class Directive:
    """A preprocessor line: its word (``if``, ``define``, ...), the rest, span and region."""

    word: str
    rest: str
    start: int
    end: int
    region: int


@dataclass(frozen=True, slots=True)
class Macro:
    """A ``#define`` of the source: its parameters (None: object-like) and its body, without
    comments."""

    name: str
    parameters: tuple[str, ...] | None
    body: str
    directive: Directive

    @property
    def free_names(self) -> frozenset[str]:
        """The names that the body uses, without the parameters."""
        return frozenset(_WORD.findall(self.body)) - set(self.parameters or ())


@dataclass(frozen=True, slots=True)
class Presence:
    """The conditional structure of one source text."""

    directives: tuple[Directive, ...]
    parents: tuple[int, ...]
    _starts: tuple[int, ...] = field(repr=False)
    _regions: tuple[int, ...] = field(repr=False)
    _conditionals: tuple[Directive, ...] = field(repr=False)
    _conditional_starts: tuple[int, ...] = field(repr=False)

    def region(self, offset: int) -> int:
        """Return the region that contains the character at ``offset``."""
        return self._regions[bisect_right(self._starts, offset) - 1]

    def encloses(self, outer: int, inner: int) -> bool:
        """Tell whether region ``outer`` is region ``inner`` or contains it."""
        while inner > outer:
            inner = self.parents[inner]
        return inner == outer

    def conditions(self, region: int) -> tuple[Directive, ...]:
        """Return the directives that decide whether a region is compiled, the outermost first.

        For the region of an ``#else``, these include the earlier directives of its chain.
        """
        deciding: list[tuple[Directive, ...]] = [()]
        open_ones: list[list[Directive]] = []
        for directive in self._conditionals:
            if directive.word in _OPENS:
                open_ones.append([directive])
            elif not open_ones:
                continue
            elif directive.word in _TURNS:
                open_ones[-1].append(directive)
            else:
                open_ones.pop()
                continue
            deciding.append(tuple(one for chain in open_ones for one in chain))
        return deciding[region]

    def is_whole(self, start: int, end: int) -> bool:
        """Tell whether the conditional directives in a span are balanced."""
        first = bisect_left(self._conditional_starts, start)
        depth = 0
        for k in range(first, len(self._conditionals)):
            directive = self._conditionals[k]
            if directive.start >= end:
                break
            if directive.word in _OPENS:
                depth += 1
            elif depth == 0:
                return False
            elif directive.word == "endif":
                depth -= 1
        return depth == 0

    def macros(self) -> Iterator[Macro]:
        """Yield the macros that the source defines, in order."""
        for directive in self.directives:
            if directive.word == "define" and (macro := _macro(directive)) is not None:
                yield macro

    def is_guarded(self, macro: Macro) -> bool:
        """Tell whether an outside definition overrides a macro's own.

        It does if the macro is defined under ``#ifndef NAME`` or ``#if !defined(NAME)``.
        """
        region = macro.directive.region
        return any(
            directive.region == self.parents[region]
            and directive.start < macro.directive.start
            and (
                (directive.word == "ifndef" and directive.rest.split()[:1] == [macro.name])
                or re.search(rf"!\s*defined\s*\(?\s*{macro.name}\b", directive.rest)
            )
            for directive in self.directives
            if directive.word in ("if", "ifndef") and region
        )

    def unguarded(self) -> frozenset[str]:
        """Return the macros whose own definitions override definitions from outside."""
        macros = list(self.macros())
        guarded = {one.name for one in macros if self.is_guarded(one)}
        return frozenset(one.name for one in macros) - guarded

    def active(self, macros: Mapping[str, str], in_place: Collection[str] = ()) -> tuple[bool, ...]:
        """Return, for each region, whether it is compiled when some macros are defined.

        The source's own ``#define`` and ``#undef`` lines take effect where they stand. A condition
        that cannot be evaluated counts as true, and so does its ``#else``. These are conditions
        with a macro of a compiler or header, a function-like macro, or a macro that is ``ANY``.

        Args:
            macros: macros that are defined before the source.
            in_place: names of macros whose value replaces the value in the source's ``#define``.
        """
        environment: dict[str, str | None] = dict(macros)
        active = [True] * len(self.parents)
        settled: list[bool] = []
        region = 0
        for directive in self.directives:
            word = directive.word
            if word in _OPENS:
                region += 1
                holds = _holds(word, directive.rest, environment)
                active[region] = active[directive.region] and holds is not False
                settled.append(holds is True)
            elif word in _TURNS and settled:
                region += 1
                holds = True if word == "else" else _holds(word[2:], directive.rest, environment)
                around = active[self.parents[region]]
                active[region] = around and not settled[-1] and holds is not False
                settled[-1] = settled[-1] or holds is True
            elif word == "endif" and settled:
                settled.pop()
            elif active[directive.region]:
                _remember(directive, environment)
                name = _WORD.search(directive.rest) if word == "define" else None
                if name is not None and name[0] in macros and name[0] in in_place:
                    environment[name[0]] = macros[name[0]]
        return tuple(active)


def read_presence(text: str) -> Presence:
    """Read the directives of a source text; unbalanced directives are tolerated."""
    directives: list[Directive] = []
    parents, starts, regions = [0], [0], [0]
    stack = [0]
    for match in TOKENS.finditer(text):
        word = match["word"]
        if word is None:
            continue
        here = stack[-1]
        opens = word in _OPENS
        turns = word in _TURNS and len(stack) > 1
        rest = match["rest"].replace("\\\r\n", " ").replace("\\\n", " ")
        directives.append(Directive(word, rest.rstrip("\r"), match.start(), match.end(), here))
        if opens or turns:
            parent = parents[stack.pop()] if turns else here
            parents.append(parent)
            stack.append(len(parents) - 1)
        elif word == "endif" and len(stack) > 1:
            stack.pop()
        else:
            continue
        starts.append(match.end())
        regions.append(stack[-1])
    conditionals = tuple(d for d in directives if d.word in _OPENS | _TURNS | {"endif"})
    return Presence(
        tuple(directives),
        tuple(parents),
        tuple(starts),
        tuple(regions),
        conditionals,
        tuple(d.start for d in conditionals),
    )


def _macro(directive: Directive) -> Macro | None:
    match = _DEFINE.match(directive.rest)
    if match is None:
        return None
    parameters = match["parameters"]
    names = None if parameters is None else tuple(_WORD.findall(parameters))
    body = _LITERAL_OR_COMMENT.sub(lambda found: found["literal"] or " ", match["body"])
    return Macro(match["name"], names, body.strip(), directive)


def _remember(directive: Directive, environment: dict[str, str | None]) -> None:
    """Apply a define or undef to the environment; a function-like macro's value is None."""
    match = _WORD.search(directive.rest)
    if match is not None and environment.get(match[0]) == ANY:
        return  # a guard around it may keep it out
    if directive.word == "define" and (macro := _macro(directive)) is not None:
        environment[macro.name] = macro.body if macro.parameters is None else None
    elif directive.word == "undef" and match is not None:
        environment.pop(match[0], None)


def _holds(word: str, rest: str, environment: Mapping[str, str | None]) -> bool | None:
    """Tell whether a directive's condition holds; None if that is unknown."""
    if word in ("ifdef", "ifndef", "def", "ndef"):
        match = _WORD.search(rest)
        if match is None:
            return None
        known = _is_defined(match[0], environment)
        return known if known is None or word in ("ifdef", "def") else not known
    unknown = False

    def defined(match: re.Match[str]) -> str:
        nonlocal unknown
        known = _is_defined(match["a"] or match["b"], environment)
        unknown = unknown or known is None
        return "__unknown_macro" if known is None else str(int(known))

    text = _expand(_DEFINED.sub(defined, _COMMENT.sub(" ", rest)), environment)
    if text is None:
        return None
    # An unknown value may equal a number that it is compared with, or be one more or less.
    compared = {int(n) + by for n in _NUMBER.findall(text) for by in (-1, 0, 1)}
    truths = {_truth(text, probe) for probe in (*_PROBES, *compared)}
    return truths.pop() if len(truths) == 1 else None


def _is_defined(name: str, environment: Mapping[str, str | None]) -> bool | None:
    if name in environment:
        return None if environment[name] == ANY else True
    return None if _COMPILER.fullmatch(name) else False


def _expand(text: str, environment: Mapping[str, str | None], depth: int = 0) -> str | None:
    """Expand object-like macros; None if a function-like macro occurs."""
    failed = False

    def body(match: re.Match[str]) -> str:
        nonlocal failed
        name = match[0]
        if name not in environment or depth > 20:
            return name
        value = environment[name]
        inner = None if value is None else _expand(value, environment, depth + 1)
        failed = failed or inner is None
        return inner or ""

    expanded = _WORD.sub(body, text)
    return None if failed else expanded


@lru_cache(maxsize=4096)
def _truth(text: str, unknown: int) -> bool | None:
    """Evaluate a condition with macros expanded; None if that fails.

    Args:
        unknown: the value to assume for names of the compiler.
    """
    from gi_cuda.spec import expression

    try:
        parsed = expression.parse(text)
        names = {name: _name_value(name, unknown) for name in parsed.names}
        return bool(parsed.evaluate(names))
    except (UserError, ArithmeticError, ValueError):
        return None


def _name_value(name: str, unknown: int) -> int:
    if _COMPILER.fullmatch(name):
        return unknown
    return 1 if name == "true" else 0


def spans_of(directives: Sequence[Directive], word: str, text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of all directives with one word, line ends included."""
    spans = []
    for directive in directives:
        if directive.word == word:
            newline = text.find("\n", directive.end)
            spans.append((directive.start, len(text) if newline < 0 else newline + 1))
    return tuple(spans)
