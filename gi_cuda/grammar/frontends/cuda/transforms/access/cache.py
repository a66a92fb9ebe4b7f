"""Streaming hints: loads and stores of data that a kernel uses once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import assigned_root, declarators, name_node
from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, Code, Function
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import declared_names
from gi_cuda.grammar.frontends.cuda.transforms.reading.derived import derived
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import (
    Access,
    Pointer,
    Use,
    accesses,
    changes,
    pointers,
)
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, closing, opening, replacing

_INTEGERS = ("char", "short", "int", "long", "long long")
_VECTORS = {"char": (2, 4), "short": (2, 4), "int": (2, 4), "longlong": (2,), "float": (2, 4)}
_STREAMED = frozenset(
    {
        *("signed char", "float", "double", "double2"),
        *("__half", "half", "__half2", "half2", "__nv_bfloat16", "__nv_bfloat162"),
        *(f"{sign}{base}" for base in _INTEGERS for sign in ("", "unsigned ")),
        *(f"{base}{size}" for base, sizes in _VECTORS.items() for size in sizes),
        *(f"u{b}{size}" for b, sizes in _VECTORS.items() if b != "float" for size in sizes),
    }
)
"""Types whose values CUDA can load and store with a cache hint."""


class Cache(Family):
    """``<cache_kernel.cu_8><cache_K>`` loads from an array, or stores to it, with a hint for the
    cache that the data is not used again.

    Before and after: ``b[i] = 2 * a[i];`` becomes ``b[i] = 2 * __ldcs(&a[i]);`` for the parameter
    ``a``, and ``__stcs(&b[i], 2 * a[i]);`` for ``b``.

    The array is a parameter of a kernel that only stores to it, or that loads from it in one place.
    The index depends on the number of the thread. In a loop, each iteration has another index.
    """

    type = RuleType.CACHE

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the parameters."""
        for kernel in code.kernels:
            for pointer in pointers(code, kernel):
                name = _name(code, pointer)
                if name is not None and _hintable(code, kernel, pointer):
                    yield Site(name.start_byte, kernel.number, tuple(self.type.kind.specials))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Make the accesses of the parameter's elements calls."""
        for kernel in code.kernels:
            if kernel.node.start_byte <= at < kernel.body.start_byte:
                for pointer in pointers(code, kernel):
                    name = _name(code, pointer)
                    if name is not None and name.start_byte == at:
                        found = _hintable(code, kernel, pointer)
                        splices = tuple(one for access in found for one in _hinted(access))
                        return Rewrite(splices) if splices else None
        return None


def _hintable(code: Code, kernel: Function, pointer: Pointer) -> Sequence[Access]:
    """Return the accesses of a parameter's elements that can have a hint: all, or none."""
    found = accesses(code, kernel.body, pointer.name) if pointer.parameter else None
    own = derived(code, kernel, ("threadIdx",)) if found else ()
    if not found or not all(_is_streamed(code, kernel, one, own) for one in found):
        return ()
    stored = not pointer.const and all(_is_store(code, one) for one in found)
    return found if stored or (len(found) == 1 and found[0].use is Use.READ) else ()


def _name(code: Code, pointer: Pointer) -> Node | None:
    """Return the name of a parameter where it is declared."""
    names = (name_node(one) for one in declarators(pointer.node))
    return next((one for one in names if one and code.span(one) == pointer.name), None)


def _is_streamed(code: Code, kernel: Function, access: Access, own: Collection[str]) -> bool:
    """Tell whether an element has a type with hints, and is another one for each thread and in each
    iteration.

    Args:
        own: the variables that depend on the number of the thread.
    """
    type_ = code.type(access.element, kernel)
    if type_ is None or type_.levels or type_.base not in _STREAMED:
        return False
    if "#" in code.span(access.element):
        return False
    root = assigned_root(access.element)
    words = code.words(access.element) - ({code.span(root)} if root else set())
    if words.isdisjoint(own):
        return False
    above = access.node.parent
    while above is not None and above != kernel.body:
        if above.type == "lambda_expression":
            return False
        if above.type in LOOPS:
            varied = changes(code, above).all | set(declared_names(above, code))
            if not words & varied:
                return False
        above = above.parent
    return True


def _is_store(code: Code, access: Access) -> bool:
    """Tell whether an access is a statement ``p[i] = x;`` that no directive cuts in two."""
    above = access.node.parent
    value = None if above is None else above.child_by_field_name("right")
    if access.use is not Use.WRITE or above is None or above.parent is None or value is None:
        return False
    if "#" in code.span(above.parent) or value.type == "initializer_list":
        return False
    return above.parent.type == "expression_statement"


def _hinted(access: Access) -> Iterator[Splice]:
    """Write an access as a call."""
    node, element, above = access.node, access.element, access.node.parent
    if access.use is Use.READ:
        yield replacing(node.start_byte, element.start_byte, "__ldcs(&")
        yield replacing(element.end_byte, node.end_byte, ")")
        return
    value = None if above is None else above.child_by_field_name("right")
    assert above is not None, "it is an assignment"
    assert value is not None, "it is an assignment"
    yield opening(above.start_byte, above.end_byte, "__stcs(&")
    yield replacing(element.end_byte, value.start_byte, ", ")
    yield closing(above.start_byte, above.end_byte, ")")
