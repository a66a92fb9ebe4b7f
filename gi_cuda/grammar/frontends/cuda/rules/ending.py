"""Finder of loop headers that alone end their loop; without them the loop runs until it is killed.

In a search on a kernel with two such loops (HeCBench's upsample), 34 of the first 128 individuals
hung.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from gi_cuda.grammar.coverage.tested import DROPS
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule_types import Operation, RuleType

_JUMP = re.compile(r"\b(?:break|return|goto|asm|__trap|exit|throw)\b")


def ending(grammar: Grammar) -> dict[str, Collection[Operation]]:
    """Return the conditions and steps of ``for`` loops that nothing else ends.

    These are loops whose variable changes only in the header, and whose body no jump leaves.

    Returns:
        The operations that would keep the loop from ending, by rule name.
    """
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
