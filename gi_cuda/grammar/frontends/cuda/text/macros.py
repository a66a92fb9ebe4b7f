"""Effects of a source's own macros on the code that uses them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.reading import is_balanced
from gi_cuda.grammar.frontends.cuda.text.syntax import parse
from gi_cuda.grammar.presence import Macro

_JUMPS = re.compile(r"\b(?:return|break|continue|goto|case|default|else)\b")
_ASSIGNS = re.compile(r"(?<![=!<>])=(?!=)|\+\+|--|<<=|>>=")
_STATEMENTS = re.compile(r"[;{}]")
_WORD = re.compile(r"[^\W\d]\w*")
_LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'')


@dataclass(frozen=True, slots=True)
class Macros:
    """The macros of one source.

    Attributes:
        names: for each macro, every name that its expansion may use, without itself.
        opaque: macros that declare, jump, or have unbalanced brackets; code that uses them is not
            edited.
        assigning: macros that may assign to their arguments.
    """

    names: Mapping[str, frozenset[str]]
    opaque: frozenset[str]
    assigning: frozenset[str]

    def opaque_in(self, text: str) -> bool:
        """Tell whether a text uses an opaque macro."""
        return bool(self.opaque) and self.opaque_word(text) is not None

    def opaque_word(self, text: str) -> str | None:
        """Return the first opaque macro that a text uses; None if there is none."""
        return next((word for word in _WORD.findall(text) if word in self.opaque), None)


def study(macros: Iterable[Macro]) -> Macros:
    """Determine the names and effects of each macro, over all its definitions."""
    direct: dict[str, set[str]] = {}
    opaque, assigning = set(), set()
    for macro in macros:
        direct.setdefault(macro.name, set()).update(macro.free_names)
        if _is_opaque(macro.body):
            opaque.add(macro.name)
        if _ASSIGNS.search(macro.body):
            assigning.add(macro.name)
    names = {name: _closure(name, direct) for name in direct}
    return Macros(
        names,
        frozenset(name for name, used in names.items() if name in opaque or used & opaque),
        frozenset(name for name, used in names.items() if name in assigning or used & assigning),
    )


def _closure(name: str, direct: Mapping[str, set[str]]) -> frozenset[str]:
    found: set[str] = set()
    frontier = [name]
    while frontier:
        for word in direct.get(frontier.pop(), ()):
            if word not in found:
                found.add(word)
                frontier.append(word)
    return frozenset(found - {name})


def _is_opaque(body: str) -> bool:
    bare = _LITERAL.sub('""', body)
    if "#" in bare or not is_balanced(bare) or _JUMPS.search(bare) or _is_many(bare):
        return True
    if not _STATEMENTS.search(bare) and "=" not in bare and " " not in bare:
        return False
    root = parse(f"void f() {{ {bare}; }}")
    function = root.named_children[0] if root.named_children else None
    block = function.child_by_field_name("body") if function is not None else None
    if block is None:
        return True
    if root.has_error:
        return _STATEMENTS.search(bare) is not None
    return any(
        child.type in ("declaration", "alias_declaration", "type_definition", "if_statement")
        and not _is_product(child.children)
        for child in block.named_children
    )


def _is_many(body: str) -> bool:
    """Tell whether a macro's body, followed by a semicolon, is more than one statement."""
    depth = 0
    for character in body:
        depth += (character in "({[") - (character in ")}]")
        if character == ";" and depth == 0:
            return True
    return body.lstrip().startswith("{")


def _is_product(children: list[Node]) -> bool:
    """Tell whether a node parsed as a declaration may be the product ``a * b``."""
    types = [child.type for child in children]
    return types[:2] == ["type_identifier", "pointer_declarator"]
