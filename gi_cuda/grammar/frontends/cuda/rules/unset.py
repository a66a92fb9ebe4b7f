"""Finder of statements that are the only ones to set a local variable.

Without such a statement, the variable is read uninitialised. The results of the variant are then
random, and differ between builds: it may pass in a schema and hang when compiled alone. A statement
is found only if the text is certain about it: nothing else can set the variable (a function that
takes a reference, an address, inline assembly).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from gi_cuda.grammar.frontends.cuda.text.reading import bare_text
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Rule
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.scope import Declaration

_PLAIN = re.compile(
    r"(?:const)?(?:unsigned|signed|char|short|int|long|float|double|bool|size_t|u?int\d+_t"
    r"|u?(?:char|short|int|long|longlong)[1-4]|(?:float|double)[1-4])+\**(?:const)?|.+\*(?:const)?"
)
"""Types, without white space, whose variables have no value if declared without one."""

_STEP = r"\s*(?P<operator><<=|>>=|[-+*/%&|^]=|\+\+|--|=(?!=))?"
_BY_VALUE = re.compile(
    r"__\w+|min|max|abs|f(?:abs|min|max|ma|loor)f?|ceilf?|r?sqrtf?|exp2?f?|log2?f?|powf?|sinf?|cosf?"
)
"""Functions of CUDA that take all arguments by value."""
_NO_CALL = frozenset({"if", "while", "for", "switch", "return", "sizeof"})


def alone_setting(grammar: Grammar) -> Iterator[Rule]:
    """Yield the statements that are the only ones to set a local variable or a member of it."""
    text = bare_text(grammar.source.text)
    statements = {rule.start: rule for rule in grammar.rules if rule.type is RuleType.STATEMENT}
    for table in grammar.scope.tables.values():
        for at, local in enumerate(table.declarations):
            others = (one for one in table.declarations[:at] + table.declarations[at + 1 :])
            hidden = any(one.start < local.end and local.start < one.end for one in others)
            if local.bare and not hidden and _has_no_value(local, text):
                for place in _set_once(local, text):
                    if place in statements:
                        yield statements[place]


def _has_no_value(local: Declaration, text: str) -> bool:
    """Tell whether a local variable has no value where it is declared (no constructor)."""
    if _PLAIN.fullmatch(local.type):
        return True
    if not re.fullmatch(r"\w+", local.type):
        return False
    name = re.escape(local.type)
    bodies = re.findall(
        rf"\bstruct\s+{name}\s*\{{([^{{}}]*)\}}|\bstruct\s*\w*\s*\{{([^{{}}]*)\}}\s*{name}\s*;",
        text,
    )
    inside = ["".join(body) for body in bodies]
    return len(inside) == 1 and not re.search(r"[(=]", inside[0])


def _set_once(local: Declaration, text: str) -> Iterator[int]:
    """Yield the offsets of the only assignments to a local variable or to a member of it."""
    name, span = local.name, text[local.start : local.end]
    set_at: dict[str, list[int | None]] = defaultdict(list)
    mention = re.compile(rf"(?<![\w.])(?<!->)(?P<path>{re.escape(name)}\b(?:\s*\.\s*\w+)*){_STEP}")
    for found in mention.finditer(span):
        path = re.sub(r"\s", "", found["path"])
        before, after = span[: found.start()].rstrip(), span[found.end() :].lstrip()
        if found["operator"] == "=":
            set_at[path].append(local.start + found.start())
        elif found["operator"] or before.endswith(("++", "--")):
            set_at[path].append(None)
        elif _gives_away(before, after, text):
            return
    for path, places in set_at.items():
        parts = [one for one in set_at if _overlap(one, path)]
        if len(parts) == 1 and len(places) == 1 and places[0] is not None:
            yield places[0]


def _overlap(one: str, other: str) -> bool:
    """Tell whether one of two member paths equals the other or is a prefix of it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _gives_away(before: str, after: str, text: str) -> bool:
    """Tell whether a mention of a variable may let other code set it.

    Args:
        before: text before the mention.
        after: text behind the mention.
        text: text of the whole source.
    """
    if after[:1] == "[" or after[:2] in ("->", ">>") or re.search(r"(?<!&)&$", before):
        return True
    if before[-1:] not in ("(", ","):
        return False
    callee = _callee(before)
    if callee is None:
        return False
    if not callee:
        return True
    if callee in _NO_CALL or _BY_VALUE.fullmatch(callee):
        return False
    heads = re.findall(rf"\b{re.escape(callee)}\s*\(([^(){{}};]*)\)\s*\{{", text)
    return not heads or any("&" in head for head in heads)


def _callee(before: str) -> str | None:
    """Return the name of the function whose call is open at the end of a text.

    Return "" if the call has no name (inline assembly), and None if there is no open call.
    """
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        if before[at] in ")]}":
            depth += 1
        elif before[at] in "([{":
            if depth:
                depth -= 1
                continue
            if before[at] != "(":
                return None if before[at] == "[" else ""
            named = re.search(r"(?:(?P<name>\w+)|(?P<other>[\"'>)\]]))\s*$", before[:at])
            if named is None:
                return None
            return named["name"] or ""
        elif before[at] == ";" and not depth:
            return None
    return None
