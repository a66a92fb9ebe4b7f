"""Members of structs that host code initializes with a list: ``Params p = {0.16f, 0.08f};``."""

from __future__ import annotations

from collections.abc import Mapping

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile


def member_in_list(
    code: CudaFile, classes: Mapping[str, Mapping[str, str]], kind: str, value: Node, path: str
) -> Node | None:
    """Return what a list sets a member to; None where the list says nothing of it.

    Args:
        classes: by a class's name, its members in order, each with its type.
        kind: the class of what is initialized.
        value: what it is initialized with: a list, or ``Params{...}``.
        path: of the member, as it stands behind a dot: ``size.width``.
    """
    found: Node | None = value
    for part in path.split("."):
        members = classes.get(kind)
        if found is not None and found.type == "compound_literal_expression":
            found = found.child_by_field_name("value")
        if members is None or part not in members or found is None:
            return None
        if found.type != "initializer_list":
            return None
        items = [one for one in found.named_children if one.type != "comment"]
        pairs = {
            code.of(name).lstrip("."): one.child_by_field_name("value")
            for one in items
            if one.type == "initializer_pair" and (name := one.child_by_field_name("designator"))
        }
        at = list(members).index(part)
        plain = items[at] if not pairs and at < len(items) else None
        found, kind = pairs.get(part, plain), members[part]
    return found
