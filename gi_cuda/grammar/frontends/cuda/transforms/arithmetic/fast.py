"""Fast intrinsics for functions and divisions in single precision."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend, holds
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, closing, opening, replacing
from gi_cuda.grammar.values import Type

FAST = {
    "sinf": "__sinf",
    "cosf": "__cosf",
    "tanf": "__tanf",
    "expf": "__expf",
    "exp10f": "__exp10f",
    "logf": "__logf",
    "log2f": "__log2f",
    "log10f": "__log10f",
    "powf": "__powf",
    "sincosf": "__sincosf",
}
"""The functions of single precision that have an intrinsic."""

_OVERLOADED = {name.removesuffix("f"): fast for name, fast in FAST.items() if name != "sincosf"}
"""The names without a suffix, which mean the same where the argument is a ``float``."""

_FLOAT = Type("float")
_DIVISION = "/"


class Fast(Family):
    """``<fast_kernel.cu_43><fast_K>`` makes all calls of the function that is called there first,
    or all divisions, the fast intrinsics of the device.

    Before and after: ``expf(x) / y`` becomes ``__expf(x) / y``, or ``__fdividef(expf(x), y)``. The
    answers differ in the last bits, or more for large arguments; the oracle's tolerance decides.
    """

    type = RuleType.FAST

    def sites(self, code: Code) -> Iterator[Site]:
        """For each function of the source that the device alone runs, the first call of each
        function with an intrinsic, and the first division."""
        for function in code.functions:
            if function.host:
                continue
            seen: set[str] = set()
            for node, name in _slow(code, function):
                if name not in seen:
                    seen.add(name)
                    yield Site(_at(node, name), function.number, tuple(self.type.kind.specials))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Replace all calls, or all divisions, of the kind that stands at the place."""
        for function in code.functions:
            if not function.node.start_byte <= at < function.node.end_byte:
                continue
            found = list(_slow(code, function))
            wanted = {name for node, name in found if _at(node, name) == at}
            splices = [s for node, name in found if name in wanted for s in _made(code, node, name)]
            return Rewrite(tuple(splices)) if splices else None
        return None


def _at(node: Node, name: str) -> int:
    """Return the offset of a call, or of a division's operator."""
    return _operator(node).start_byte if name == _DIVISION else node.start_byte


def _operator(node: Node) -> Node:
    found = node.child_by_field_name("operator")
    assert found is not None, "it is a division"
    return found


def _slow(code: Code, function: Function) -> Iterator[tuple[Node, str]]:
    """Yield the calls that have an intrinsic, with its name, and the divisions.

    Expressions with a directive inside, and those in ``constexpr`` declarations, are left out.
    """
    fixed = [
        one
        for one in descend(function.body)
        if one.type == "declaration" and "constexpr" in code.words(one)
    ]
    for node in descend(function.body):
        name = _intrinsic(code, node, function)
        if name and "#" not in code.span(node) and not any(holds(one, node) for one in fixed):
            yield node, name


def _intrinsic(code: Code, node: Node, function: Function) -> str:
    """Return the intrinsic for a call, or the operator of a division; "" for other nodes."""
    if node.type == "call_expression":
        called = node.child_by_field_name("function")
        name = "" if called is None else code.span(called)
        overloaded = _OVERLOADED.get(name.removeprefix("std::"), "")
        return FAST.get(name) or (overloaded if _of_float(code, node, function) else "")
    if node.type == "binary_expression" and code.span(_operator(node)) == _DIVISION:
        sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        written_out = all(one is not None and one.type == "number_literal" for one in sides)
        return "" if written_out or code.type(node, function) != _FLOAT else _DIVISION
    return ""


def _of_float(code: Code, call: Node, function: Function) -> bool:
    """Tell whether all arguments of a call are ``float``."""
    arguments = call.child_by_field_name("arguments")
    types = {code.type(one, function) for one in (arguments.named_children if arguments else [])}
    return types == {_FLOAT}


def _made(code: Code, node: Node, name: str) -> Iterator[Splice]:
    if name != _DIVISION:
        called = node.child_by_field_name("function")
        assert called is not None
        yield replacing(called.start_byte, called.end_byte, name)
        return
    operator = _operator(node)
    start, end = operator.start_byte, operator.end_byte
    while code.text[start - 1].isspace():
        start -= 1
    yield opening(node.start_byte, node.end_byte, "__fdividef(")
    yield replacing(start, end, ",")
    yield closing(node.start_byte, node.end_byte, ")")
