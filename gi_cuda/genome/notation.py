"""Reading a genotype's notation, the one that ``str(genotype)`` writes.

``BLOCK_W=128 <_k.cu_126> <_k.cu_948><_k.cu_927> <_k.cu_852>+<_k.cu_922>``: values that differ from
their default, then edits: delete, replace, insert before. The syntax is in ``genotype.lark``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from gi_cuda.errors import UserError
from gi_cuda.genome.edits import Delete, Edit, Insert, Replace
from gi_cuda.genome.genotype import Genotype
from gi_cuda.genome.space import Space
from gi_cuda.grammar import Grammar, Operation, operations
from gi_cuda.target.model import Value


def read_genotype(text: str, space: Space, grammar: Grammar) -> Genotype:
    """The genotype that the text stands for; edits keep their order.

    Raises:
        UserError: naming the word and its column, for text that is no genotype, a parameter, value
            or rule that does not exist, an operation that the rule does not offer, a donor that may
            not go there, or a configuration that breaks a constraint.
    """
    try:
        genes = _parser().parse(text).children
    except UnexpectedInput as error:
        raise _error(
            "this is no genotype", text, error.column, "Write NAME=value, <a>, <a><b> or <a>+<b>."
        ) from None
    changes: dict[str, Value] = {}
    edits: list[Edit] = []
    for gene in genes:
        if not isinstance(gene, Tree):
            continue
        words = [word for word in gene.children if isinstance(word, Token)]
        if gene.data == "setting":
            name, value = _setting(text, words, space)
            changes[name] = value
        else:
            edits.append(_edit(text, str(gene.data), words, grammar))
    configuration = space.default.having(changes)
    if not space.allows(configuration):
        broken = next(c for c in space.constraints if not c.allows(configuration))
        why = f": {broken.why}" if broken.why else ""
        raise _error(f"the values break the constraint `{broken.that.text}`{why}", text, 1, None)
    return Genotype(configuration, tuple(edits))


def _setting(text: str, words: list[Token], space: Space) -> tuple[str, Value]:
    name, written = words
    if name not in space.index:
        raise _unknown("parameter", str(name), space.index, text, name)
    spellings = space.spellings[name]
    spelled = json.dumps(json.loads(written)) if written.type == "STRING" else str(written)
    if spelled not in spellings:
        values = ", ".join(spellings)
        raise _error(f"{name} does not take {written}", text, written.column, f"It takes: {values}")
    return str(name), spellings[spelled]


def _edit(text: str, kind: str, words: list[Token], grammar: Grammar) -> Edit:
    place, *donors = [str(word)[1:-1] for word in words]
    try:
        rule = grammar.rule(place)
    except KeyError:
        known = [rule.name for rule in grammar.rules]
        raise _unknown("rule", place, known, text, words[0]) from None
    offered = operations(grammar, place)
    if Operation(kind) not in offered:
        can = ", ".join(offered) or "nothing"
        raise _error(
            f"{place} offers no {kind}", text, words[0].column, f"What it offers: {can}."
        )
    if kind == "delete":
        return Delete(place)
    (donor,) = donors
    if donor not in grammar.donors(place):
        allowed = grammar.donors(place)
        raise _unknown(f"donor for {rule.name} with the name", donor, allowed, text, words[1])
    return Replace(place, donor) if kind == "replace" else Insert(place, donor)


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("genotype.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=False)


def _unknown(what: str, name: str, known: Iterable[str], text: str, word: Token) -> UserError:
    near = get_close_matches(name, list(known), n=1)
    hint = f"Did you mean {near[0]}?" if near else None
    return _error(f"there is no {what} {name}", text, word.column, hint)


def _error(what: str, text: str, column: int | None, hint: str | None) -> UserError:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return UserError(what, where=f"genotype {shown!r}, column {column or 1}", hint=hint)
