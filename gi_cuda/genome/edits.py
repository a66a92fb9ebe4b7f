"""Edits of rules: delete, replace, insert before (Langdon et al., GECCO 2015, section 2.5).

Donors are names of rules of the original text, or of special donors such as ``pragma_K4``. Move
and swap need no types of their own: each is two edits.

What edits do to *one* rule: the last delete or replace decides the rule's body, and earlier ones
are as if they never were; inserts go before it in the order they were made, whatever the body.
Edits of different rules do not depend on each other's order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from gi_cuda.grammar.rule import Expansion


@dataclass(frozen=True, slots=True)
class Example:
    """What an edit does, shown: the source ``k.cu``, edits in notation, the variant's source."""

    before: str
    edits: str
    after: str


@dataclass(frozen=True, slots=True)
class Delete:
    """The rule's text goes: an ``if`` is never taken, a loop header part is empty."""

    place: str

    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "__global__ void k(int *x) {\n    x[0] = 1;\n    x[1] = 2;\n}\n",
            "<_k.cu_2>",
            "__global__ void k(int *x) {\n    x[1] = 2;\n}\n",
        ),
        Example(
            "__global__ void k(int *x) {\n    if (x[0] > 1)\n        x[1] = 2;\n}\n",
            "<_k.cu_3>",
            "__global__ void k(int *x) {\n    if (x[0] > 1)\n        ;\n}\n",
        ),
        Example(
            "__global__ void k(int *x) {\n    if (x[0] > 1) { x[1] = 2; }\n}\n",
            "<IF_k.cu_2>",
            "__global__ void k(int *x) {\n    if (0) { x[1] = 2; }\n}\n",
        ),
    )

    def __str__(self) -> str:
        return f"<{self.place}>"


@dataclass(frozen=True, slots=True)
class Replace:
    """The donor's original text stands in place of the rule's own."""

    place: str
    donor: str

    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "__global__ void k(int *x) {\n    x[0] = 1;\n    x[1] = 2;\n}\n",
            "<_k.cu_2><_k.cu_3>",
            "__global__ void k(int *x) {\n    x[1] = 2;\n    x[1] = 2;\n}\n",
        ),
        Example(
            "__global__ void k(int *x) {\n    for (int i = 0; i < 9; i++)\n        x[i] = 1;\n}\n",
            "<pragma_k.cu_2><pragma_K4>",
            "__global__ void k(int *x) {\n"
            "    #pragma unroll 4\n"
            "    for (int i = 0; i < 9; i++)\n"
            "        x[i] = 1;\n"
            "}\n",
        ),
    )

    def __str__(self) -> str:
        return f"<{self.place}><{self.donor}>"


@dataclass(frozen=True, slots=True)
class Insert:
    """The donor's original text is put before the rule; before a condition, as a conjunct."""

    place: str
    donor: str

    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "__global__ void k(int *x) {\n    x[0] = 1;\n    x[1] = 2;\n}\n",
            "<_k.cu_2>+<_k.cu_3>",
            "__global__ void k(int *x) {\n    x[1] = 2;\n    x[0] = 1;\n    x[1] = 2;\n}\n",
        ),
        Example(
            "__global__ void k(int *x) {\n"
            "    if (x[0] > 1) { x[1] = 2; }\n"
            "    if (x[2] > 3) { x[3] = 4; }\n"
            "}\n",
            "<IF_k.cu_2>+<IF_k.cu_3>",
            "__global__ void k(int *x) {\n"
            "    if ((x[2] > 3) && (x[0] > 1)) { x[1] = 2; }\n"
            "    if (x[2] > 3) { x[3] = 4; }\n"
            "}\n",
        ),
    )

    def __str__(self) -> str:
        return f"<{self.place}>+<{self.donor}>"


Edit: TypeAlias = Delete | Replace | Insert

EDIT_TYPES: tuple[type[Delete] | type[Replace] | type[Insert], ...] = (Delete, Replace, Insert)


def body(edit: Edit) -> str | None:
    """The donor that becomes the rule's body: ``""`` for a delete, None for an insert."""
    match edit:
        case Delete():
            return ""
        case Replace(_, donor):
            return donor
        case Insert():
            return None


def expansions(edits: Iterable[Edit]) -> dict[str, Expansion]:
    """What the edits together make of each rule they touch, for the renderer."""
    result: dict[str, Expansion] = {}
    untouched = Expansion()
    for edit in edits:
        so_far = result.get(edit.place, untouched)
        if isinstance(edit, Insert):
            result[edit.place] = Expansion((*so_far.before, edit.donor), so_far.body)
        else:
            result[edit.place] = Expansion(so_far.before, body(edit))
    return result


def repeats(edits: Iterable[Edit], edit: Edit) -> bool:
    """Whether appending the edit would say only what the edits say already."""
    return not isinstance(edit, Insert) and _last_body(edits, edit.place) == edit


def _last_body(edits: Iterable[Edit], place: str) -> Edit | None:
    last = None
    for edit in edits:
        if edit.place == place and not isinstance(edit, Insert):
            last = edit
    return last
