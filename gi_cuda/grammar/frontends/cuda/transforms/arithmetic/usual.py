"""A version of a kernel for the values that its parameters usually have."""

from __future__ import annotations

from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.heads import Head
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh
from gi_cuda.grammar.frontends.cuda.transforms.writing.versions import head_of_versions, versions
from gi_cuda.grammar.rule_types import RuleType

_DIVIDE = frozenset({"/", "%", "/=", "%="})


class Usual(Family):
    """``<usual_kernel.cu_41><usual_K>`` gives a kernel a version for the usual values of its
    parameters; ``<usual_Kloops>`` only of those that stand in the head of a loop or divide.

    Before and after, where ``stride`` is usually 1 and ``pad`` 0::

        __global__ void k(float *a, int n, int stride, int pad) {
            ...
        }

        static __device__ __forceinline__ void k_with(float *a, int n, int stride, int pad) {
            ...
        }

        __global__ void k(float *a, int n, int stride, int pad) {
            if (stride == 1 && pad == 0)
                k_with(a, n, 1, 0);
            else
                k_with(a, n, stride, pad);
        }

    The compiler makes two versions of the body. In the first one divisions by constants become
    multiplications, and short loops are unrolled. Answers are the same for all values. A static
    array in shared memory is there once, as a function has one for all its calls.

    The values are those of :attr:`gi_cuda.grammar.source.Source.usual`, which a target fills.
    Without a target no kernel is offered a version.
    """

    type = RuleType.USUAL

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Make the kernel's body a function, and call it with the usual values or with others."""
        kernel = code.function_at(at)
        if kernel is None or kernel.name not in dict(code.source.usual):
            return None
        head = head_of_versions(code, kernel)
        if head is None:
            return None
        values = _values(code, kernel, head)
        few = _deciding(code, kernel)
        chosen = {name: n for name, n in values.items() if choice == "usual_K" or name in few}
        if not chosen or (choice != "usual_K" and len(chosen) == len(values)):
            return None
        name = fresh(f"{kernel.name}_with", code, kernel, code.words(code.root))
        names = [one.name for one in head.parameters]
        usual = (str(chosen.get(one, one)) for one in names)
        conditions = [f"{one} == {n}" for one, n in chosen.items()]
        return Rewrite(tuple(versions(code, kernel, head, name, conditions, (usual, names))))


def _values(code: Code, kernel: Function, head: Head) -> dict[str, int]:
    """Return the usual values of integers that the kernel's body uses, by their names."""
    values = dict(code.source.usual)[kernel.name]
    if len(values) != len(head.parameters):
        return {}
    words = code.words(kernel.body)
    return {
        one.name: value
        for one, value in zip(head.parameters, values, strict=True)
        if value is not None and one.integral and one.name in words
    }


def _deciding(code: Code, kernel: Function) -> frozenset[str]:
    """Return the words in heads of loops and in divisors."""
    found: frozenset[str] = frozenset()
    for node in descend(kernel.body):
        if node.type in LOOPS:
            body = node.child_by_field_name("body")
            found = found.union(*(code.words(one) for one in node.named_children if one != body))
        operator, divisor = (node.child_by_field_name(one) for one in ("operator", "right"))
        if operator is not None and divisor is not None and code.span(operator) in _DIVIDE:
            found |= code.words(divisor)
    return found
