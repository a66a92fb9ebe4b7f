"""Fast intrinsics for functions and divisions in single precision."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
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
        """For each function of the source, the first call of each function with an intrinsic, and
        the first division."""
        for function in code.functions:
            seen: set[str] = set()
            for node, name in _slow(code, function):
                if name not in seen:
                    seen.add(name)
                    at = _operator(node).start_byte if name == _DIVISION else node.start_byte
                    yield Site(at, function.number, tuple(self.type.kind.specials))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Replace all calls, or all divisions, of the kind that stands at the place."""
        for function in code.functions:
            if not function.node.start_byte <= at < function.node.end_byte:
                continue
            found = list(_slow(code, function))
            wanted = {name for node, name in found if at in (node.start_byte, _at(node, name))}
            if len(wanted) > 1:  # a division begins with a call
                wanted.discard(_DIVISION if code.text[at] != _DIVISION else "")
            splices = [s for node, name in found if name in wanted for s in _made(code, node, name)]
            return Rewrite(tuple(splices)) if splices else None
        return None


def _at(node: Node, name: str) -> int:
    return _operator(node).start_byte if name == _DIVISION else node.start_byte


def _operator(node: Node) -> Node:
    found = node.child_by_field_name("operator")
    assert found is not None, "it is a division"
    return found


def _slow(code: Code, function: Function) -> Iterator[tuple[Node, str]]:
    """The calls with the name of the intrinsic, and the divisions."""
    for node in descend(function.body):
        if node.type == "call_expression":
            called = node.child_by_field_name("function")
            name = "" if called is None else code.span(called)
            fast = FAST.get(name)
            if (
                fast is None
                and name.removeprefix("std::") in _OVERLOADED
                and _of_float(code, node, function)
            ):
                fast = _OVERLOADED[name.removeprefix("std::")]
            if fast is not None:
                yield node, fast
        elif node.type == "binary_expression" and code.span(_operator(node)) == _DIVISION:
            left = node.child_by_field_name("left")
            written_out = left is not None and left.type == "number_literal" and _constant(node)
            if code.type(node, function) == _FLOAT and not written_out:
                yield node, _DIVISION


def _of_float(code: Code, call: Node, function: Function) -> bool:
    """Whether all arguments of a call are ``float``, or integers beside one that is."""
    arguments = call.child_by_field_name("arguments")
    types = [code.type(one, function) for one in (arguments.named_children if arguments else [])]
    return _FLOAT in types and all(one == _FLOAT for one in types)


def _constant(node: Node) -> bool:
    """Whether a division is one by a number that is written out."""
    right = node.child_by_field_name("right")
    return right is not None and right.type == "number_literal"


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
