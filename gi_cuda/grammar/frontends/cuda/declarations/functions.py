"""The functions of a CUDA file, and the selection of the functions that evolve."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text
from gi_cuda.grammar.frontends.cuda.text.syntax import CONTAINERS
from gi_cuda.grammar.source import Source
from gi_cuda.spec.launching.kernel_names import listed, overload

_WORD = re.compile(r"[^\W\d]\w*")
_PASSED = CONTAINERS | {"namespace_definition", "template_declaration", "ERROR"}


@dataclass(frozen=True, slots=True)
class Definition:
    """A function definition of the file.

    Attributes:
        name: name without scope or template arguments.
        node: the ``function_definition`` node.
        outer: the node with its template or linkage head.
        words: the words before the name, with the source's macros expanded.
        qualified: the name with its namespaces and the class it is a member of.
    """

    name: str
    node: Node
    outer: Node
    words: frozenset[str]
    qualified: str

    @property
    def kernel(self) -> bool:
        """Tell whether the function is a kernel (``__global__``)."""
        return "__global__" in self.words

    @property
    def device(self) -> bool:
        """Tell whether the function can run on the device."""
        return bool(self.words & {"__global__", "__device__", "constexpr", "consteval"})


def definitions(
    root: Node, text: str, macros: Mapping[str, frozenset[str]]
) -> Iterator[Definition]:
    """Yield every function defined at file or namespace level, in order."""
    stack = [(root, root, "")]
    while stack:
        node, outer, within = stack.pop()
        if node.type == "function_definition":
            found = _definition(node, outer, text, macros, within)
            if found is not None:
                yield found
            continue
        if node is not root and node.type not in _PASSED:
            continue
        if node.type == "namespace_definition":
            name = node.child_by_field_name("name")
            within += "" if name is None else text[name.start_byte : name.end_byte] + "::"
        keeps = node.type in ("template_declaration", "linkage_specification")
        stack.extend(
            (child, outer if keeps and outer is not root else child, within)
            for child in reversed(node.children)
        )


def _definition(
    node: Node, outer: Node, text: str, macros: Mapping[str, frozenset[str]], within: str
) -> Definition | None:
    head = function_declarator(node)
    inner = None if head is None else head.child_by_field_name("declarator")
    if head is None or inner is None or node.child_by_field_name("body") is None:
        return None
    owners: list[str] = []
    while inner.type in ("qualified_identifier", "template_function"):
        deeper = inner.child_by_field_name("name")
        if deeper is None:
            return None
        if (scope := inner.child_by_field_name("scope")) is not None:
            owners.append(text[scope.start_byte : scope.end_byte])
        inner = deeper
    words = set(_WORD.findall(text[node.start_byte : head.start_byte]))
    for word in tuple(words):
        words |= macros.get(word, frozenset())
    name = text[inner.start_byte : inner.end_byte]
    qualified = "::".join([*owners, name])
    return Definition(name, node, outer, frozenset(words), within + qualified)


def function_declarator(node: Node) -> Node | None:
    """Return the ``name(parameters)`` part of a function definition; None if there is none."""
    head = node.child_by_field_name("declarator")
    while head is not None and head.type != "function_declarator":
        deeper = head.child_by_field_name("declarator")
        if deeper is None and head.type == "reference_declarator" and head.named_children:
            deeper = head.named_children[-1]
        head = deeper
    return head


def evolved(
    found: Sequence[Definition],
    kernels: Sequence[str] | None,
    source: Source,
    macros: Mapping[str, frozenset[str]],
) -> tuple[Definition, ...]:
    """Return the functions that evolve: kernels, and the device functions that they reach.

    Args:
        found: all functions of the source.
        kernels: names of the kernels; None: all.
        source: the source.
        macros: for each macro, the names that its expansion may use.

    Raises:
        UserError: there is no kernel, or no kernel of a requested name.
    """
    known = [d.qualified for d in found if d.kernel]
    if not known:
        raise UserError(
            "there is no kernel (no __global__ function) to evolve",
            where=source.name,
            hint="name the file that defines the kernel",
        )
    wanted = set(known)
    if kernels is not None:
        wanted = {qualified for name in kernels for qualified in _meant(name, found, source)}
    callable_from_kernel = {d.name for d in found if d.device and not d.kernel}
    bare = bare_text(source.text)  # a comment calls nothing
    reached: set[str] = set()
    frontier = [d for d in found if d.kernel and d.qualified in wanted]
    while frontier:
        definition = frontier.pop()
        body = bare[definition.node.start_byte : definition.node.end_byte]
        words = set(_WORD.findall(body))
        for word in tuple(words):
            words |= macros.get(word, frozenset())
        called = (words & callable_from_kernel) - reached
        reached |= called
        if not called:
            continue
        frontier.extend(d for d in found if d.name in called and d.device and not d.kernel)
    return tuple(
        d
        for d in found
        if (d.kernel and d.qualified in wanted) or (d.device and not d.kernel and d.name in reached)
    )


def _meant(name: str, found: Sequence[Definition], source: Source) -> frozenset[str]:
    """Return the qualified name of a kernel whose name may leave out namespaces.

    Template arguments and parameter types in the name are ignored: all instances and overloads
    evolve together.

    Raises:
        UserError: there is no kernel of that name, or there are several.
    """
    plain = overload(name)[0].partition("<")[0].strip().removeprefix("::")
    kernels = {d.qualified: None for d in found if d.kernel}
    meant = [one for one in kernels if one == plain or one.endswith(f"::{plain}")]
    if plain in meant:
        meant = [plain]
    if len(meant) == 1:
        return frozenset(meant)
    raise UserError(
        f"there are several kernels {name!r}" if meant else f"there is no kernel {name!r}",
        where=source.name,
        hint=f"{'name one of' if meant else 'its kernels are'}: {listed(meant or list(kernels))}",
    )
