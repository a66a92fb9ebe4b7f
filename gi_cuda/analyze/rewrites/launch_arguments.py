"""Express the arguments of a rewrite's launches by those of the original's launches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gi_cuda.analyze.rewrites.host_readings import Call, HostReading, origin
from gi_cuda.analyze.rewrites.refusals import refused
from gi_cuda.grammar.frontends.cuda.declarations.file import Argument
from gi_cuda.init.host.host import is_name
from gi_cuda.spec import KernelStep, Target
from gi_cuda.spec.expression import parse
from gi_cuda.spec.launching.kernel_names import overload
from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.target import Scalar


@dataclass(frozen=True)
class ArgumentReader:
    """A translator of the arguments of a rewrite's launches to the target's names.

    Attributes:
        target: target of the original.
        old: launches in the original's host code.
        new: launches in the rewrite's host code.
        before: launches of the target's kernels in the original.
        made: new scalars that the rewrite's launches need, by type and expression.
    """

    target: Target
    old: HostReading
    new: HostReading
    before: Sequence[Call]
    made: dict[tuple[str, str], Scalar] = field(default_factory=dict)

    @cached_property
    def _given(self) -> dict[str, list[tuple[int, str]]]:
        """Map each argument of the original's launches, as text, to position and target's name."""
        found: dict[str, list[tuple[int, str]]] = {}
        for step in (step for sequence in self.target.launches for step in sequence.steps):
            name = bare_name(step.kernel)
            call = next((one for one in self.before if one.kernel == name), None)
            if call is None:
                continue
            resolver = self.old.resolver(call, {})
            for at, (node, own) in enumerate(zip(call.launch.arguments, step.args, strict=False)):
                found.setdefault(origin(resolver, node), []).append((at, own))
        return found

    @cached_property
    def scalars(self) -> dict[str, str]:
        """Map host variables that are passed as integers to the target's names for them."""
        whole = {one.name for one in self.target.scalars if one.dtype.kind in "iu"}
        found = {
            text: own
            for text, places in self._given.items()
            for _, own in places[:1]
            if own in whole and re.fullmatch(r"[A-Za-z_][\w.]*", text)
        }
        for call in self.before:
            resolver = self.old.resolver(call, {})
            for node, text in ((n, origin(resolver, n)) for n in call.launch.arguments):
                if is_name(node) and text in found:
                    found.setdefault(call.host.code.of(node).strip(), found[text])
                for other in resolver.other_names(text) if text in found else ():
                    found.setdefault(other, found[text])
        return found

    def argument(self, call: Call, at: int, argument: Argument, step: KernelStep | None) -> str:
        """Return the target's name for an argument of a launch.

        Args:
            call: the launch.
            at: position of the argument.
            argument: the kernel's parameter.
            step: the target's step that the launch replaces, if any.

        Raises:
            Refused: the argument cannot be expressed by arguments of the original's launch.
        """
        if at >= len(call.launch.arguments):
            return ""
        node, resolver = call.launch.arguments[at], self.new.resolver(call, self.scalars)
        text = origin(resolver, node)
        own = self._known(text, at, argument, step)
        whole = {one.name: one for one in self.target.scalars if one.dtype.kind in "iu"}
        if argument.pointers:
            if own is None or own in {one.name for one in self.target.scalars}:
                raise self._strange(call, text, argument)
            return own
        kind = self._number(argument)
        if own is not None and (kind is None or self._is(own, kind)):
            return own
        expression = own if own in whole else resolver.expression(node)
        names = set(re.findall(r"[A-Za-z_]\w*", expression or ""))
        known = expression is not None and names and names <= {*whole}
        if not known or expression is None or kind is None or kind.kind not in "iu":
            raise self._strange(call, text, argument)
        name = f"{argument.name or 'argument'}_{len(self.made) + 1}_of_rewrite"
        scalar = Scalar(name, kind, parse(expression))
        return self.made.setdefault((kind.name, expression), scalar).name

    def _known(self, text: str, at: int, argument: Argument, step: KernelStep | None) -> str | None:
        """Return the target's name for an argument that the original passes, too; None if not."""
        places = self._given.get(text, [])
        if places:
            exact = [own for place, own in places if place == at]
            return exact[0] if exact else places[0][1]
        if self.before or step is None or step.kernel is None:
            return None
        # The original has no launch, so match by the parameter's name, then by its position.
        if argument.name in step.args:
            return argument.name
        return step.args[at] if at < len(step.args) else None

    def _number(self, argument: Argument) -> np.dtype[np.generic] | None:
        """Return the type of a parameter that is a single number; None for others."""
        element = self.new.types.element(argument.type)
        if element is None or argument.pointers or element.parts != 1 or element.fields:
            return None
        return NumberType(element.type).dtype

    def _is(self, own: str, kind: np.dtype[np.generic]) -> bool:
        found = next((one for one in self.target.scalars if one.name == own), None)
        if found is None:
            return True
        same = (found.dtype.kind == "f") == (kind.kind == "f")
        return same and found.dtype.itemsize == kind.itemsize

    def _strange(self, call: Call, text: str, argument: Argument) -> Exception:
        return refused(
            "other-parameters",
            f"{call.kernel} gets `{text}` for its parameter `{argument.name}`, and the original's"
            " launch passes nothing that this could be computed from",
            call.where,
        )


def bare_name(kernel: str) -> str:
    """Return a kernel's name without scope and template arguments."""
    return overload(kernel)[0].partition("<")[0].rpartition("::")[2].strip()
