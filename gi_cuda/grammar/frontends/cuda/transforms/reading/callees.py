"""Effects of calls: which variables and which memory a called function may change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.text.syntax import assigned_root, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import declared_names
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import target_of

ATOMIC = re.compile(r"atomic[A-Z]\w*")
CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast"})
_LOADS = re.compile(r"__ld(?:g|ca|cg|cs|cv|lu)")
_STORES = re.compile(r"__st(?:wb|cg|cs|wt)")
_ACTS = re.compile(r"printf|surf\w+write")
_SWAP = re.compile(r"swap", re.IGNORECASE)
_MORE_RESULTS = {
    **dict.fromkeys(("sincos", "sincosf", "__sincosf", "sincospi", "sincospif"), (1, 2)),
    **dict.fromkeys(("modf", "modff", "frexp", "frexpf"), (1,)),
}
"""Numbers of the arguments through which functions of CUDA return results, by name."""

_OTHER_EFFECTS = re.compile(
    r"\batomic[A-Z]|\bprintf\b|\bstatic\b(?!\s+const)|\bmalloc\b|\bnew\b|\bdelete\b"
)
"""Words of functions with side effects other than through parameters."""


class Passing(Enum):
    """Ways in which a function takes an argument."""

    VALUE = "f(x): no more than the value is read"
    SOURCE = "f(p): what the pointer leads to is read"
    TARGET = "f(p): what the pointer leads to is read and may be written"
    REFERENCE = "f(x): the variable itself is read and may be written"


def called_name(code: Code, call: Node) -> str | None:
    """Return the name of a called function, without ``std::`` and template arguments.

    Returns:
        None for a method, and for anything else that is not a name.
    """
    called = call.child_by_field_name("function")
    if called is None or called.type == "field_expression":
        return None
    name = code.span(called).partition("<")[0].strip()
    return name.removeprefix("::").removeprefix("std::")


def is_cast(code: Code, call: Node) -> bool:
    """Tell whether a call is ``static_cast<float>(x)`` or another C++ cast."""
    called = call.child_by_field_name("function")
    return (
        called is not None
        and called.type == "template_function"
        and called_name(code, call) in CASTS
    )


def has_effect(code: Code, call: Node) -> bool:
    """Tell whether a call prints or writes a surface."""
    return _ACTS.fullmatch(called_name(code, call) or "") is not None


def passing_of(code: Code, caller: Function, call: Node) -> tuple[Passing, ...] | None:
    """Return how a function takes each argument of a call; None if that is not known.

    A function that the source does not define is taken to compute its result from the values of
    its arguments, unless it is one of CUDA's that are known here.
    """
    name = called_name(code, call)
    arguments = parts(call.child_by_field_name("arguments"))
    if name is None:
        return None
    own = [one for one in code.functions if one.name == name.rpartition("::")[2]]
    if own:
        return _of_source(code, own, len(arguments))
    first = [Passing.VALUE] * max(0, len(arguments) - 1)
    if ATOMIC.fullmatch(name) or _STORES.fullmatch(name):
        return (Passing.TARGET, *first)
    if _LOADS.fullmatch(name):
        return (Passing.SOURCE, *first)
    if _SWAP.fullmatch(name.rpartition("::")[2]):
        return (Passing.REFERENCE,) * len(arguments)
    results = _MORE_RESULTS.get(name, ())
    known = bool(results) or has_effect(code, call)
    if not known and any(_leads(code, caller, one) for one in arguments):
        return None
    return tuple(
        Passing.TARGET if place in results else Passing.VALUE for place in range(len(arguments))
    )


def _leads(code: Code, caller: Function, argument: Node) -> bool:
    """Tell whether an argument is a pointer."""
    if argument.type == "string_literal":
        return False
    known = code.type(argument, caller)
    return known.pointer if known is not None else code.span(argument).lstrip("( ").startswith("&")


def _of_source(code: Code, own: Sequence[Function], count: int) -> tuple[Passing, ...] | None:
    """Return how functions of the source take arguments, all overloads of a name together."""
    for one in own:
        if any(_has_other_effects(code, each) for each in (one, *code.called(one))):
            return None
    found = [_parameters(code, one, count) for one in own]
    order = list(Passing)
    return tuple(max((one[place] for one in found), key=order.index) for place in range(count))


def _parameters(code: Code, function: Function, count: int) -> list[Passing]:
    head = function_declarator(function.node)
    listed = parts(head.child_by_field_name("parameters")) if head is not None else []
    found = [_passed(code, one) for one in listed[:count]]
    return found + [Passing.VALUE] * (count - len(found))


def _passed(code: Code, parameter: Node) -> Passing:
    declarator = parameter.child_by_field_name("declarator")
    const = any(code.span(one) == "const" for one in parameter.children)
    kinds = {one.type for one in descend(declarator)} if declarator is not None else set()
    if kinds & {"reference_declarator", "abstract_reference_declarator"}:
        return Passing.VALUE if const else Passing.REFERENCE
    if kinds & {"pointer_declarator", "array_declarator", "abstract_pointer_declarator"}:
        return Passing.SOURCE if const else Passing.TARGET
    alias = parameter.child_by_field_name("type")
    known = None if alias is None else code.spelled_type(code.span(alias))
    return Passing.TARGET if known is not None and known.pointer else Passing.VALUE


def _has_other_effects(code: Code, function: Function) -> bool:
    """Tell whether a function has effects other than through its parameters and result."""
    if _OTHER_EFFECTS.search(code.bare(function.body)) or code.opaque(function.body):
        return True
    head = function_declarator(function.node)
    listed = parts(head.child_by_field_name("parameters")) if head is not None else []
    known = set(declared_names(function.body, code))
    classes: set[str] = set()
    for one in listed:
        named = code.words(one)
        known |= named
        if _passed(code, one) is Passing.VALUE:
            classes |= named
    for node in descend(function.body):
        target = target_of(node)
        if target is not None:
            root = assigned_root(target)
            name = "" if root is None else code.span(root)
            if name not in known or (name in classes and _leads_away(target)):
                return True
    return False


def _leads_away(target: Node) -> bool:
    """Tell whether an expression may go through a pointer that is a member of a class."""
    return any(
        one.type in ("subscript_expression", "pointer_expression", "->") for one in descend(target)
    )
