"""Rules of a Makefile: what is made, and what of or with which values of variables."""

from __future__ import annotations

import re

RULE = re.compile(
    r"^(?P<targets>(?:\$\([^()]*\)|\$\{[^{}]*\}|[^\s#:=]|(?<!^)[ \t])+?)[ \t]*::?(?!=)"
    r"[ \t]*(?P<rest>.*)$"
)
"""The first line of a rule. In ``$(A:.c=.o)``, a target, there is a colon, too."""

_SETS = re.compile(r"(?:(?:export|override|private)[ \t]+)*[\w.-]+[ \t]*(?:[?+!]|:{0,3})=")


def sets_variable(rest: str) -> bool:
    """Whether what follows a rule's targets sets a variable for these, and is no need of theirs."""
    return _SETS.match(rest) is not None
