"""Reader of the genotype notation that ``str(genotype)`` writes.

``BLOCK_W=128 <_k.cu_126> <_k.cu_948><_k.cu_927> <_k.cu_852>+<_k.cu_922>``: values that differ from
their defaults, then edits. The syntax is in ``genotype.lark``. The operator between the two rules
of an edit tells the edit's kind.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from gi_cuda.errors import UserError
from gi_cuda.genome.edits import EDIT_KINDS, Edit, Step
from gi_cuda.genome.genotype import Genotype
from gi_cuda.genome.space import Configuration, Space, spell
from gi_cuda.grammar import Rules
from gi_cuda.grammar.rule_types import Operation
from gi_cuda.spec.launching.kernel_names import listed
from gi_cuda.spec.parameters import Value


def read_genotype(text: str, space: Space, grammar: Rules) -> Genotype:
    """Parse a genotype; edits keep their order.

    An edit is valid if some configuration allows it, because crossover and changes of the
    configuration can leave edits in code that the present configuration does not compile.

    Raises:
        UserError: the text is not a genotype; a parameter, value or rule does not exist; a rule
            does not offer the operation; a donor may not go to the place; or the configuration
            breaks a constraint. The message names the word and its column.
    """
    return _Reader(text, space, grammar).read()


_KINDS = {kind.operator: kind for kind in EDIT_KINDS}


@dataclass(frozen=True, slots=True)
class _Reader:
    text: str
    space: Space
    grammar: Rules

    def read(self) -> Genotype:
        settings: dict[str, Value] = {}
        edits: list[Edit] = []
        for kind, words in self._genes():
            if kind != "setting":
                edits.append(self._edit(words))
                continue
            name, value = words
            if name in settings:
                raise self._error(name, f"{name} is set twice", "give a parameter one value")
            settings[str(name)] = self._value(name, value)
        configuration = self.space.default.having(settings)
        self._check(configuration)
        return Genotype(configuration, tuple(edits))

    def _genes(self) -> list[tuple[str, list[Token]]]:
        try:
            tree = _parser().parse(self.text)
        except UnexpectedInput as error:
            raise self._not_a_genotype(error) from None
        genes = cast("list[Tree[Token]]", tree.children)
        return [(str(gene.data), cast("list[Token]", gene.children)) for gene in genes]

    def _value(self, name: Token, value: Token) -> Value:
        values = self.space.spellings.get(name)
        if values is None:
            names = self.space.spellings
            there = f"the parameters: {', '.join(names)}" if names else "[[parameter]] makes one"
            hint = _suggest(name, names) or there
            raise self._error(name, f"there is no parameter {name}", hint)
        if value not in values:
            raise self._error(
                value, f"{name} does not take the value {value}", "it takes " + ", ".join(values)
            )
        return values[value]

    def _edit(self, words: Sequence[Token]) -> Edit:
        rules = [word for word in words if word.type == "RULE"]
        operator = "".join(word for word in words if word.type == "OPERATOR")
        kind = _KINDS[operator if len(rules) > 1 else None]
        edit = kind(*(rule[1:-1] for rule in rules))
        for step in edit.steps:
            place = next(rule for rule in rules if rule[1:-1] == step.place)
            self._check_place(step, place)
            if step.donor:
                donor = next(rule for rule in reversed(rules) if rule[1:-1] == step.donor)
                self._check_donor(step, place, donor)
        return edit

    def _check_place(self, step: Step, place: Token) -> None:
        try:
            self.grammar.rule(step.place)
        except KeyError:
            hint = _rules_like(step.place, (rule.name for rule in self.grammar.rules))
            raise self._error(place, f"there is no rule {place}", hint) from None
        offered = self.grammar.operations(step.place)
        if step.operation not in offered:
            raise self._error(
                place,
                f"{place} does not offer to {step.operation}",
                f"it offers {', '.join(offered)}: {_forms(offered)}"
                if offered
                else "it offers no edit at all: take another place",
            )

    def _check_donor(self, step: Step, place: Token, donor: Token) -> None:
        allowed = self.grammar.donors(step.place)
        if step.donor in allowed:
            return
        try:
            self.grammar.text(step.donor)
        except KeyError:
            hint = _rules_like(step.donor, allowed)
            raise self._error(donor, f"there is no rule {donor}", hint) from None
        raise self._error(
            donor,
            f"{donor} may not go to {place}",
            "a donor is another rule of the same type, all of whose names are in scope there: "
            + (listed([f"<{name}>" for name in sorted(allowed)]) or "there is none"),
        )

    def _check(self, configuration: Configuration) -> None:
        for constraint in self.space.constraints:
            if not constraint.allows(configuration):
                values = ", ".join(
                    f"{name} = {spell(value)}"
                    for name, value in configuration.items()
                    if name in constraint.that.names
                )
                raise UserError(
                    f"the configuration breaks the constraint `{constraint.that.text}`: {values}",
                    where=f"genotype `{self.text.strip()}`",
                    hint=constraint.why or None,
                )

    def _error(self, word: Token, what: str, hint: str | None = None) -> UserError:
        return UserError(what, where=self._where(word.start_pos or 0), hint=hint)

    def _not_a_genotype(self, error: UnexpectedInput) -> UserError:
        at = error.pos_in_stream
        if at is None or (isinstance(error, UnexpectedToken) and error.token.type == "$END"):
            at = len(self.text)
        rest = self.text[at:].split(maxsplit=1)
        forms = _forms([kind.operation for kind in EDIT_KINDS])
        return UserError(
            f"`{rest[0]}` was not expected" if rest else "the genotype ends too early",
            where=self._where(at),
            hint=f"write NAME=value to set a parameter, {forms}, "
            "with white space between these and nowhere else",
        )

    def _where(self, at: int) -> str:
        return f"genotype, column {at + 1}"


@cache
def _parser() -> Lark:
    grammar = files("gi_cuda.genome").joinpath("genotype.lark").read_text("utf-8")
    operators = " | ".join(json.dumps(operator) for operator in _KINDS if operator)
    return Lark(f"{grammar}OPERATOR: {operators}\n", parser="lalr", maybe_placeholders=False)


def _suggest(name: str, names: Iterable[str]) -> str | None:
    close = get_close_matches(name, names, n=3)
    return f"did you mean {' or '.join(close)}?" if close else None


def _rules_like(name: str, rules: Iterable[str]) -> str:
    """Return a hint for an unknown rule: the rules of the same line, and how to list all rules."""
    _, _, line = name.rpartition("_")
    same = [f"<{one}>" for one in rules if one.rpartition("_")[2] == line]
    here = f"in line {line} there are {listed(same)}; " if line.isdigit() and same else ""
    return f"{here}to list all: gi-cuda convert TARGET --explain"


def _forms(offered: Collection[Operation]) -> str:
    """Return the notation of each kind of edit whose operation is offered, with its purpose."""
    return ", ".join(kind.usage() for kind in EDIT_KINDS if kind.operation in offered)
