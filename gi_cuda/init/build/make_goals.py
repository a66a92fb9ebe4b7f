"""Which lines of a Makefile set a variable for targets that are not made where nobody names one.

``debug: CXXFLAGS += -DDEBUG`` is for who says ``make debug``, and for what that needs alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gi_cuda.init.build.make_rules import RULE, sets_variable
from gi_cuda.init.build.make_values import computed

_FILE = re.compile(r"[.%/$]")
"""What a target has in it that names a file, as a rule: such are made for others."""


def without_other_goals(
    lines: Sequence[str], variables: Mapping[str, str], goal: str = ""
) -> list[str]:
    """A Makefile's lines with empty ones in place of those for targets that ``make`` makes if they
    are named, or need one that is.

    Args:
        lines: of it; a continued line is one.
        variables: their values at its end.
        goal: what is made where nobody names anything; "": what its first rule makes.
    """
    rules = [(at, *_rule(line, variables)) for at, line in enumerate(lines)]
    needs: dict[str, list[str]] = {}
    for _, targets, rest in rules:
        if not sets_variable(rest):
            needed = (computed(rest.partition(";")[0], variables) or "").split()
            for one in targets:
                needs.setdefault(one, []).extend(needed)
    first = goal or next((one for one in needs if _may_be_goal(one)), "")
    if not first:
        return list(lines)
    made = [first]
    for one in made:
        made += [other for other in needs.get(one, ()) if other not in made]
    gone = {
        at
        for at, targets, rest in rules
        if targets
        and sets_variable(rest)
        and not any(_FILE.search(t) or t in made for t in targets)
    }
    return ["" if at in gone else line for at, line in enumerate(lines)]


def _rule(line: str, variables: Mapping[str, str]) -> tuple[list[str], str]:
    """The targets of a rule and what follows them; none where a line is no rule."""
    match = RULE.match(line)
    if match is None:
        return [], ""
    found = computed(match["targets"], variables)
    return (match["targets"] if found is None else found).split(), match["rest"]


def _may_be_goal(target: str) -> bool:
    return "%" not in target and (not target.startswith(".") or "/" in target)
