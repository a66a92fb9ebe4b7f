"""Headers that alone end a loop: without them it goes on until its worker is killed.

Of the first 128 individuals of a search on a kernel with two such loops (HeCBench's upsample) 34
hung.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from gi_cuda.grammar.frontends.cuda.reading import bare_text
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule_types import Operation, RuleType
from gi_cuda.grammar.tested import DROPS

_JUMP = re.compile(r"\b(?:break|return|goto|asm|__trap|exit|throw)\b")


def ending(grammar: Grammar) -> dict[str, Collection[Operation]]:
    """The conditions and steps of ``for`` loops that nothing else ends, with what must not be done
    to them: the variable is stepped in the header alone, and no jump leaves the body."""
    text = bare_text(grammar.source.text)
    types = {rule.name: rule.type for rule in grammar.rules}
    found: dict[str, Collection[Operation]] = {}
    for loop in grammar.loops:
        header = {types[name]: name for name in loop.header if name in types}
        step = header.get(RuleType.FOR3, "")
        alone = step in loop.assigned and loop.assigned <= loop.header
        if not alone or _JUMP.search(text[loop.start : loop.end]):
            continue
        found[step] = DROPS
        if RuleType.FOR2 in header:
            found[header[RuleType.FOR2]] = (Operation.DELETE,)
    return found
