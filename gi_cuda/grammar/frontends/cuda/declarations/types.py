"""C++ types in a source: parse spelled types, and record the types of the source's names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.declarations.signatures import Signature, called
from gi_cuda.grammar.frontends.cuda.rules.findings import spelled_type
from gi_cuda.grammar.frontends.cuda.text.syntax import CONTAINERS, declarators, name_node
from gi_cuda.grammar.values import ENUM, Type

_DROPPED = re.compile(
    r"\b(?:__(?:shared|constant|device|host|managed|global|grid_constant)__|static|extern|register"
    r"|inline|__forceinline__|__inline__|typename|struct|class|union|mutable|thread_local"
    r"|__restrict__|__restrict|restrict)\b"
    r"|\b(?:__align__|alignas|__attribute__|__launch_bounds__)\s*\((?:[^()]|\([^()]*\))*\)|\[\[.*?\]\]"
)
_ARRAY = re.compile(r"\[[^\[\]]*\]")
_QUALIFIED = re.compile(r"\b(?:const|volatile)\b")
_CONST = frozenset({"const", "constexpr"})
_SPACE = re.compile(r"\s+")
_INTEGER_WORDS = frozenset({"signed", "unsigned", "char", "short", "int", "long", "double"})
_SIZES = {8: "char", 16: "short", 32: "int", 64: "long"}
_STANDARD: dict[str, Type] = {
    **{f"int{bits}_t": Type(base) for bits, base in _SIZES.items()},
    **{f"uint{bits}_t": Type(f"unsigned {base}") for bits, base in _SIZES.items()},
    "int8_t": Type("signed char"),
    "size_t": Type("unsigned long"),
    "std::size_t": Type("unsigned long"),
    "ptrdiff_t": Type("long"),
    "uintptr_t": Type("unsigned long"),
    "intptr_t": Type("long"),
    "uint": Type("unsigned int"),
    "uchar": Type("unsigned char"),
    "ushort": Type("unsigned short"),
    "ulong": Type("unsigned long"),
    "clock_t": Type("long"),
}


@dataclass(slots=True)
class TypeBook:
    """The types of a source's own names; a name with several meanings has none."""

    aliases: dict[str, Type | None] = field(default_factory=dict)
    fields: dict[str, dict[str, Type | None]] = field(default_factory=dict)
    enums: dict[str, str] = field(default_factory=dict)
    """The base type of each enumerator and enumeration, by name."""
    globals: dict[tuple[str, int], Type | None] = field(default_factory=dict)
    """The type of each global variable, by name and offset from which it is visible."""
    functions: dict[str, tuple[Signature, ...]] = field(default_factory=dict)
    """All overloads of each function, by name."""
    included: dict[str, tuple[Signature, ...]] = field(default_factory=dict)
    """All overloads of each function in headers that stay includes, by name."""
    templates: set[str] = field(default_factory=set)
    """Names of function templates."""

    def read(self, spelled: str) -> Type | None:
        """Parse a spelled type; None if it is not understood, or deduced (``auto``)."""
        text = _DROPPED.sub(" ", spelled)
        arrays = tuple(_SPACE.sub("", a) for a in _ARRAY.findall(text))
        text = _ARRAY.sub(" ", text).replace("&", " ").strip()
        if not text or "(" in text or "auto" in text.split() or "decltype" in text:
            return None
        base, *stars = text.split("*")
        if any(_QUALIFIED.sub("", star).strip() for star in stars):
            return None
        if any("const" in star for star in stars[:-1]):
            return None
        words = base.split()
        const = not _CONST.isdisjoint(words)
        name = " ".join(word for word in words if word not in _CONST)
        levels = (*arrays, *("*" for _ in stars))
        return self._named(name, levels, const)

    def _named(self, name: str, levels: tuple[str, ...], const: bool) -> Type | None:
        words = name.split()
        if not words:
            return None
        if _INTEGER_WORDS.issuperset(words):
            return Type(_arithmetic(words), levels, const)
        if name.startswith(ENUM):
            name = name.removeprefix(ENUM)
        if name in self.aliases:
            meant = self.aliases[name]
            if meant is None or (const and meant.levels):
                return None
            return Type(meant.base, levels + meant.levels, const or meant.const)
        if name in self.enums:
            return Type(self.enums[name], levels, const)
        standard = _STANDARD.get(name.removeprefix("std::"))
        if standard is not None:
            return Type(standard.base, levels, const)
        return Type(name, levels, const)

    def result(self, name: str, arguments: Sequence[Type | None]) -> Type | None:
        """Return the result type of a function of the source for arguments of these types."""
        return None if name in self.templates else called(self.functions.get(name, ()), arguments)

    def result_of_included(self, name: str, arguments: Sequence[Type | None]) -> Type | None:
        """Return the result type of a function of a header for arguments of these types."""
        return None if name in self.templates else called(self.included.get(name, ()), arguments)

    def signature(self, name: str) -> Signature | None:
        """Return the signature of a function; None if it is overloaded, a template or unknown."""
        found = self.functions.get(name, ())
        return found[0] if len(found) == 1 and name not in self.templates else None

    def member(self, object_: Type | None, name: str) -> Type | None:
        """Return the type of a member of an object; None if it is not known."""
        if object_ is None or object_.levels:
            return None
        if object_.base in self.fields:
            found = self.fields[object_.base].get(name)
            if found is not None and object_.const and not found.levels:
                return Type(found.base, found.levels, True)
            return found
        return _vector_member(object_, name)


def _arithmetic(words: list[str]) -> str:
    """Return the canonical spelling of an arithmetic type, for example ``unsigned long``."""
    if "double" in words:
        return "long double" if "long" in words else "double"
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return sign + ("signed char" if "signed" in words else "char")
    if "short" in words:
        return sign + "short"
    long = words.count("long")
    return sign + (" ".join(["long"] * long) if long else "int")


_VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)[1-4]")


def _vector_member(object_: Type, name: str) -> Type | None:
    match = _VECTOR.fullmatch(object_.base)
    if name not in ("x", "y", "z", "w"):
        return None
    if object_.base == "dim3":
        return Type("unsigned int", (), object_.const)
    if match is None:
        return None
    base = "long long" if match[2] == "longlong" else match[2]
    if base == "char" and not match[1]:
        base = "signed char"
    return Type(("unsigned " if match[1] else "") + base, (), object_.const)


_DEFINING = frozenset(
    {
        "type_definition",
        "alias_declaration",
        "declaration",
        "struct_specifier",
        "class_specifier",
        "enum_specifier",
    }
)
_PASSED = CONTAINERS | {"translation_unit", "namespace_definition"}


def read_types(
    root: Node,
    text: str,
    bodies: Iterable[Node],
    beside: Iterable[tuple[Node, str]] = (),
    macros: Mapping[str, str] = MappingProxyType({}),
) -> TypeBook:
    """Record the types at file level and in function bodies.

    Args:
        root: the syntax tree of the file.
        text: text of the file.
        bodies: the function bodies.
        beside: headers that stay includes, with their texts; each comes after the headers that it
            includes. Their types, and their functions outside namespaces, are recorded; their
            variables are not.
        macros: text of each macro that always has the same body: ``float`` for
            ``#define real float``.
    """
    book = TypeBook()
    for name, meaning in macros.items():
        type_ = book.read(meaning)
        if type_ is not None and _is_built_in(type_.base):
            book.aliases[name] = type_
    for header, its_text in beside:
        reader = _Reader(book, its_text)
        for node in reader.definitions(header):
            if function_declarator(node) is not None and not _in_namespace(node):
                reader.declare(node)
    book.included, book.functions = book.functions, {}
    reader = _Reader(book, text)
    later = reader.definitions(root)
    for body in bodies:
        reader.local(body)
    for node in later:
        reader.declare(node)
    return book


def _is_built_in(base: str) -> bool:
    """Tell whether a type is an arithmetic type of the language or a vector type of CUDA."""
    own = _INTEGER_WORDS | {"float", "bool"}
    return own.issuperset(base.split()) or _VECTOR.fullmatch(base) is not None


def _in_namespace(node: Node) -> bool:
    around = node.parent
    while around is not None and around.type != "namespace_definition":
        around = around.parent
    return around is not None


class _Reader:
    """Records definitions in a type book; a name with two meanings gets none."""

    def __init__(self, book: TypeBook, text: str) -> None:
        self.book = book
        self.text = text

    def span(self, node: Node) -> str:
        return self.text[node.start_byte : node.end_byte]

    def definitions(self, root: Node) -> list[Node]:
        """Record the types at file level; return all declarations there, in order."""
        found: list[Node] = []
        stack = [root]
        while stack:
            node = stack.pop()
            if node.type in _PASSED:
                stack.extend(reversed(node.named_children))
                continue
            if node.type != "template_declaration":
                self.define(node)
            found.append(node)
        return found

    def local(self, body: Node) -> None:
        """Record the types defined in a function."""
        stack = [body]
        while stack:
            node = stack.pop()
            if node.type in _DEFINING:
                self.define(node)
            elif node.type.endswith(("statement", "clause", "loop")) or "preproc" in node.type:
                stack.extend(node.named_children)

    def define(self, node: Node) -> None:
        """Record the types that a declaration defines."""
        kind = node.child_by_field_name("type")
        if node.type in ("struct_specifier", "class_specifier", "union_specifier"):
            self._class(node)
        elif node.type == "enum_specifier":
            self._enum(node)
        elif node.type == "alias_declaration" and kind is not None:
            name = node.child_by_field_name("name")
            if name is not None:
                self._alias(self.span(name), self.book.read(spelled_type(self.span(kind))))
        elif node.type == "type_definition" and kind is not None:
            self.define(kind)
            self._typedef(node, kind)
        elif node.type in ("declaration", "field_declaration") and kind is not None:
            self.define(kind)

    def _alias(self, name: str, type_: Type | None) -> None:
        known = self.book.aliases.get(name, type_)
        self.book.aliases[name] = type_ if known == type_ else None

    def _typedef(self, node: Node, kind: Node) -> None:
        declarator = node.child_by_field_name("declarator")
        name = name_node(declarator)
        if name is None or declarator is None:
            return
        named = kind.child_by_field_name("name")
        if kind.child_by_field_name("body") is not None:
            base = self.span(named) if named is not None else self.span(name)
            if kind.type == "enum_specifier":
                base = ENUM + base
            elif named is None:
                self._members(base, kind)
        else:
            base = self.span(kind)
        before = self.text[node.start_byte : kind.start_byte].replace("typedef", "")
        around = self.text[declarator.start_byte : name.start_byte]
        after = self.text[name.end_byte : declarator.end_byte]
        type_ = self.book.read(spelled_type(f"{before} {base} {around}{after}"))
        if base.startswith(ENUM) and type_ is not None:
            type_ = Type(base, type_.levels, type_.const)
        if type_ is not None and (type_.base, type_.levels) == (self.span(name), ()):
            return
        self._alias(self.span(name), type_)

    def _class(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None and node.child_by_field_name("body") is not None:
            self._members(self.span(name), node)

    def _members(self, name: str, node: Node) -> None:
        body = node.child_by_field_name("body")
        if body is None:
            return
        fields = self.book.fields.setdefault(name, {})
        for member in body.named_children:
            if member.type != "field_declaration":
                continue
            for found, type_, _ in self._declared(member):
                same = fields.get(found, type_) == type_
                fields[found] = type_ if same else None

    def _enum(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        scoped = any(child.type in ("class", "struct") for child in node.children)
        base = "int" if name is None else ("" if scoped else ENUM) + self.span(name)
        if name is not None:
            self.book.enums[self.span(name)] = base
        for child in body.named_children if body is not None and not scoped else ():
            constant = child.child_by_field_name("name")
            if child.type == "enumerator" and constant is not None:
                self.book.enums[self.span(constant)] = base

    def declare(self, node: Node) -> None:
        """Record the variables and functions that a declaration at file level declares."""
        if node.type == "template_declaration":
            inner = node.named_children[-1]
            name = name_node(function_declarator(inner))
            if name is not None:
                self.book.templates.add(self.span(name))
            elif inner.type in ("struct_specifier", "class_specifier"):
                self.define(inner)
        elif node.type == "function_definition":
            self._function(node)
        elif node.type == "declaration":
            for declarator in declarators(node):
                if declarator.type == "function_declarator":
                    self._function(node)
            for name_, type_, end in self._declared(node):
                self.book.globals[name_, end] = type_

    def _function(self, node: Node) -> None:
        head = function_declarator(node)
        name = name_node(head)
        if head is None or name is None:
            return
        result = self.book.read(spelled_type(self.text[node.start_byte : head.start_byte]))
        listed = head.child_by_field_name("parameters")
        parameters: list[tuple[Type | None, bool]] = []
        least = 0
        for parameter in listed.named_children if listed is not None else ():
            if self.span(parameter) == "void":
                continue
            declared = [type_ for _, type_, _ in self._declared(parameter)]
            kind = parameter.child_by_field_name("type")
            unnamed = self.book.read(self.span(parameter)) if kind is not None else None
            type_ = declared[0] if declared else unnamed
            parameters.append((type_, "&" in self.span(parameter)))
            least += parameter.type == "parameter_declaration"
        self._overload(self.span(name), Signature(result, tuple(parameters), least))

    def _overload(self, name: str, found: Signature) -> None:
        """Record a function; the default arguments of its earlier declaration count as well."""
        others = []
        for known in self.book.functions.get(name, ()):
            if (known.result, known.parameters) == (found.result, found.parameters):
                found = replace(found, least=min(known.least, found.least))
            else:
                others.append(known)
        self.book.functions[name] = (*others, found)

    def _declared(self, node: Node) -> Iterator[tuple[str, Type | None, int]]:
        """Yield name, type and end of each declarator."""
        kind = node.child_by_field_name("type")
        first = next(declarators(node), None)
        if kind is None or first is None:
            return
        base = self.text[node.start_byte : first.start_byte]
        if kind.child_by_field_name("body") is not None:
            named = kind.child_by_field_name("name")
            base = "" if named is None else self.span(named)
        for declarator in declarators(node):
            name = name_node(declarator)
            if name is not None and declarator.type != "function_declarator":
                before = self.text[declarator.start_byte : name.start_byte]
                after = self.text[name.end_byte : declarator.end_byte]
                type_ = self.book.read(spelled_type(f"{base} {before}{after}"))
                yield self.span(name), type_, declarator.end_byte
