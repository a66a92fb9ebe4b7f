"""Which lines of a Makefile's recipes make something else than what is made first of a source.

``%.o: %.c`` says nothing of how a ``.cu`` is compiled, and of two rules that make other things of
the same source, with ``-DFLOAT`` and with ``-DDOUBLE``, only one can be meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gi_cuda.init.build.make_rules import RULE, sets_variable

_OF_SUFFIX = re.compile(r"(?P<of>\.\w+)\.\w+")
_COMPILED = frozenset({".cu", ".c", ".cc", ".cpp", ".cxx", ".C", ".f", ".f90", ".F90"})


def of_others(text: str, source: Path) -> set[int]:
    """The lines, from 0, of recipes of which the macros are not those of a source.

    Args:
        text: of a Makefile; a continued line is one.
    """
    gone: set[int] = set()
    seen: set[str] = set()
    for made_of, recipe in _recipes(text.split("\n")):
        compiled = [one for one in made_of if Path(one).suffix in _COMPILED]
        own = [one for one in compiled if _may_be(one, source)]
        if (compiled and not own) or (own and own[0] in seen):
            gone.update(recipe)
        seen.update(own[:1])
    return gone


def _may_be(needed: str, source: Path) -> bool:
    """Whether what a rule needs may be a source: it, or any file with its suffix."""
    patterns = Path(needed).stem in ("%", "")
    return Path(needed).suffix == source.suffix if patterns else Path(needed).name == source.name


def _recipes(lines: list[str]) -> Iterator[tuple[list[str], list[int]]]:
    """What each rule makes something of, and the lines of how it does that."""
    made_of: list[str] = []
    recipe: list[int] = []
    for at, line in enumerate(lines):
        if line.startswith("\t"):
            recipe.append(at)
        elif rule := RULE.match(line):
            yield made_of, recipe
            made_of, recipe = _needed(rule), [at]
    yield made_of, recipe


def _needed(rule: re.Match[str]) -> list[str]:
    """What a rule needs; of ``.c.o:`` that is any file with the first suffix."""
    if suffixes := _OF_SUFFIX.fullmatch(rule["targets"]):
        return [f"%{suffixes['of']}"]
    if sets_variable(rule["rest"]):
        return []
    # Of a static pattern the last part says what is needed; in $(A:.c=.o) there is a colon, too.
    needed = re.sub(r"\$\([^()]*\)", "$()", rule["rest"].partition(";")[0])
    return needed.rpartition(":")[2].split()
