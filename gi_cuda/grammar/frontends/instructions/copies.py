"""Copied instructions where every register is written in one place of the text.

A copy of an instruction keeps the register's name if the original is gone: that is a move. One that
replaces an instruction of the same type takes over its name, so what read the old value reads the
new one. Any other copy gets a name of its own, and the next instruction of the block that reads a
value of the type reads the copy (as GEVO connects what it inserts; Liou et al., TACO 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gi_cuda.grammar.frontends.instructions.body import Body
from gi_cuda.grammar.frontends.instructions.drafts import Draft


def named_once(body: Body, drafts: Mapping[int, Sequence[Draft]]) -> dict[int, list[Draft]]:
    """Return the drafts of a function, by statement, with every register written once."""
    found = {at: list(drafts[at]) for at in sorted(drafts)}
    taken = {
        name
        for at, statement in enumerate(body.statements)
        if at not in found or any(one.original is None for one in found[at])
        for name in statement.instruction.defines
    }
    copies = [
        (at, n)
        for at in found
        for n, draft in enumerate(found[at])
        if draft.original is not None and draft.instruction.defines
    ]
    others: list[tuple[int, int]] = []
    for at, n in copies:
        (name,) = found[at][n].instruction.defines
        if name in taken:
            others.append((at, n))
        taken.add(name)
    for at, n in others:
        draft = found[at][n]
        kind = body.function.registers[draft.instruction.defines[0]]
        replaced = body.statements[at].instruction.defines if draft.instead else ()
        if replaced and replaced[0] not in taken and body.function.registers[replaced[0]] == kind:
            name = replaced[0]
            taken.add(name)
        else:
            name = f"%gi.{at}.{n}"
            _connect(body, found, (at, n), name, kind)
        found[at][n] = _named(found[at][n], name)
    return found


def _named(draft: Draft, name: str) -> Draft:
    return Draft(draft.instruction.writing(name), draft.original, draft.kept, draft.instead)


def _connect(
    body: Body, drafts: dict[int, list[Draft]], copy: tuple[int, int], name: str, kind: str
) -> None:
    """Have the next instruction of the block that reads a value of a type read a copy's."""
    first, n = copy
    block = body.flow.statements_of(body.flow.block_of[first])
    for at in range(first, block.stop):
        some = drafts.get(at, [Draft.own(body, at)])
        if body.statements[at].fixed:
            continue
        for number in range(n + 1 if at == first else 0, len(some)):
            for k, use in enumerate(some[number].instruction.uses):
                if use.name and not use.block and body.function.registers[use.name] == kind:
                    changed = some[number].reading({k: name}, body)
                    drafts[at] = [*some[:number], changed, *some[number + 1 :]]
                    return
