"""Statements that alone give a local its value: without them it is read as nothing has set it.

What such a variant answers is chance, and another chance in each way of compiling it: it may be
right where it runs first and hang as it is. So it is said for sure, by the text of a function:
where anything else might set the local (a reference that a function takes, an address, assembler),
the statement is none of these.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from gi_cuda.grammar.frontends.cuda.reading import bare_text
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Rule
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.scope import Declaration

_PLAIN = re.compile(
    r"(?:const)?(?:unsigned|signed|char|short|int|long|float|double|bool|size_t|u?int\d+_t"
    r"|u?(?:char|short|int|long|longlong)[1-4]|(?:float|double)[1-4])+\**(?:const)?|.+\*(?:const)?"
)
"""Types, without white space, of which a local that is declared without a value has none."""

_STEP = r"\s*(?P<operator><<=|>>=|[-+*/%&|^]=|\+\+|--|=(?!=))?"
_BY_VALUE = re.compile(
    r"__\w+|min|max|abs|f(?:abs|min|max|ma|loor)f?|ceilf?|r?sqrtf?|exp2?f?|log2?f?|powf?|sinf?|cosf?"
)
"""Functions of CUDA that take no references."""
_NO_CALL = frozenset({"if", "while", "for", "switch", "return", "sizeof"})


def alone_setting(grammar: Grammar) -> Iterator[Rule]:
    """The statements of a source that alone set a local, or a member of one."""
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
    """Whether it has none where it is declared: it has no constructor."""
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
    """Where a local or a member of it is set that nothing else can set."""
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
    """Whether one of two paths is the other one or leads to it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _gives_away(before: str, after: str, text: str) -> bool:
    """Whether what is mentioned between two texts may be set there by others."""
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
    """The name before the bracket that is open at the end of a text; "" where that is no name, as
    in assembler, None where nothing is called."""
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
