"""The text of work that is done for consecutive items by vector accesses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.elementwise import Elementwise
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, unit
from gi_cuda.grammar.splice import Splice, indent, newline, replacing
from gi_cuda.grammar.values import RANKS

_LINE = 100
_CONTINUED = " " * 8
_WHOLE = frozenset(
    {"parenthesized_expression", "cast_expression", "identifier", "field_expression"}
)


@dataclass(frozen=True, slots=True)
class Array:
    """An array that a thread accesses by vectors.

    Attributes:
        name: the pointer to it.
        begin: a pointer to the element of item 0: ``a``, or ``a + row * n``.
        element: the type of its elements, as the pointer is declared.
        vector: the type of a vector; empty where a structure of the elements is one.
        width: bytes of a vector; 0 where only the compiler knows them.
        accesses: the expressions that stand for an item's element.
        loaded: whether a thread loads its elements before the work.
        stored: whether it stores them after the work.
    """

    name: str
    begin: str
    element: str
    vector: str
    width: int
    accesses: tuple[Node, ...]
    loaded: bool
    stored: bool

    def bytes(self, count: int) -> str:
        """Write the bytes of a vector of so many elements."""
        return str(self.width) if self.width else f"({count} * sizeof({self.element}))"


def vector_text(
    code: Code, kernel: Function, work: Elementwise, arrays: Sequence[Array], count: int
) -> Iterator[Splice]:
    """Rewrite an elementwise kernel, or a loop, so that ``count`` items are handled at a time."""
    margin, gap = indent(code.text, work.guard.start_byte), newline(code.text, work.guard.end_byte)
    first, item = fresh("first", code, kernel), fresh("k", code, kernel)
    taken = [first, item]
    copies: list[str] = []
    for one in arrays:
        copies.append(fresh(copy_name(one.name, count), code, kernel, [*taken, *copies]))
    types: dict[str, str] = {}
    for element in (one.element for one in arrays if not one.vector):
        name = f"{element.rpartition(':')[2]}_x{count}"
        types[element] = types.get(element) or fresh(name, code, kernel, [*taken, *copies])
    step, width = unit(code, kernel), len(margin.expandtabs(4))
    text = _Text(code, work, arrays, count, first, item, copies, types, step, width)
    value = text.of_first(kernel)
    if not work.looped:
        yield replacing(work.declared.start_byte, work.declared.end_byte, text.first)
        yield replacing(work.value.start_byte, work.value.end_byte, value)
    header, *lines = text.looped(value) if work.looped else text.lines()
    placed = [header, *(margin + line if line.strip() else "" for line in lines)]
    yield replacing(work.guard.start_byte, work.close, gap.join(placed))


def copy_name(array: str, count: int) -> str:
    """Return the name of a local copy of so many elements: ``a4``."""
    return f"{array}_{count}" if array[-1].isdigit() else f"{array}{count}"


@dataclass(frozen=True, slots=True)
class _Text:
    """The parts of the new text, as lines without the kernel's indentation.

    Attributes:
        first, item: the variables that hold the first item, and the number of an item.
        copies: the local variable for each array.
        types: the structures that are vectors of elements, by these elements' types.
        step: the white space of one more level.
        margin: the width of the kernel's indentation.
    """

    code: Code
    work: Elementwise
    arrays: Sequence[Array]
    count: int
    first: str
    item: str
    copies: Sequence[str]
    types: Mapping[str, str]
    step: str
    margin: int

    def of_first(self, kernel: Function) -> str:
        """Return the value of the first item, in the type of the index."""
        value, code = self.work.value, self.code
        text = code.span(value)
        if self.work.serial:
            return text
        if value.type not in _WHOLE:
            text = f"({text})"
        type_, given = self.work.index_type(code, kernel), code.type(value, kernel)
        wide = type_ is not None and type_.rank >= RANKS["long"]
        if wide and (given is None or given.rank < RANKS["long"]):
            inner = text if text.startswith("(") else f"({text})"
            return f"{self.count} * static_cast<{self.work.type}>{inner}"
        return f"{self.count} * {text}"

    def looped(self, value: str) -> list[str]:
        """Return all lines of a loop over the items that a thread has.

        Args:
            value: the first of them.
        """
        work, first, stride = self.work, self.first, self.work.stride
        if work.serial or stride.isdigit():
            step = str(self.count * int(stride or 1))
        else:
            plain = stride.isidentifier() or stride == "blockDim.x"
            step = f"{self.count} * {stride if plain else f'({stride})'}"
        pieces = [
            f"for ({work.type} {first} = {value};",
            f" {work.bound.of(first)};",
            f" {first} += {step})",
        ]
        return self._block(self._filled(pieces, -1), self.lines())

    def lines(self) -> list[str]:
        """Return all lines in the place of the guard and its work."""
        between = ["}", "else", "{"] if self.work.brace_below else ["} else {"]
        return [
            *self._opened(self._condition()),
            *self._inner(self._vectors()),
            *between,
            *self._inner(self._one_by_one()),
            "}",
        ]

    def _condition(self) -> list[str]:
        """Return the test that all items exist, and that the first is aligned in each array."""
        pieces = [f"if ({self.work.bound.of(f'{self.first} + {self.count - 1}')}"]
        widths: dict[str, list[str]] = {}
        for one in sorted(self.arrays, key=lambda one: one.width):
            begin = one.begin if one.begin == one.name else f"({self._at(one, '0')})"
            widths.setdefault(one.bytes(self.count), []).append(f"(size_t){begin}")
        for width, aligned in widths.items():
            if len(aligned) > 1:
                aligned = [f"({aligned[0]}", *(f" | {one}" for one in aligned[1:])]
                aligned[-1] += ")"
            aligned[-1] += f" % {width} == 0"
            pieces += [f" && {aligned[0]}", *aligned[1:]]
        pieces[-1] += ")"
        return self._filled(pieces, 0)

    def _filled(self, pieces: Iterable[str], depth: int, behind: int = 2) -> list[str]:
        """Put pieces together as lines, and break lines between two pieces where they get long.

        Args:
            behind: characters that may follow.
        """
        room = _LINE - self.margin - 4 * (depth + self.work.looped) - behind
        lines: list[str] = []
        for piece in pieces:
            if not lines or len(lines[-1]) + len(piece) > room:
                lines.append(f"{_CONTINUED}{piece.lstrip()}" if lines else piece)
            else:
                lines[-1] += piece
        return lines

    def _opened(self, header: Sequence[str]) -> list[str]:
        """Return a header with its opening brace, which stands as the guard's does."""
        return [*header, "{"] if self.work.brace_below else [*header[:-1], f"{header[-1]} {{"]

    def _inner(self, lines: Iterable[str]) -> Iterator[str]:
        return (self.step + line if line.strip() else line for line in lines)

    def _block(self, header: Sequence[str], lines: Iterable[str]) -> list[str]:
        return [*self._opened(header), *self._inner(lines), "}"]

    def _vectors(self) -> Iterator[str]:
        """Load vectors, do the work, and store vectors."""
        held = list(zip(self.arrays, self.copies, strict=True))
        for element, name in self.types.items():
            aligned = f"struct __align__({self.count} * sizeof({element})) {name}"
            yield f"{aligned} {{ {element} at[{self.count}]; }};"
        plain = [(one, copy) for one, copy in held if one.vector]
        for element, width in dict.fromkeys((one.element, one.width) for one, _ in plain):
            copies = [copy for one, copy in plain if one.element == element]
            pieces = [f" {one}[{self.count}]," for one in copies]
            pieces[0] = f"__align__({width}) {element}{pieces[0]}"
            pieces[-1] = f"{pieces[-1][:-1]};"
            yield from self._filled(pieces, 1)
        for one, copy in held:
            declared = "" if one.vector else f"{self.types[one.element]} "
            if one.loaded:
                to, source = self._moved(one, copy, self._at(one, self.first))
                yield from self._filled([f"{declared}{to} =", f" {source};"], 1, behind=0)
            elif declared:
                yield f"{declared}{copy};"
        yield "#pragma unroll"
        item = self.item
        header = f"for (int {item} = 0; {item} < {self.count}; {item}++)"
        yield from self._block([header], self._items())
        for one, copy in held:
            if one.stored:
                to, source = self._moved(one, self._at(one, self.first), copy)
                yield from self._filled([f"{to} =", f" {source};"], 1, behind=0)

    def _at(self, array: Array, item: str) -> str:
        """Write a pointer to an item's element; ``0`` is the first item of a thread's first turn,
        or lies so many elements before it that alignment is the same."""
        if item == "0":
            start = self.code.span(self.work.value) if self.work.serial else "0"
            return array.begin if start == "0" else f"{array.begin} + {start}"
        return f"{array.begin} + {item}"

    def _moved(self, array: Array, to: str, source: str) -> tuple[str, str]:
        """Write a vector in one place, and in another."""
        vector = array.vector or self.types[array.element]

        def held(place: str, const: str) -> str:
            whole = not array.vector and place in self.copies
            return place if whole else f"*reinterpret_cast<{const}{vector} *>({place})"

        return held(to, ""), held(source, "const ")

    def _items(self) -> Iterator[str]:
        """Do the work for one of a vector's items."""
        splices = [
            replacing(node.start_byte, node.end_byte, self._element(one, copy))
            for one, copy in zip(self.arrays, self.copies, strict=True)
            for node in one.accesses
        ]
        if self._uses_index([(one.start, one.end) for one in splices]):
            yield f"const {self.work.type} {self.work.name} = {self.first} + {self.item};"
        yield from self._guarded(splices)

    def _element(self, array: Array, copy: str) -> str:
        return f"{copy}[{self.item}]" if array.vector else f"{copy}.at[{self.item}]"

    def _uses_index(self, replaced: Sequence[tuple[int, int]]) -> bool:
        """Tell whether the work uses its index besides in what is replaced."""
        for root in (*self.work.work, *self.work.others):
            if self.work.name in self.code.macro_words(root):
                return True
            for node in descend(root):
                own = node.type == "identifier" and self.code.span(node) == self.work.name
                at = node.start_byte
                if own and not any(start <= at < end for start, end in replaced):
                    return True
        return False

    def _guarded(self, splices: Sequence[Splice]) -> list[str]:
        """Return the work, under the further conditions of its guard."""
        lines = self.work.lines(self.code, splices)
        others = [self.work.spliced(self.code, one, splices) for one in self.work.others]
        return self._block([f"if ({' && '.join(others)})"], lines) if others else lines

    def _one_by_one(self) -> list[str]:
        """Do the work for the items at the end, one after the other."""
        name, first = self.work.name, self.first
        pieces = [
            f"for ({self.work.type} {name} = {first};",
            f" {self.work.bound.of(name)} && {name} < {first} + {self.count};",
            f" {name}++)",
        ]
        return self._block(self._filled(pieces, 1), self._guarded(()))
