"""What a template of host code is made with where nobody calls it: a library's sources end with
``template void run(half *out);`` or ``template void run<half>(half *out);``."""

from __future__ import annotations

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile, plain_type, walk
from gi_cuda.grammar.frontends.cuda.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.syntax import parts
from gi_cuda.init.host.host import plain_name, template_names


def instantiated(code: CudaFile, function: Node) -> dict[str, str]:
    """The template arguments of a function's first explicit instantiation in its file, by the names
    of the parameters; without those that cannot be told."""
    names = [name for name in template_names(code, function) if name]
    head = function_declarator(function) if names else None
    name = None if head is None else head.child_by_field_name("declarator")
    if head is None or name is None:
        return {}
    own = plain_name(code.of(name))
    for node in walk(code.root):
        made = function_declarator(node) if node.type == "template_instantiation" else None
        called = None if made is None else made.child_by_field_name("declarator")
        if made is None or called is None or plain_name(code.of(called)) != own:
            continue
        found = dict(zip(names, _arguments(code, called), strict=False))
        for parameter, given in zip(_parameters(head), _parameters(made), strict=False):
            kind, stars = _type(code, parameter)
            if kind in names and _type(code, given)[1] == stars:
                found.setdefault(kind, _type(code, given)[0])
        return found
    return {}


def _arguments(code: CudaFile, called: Node | None) -> list[str]:
    """Those that stand behind the function's name."""
    while called is not None and called.type != "template_function":
        called = called.child_by_field_name("name")
    listed = None if called is None else called.child_by_field_name("arguments")
    return [] if listed is None else [code.of(one).strip() for one in listed.named_children]


def _parameters(head: Node) -> list[Node]:
    return parts(head.child_by_field_name("parameters"))


def _type(code: CudaFile, parameter: Node) -> tuple[str, int]:
    """A parameter's type without qualifiers, and how many pointers lead to it."""
    kind = parameter.child_by_field_name("type")
    declared = parameter.child_by_field_name("declarator")
    stars = 0 if declared is None else code.of(declared).count("*")
    return "" if kind is None else plain_type(code.of(kind)), stars
