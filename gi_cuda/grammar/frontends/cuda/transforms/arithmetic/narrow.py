"""Divisions of 64-bit integers that fit into 31 bits."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, is_nested
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite
from gi_cuda.grammar.frontends.cuda.transforms.reading.arithmetic import operator
from gi_cuda.grammar.frontends.cuda.transforms.reading.derived import derived
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import unparenthesized
from gi_cuda.grammar.frontends.cuda.transforms.reading.small import (
    Conditions,
    Small,
    left_of,
    right_of,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh
from gi_cuda.grammar.frontends.cuda.transforms.writing.versions import head_of_versions, versions
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import replacing

_DIVISIONS = ("/", "%")


class Narrow(Family):
    """``<narrow_kernel.cu_41><narrow_K>`` gives a kernel a version for launches and parameters with
    which its 64-bit divisions can be made in 32 bits.

    Before and after::

        __global__ void k(float *a, int64_t n, int64_t width) {
            int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) a[i] = i / width;
        }

        static __device__ __forceinline__ void k_with(const bool narrow, float *a, int64_t n,
                                                      int64_t width) {
            int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) a[i] = (narrow ? (long)((unsigned)i / (unsigned)width) : i / width);
        }

        __global__ void k(float *a, int64_t n, int64_t width) {
            if ((unsigned long long)gridDim.x * blockDim.x <= 0x7fffffff &&
                    (unsigned long long)width <= 0x7fffffff)
                k_with(true, a, n, width);
            else
                k_with(false, a, n, width);
        }

    ``narrow`` is a constant in either version. The compiler itself tests the operands of each
    division; a version needs no tests, and has no code for 64-bit divisions. Answers are the same
    for all values. Divisions that a thread makes once, and all threads of a block alike, stay.
    """

    type = RuleType.NARROW

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Make the kernel's body a function that is called for small values, or for all others."""
        kernel = code.function_at(at)
        head = None if kernel is None or not kernel.kernel else head_of_versions(code, kernel)
        declarator = None if kernel is None else function_declarator(kernel.node)
        listed = None if declarator is None else declarator.child_by_field_name("parameters")
        if kernel is None or head is None or listed is None or not head.parameters:
            return None
        small, flag = Small(code, kernel, head), fresh("narrow", code, kernel)
        of_thread = derived(code, kernel, ("threadIdx",))
        found: Conditions = {}
        splices = []
        for division in small.divisions():
            pays = code.words(division) & of_thread or is_nested(division, kernel.body)
            if pays and (made := _narrowed(small, division, flag)) is not None:
                splices.append(replacing(division.start_byte, division.end_byte, made[0]))
                found |= made[1]
        if not found:
            return None
        name = fresh(f"{kernel.name}_with", code, kernel, code.words(code.root))
        after = listed.start_byte + 1
        splices.append(replacing(after, after, f"const bool {flag}, "))
        names = [one.name for one in head.parameters]
        calls = (["true", *names], ["false", *names])
        return Rewrite(tuple(versions(code, kernel, head, name, list(found), calls, splices)))


def _narrowed(small: Small, division: Node, flag: str) -> tuple[str, Conditions] | None:
    """Return ``x / y`` or ``x /= y`` with a version in 32 bits, and the conditions under which that
    has the same result."""
    type_, left, right = small.type_of_division(division), left_of(division), right_of(division)
    if type_ is None or left is None or right is None:
        return None
    sign, code = operator(division).removesuffix("="), small.code
    for narrow, signed in (("unsigned", False), ("int", True)):
        conditions = small.of_division(division, signed=signed)
        if conditions is not None:
            words = [*_words(small, left, narrow), sign, _cast(small, right, narrow)]
            text, begin = code.span(division), ""
            if division.type == "assignment_expression":
                begin = f"{code.span(left)} = "
                text = f"{code.span(left)} {sign} {_cast(small, right, '')}"
            return f"{begin}({flag} ? ({type_.base})({' '.join(words)}) : {text})", conditions
    return None


def _words(small: Small, node: Node, narrow: str) -> Iterator[str]:
    """Return the words of a value in 32 bits, of which divisions are made in 32 bits."""
    inner = unparenthesized(node)
    left, right = left_of(inner), right_of(inner)
    if operator(inner) in _DIVISIONS and left is not None and right is not None:
        yield from _words(small, left, narrow)
        yield operator(inner)
        yield _cast(small, right, narrow)
    else:
        yield _cast(small, node, narrow)


def _cast(small: Small, node: Node, narrow: str) -> str:
    text = small.code.span(unparenthesized(node))
    plain = text.replace(".", "").replace("_", "").isalnum()
    cast = f"({narrow})" if narrow else ""
    return f"{cast}{text}" if plain else f"{cast}({text})"
