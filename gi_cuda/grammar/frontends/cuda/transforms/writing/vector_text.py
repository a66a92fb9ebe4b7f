"""The text of a kernel whose threads handle consecutive items by vector accesses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.reading.elementwise import Elementwise
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, unit
from gi_cuda.grammar.splice import Splice, indent, newline, replacing
from gi_cuda.grammar.values import RANKS

_LINE = 100
_CONTINUED = " " * 8
_WHOLE = frozenset({"parenthesized_expression", "cast_expression", "identifier"})


@dataclass(frozen=True, slots=True)
class Array:
    """An array that a thread accesses by vectors.

    Attributes:
        name: the pointer to it.
        element: the type of its elements, as the pointer is declared.
        vector: the type of a vector.
        width: bytes of a vector.
        accesses: the expressions that stand for an item's element.
        loaded: whether a thread loads its elements before the work.
        stored: whether it stores them after the work.
    """

    name: str
    element: str
    vector: str
    width: int
    accesses: tuple[Node, ...]
    loaded: bool
    stored: bool


def vector_text(
    code: Code, kernel: Function, work: Elementwise, arrays: Sequence[Array], count: int
) -> Iterator[Splice]:
    """Rewrite an elementwise kernel so that a thread handles ``count`` items."""
    margin, gap = indent(code.text, work.guard.start_byte), newline(code.text, work.guard.end_byte)
    first, item = fresh("first", code, kernel), fresh("k", code, kernel)
    copies: dict[str, str] = {}
    for one in arrays:
        taken = (first, item, *copies.values())
        copies[one.name] = fresh(_copy(one.name, count), code, kernel, taken)
    step, width = unit(code, kernel), len(margin.expandtabs(4))
    text = _Text(code, work, arrays, count, first, item, copies, step, width)
    value = text.of_first(kernel)
    if not work.stride:
        yield replacing(work.declared.start_byte, work.declared.end_byte, text.first)
        yield replacing(work.value.start_byte, work.value.end_byte, value)
    header, *lines = text.looped(value) if work.stride else text.lines()
    placed = [header, *(margin + line if line.strip() else "" for line in lines)]
    yield replacing(work.guard.start_byte, work.close, gap.join(placed))


def _copy(array: str, count: int) -> str:
    return f"{array}_{count}" if array[-1].isdigit() else f"{array}{count}"


@dataclass(frozen=True, slots=True)
class _Text:
    """The parts of the new text, as lines without the kernel's indentation.

    Attributes:
        first, item: the variables that hold the first item, and the number of an item.
        copies: the local array for each array.
        step: the white space of one more level.
        margin: the width of the kernel's indentation.
    """

    code: Code
    work: Elementwise
    arrays: Sequence[Array]
    count: int
    first: str
    item: str
    copies: Mapping[str, str]
    step: str
    margin: int

    def of_first(self, kernel: Function) -> str:
        """Return the value of the first item, in the type of the index."""
        value, code = self.work.value, self.code
        text = code.span(value)
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
        stride = stride if stride.isidentifier() else f"({stride})"
        pieces = [
            f"for ({work.type} {first} = {value};",
            f" {work.bound.of(first)};",
            f" {first} += {self.count} * {stride})",
        ]
        return self._block(self._filled(pieces, 0), self.lines())

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
        for width in sorted({one.width for one in self.arrays}):
            aligned = [f"(size_t){one.name}" for one in self.arrays if one.width == width]
            if len(aligned) > 1:
                aligned = [f"({aligned[0]}", *(f" | {one}" for one in aligned[1:])]
                aligned[-1] += ")"
            aligned[-1] += f" % {width} == 0"
            pieces += [f" && {aligned[0]}", *aligned[1:]]
        pieces[-1] += ")"
        return self._filled(pieces, 0)

    def _filled(self, pieces: Iterable[str], depth: int) -> list[str]:
        """Put pieces together as lines, and break lines between two pieces where they get long."""
        room = _LINE - self.margin - 4 * depth - 2
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
        for element, width in dict.fromkeys((one.element, one.width) for one in self.arrays):
            copies = [self.copies[one.name] for one in self.arrays if one.element == element]
            pieces = [f" {one}[{self.count}]," for one in copies]
            pieces[0] = f"__align__({width}) {element}{pieces[0]}"
            pieces[-1] = f"{pieces[-1][:-1]};"
            yield from self._filled(pieces, 1)
        for one in self.arrays:
            if one.loaded:
                yield self._moved(one, self.copies[one.name], f"{one.name} + {self.first}")
        yield "#pragma unroll"
        item = self.item
        header = f"for (int {item} = 0; {item} < {self.count}; {item}++)"
        yield from self._block([header], self._items())
        for one in self.arrays:
            if one.stored:
                yield self._moved(one, f"{one.name} + {self.first}", self.copies[one.name])

    def _moved(self, array: Array, to: str, source: str) -> str:
        vector = array.vector
        return (
            f"*reinterpret_cast<{vector} *>({to}) = *reinterpret_cast<const {vector} *>({source});"
        )

    def _items(self) -> Iterator[str]:
        """Do the work for one of a vector's items."""
        splices = [
            replacing(node.start_byte, node.end_byte, f"{self.copies[one.name]}[{self.item}]")
            for one in self.arrays
            for node in one.accesses
        ]
        if self._uses_index([(one.start, one.end) for one in splices]):
            yield f"const {self.work.type} {self.work.name} = {self.first} + {self.item};"
        yield from self._guarded(splices)

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
