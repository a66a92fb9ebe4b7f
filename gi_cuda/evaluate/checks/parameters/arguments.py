"""Check that launches pass the arguments that kernels take.

Types are compared only if both are plain C types; structs and types from headers are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from tree_sitter import Node

from gi_cuda.backends.protocol.variants import Compiler, Phenotype, Variant
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.evaluate.checks.parameters.macros import Preprocessor
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.declarations.element_types import ElementTypes
from gi_cuda.grammar.frontends.cuda.declarations.file import (
    Argument,
    CudaFile,
    of_source,
    plain_type,
    signature,
)
from gi_cuda.grammar.frontends.cuda.declarations.functions import Definition, function_declarator
from gi_cuda.spec import KernelStep, Target
from gi_cuda.spec.launching.kernel_names import overload
from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.toml_file.load import keys_of
from gi_cuda.subject import Subject

_PLAIN = ElementTypes({}, {}, frozenset())
"""The types that C and CUDA have without a declaration."""
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.M)
_RAW = 1
"""Size in bytes of an element that may be raw memory of any type."""
_HALF = 2
"""Size in bytes of an element for which NumPy lacks some of CUDA's types, e.g. bfloat16."""
_ADDRESS = 8


@dataclass(frozen=True, slots=True)
class Taken:
    """A parameter of a kernel.

    Attributes:
        text: text for messages, e.g. ``const float *power``.
        pointer: whether it is a pointer; None if unknown.
        type: its type, or the type that it points to; None if that is not a plain type.
    """

    text: str
    pointer: bool | None
    type: np.dtype[np.generic] | None


Signature = tuple[Taken, ...]


def read_signatures(subject: Subject, compiler: Compiler) -> dict[str, Signature]:
    """Return the parameters of the target's kernels, by kernel, from the preprocessed source.

    Kernels whose parameters cannot be determined are left out.
    """
    own = Preprocessor.of(subject, compiler).compiler
    read = own.preprocess([Variant(0, subject.reference, subject.macros(subject.standard))])[0]
    if not isinstance(read, Phenotype):
        return {}
    # Remove line markers and pragmas, which may stand between parameters.
    text = _DIRECTIVE.sub("", read.text)
    return signatures(of_source(Path(subject.target.source), Source("it", text)), subject.target)


def signatures(code: CudaFile, target: Target) -> dict[str, Signature]:
    """Return the parameters of the target's kernels, from preprocessed code."""
    found: dict[str, Signature] = {}
    for name in target.kernels:
        own, _, templates = overload(name)[0].partition("<")
        plain = own.strip().rpartition("::")[2]
        # Consider all functions: code preprocessed for the CPU no longer marks kernels.
        meant = [one for one in code.definitions if one.name == plain]
        if len(meant) == 1 and (one := _signature(code, meant[0], templates)) is not None:
            found[name] = one
    return found


def _signature(code: CudaFile, definition: Definition, templates: str) -> Signature | None:
    head = function_declarator(definition.node)
    if head is None or head.has_error or "..." in code.of(head):
        return None
    given = [text.strip() for text in _split(templates.rpartition(">")[0])]
    names = list(_template_names(code, definition.outer))
    named = dict(zip(names, given, strict=False))
    return tuple(_taken(one, names, named) for one in signature(code, definition))


def _template_names(code: CudaFile, outer: Node) -> Iterator[str]:
    listed = outer.child_by_field_name("parameters") if "template" in outer.type else None
    for node in listed.named_children if listed is not None else ():
        words = re.findall(r"\w+", code.of(node).partition("=")[0])
        yield words[-1] if words else ""


def _split(text: str) -> list[str]:
    """Split a list at its commas, except those within brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<([") - (character in ">)]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts if text.strip() else []


def _taken(argument: Argument, names: list[str], named: Mapping[str, str]) -> Taken:
    stars = "*" * argument.pointers
    const = "const " if argument.const else ""
    text = f"{const}{argument.type} {stars}{argument.name}".strip()
    kind = argument.type
    if kind in names:
        kind = named.get(kind, "")
        text = text.replace(argument.type, kind, 1) if kind else text
    element = None if "*" in kind else _PLAIN.element(plain_type(kind))
    plain = element is not None and element.parts == 1 and not argument.reference
    pointer = True if argument.pointers else False if element is not None else None
    same = plain and argument.pointers < 2 and element is not None
    return Taken(text, pointer, NumberType(element.type).dtype if same and element else None)


def wrong_arguments(target: Target, taken: Mapping[str, Signature]) -> Iterator[Finding]:
    """Yield a finding for each launch with arguments that its kernel does not take."""
    places = keys_of(target)
    for at, sequence in enumerate(target.launches):
        for number, step in enumerate(sequence.steps):
            if step.kernel not in taken:
                continue
            inner = ("launch", at, "step", number)
            key = inner if inner in places.lines else ("launch", at)
            where = f"{target.file}:{places.line((*key, 'args'))}"
            wrong = _wrong(target, step, sequence.counter, taken[step.kernel])
            if wrong:
                whole = ", ".join(one.text for one in taken[step.kernel])
                yield Finding(where, wrong, f"the kernel is {step.kernel}({whole})")


def _wrong(target: Target, step: KernelStep, counter: str | None, taken: Signature) -> str:
    """Return the first mistake in the arguments of a launch; "" if there is none."""
    for number, (name, one) in enumerate(zip_longest(step.args, taken), 1):
        if one is None:
            return f"argument {number} is {name!r}, and {step.kernel} takes {len(taken)}"
        if name is None:
            return f"argument {number} is missing, the kernel takes {one.text!r}"
        if kind := _image(target, name):
            if one.pointer:
                return f"argument {number} is {kind} {name!r}, the kernel takes {one.text!r}"
            continue  # its type comes from a header
        if name in {struct.name for struct in target.structs}:
            if one.pointer or one.type is not None:
                return f"argument {number} is struct {name!r}, the kernel takes {one.text!r}"
            continue
        passed = _passed(target, name, counter)
        if passed is None:
            continue
        kind, dtype = passed
        if not _fits(kind, dtype, one):
            return f"argument {number} is {kind} {name!r} ({dtype}), the kernel takes {one.text!r}"
    return ""


def _image(target: Target, name: str) -> str:
    """Return the kind of an argument that is a texture or surface; "" for others."""
    if name in {texture.name for texture in target.textures}:
        return "texture"
    return "surface" if name in {surface.name for surface in target.surfaces} else ""


def _passed(
    target: Target, name: str, counter: str | None
) -> tuple[str, np.dtype[np.generic]] | None:
    """Return the kind and the type of an argument; None if it has no plain type."""
    for buffer in target.buffers:
        if buffer.name == name:
            return "buffer", buffer.dtype
    for scalar in target.scalars:
        if scalar.name == name:
            return "scalar", scalar.dtype
    return ("counter", np.dtype(np.int32)) if name == counter else None


def _fits(kind: str, dtype: np.dtype[np.generic], taken: Taken) -> bool:
    """Tell whether a kernel can take an argument; True in doubt."""
    if taken.pointer is None:
        return True
    if (kind == "buffer") != taken.pointer:
        return taken.pointer and dtype.itemsize == _ADDRESS  # a scalar may hold an address
    if taken.type is None or (taken.pointer and _RAW in (dtype.itemsize, taken.type.itemsize)):
        return True
    if dtype.itemsize != taken.type.itemsize:
        return False
    return dtype.itemsize == _HALF or (dtype.kind == "f") == (taken.type.kind == "f")
